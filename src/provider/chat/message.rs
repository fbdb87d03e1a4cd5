//! Messages, as compatible providers take them.

use crate::json::{Add, Joined, Json, members, object};
use crate::provider::content::{
    Attachment, Members, Message, Out, Reasoning, ResultOut, Role, blocks, joined,
};

/// The points in which the providers differ.
#[derive(Debug, Clone, Copy)]
pub(in crate::provider) struct Style {
    /// The content of a message that has only calls.
    pub(in crate::provider) silence: Silence,
    /// Whether a call has `"type": "function"`.
    pub(in crate::provider) typed: bool,
    /// The member of a result that names its tool.
    pub(in crate::provider) result_name: Option<&'static str>,
    /// Whether content may be a list.
    pub(in crate::provider) lists: bool,
    /// Whether the model's plan is written beside the content, as `tool_plan`.
    pub(in crate::provider) plan: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) enum Silence {
    Null,
    Empty,
    Omitted,
}

/// The style that the strictest servers take: content is a text.
pub(in crate::provider) const TEXTS: Style =
    Style { silence: Silence::Empty, typed: true, result_name: None, lists: false, plan: false };

/// Writes a message in the style [`TEXTS`].
pub(in crate::provider) fn write_texts<'a>(message: Message<'a>, out: &mut Vec<Json<'a>>) {
    write(message, TEXTS, out);
}

pub(in crate::provider) fn write<'a>(message: Message<'a>, style: Style, out: &mut Vec<Json<'a>>) {
    let role = match message.role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => {
            for part in message.parts {
                out.extend(result(part, style));
            }
            return;
        }
    };
    let mut members: Members<'a> = members! { "role": role };
    let (mut said, mut calls, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for part in message.parts {
        match part {
            Out::Call { .. } => calls.extend(call(part, style)),
            Out::Reasoning(Reasoning::Content(text)) => {
                beside.add("reasoning_content", text);
            }
            Out::Reasoning(Reasoning::Details(details)) => {
                beside.add("reasoning_details", details);
            }
            Out::Reasoning(Reasoning::Thinking(text)) => beside.add("thinking", text),
            Out::Reasoning(Reasoning::Recorded(recorded)) => beside.extend(recorded.members),
            Out::Reasoning(Reasoning::Native { block, .. }) => said.push(Out::Native(block)),
            Out::Text { text, extra, .. } if style.plan && !extra.is_empty() => {
                beside.add("tool_plan", text);
            }
            Out::Native(block) if block.get("refusal").is_some() && !message.listed => {
                refuse(&mut beside, block.get("refusal").cloned().unwrap_or_default());
            }
            part => said.push(part),
        }
    }
    let silent = said.is_empty();
    let content = content(said, message.role, message.listed, style);
    match content {
        Some(content) => members.add("content", content),
        None if silent && style.silence == Silence::Empty => {
            members.add("content", "");
        }
        None if silent && style.silence == Silence::Null => {
            members.add("content", Json::Null);
        }
        None => {}
    }
    members.extend(beside);
    members.extend(message.extra);
    if !calls.is_empty() {
        members.add("tool_calls", Json::Array(calls));
    }
    out.push(Json::Object(members));
}

/// Adds the text of a refusal to that of an earlier one.
fn refuse<'a>(members: &mut Members<'a>, text: Json<'a>) {
    let Some((_, said)) = members.iter_mut().find(|(key, _)| key == "refusal") else {
        return members.add("refusal", text);
    };
    *said = Joined::lines(said, &text);
}

/// The content; `None` if there is none.
fn content<'a>(said: Vec<Out<'a>>, role: Role, listed: bool, style: Style) -> Option<Json<'a>> {
    if said.is_empty() {
        return None;
    }
    let texts = said.iter().all(|part| matches!(part, Out::Text { .. }));
    let many = role == Role::User && said.len() > 1;
    if !texts || style.lists && (listed || many) {
        return Some(Json::Array(blocks(said, block)));
    }
    if let [one] = said.as_slice() {
        return Some(joined(std::slice::from_ref(one), ""));
    }
    let mut text = Joined::default();
    for part in &said {
        if let Out::Text { text: more, apart, .. } = part {
            // Texts of one assistant message are concatenated; others are separated by a blank
            // line.
            if !text.is_empty() && (*apart || role != Role::Assistant) {
                text.text("\n\n");
            }
            text.value(more);
        }
    }
    Some(text.into_json())
}

fn block(part: Out<'_>) -> Option<Json<'_>> {
    Some(match part {
        Out::Text { text, extra, .. } => {
            let mut members: Members<'_> = members! { "type": "text", "text": text };
            members.extend(extra);
            Json::Object(members)
        }
        Out::Native(block) => block,
        Out::Media(seen) => media(seen),
        Out::Reasoning(_) | Out::Call { .. } | Out::Result { .. } => return None,
    })
}

fn media(seen: Attachment<'_>) -> Json<'_> {
    let image = seen.mime.starts_with("image/");
    let url = address(&seen);
    if image {
        let url = object! { "url": url };
        return object! { "type": "image_url", "image_url": url };
    }
    // Hosts refuse `file` parts of other types than PDF: github: pydantic/pydantic-ai#4445
    // (2026-02-27), #2599 (2025-08-18). A text needs none.
    if let Some(text) = seen.text() {
        let named = seen.name.map_or_else(String::new, |name| format!("{name}:\n"));
        return object! { "type": "text", "text": Json::from(named + &text) };
    }
    let name = seen.name.unwrap_or_else(|| "file".into());
    let file = object! { "filename": Json::String(name), "file_data": url };
    object! { "type": "file", "file": file }
}

/// The URL of the media; a data URL if only the bytes are given.
pub(in crate::provider) fn address<'a>(seen: &Attachment<'a>) -> Json<'a> {
    if seen.is_url {
        return Json::String(seen.data.clone());
    }
    let mime = if seen.mime == "image/*" { "image/png" } else { &seen.mime };
    format!("data:{mime};base64,{}", seen.data).into()
}

fn call<'a>(part: Out<'a>, style: Style) -> Option<Json<'a>> {
    let Out::Call { id, name, arguments, extra, .. } = part else { return None };
    let mut members: Members<'a> = Vec::new();
    if !id.is_null() {
        members.add("id", id);
    }
    if extra.iter().any(|(key, _)| key == "custom") {
        members.add("type", "custom");
        members.extend(extra);
        return Some(Json::Object(members));
    }
    if style.typed {
        members.add("type", "function");
    }
    let function = object! { "name": name, "arguments": arguments };
    members.add("function", function);
    members.extend(extra);
    Some(Json::Object(members))
}

fn result<'a>(part: Out<'a>, style: Style) -> Option<Json<'a>> {
    let Out::Result { id, name, content, extra, .. } = part else { return None };
    let mut members: Members<'a> = members! { "role": "tool" };
    if let Some(key) = style.result_name
        && !name.is_null()
    {
        members.add(key, name);
    }
    if !id.is_null() {
        members.add("tool_call_id", id);
    }
    members.add("content", payload(content));
    members.extend(extra.into_iter().filter(|(key, _)| Some(key.as_ref()) != style.result_name));
    Some(Json::Object(members))
}

/// The content of a result: a text, or a list of blocks.
pub(in crate::provider) fn payload(content: ResultOut<'_>) -> Json<'_> {
    match content {
        ResultOut::Text(text) | ResultOut::Native(text) => text,
        ResultOut::Parts(parts) => Json::Array(blocks(parts, block)),
    }
}
