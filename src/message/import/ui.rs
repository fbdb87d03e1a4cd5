//! The AI SDK's UI messages: `{ id, role, parts }`.
//!
//! <https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message>

use super::super::code::Code;
use super::super::model::{Call, Entry, Part, Piece, Speaker, Text};
use super::block::{self, Block};
use super::{Fields, call, calls};
use crate::json::Json;
use crate::provider::Marks;

pub(super) fn message<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let speaker = match fields.take_text("role")?.as_ref() {
        "system" => Speaker::System,
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        _ => return None,
    };
    let fresh = || {
        let mut entry = Entry::new(speaker, index);
        entry.marks.add(Marks::AI_SDK);
        entry
    };
    let said = ["content", "text"]
        .iter()
        .find_map(|key| if fields.has_text(key) { fields.take(key) } else { None });
    let mut pieces = Vec::new();
    let mut entry = fresh();
    for item in fields.take_list("parts")? {
        let Some(Json::String(kind)) = item.get("type").cloned() else { return None };
        // The model's output after the results of a step belongs to the next message.
        if kind == "step-start" {
            if !entry.parts.is_empty() {
                pieces.push(Piece::Say(std::mem::replace(&mut entry, fresh())));
            }
            continue;
        }
        // TanStack AI's calls have an `id`, its results a `content`.
        let has = |key| item.get(key).is_some();
        let named = kind.starts_with("tool-") && has("state") && has("toolCallId");
        if kind == "dynamic-tool" || named && !has("content") {
            let name = kind.strip_prefix("tool-").unwrap_or_default().to_owned();
            match tool(item, &name, index)? {
                Ok(call) => entry.parts.push(Part::call(call)),
                Err(piece) => pieces.push(piece),
            }
            continue;
        }
        if kind == "tool-invocation" {
            // AI SDK 4.
            let inner = Fields::of(item)?.take("toolInvocation")?;
            match calls::invocation(inner, index)? {
                Ok(call) => entry.parts.push(Part::call(call)),
                Err(piece) => pieces.push(piece),
            }
            continue;
        }
        // For the page only.
        if kind.starts_with("data-") {
            continue;
        }
        match block::block(item, index, &mut Marks::default())? {
            Block::Part(part) => entry.parts.push(part),
            Block::Result(piece) => {
                if !entry.parts.is_empty() {
                    pieces.push(Piece::Say(std::mem::replace(&mut entry, fresh())));
                }
                pieces.push(*piece);
            }
            Block::Nothing => {}
        }
    }
    if speaker == Speaker::Assistant {
        calls::beside(&mut fields, &mut entry, &mut pieces)?;
    }
    let texts = |entry: &Entry<'_>| entry.parts.iter().any(|one| matches!(one, Part::Text(_)));
    let spoken = pieces.iter().any(|one| matches!(one, Piece::Say(entry) if texts(entry)));
    if let Some(text) = said.filter(|text| !text.is_blank())
        && !spoken
        && !texts(&entry)
    {
        // Older versions keep the text beside the parts.
        let first = pieces.iter_mut().find_map(|one| match one {
            Piece::Say(entry) => Some(entry),
            _ => None,
        });
        first.unwrap_or(&mut entry).parts.insert(0, Part::Text(Text::new(text)));
    }
    if !entry.parts.is_empty() || !pieces.iter().any(|piece| matches!(piece, Piece::Say(_))) {
        pieces.push(Piece::Say(entry));
    }
    Some(pieces)
}

/// A tool part holds the call and, depending on its state, the result.
fn tool<'a>(item: Json<'a>, name: &str, index: usize) -> Option<Result<Call<'a>, Piece<'a>>> {
    let mut fields = Fields::of(item)?;
    let id = fields.take_any_text(&["toolCallId"]).unwrap_or_default();
    let state = fields.take_text("state")?;
    if state == "input-streaming" {
        return Some(Err(Piece::Drop { code: Code::ToolCallPartial, id: Some(id) }));
    }
    let mut marks = Marks::AI_SDK;
    let named = fields.take_any_text(&["toolName"]);
    let input = call::arguments(&mut fields);
    let result = match state.as_ref() {
        // More of it would have come.
        "output-available" if fields.get("preliminary").and_then(Json::as_bool) == Some(true) => {
            None
        }
        "output-available" => Some((call::content(fields.take("output"), &mut marks), false)),
        "output-error" => Some((call::content(fields.take("errorText"), &mut marks), true)),
        "output-denied" => {
            let reason =
                fields.take("approval").and_then(Fields::of).and_then(|mut a| a.take("reason"));
            let reason = reason.filter(|reason| reason.is_text());
            let text = reason.unwrap_or_else(|| Json::string(call::DENIED));
            Some((call::content(Some(text), &mut marks), true))
        }
        _ => None,
    };
    let own = fields.take("callProviderMetadata").and_then(Fields::of);
    let google = own.and_then(|mut own| Fields::of(own.take("google")?));
    let name = named.unwrap_or_else(|| name.to_owned().into());
    Some(Ok(Call {
        thought_signature: google.and_then(|mut google| google.take("thoughtSignature")),
        result: result.map(|(content, error)| call::result(content, error, index)),
        conflict: input.conflict,
        ..call::made(id, name, call::args_of(input.value), Vec::new(), index)
    }))
}
