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

use super::super::event::EventKind;
use super::super::options::Keep;
use super::super::progress::End;
use super::super::protocol::Effect;
use super::records;
use crate::error::Failure;
use crate::store::{Commit, CommitResult};

/// Timeout of one attempt at a commit.
///
/// Limit | an attempt to commit | ms | the commit is tried again
const ANSWER_MS: u64 = 5_000;
/// Attempts at one commit.
///
/// Limit | attempts to commit | attempts | the turn fails
const ATTEMPTS: u32 = 4;
/// Wait before the second attempt. Each further wait is four times the previous one.
///
/// Not a limit.
const FIRST_WAIT_MS: u64 = 50;

/// Least time for the store to take the end of a turn whose time is over.
///
/// Limit | the store taking the end of a turn whose time is over, at least | ms | `turn.timeout`
const LAST_WAIT_MS: u64 = 1_000;

/// Round trips to the store from one commit of gathered text to the next. A process that stops the
/// turn from elsewhere needs two reads and one write. If the commits followed each other without a
/// pause, it could not write between two of them while the model streams text.
///
/// Not a limit.
const ROUND_TRIPS: u64 = 4;
/// Longest pause that the round trips can cause, however slow the store is.
///
/// Limit | gathering text between two commits, for a slow store | ms | it is committed
const LONGEST_GATHER_MS: u64 = 1_000;

/// The effects that wait to be stored, and the commits that store them.
#[derive(Debug, Clone)]
pub(super) struct Journal {
    keep: Keep,
    /// The number of the last commit.
    revision: u64,
    /// The number of this owner of the turn.
    epoch: u64,
    /// The turn belongs to another owner until the first commit is stored.
    take_over: bool,
    /// That owner, or the one that the next commit takes the turn back from.
    replaces: Option<String>,
    /// Somebody asked for a pause, and the turn is to hear of it.
    pause: bool,
    /// The last commit was that of somebody who asked for a pause: the next one takes the turn back.
    retake: bool,
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

/// Bytes of text that an effect would show.
pub(super) fn text_of(effect: &Effect) -> usize {
    match effect {
        Effect::Emit(event) => event.chunk().map_or(0, str::len),
        _ => 0,
    }
}

impl Journal {
    /// `after`: the revision, the last `seq`, and the number and bytes of events that an earlier
    /// owner stored. `epoch`: the number of this owner.
    pub(super) fn new(keep: Keep, epoch: u64, after: Option<(u64, u64, (u64, u64))>) -> Self {
        let (revision, shown, (events, bytes)) = after.unwrap_or_default();
        Self {
            keep,
            revision,
            epoch,
            take_over: after.is_some(),
            replaces: None,
            pause: false,
            retake: false,
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

    /// The first commit takes the turn over from this owner, and from nobody else.
    pub(super) fn replace(&mut self, owner: Option<String>) {
        self.replaces = owner;
    }

    /// Number and bytes of the stored events.
    pub(super) fn size(&self) -> (u64, u64) {
        let sum = |of: fn(&Group) -> u64| self.groups.iter().map(of).sum();
        (sum(|group| group.events), sum(|group| group.bytes))
    }

    pub(super) fn keep(&self) -> &Keep {
        &self.keep
    }

    /// Adds a record to the next commit, which is made at once: if this owner fails before an
    /// outcome is stored, the outcome is unknown.
    pub(super) fn record(&mut self, name: String, text: String) {
        self.gathering.records.push((name, text));
        self.gathering.urgent = true;
    }

    /// Lets other turns use an outcome: adds it to the next commit as reusable.
    pub(super) fn reusable(&mut self, key: String, text: String, ttl_ms: u64) {
        self.gathering.reusable.push((key, text, ttl_ms));
    }

    /// Adds the state to the next commit, as it is when the commit is made.
    pub(super) fn state_changed(&mut self) {
        self.gathering.state = true;
    }

    pub(super) fn is_state_changed(&self) -> bool {
        self.gathering.state
    }

    /// Commits now, to find out whether another owner has written.
    pub(super) fn verify(&mut self) {
        self.gathering.urgent |= self.ours;
    }

    /// Returns the next effect that need not wait.
    pub(super) fn pop(&mut self) -> Option<Effect> {
        self.ready.pop_front()
    }

    pub(super) fn into_ready(self) -> VecDeque<Effect> {
        self.ready
    }

    /// `seq` of the last event that was shown.
    pub(super) fn shown_seq(&self) -> u64 {
        self.shown
    }

    /// Bytes of text that wait to be shown.
    pub(super) fn unseen(&self) -> usize {
        let flight = self.flight.iter().flat_map(|flight| &flight.held);
        flight.chain(&self.gathering.held).map(text_of).sum()
    }

    pub(super) fn take(&mut self, effect: Effect) {
        match effect {
            // What was not sent or started yet is dropped instead of ended.
            Effect::Abort { .. } | Effect::CancelTool { .. } => {
                if !self.drop_held(|held| effect.ends(held)) {
                    self.ready.push_back(effect);
                }
            }
            Effect::Repair { .. }
            | Effect::Check { .. }
            | Effect::Commit { .. }
            | Effect::Recall { .. }
            | Effect::Trace(_) => self.ready.push_back(effect),
            // Model requests cost money: send none before this owner holds the turn.
            Effect::Fetch { .. } if self.ours => self.ready.push_back(effect),
            Effect::Fetch { .. } => self.gathering.held.push_back(effect),
            Effect::Emit(event) => {
                let quiet = matches!(
                    event.kind,
                    EventKind::Text { .. }
                        | EventKind::Reasoning { .. }
                        | EventKind::ToolArguments { .. }
                );
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
                gathering.held.push_back(Effect::Emit(event));
            }
            // Everything else waits until what led to it is stored.
            effect => {
                self.gathering.urgent = true;
                self.gathering.held.push_back(effect);
            }
        }
    }

    /// Drops a held effect. Returns whether there was one.
    fn drop_held(&mut self, is: impl Fn(&Effect) -> bool) -> bool {
        let queues = self.flight.iter_mut().map(|flight| &mut flight.held);
        queues.chain([&mut self.gathering.held]).any(|queues| {
            let before = queues.len();
            queues.retain(|effect| !is(effect));
            queues.len() < before
        })
    }

    pub(super) fn is_due(&self, now: u64) -> bool {
        let Gathering { held, state, urgent, .. } = &self.gathering;
        // Records set `urgent`.
        self.flight.is_none() && (*urgent || *state || (!held.is_empty() && now >= self.gathered()))
    }

    /// Makes the next commit from the gathered contents.
    pub(super) fn commit(&mut self, now: u64, state: Option<String>, open: bool) -> Effect {
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
        let take_over = std::mem::take(&mut self.retake) || (self.take_over && !self.ours);
        let commit = Arc::new(Commit {
            owner: self.keep.owner.clone(),
            revision: self.revision,
            take_over,
            replaces: self.replaces.clone().filter(|_| take_over),
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

    /// Whether somebody has asked for a pause since the last time.
    pub(super) fn take_pause(&mut self) -> bool {
        std::mem::take(&mut self.pause)
    }

    fn is_over_full(&self) -> bool {
        let (events, bytes) = self.size();
        events > self.keep.events || bytes > self.keep.bytes
    }

    /// Releases the effects that waited for the commit in flight, which is now stored.
    fn committed(&mut self, now: u64) {
        let Some(flight) = self.flight.take() else { return };
        self.ours = true;
        self.round_trip = now.saturating_sub(flight.made);
        // If the lease expired, another owner may have taken the turn over: commit again before
        // starting tools.
        let slept = now.saturating_sub(flight.made) >= self.keep.lease_ms;
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

    /// Goes on behind the commit `at`, by which `from` asked for a pause. It is in the place of the
    /// commit in flight, which is made again, or behind it: then that one is stored.
    fn take_back(&mut self, now: u64, at: u64, from: Option<String>) {
        // The next state is without that wish.
        self.gathering.state = true;
        self.revision = at;
        self.replaces.clone_from(&from);
        let Some(flight) = self.flight.as_mut().filter(|flight| flight.commit.revision == at)
        else {
            self.retake = true;
            return self.committed(now);
        };
        self.revision = at + 1;
        let commit = Commit {
            revision: at + 1,
            take_over: true,
            replaces: from,
            ..(*flight.commit).clone()
        };
        flight.commit = Arc::new(commit);
        flight.attempt = 1;
        flight.wait = Wait::Answer { until: now.saturating_add(ANSWER_MS) };
        let (attempt, commit) = (flight.attempt, Arc::clone(&flight.commit));
        self.ready.push_back(Effect::Commit { attempt, commit });
    }

    pub(super) fn deadline(&self, over: bool) -> Option<u64> {
        match &self.flight {
            Some(Flight { wait: Wait::Answer { until }, .. }) => Some(*until),
            Some(Flight { wait: Wait::Again { at }, .. }) => Some(*at),
            None if !self.gathering.held.is_empty() => Some(self.gathered()),
            None => (self.ours && !over).then(|| self.beat()),
        }
    }

    /// When a turn that ends at `end_of_time` ends without its store; `None` if nothing waits for it.
    pub(super) fn gives_up(&self, end_of_time: u64) -> Option<u64> {
        let wait = self.round_trip.saturating_mul(ROUND_TRIPS).clamp(LAST_WAIT_MS, ANSWER_MS);
        let waits = self.flight.is_some() || !self.gathering.held.is_empty();
        waits.then(|| end_of_time.saturating_add(wait))
    }

    /// When the gathered contents are committed, unless they are urgent.
    fn gathered(&self) -> u64 {
        let paced = self.round_trip.saturating_mul(ROUND_TRIPS).min(LONGEST_GATHER_MS);
        self.last.saturating_add(self.keep.gather_ms.max(paced))
    }

    /// When the owner must commit to renew its lease.
    fn beat(&self) -> u64 {
        self.last.saturating_add(self.keep.lease_ms / 3)
    }

    /// Handles the deadline of a commit, or of the lease. `over`: the turn has ended. Returns how
    /// the turn ends if the store does not answer.
    pub(super) fn expire(&mut self, now: u64, over: bool) -> Option<End> {
        let Some(flight) = &mut self.flight else {
            self.gathering.urgent |= self.ours && !over && now >= self.beat();
            return None;
        };
        match flight.wait {
            Wait::Answer { until } if now >= until => {
                let message = format!("the store did not answer within {ANSWER_MS} ms");
                let (revision, attempt) = (flight.commit.revision, flight.attempt);
                let code = "store.timeout".to_owned();
                return self.stored(now, revision, attempt, CommitResult::Failed { code, message });
            }
            Wait::Again { at } if now >= at => {
                flight.wait = Wait::Answer { until: now.saturating_add(ANSWER_MS) };
                flight.attempt += 1;
                let (attempt, commit) = (flight.attempt, Arc::clone(&flight.commit));
                self.ready.push_back(Effect::Commit { attempt, commit });
            }
            Wait::Answer { .. } | Wait::Again { .. } => {}
        }
        None
    }

    /// Handles an answer of the store. Failures of earlier attempts are ignored; their other answers
    /// count. Returns how the turn ends if the commit is refused or has failed.
    pub(super) fn stored(
        &mut self,
        now: u64,
        revision: u64,
        attempt: u32,
        answer: CommitResult,
    ) -> Option<End> {
        let flight = self.flight.as_mut().filter(|one| one.commit.revision == revision)?;
        match answer {
            CommitResult::Stored => {
                self.committed(now);
                None
            }
            CommitResult::Refused { state } => {
                let pause = state.as_deref().filter(|_| self.ours);
                let pause = pause.and_then(|state| records::pause_of(state, self.epoch));
                if let Some((at, from)) = pause.filter(|(at, _)| *at >= revision) {
                    self.pause = true;
                    self.take_back(now, at, from);
                    return None;
                }
                Some(match state.as_deref().and_then(records::stop_reason) {
                    Some(reason) if self.ours => End::Cancelled(reason),
                    Some(_) if self.take_over => End::Failed(records::cancelled()),
                    _ => End::Failed(records::conflict(self.ours, self.take_over)),
                })
            }
            CommitResult::Failed { code, message } => {
                let open = attempt == flight.attempt && matches!(flight.wait, Wait::Answer { .. });
                if !open {
                    return None;
                }
                if attempt >= ATTEMPTS {
                    return Some(End::Failed(Failure::new(code, message)));
                }
                let wait = FIRST_WAIT_MS << (2 * (attempt - 1)).min(16);
                flight.wait = Wait::Again { at: now.saturating_add(wait) };
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
