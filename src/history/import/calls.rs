//! The calls that a message lists beside its content, and several descriptions of one call.
//!
//! LangChain has a call of a streamed response in up to six places, of which some have no arguments:
//! a content block whose `input` is `{}` or empty, pieces of its arguments behind it or in it,
//! `tool_calls`, `invalid_tool_calls`, `tool_call_chunks`, and what the provider sent in
//! `additional_kwargs`. Other libraries have it in two, of which `views.rs` reads the whole contents.
//!
//! One rule holds for all of them. Descriptions are matched by id, or by name if one has no id. Empty or
//! cut arguments never replace others. If two descriptions differ, those of `tool_calls` count, which
//! are those that LangChain sends itself, <https://github.com/langchain-ai/langchainjs/pull/9809>;
//! otherwise the first that can be read, in the order of reading: `parts` or the content, other
//! contents, `invalid_tool_calls`, `function_call`, `toolInvocations`, `tool_call_chunks`,
//! `additional_kwargs`. The order of the members has no influence.

use std::borrow::Cow;

use super::super::args;
use super::super::code::Code;
use super::super::model::{Args, Call, Entry, Part, Piece, Speaker, ToolResult};
use super::super::pair::by_name;
use super::ending::Ending;
use super::{Fields, call, langchain, views};
use crate::index::{Index, slot};
use crate::json::{Json, object};
use crate::provider::Marks;

/// Adds another description of a call. `trusted`: its arguments count if both have some.
pub(super) fn describe<'a>(known: &mut Call<'a>, other: Call<'a>, trusted: bool) {
    if known.id.is_empty() {
        known.id = other.id;
    }
    if known.name.is_empty() {
        known.name = other.name;
    }
    known.thought_signature = known.thought_signature.take().or(other.thought_signature);
    known.result = known.result.take().or(other.result);
    known.conflict |= other.conflict;
    argue(known, other.args, trusted);
}

/// Adds other arguments of a call: they count if it has none, or none that can be read, or if they are
/// `trusted`. A text that was cut contradicts nothing.
pub(super) fn argue<'a>(known: &mut Call<'a>, other: Args<'a>, trusted: bool) {
    if args::is_empty(&other) {
        return;
    }
    if args::is_empty(&known.args) {
        known.args = other;
        return;
    }
    if args::same(&known.args, &other) {
        return;
    }
    let readable = |args: &Args<'a>| args::as_object(args).is_some();
    let (knows, adds) = (readable(&known.args), readable(&other));
    let cut = |args: &Args<'a>, reads: bool| !reads && args::is_partial(args);
    known.conflict |= !cut(&known.args, knows) && !cut(&other, adds);
    if adds && (trusted || !knows) {
        known.args = other;
    }
}

/// The member of a call's arguments that LangChain does not read, and what it reads: a call that is not
/// in OpenAI's form stays as it is, so its `args` must be an object. `_coerceToolCall` of
/// `@langchain/core` 1.2 (2026-11).
fn misnamed(list: &str, call: &Json<'_>) -> Option<(&'static str, &'static str)> {
    if list != "tool_calls" || call.get("function").is_some() {
        return None;
    }
    match call.get("args") {
        Some(args) => args.is_text().then_some(("args", "an object")),
        None => {
            let others = ["arguments", "input", "parameters"].into_iter();
            others.map(|key| (key, "args")).find(|(key, _)| call.get(key).is_some())
        }
    }
}

/// Reads the calls beside the content of a message.
pub(super) fn beside<'a>(
    fields: &mut Fields<'a>,
    entry: &mut Entry<'a>,
    pieces: &mut Vec<Piece<'a>>,
) -> Option<()> {
    let index = entry.index;
    views::read(fields, entry, pieces)?;
    if entry.speaker != Speaker::Assistant {
        return Some(());
    }
    for key in ["toolCalls", "tool_calls", "invalid_tool_calls"] {
        let items = fields.take_list(key).unwrap_or_default();
        // Items of OpenAI's form and of LangChain's may describe one call, too.
        let is_nested = |item: &Json<'a>| item.get("function").is_some();
        let first = items.first().is_some_and(is_nested);
        let (items, others): (Vec<_>, Vec<_>) =
            items.into_iter().partition(|item| is_nested(item) == first);
        for items in [items, others] {
            let mut list = List::of(entry, pieces);
            for item in items {
                let mut marks = Marks::NONE;
                let misnamed = misnamed(key, &item);
                let call = call::call(item, index, &mut marks);
                let named = |call: &Call<'a>| trusted(key) || !call.name.is_empty();
                let Some(mut call) = call.filter(named) else {
                    // A piece of a stream that was never put together names no tool.
                    if trusted(key) {
                        return None;
                    }
                    pieces.push(Piece::Drop { code: Code::ToolCallPartial, id: None });
                    continue;
                };
                call.own = key == "toolCalls";
                call.misnamed = misnamed;
                if misnamed.is_some() {
                    marks.add(Marks::EVENT);
                }
                entry.marks.add(marks.and(match key {
                    "tool_calls" => Marks::NONE,
                    "toolCalls" => Marks::CAMEL,
                    _ => Marks::LANGCHAIN,
                }));
                if let Some(call) = list.describe(call, trusted(key), entry, pieces) {
                    entry.parts.push(Part::call(call));
                }
            }
        }
    }
    if let Some(legacy) = fields.take("function_call").and_then(Fields::of) {
        entry.marks.add(Marks::CHAT);
        function(legacy, true, entry, pieces);
    }
    if let Some(items) = fields.take_list("toolInvocations") {
        entry.marks.add(Marks::AI_SDK);
        let mut list = List::of(entry, pieces);
        for item in items {
            match invocation(item, index)? {
                Ok(call) => {
                    if let Some(call) = list.describe(call, false, entry, pieces) {
                        entry.parts.push(Part::call(call));
                    }
                }
                Err(piece) => pieces.push(piece),
            }
        }
    }
    let mut list = List::of(entry, pieces);
    for item in chunks(fields.take_list("tool_call_chunks").unwrap_or_default()) {
        let Some(call) = call::call(item, index, &mut Marks::default()) else { continue };
        // A call that was cut off is in no other list either.
        if let Some(call) = list.describe(call, false, entry, pieces)
            && !call.name.is_empty()
            && args::as_object(&call.args).is_some()
        {
            entry.parts.push(Part::call(call));
        }
    }
    raw(fields, entry, pieces);
    langchain::output(fields, entry, pieces);
    begun(entry, pieces);
    Some(())
}

/// Whether a list has whole calls, and not pieces of a stream that were never put together.
fn trusted(key: &str) -> bool {
    key != "invalid_tool_calls"
}

/// Removes the reports of calls that had only begun in one description, and are whole in another.
fn begun<'a>(entry: &Entry<'a>, pieces: &mut Vec<Piece<'a>>) {
    let is_begun = |piece: &Piece<'a>| matches!(piece, Piece::Drop { code: Code::ToolCallPartial, id: Some(id) } if !id.is_empty());
    if pieces.iter().any(is_begun) {
        let list = List::of(entry, pieces);
        pieces.retain(|piece| match piece {
            Piece::Drop { id: Some(id), .. } if is_begun(piece) => list.keys.find(id).is_none(),
            _ => true,
        });
    }
}

/// What the provider had sent, as LangChain stores it; older versions only there.
fn raw<'a>(fields: &mut Fields<'a>, entry: &mut Entry<'a>, pieces: &mut [Piece<'a>]) {
    let Some(mut sent) = fields.get("additional_kwargs").cloned().and_then(Fields::of) else {
        return;
    };
    if !sent.has("tool_calls") && !sent.has("function_call") {
        return;
    }
    entry.marks.add(Marks::LANGCHAIN);
    fields.take("additional_kwargs");
    let mut list = List::of(entry, pieces);
    let only = list.is_empty();
    for item in sent.take_list("tool_calls").unwrap_or_default() {
        let Some(call) = call::call(item, entry.index, &mut entry.marks) else { continue };
        if let Some(call) = list.describe(call, false, entry, pieces).filter(|_| only) {
            entry.parts.push(Part::call(call));
        }
    }
    if let Some(legacy) = sent.take("function_call").and_then(Fields::of) {
        function(legacy, only && entry.calls().next().is_none(), entry, pieces);
    }
}

/// The one call of an older form, which has no id. It describes a call of the same name, if there is one:
/// the one with its arguments, or one without arguments, or else the last. `alone`: it may be a call of
/// its own.
fn function<'a>(
    mut fields: Fields<'a>,
    alone: bool,
    entry: &mut Entry<'a>,
    pieces: &mut [Piece<'a>],
) {
    let name = fields.take_text("name").unwrap_or_default();
    let args = call::args_of(fields.take("arguments"));
    let index = entry.index;
    let mut same: Vec<_> = calls(entry, pieces).filter(|call| call.name == name).collect();
    let equal = same.iter().position(|call| args::same(&call.args, &args));
    let empty = || same.iter().position(|call| args::is_empty(&call.args));
    let place = equal.or_else(empty).or_else(|| same.len().checked_sub(1));
    if let Some(known) = place.and_then(|place| same.get_mut(place)) {
        return argue(known, args, false);
    }
    let nothing = name.is_empty() && args::is_empty(&args);
    if alone && !(nothing && calls(entry, pieces).next().is_some()) {
        let call = call::made(Cow::Borrowed(""), name, args, Vec::new(), index);
        entry.parts.push(Part::call(call));
    }
}

/// AI SDK 4: `{ state, toolCallId, toolName, args, result? }`.
pub(super) fn invocation<'a>(item: Json<'a>, index: usize) -> Option<Result<Call<'a>, Piece<'a>>> {
    let mut fields = Fields::of(item)?;
    let state = fields.text("state").unwrap_or_default();
    let denied = call::denial(&fields, &state);
    let ending = Ending::take(&mut fields).or(Ending::failure_if(denied.is_some()));
    let result = fields.take("result").or(denied);
    let (result, ending) = match result.is_some() || ending.is_failure() || state == "result" {
        true => call::ended(result, &mut fields, ending),
        false => (None, ending),
    };
    fields.take("state");
    let mut one = call::call(fields.into_json(), index, &mut Marks::default())?;
    if state == "partial-call" {
        return Some(Err(Piece::Drop { code: Code::ToolCallPartial, id: Some(one.id) }));
    }
    if state == "result" || result.is_some() || ending.is_failure() {
        let content = call::content(result, &mut Marks::default());
        one.result = Some(call::result(content, ending, index));
    }
    Some(Ok(one))
}

/// The chunks of calls, those of one `index` together.
fn chunks(items: Vec<Json<'_>>) -> Vec<Json<'_>> {
    let mut indexes = Index::default();
    let mut places: Vec<Option<usize>> = Vec::new();
    let mut all: Vec<(Json<'_>, Json<'_>, String)> = Vec::new();
    for item in items {
        let text = |key: &str| item.get(key).filter(|value| !value.is_blank()).cloned();
        let (id, name) = (text("id"), text("name"));
        let piece = item.get("args").and_then(Json::as_str).unwrap_or_default();
        let index = item.get("index").map(|index| indexes.number(&index.to_text()));
        let last = all.len().checked_sub(1);
        let known = match index {
            Some(index) => places.get(index).copied().flatten(),
            None => last.filter(|_| id.is_none() && name.is_none()),
        };
        if let Some((_, _, args)) = known.and_then(|at| all.get_mut(at)) {
            args.push_str(piece);
            continue;
        }
        if let Some(index) = index {
            *slot(&mut places, index) = Some(all.len());
        }
        all.push((id.unwrap_or_default(), name.unwrap_or_default(), piece.to_owned()));
    }
    let mut calls = Vec::with_capacity(all.len());
    for (id, name, args) in all {
        calls.push(object! { "id": id, "name": name, "args": Json::from(args) });
    }
    calls
}

/// The calls of a message so far.
fn calls<'e, 'a>(
    entry: &'e mut Entry<'a>,
    pieces: &'e mut [Piece<'a>],
) -> impl Iterator<Item = &'e mut Call<'a>> {
    let before = pieces.iter_mut().filter_map(|piece| match piece {
        Piece::Say(entry) => Some(&mut entry.parts),
        _ => None,
    });
    before.chain([&mut entry.parts]).flatten().filter_map(|part| match part {
        Part::Call(call) => Some(call.as_mut()),
        _ => None,
    })
}

/// A list of calls beside others of its message.
#[derive(Default)]
pub(super) struct List {
    keys: Index,
    /// The places of the other calls among the parts: by the number of the id, of those without an id by
    /// that of the name, and by the number of the name all. A call of the list takes the next one.
    places: Vec<Vec<Place>>,
    /// How many of these places were taken, by the same numbers.
    taken: Vec<usize>,
}

/// An entry among the pieces, or the one that is not among them yet, and a part of it.
type Place = (Option<usize>, usize);

impl List {
    pub(super) fn of(entry: &Entry<'_>, pieces: &[Piece<'_>]) -> Self {
        let mut list = Self::default();
        let before = pieces.iter().enumerate().filter_map(|(at, piece)| match piece {
            Piece::Say(entry) => Some((Some(at), entry)),
            _ => None,
        });
        for (at, entry) in before.chain([(None, entry)]) {
            for (part, one) in entry.parts.iter().enumerate() {
                let Part::Call(call) = one else { continue };
                let id = if call.id.is_empty() { by_name(&call.name) } else { call.id.to_string() };
                for key in [id, any_of(&call.name)] {
                    slot(&mut list.places, list.keys.number(&key)).push((at, part));
                }
            }
        }
        list.taken = vec![0; list.places.len()];
        list
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds a description to the call that it describes; returns it if it describes none. Calls are
    /// matched by id, or in their order by name where one of both has no id.
    pub(super) fn describe<'a>(
        &mut self,
        call: Call<'a>,
        trusted: bool,
        entry: &mut Entry<'a>,
        pieces: &mut [Piece<'a>],
    ) -> Option<Call<'a>> {
        let own = self.keys.find(&call.id).filter(|_| !call.id.is_empty());
        let known = if call.id.is_empty() {
            self.keys.find(&any_of(&call.name))
        } else {
            own.or_else(|| self.keys.find(&by_name(&call.name)))
        };
        let place = known.and_then(|key| {
            let taken = self.taken.get_mut(key)?;
            let places = self.places.get(key)?;
            // One more with the id of a call that is there describes that call, too.
            let next = places.get(*taken).or_else(|| places.last().filter(|_| own.is_some()))?;
            *taken += 1;
            Some(*next)
        });
        match place.and_then(|place| call_at(place, entry, pieces)) {
            Some(known) => {
                describe(known, call, trusted);
                None
            }
            None => Some(call),
        }
    }

    /// Adds a result to the first call with this id, unless it has one; returns it if there is no such
    /// call.
    pub(super) fn answer<'a>(
        &self,
        id: &str,
        result: ToolResult<'a>,
        entry: &mut Entry<'a>,
        pieces: &mut [Piece<'a>],
    ) -> Option<ToolResult<'a>> {
        match self.find(id, entry, pieces) {
            Some(call) => {
                call.result.get_or_insert(result);
                None
            }
            None => Some(result),
        }
    }

    /// The first call with this id.
    pub(super) fn find<'e, 'a>(
        &self,
        id: &str,
        entry: &'e mut Entry<'a>,
        pieces: &'e mut [Piece<'a>],
    ) -> Option<&'e mut Call<'a>> {
        let known = self.keys.find(id).filter(|_| !id.is_empty());
        let place = known.and_then(|key| self.places.get(key)?.first().copied());
        call_at(place?, entry, pieces)
    }
}

fn call_at<'e, 'a>(
    (at, part): Place,
    entry: &'e mut Entry<'a>,
    pieces: &'e mut [Piece<'a>],
) -> Option<&'e mut Call<'a>> {
    let parts = match at.and_then(|at| pieces.get_mut(at)) {
        Some(Piece::Say(entry)) => &mut entry.parts,
        _ => &mut entry.parts,
    };
    match parts.get_mut(part)? {
        Part::Call(call) => Some(call),
        _ => None,
    }
}

/// The key of all calls of a name; no id begins with the same character.
fn any_of(name: &str) -> String {
    format!("\u{1}{name}")
}
