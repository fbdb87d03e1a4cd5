//! The content of a message: its blocks in order, of which several may describe one call.

use super::super::args;
use super::super::model::{Args, Part, Piece, Text};
use super::block::{Block, block};
use super::calls::{argue, describe};
use crate::index::{Index, slot};
use crate::json::Json;
use crate::provider::Marks;

/// The parts and results of a content, in order, and whether the content is a list.
pub(super) fn content<'a>(
    value: Option<Json<'a>>,
    index: usize,
    marks: &mut Marks,
) -> Option<(Vec<Part<'a>>, Vec<Piece<'a>>, bool)> {
    match value {
        None => Some((Vec::new(), Vec::new(), false)),
        Some(text) if text.is_text() => {
            Some((vec![Part::Text(Text::new(text))], Vec::new(), false))
        }
        Some(Json::Array(items)) => {
            let mut parts = Vec::with_capacity(items.len());
            let mut results = Vec::new();
            // Of a list of theirs, a sound or a refusal is theirs too, wherever it stands.
            let theirs = |item: &Json<'_>| {
                let kind = item.kind();
                matches!(kind, Some("input_text" | "output_text" | "input_file"))
            };
            if items.iter().any(theirs) {
                marks.add(Marks::RESPONSES);
            }
            let mut described = Described::default();
            for item in items {
                let Some(item) = described.delta(item, marks) else { continue };
                let kind = item.kind().unwrap_or_default().to_owned();
                let place = item.get("index").map(Json::to_text);
                match block(item, index, marks)? {
                    Block::Part(part) => described.add(part, (&kind, place), &mut parts),
                    Block::Result(mut piece) => {
                        if let Piece::Result { result, .. } = piece.as_mut() {
                            result.behind = !parts.is_empty();
                        }
                        results.push(*piece);
                    }
                    Block::Nothing => {}
                }
            }
            described.end(&mut parts);
            Some((parts, results, true))
        }
        // MCP: one block in place of a list.
        Some(one) if one.get("type").is_some() => {
            marks.add(Marks::EVENT);
            content(Some(Json::Array(vec![one])), index, marks)
        }
        Some(_) => None,
    }
}

/// The form of the AI SDK's tool parts, whose types have the names of their tools.
pub(super) const TOOL: &str = "tool";

/// The calls of a content: the blocks that describe one, and its arguments where they follow it in
/// pieces, as LangChain leaves them of a stream.
#[derive(Default)]
pub(super) struct Described {
    /// By the number of a call's id: its part, and the type of the block.
    ids: Index,
    blocks: Vec<Option<(usize, String)>>,
    /// By the number of a block's `index` in its stream: the place of the last such call in `calls`.
    indexes: Index,
    indexed: Vec<Option<usize>>,
    calls: Vec<Streamed>,
}

/// A call whose arguments may follow it.
struct Streamed {
    /// Its part.
    at: usize,
    /// The pieces so far.
    text: String,
    has_index: bool,
}

impl Described {
    /// Takes a block that continues the arguments of a call before it; returns any other.
    fn delta<'a>(&mut self, item: Json<'a>, marks: &mut Marks) -> Option<Json<'a>> {
        let keys: &[&str] = match item.kind() {
            Some("input_json_delta") => &["partial_json", "input"],
            Some("tool_call_chunk") if item.get("id").is_none_or(Json::is_blank) => &["args"],
            _ => return Some(item),
        };
        let place = match item.get("index") {
            Some(index) => {
                let known = self.indexes.find(&index.to_text());
                known.and_then(|index| self.indexed.get(index).copied().flatten())
            }
            None => None,
        };
        let has_index = item.get("index").is_some();
        // Checkpoints may lose it: the pieces then follow their call.
        let last = self.calls.last_mut().filter(|last| !(has_index && last.has_index));
        let last = last.is_some().then(|| self.calls.len() - 1);
        let Some(call) = place.or(last).and_then(|at| self.calls.get_mut(at)) else {
            return Some(item);
        };
        if let Some(piece) = keys.iter().find_map(|key| item.get(key)?.as_str()) {
            call.text.push_str(piece);
        }
        marks.add(Marks::LANGCHAIN);
        None
    }

    /// Adds a part that was made of a block of this type, unless it describes a call that is there.
    pub(super) fn add<'a>(
        &mut self,
        mut part: Part<'a>,
        (kind, index): (&str, Option<String>),
        parts: &mut Vec<Part<'a>>,
    ) {
        let mut text = String::new();
        let mut known = None;
        match &mut part {
            Part::Call(call) => {
                if kind == "tool_call_chunk"
                    && let Args::Text(Json::String(begun)) = &call.args
                {
                    text = begun.clone().into_owned();
                    call.args = Args::Value(Json::Null);
                }
                let first = self.first(&call.id, kind, parts.len());
                known = first.filter(|(at, same)| match parts.get(*at) {
                    // Two that have a result each are two calls, and so are two of one form, unless
                    // one of them has no arguments.
                    Some(Part::Call(known)) => {
                        (known.result.is_none() || call.result.is_none())
                            && (!same || known.is_bare() != call.is_bare())
                    }
                    _ => !same,
                });
            }
            Part::Native { .. } if kind.ends_with("_tool_use") => {}
            _ => return parts.push(part),
        }
        if let Some(index) = &index {
            *slot(&mut self.indexed, self.indexes.number(index)) = Some(self.calls.len());
        }
        let at = known.map_or(parts.len(), |(at, _)| at);
        self.calls.push(Streamed { at, text, has_index: index.is_some() });
        match (parts.get_mut(at), part) {
            (Some(Part::Call(known)), Part::Call(call)) => describe(known, *call, false),
            (_, part) => parts.push(part),
        }
    }

    /// The part of a call with this id that came in a block of another type; or, which is told, in a tool
    /// part of the AI SDK as this one. A provider may use an id twice in one message, but in blocks of
    /// one type.
    fn first(&mut self, id: &str, kind: &str, at: usize) -> Option<(usize, bool)> {
        if id.is_empty() {
            return None;
        }
        let block = slot(&mut self.blocks, self.ids.number(id));
        match block {
            Some((first, other)) if other != kind => Some((*first, false)),
            Some((first, _)) if kind == TOOL => Some((*first, true)),
            _ => {
                *block = Some((at, kind.to_owned()));
                None
            }
        }
    }

    /// Adds the pieces of arguments to their calls.
    pub(super) fn end<'a>(self, parts: &mut [Part<'a>]) {
        for Streamed { at, text, .. } in self.calls {
            match parts.get_mut(at) {
                Some(Part::Call(call)) => argue(call, Args::Text(text.into()), false),
                Some(Part::Native { block, .. }) => complete(block, Args::Text(text.into())),
                _ => {}
            }
        }
    }
}

/// Completes the input of a call of a tool that the provider runs itself.
pub(super) fn complete<'a>(block: &mut Json<'a>, other: Args<'a>) {
    let Json::Object(members) = block else { return };
    let beside = members.extract_if(.., |(key, _)| key == "partial_json");
    let found: Vec<_> = beside.map(|(_, text)| Args::Text(text)).chain([other]).collect();
    let Some((_, input)) = members.iter_mut().find(|(key, _)| key == "input") else { return };
    for args in found {
        if args::is_empty(&Args::Value(input.clone()))
            && let Some(value) = args::as_object(&args)
        {
            *input = value;
        }
    }
}
