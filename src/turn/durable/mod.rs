//! A turn with a store: nothing is shown or started before it is stored.
//!
//! [`Durable`] wraps a [`Machine`], which knows nothing of it. After each input it observes what the
//! machine has decided, and adds the records of it to the next commit. Events, tool starts and the
//! end of the turn wait in the [`Journal`] for the commit that contains them.

mod journal;
mod records;
mod resume;
mod snapshot;

use std::collections::VecDeque;

use super::machine::{Entry, Machine};
use super::options::TurnOptions;
use super::progress::End;
use super::protocol::{Effect, Input};
use super::record::reuse_key;
use super::restore::RestoreOptions;
use crate::error::{Error, Failure};
use crate::store::{CommitResult, StoredOutcome};
use crate::tool::{Fate, Status};
use journal::{Journal, text_of};

/// A turn with a store.
#[derive(Debug, Clone)]
pub(super) struct Durable {
    turn: Machine,
    /// `None` once the end of the turn is stored, or another owner has the turn.
    journal: Option<Journal>,
    /// Effects that need not wait, after the journal is gone.
    ready: VecDeque<Effect>,
    /// Effects of the turn that the journal has not taken yet.
    fresh: VecDeque<Effect>,
    /// The record of the host's options, until it is written.
    given: Option<String>,
    /// The number of this owner of the turn, from 1.
    epoch: u64,
    /// Where a restored turn begins.
    entry: Option<Entry>,
    observed: Mark,
    /// The batches that were observed; of the last one, what its records have.
    kept: Kept,
    /// Calls whose outcome is recorded, in order.
    recorded: Vec<u32>,
}

/// What the last observation saw. The state is stored again whenever it differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Mark {
    started: bool,
    inferences: u32,
    judged: u32,
    taking: bool,
    over: bool,
}

/// What is recorded of the batches: of the last of `batches`, that many calls, from the first on,
/// and whether it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Kept {
    batches: usize,
    calls: usize,
    complete: bool,
}

impl Durable {
    pub(super) fn new(options: TurnOptions) -> Result<Self, Error> {
        let record = options.record();
        let journal = options.keep.clone().map(|keep| Journal::new(keep, 1, None));
        let turn = Machine::new(options)?;
        Ok(Self { given: record, journal, ..Self::of(turn) })
    }

    fn of(turn: Machine) -> Self {
        Self {
            turn,
            journal: None,
            ready: VecDeque::new(),
            fresh: VecDeque::new(),
            given: None,
            epoch: 1,
            entry: None,
            observed: Mark::default(),
            kept: Kept::default(),
            recorded: Vec::new(),
        }
    }

    /// Makes a turn from its stored form.
    pub(super) fn restore(options: RestoreOptions) -> Result<Self, Error> {
        resume::restore(options)
    }

    pub(super) fn handle(&mut self, now_ms: u64, input: Input) {
        self.turn.record_mut().advance(now_ms);
        let now = self.turn.record().now();
        match input {
            Input::Start => self.start(),
            Input::Recalled { call, found } => {
                let read = |found: StoredOutcome| {
                    Some((records::read_outcome(&found.text)?.0, found.age_ms))
                };
                self.turn.recall(call, found.and_then(read));
            }
            Input::Stored { revision, attempt, answer } => {
                self.stored(now, revision, attempt, answer);
            }
            Input::Verify => {
                if let Some(journal) = &mut self.journal {
                    journal.verify();
                }
            }
            input => self.turn.take(input),
        }
        self.observe();
        self.turn.expire();
        self.observe();
        let over = self.turn.is_over();
        if let Some(Some(end)) = self.journal.as_mut().map(|journal| journal.expire(now, over)) {
            self.lose(end);
        }
        if self.gives_up().is_some_and(|at| now >= at) {
            let turn_ms = self.turn.record().options().policy.turn_ms;
            let message = format!("the turn took more than {turn_ms} ms: its store did not answer");
            self.lose(End::Failed(Failure::new("turn.timeout", message)));
        }
    }

    /// When the turn ends although its store does not take the end.
    fn gives_up(&self) -> Option<u64> {
        let journal = self.journal.as_ref().filter(|_| self.turn.is_over())?;
        journal.gives_up(self.turn.record().end_of_time())
    }

    fn start(&mut self) {
        if !self.turn.is_idle() {
            return;
        }
        if let Some(entry) = self.entry.take() {
            return self.turn.resume(entry);
        }
        if let (Some(journal), Some(given)) = (&mut self.journal, self.given.take()) {
            journal.record("turn".to_owned(), given);
        }
        self.turn.take(Input::Start);
    }

    fn stored(&mut self, now: u64, revision: u64, attempt: u32, answer: CommitResult) {
        let Some(journal) = &mut self.journal else { return };
        if let Some(end) = journal.stored(now, revision, attempt, answer) {
            return self.lose(end);
        }
        if journal.take_pause() {
            self.turn.take(Input::Pause);
        }
    }

    /// Ends the turn after the store refused a commit or failed. Effects that wait for a commit are
    /// dropped, and a running request and running tools are cancelled.
    fn lose(&mut self, end: End) {
        let Some(mut journal) = self.journal.take() else { return };
        // Whoever resumed a turn that others had before ends beside their events.
        let beside = self.epoch > 1 && matches!(end, End::Failed(_));
        // What the journal has not taken is neither shown nor started.
        let (ends, dropped): (Vec<_>, Vec<_>) = self.fresh.drain(..).partition(Effect::is_kept);
        let unseen = journal.unseen() + dropped.iter().map(text_of).sum::<usize>();
        let stops = self.turn.lose(end, journal.shown_seq(), unseen, beside);
        for effect in ends.into_iter().chain(stops) {
            if !dropped.iter().any(|one| effect.ends(one)) {
                journal.take(effect);
            }
        }
        self.ready = journal.into_ready();
    }

    /// Adds what the turn has decided to the next commit.
    fn observe(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        let before = self.kept;
        let (batches, last) = (self.turn.batches().count(), self.turn.batches().last());
        if let Some(calling) = last {
            let (calls, complete) = calling.opened();
            let written = if before.batches == batches { before } else { Kept::default() };
            self.kept = Kept { batches, calls, complete };
            let from = (written.calls, written.batches > 0);
            let dialect = self.turn.record().options().dialect;
            let text =
                (self.kept != before).then(|| records::batch(calling, dialect, from)).flatten();
            if let Some(text) = text {
                let number = self.turn.record_mut().count_batch();
                journal.record(records::batch_name(number), text);
            }
        }
        let mark = self.mark();
        let Some(journal) = &mut self.journal else { return };
        for effect in self.turn.record_mut().drain() {
            if let Effect::RunTool { tool_batch_id, tool_call_id, idempotency_key, .. } = &effect {
                let name = records::claim_name(*tool_batch_id, self.epoch, tool_call_id);
                journal.record(name, records::claim(idempotency_key));
            }
            self.fresh.push_back(effect);
        }
        let before = std::mem::replace(&mut self.observed, mark);
        if mark != before {
            journal.state_changed();
        }
        let Some(calling) = self.turn.batches().last() else { return };
        for call in calling.batch().calls().iter().filter(|call| call.is_outcome_given()) {
            let Some((outcome, duration_ms)) = call.outcome() else { continue };
            let Err(place) = self.recorded.binary_search(&call.number()) else { continue };
            self.recorded.insert(place, call.number());
            let text = records::outcome(outcome, duration_ms);
            let options = self.turn.record().options();
            let fresh = matches!(call.fate(), Fate::Run(_)) && outcome.status == Status::Ok;
            let is_whole = fresh && !outcome.truncated && !outcome.has_data();
            let tool = options.tools.find(&call.view().name).filter(|_| is_whole);
            if let Some(ttl_ms) = tool.and_then(|tool| tool.reuse_ms) {
                journal.reusable(reuse_key(options, call), text.clone(), ttl_ms);
            }
            journal.record(records::outcome_name(calling.place().id, &call.view().id), text);
        }
    }

    fn mark(&self) -> Mark {
        Mark {
            started: !self.turn.is_idle(),
            inferences: self.turn.record().progress().inferences,
            judged: self.turn.record().progress().judged,
            taking: self.turn.is_taking(),
            over: self.turn.is_over(),
        }
    }

    /// Returns the next effect that need not wait, or the next commit.
    pub(super) fn poll(&mut self) -> Option<Effect> {
        let Some(journal) = &mut self.journal else {
            return self.ready.pop_front().or_else(|| self.turn.record_mut().pop());
        };
        for effect in self.fresh.drain(..) {
            journal.take(effect);
        }
        if let Some(effect) = journal.pop() {
            if matches!(effect, Effect::Done { .. }) {
                self.journal = None;
            }
            return Some(effect);
        }
        let now = self.turn.record().now();
        if !journal.is_due(now) {
            return None;
        }
        let changed = journal.is_state_changed();
        let state = changed.then(|| snapshot::text(&self.turn, journal, self.epoch));
        Some(journal.commit(now, state, self.turn.end().is_none_or(End::is_open)))
    }

    /// The turn, and how it begins.
    #[cfg(test)]
    pub(super) fn into_parts(self) -> (Machine, Option<Entry>) {
        (self.turn, self.entry)
    }

    pub(super) fn deadline(&self) -> Option<u64> {
        let journal = self.journal.as_ref();
        let journal = journal.and_then(|journal| journal.deadline(self.turn.is_over()));
        [self.turn.deadline(), journal, self.gives_up()].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests;
