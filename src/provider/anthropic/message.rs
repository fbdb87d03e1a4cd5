//! Messages.

use crate::json::Json;
use crate::provider::content::{
    Attachment, Members, Message, Out, Reasoning, ResultOut, Role, blocks,
};

pub(super) fn write<'a>(message: Message<'a>, out: &mut Vec<Json<'a>>) {
    let role = match message.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
    };
    let content = blocks(message.parts, block);
    let mut members: Members<'a> =
        vec![("role".into(), role.into()), ("content".into(), Json::Array(content))];
    members.extend(message.extra);
    out.push(Json::Object(members));
}

pub(super) fn block(part: Out<'_>) -> Option<Json<'_>> {
    let (members, extra) = match part {
        Out::Text { text, extra, .. } => {
            (vec![("type".into(), "text".into()), ("text".into(), text)], extra)
        }
        Out::Native(block) => return Some(block),
        Out::Media(seen) => return Some(media(seen)),
        Out::Reasoning(Reasoning::Signed { text, signature, extra }) => (
            vec![
                ("type".into(), "thinking".into()),
                ("thinking".into(), text),
                ("signature".into(), signature),
            ],
            extra,
        ),
        Out::Reasoning(Reasoning::Redacted(data)) => {
            (vec![("type".into(), "redacted_thinking".into()), ("data".into(), data)], Vec::new())
        }
        Out::Reasoning(_) => return None,
        Out::Call { id, name, arguments, extra, .. } => (
            vec![
                ("type".into(), "tool_use".into()),
                ("id".into(), id),
                ("name".into(), name),
                ("input".into(), arguments),
            ],
            extra,
        ),
        Out::Result { id, content, error, extra, .. } => {
            let mut members: Members<'_> = vec![
                ("type".into(), "tool_result".into()),
                ("tool_use_id".into(), id),
                ("content".into(), payload(content)),
            ];
            if error {
                members.push(("is_error".into(), true.into()));
            }
            (members, extra)
        }
    };
    let mut members: Members<'_> = members;
    members.extend(extra);
    Some(Json::Object(members))
}

fn payload(content: ResultOut<'_>) -> Json<'_> {
    match content {
        ResultOut::Text(text) | ResultOut::Native(text) => text,
        ResultOut::Parts(parts) => Json::Array(blocks(parts, block)),
    }
}

fn media(seen: Attachment<'_>) -> Json<'_> {
    let kind = if seen.mime.starts_with("image/") { "image" } else { "document" };
    let source = if seen.is_url {
        Json::object([("type", "url".into()), ("url", Json::String(seen.data))])
    } else {
        let mime = if seen.mime == "image/*" { "image/png".to_owned() } else { seen.mime };
        Json::object([
            ("type", "base64".into()),
            ("media_type", mime.into()),
            ("data", Json::String(seen.data)),
        ])
    };
    Json::object([("type", kind.into()), ("source", source)])
}
