//! Converts one element of a history, in any known shape, into pieces.
//!
//! Shapes are detected per element and per block, so a history may mix them.

mod block;
mod call;
mod event;
mod fields;
mod gemini;
mod item;
mod langchain;
mod message;
mod ui;

pub(super) use block::media;
pub(super) use fields::Fields;

use super::model::{Part, Piece, Speaker};
use crate::json::Json;

/// Returns the pieces of an element; `None` if its shape is unknown.
pub(super) fn element(value: Json<'_>, index: usize) -> Option<Vec<Piece<'_>>> {
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
    let fields = Fields::of(value)?;
    if fields.has("lc") || langchain::is(&fields) {
        return langchain::message(fields, index);
    }
    if let Some(kind) = fields.text("type") {
        if let Some(pieces) = event::event(&kind, &fields, index) {
            return pieces;
        }
        if !fields.has("role") || fields.is("type", "message") {
            return item::item(fields, index);
        }
    }
    if fields.len() == 1 && fields.has_text("id") {
        return item::item(fields, index);
    }
    if fields.has("parts") {
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
