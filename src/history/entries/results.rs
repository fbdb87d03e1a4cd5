//! Results: which call each one answers.

use std::borrow::Cow;

use super::super::code::Code;
use super::super::import::call;
use super::super::model::{Args, Call, Content, Entry, Part, Speaker, ToolResult};
use super::super::options::Strategy;
use super::super::pair::{Answers, Place, by_name};
use super::super::report::{Action, Finding};
use super::calls::key;
use super::ingest::{by_approval, by_batch};
use super::{History, INTERRUPTED};
use crate::json::{Add, Json};
use crate::provider::{Bridge, Elements, Ids, Marks, Results, SentIds};

/// What the providers call the member of a result that names its call, and of a message that lists
/// calls.
const ID_MEMBERS: &[(Marks, &str)] = &[
    (Marks::CHAT, "tool_call_id"),
    (Marks::LANGCHAIN, "tool_call_id"),
    (Marks::RESPONSES, "call_id"),
    (Marks::ANTHROPIC, "tool_use_id"),
    (Marks::BEDROCK, "toolUseId"),
];
pub(super) const CALLS_MEMBERS: &[(Marks, &str)] =
    &[(Marks::CHAT, "tool_calls"), (Marks::LANGCHAIN, "tool_calls")];

impl<'a> History<'a> {
    /// Names the member in the report of an element's shape, and what the provider calls it.
    pub(super) fn misspelt(&mut self, path: &str, names: &[(Marks, &'static str)], index: usize) {
        let own = names.iter().find(|(marks, _)| self.rules.own.meets(*marks));
        let last = self.read.last_mut();
        if let Some((_, name)) = own
            && let Some(finding) =
                last.filter(|last| (last.code, last.index) == (Code::ContentShape, index))
        {
            finding.member = Some((path.to_owned(), name));
        }
    }

    pub(super) fn result(&mut self, id: &str, mut result: ToolResult<'a>) {
        self.shape(result.marks, result.index);
        if let Some(member) = result.id_member {
            self.misspelt(&format!("/{member}"), ID_MEMBERS, result.index);
        }
        self.foreign(result.inner, result.index);
        if let Content::Parts(parts) = &mut result.content {
            self.document_names(parts, result.index);
        }
        if result.behind && self.rules.results == Results::WithUser {
            let finding = Finding::new(Code::ToolResultTextFirst, Action::Moved, result.index);
            self.read.push(finding.call(id).spelling());
        }
        if let Some(batch) = result.revises.take()
            && let Some(place) = self.in_batch(&batch, id)
        {
            self.link(place.0, result.index);
            return self.settle(place, result);
        }
        let named;
        let key = if id.is_empty() {
            named = by_name(&result.name);
            &named
        } else {
            id
        };
        let number = self.index.number(key);
        let mut answers = self.pairs.result(number, self.turn);
        if !matches!(answers, Answers::Call(_))
            && let Some(place) = self.by_place(id, &result.name)
        {
            answers = Answers::Call(place);
            self.nameless(&result, place);
        }
        match answers {
            Answers::Call(place) => self.answer(place, result),
            Answers::Again(place) if self.is_of_lost_call(place, &result) => {
                self.pairs.orphan(key, result);
            }
            Answers::Again(place) => self.again(place, result),
            Answers::Nothing if self.elsewhere(&result) => {
                let (index, mut item) = (result.index, result.item.take());
                if !result.inner.within(self.rules.own)
                    && let Some(Json::Object(members)) = item.as_deref_mut()
                {
                    members.retain(|(key, _)| key != "output");
                    members.add("output", Json::from(told(&result.content)));
                }
                result.kept = self.keep(index, item);
                self.pairs.wait(number, key, result);
            }
            Answers::Nothing if self.partial() => self.stored(id, number, result),
            // It cannot wait for a call: without an id, it would match the next call of its tool.
            Answers::Nothing if id.is_empty() => self.pairs.orphan("", result),
            Answers::Nothing => self.pairs.wait(number, key, result),
        }
    }

    /// Whether a second result for the call at this place belongs to a call that is lost: the assistant
    /// has answered since, so the call had its result (open-webui/open-webui#28570, 2026-08-14). A result
    /// that only says that the call was interrupted may get a real one later.
    fn is_of_lost_call(&mut self, place: Place, result: &ToolResult<'a>) -> bool {
        let answered = self.answered > place.0 && !self.options.partial;
        answered
            && !result.marks.meets(Marks::TURN)
            && self
                .call_at(place)
                .and_then(|call| call.result.as_ref())
                .is_some_and(|known| !known.implied && !known.uncertain && !is_made_up(known))
    }

    /// The user denied a call: that is its result, unless it has one.
    pub(super) fn denied(&mut self, approval: &str, mut result: ToolResult<'a>) {
        let asked = self.index.find(&by_approval(approval)).and_then(|at| self.asked.get(at));
        let Some(id) = asked.filter(|id| !id.is_empty()).cloned() else { return };
        let place = self.index.find(&id).and_then(|id| self.pairs.last_of(id));
        if place.and_then(|place| self.call_at(place)).is_some_and(|call| call.result.is_none()) {
            result.implied = true;
            self.result(&id, result);
        }
    }

    /// Reports a result that names no call, where its provider wants it to. One that names a call was
    /// matched to one without an id.
    fn nameless(&mut self, result: &ToolResult<'a>, place: Place) {
        let item = result.item.as_deref().is_some_and(|item| item.get("id").is_some());
        let always = self.rules.sent_ids == SentIds::Always;
        let wanted = always && !item && result.marks.within(self.rules.own);
        let called = self.call_at(place).map(|call| call.id.to_string()).unwrap_or_default();
        if wanted && !called.is_empty() {
            let finding = Finding::new(Code::ToolCallIdMissing, Action::Synthesized, result.index);
            self.read.push(finding.call(&called).more("of a result"));
        }
    }

    /// The call with this id in a batch of a turn of ours.
    fn in_batch(&mut self, batch: &str, id: &str) -> Option<Place> {
        let batch = self.index.number(&by_batch(batch));
        let (_, at) = *self.batches.iter().rev().find(|(one, _)| *one == batch)?;
        let is = |part: &Part<'_>| matches!(part, Part::Call(call) if call.id == id);
        let part = self.entries.get(at)?.parts.iter().position(is)?;
        self.arranger.rewind(at);
        Some((at, part))
    }

    /// Whether only the provider may know the call of this result: the input continues a response
    /// or a conversation that the provider stores, or refers to its items.
    fn elsewhere(&self, result: &ToolResult<'a>) -> bool {
        result.item.is_some()
            && self.options.strategy == Strategy::Reconstruct
            && self.rules.elements == Elements::Items
            && self.marks.within(self.rules.own)
            && (self.options.partial || self.references)
    }

    /// Whether calls and results may be at the provider.
    fn partial(&self) -> bool {
        self.options.partial && self.options.strategy == Strategy::Reconstruct
    }

    /// Adds the result of a call that only the provider has. It keeps its place and its id.
    fn stored(&mut self, id: &str, number: usize, result: ToolResult<'a>) {
        let at = self.entries.len();
        let mut entry = Entry::new(Speaker::Assistant, result.index);
        entry.marks = result.marks;
        entry.answered = Some(0);
        let (id, name) = (Cow::Owned(id.to_owned()), result.name.clone());
        let mut call = call::made(id, name, Args::Value(Json::Null), Vec::new(), result.index);
        call.stored = true;
        if call.id.is_empty() {
            // Nothing refers to it: a second one of its tool is another result.
            self.name_call(&mut call);
        } else {
            call.wire_id.clone_from(&call.id);
            self.pairs.settled(number, (at, 0));
        }
        call.wire_name = None;
        call.result = Some(result);
        entry.parts.push(Part::call(call));
        self.entries.push(entry);
        self.spoke(at);
    }

    /// Adds a result that is sent on its own, and returns its entry: none if an item has its id. It is
    /// an entry by itself, which goes when the call arrives.
    fn keep(&mut self, index: usize, item: Option<Box<Json<'a>>>) -> Option<usize> {
        let mut entry = Entry::new(Speaker::Assistant, index);
        let marks = Marks::RESPONSES;
        entry.marks = marks;
        entry.parts.push(Part::Native { marks, block: *item? });
        self.item_ids(&mut entry);
        if entry.parts.is_empty() {
            return None;
        }
        let at = self.entries.len();
        self.entries.push(entry);
        self.spoke(at);
        Some(at)
    }

    /// Matches a result by the name of its tool to a call in the last entry that has calls, if the
    /// result or the call has no id. A result without an id falls back to the first unanswered call
    /// there.
    fn by_place(&mut self, id: &str, name: &str) -> Option<Place> {
        let at = self.called?;
        let entry = self.entries.get(at)?;
        let open = |part: &Part<'a>| matches!(part, Part::Call(call) if call.result.is_none());
        // Only the next 256 of them are searched: a history with thousands of calls has ids.
        let parts = entry.parts.iter().enumerate().skip(self.open_from);
        let mut waiting =
            parts.filter(|(_, part)| open(part)).take(256).filter_map(|(at, part)| match part {
                Part::Call(call) => Some((at, call.as_ref())),
                _ => None,
            });
        let first = waiting.next();
        let named = |(_, call): &(usize, &Call<'a>)| {
            // A result that names no tool is not that of a call that names none.
            call.name == name && !name.is_empty() && (id.is_empty() || call.id.is_empty())
        };
        let same = first.filter(named).or_else(|| waiting.find(named));
        // With an id, only a call without one matches; without an id, the first call is the
        // fallback.
        let (part, found) = if id.is_empty() { same.or(first) } else { same }?;
        let place = (at, part);
        if let Some((first, _)) = first {
            self.open_from = first;
        }
        let id = self.index.find(&key(found));
        self.pairs.settled(id?, place);
        Some(place)
    }

    pub(super) fn answer(&mut self, place: Place, result: ToolResult<'a>) {
        let last = self.entries.len().saturating_sub(1);
        let between = place.0 != last;
        let behind = self.entries.get(place.0).and_then(|entry| entry.answered);
        let after = behind.is_some_and(|last| last > place.1);
        let rules = self.rules;
        let named = self.call_at(place).is_some_and(|call| !call.id.is_empty());
        for (is, code, free) in [
            (between, Code::ToolResultNotAdjacent, rules.elements == Elements::Items),
            (
                after,
                Code::ToolResultOrder,
                (rules.ids != Ids::None || named) && rules.bridge == Bridge::None,
            ),
        ] {
            // The calls of a turn settle as they do, and what was said meanwhile is shown.
            if is && !result.marks.meets(Marks::TURN) {
                let id = self.call_at(place).map(|call| call.id.to_string()).unwrap_or_default();
                let finding = Finding::new(code, Action::Moved, result.index).call(&id);
                self.read.push(finding.risk_if(free));
            }
        }
        self.settle(place, result);
        self.arranger.rewind(place.0);
    }

    /// The last result replaces earlier ones, unless it is the text of a synthesized result.
    pub(super) fn again(&mut self, place: Place, result: ToolResult<'a>) {
        let mut dropped = result.index;
        self.link(place.0, dropped);
        let mut id = String::new();
        if let Some(call) = self.call_at(place) {
            id = call.id.to_string();
            match &mut call.result {
                Some(kept) if kept.implied => {
                    *kept = result;
                    return self.arranger.rewind(place.0);
                }
                Some(_) if is_made_up(&result) => {}
                Some(kept) => dropped = std::mem::replace(kept, result).index,
                kept => *kept = Some(result),
            }
        }
        let finding = Finding::new(Code::ToolResultDuplicate, Action::Dropped, dropped);
        self.read.push(finding.call(&id));
        self.arranger.rewind(place.0);
    }
}

/// Whether a result has the text of a synthesized one.
fn is_made_up(result: &ToolResult<'_>) -> bool {
    matches!(&result.content, Content::Text(text) if text.as_str() == Some(INTERRUPTED))
}

/// The texts of a result with blocks of another provider, of which the others are named.
fn told(content: &Content<'_>) -> String {
    let Content::Parts(parts) = content else { return String::new() };
    let text = |part: &Part<'_>| match part {
        Part::Text(text) => text.text.as_str().unwrap_or_default().to_owned(),
        _ => "[attachment]".to_owned(),
    };
    parts.iter().map(text).collect::<Vec<_>>().join("\n")
}
