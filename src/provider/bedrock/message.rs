//! Messages.

use crate::json::{Add, Json, members, object};
use crate::provider::content::{
    Attachment, Members, Message, Out, Reasoning, ResultOut, Role, blocks, document_name,
};

pub(super) fn write<'a>(message: Message<'a>, out: &mut Vec<Json<'a>>) {
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    let content = blocks(message.parts, block);
    out.push(object! { "role": role, "content": Json::Array(content) });
}

pub(super) fn block(part: Out<'_>) -> Option<Json<'_>> {
    Some(match part {
        Out::Text { text, .. } => object! { "text": text },
        Out::Native(block) => block,
        Out::Media(seen) => media(seen),
        Out::Reasoning(Reasoning::Signed { text, signature, .. }) => {
            let text = object! { "text": text, "signature": signature };
            let content = object! { "reasoningText": text };
            object! { "reasoningContent": content }
        }
        Out::Reasoning(Reasoning::Redacted { data, .. }) => object! {
            "reasoningContent": object! { "redactedContent": data },
        },
        Out::Reasoning(_) => return None,
        Out::Call { id, name, arguments, .. } => {
            let call = object! { "toolUseId": id, "name": name, "input": arguments };
            object! { "toolUse": call }
        }
        Out::Result { id, content, error, extra, .. } => {
            let content = match content {
                ResultOut::Text(text) | ResultOut::Native(text) => {
                    vec![object! { "text": text }]
                }
                ResultOut::Parts(parts) => blocks(parts, block),
            };
            let mut members: Members<'_> =
                members! { "toolUseId": id, "content": Json::Array(content) };
            if error {
                members.add("status", "error");
            }
            members.extend(extra);
            object! { "toolResult": Json::Object(members) }
        }
    })
}

fn media(seen: Attachment<'_>) -> Json<'_> {
    let format = Json::from(seen.format().unwrap_or_default());
    let image = seen.is_image();
    let name = document_name(seen.name.as_deref().unwrap_or_default());
    let source = object! { "bytes": Json::String(seen.data) };
    if image {
        return object! { "image": object! { "format": format, "source": source } };
    }
    let document = [("format", format), ("name", Json::from(name)), ("source", source)];
    object! { "document": Json::object(document) }
}
