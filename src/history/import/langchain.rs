//! LangChain messages: plain, or serialised as constructors.
//!
//! <https://python.langchain.com/docs/concepts/messages/>

use std::borrow::Cow;

use super::super::model::{Entry, Part, Piece, Speaker};
use super::{Fields, call, calls, message, one};
use crate::json::Json;
use crate::provider::Marks;
use crate::text::holds;

/// `user` and `assistant` are other names of `human` and `ai`: `coerceMessageLikeToMessage` of
/// `@langchain/core` 1.2 (2026-11).
const TYPES: [&str; 11] = [
    "human",
    "user",
    "ai",
    "assistant",
    "system",
    "developer",
    "tool",
    "function",
    "remove",
    "chat",
    "generic",
];

/// `{ type: "human" | "ai" | …, content }` or a class name as type.
pub(super) fn is(fields: &Fields<'_>) -> bool {
    let Some(kind) = fields.text("type") else { return false };
    if fields.has("role") && kind != "chat" {
        return false;
    }
    (TYPES.contains(&kind.as_ref()) || holds(&kind, "Message"))
        && (fields.has("content")
            || fields.has("data")
            || fields.has("kwargs")
            || kind == "remove"
            || kind == "ai")
}

pub(super) fn message<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let mut kind = fields.take_text("type")?.into_owned();
    if kind == "constructor" {
        let Some(Json::Array(path)) = fields.take("id") else { return None };
        kind = path.last().and_then(Json::as_str)?.to_owned();
        fields = Fields::of(fields.take("kwargs")?)?;
    } else if let Some(data) = fields.take("data").and_then(Fields::of) {
        // `{ type, data }`, as `messages_to_dict` writes it.
        fields = data;
        fields.forget(&["type"]);
    }
    let short = kind.strip_suffix("Chunk").unwrap_or(&kind);
    let short = short.strip_suffix("Message").unwrap_or(short).to_ascii_lowercase();
    let id = fields.take_any_text(&["id"]);
    let speaker = match short.as_str() {
        "human" | "user" => Speaker::User,
        "ai" | "assistant" => Speaker::Assistant,
        "system" => Speaker::System,
        "developer" => Speaker::Developer,
        "chat" => match fields.take_text("role").as_deref() {
            Some("human" | "user") => Speaker::User,
            Some("ai" | "assistant") => Speaker::Assistant,
            Some("system") => Speaker::System,
            _ => return None,
        },
        "tool" | "function" => {
            fields.insert("role", Json::string("tool"));
            let mut pieces = message::message(fields, index)?;
            for piece in &mut pieces {
                if let Piece::Result { result, .. } = piece {
                    // Its constructors know `tool_call_id` only.
                    let other = match result.id_member {
                        Some(_) if result.camel => Marks::CAMEL,
                        Some(_) => Marks::EVENT,
                        None => Marks::NONE,
                    };
                    result.marks = Marks::LANGCHAIN.and(other);
                    result.extra.clear();
                }
            }
            return Some(pieces);
        }
        "remove" => {
            let id = id?;
            return one(Piece::Remove((id != "__remove_all__").then_some(id)));
        }
        _ => return None,
    };
    // `response_metadata` is read with the calls.
    fields.forget(&["name", "usage_metadata", "example"]);
    let mut entry = Entry::new(speaker, index);
    entry.marks.add(Marks::LANGCHAIN);
    entry.id = id;
    let mut pieces = message::said(&mut fields, entry, speaker)?;
    for piece in &mut pieces {
        if let Piece::Say(entry) = piece {
            entry.extra.clear();
            entry.marks.add(Marks::LANGCHAIN);
            // Their places in a stream.
            let place = |(key, _): &(Cow<'_, str>, Json<'_>)| key == "index";
            for part in &mut entry.parts {
                match part {
                    Part::Text(text) => text.extra.retain(|member| !place(member)),
                    Part::Native { block: Json::Object(members), .. } => {
                        members.retain(|member| !place(member));
                    }
                    _ => {}
                }
            }
        }
    }
    Some(pieces)
}

/// Adds arguments of calls from the items of the Responses API, which LangChain.js stores with the
/// message.
pub(super) fn output<'a>(fields: &Fields<'a>, entry: &mut Entry<'a>, pieces: &mut [Piece<'a>]) {
    let items = fields.get("response_metadata").and_then(|response| response.get("output"));
    let Some(items) = items.and_then(Json::as_array) else { return };
    let list = calls::List::of(entry, pieces);
    for item in items.iter().filter(|item| item.kind() == Some("function_call")) {
        let id = item.get("call_id").and_then(Json::as_str).unwrap_or_default();
        if let Some(call) = list.find(id, entry, pieces) {
            calls::argue(call, call::args_of(item.get("arguments").cloned()), false);
        }
    }
}
