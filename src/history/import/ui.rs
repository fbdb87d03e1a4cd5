//! The AI SDK's UI messages: `{ id, role, parts }`.
//!
//! <https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message>

use super::super::code::Code;
use super::super::model::{Call, Entry, Part, Piece, Speaker, Text};
use super::block::{self, Block};
use super::content::{Described, TOOL};
use super::ending::Ending;
use super::{Fields, call, calls, gemini, views};
use crate::json::Json;
use crate::provider::Marks;

pub(super) fn message<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let speaker = match fields.take_text("role")?.as_ref() {
        "system" => Speaker::System,
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        _ => return None,
    };
    let id = fields.text("id").filter(|_| speaker != Speaker::System);
    let fresh = || {
        let mut entry = Entry::new(speaker, index);
        entry.id.clone_from(&id);
        entry.marks.add(Marks::AI_SDK);
        entry
    };
    let said = ["content", "text"]
        .iter()
        .find_map(|key| if fields.has_text(key) { fields.take(key) } else { None });
    let mut pieces = Vec::new();
    let mut entry = fresh();
    let mut others = Vec::new();
    let mut described = Described::default();
    for item in fields.take_list("parts")? {
        if gemini::is_call(&item) {
            others.push(item);
            continue;
        }
        let Some(Json::String(kind)) = item.get("type").cloned() else { return None };
        // The model's output after the results of a step belongs to the next message.
        if kind == "step-start" {
            std::mem::take(&mut described).end(&mut entry.parts);
            if !entry.parts.is_empty() {
                pieces.push(Piece::Say(std::mem::replace(&mut entry, fresh())));
            }
            continue;
        }
        // For the page only.
        if kind.starts_with("data-") {
            continue;
        }
        let item = match tool_part(item, index)? {
            Ok(Ok(call)) => {
                described.add(Part::call(call), (form(&kind), None), &mut entry.parts);
                continue;
            }
            Ok(Err(piece)) => {
                pieces.push(piece);
                continue;
            }
            Err(item) => item,
        };
        match block::block(item, index, &mut Marks::default())? {
            Block::Part(part) => described.add(part, (form(&kind), None), &mut entry.parts),
            Block::Result(piece) => {
                std::mem::take(&mut described).end(&mut entry.parts);
                if !entry.parts.is_empty() {
                    pieces.push(Piece::Say(std::mem::replace(&mut entry, fresh())));
                }
                pieces.push(*piece);
            }
            Block::Nothing => {}
        }
    }
    described.end(&mut entry.parts);
    views::parts(others, &mut entry, &mut pieces)?;
    calls::beside(&mut fields, &mut entry, &mut pieces)?;
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

/// The form of a part: its type, or one for all tool parts of the AI SDK.
pub(super) fn form(kind: &str) -> &str {
    let is_other = kind == "tool-call" || kind == "tool-result";
    let is_tool = kind == "dynamic-tool" || kind.starts_with("tool-") && !is_other;
    if is_tool { TOOL } else { kind }
}

/// A call, or the report of one that had only begun.
type Read<'a> = Result<Call<'a>, Piece<'a>>;

/// Whether a part is a call of the AI SDK or of another library that names its type.
pub(super) fn is_tool(item: &Json<'_>) -> bool {
    let kind = item.kind().unwrap_or_default();
    kind == "dynamic-tool" || kind.starts_with("tool-") || kind.starts_with("tool_")
}

/// Parses a tool part of the AI SDK: a call, or the report of one that had only begun. Returns any
/// other part as it is.
pub(super) fn tool_part<'a>(item: Json<'a>, index: usize) -> Option<Result<Read<'a>, Json<'a>>> {
    let kind = item.kind().unwrap_or_default();
    // TanStack AI's calls have an `id`, its results a `content`.
    let has = |key| item.get(key).is_some();
    let named = kind.starts_with("tool-") && has("state") && has("toolCallId");
    if kind == "dynamic-tool" || named && !has("content") {
        let name = kind.strip_prefix("tool-").unwrap_or_default().to_owned();
        return tool(item, &name, index).map(Ok);
    }
    if kind == "tool-invocation" {
        // AI SDK 4.
        let inner = Fields::of(item)?.take("toolInvocation")?;
        return calls::invocation(inner, index).map(Ok);
    }
    Some(Err(item))
}

/// A tool part holds the call and, depending on its state, the result.
fn tool<'a>(item: Json<'a>, name: &str, index: usize) -> Option<Read<'a>> {
    let mut fields = Fields::of(item)?;
    let id = fields.take_any_text(&["toolCallId"]).unwrap_or_default();
    let state = fields.take_text("state")?;
    if state == "input-streaming" {
        return Some(Err(Piece::Drop { code: Code::ToolCallPartial, id: Some(id) }));
    }
    let mut marks = Marks::AI_SDK;
    let named = fields.take_any_text(&["toolName"]);
    let input = call::arguments(&mut fields);
    let ending = Ending::of_word(&state).or(Ending::read(&fields));
    let (error, output) =
        (fields.take_any(&["errorText", "error"]), fields.take_any(&["output", "result"]));
    let denied = call::denial(&fields, &state);
    let preliminary = fields.get("preliminary").and_then(Json::as_bool) == Some(true);
    let is_denied = denied.is_some();
    let (output, failed) = match (denied, state.as_ref()) {
        (Some(denied), _) => (Some(denied), true),
        (None, "output-error") => (error.or(output), true),
        _ => call::told(output, error),
    };
    // More of a preliminary output would have come.
    let ended = is_denied || ending.is_failure() || ending == Ending::Success && !preliminary;
    let result = ended.then(|| {
        let content = call::content(output, &mut marks);
        (content, ending.or(Ending::failure_if(failed)))
    });
    let own = fields.take("callProviderMetadata").and_then(Fields::of);
    // The AI SDK's `@ai-sdk/google-vertex` stores it under a name of its own (vercel/ai#12351, 2026-02).
    let google = own.and_then(|mut own| {
        let name = ["google", "vertex", "googleVertex"].into_iter().find(|name| own.has(name))?;
        Fields::of(own.take(name)?)
    });
    let name = named.unwrap_or_else(|| name.to_owned().into());
    Some(Ok(Call {
        thought_signature: google.and_then(|mut google| google.take("thoughtSignature")),
        result: result.map(|(content, ending)| call::result(content, ending, index)),
        conflict: input.conflict,
        ..call::made(id, name, call::args_of(input.value), Vec::new(), index)
    }))
}
