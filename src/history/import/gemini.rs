//! Gemini contents: `{ role: "user" | "model" | "function", parts }`.
//!
//! <https://ai.google.dev/api/caching#Content>

use super::super::model::{Call, Content, Entry, Part, Piece, Speaker, Text};
use super::block::Block;
use super::ending::Ending;
use super::{Fields, call, calls, media, ui, views};
use crate::json::Json;
use crate::mcp::is_failure;
use crate::provider::{Marks, Reasoning};

/// The names of a part's signature: it takes both.
const SIGNATURE: &[&str] = &["thoughtSignature", "thought_signature"];

/// Whether the parts are Gemini's: they have no type.
pub(super) fn is(fields: &Fields<'_>) -> bool {
    let parts = match fields.get("parts") {
        Some(Json::Array(parts)) => parts.as_slice(),
        // The API takes one part as an object, as in Google's samples for its REST API.
        Some(part @ Json::Object(_)) => std::slice::from_ref(part),
        _ => return false,
    };
    match parts.first() {
        Some(part) => part.kind().is_none(),
        None => fields.is("role", "model"),
    }
}

pub(super) fn content<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let role = fields.take_text("role");
    let speaker = match role.as_deref() {
        Some("user" | "function" | "tool") | None => Speaker::User,
        Some("model" | "assistant") => Speaker::Assistant,
        Some("system") => Speaker::System,
        Some(_) => return None,
    };
    let mut entry = Entry::new(speaker, index);
    entry.marks.add(Marks::GEMINI);
    if role.as_deref() == Some("assistant") {
        entry.marks.add(Marks::CHAT);
    }
    entry.listed = true;
    let (mut pieces, mut others) = (Vec::new(), Vec::new());
    let parts = match fields.take("parts")? {
        Json::Array(parts) => parts,
        part => vec![part],
    };
    for item in parts {
        if ui::is_tool(&item) {
            others.push(item);
            continue;
        }
        match part(item, index)? {
            Block::Part(part) => entry.parts.push(part),
            Block::Result(piece) => pieces.push(*piece),
            Block::Nothing => {}
        }
    }
    views::parts(others, &mut entry, &mut pieces)?;
    calls::beside(&mut fields, &mut entry, &mut pieces)?;
    entry.extra = fields.rest();
    entry.beside = !pieces.is_empty();
    match pieces.last_mut() {
        // Of a message that has only results, they have its members.
        Some(Piece::Result { result, .. }) if entry.parts.is_empty() => {
            result.extra.append(&mut entry.extra);
        }
        _ => pieces.push(Piece::Say(entry)),
    }
    Some(pieces)
}

/// Parses a part.
pub(super) fn part<'a>(item: Json<'a>, index: usize) -> Option<Block<'a>> {
    let mut part = Fields::of(item)?;
    if let Some(given) = part.take_any(&["functionCall", "function_call"]) {
        let mut given = Fields::of(given)?;
        let thought_signature = part.take_any(SIGNATURE);
        let id = given.take_text("id").unwrap_or_default();
        let name = given.take_text("name").unwrap_or_default();
        let args = given.take("args").unwrap_or_else(|| Json::Object(Vec::new()));
        part.forget(&["thought"]);
        let extra = given.with(part).rest();
        let call = call::made(id, name, call::args_of(Some(args)), extra, index);
        return Some(Block::Part(Part::call(Call { thought_signature, ..call })));
    }
    if let Some(given) = part.take_any(&["functionResponse", "function_response"]) {
        part.forget(SIGNATURE);
        return Some(Block::Result(Box::new(response(Fields::of(given)?, part, index))));
    }
    if part.get("thought").and_then(Json::as_bool) == Some(true) {
        part.forget(&["type"]);
        let thought = Reasoning::Native { marks: Marks::GEMINI, block: part.into_json() };
        return Some(Block::Part(Part::Reasoning(thought)));
    }
    if part.has_text("text") {
        let text = part.take("text")?;
        let signature = part.take_any(SIGNATURE);
        let mut extra = part.rest();
        extra.extend(signature.map(|signature| ("thoughtSignature".into(), signature)));
        return Some(Block::Part(Part::Text(Text { text, extra })));
    }
    // A part of theirs has no type, and one member at least.
    let other = part.has("type") || part.is_empty();
    if !other {
        part.forget(&["type"]);
    }
    let marks = if other { Marks::EVENT } else { Marks::GEMINI };
    let block = part.into_json();
    Some(Block::Part(match media(&block) {
        Some(_) => Part::Media { marks, block },
        None => Part::Native { marks, block },
    }))
}

/// Whether an item is a call or a result in Gemini's form.
pub(super) fn is_call(item: &Json<'_>) -> bool {
    let keys = ["functionCall", "function_call", "functionResponse", "function_response"];
    item.kind().is_none() && keys.iter().any(|key| item.get(key).is_some())
}

/// `{ name, response: { result } | { error } | any object }`.
fn response<'a>(mut given: Fields<'a>, beside: Fields<'a>, index: usize) -> Piece<'a> {
    let id = given.take_text("id").unwrap_or_default();
    let name = given.take_text("name").unwrap_or_default();
    let response = given.take("response").unwrap_or_default();
    let only = response.as_object().filter(|all| all.len() == 1).and_then(|all| all.first());
    // "Use `error` key to specify error details (if any)":
    // https://ai.google.dev/api/caching#FunctionResponse
    let (_, told) =
        call::told(None, response.get("error").filter(|error| !error.is_null()).cloned());
    let failed = told || only.is_some_and(|(key, error)| key == "error" && error.is_text());
    let mcp = ["result", "output"].iter().any(|key| response.get(key).is_some_and(is_failure));
    let plain =
        only.is_some_and(|(key, value)| (key == "result" || key == "error") && value.is_text());
    let content = match response {
        Json::Object(members) if plain => {
            Content::Text(members.into_iter().next().map(|(_, value)| value).unwrap_or_default())
        }
        value => Content::Value(value),
    };
    let ending = Ending::read(&given).taken(&mut given).or(Ending::failure_if(failed || mcp));
    let extra = given.with(beside).rest();
    call::answer((id, name), (content, ending), (Marks::GEMINI, extra), index)
}
