//! The outcomes of calls: how they settle, time out, are cancelled, or are taken over.

use super::{Call, CallBatch, Fate, Settled, Terms};
use crate::guard::Guard;
use crate::mcp;
use crate::tool::outcome::{UNKNOWN_EFFECT, UNKNOWN_END};
use crate::tool::{ContentLimits, Outcome, Status, ToolSpec};

impl CallBatch {
    /// When [`CallBatch::time_out`] is due.
    pub(crate) fn deadline(&self) -> Option<u64> {
        let deadlines =
            self.calls.iter().filter_map(|call| call.limits().map(|limits| limits.deadline));
        let checks = (!self.is_checked()).then_some(self.checks_until);
        deadlines.chain(self.end_of_time()).chain(checks).min()
    }

    /// When the time of all calls is over, while tools run.
    fn end_of_time(&self) -> Option<u64> {
        let remaining = self.total_ms.saturating_sub(self.ran_ms);
        self.since.map(|since| since.saturating_add(remaining))
    }

    /// Milliseconds for which tools have run.
    pub(crate) fn elapsed_ms(&self, now: u64) -> u64 {
        self.ran_ms + self.since.map_or(0, |since| now.saturating_sub(since))
    }

    /// Counts the time of the tools once none runs.
    fn rest(&mut self, now: u64) {
        if self.running().next().is_none() {
            self.ran_ms = self.elapsed_ms(now);
            self.since = None;
        }
    }

    /// When the last call settled, once all judged calls have.
    pub(crate) fn settled_at(&self) -> Option<u64> {
        let at = |call: &Call| Some(call.since.saturating_add(call.settled.as_ref()?.1));
        self.calls.iter().filter_map(at).max().filter(|_| self.is_settled())
    }

    /// Takes what a running tool settled with. Returns whether the call was running.
    pub(crate) fn settle(&mut self, now: u64, number: u32, settled: Settled) -> bool {
        let running = |call: &&mut Call| call.number == number && call.limits().is_some();
        let Some(call) = self.calls.iter_mut().find(running) else { return false };
        let Some(limits) = call.limits() else { return false };
        let is_known = !matches!(settled, Settled::Unknown { .. });
        let mut outcome = match settled {
            Settled::Ok { text, bytes } => match mcp::failure_in(&text) {
                Some(message) => {
                    let message = short(message, limits.error_bytes);
                    Outcome::failed(Status::Error, "tool.threw", message)
                }
                None => Outcome::returned_content(
                    &text,
                    bytes,
                    ContentLimits {
                        text_bytes: limits.result_bytes,
                        media_bytes: limits.media_bytes,
                        urls: limits.urls,
                    },
                ),
            },
            Settled::Error { code, message } => {
                Outcome::failed(Status::Error, &code, short(message, limits.error_bytes))
            }
            Settled::Unknown { why } => unknown(&short(why, limits.error_bytes)),
        };
        outcome.reconciled = call.reconciles && is_known;
        call.settled = Some((outcome, now.saturating_sub(call.since)));
        self.rest(now);
        true
    }

    /// Settles a running call with a recorded outcome instead.
    pub(crate) fn substitute(&mut self, number: u32, recorded: Result<(Outcome, u64), String>) {
        let Some(call) = self.calls.iter_mut().find(|call| call.number == number) else { return };
        if recorded.is_ok() {
            call.fate = Fate::Recall;
        }
        let missing = |message: String| (Outcome::failed(Status::Error, "replay.miss", message), 0);
        call.settled = Some(recorded.unwrap_or_else(missing));
    }

    /// Records the outcomes in the guard, and settles the replays of them. Returns whether all
    /// calls have settled.
    pub(crate) fn settle_replays(&mut self, guard: &mut Guard<Outcome>) -> bool {
        for call in self.calls.iter().filter(|call| call.is_outcome_given()) {
            if let Some((outcome, _)) = &call.settled {
                guard.settle(&call.signature_texts(), call.number, outcome, None);
            }
        }
        let replay = |call: &&mut Call| call.fate == Fate::Replay && call.settled.is_none();
        for call in self.calls.iter_mut().filter(replay) {
            let outcome = guard.outcome(&call.signature_texts());
            call.settled = outcome.map(|outcome| (outcome.clone(), 0));
        }
        self.is_settled()
    }

    /// Returns the number of the next call that has settled and was not told.
    pub(crate) fn next_settled(&mut self) -> Option<u32> {
        let fresh = |call: &&mut Call| call.settled.is_some() && !call.told;
        let call = self.calls.iter_mut().find(fresh)?;
        call.told = true;
        Some(call.number)
    }

    /// Whether all judged calls have settled.
    pub(crate) fn is_settled(&self) -> bool {
        !self.calls.iter().any(Call::is_open)
    }

    /// Ends the checks and settles the running calls whose time is over. Returns the numbers of the
    /// latter.
    pub(crate) fn time_out(&mut self, now: u64) -> Vec<u32> {
        if now >= self.checks_until {
            self.stop_checks();
        }
        let end = self.end_of_time().unwrap_or(u64::MAX);
        let mut late = Vec::new();
        for call in &mut self.calls {
            let Some(limits) = call.limits() else { continue };
            if now < limits.deadline.min(end) {
                continue;
            }
            let since = now.saturating_sub(call.since);
            call.cut_off = end < limits.deadline;
            let message = match call.cut_off {
                true => {
                    format!("no result within {since} ms, when `{}` was over", self.total_option)
                }
                false => format!("no result within {} ms", limits.timeout_ms),
            };
            let outcome = if call.reconciles {
                unknown(&message)
            } else {
                call.cut_off_with(Outcome::failed(Status::Timeout, "tool.timeout", message))
            };
            call.settled = Some((outcome, since));
            late.push(call.number);
        }
        self.rest(now);
        late
    }

    /// Settles every open call, because its machine ends. Returns the numbers of those that were
    /// running.
    pub(crate) fn cancel(&mut self, now: u64, outcome: &Outcome) -> Vec<u32> {
        let mut running = Vec::new();
        for call in self.calls.iter_mut().filter(|call| call.is_open()) {
            if matches!(call.fate, Fate::Run(_)) {
                running.push(call.number);
            }
            call.cut_off = true;
            let outcome =
                if call.reconciles { unknown("") } else { call.cut_off_with(outcome.clone()) };
            call.settled = Some((outcome, now.saturating_sub(call.since)));
        }
        self.rest(now);
        running
    }

    /// Takes over a batch whose owner is gone. A call without an outcome may have run: it runs
    /// again if its tool allowed that when it was judged, and still does. Otherwise the host is
    /// asked what became of it, if it can tell, or its outcome is `unknown`. Returns the numbers of
    /// those that run again or are asked for.
    pub(crate) fn take_over(&mut self, now: u64, terms: &Terms<'_>) -> Vec<u32> {
        (self.total_ms, self.total_option) = (terms.total_ms, terms.total_option);
        let mut again = Vec::new();
        for call in self.calls.iter_mut().filter(|call| call.limits().is_some()) {
            let tool = terms.tools.find(&call.view.name);
            let may_run = call.may_run_again && tool.is_some_and(ToolSpec::may_run_again);
            if may_run || tool.is_some_and(|tool| tool.reconciles) {
                call.reconciles = !may_run;
                call.fate = Fate::Run(terms.limits(tool, now));
                call.since = now;
                self.since = Some(now);
                again.push(call.number);
            } else {
                call.settled = Some((unknown(""), 0));
            }
        }
        again
    }

    /// Settles a batch whose owner is gone and whose turn is cancelled. Its tools may run in another
    /// process, which cannot be notified from here.
    pub(crate) fn abandon(&mut self, cancelled: &Outcome) {
        for call in self.calls.iter_mut().filter(|call| call.limits().is_some()) {
            let outcome = match call.may_run_again {
                true => call.cut_off_with(cancelled.clone()),
                false => unknown(""),
            };
            call.settled = Some((outcome, 0));
        }
    }
}

impl Call {
    /// The outcome of the call if it is cut off: that of a tool with effects says what is not known.
    fn cut_off_with(&self, mut outcome: Outcome) -> Outcome {
        let is_unknown = outcome.status == Status::Unknown;
        if let Some(error) = outcome.error.as_mut().filter(|_| !self.read_only && !is_unknown) {
            error.message = format!("{}; {UNKNOWN_EFFECT}", error.message);
        }
        outcome
    }
}

/// The outcome of a call that may or may not have run. `why`: what the host says of it.
fn unknown(why: &str) -> Outcome {
    let mut message = UNKNOWN_END.to_owned();
    if !why.is_empty() {
        message = format!("{message}: {why}");
    }
    Outcome::failed(Status::Unknown, "tool.outcome_unknown", message)
}

/// A host's text, cut to its limit.
fn short(mut text: String, bytes: u64) -> String {
    let limit = usize::try_from(bytes).unwrap_or(usize::MAX);
    text.truncate(text.floor_char_boundary(limit));
    text
}
