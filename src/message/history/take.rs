//! Pieces into entries: who said what, and which call has which result.

use std::borrow::Cow;

use super::super::ids::Reasons;
use super::super::import::element;
use super::super::model::{
    Args, Call, Content, Entry, Marks, Part, Piece, Reasoning, Speaker, Text, ToolResult,
};
use super::super::options::Strategy;
use super::super::pair::{Answers, Place, by_name};
use super::super::report::Finding;
use super::super::rules::{Ids, Results, System};
use super::{History, INTERRUPTED};
use crate::canon::{Joined, Json};
use crate::error::Error;

impl<'a> History<'a> {
    /// Takes the pieces of one element.
    pub(super) fn take(&mut self, pieces: Vec<Piece<'a>>, index: usize) -> Result<(), Error> {
        let foreign = !self.marks.within(self.rules.own);
        for piece in pieces {
            // Whether a call is unanswered or pending depends on what comes behind it.
            self.arranger.rewind(self.entries.len().saturating_sub(1));
            match piece {
                Piece::Say(entry) => self.say(entry),
                Piece::Call { call, marks } => self.call(call, marks),
                Piece::Result { id, result } => self.result(&id, result),
                Piece::ArgsDelta { id, delta } => self.args_delta(&id, &delta, index),
                Piece::TextDelta { id, delta, speaker } => {
                    self.text_delta(&id, &delta, speaker, index);
                }
                Piece::Replace(elements) => {
                    // Nothing is given up before all of it is read.
                    let read = elements.into_iter().map(|value| element(value, index));
                    let read: Option<Vec<_>> = read.collect();
                    let read = read.ok_or(Error::MessageShape { index })?;
                    self.clear();
                    for pieces in read {
                        self.take(pieces, index)?;
                    }
                }
                Piece::Remove(id) => self.remove(id.as_deref()),
                Piece::Drop { code, id } => {
                    let mut finding = Finding::new(code, "dropped", index);
                    finding.id = id.map(Cow::into_owned);
                    self.read.push(finding);
                }
            }
        }
        if !foreign && !self.marks.within(self.rules.own) {
            // Lists are kept as lists only while all of the history is the dialect's own.
            self.arranger.rewind(0);
        }
        Ok(())
    }

    fn clear(&mut self) {
        let fresh = Self::new(self.options.clone());
        self.arranger.rewind(0);
        let arranger = std::mem::take(&mut self.arranger);
        let read = std::mem::take(&mut self.read);
        *self = Self { elements: self.elements, told: self.told, arranger, read, ..fresh };
    }

    fn remove(&mut self, id: Option<&str>) {
        let Some(id) = id else { return self.clear() };
        let at = self.message_of(id);
        if let Some((at, entry)) = at.and_then(|at| Some((at, self.entries.get_mut(at)?))) {
            entry.gone = true;
            self.arranger.rewind(at);
            if at == self.turn {
                let spoke = |entry: &Entry<'_>| {
                    entry.speaker == Speaker::User && entry.says(false, Marks::NONE)
                };
                self.turn = self.entries.iter().rposition(spoke).unwrap_or(0);
                self.arranger.rewind(self.turn);
            }
        }
    }

    fn shape(&mut self, marks: Marks, index: usize) {
        self.marks.add(marks);
        let last = self.read.last().map(|finding| (finding.code, finding.index));
        if !marks.within(self.rules.own) && last != Some(("CONTENT_SHAPE", index)) {
            let finding = Finding::new("CONTENT_SHAPE", "converted", index).spelling();
            self.read.push(finding.more(marks.names()));
        }
    }

    fn say(&mut self, mut entry: Entry<'a>) {
        self.shape(entry.marks, entry.index);
        if let Some(last) = self.entries.last_mut()
            && self.rules.own.meets(Marks::RESPONSES)
            && last.marks.meets(Marks::RESPONSES)
            && entry.speaker == Speaker::Assistant
            && !entry.listed
            && entry.extra.is_empty()
            && entry.id.is_none()
            && matches!(last.parts.last(), Some(Part::Call(_)))
            && last.answered.is_none()
            && entry.calls().next().is_none()
        {
            // An item between calls and their outputs.
            last.parts.append(&mut entry.parts);
            return;
        }
        let thinks = |entry: &Entry<'_>| {
            let thought = |part: Option<&Part<'_>>| matches!(part, Some(Part::Reasoning(_)));
            entry.marks.meets(Marks::RESPONSES)
                && thought(entry.parts.first())
                && thought(entry.parts.last())
        };
        if let Some(last) = self.entries.last_mut()
            && thinks(last)
            && thinks(&entry)
        {
            // Items of reasoning lead to the same item.
            last.parts.append(&mut entry.parts);
            return;
        }
        let at = self.entries.len();
        let index = entry.index;
        let mut early = Vec::new();
        let (mut called, mut answered) = (false, None);
        if self.rules.own.meets(Marks::RESPONSES) {
            self.item_ids(&mut entry);
        }
        for (part, one) in entry.parts.iter_mut().enumerate() {
            let Part::Call(call) = one else { continue };
            called = true;
            let id = self.name_call(call);
            if call.result.is_some() {
                self.pairs.settled(id, (at, part));
                answered = Some(part);
            } else if let Some(result) = self.pairs.call(id, (at, part)) {
                early.push((part, result));
            }
        }
        entry.answered = answered;
        if called {
            self.called = Some(at);
            self.open_from = 0;
        }
        if let Some(id) = &entry.id {
            let number = self.index.number(&by_message(id));
            if number >= self.named.len() {
                self.named.resize(number + 1, None);
            }
            if let Some(named) = self.named.get_mut(number) {
                *named = Some(at);
            }
        }
        self.references |= entry.parts.iter().any(|part| match part {
            Part::Native { marks, block } => {
                let kind = block.get("type").and_then(Json::as_str);
                marks.meets(Marks::RESPONSES) && kind.is_none_or(|kind| kind == "item_reference")
            }
            _ => false,
        });
        let leads = matches!(entry.speaker, Speaker::System | Speaker::Developer);
        let leading = self
            .entries
            .last()
            .is_none_or(|last| matches!(last.speaker, Speaker::System | Speaker::Developer));
        if leads && leading && self.rules.system == System::Apart {
            // It is put beside the messages; one that does not lead is reported by what is done.
            let finding = Finding::new("SYSTEM_POSITION", "moved", index);
            self.read.push(finding.spelling());
        }
        self.entries.push(entry);
        self.spoke(at);
        for (part, result) in early {
            self.early(result, (at, part), index);
        }
    }

    /// What depends on entry `at` saying something: entries before it, and whose turn it is.
    fn spoke(&mut self, at: usize) {
        if let Some(undecided) = self.undecided {
            self.arranger.rewind(undecided);
        }
        let Some(entry) = self.entries.get(at) else { return };
        let says = entry.says(self.options.strategy != Strategy::Reconstruct, self.rules.own);
        let instructs = matches!(entry.speaker, Speaker::System | Speaker::Developer);
        let user = entry.speaker == Speaker::User;
        if !says || instructs && self.options.system_anywhere {
            if !entry.parts.is_empty() {
                self.undecided = self.undecided.or(Some(at));
            }
            return;
        }
        if self.undecided.is_some_and(|undecided| undecided <= at) {
            self.undecided = None;
        }
        if user && at > self.turn {
            // Gemini wants signatures of the current turn only.
            if self.signatures() {
                self.arranger.rewind(self.turn);
            }
            self.turn = at;
        }
    }

    /// Responses refuses an item whose id another has: a message and a call go without, and of
    /// items that only the provider knows the second is left out.
    fn item_ids(&mut self, entry: &mut Entry<'a>) {
        let index = entry.index;
        let message = self.used_again(&entry.extra, index);
        if message {
            entry.extra.retain(|(key, _)| key != "id");
        }
        let parts = std::mem::take(&mut entry.parts);
        for mut part in parts {
            let kept = match &mut part {
                Part::Call(call) => {
                    if self.used_again(&call.extra, index) {
                        call.extra.retain(|(key, _)| key != "id");
                    }
                    true
                }
                Part::Native { block, .. } | Part::Reasoning(Reasoning::Native { block, .. }) => {
                    let reference =
                        block.get("type").and_then(Json::as_str) == Some("item_reference");
                    let again = !reference
                        && block.as_object().is_some_and(|all| self.used_again(all, index));
                    !again
                }
                _ => true,
            };
            if kept {
                entry.parts.push(part);
            }
        }
    }

    /// Whether the id among the members is that of an item before.
    fn used_again(&mut self, members: &[(Cow<'a, str>, Json<'a>)], index: usize) -> bool {
        let id = members.iter().find(|(key, _)| key == "id").and_then(|(_, id)| id.as_str());
        let Some(id) = id else { return false };
        let number = self.index.number(&by_item(id));
        if number >= self.items.len() {
            self.items.resize(number + 1, false);
        }
        let again = self.items.get_mut(number).is_some_and(|used| std::mem::replace(used, true));
        if again {
            let finding = Finding::new("ITEM_ID_DUPLICATE", "dropped", index);
            self.read.push(finding.more(id.to_owned()));
        }
        again
    }

    /// A call that is an element of its own joins the calls before it.
    fn call(&mut self, mut call: Call<'a>, marks: Marks) {
        let at = self.entries.len();
        let joins = self.entries.last().is_some_and(|last| {
            last.speaker == Speaker::Assistant
                && (last.open
                    || last.marks.meets(Marks::RESPONSES) && marks.meets(Marks::RESPONSES))
                && last.answered.is_none()
                // What the provider runs itself stands alone.
                && !matches!(last.parts.last(), Some(Part::Native { .. }))
        });
        if !joins {
            let mut entry = Entry::new(Speaker::Assistant, call.index);
            entry.marks = marks;
            entry.open = true;
            entry.parts.push(Part::call(call));
            return self.say(entry);
        }
        self.shape(marks, call.index);
        if self.rules.own.meets(Marks::RESPONSES) && self.used_again(&call.extra, call.index) {
            call.extra.retain(|(key, _)| key != "id");
        }
        let id = self.name_call(&mut call);
        let index = call.index;
        let Some(last) = self.entries.last_mut() else { return };
        let place = (at - 1, last.parts.len());
        last.marks.add(marks);
        last.parts.push(Part::call(call));
        if self.called.replace(place.0) != Some(place.0) {
            self.open_from = 0;
        }
        if let Some(result) = self.pairs.call(id, place) {
            self.early(result, place, index);
        }
    }

    fn early(&mut self, result: ToolResult<'a>, place: Place, index: usize) {
        if let Some(at) = result.kept
            && let Some(entry) = self.entries.get_mut(at)
        {
            // Its call is here after all.
            entry.gone = true;
            self.arranger.rewind(at);
        }
        let finding = Finding::new("TOOL_RESULT_BEFORE_CALL", "moved", result.index);
        let id = self.call_at(place).map(|call| call.id.to_string()).unwrap_or_default();
        self.read.push(finding.call(&id).done(format!("moved behind the call of element {index}")));
        self.settle(place, result);
    }

    fn settle(&mut self, place: Place, result: ToolResult<'a>) {
        if let Some(entry) = self.entries.get_mut(place.0) {
            entry.answered = entry.answered.max(Some(place.1));
        }
        if let Some(call) = self.call_at(place) {
            call.result = Some(result);
        }
    }

    /// Arguments that came before their call.
    fn take_early_args(&mut self, call: &mut Call<'a>) {
        let early = self.index.find(&call.id).and_then(|id| self.early_args.get_mut(id));
        if let Some((_, text)) = early.and_then(Option::take) {
            call.args = Args::Text(text.into());
        }
    }

    /// Gives a call its id; the number of what it is found by: its own id, or its tool.
    fn name_call(&mut self, call: &mut Call<'a>) -> usize {
        self.take_early_args(call);
        let number = self.index.number(&key(call));
        let (wire_id, reasons) = self.ids.assign(&call.id, number, self.rules.ids, &mut self.index);
        let Reasons { missing, duplicate, form } = reasons;
        let length = matches!(self.rules.ids, Ids::Length(_));
        let none = self.rules.ids == Ids::None;
        let within = duplicate && self.twice(call, number);
        for (is, code) in [
            (missing && !self.rules.ids_optional, "TOOL_CALL_ID_MISSING"),
            (duplicate, "TOOL_CALL_ID_DUPLICATE"),
            (form && length, "TOOL_CALL_ID_LENGTH"),
            (form && !length, "TOOL_CALL_ID_FORMAT"),
        ] {
            if is {
                let finding = Finding::new(code, "renamed", call.index).call(&call.id);
                let finding = if none { finding } else { finding.done(format!("now {wire_id}")) };
                // Providers take an id again in a later message; within one none does.
                let taken = code == "TOOL_CALL_ID_DUPLICATE" && !within;
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

    /// Whether the id of a call is that of another one of the same element.
    fn twice(&self, call: &Call<'a>, id: usize) -> bool {
        match self.pairs.last_of(id) {
            Some((entry, _)) if entry == self.entries.len() => true,
            Some((entry, _)) => self.entries.get(entry).is_some_and(|e| e.index == call.index),
            None => false,
        }
    }

    fn result(&mut self, id: &str, result: ToolResult<'a>) {
        self.shape(result.marks, result.index);
        if result.behind && self.rules.results == Results::WithUser {
            let finding = Finding::new("TOOL_RESULT_TEXT_FIRST", "moved", result.index);
            self.read.push(finding.call(id).spelling());
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
        }
        match answers {
            Answers::Call(place) => self.answer(place, result),
            Answers::Again(place) => self.again(place, result),
            Answers::Nothing if self.elsewhere(&result) => {
                let kept = Some(self.entries.len());
                self.pairs.wait(number, key, ToolResult { kept, ..result.clone() });
                self.keep(result);
            }
            // By its name alone a result would be given to whatever is called next.
            Answers::Nothing if id.is_empty() => self.pairs.orphan(result),
            Answers::Nothing => self.pairs.wait(number, key, result),
        }
    }

    /// Whether the call of an item may be known to the provider only: the input goes on from a
    /// response or a conversation that it keeps, or refers to its items.
    fn elsewhere(&self, result: &ToolResult<'a>) -> bool {
        result.item.is_some()
            && self.options.strategy == Strategy::Reconstruct
            && self.rules.own.meets(Marks::RESPONSES)
            && self.marks.within(self.rules.own)
            && (self.references || self.called.is_none())
    }

    fn keep(&mut self, result: ToolResult<'a>) {
        let mut entry = Entry::new(Speaker::Assistant, result.index);
        let marks = Marks::RESPONSES;
        entry.marks = marks;
        if let Some(block) = result.item {
            entry.parts.push(Part::Native { marks, block: *block });
        }
        self.say(entry);
    }

    /// A result without an id belongs to a call of its tool in the last message that has calls,
    /// or else to the first there that has none.
    fn by_place(&mut self, id: &str, name: &str) -> Option<Place> {
        let at = self.called?;
        let entry = self.entries.get(at)?;
        let open = |part: &Part<'a>| matches!(part, Part::Call(call) if call.result.is_none());
        // Only the next of them are looked at: who has thousands of calls gives them ids.
        let parts = entry.parts.iter().enumerate().skip(self.open_from);
        let mut waiting =
            parts.filter(|(_, part)| open(part)).take(256).filter_map(|(at, part)| match part {
                Part::Call(call) => Some((at, call.as_ref())),
                _ => None,
            });
        let first = waiting.next();
        let named = |(_, call): &(usize, &Call<'a>)| {
            call.name == name && (id.is_empty() || call.id.is_empty())
        };
        let same = first.filter(named).or_else(|| waiting.find(named));
        // The call has no id, and the result that it was given has one; or none of them has.
        let (part, found) = if id.is_empty() { same.or(first) } else { same }?;
        let place = (at, part);
        if let Some((first, _)) = first {
            self.open_from = first;
        }
        let id = self.index.find(&key(found));
        self.pairs.settled(id?, place);
        Some(place)
    }

    fn answer(&mut self, place: Place, result: ToolResult<'a>) {
        let last = self.entries.len().saturating_sub(1);
        let between = place.0 != last;
        let behind = self.entries.get(place.0).and_then(|entry| entry.answered);
        let after = behind.is_some_and(|last| last > place.1);
        let rules = self.rules;
        let named = self.call_at(place).is_some_and(|call| !call.id.is_empty());
        for (is, code, free) in [
            (between, "TOOL_RESULT_NOT_ADJACENT", rules.own.meets(Marks::RESPONSES)),
            (after, "TOOL_RESULT_ORDER", (rules.ids != Ids::None || named) && !rules.bridge),
        ] {
            if is {
                let id = self.call_at(place).map(|call| call.id.to_string()).unwrap_or_default();
                let finding = Finding::new(code, "moved", result.index).call(&id);
                self.read.push(finding.risk_if(free));
            }
        }
        self.settle(place, result);
        self.arranger.rewind(place.0);
    }

    /// The last result wins, unless it only says that there was none.
    fn again(&mut self, place: Place, result: ToolResult<'a>) {
        let made_up = |result: &ToolResult<'_>| matches!(&result.content, Content::Text(text) if text.as_str() == Some(INTERRUPTED));
        let mut dropped = result.index;
        let mut id = String::new();
        if let Some(call) = self.call_at(place) {
            id = call.id.to_string();
            match &mut call.result {
                Some(_) if made_up(&result) => {}
                Some(kept) => dropped = std::mem::replace(kept, result).index,
                kept => *kept = Some(result),
            }
        }
        let finding = Finding::new("TOOL_RESULT_DUPLICATE", "dropped", dropped);
        self.read.push(finding.call(&id));
        self.arranger.rewind(place.0);
    }

    fn call_at(&mut self, (entry, part): Place) -> Option<&mut Call<'a>> {
        match self.entries.get_mut(entry)?.parts.get_mut(part)? {
            Part::Call(call) => Some(call),
            _ => None,
        }
    }

    fn args_delta(&mut self, id: &str, delta: &str, index: usize) {
        let place = if id.is_empty() {
            // A chunk without an id goes on with the call before it.
            let at = self.called.filter(|at| at + 1 == self.entries.len());
            let calls = at.and_then(|at| self.entries.get(at));
            let last = |part: &Part<'_>| matches!(part, Part::Call(_));
            calls.and_then(|entry| entry.parts.iter().rposition(last)).zip(at).map(|(p, e)| (e, p))
        } else {
            self.index.find(id).and_then(|id| self.pairs.last_of(id))
        };
        let Some(place) = place else {
            if id.is_empty() {
                self.read.push(Finding::new("TOOL_CALL_PARTIAL", "dropped", index));
                return;
            }
            // Its call is still to come.
            let number = self.index.number(id);
            if number >= self.early_args.len() {
                self.early_args.resize(number + 1, None);
            }
            if let Some(early) = self.early_args.get_mut(number) {
                early.get_or_insert((index, String::new())).1.push_str(delta);
            }
            return;
        };
        if let Some(call) = self.call_at(place) {
            match &mut call.args {
                Args::Text(Json::String(text)) => text.to_mut().push_str(delta),
                args => *args = Args::Text(Json::string(delta.to_owned())),
            }
            self.arranger.rewind(place.0);
        }
    }

    /// The entry of a message's id.
    fn message_of(&self, id: &str) -> Option<usize> {
        *self.named.get(self.index.find(&by_message(id))?)?
    }

    fn text_delta(&mut self, id: &str, delta: &str, speaker: Speaker, index: usize) {
        let last = self.entries.last().filter(|last| {
            id.is_empty() && last.marks.meets(Marks::EVENT) && last.speaker == speaker
        });
        // A chunk without an id goes on with what was said last.
        let at = last.map(|_| self.entries.len() - 1).or_else(|| self.message_of(id));
        let known = at.and_then(|at| Some((at, self.entries.get_mut(at)?)));
        if let Some((at, entry)) = known
            && let Some(Part::Text(Text { text, .. })) = entry.parts.first_mut()
        {
            if let Json::String(text) = text {
                text.to_mut().push_str(delta);
            } else {
                let mut longer = Joined::default();
                longer.value(text);
                longer.text(delta);
                *text = longer.into_json();
            }
            self.arranger.rewind(at);
            return self.spoke(at);
        }
        let mut entry = Entry::new(speaker, index);
        entry.marks = Marks::EVENT;
        entry.id = (!id.is_empty()).then(|| Cow::Owned(id.to_owned()));
        entry.open = speaker == Speaker::Assistant;
        entry.parts.push(Part::Text(Text::new(Json::string(delta.to_owned()))));
        self.say(entry);
    }
}

/// By what a call is found: its id, or its tool where it has none.
fn key<'k>(call: &'k Call<'_>) -> Cow<'k, str> {
    if call.id.is_empty() { Cow::Owned(by_name(&call.name)) } else { Cow::Borrowed(&call.id) }
}

/// By what a message is found; no id of a call begins so.
fn by_message(id: &str) -> String {
    format!("\u{1}{id}")
}

/// By what an item is found; no id of a call begins so.
fn by_item(id: &str) -> String {
    format!("\u{2}{id}")
}
