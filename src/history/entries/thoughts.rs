//! Reasoning that arrives as events, until the calls behind it arrive.

use super::super::model::{Entry, Part};
use super::History;
use crate::json::{Joined, Json};
use crate::provider::{Reasoning, Replay};

/// The parts of reasoning since the last call.
#[derive(Debug, Clone, Default)]
pub(super) struct Thoughts<'a> {
    /// The number of the turn that showed them.
    turn: Option<usize>,
    /// Each part, with the number of its event.
    parts: Vec<(u64, Json<'a>)>,
}

impl Thoughts<'_> {
    /// Drops all parts.
    pub(super) fn clear(&mut self) {
        self.parts.clear();
    }

    /// Drops the parts that events from this number on have shown.
    pub(super) fn void(&mut self, from: u64) {
        self.parts.retain(|(seq, _)| *seq < from);
    }
}

impl<'a> History<'a> {
    /// Takes a part of reasoning. `shown`: the turn that showed it, and the number of the event.
    /// Only a provider that takes back the words of others keeps them.
    pub(super) fn thought(&mut self, delta: Json<'a>, shown: Option<(usize, u64)>) {
        if self.rules.reasoning != Replay::Content {
            return;
        }
        let (turn, seq) = shown.unzip();
        if self.thoughts.turn != turn {
            self.thoughts.clear();
            self.thoughts.turn = turn;
        }
        self.thoughts.parts.push((seq.unwrap_or(0), delta));
    }

    /// Adds the reasoning so far to the calls of element `index`.
    pub(super) fn think(&mut self, index: usize) {
        if self.thoughts.parts.is_empty() {
            return;
        }
        let called = |entry: &Entry<'a>| entry.calls().any(|call| call.index == index);
        let at = self.called.filter(|at| self.entries.get(*at).is_some_and(called));
        let Some((at, entry)) = at.and_then(|at| Some((at, self.entries.get_mut(at)?))) else {
            return;
        };
        let mut text = Joined::default();
        for (_, part) in self.thoughts.parts.drain(..) {
            text.value(&part);
        }
        entry.parts.push(Part::Reasoning(Reasoning::Text(text.into_json())));
        self.arranger.rewind(at);
    }
}
