//! Turns pieces into entries: who said what, and which call has which result.

use std::borrow::Cow;

use super::super::args;
use super::super::code::Code;
use super::super::import::element;
use super::super::model::{Args, Call, Content, Entry, Part, Piece, Speaker, Text, ToolResult};
use super::super::options::UnknownElements;
use super::super::pair::Place;
use super::super::report::{Action, Finding};
use super::{History, Shown};
use crate::error::Error;
use crate::index::slot;
use crate::json::{Joined, Json};
use crate::limits;
use crate::provider::Marks;

/// How large a history is: its parts, what they take while it is read, and its text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    parts: usize,
    /// In parts of a text: a call takes more, and so does a member that is told as unknown.
    taken: usize,
    /// Bytes of the elements as JSON, about.
    bytes: usize,
}

impl Size {
    #[inline(never)]
    fn add(&mut self, pieces: &[Piece<'_>]) {
        for piece in pieces {
            match piece {
                Piece::Say(entry) => {
                    self.taken += entry.extra.len();
                    self.list(&entry.parts);
                }
                Piece::Call { call, .. } | Piece::Whole { call } => self.call(call),
                Piece::Result { result, .. } => self.result(result),
                Piece::Thought { .. } => {}
                _ => {
                    self.parts += 1;
                    self.taken += 1;
                }
            }
        }
    }

    fn list(&mut self, parts: &[Part<'_>]) {
        for part in parts {
            match part {
                Part::Call(call) => self.call(call),
                Part::Text(text) => {
                    self.parts += 1;
                    self.taken += 1 + text.extra.len();
                }
                Part::Reasoning(_) | Part::Media { .. } | Part::Native { .. } => {
                    self.parts += 1;
                    self.taken += 2;
                }
            }
        }
    }

    fn call(&mut self, call: &Call<'_>) {
        self.parts += 1;
        self.taken += 8 + call.extra.len();
        if let Some(result) = &call.result {
            self.result(result);
        }
    }

    fn result(&mut self, result: &ToolResult<'_>) {
        self.parts += 1;
        self.taken += 2 + result.extra.len();
        if let Content::Parts(parts) = &result.content {
            self.list(parts);
        }
    }

    fn check(self, index: usize) -> Result<Self, Error> {
        let most = limits::HISTORY_TINY + self.bytes / limits::HISTORY_PART_BYTES;
        let fits = self.parts <= limits::HISTORY_PARTS && self.taken <= most;
        fits.then_some(self).ok_or(Error::MessageParts { index })
    }
}

/// Bytes of a value as JSON, about. What stays with the host counts for little.
fn bytes(value: &Json<'_>) -> usize {
    match value {
        Json::Number(text) | Json::String(text) => text.len() + 2,
        Json::Null | Json::Bool(_) | Json::Host(_) => 4,
        Json::Array(items) => items.iter().fold(2, |all, item| all + bytes(item)),
        Json::Object(members) => {
            members.iter().fold(2, |all, (key, value)| all + key.len() + 3 + bytes(value))
        }
    }
}

impl<'a> History<'a> {
    /// Reads one element.
    pub(super) fn pieces(
        &self,
        value: Json<'a>,
        index: usize,
        size: &mut Size,
    ) -> Result<Vec<Piece<'a>>, Error> {
        size.bytes += bytes(&value);
        let unknown = |piece: &Piece<'_>| {
            matches!(piece, Piece::Drop { code: Code::ElementUnknown, .. })
                && self.options.unknown == UnknownElements::Error
        };
        let pieces = element(value, index).filter(|pieces| !pieces.iter().any(unknown));
        let pieces = pieces.ok_or(Error::MessageShape { index })?;
        size.add(&pieces);
        Ok(pieces)
    }

    /// Adds the pieces of one element.
    pub(super) fn take(
        &mut self,
        pieces: Vec<Piece<'a>>,
        index: usize,
        size: Size,
    ) -> Result<(), Error> {
        self.size = size.check(index)?;
        let foreign = !self.marks.within(self.rules.own);
        for piece in pieces {
            let says = matches!(piece, Piece::Say(_) | Piece::TextDelta { .. });
            let anywhere = self.options.system_anywhere;
            if !says || self.entries.last().is_none_or(|last| last.depends(anywhere)) {
                self.arranger.rewind(self.entries.len().saturating_sub(1));
            }
            match piece {
                Piece::Say(mut entry) => {
                    if entry.speaker == Speaker::User {
                        self.thoughts.clear();
                    }
                    if !self.is_stored_twice(&entry) && !self.describes(&mut entry) {
                        self.say(entry);
                    }
                }
                Piece::Call { call, marks, batch } => {
                    self.call_in(*call, marks, batch.as_deref());
                    self.think(index);
                }
                Piece::Whole { call } => {
                    self.whole(*call);
                    self.think(index);
                }
                Piece::Thought { delta, shown } => {
                    let shown = shown.map(|(turn, seq)| (self.index.number(&by_turn(&turn)), seq));
                    self.thought(delta, shown);
                }
                Piece::Described { id, args } => self.described(&id, args),
                Piece::Result { id, result } => self.result(&id, result),
                Piece::Asked { approval, call } => {
                    let approval = self.index.number(&by_approval(&approval));
                    *slot(&mut self.asked, approval) = call.into_owned();
                }
                Piece::Denied { approval, result } => self.denied(&approval, result),
                Piece::ArgsDelta { id, delta } => self.args_delta(&id, &delta, index),
                Piece::TextDelta { id, delta, speaker, shown } => {
                    let turn = shown.map(|(turn, seq)| (self.index.number(&by_turn(&turn)), seq));
                    let of = turn.map(|(turn, _)| turn);
                    let (at, from) = self.text_delta(&id, &delta, (speaker, of), index);
                    if let Some((turn, seq)) = turn {
                        self.show(turn, Shown { seq, at, from });
                    }
                }
                Piece::Void { request, from } => self.void(&request, from),
                Piece::Replace(elements) => self.replace(elements, index)?,
                Piece::Remove(id) => self.remove(id.as_deref()),
                Piece::Drop { code, id } => {
                    let mut finding = Finding::new(code, Action::Dropped, index);
                    finding.id = id.map(Cow::into_owned);
                    self.read.push(finding);
                }
            }
        }
        if !foreign && !self.marks.within(self.rules.own) {
            // Content lists stay lists only while the whole history is in the dialect's own shape.
            self.arranger.rewind(0);
        }
        Ok(())
    }

    /// Replaces the history by the elements of a snapshot. After an error it is as before.
    fn replace(&mut self, elements: Vec<Json<'a>>, index: usize) -> Result<(), Error> {
        let mut other = self.emptied();
        let before = other.read.len();
        let mut size = Size::default();
        let taken = elements.into_iter().try_for_each(|one| {
            let pieces = other.pieces(one, index, &mut size)?;
            other.take(pieces, index, size)
        });
        if taken.is_err() {
            other.read.truncate(before);
            self.read = other.read;
        } else {
            *self = other;
        }
        taken
    }

    /// A history without entries that goes on with the findings of this one.
    fn emptied(&mut self) -> Self {
        let read = std::mem::take(&mut self.read);
        let fresh = Self::new(self.options.clone());
        Self { elements: self.elements, told: self.told, read, ..fresh }
    }

    fn clear(&mut self) {
        *self = self.emptied();
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

    pub(super) fn shape(&mut self, marks: Marks, index: usize) {
        self.marks.add(marks);
        self.foreign(marks, index);
    }

    /// Reports another provider's shape, once an element.
    pub(super) fn foreign(&mut self, marks: Marks, index: usize) {
        let last = self.read.last().map(|finding| (finding.code, finding.index));
        if !marks.within(self.rules.own) && last != Some((Code::ContentShape, index)) {
            let finding = Finding::new(Code::ContentShape, Action::Converted, index).spelling();
            self.read.push(finding.more(marks.names()));
        }
    }

    /// A call whose arguments are whole: they replace those that came in pieces.
    fn whole(&mut self, call: Call<'a>) {
        let place = self.index.find(&call.id).and_then(|id| self.pairs.last_of(id));
        if let Some(place) = place
            && let Some(begun) = self.call_at(place)
            && begun.result.is_none()
        {
            if !args::is_empty(&call.args) {
                (begun.args, begun.streamed) = (call.args, false);
            }
            self.link(place.0, call.index);
            return self.arranger.rewind(place.0);
        }
        if !args::is_empty(&call.args) {
            let early = self.index.find(&call.id).and_then(|id| self.early_args.get_mut(id));
            early.and_then(Option::take);
        }
        self.call(call, Marks::EVENT);
    }

    /// Takes the arguments that a result has of its call.
    fn described(&mut self, id: &str, args: Args<'a>) {
        let place = self.index.find(id).and_then(|id| self.pairs.last_of(id));
        let Some(place) = place else { return };
        let call = self.call_at(place).filter(|call| args::is_empty(&call.args));
        if let Some(call) = call {
            (call.args, call.streamed) = (args, false);
            self.arranger.rewind(place.0);
        }
    }

    fn args_delta(&mut self, id: &str, delta: &str, index: usize) {
        let place = if id.is_empty() {
            // A chunk without an id continues the call before it.
            let at = self.called.filter(|at| at + 1 == self.entries.len());
            let calls = at.and_then(|at| self.entries.get(at));
            let last = |part: &Part<'_>| matches!(part, Part::Call(_));
            calls.and_then(|entry| entry.parts.iter().rposition(last)).zip(at).map(|(p, e)| (e, p))
        } else {
            self.index.find(id).and_then(|id| self.pairs.last_of(id))
        };
        let Some(place) = place else {
            if id.is_empty() {
                self.read.push(Finding::new(Code::ToolCallPartial, Action::Dropped, index));
                return;
            }
            // The call has not arrived yet.
            let early = slot(&mut self.early_args, self.index.number(id));
            return early.get_or_insert((index, String::new())).1.push_str(delta);
        };
        self.link(place.0, index);
        if let Some(call) = self.call_at(place) {
            call.stream(delta);
            self.arranger.rewind(place.0);
        }
    }

    /// Returns the entry that has the text now, and the length of its text before. `turn`: the turn
    /// of ours that showed it.
    fn text_delta(
        &mut self,
        id: &str,
        delta: &str,
        (speaker, turn): (Speaker, Option<usize>),
        index: usize,
    ) -> (usize, usize) {
        let last = self.entries.last().filter(|last| {
            !last.gone && id.is_empty() && last.marks.meets(Marks::EVENT) && last.speaker == speaker
        });
        // A chunk without an id continues the last entry.
        let at = last.map(|_| self.entries.len() - 1).or_else(|| self.message_of(id));
        let mut between = "";
        let at = at.or_else(|| {
            let at = self.goes_on(turn?).filter(|_| !delta.is_empty())?;
            self.name(id, at);
            between = "\n\n";
            Some(at)
        });
        let known = at.and_then(|at| Some((at, self.entries.get_mut(at)?)));
        if let Some((at, entry)) = known
            && let Some(Part::Text(Text { text, .. })) = entry.parts.first_mut()
        {
            let mut before = 0;
            if let Json::String(text) = text {
                before = text.len();
                if before > 0 {
                    text.to_mut().push_str(between);
                }
                text.to_mut().push_str(delta);
            } else {
                let mut longer = Joined::default();
                longer.value(text);
                longer.text(delta);
                *text = longer.into_json();
            }
            self.link(at, index);
            self.arranger.rewind(at);
            self.spoke(at);
            return (at, before);
        }
        let mut entry = Entry::new(speaker, index);
        entry.marks = Marks::EVENT;
        entry.id = (!id.is_empty()).then(|| Cow::Owned(id.to_owned()));
        entry.open = speaker == Speaker::Assistant;
        entry.parts.push(Part::Text(Text::new(Json::string(delta.to_owned()))));
        self.say(entry);
        (self.entries.len().saturating_sub(1), 0)
    }

    /// The last entry, if it is text of this turn without calls: what the next phase says goes on
    /// there, because two messages of the assistant in a row are refused by some providers.
    fn goes_on(&self, turn: usize) -> Option<usize> {
        let at = self.shown.last().filter(|_| self.shown_by == Some(turn))?.at;
        let entry = self.entries.get(at).filter(|_| at + 1 == self.entries.len())?;
        (!entry.gone && entry.calls().next().is_none()).then_some(at)
    }

    /// Notes where a turn's text went. Only the text of the last turn can be voided.
    fn show(&mut self, turn: usize, shown: Shown) {
        if self.shown_by != Some(turn) {
            self.shown_by = Some(turn);
            self.shown.clear();
        }
        self.shown.push(shown);
    }

    fn void(&mut self, request: &str, from: u64) {
        self.thoughts.void(from);
        if self.shown_by != self.index.find(&by_turn(request)) {
            return;
        }
        while let Some(shown) = self.shown.pop_if(|shown| shown.seq >= from) {
            let Some(entry) = self.entries.get_mut(shown.at) else { continue };
            if let Some(Part::Text(Text { text: Json::String(text), .. })) = entry.parts.first_mut()
            {
                text.to_mut().truncate(shown.from);
            }
            if shown.from == 0 && entry.calls().next().is_none() {
                entry.gone = true;
            }
        }
        // What stands before it may lead to what comes next.
        self.undecided = Some(0);
        self.arranger.rewind(0);
    }

    /// The entry of the message with this id, if it was not removed.
    fn message_of(&self, id: &str) -> Option<usize> {
        let at = self.noted.get(self.index.find(&by_message(id))?)?.checked_sub(1)?;
        self.entries.get(at).is_some_and(|entry| !entry.gone).then_some(at)
    }

    /// Whether a message of the user with the same id and the same content is there. That is reported.
    fn is_stored_twice(&mut self, entry: &Entry<'a>) -> bool {
        let known = entry.id.as_deref().filter(|_| entry.speaker == Speaker::User);
        let known = known.and_then(|id| self.entries.get(self.message_of(id)?));
        let is_same = known.is_some_and(|known| {
            known.speaker == Speaker::User
                && known.parts.len() == entry.parts.len()
                && known.parts.iter().zip(&entry.parts).all(|(one, other)| one.is_same(other))
        });
        if is_same {
            self.shape(entry.marks, entry.index);
            let finding = Finding::new(Code::ItemIdDuplicate, Action::Dropped, entry.index);
            self.read.push(finding.more("the same message of the user").risk_if(true));
        }
        is_same
    }

    pub(super) fn call_at(&mut self, (entry, part): Place) -> Option<&mut Call<'a>> {
        match self.entries.get_mut(entry)?.parts.get_mut(part)? {
            Part::Call(call) => Some(call),
            _ => None,
        }
    }
}

/// The key of a batch of calls in the index; no call id begins with the same character.
pub(super) fn by_batch(id: &str) -> String {
    format!("\u{4}{id}")
}

/// The key of a question to the user in the index; no call id begins with the same character.
pub(super) fn by_approval(id: &str) -> String {
    format!("\u{6}{id}")
}

/// The key of a turn in the index; no call id begins with the same character.
fn by_turn(id: &str) -> String {
    format!("\u{3}{id}")
}

/// The key of a message in the index; no call id begins with the same character.
pub(super) fn by_message(id: &str) -> String {
    format!("\u{1}{id}")
}

#[cfg(test)]
mod tests {
    use super::{Size, bytes};
    use crate::error::Error;
    use crate::history::import::element;
    use crate::json::Json;
    use crate::limits;

    fn size(text: &str) -> (usize, usize) {
        let mut size = Size::default();
        size.add(&element(Json::parse_str(text).unwrap(), 0).unwrap());
        (size.parts, size.taken)
    }

    /// As `HISTORY_PART_BYTES` says: a call is eight, an image, a result and any other block two, a
    /// member that a provider may not know one more.
    #[test]
    fn what_parts_take() {
        for (parts, taken, element) in [
            (1, 1, r#"{"role":"user","content":"a"}"#),
            (2, 2, r#"{"role":"user","content":["a",{"type":"text","text":"b"}]}"#),
            (1, 3, r#"{"role":"user","content":[{"type":"text","text":"b","x":1,"y":2}]}"#),
            (1, 3, r#"{"role":"user","content":"a","x":1,"y":2}"#),
            (1, 2, r#"{"role":"user","content":[{"type":"image","image":"a"}]}"#),
            (2, 4, r#"{"role":"user","content":[{"type":"x"},{"type":"y"}]}"#),
            (2, 3, r#"{"role":"assistant","content":"a","reasoning_content":"b"}"#),
            (1, 2, r#"{"role":"tool","tool_call_id":"a","content":"b"}"#),
            (1, 5, r#"{"role":"tool","tool_call_id":"a","content":"b","x":1,"y":2,"z":3}"#),
            (3, 4, r#"{"role":"tool","tool_call_id":"a","content":[{"text":"a"},{"text":"b"}]}"#),
            (1, 8, r#"{"type":"tool_call_start","toolCallId":"a","toolName":"f"}"#),
            (1, 8, r#"{"type":"tool-input-available","toolCallId":"a","toolName":"f"}"#),
            (1, 11, r#"{"type":"function_call","name":"f","x":1,"y":2,"z":3}"#),
            (
                2,
                18,
                r#"{"role":"assistant","content":[],"tool_calls":[{"name":"f","x":1},{"name":"g","x":2}]}"#,
            ),
            (
                2,
                10,
                r#"{"role":"assistant","content":[{"type":"tool-call","toolName":"f","result":"a"}]}"#,
            ),
            (1, 1, r#"{"type":"tool_call_args","toolCallId":"a","delta":"b"}"#),
            (2, 9, r#"{"type":"tool_call_chunk","toolCallId":"a","toolCallName":"f","delta":"b"}"#),
            (0, 0, r#"{"type":"run_started"}"#),
        ] {
            assert_eq!(size(element), (parts, taken), "{element}");
        }
    }

    #[test]
    fn parts_are_limited_and_so_is_what_they_take() {
        let full = Size {
            parts: limits::HISTORY_PARTS,
            taken: limits::HISTORY_TINY + 3,
            bytes: 3 * limits::HISTORY_PART_BYTES,
        };
        full.check(0).unwrap();
        for more in [
            Size { parts: full.parts + 1, ..full },
            Size { taken: full.taken + 1, ..full },
            Size { bytes: full.bytes - 1, ..full },
        ] {
            assert_eq!(more.check(7).unwrap_err(), Error::MessageParts { index: 7 });
        }
    }

    #[test]
    fn bytes_are_about_those_of_the_text() {
        for text in [
            r#""a text of some length""#,
            "-12345678901234567890.5",
            "[null,null,true,false,true,null]",
            r#"["a text","another one",["a third one","and more"],[[["deep"]]]]"#,
            r#"{"a long name of a member":{"another long name":"and its value","k":[1000000]}}"#,
            r#"{"one":{},"two":{},"three":{},"four":[],"five":[],"six":[]}"#,
        ] {
            let about = bytes(&Json::parse_str(text).unwrap());
            assert!(about * 4 >= text.len() * 3, "{about} {text}");
            assert!(about * 4 <= text.len() * 5, "{about} {text}");
        }
    }
}
