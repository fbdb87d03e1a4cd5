//! Converts one element of a history, in any known shape, into pieces.
//!
//! Shapes are detected per element and per block, so a history may mix them.

mod block;
pub(super) mod call;
mod calls;
mod content;
mod ending;
mod event;
mod fields;
mod gemini;
mod item;
mod langchain;
mod media;
mod message;
mod reasoning;
mod ui;
mod untyped;
mod views;

pub(super) use ending::{flag, is_mcp_text};
pub(super) use fields::Fields;
pub(super) use media::media;
pub(super) use reasoning::recorded;

use super::code::Code;
use super::model::{Part, Piece, Speaker};
use crate::json::Json;

/// Returns the pieces of an element; `None` if its shape is unknown and it may hold the user's words.
/// Any other element of unknown shape is one piece: [`Piece::Drop`] with [`Code::ElementUnknown`].
pub(super) fn element(mut value: Json<'_>, index: usize) -> Option<Vec<Piece<'_>>> {
    let other = strange(&value);
    let dropped = || one(Piece::Drop { code: Code::ElementUnknown, id: None });
    let holes = close_holes(&mut value);
    let mut pieces = known(value, index).or_else(|| dropped().filter(|_| other))?;
    if let Some(code) = holes {
        pieces.insert(0, Piece::Drop { code, id: None });
    }
    Some(pieces)
}

/// The members of a message that list its calls or its parts.
const LISTS: [(&str, Code); 8] = [
    ("tool_calls", Code::ToolCallPartial),
    ("toolCalls", Code::ToolCallPartial),
    ("invalid_tool_calls", Code::ToolCallPartial),
    ("toolInvocations", Code::ToolCallPartial),
    ("content", Code::ContentNull),
    ("parts", Code::ContentNull),
    ("content_blocks", Code::ContentNull),
    ("contentBlocks", Code::ContentNull),
];

/// Removes nulls from the lists of a message, and returns the code of the first list that had some. A
/// client leaves a hole in its list of calls if the first index of a stream is not 0
/// (vercel/ai#18333, 2026-08-03). The content of a result may be any list.
fn close_holes(value: &mut Json<'_>) -> Option<Code> {
    let role = value.get("role").and_then(Json::as_str)?;
    let is_result = role == "tool" || role == "function";
    let Json::Object(members) = value else { return None };
    let mut found = None;
    for (key, value) in members {
        let Json::Array(items) = value else { continue };
        let Some((_, code)) = LISTS.iter().find(|(name, _)| name == key) else { continue };
        let before = items.len();
        if !(is_result && key == "content") {
            items.retain(|item| !item.is_null());
        }
        if items.len() < before {
            found = found.or(Some(*code));
        }
    }
    found
}

/// Whether an element may be left out if its shape is unknown: it has a type, no role, and its type
/// does not name the user.
fn strange(value: &Json<'_>) -> bool {
    let role = value.get("role").is_none_or(Json::is_null);
    let kind = value.kind();
    let names = |kind: &str, who: &str| {
        kind.get(..who.len()).is_some_and(|start| start.eq_ignore_ascii_case(who))
    };
    role && kind.is_some_and(|kind| !names(kind, "user") && !names(kind, "human"))
}

fn known(value: Json<'_>, index: usize) -> Option<Vec<Piece<'_>>> {
    let pieces = shaped(value, index)?;
    // Only the assistant has calls and reasoning; in any other role the shape is unknown.
    let odd = pieces.iter().any(|piece| match piece {
        Piece::Say(entry) => {
            let own = |part: &Part<'_>| matches!(part, Part::Call(_) | Part::Reasoning(_));
            entry.speaker != Speaker::Assistant && entry.parts.iter().any(own)
        }
        _ => false,
    });
    (!odd).then_some(pieces)
}

fn shaped(value: Json<'_>, index: usize) -> Option<Vec<Piece<'_>>> {
    let mut fields = Fields::of(value)?;
    if fields.has("lc") || langchain::is(&fields) {
        return langchain::message(fields, index);
    }
    if let Some(kind) = fields.text("type") {
        if kind.eq_ignore_ascii_case("messages_snapshot") {
            // Taken, not copied: it may be a whole history.
            return one(Piece::Replace(fields.take_list("messages")?));
        }
        if let Some(pieces) = event::event(&kind, &fields, index) {
            return pieces;
        }
        // An item that adds tools has the role of who declares them.
        if !fields.has("role") || kind == "message" || kind == "additional_tools" {
            return item::item(fields, index);
        }
    }
    if fields.len() == 1 && fields.has_text("id") {
        return item::item(fields, index);
    }
    // A result of a turn of ours has parts beside its content.
    if fields.has("parts") && !(fields.is("role", "tool") && fields.has("toolCallId")) {
        return if gemini::is(&fields) {
            gemini::content(fields, index)
        } else {
            ui::message(fields, index)
        };
    }
    message::message(fields, index)
}

/// The pieces of an element that is one piece.
#[inline(never)]
fn one(piece: Piece<'_>) -> Option<Vec<Piece<'_>>> {
    Some(vec![piece])
}
