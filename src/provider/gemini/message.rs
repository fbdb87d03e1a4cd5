//! Messages.

use crate::json::{Add, Json, members, object};
use crate::provider::content::{
    Attachment, Members, Message, Out, Reasoning, ResultOut, Role, blocks, joined,
};

pub(super) fn write<'a>(message: Message<'a>, out: &mut Vec<Json<'a>>) {
    let role = if message.role == Role::Assistant { "model" } else { "user" };
    let parts = blocks(message.parts, part);
    out.push(object! { "role": role, "parts": Json::Array(parts) });
}

pub(super) fn part(part: Out<'_>) -> Option<Json<'_>> {
    Some(match part {
        Out::Text { text, extra, .. } => {
            let mut members: Members<'_> = members! { "text": text };
            members.extend(extra);
            Json::Object(members)
        }
        Out::Native(block) | Out::Reasoning(Reasoning::Native { block, .. }) => block,
        Out::Reasoning(_) => return None,
        Out::Media(seen) => media(seen),
        Out::Call { id, name, arguments, thought_signature, .. } => {
            let call = named(id, name, ("args", arguments), Vec::new());
            let mut members: Members<'_> = members! { "functionCall": call };
            if let Some(signature) = thought_signature {
                members.add("thoughtSignature", signature);
            }
            Json::Object(members)
        }
        Out::Result { id, name, content, error, mut extra } => {
            let key = if error { "error" } else { "result" };
            let content = match content {
                ResultOut::Parts(parts) => {
                    let (text, parts) = split(parts);
                    if !parts.is_empty() {
                        extra.add("parts", Json::Array(parts));
                    }
                    ResultOut::Text(text)
                }
                content => content,
            };
            let response = match content {
                ResultOut::Native(value @ Json::Object(_)) => value,
                ResultOut::Native(value) | ResultOut::Text(value) => Json::object([(key, value)]),
                ResultOut::Parts(_) => Json::Object(Vec::new()),
            };
            object! { "functionResponse": named(id, name, ("response", response), extra) }
        }
    })
}

/// The text of a result, and its other parts.
pub(super) fn split(parts: Vec<Out<'_>>) -> (Json<'_>, Vec<Json<'_>>) {
    let text = joined(&parts, "\n");
    let others = parts.into_iter().filter(|part| !matches!(part, Out::Text { .. })).collect();
    (text, blocks(others, part))
}

fn named<'a>(
    id: Json<'a>,
    name: Json<'a>,
    (key, value): (&'static str, Json<'a>),
    extra: Members<'a>,
) -> Json<'a> {
    let mut members: Members<'a> = Vec::new();
    if !id.is_null() {
        members.add("id", id);
    }
    if !name.is_null() {
        members.add("name", name);
    }
    members.add(key, value);
    members.extend(extra);
    Json::Object(members)
}

fn media(seen: Attachment<'_>) -> Json<'_> {
    let mime = if seen.mime == "image/*" { "image/png".to_owned() } else { seen.mime };
    let mut file: Members<'_> = Vec::new();
    if !mime.is_empty() {
        file.add("mimeType", Json::from(mime));
    }
    file.add(if seen.is_url { "fileUri" } else { "data" }, Json::String(seen.data));
    Json::object([(if seen.is_url { "fileData" } else { "inlineData" }, Json::Object(file))])
}
