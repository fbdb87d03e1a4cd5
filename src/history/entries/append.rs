//! Appends an entry, or continues the last one.

use super::super::code::Code;
use super::super::model::{Entry, Part, Speaker};
use super::super::options::Strategy;
use super::super::report::{Action, Finding};
use super::History;
use super::ingest::by_message;
use super::results::CALLS_MEMBERS;
use crate::index::slot;
use crate::provider::{Elements, Marks, Merge, Reasoning, Replay, Results, Signatures, System};

impl<'a> History<'a> {
    pub(super) fn say(&mut self, mut entry: Entry<'a>) {
        self.shape(entry.marks, entry.index);
        if entry.calls().any(|call| call.own) {
            self.misspelt("/toolCalls", CALLS_MEMBERS, entry.index);
        }
        let misnamed = entry.calls().enumerate().find_map(|(at, call)| Some((at, call.misnamed?)));
        if let Some((at, (member, expected))) = misnamed {
            let path = format!("/tool_calls/{at}/{member}");
            self.misspelt(&path, &[(Marks::LANGCHAIN, expected)], entry.index);
        }
        self.document_names(&mut entry.parts, entry.index);
        let place = match self.one_message(&entry) {
            true => self.entries.last().map(|last| (self.entries.len() - 1, last.parts.len())),
            false => None,
        };
        let place = place.unwrap_or((self.entries.len(), 0));
        if self.pair_hosted(&mut entry, place) {
            return;
        }
        self.cached_in(&entry, place);
        if self.rules.elements == Elements::Items {
            let items = entry.parts.len();
            self.item_ids(&mut entry);
            if items > 0 && entry.parts.is_empty() {
                return;
            }
        }
        if let Some(last) = self.entries.last_mut()
            && self.rules.elements == Elements::Items
            && last.marks.meets(Marks::RESPONSES)
            && entry.speaker == Speaker::Assistant
            && (entry.listed == last.listed
                || last.parts.iter().all(|part| matches!(part, Part::Call(_) | Part::Reasoning(_))))
            && entry.extra.is_empty()
            && entry.id.is_none()
            && (matches!(last.parts.last(), Some(Part::Call(_)))
                || !entry.listed && last.calls().next().is_some())
            && last.answered.is_none()
            && entry.calls().next().is_none()
            && !entry.parts.iter().any(Part::refuses)
        {
            // An item between calls and their outputs is added to the entry of the calls.
            last.listed = entry.listed;
            last.parts.append(&mut entry.parts);
            return;
        }
        let thinks = |entry: &Entry<'_>| {
            entry.marks.meets(Marks::RESPONSES)
                && matches!(entry.parts.last(), Some(Part::Reasoning(_)))
        };
        if let Some(last) = self.entries.last_mut()
            && thinks(last)
            && last.answered.is_none()
            && thinks(&entry)
        {
            // Consecutive reasoning items belong to the same following item.
            last.parts.append(&mut entry.parts);
            return;
        }
        if self.one_message(&entry) {
            return self.merge(entry);
        }
        let at = self.entries.len();
        let index = entry.index;
        let mut early = Vec::new();
        let (mut called, mut answered) = (false, None);
        for (part, one) in entry.parts.iter_mut().enumerate() {
            let Part::Call(call) = one else { continue };
            called = true;
            let id = self.name_call(call);
            if call.result.is_some() {
                self.pairs.settled(id, (at, part));
                answered = Some(part);
            } else if let Some(result) = self.pairs.call(id, (at, part)) {
                early.push((id, part, result));
            }
        }
        entry.answered = answered;
        let thinks = |part: &Part<'_>| matches!(part, Part::Reasoning(Reasoning::Content(_)));
        if called && !self.thinks && entry.parts.iter().any(thinks) {
            self.thinks = true;
            if self.rules.reasoning == Replay::Content {
                self.arranger.rewind(0);
            }
        }
        if called && self.rules.thought_signatures != Signatures::None {
            self.call_of_another(at, entry.marks);
        }
        if called {
            self.called = Some(at);
            self.open_from = 0;
        }
        if let Some(id) = &entry.id {
            self.name(id, at);
        }
        self.references |= entry.parts.iter().any(|part| match part {
            Part::Native { marks, block } => {
                let kind = block.kind();
                marks.meets(Marks::RESPONSES) && kind.is_none_or(|kind| kind == "item_reference")
            }
            _ => false,
        });
        let leads = matches!(entry.speaker, Speaker::System | Speaker::Developer);
        let leading = self
            .entries
            .last()
            .is_none_or(|last| matches!(last.speaker, Speaker::System | Speaker::Developer));
        if leads && leading && matches!(self.rules.system, System::Apart { .. }) {
            // A leading system message is moved out of the messages; any other is reported when it
            // is arranged.
            let finding = Finding::new(Code::SystemPosition, Action::Moved, index);
            self.read.push(finding.spelling());
        }
        self.entries.push(entry);
        self.spoke(at);
        for (id, part, result) in early {
            self.early(result, (id, (at, part)), index);
        }
    }

    /// Whether an entry with calls and the one before it, whose calls wait, are one message for a
    /// provider that takes results in a message of the user, and merges neighbours of one role.
    fn one_message(&self, entry: &Entry<'a>) -> bool {
        let calls = |entry: &Entry<'a>| entry.calls().next().is_some();
        let waits = |last: &&Entry<'a>| !last.gone && last.answered.is_none() && calls(last);
        let Some(last) = self.entries.last().filter(waits) else { return false };
        if entry.calls().any(|call| call.result.is_some()) {
            return false;
        }
        // Google's chats record a content for each event of a response (googleapis/python-genai#1791,
        // 2025-11-30).
        let is_piece = |entry: &Entry<'a>| {
            entry.speaker == Speaker::Assistant && entry.marks.meets(Marks::GEMINI)
        };
        is_piece(entry) && is_piece(last) || self.rules.results != Results::Messages && calls(entry)
    }

    /// Adds the parts of an entry to the last one.
    fn merge(&mut self, entry: Entry<'a>) {
        let at = self.entries.len().saturating_sub(1);
        let finding = Finding::new(Code::RoleAlternation, Action::Merged, entry.index);
        self.read.push(finding.risk_if(self.rules.merge == Merge::Neater));
        if let Some(id) = &entry.id {
            self.name(id, at);
        }
        if let Some(last) = self.entries.last_mut() {
            last.marks.add(entry.marks);
            last.open = entry.open;
            last.extra.extend(entry.extra);
            last.awaits.extend(entry.awaits);
        }
        for part in entry.parts {
            let Part::Call(call) = part else {
                if let Some(last) = self.entries.last_mut() {
                    last.parts.push(part);
                }
                continue;
            };
            self.join(*call, at);
        }
    }

    /// Notes the entry of the message with this id.
    pub(super) fn name(&mut self, id: &str, at: usize) {
        *self.noted(&by_message(id)) = at + 1;
    }

    /// What is noted for a key; 0 if nothing is.
    pub(super) fn noted(&mut self, key: &str) -> &mut usize {
        slot(&mut self.noted, self.index.number(key))
    }

    /// A call in the shape of another provider has no thought signature, so that the calls of its turn
    /// are signed by a placeholder: the provider refuses a turn that is signed in part.
    fn call_of_another(&mut self, at: usize, marks: Marks) {
        if marks.within(self.rules.own) {
            return;
        }
        if self.foreign.is_none_or(|before| before < self.turn) {
            self.arranger.rewind(self.turn.min(at));
        }
        self.foreign = Some(at);
    }

    /// Updates the state that depends on the content of entry `at`: undecided entries before it,
    /// and the current turn.
    pub(super) fn spoke(&mut self, at: usize) {
        if let Some(undecided) = self.undecided {
            self.arranger.rewind(undecided);
        }
        let Some(entry) = self.entries.get(at) else { return };
        let says = entry.says(self.options.strategy != Strategy::Reconstruct, self.rules.own);
        if entry.speaker == Speaker::Assistant && entry.says(true, self.rules.own) {
            self.answered = at;
        }
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
            // Signatures are required of the calls of the current turn only.
            let has_calls = self.called.is_some_and(|called| called >= self.turn);
            if has_calls && self.rules.thought_signatures != Signatures::None {
                self.arranger.rewind(self.turn);
            }
            self.turn = at;
        }
    }
}
