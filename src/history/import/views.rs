//! Other forms of a message's content.
//!
//! Hosts store a message in several forms at once: chat pages have `parts` beside `content`, and
//! LangChain, since its version 1, `content_blocks`
//! (<https://docs.langchain.com/oss/python/langchain/messages#standard-content-blocks>). Each form may
//! have calls, or arguments of calls, that the others lack.

use super::super::model::{Entry, Part, Piece, Speaker};
use super::block::{self, Block};
use super::calls::List;
use super::content::{Described, complete, content};
use super::{Fields, call, gemini, ui};
use crate::index::{Index, slot};
use crate::json::Json;
use crate::provider::Marks;

/// Takes the standard blocks of a LangChain message, if it has some.
pub(super) fn blocks<'a>(fields: &mut Fields<'a>) -> Option<Json<'a>> {
    let is_list = |key: &&&str| fields.get(key).and_then(Json::as_array).is_some();
    let key = ["content_blocks", "contentBlocks"].iter().find(is_list)?;
    fields.take(key)
}

/// Reads the forms that were not read yet. A form that cannot be read is left out: the message has
/// another one.
pub(super) fn read<'a>(
    fields: &mut Fields<'a>,
    entry: &mut Entry<'a>,
    pieces: &mut Vec<Piece<'a>>,
) -> Option<()> {
    for key in ["content", "parts", "content_blocks", "contentBlocks"] {
        if fields.get(key).and_then(Json::as_array).is_none() {
            continue;
        }
        let items = fields.take_list(key)?;
        if items.is_empty() {
            continue;
        }
        if key == "parts" {
            // Without it, a message whose parts are of an unknown shape is read as before.
            let _ = parts(items, entry, pieces);
            continue;
        }
        let mut marks = Marks::NONE;
        let view = content(Some(Json::Array(items)), entry.index, &mut marks);
        if let Some((parts, results, _)) = view {
            entry.marks.add(marks);
            View { parts, pieces: results }.merge(entry, pieces);
        }
    }
    Some(())
}

/// Adds parts of UI messages and of Gemini, which may describe the same calls.
pub(super) fn parts<'a>(
    items: Vec<Json<'a>>,
    entry: &mut Entry<'a>,
    pieces: &mut Vec<Piece<'a>>,
) -> Option<()> {
    let (theirs, others): (Vec<_>, Vec<_>) = items.into_iter().partition(gemini::is_call);
    for items in [others, theirs] {
        if !items.is_empty() {
            view(items, entry.index, &mut entry.marks)?.merge(entry, pieces);
        }
    }
    Some(())
}

/// Another form of a content.
#[derive(Default)]
struct View<'a> {
    parts: Vec<Part<'a>>,
    /// Results, and reports of calls that had only begun.
    pieces: Vec<Piece<'a>>,
}

fn view<'a>(items: Vec<Json<'a>>, index: usize, marks: &mut Marks) -> Option<View<'a>> {
    let mut view = View::default();
    let mut described = Described::default();
    for item in items {
        let kind = item.kind().unwrap_or_default().to_owned();
        if kind.starts_with("data-") {
            continue;
        }
        let read = if kind.is_empty() {
            marks.add(Marks::GEMINI);
            gemini::part(item, index)?
        } else {
            marks.add(Marks::AI_SDK);
            match ui::tool_part(item, index)? {
                Ok(Ok(call)) => Block::Part(Part::call(call)),
                Ok(Err(piece)) => Block::Result(Box::new(piece)),
                Err(item) => block::block(item, index, &mut Marks::default())?,
            }
        };
        match read {
            Block::Part(part) => described.add(part, (ui::form(&kind), None), &mut view.parts),
            Block::Result(piece) => view.pieces.push(*piece),
            Block::Nothing => {}
        }
    }
    described.end(&mut view.parts);
    Some(view)
}

impl<'a> View<'a> {
    /// Adds this form to a message. Its calls describe those of the message, or are more of them; what
    /// else it has counts only if the message has no content.
    fn merge(self, entry: &mut Entry<'a>, pieces: &mut Vec<Piece<'a>>) {
        let is_empty = !has_content(entry)
            && !pieces.iter().any(|piece| match piece {
                Piece::Say(entry) => has_content(entry),
                _ => false,
            });
        let mut list = List::of(entry, pieces);
        let hosted = Hosted::of(entry);
        let mut rest = Vec::new();
        for part in self.parts {
            match part {
                Part::Call(call) if entry.speaker == Speaker::Assistant => {
                    if let Some(call) = list.describe(*call, false, entry, pieces) {
                        entry.parts.push(Part::call(call));
                    }
                }
                Part::Call(_) => {}
                Part::Native { block, .. } if hosted.describe(&block, entry) => {}
                part if is_empty => rest.push(part),
                _ => {}
            }
        }
        let list = List::of(entry, pieces);
        let mut results = Index::default();
        for piece in pieces.iter() {
            if let Piece::Result { id, .. } = piece {
                results.number(id);
            }
        }
        for piece in self.pieces {
            match piece {
                Piece::Result { id, .. } if !id.is_empty() && results.find(&id).is_some() => {}
                Piece::Result { id, result } => {
                    let answered = list.answer(&id, result, entry, pieces);
                    pieces.extend(answered.map(|result| Piece::Result { id, result }));
                }
                piece => pieces.push(piece),
            }
        }
        entry.parts.splice(0..0, rest);
    }
}

fn has_content(entry: &Entry<'_>) -> bool {
    entry.parts.iter().any(|part| match part {
        Part::Text(text) => !text.text.is_blank(),
        Part::Media { .. } | Part::Native { .. } => true,
        Part::Call(_) | Part::Reasoning(_) => false,
    })
}

/// The provider's own blocks of a message: their places among the parts, by the numbers of their ids.
#[derive(Default)]
struct Hosted {
    ids: Index,
    places: Vec<usize>,
}

impl Hosted {
    fn of(entry: &Entry<'_>) -> Self {
        let mut hosted = Self::default();
        for (at, part) in entry.parts.iter().enumerate() {
            if let Part::Native { block, .. } = part
                && let Some(id) = block.get("id").and_then(Json::as_str)
            {
                *slot(&mut hosted.places, hosted.ids.number(id)) = at;
            }
        }
        hosted
    }

    /// Whether a block is LangChain's description of a call that the provider ran itself, of which the
    /// message has the provider's own block. That one gets the arguments if it has none.
    fn describe<'a>(&self, block: &Json<'a>, entry: &mut Entry<'a>) -> bool {
        let id = block.get("id").and_then(Json::as_str);
        let id = id.filter(|_| block.kind() == Some("server_tool_call"));
        let place = id.and_then(|id| self.places.get(self.ids.find(id)?).copied());
        match place.and_then(|at| entry.parts.get_mut(at)) {
            Some(Part::Native { block: known, .. }) => {
                complete(known, call::args_of(block.get("args").cloned()));
                true
            }
            _ => false,
        }
    }
}
