//! Messages.

use crate::json::{Add, Json, members, object};
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
    let mut members: Members<'a> = members! { "role": role, "content": Json::Array(content) };
    members.extend(message.extra);
    out.push(Json::Object(members));
}

pub(super) fn block(part: Out<'_>) -> Option<Json<'_>> {
    let (members, extra) = match part {
        Out::Text { text, extra, .. } => (members! { "type": "text", "text": text }, extra),
        Out::Native(block) => return Some(block),
        Out::Media(seen) => return Some(media(seen)),
        Out::Reasoning(Reasoning::Signed { text, signature, extra }) => {
            (members! { "type": "thinking", "thinking": text, "signature": signature }, extra)
        }
        Out::Reasoning(Reasoning::Redacted { data, extra }) => {
            (members! { "type": "redacted_thinking", "data": data }, extra)
        }
        Out::Reasoning(_) => return None,
        Out::Call { id, name, arguments, extra, .. } => {
            (members! { "type": "tool_use", "id": id, "name": name, "input": arguments }, extra)
        }
        Out::Result { id, content, error, extra, .. } => {
            let mut members: Members<'_> =
                members! { "type": "tool_result", "tool_use_id": id, "content": payload(content) };
            if error {
                members.add("is_error", Json::Bool(true));
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
    let kind = if seen.is_image() { "image" } else { "document" };
    let source = if seen.is_url {
        object! { "type": "url", "url": Json::String(seen.data) }
    } else {
        let (kind, mime, data) = match (seen.text(), seen.format()) {
            (Some(text), _) => ("text", "text/plain".into(), text.into()),
            (_, Some(format)) if seen.is_image() => {
                ("base64", ["image/", format].concat(), seen.data)
            }
            _ => ("base64", seen.mime, seen.data),
        };
        object! {
            "type": kind,
            "media_type": Json::from(mime),
            "data": Json::String(data),
        }
    };
    object! { "type": kind, "source": source }
}
