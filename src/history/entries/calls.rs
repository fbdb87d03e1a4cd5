//! Calls: their places and their lookup keys.

use std::borrow::Cow;

use super::super::code::Code;
use super::super::ids::Reasons;
use super::super::model::{Args, Call, Entry, Part, Speaker, ToolResult};
use super::super::pair::{Place, by_name};
use super::super::report::{Action, Finding};
use super::ingest::by_batch;
use super::{CONFLICT, History};
use crate::index::Index;
use crate::json::Json;
use crate::provider::{Elements, Ids, Marks, SentIds};

impl<'a> History<'a> {
    /// Adds a call that is an element of its own: to the calls of its batch, if a turn of ours says
    /// which.
    pub(super) fn call_in(&mut self, call: Call<'a>, marks: Marks, batch: Option<&str>) {
        let Some(batch) = batch.map(|batch| self.index.number(&by_batch(batch))) else {
            return self.call(call, marks);
        };
        match self.batches.last().copied() {
            Some((open, at)) if open == batch && self.stands(at) => {
                self.shape(marks, call.index);
                self.arranger.rewind(at);
                self.join(call, at);
            }
            _ => {
                self.call(call, marks);
                self.batches.push((batch, self.entries.len().saturating_sub(1)));
            }
        }
    }

    /// Whether an entry is there still, and the user said nothing behind it.
    fn stands(&self, at: usize) -> bool {
        at >= self.turn && self.entries.get(at).is_some_and(|entry| !entry.gone)
    }

    /// Takes the calls that an earlier message has out of a message. Returns whether it has nothing else.
    pub(super) fn describes(&mut self, entry: &mut Entry<'a>) -> bool {
        let message = entry.id.clone();
        let known = |part: &mut Part<'a>| match part {
            Part::Call(call) => self.is_described(call, message.as_deref()),
            _ => false,
        };
        let known = entry.parts.extract_if(.., known).count();
        if known == 0 {
            return false;
        }
        entry.parts.retain(|part| !self.is_said_in(part, message.as_deref()));
        if !entry.parts.is_empty() {
            return false;
        }
        self.shape(entry.marks, entry.index);
        true
    }

    /// Whether the last messages have this text under this id: a host stored a message in two states.
    fn is_said_in(&self, part: &Part<'a>, message: Option<&str>) -> bool {
        let Part::Text(said) = part else { return false };
        let before = self.entries.iter().rev().take(16);
        let same = before.filter(|entry| message.is_some() && entry.id.as_deref() == message);
        same.flat_map(|entry| &entry.parts).any(|part| match part {
            Part::Text(text) => text.text == said.text,
            _ => false,
        })
    }

    /// Whether a message before has this call already, with arguments where this description has none or
    /// the other way round: then it is one call, and gets what this description adds. The message is
    /// the last one, or any of the current turn if this description has the result, as hosts store the
    /// results of tools that run in a page. A call that uses an id again comes behind a result, or has
    /// arguments of its own, or stands in another message: `message` is the host's id of this one.
    fn is_described(&mut self, call: &mut Call<'a>, message: Option<&str>) -> bool {
        let number = self.index.find(&call.id).filter(|_| !call.id.is_empty());
        let Some((number, place)) = number.and_then(|id| Some((id, self.pairs.last_of(id)?)))
        else {
            return false;
        };
        let is_near = place.0 + 1 == self.entries.len()
            || call.result.is_some()
                && place.0 >= self.turn
                && self.entries.get(place.0).is_some_and(|entry| !entry.gone);
        let before = self.entries.get(place.0).and_then(|entry| entry.id.as_deref());
        let is_message = message.is_some() && before == message;
        let Some(known) = self.call_at(place).filter(|_| is_near || is_message) else {
            return false;
        };
        let is_same = (known.result.is_none() || is_message && call.result.is_none())
            && (known.name == call.name || known.name.is_empty() || call.name.is_empty());
        let (knows, adds) = (!known.is_bare(), !call.is_bare());
        if !is_same || knows == adds && !is_message {
            return false;
        }
        // Of two states of a message, the one with the result is complete.
        if adds && (!knows || call.result.is_some()) {
            known.args = std::mem::replace(&mut call.args, Args::Value(Json::Null));
            known.streamed = false;
        }
        if known.name.is_empty() {
            known.name.clone_from(&call.name);
            let sent = self.names.assign(&call.name, self.rules.names);
            if let Some(known) = self.call_at(place) {
                known.wire_name = sent;
            }
        }
        self.link(place.0, call.index);
        self.arranger.rewind(place.0);
        if let Some(result) = call.result.take() {
            self.pairs.settled(number, place);
            self.answer(place, result);
        }
        true
    }

    /// Adds a call that is an element of its own; it joins the calls before it where possible.
    pub(super) fn call(&mut self, mut call: Call<'a>, marks: Marks) {
        // Without arguments it may be the beginning of another call, whose arguments follow.
        if !call.is_bare() && self.is_described(&mut call, None) {
            return self.shape(marks, call.index);
        }
        let blank = |part: &&Part<'_>| matches!(part, Part::Text(text) if text.text.is_blank());
        let joins = self.entries.last().is_some_and(|last| {
            !last.gone
                && last.speaker == Speaker::Assistant
                && (last.open
                    || last.marks.meets(Marks::RESPONSES) && marks.meets(Marks::RESPONSES))
                && last.answered.is_none()
                && match last.parts.iter().rfind(|part| !blank(part)) {
                    Some(Part::Call(_)) => true,
                    // With members of its own it is a message, whose text is left out.
                    Some(Part::Reasoning(_)) => {
                        self.rules.elements != Elements::Items || last.extra.is_empty()
                    }
                    // A call does not join an entry that ends with a block of the provider's own tools.
                    Some(Part::Native { .. }) => false,
                    // Where calls are items of their own, a message has none. Blanks of a stream
                    // before a call are left out with it, and are not reported.
                    said => {
                        self.rules.elements != Elements::Items
                            || last.calls().next().is_some()
                            || said.is_none() && last.open
                    }
                }
        });
        if !joins {
            let mut entry = Entry::new(Speaker::Assistant, call.index);
            entry.marks = marks;
            entry.open = true;
            entry.parts.push(Part::call(call));
            return self.say(entry);
        }
        self.shape(marks, call.index);
        if let Some(last) = self.entries.last_mut() {
            last.marks.add(marks);
        }
        self.join(call, self.entries.len().saturating_sub(1));
    }

    /// Adds a call to an entry.
    pub(super) fn join(&mut self, mut call: Call<'a>, at: usize) {
        if self.rules.elements == Elements::Items {
            let index = call.index;
            self.call_item(&mut call, index);
        }
        let id = self.name_call(&mut call);
        let index = call.index;
        let Some(entry) = self.entries.get_mut(at) else { return };
        let place = (at, entry.parts.len());
        entry.parts.push(Part::call(call));
        if self.called.replace(place.0) != Some(place.0) {
            self.open_from = 0;
        }
        if let Some(result) = self.pairs.call(id, place) {
            self.early(result, (id, place), index);
        }
    }

    /// The call of this number has arrived behind its result.
    pub(super) fn early(
        &mut self,
        result: ToolResult<'a>,
        (number, place): (usize, Place),
        index: usize,
    ) {
        let kept = result.kept.is_some();
        self.gone(&result);
        let finding = Finding::new(Code::ToolResultBeforeCall, Action::Moved, result.index);
        let id = self.call_at(place).map(|call| call.id.to_string()).unwrap_or_default();
        self.read.push(finding.call(&id).done(format!("moved behind the call of element {index}")));
        self.settle(place, result);
        // Others that were sent on their own cannot stay there, so no later call has them.
        while kept && let Some(other) = self.pairs.early(number) {
            self.gone(&other);
            self.again(place, other);
        }
    }

    /// The call of a result has arrived, so the result is no longer sent on its own.
    fn gone(&mut self, result: &ToolResult<'a>) {
        if let Some(at) = result.kept
            && let Some(entry) = self.entries.get_mut(at)
        {
            entry.gone = true;
            self.arranger.rewind(at);
        }
    }

    pub(super) fn settle(&mut self, place: Place, result: ToolResult<'a>) {
        if let Some(entry) = self.entries.get_mut(place.0) {
            entry.answered = entry.answered.max(Some(place.1));
            // Core messages have `toolCallId` beside `toolCalls`; behind `tool_calls` it is a fault of
            // whoever wrote the result. It is no violation of its own: the shape already is one.
            let wire = entry.marks.meets(Marks::CHAT) && !entry.marks.meets(Marks::CAMEL);
            if result.camel && wire && self.rules.own.meets(Marks::CHAT) {
                let finding = Finding::new(Code::FieldUnknown, Action::Renamed, result.index);
                let id = match entry.parts.get(place.1) {
                    Some(Part::Call(call)) => call.id.to_string(),
                    _ => String::new(),
                };
                let mut finding = finding.call(&id).more("toolCallId").done("now tool_call_id");
                finding.member = Some(("/toolCallId".into(), "tool_call_id"));
                self.read.push(finding.risk_if(true));
            }
        }
        self.safety_checks(&result, place);
        self.cached_result(&result, place);
        if let Some(call) = self.call_at(place) {
            call.result = Some(result);
        }
    }

    /// Reports an output of a computer that does not acknowledge each safety check of its call: "Computer
    /// tool has unacknowledged safety check" (openai/openai-agents-python#843, 2025-06-11). Only the user
    /// can acknowledge one.
    fn safety_checks(&mut self, result: &ToolResult<'a>, place: Place) {
        let Some(output) = result.item.as_deref() else { return };
        let Some(call) = self.call_at(place).and_then(|call| call.item.as_deref()) else { return };
        let ids = |item: &Json<'_>, key: &str| -> Vec<String> {
            let checks = item.get(key).and_then(Json::as_array).unwrap_or_default();
            checks
                .iter()
                .map(|check| check.get("id").map(Json::to_text).unwrap_or_default())
                .collect()
        };
        let mut known = Index::default();
        for id in ids(output, "acknowledged_safety_checks") {
            known.number(&id);
        }
        if ids(call, "pending_safety_checks").iter().all(|id| known.find(id).is_some()) {
            return;
        }
        let mut finding = Finding::new(Code::ContentShape, Action::Converted, result.index);
        finding.member =
            Some(("/acknowledged_safety_checks".into(), "the pending_safety_checks of the call"));
        self.read.push(finding.more("a safety check is not acknowledged").spelling());
    }

    /// Applies arguments that arrived before their call.
    fn take_early_args(&mut self, call: &mut Call<'a>) {
        let early = self.index.find(&call.id).and_then(|id| self.early_args.get_mut(id));
        if let Some((_, text)) = early.and_then(Option::take) {
            call.stream(&text);
        }
    }

    /// The ids of the calls so far.
    pub(crate) fn call_ids(&self) -> Vec<String> {
        self.entries.iter().flat_map(Entry::calls).map(|call| call.id.to_string()).collect()
    }

    /// Assigns the id and the name that are sent; returns the number of the call's lookup key.
    pub(super) fn name_call(&mut self, call: &mut Call<'a>) -> usize {
        self.take_early_args(call);
        if call.conflict {
            let finding = Finding::new(Code::ToolArgsConflict, Action::Dropped, call.index);
            self.read.push(finding.call(&call.id).done(CONFLICT).risk_if(true));
        }
        let number = self.index.number(&key(call));
        let unsent = call.id.is_empty() && self.rules.sent_ids != SentIds::Always;
        let rule = if unsent { Ids::None } else { self.rules.ids };
        let (wire_id, reasons) = self.ids.assign(&call.id, number, rule, &mut self.index);
        let Reasons { missing, duplicate, form } = reasons;
        let length = matches!(self.rules.ids, Ids::Length(_));
        let none = self.rules.ids == Ids::None;
        call.repeats = self.before_in_message(number).filter(|_| duplicate);
        for (is, code) in [
            (missing && self.rules.sent_ids == SentIds::Always, Code::ToolCallIdMissing),
            // Within one message, it is reported when its result is known.
            (duplicate && call.repeats.is_none(), Code::ToolCallIdDuplicate),
            (form && length && !call.own, Code::ToolCallIdLength),
            (form && !length && !call.own, Code::ToolCallIdFormat),
        ] {
            if is {
                let finding = Finding::new(code, Action::Renamed, call.index).call(&call.id);
                let finding = if none { finding } else { finding.done(format!("now {wire_id}")) };
                // Providers accept a repeated id in a later message, but not within one message.
                let taken = code == Code::ToolCallIdDuplicate;
                self.read.push(finding.risk_if(none || taken));
            }
        }
        if call.thought_signature.is_some() && !self.signed {
            self.signed = true;
            self.arranger.rewind(self.turn);
        }
        call.wire_id = wire_id;
        call.wire_name = self.names.assign(&call.name, self.rules.names);
        number
    }

    /// The part that is a call with this id in the message that is read, which is no entry yet.
    fn before_in_message(&self, id: usize) -> Option<usize> {
        let (entry, part) = self.pairs.last_of(id)?;
        (entry >= self.entries.len()).then_some(part)
    }
}

/// The lookup key of a call: its id, or its tool's name if it has no id.
pub(super) fn key<'k>(call: &'k Call<'_>) -> Cow<'k, str> {
    if call.id.is_empty() { Cow::Owned(by_name(&call.name)) } else { Cow::Borrowed(&call.id) }
}
