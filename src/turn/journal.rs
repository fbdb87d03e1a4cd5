//! The write-ahead journal: events are shown and tools are started only after they are stored.
//!
//! With a store, the effects of a turn pass through its journal. Events, tool starts and the
//! end of the turn wait for the commit that contains them. One commit is in flight at a time, and
//! later effects are gathered for the next one. So a reader that reconnects finds every event that
//! it was shown, a tool is started only after its claim is stored, and the latency of the store is
//! paid once per commit, not per event. If `Keep::events` is 0, text and reasoning are not stored
//! and are exempt from this.

use std::collections::VecDeque;
use std::sync::Arc;

use super::machine::{State, Turn};
use super::options::Keep;
use super::protocol::Effect;
use super::records;
use crate::planted::planted;
use crate::store::{Answer, Commit};
use crate::trace::{EventKind, Failure};

/// Timeout of one attempt at a commit.
const ANSWER_MS: u64 = 5_000;
/// Attempts at one commit.
const ATTEMPTS: u32 = 4;
/// Wait before the second attempt. Each further wait is four times the previous one.
const FIRST_WAIT_MS: u64 = 50;

/// Round trips to the store from one commit of gathered text to the next. A process that stops the
/// turn from elsewhere needs two reads and one write. If the commits followed each other without a
/// pause, it could not write between two of them while the model streams text.
const ROUND_TRIPS: u64 = 4;
/// Longest pause that the round trips can cause, however slow the store is.
const LONGEST_GATHER_MS: u64 = 1_000;

/// The effects that wait to be stored, and the commits that store them.
#[derive(Debug, Clone)]
pub(super) struct Journal {
    keep: Keep,
    /// The number of the last commit.
    revision: u64,
    /// The turn belongs to another owner until the first commit is stored.
    take_over: bool,
    /// The first commit is stored.
    ours: bool,
    gathering: Gathering,
    flight: Option<Flight>,
    ready: VecDeque<Effect>,
    /// `seq` of the last event that was shown, or that an earlier owner stored.
    shown: u64,
    /// When the last commit was made.
    last: u64,
    /// Milliseconds from the last stored commit to its answer.
    round_trip: u64,
    /// The stored groups of events.
    groups: VecDeque<Group>,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    last: u64,
    events: u64,
    bytes: u64,
}

/// The contents of the next commit, and the effects that wait for it.
#[derive(Debug, Clone, Default)]
struct Gathering {
    held: VecDeque<Effect>,
    events: String,
    count: u64,
    last_seq: u64,
    records: Vec<(String, String)>,
    reusable: Vec<(String, String, u64)>,
    /// The commit must contain the state, because it has changed.
    state: bool,
    /// The commit must be made now, without waiting for more text.
    urgent: bool,
}

#[derive(Debug, Clone)]
struct Flight {
    commit: Arc<Commit>,
    held: VecDeque<Effect>,
    made: u64,
    attempt: u32,
    wait: Wait,
}

#[derive(Debug, Clone, Copy)]
enum Wait {
    Answer { until: u64 },
    Again { at: u64 },
}

impl Journal {
    /// `after`: the revision, the last `seq`, and the number and bytes of events that an earlier
    /// owner stored.
    pub(super) fn new(keep: Keep, after: Option<(u64, u64, (u64, u64))>) -> Self {
        let (revision, shown, (events, bytes)) = after.unwrap_or_default();
        Self {
            keep,
            revision,
            take_over: after.is_some(),
            ours: false,
            gathering: Gathering::default(),
            flight: None,
            ready: VecDeque::new(),
            shown,
            last: 0,
            round_trip: 0,
            groups: VecDeque::from([Group { last: shown, events, bytes }]),
        }
    }

    /// Number and bytes of the stored events.
    pub(super) fn size(&self) -> (u64, u64) {
        let sum = |of: fn(&Group) -> u64| self.groups.iter().map(of).sum();
        (sum(|group| group.events), sum(|group| group.bytes))
    }

    pub(super) fn keep(&self) -> &Keep {
        &self.keep
    }

    fn take(&mut self, effect: Effect) {
        match effect {
            Effect::Abort { inference } => {
                // A request that was not sent yet is dropped instead of aborted.
                let is = |effect: &Effect| matches!(effect, Effect::Fetch { inference: one, .. } if *one == inference);
                if !self.drop_held(is) {
                    self.ready.push_back(effect);
                }
            }
            Effect::RunTool { .. } if planted("a tool starts before its claim is kept") => {
                self.ready.push_back(effect);
            }
            Effect::Check { .. }
            | Effect::Commit { .. }
            | Effect::Recall { .. }
            | Effect::Trace(_) => self.ready.push_back(effect),
            // Model requests cost money: send none before this owner holds the turn.
            Effect::Fetch { .. } if self.ours || planted("a request before the turn is ours") => {
                self.ready.push_back(effect)
            }
            Effect::Fetch { .. } => self.gathering.held.push_back(effect),
            Effect::CancelTool { call, .. } => {
                // A tool that was not started yet is dropped instead of cancelled.
                let is = |effect: &Effect| matches!(effect, Effect::RunTool { call: one, .. } if *one == call);
                if !self.drop_held(is) {
                    self.ready.push_back(effect);
                }
            }
            Effect::RunTool { .. } | Effect::Done { .. } => {
                self.gathering.urgent = true;
                self.gathering.held.push_back(effect);
            }
            Effect::Emit(event) => {
                let quiet = matches!(event.kind, EventKind::Text(_) | EventKind::Reasoning(_));
                if quiet && self.keep.events == 0 {
                    if self.ours && self.flight.is_none() && self.gathering.held.is_empty() {
                        self.shown = event.seq;
                        self.ready.push_back(Effect::Emit(event));
                    } else {
                        self.gathering.held.push_back(Effect::Emit(event));
                    }
                    return;
                }
                let gathering = &mut self.gathering;
                gathering.urgent |= !quiet;
                gathering.events.push(if gathering.count == 0 { '[' } else { ',' });
                event.write_json(&mut gathering.events);
                gathering.count += 1;
                gathering.last_seq = event.seq;
                if planted("an event is shown before it is kept") {
                    return self.ready.push_back(Effect::Emit(event));
                }
                gathering.held.push_back(Effect::Emit(event));
            }
        }
    }

    /// Drops a held effect. Returns whether there was one.
    fn drop_held(&mut self, is: impl Fn(&Effect) -> bool) -> bool {
        let held = self.flight.iter_mut().map(|flight| &mut flight.held);
        held.chain([&mut self.gathering.held]).any(|held| {
            let before = held.len();
            held.retain(|effect| !is(effect));
            held.len() < before
        })
    }

    fn is_due(&self, now: u64) -> bool {
        let Gathering { held, state, urgent, .. } = &self.gathering;
        // Records set `urgent`.
        self.flight.is_none() && (*urgent || *state || (!held.is_empty() && now >= self.gathered()))
    }

    /// Makes the next commit from the gathered contents.
    fn commit(&mut self, now: u64, state: Option<String>, open: bool) -> Effect {
        let Gathering { held, mut events, count, last_seq, records, reusable, .. } =
            std::mem::take(&mut self.gathering);
        self.revision += 1;
        self.last = now;
        let mut forget = 0;
        if count > 0 {
            events.push(']');
            let bytes = u64::try_from(events.len()).unwrap_or(u64::MAX);
            self.groups.push_back(Group { last: last_seq, events: count, bytes });
            while self.groups.len() > 1 && self.is_over_full() {
                forget = self.groups.pop_front().map_or(forget, |group| group.last);
            }
        }
        let commit = Arc::new(Commit {
            owner: self.keep.owner.clone(),
            revision: self.revision,
            take_over: self.take_over && !self.ours,
            open,
            state,
            records,
            events: (count > 0).then_some((last_seq, events)),
            forget,
            reusable,
            ttl_ms: self.keep.ttl_ms,
        });
        let wait = Wait::Answer { until: now.saturating_add(ANSWER_MS) };
        self.flight =
            Some(Flight { commit: Arc::clone(&commit), held, made: now, attempt: 1, wait });
        Effect::Commit { attempt: 1, commit }
    }

    fn is_over_full(&self) -> bool {
        let (events, bytes) = self.size();
        events > self.keep.events || bytes > self.keep.bytes
    }

    /// Releases the effects that waited for the commit in flight, which is now stored.
    fn kept(&mut self, now: u64) {
        let Some(flight) = self.flight.take() else { return };
        self.ours = true;
        self.round_trip = now.saturating_sub(flight.made);
        // If the lease expired, another owner may have taken the turn over: commit again before
        // starting tools.
        let slept = now.saturating_sub(flight.made) >= self.keep.lease_ms
            && !planted("who slept does not ask");
        let mut asleep = VecDeque::new();
        for effect in flight.held {
            match effect {
                Effect::RunTool { .. } if slept => asleep.push_back(effect),
                Effect::Emit(event) => {
                    self.shown = event.seq;
                    self.ready.push_back(Effect::Emit(event));
                }
                effect => self.ready.push_back(effect),
            }
        }
        self.gathering.urgent |= !asleep.is_empty();
        asleep.append(&mut self.gathering.held);
        self.gathering.held = asleep;
    }

    fn deadline(&self, over: bool) -> Option<u64> {
        match &self.flight {
            Some(Flight { wait: Wait::Answer { until }, .. }) => Some(*until),
            Some(Flight { wait: Wait::Again { at }, .. }) => Some(*at),
            None if !self.gathering.held.is_empty() => Some(self.gathered()),
            None => (self.ours && !over).then(|| self.beat()),
        }
    }

    /// When the gathered contents are committed, unless they are urgent.
    fn gathered(&self) -> u64 {
        let paced = self.round_trip.saturating_mul(ROUND_TRIPS).min(LONGEST_GATHER_MS);
        self.last.saturating_add(self.keep.gather_ms.max(paced))
    }

    /// When the owner must commit to renew its lease.
    fn beat(&self) -> u64 {
        let third =
            if planted("an owner shows no life") { u64::MAX } else { self.keep.lease_ms / 3 };
        self.last.saturating_add(third)
    }
}

impl Turn {
    /// Adds a record to the next commit.
    pub(super) fn keep(&mut self, record: impl FnOnce() -> (String, String)) {
        if let Some(journal) = &mut self.journal {
            journal.gathering.records.push(record());
            // If this owner fails before an outcome is stored, the outcome is unknown.
            journal.gathering.urgent = true;
        }
    }

    /// Lets other turns use an outcome: adds it to the next commit as reusable.
    pub(super) fn keep_reusable(&mut self, key: String, text: String, ttl_ms: u64) {
        if let Some(journal) = &mut self.journal {
            journal.gathering.reusable.push((key, text, ttl_ms));
        }
    }

    /// Adds the state to the next commit, as it is when the commit is made.
    pub(super) fn state_changed(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.gathering.state = true;
        }
    }

    /// Returns the next effect that need not wait, or the next commit.
    pub(super) fn poll_journal(&mut self) -> Option<Effect> {
        let journal = self.journal.as_mut()?;
        while let Some(effect) = self.effects.pop_front() {
            journal.take(effect);
        }
        if let Some(effect) = journal.ready.pop_front() {
            if matches!(effect, Effect::Done { .. }) {
                self.journal = None;
            }
            return Some(effect);
        }
        if !journal.is_due(self.now) {
            return None;
        }
        let changed = journal.gathering.state;
        let state = changed.then(|| self.state_text());
        let open = self.is_open();
        Some(self.journal.as_mut()?.commit(self.now, state, open))
    }

    /// Commits now, to find out whether another owner has written.
    pub(super) fn verify(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.gathering.urgent |= journal.ours;
        }
    }

    pub(super) fn journal_deadline(&self) -> Option<u64> {
        self.journal.as_ref()?.deadline(matches!(self.state, State::Over))
    }

    pub(super) fn expire_journal(&mut self) {
        let (now, over) = (self.now, matches!(self.state, State::Over));
        let Some(journal) = &mut self.journal else { return };
        match &mut journal.flight {
            Some(Flight { wait: Wait::Answer { until }, attempt, commit, .. }) if now >= *until => {
                let message = format!("the store did not answer within {ANSWER_MS} ms");
                let (revision, attempt) = (commit.revision, *attempt);
                let code = "store.timeout".to_owned();
                self.stored(revision, attempt, Answer::Failed { code, message });
            }
            Some(Flight { wait, attempt, commit, .. }) => {
                if let Wait::Again { at } = wait
                    && now >= *at
                {
                    *wait = Wait::Answer { until: now.saturating_add(ANSWER_MS) };
                    *attempt += 1;
                    let (attempt, commit) = (*attempt, Arc::clone(commit));
                    journal.ready.push_back(Effect::Commit { attempt, commit });
                }
            }
            None => journal.gathering.urgent |= journal.ours && !over && now >= journal.beat(),
        }
    }

    /// Handles an answer of the store. Failures of earlier attempts are ignored; their other
    /// answers count.
    pub(super) fn stored(&mut self, revision: u64, attempt: u32, answer: Answer) {
        let now = self.now;
        let Some(journal) = &mut self.journal else { return };
        let (take_over, ours) = (journal.take_over, journal.ours);
        let Some(flight) = journal.flight.as_mut().filter(|one| one.commit.revision == revision)
        else {
            return;
        };
        match answer {
            Answer::Kept => journal.kept(now),
            Answer::Refused { state } => {
                let stopped = state.as_deref().and_then(records::stop_reason);
                match stopped {
                    Some(reason) if ours => self.lose(Err(reason)),
                    Some(_) if take_over => self.lose(Ok(records::cancelled())),
                    _ => self.lose(Ok(records::conflict())),
                }
            }
            Answer::Failed { code, message } => {
                let open = attempt == flight.attempt && matches!(flight.wait, Wait::Answer { .. });
                if !open {
                    return;
                }
                if attempt >= ATTEMPTS && planted("a store that fails counts as kept") {
                    journal.kept(now);
                } else if attempt < ATTEMPTS {
                    let wait = FIRST_WAIT_MS << (2 * (attempt - 1)).min(16);
                    flight.wait = Wait::Again { at: now.saturating_add(wait) };
                } else {
                    self.lose(Ok(Failure { code: code.into(), message, status: None }));
                }
            }
        }
    }

    /// Ends the turn after the store refused a commit or failed. Effects that wait for a commit are
    /// dropped, and a running request and running tools are cancelled.
    fn lose(&mut self, end: Result<Failure, String>) {
        let Some(mut journal) = self.journal.take() else { return };
        self.abort_request();
        self.cancel_batch();
        while let Some(effect) = self.effects.pop_front() {
            if let Effect::CancelTool { .. } | Effect::Abort { .. } = effect {
                journal.take(effect);
            }
        }
        let dropped = journal.flight.iter().flat_map(|flight| &flight.held);
        let unseen: usize = dropped
            .chain(&journal.gathering.held)
            .map(|effect| match effect {
                Effect::Emit(event) => event.chunk().map_or(0, str::len),
                _ => 0,
            })
            .sum();
        let unseen = if planted("what was not shown counts as shown") { 0 } else { unseen };
        for text in [&mut self.record.shown, &mut self.phase.text] {
            text.truncate(text.floor_char_boundary(text.len().saturating_sub(unseen)));
        }
        self.record.seq = journal.shown;
        self.effects = journal.ready;
        match end {
            Ok(failure) => self.fail(failure),
            Err(reason) => {
                self.state = State::Idle;
                self.cancel(&reason);
            }
        }
    }
}
