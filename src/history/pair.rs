//! Matches results to calls.
//!
//! Calls are matched by occurrence, not by id alone: providers reuse ids, in a later round or even
//! within one message. A result answers the earliest unanswered call with its id in the current
//! turn, or else in the latest entry that has one. Without such a call, it is a second result of
//! the call that was answered last. If no call with its id was answered, it waits for one.

use super::model::ToolResult;
use crate::index::slot;

/// The place of a call: its entry and its part.
pub(super) type Place = (usize, usize);

/// The calls that wait for results, and the results that wait for calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs<'a> {
    /// By the number of the id.
    ids: Vec<Id>,
    /// Results without a call, in order; `None` once the call has arrived.
    early: Vec<Option<(String, ToolResult<'a>)>>,
}

/// The calls and results of one id.
#[derive(Debug, Clone, Default)]
struct Id {
    /// The unanswered calls, in order, behind `gone` others.
    open: Vec<Place>,
    gone: usize,
    answered: Option<Place>,
    /// The waiting results, by their place in `early`; the first is at `next`.
    waiting: Vec<usize>,
    next: usize,
}

/// What a result answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    Call(Place),
    /// The call has a result already.
    Again(Place),
    /// No call yet.
    Nothing,
}

/// The key of a call without an id; no id begins with the same character.
pub(super) fn by_name(name: &str) -> String {
    format!("\0{name}")
}

impl<'a> Pairs<'a> {
    /// Registers a call; returns a result that arrived before it.
    pub(super) fn call(&mut self, id: usize, place: Place) -> Option<ToolResult<'a>> {
        let early = self.early(id);
        let known = slot(&mut self.ids, id);
        match early {
            Some(_) => known.answered = Some(place),
            None => known.open.push(place),
        }
        early
    }

    /// Takes the next result of this id that arrived before its call.
    pub(super) fn early(&mut self, id: usize) -> Option<ToolResult<'a>> {
        let known = slot(&mut self.ids, id);
        let place = *known.waiting.get(known.next)?;
        known.next += 1;
        self.early.get_mut(place)?.take().map(|(_, result)| result)
    }

    /// Marks a call as answered: it came with its result, or it was matched by its place.
    pub(super) fn settled(&mut self, id: usize, place: Place) {
        let known = slot(&mut self.ids, id);
        if let Ok(at) = known.open().binary_search(&place) {
            known.remove(at);
        }
        known.answered = Some(place);
    }

    /// Returns what a result of this id answers. `turn` is the last user entry.
    pub(super) fn result(&mut self, id: usize, turn: usize) -> Answers {
        let known = slot(&mut self.ids, id);
        match known.first(turn) {
            Some(place) => {
                known.answered = Some(place);
                Answers::Call(place)
            }
            None => known.answered.map_or(Answers::Nothing, Answers::Again),
        }
    }

    /// The last call with this id.
    pub(super) fn last_of(&self, id: usize) -> Option<Place> {
        let known = self.ids.get(id)?;
        known.open().last().copied().max(known.answered)
    }

    /// Stores a result whose call may still arrive.
    pub(super) fn wait(&mut self, id: usize, name: &str, result: ToolResult<'a>) {
        let at = self.early.len();
        slot(&mut self.ids, id).waiting.push(at);
        self.early.push(Some((name.to_owned(), result)));
    }

    /// Stores a result that no later call can match.
    pub(super) fn orphan(&mut self, name: &str, result: ToolResult<'a>) {
        self.early.push(Some((name.to_owned(), result)));
    }

    /// Results without a call, in order.
    pub(super) fn orphans(&self) -> impl Iterator<Item = (&str, &ToolResult<'a>)> {
        self.early.iter().flatten().map(|(id, result)| (id.as_str(), result))
    }
}

impl Id {
    /// Removes and returns the first unanswered call of the current turn, or else of the last entry
    /// that has one, so that a result does not answer a call abandoned in an earlier turn.
    fn first(&mut self, turn: usize) -> Option<Place> {
        let open = self.open();
        let last = open.last()?.0;
        let at = open.partition_point(|place| place.0 < turn.min(last));
        self.remove(at)
    }

    fn open(&self) -> &[Place] {
        self.open.get(self.gone..).unwrap_or_default()
    }

    /// Removes and returns the unanswered call at `at`. The first one is removed without moving the
    /// others: a history may have many calls of one id.
    fn remove(&mut self, at: usize) -> Option<Place> {
        let place = self.open().get(at).copied()?;
        if at == 0 {
            self.gone += 1;
        } else {
            self.open.remove(self.gone + at);
        }
        Some(place)
    }
}
