//! Messages.

use crate::json::{Add, Json, members, object};
use crate::provider::chat;
use crate::provider::content::{
    Attachment, Members, Message, Out, Reasoning, ResultOut, Role, blocks, joined,
};

pub(super) fn write<'a>(message: Message<'a>, out: &mut Vec<Json<'a>>) {
    let role = match message.role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant | Role::Tool => "assistant",
    };
    let mut said = Vec::new();
    let Message { role: speaker, parts, extra: mut own, listed, .. } = message;
    for part in parts {
        match part {
            Out::Call { id, name, arguments, extra, .. } => {
                speak(role, &mut said, &mut own, listed, out);
                let mut members: Members<'a> = members! {
                    "type": "function_call",
                    "call_id": id,
                    "name": name,
                    "arguments": arguments,
                };
                members.extend(extra);
                out.push(Json::Object(members));
            }
            Out::Result { id, content, extra, .. } => {
                let mut members: Members<'a> = members! {
                    "type": "function_call_output",
                    "call_id": id,
                    "output": payload(content),
                };
                members.extend(extra);
                out.push(Json::Object(members));
            }
            Out::Reasoning(Reasoning::Native { block, .. }) => {
                speak(role, &mut said, &mut own, listed, out);
                out.push(block);
            }
            // A refusal is part of a message; all other blocks of the assistant are items, and so are
            // outputs of a type of their own.
            Out::Native(block)
                if matches!(speaker, Role::Assistant | Role::Tool)
                    && block.kind() != Some("refusal") =>
            {
                speak(role, &mut said, &mut own, listed, out);
                out.push(block);
            }
            // Each text of the assistant becomes its own item, unless the content came as a list.
            Out::Text { .. } if speaker == Role::Assistant && !listed => {
                speak(role, &mut said, &mut own, false, out);
                said.push(part);
            }
            part => said.push(part),
        }
    }
    speak(role, &mut said, &mut own, listed, out);
}

fn speak<'a>(
    role: &'static str,
    said: &mut Vec<Out<'a>>,
    extra: &mut Members<'a>,
    listed: bool,
    out: &mut Vec<Json<'a>>,
) {
    if said.is_empty() {
        return;
    }
    let said = std::mem::take(said);
    let texts = said.iter().all(|part| matches!(part, Out::Text { .. }));
    let shared = |part: &Out<'_>| {
        matches!(part, Out::Native(block)
        if matches!(block.kind(), Some("refusal" | "input_audio")))
    };
    // A list of what Chat Completions has too would be read as one of it.
    let typed = said.iter().all(shared) && !extra.iter().any(|(key, _)| key == "type");
    let content = if texts && !listed && said.len() == 1 {
        joined(&said, "")
    } else {
        let assistant: fn(Out<'a>) -> Option<Json<'a>> = |part| block(part, "assistant");
        let block = if role == "assistant" { assistant } else { |part| block(part, "user") };
        Json::Array(blocks(said, block))
    };
    let mut members: Members<'a> = members! { "role": role, "content": content };
    // In the order in which an item is read.
    let id = extra.iter().position(|(key, _)| typed && key == "id").map(|at| extra.remove(at));
    // `append` empties `extra`: an id belongs to one item only.
    members.append(extra);
    if typed {
        members.add("type", Json::from("message"));
    }
    members.extend(id);
    out.push(Json::Object(members));
}

fn block<'a>(part: Out<'a>, role: &str) -> Option<Json<'a>> {
    Some(match part {
        Out::Text { text, extra, .. } => {
            let kind = if role == "assistant" { "output_text" } else { "input_text" };
            let mut members: Members<'a> = members! { "type": kind, "text": text };
            members.extend(extra);
            Json::Object(members)
        }
        Out::Native(block) => block,
        Out::Media(seen) => media(seen),
        Out::Reasoning(_) | Out::Call { .. } | Out::Result { .. } => return None,
    })
}

fn media(seen: Attachment<'_>) -> Json<'_> {
    let url = chat::address(&seen);
    if seen.mime.starts_with("image/") {
        return object! { "type": "input_image", "image_url": url };
    }
    let key = if seen.is_url { "file_url" } else { "file_data" };
    let mut members: Members<'_> = vec![("type".into(), "input_file".into()), (key.into(), url)];
    if let Some(name) = seen.name {
        members.add("filename", Json::String(name));
    }
    Json::Object(members)
}

pub(super) fn payload(content: ResultOut<'_>) -> Json<'_> {
    match content {
        ResultOut::Text(text) | ResultOut::Native(text) => text,
        ResultOut::Parts(parts) => Json::Array(blocks(parts, |part| block(part, "user"))),
    }
}
