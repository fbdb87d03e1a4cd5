//! Turns pieces into entries: who said what, and which call has which result.

use std::borrow::Cow;

use super::super::code::Code;
use super::super::import::element;
use super::super::model::{Args, Call, Entry, Part, Piece, Speaker, Text};
use super::super::options::UnknownElements;
use super::super::pair::Place;
use super::super::report::{Action, Finding};
use super::History;
use crate::error::Error;
use crate::json::{Joined, Json};
use crate::provider::Marks;

impl<'a> History<'a> {
    /// Reads one element.
    pub(super) fn pieces(&self, value: Json<'a>, index: usize) -> Result<Vec<Piece<'a>>, Error> {
        let unknown = |piece: &Piece<'_>| {
            matches!(piece, Piece::Drop { code: Code::ElementUnknown, .. })
                && self.options.unknown == UnknownElements::Error
        };
        let pieces = element(value, index).filter(|pieces| !pieces.iter().any(unknown));
        pieces.ok_or(Error::MessageShape { index })
    }

    /// Adds the pieces of one element.
    pub(super) fn take(&mut self, pieces: Vec<Piece<'a>>, index: usize) -> Result<(), Error> {
        let foreign = !self.marks.within(self.rules.own);
        for piece in pieces {
            // Whether a call is unanswered or pending depends on the entries after it.
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
                    // Every element is read before the history is cleared.
                    let read = elements.into_iter().map(|value| self.pieces(value, index));
                    let read: Vec<_> = read.collect::<Result<_, _>>()?;
                    self.clear();
                    for pieces in read {
                        self.take(pieces, index)?;
                    }
                }
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

    pub(super) fn shape(&mut self, marks: Marks, index: usize) {
        self.marks.add(marks);
        let last = self.read.last().map(|finding| (finding.code, finding.index));
        if !marks.within(self.rules.own) && last != Some((Code::ContentShape, index)) {
            let finding = Finding::new(Code::ContentShape, Action::Converted, index).spelling();
            self.read.push(finding.more(marks.names()));
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

    fn text_delta(&mut self, id: &str, delta: &str, speaker: Speaker, index: usize) {
        let last = self.entries.last().filter(|last| {
            id.is_empty() && last.marks.meets(Marks::EVENT) && last.speaker == speaker
        });
        // A chunk without an id continues the last entry.
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

    /// The entry of the message with this id.
    fn message_of(&self, id: &str) -> Option<usize> {
        *self.named.get(self.index.find(&by_message(id))?)?
    }

    pub(super) fn call_at(&mut self, (entry, part): Place) -> Option<&mut Call<'a>> {
        match self.entries.get_mut(entry)?.parts.get_mut(part)? {
            Part::Call(call) => Some(call),
            _ => None,
        }
    }
}

/// The key of a message in the index; no call id begins with the same character.
pub(super) fn by_message(id: &str) -> String {
    format!("\u{1}{id}")
}
