//! The calls of one response: they are checked, judged, run and settled together.
//!
//! The machines of [`turn`](crate::turn) and [`planning`](crate::planning) make the calls, perform
//! what a batch needs, and decide what follows when its calls have settled.

mod call;
mod input;
mod outcomes;

pub use call::CallView;
pub(crate) use call::{CUT_BY_LIMIT, Call, Fate, INCOMPLETE, Need};
pub use input::{Settled, Verdict};

use super::{Outcome, Registry, ToolSpec};
use crate::guard::{Approval, CallVerdict, Dedupe, Guard, GuardedCall, Refusal, Repeat, Rules};
use call::Limits;

/// Bytes of the reason that a notice gives for a refused call.
///
/// Limit | what is wrong with arguments, the reason of a denied approval | bytes | cut
const WHY_BYTES: usize = 500;

/// Cuts a reason.
fn short(mut why: String) -> String {
    why.truncate(why.floor_char_boundary(WHY_BYTES));
    why
}

/// The user's decision on a call that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision<'a> {
    pub(crate) approved: bool,
    /// Why the call is denied.
    pub(crate) reason: Option<&'a str>,
}

/// The calls of one response. They are judged one after the other, in the model's order, as soon as
/// nothing is missing, and more may come meanwhile.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallBatch {
    /// In the model's order.
    calls: Vec<Call>,
    /// How many calls are judged, from the first on.
    judged: usize,
    /// How many calls were judged after the budget was spent.
    further: u32,
    /// When the time of the checks is over.
    checks_until: u64,
    /// Since when tools run, while any does.
    since: Option<u64>,
    /// Milliseconds for which tools ran before.
    ran_ms: u64,
    /// Milliseconds for which tools may run.
    total_ms: u64,
    /// The option that says so.
    total_option: &'static str,
}

/// What the verdicts on calls depend on. Times are milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) tools: &'a Registry,
    pub(crate) rules: Rules<'a>,
    /// Which repeated calls get the outcome of the first. Others are refused.
    pub(crate) replays: Replays,
    /// How many calls are judged after the budget is spent. Those behind them are dropped.
    pub(crate) further: u32,
    /// Whether a refused call might be accepted in another phase.
    pub(crate) has_other_phase: bool,
    pub(crate) timeout_ms: u64,
    pub(crate) result_bytes: u64,
    /// Maximum bytes of the images and files of a result.
    pub(crate) media_bytes: u64,
    /// Whether `timeout_ms` and `result_bytes` are maximums. Otherwise a tool's own limits replace
    /// them.
    pub(crate) caps: bool,
    /// Maximum bytes of an error message. `None`: the limit of results.
    pub(crate) error_bytes: Option<u64>,
    /// The time of all calls together.
    pub(crate) total_ms: u64,
    /// The option that it comes from.
    pub(crate) total_option: &'static str,
}

/// Which repeated calls get the outcome of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replays {
    /// None.
    Never,
    /// Those of tools for which the host has set so.
    IfSet,
    /// Those, and those of other read-only tools.
    Usual,
}

impl Replays {
    /// What counts as a repeat of a call of `tool`.
    fn repeat(self, tool: &ToolSpec) -> Option<Repeat> {
        let replays = match self {
            Self::Never => false,
            Self::IfSet => tool.dedupe == Some(Dedupe::Replay),
            Self::Usual => true,
        };
        let repeat = tool.dedupes().repeat()?;
        Some(Repeat { replays: repeat.replays && replays, ..repeat })
    }
}

/// Checks.
impl CallBatch {
    /// Makes a batch of calls. `need` returns what a call with valid arguments needs before it is
    /// judged. The checks end at `deadline`.
    pub(crate) fn new(
        calls: Vec<Call>,
        deadline: u64,
        need: impl Fn(&Call) -> Option<Need>,
    ) -> Self {
        let mut batch = Self::default();
        for call in calls {
            let need = need(&call);
            batch.add(call, deadline, need);
        }
        batch
    }

    /// Adds a call. If no other is checked now, the checks end at `deadline`.
    pub(crate) fn add(&mut self, mut call: Call, deadline: u64, need: Option<Need>) {
        if self.is_checked() {
            self.checks_until = deadline;
        }
        if call.valid && call.fate == Fate::Unjudged(None) {
            call.fate = Fate::Unjudged(need);
        }
        self.calls.push(call);
    }

    /// Takes a verdict. `need` returns what the call needs after it. Returns the call if it waited
    /// for the verdict.
    pub(crate) fn checked(
        &mut self,
        number: u32,
        verdict: Verdict,
        project: Option<&str>,
        need: impl FnOnce(&Call) -> Option<Need>,
    ) -> Option<&Call> {
        let call = self.pending(number, Need::Verdict)?;
        match verdict {
            Verdict::Valid { action, args, approval } => {
                call.take_checked(action, args, project);
                if approval || call.approval == Approval::Needed {
                    // Not recalled: an outcome of another turn was not approved for this one.
                    call.approval = Approval::Needed;
                } else {
                    call.fate = Fate::Unjudged(need(call));
                }
            }
            Verdict::Denied { action, args, reason } => {
                call.take_checked(action, args, project);
                call.approval = Approval::Denied;
                call.why = short(reason);
            }
            Verdict::Invalid { errors } => {
                call.why = short(errors);
                call.valid = false;
            }
        }
        Some(call)
    }

    /// Takes a stored outcome and its age in milliseconds.
    pub(crate) fn recalled(
        &mut self,
        number: u32,
        found: Option<(Outcome, u64)>,
        tools: &Registry,
    ) {
        let Some(call) = self.pending(number, Need::Outcome) else { return };
        let limit = tools.find(&call.view.name).and_then(|tool| tool.reuse_ms).unwrap_or(0);
        let found = found.filter(|(outcome, _)| !outcome.is_gone());
        call.recalled = found.filter(|(_, age_ms)| *age_ms <= limit).map(|(outcome, _)| outcome);
    }

    fn pending(&mut self, number: u32, need: Need) -> Option<&mut Call> {
        let pending = Fate::Unjudged(Some(need));
        let mut calls = self.calls.iter_mut();
        let call = calls.find(|call| call.number == number && call.fate == pending)?;
        call.fate = Fate::Unjudged(None);
        Some(call)
    }

    /// Whether no call needs an input before it is judged.
    pub(crate) fn is_checked(&self) -> bool {
        !self.calls.iter().any(|call| matches!(call.fate, Fate::Unjudged(Some(_))))
    }

    /// Ends the checks at their deadline. Arguments without a verdict count as invalid, and a call
    /// whose stored outcome is still awaited is judged without it.
    fn stop_checks(&mut self) {
        for call in &mut self.calls {
            if let Fate::Unjudged(Some(need)) = call.fate {
                call.valid &= need != Need::Verdict;
                call.fate = Fate::Unjudged(None);
            }
        }
    }
}

/// Rulings.
impl CallBatch {
    /// Makes a batch of calls that waited for the user. `decision` returns the user's decision on a
    /// call.
    pub(crate) fn approved<'a, 'd>(
        calls: impl Iterator<Item = &'a Call>,
        decision: impl Fn(&Call) -> Option<Decision<'d>>,
    ) -> Self {
        let decide = |call: &Call| {
            let call = Call { fate: Fate::Unjudged(None), ..call.clone() };
            match decision(&call) {
                Some(Decision { approved: true, .. }) => {
                    Call { approval: Approval::Granted, ..call }
                }
                Some(Decision { reason, .. }) => {
                    let why = short(reason.unwrap_or_default().to_owned());
                    Call { approval: Approval::Denied, why, ..call }
                }
                None => call,
            }
        };
        Self { calls: calls.map(decide).collect(), ..Self::default() }
    }

    /// Judges the calls in the model's order, up to the first one that needs an input. The budget of
    /// `terms` has the executions before those of this call. Returns whether a refused call would
    /// have been accepted in another phase.
    pub(crate) fn judge(
        &mut self,
        now: u64,
        terms: &Terms<'_>,
        guard: &mut Guard<Outcome>,
    ) -> bool {
        (self.total_ms, self.total_option) = (terms.total_ms, terms.total_option);
        // A waiting call reserves its share, so that it can run once it is approved.
        let waiting = self.calls.iter().filter(|call| call.fate == Fate::Waiting).count();
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        let mut budget = terms.rules.budget.saturating_sub(waiting);
        let mut elsewhere = false;
        while let Some(call) = self.calls.get_mut(self.judged) {
            match call.fate {
                Fate::Unjudged(Some(_)) => break,
                Fate::Unjudged(None) => {}
                _ => {
                    self.judged += 1;
                    continue;
                }
            }
            let spent = budget == 0;
            let tool = terms.tools.find(&call.view.name);
            let rules = Rules { budget, ..terms.rules };
            let signatures = call.signature_texts();
            let repeats: Vec<_> =
                tool.and_then(|tool| terms.replays.repeat(tool)).into_iter().collect();
            let is_gone = guard.outcome(&signatures).is_some_and(Outcome::is_gone);
            if is_gone && tool.is_some_and(|tool| tool.read_only) {
                // Another owner of the turn had its data, so that a repeat gets nothing from it.
                guard.forget(&signatures);
            }
            let guarded = GuardedCall {
                tool: tool.map(|tool| tool.known_tool(&repeats)),
                valid: call.valid,
                known: call.recalled.is_some(),
                approval: call.approval,
                ..GuardedCall::new(&call.view.name, None, &signatures)
            };
            let fate = match guard.judge(call.number, &guarded, &rules) {
                CallVerdict::Run => Fate::Run(terms.limits(tool, now)),
                CallVerdict::Recall => Fate::Recall,
                CallVerdict::Replay(_) => Fate::Replay,
                CallVerdict::Ask => Fate::Waiting,
                CallVerdict::Block(refusal) => Fate::Refused(refusal),
                CallVerdict::BlockUnclear => Fate::Refused(Refusal::InvalidArguments),
            };
            if let Fate::Refused(_) = fate {
                let may_repeat = tool.is_some_and(|tool| {
                    tool.dedupes() == Dedupe::Allow || guard.call(&signatures).is_none()
                });
                let denied = guard.is_denied(&signatures);
                elsewhere |= terms.has_other_phase && call.valid && may_repeat && !denied;
            }
            call.fate = fate;
            match fate {
                Fate::Waiting => budget = budget.saturating_sub(1),
                Fate::Run(_) => {
                    budget = budget.saturating_sub(1);
                    self.since.get_or_insert(now);
                }
                Fate::Recall => call.settled = call.recalled.take().map(|outcome| (outcome, 0)),
                Fate::Refused(_) | Fate::Replay | Fate::Unjudged(_) => {}
            }
            call.since = now;
            call.read_only = tool.is_some_and(|tool| tool.read_only);
            call.may_run_again = tool.is_some_and(ToolSpec::may_run_again);
            self.judged += 1;
            self.further += u32::from(spent);
            if self.further >= terms.further {
                self.calls.truncate(self.judged);
            }
        }
        elsewhere
    }

    /// Drops the calls that are not judged yet.
    pub(crate) fn drop_unjudged(&mut self) {
        self.calls.truncate(self.judged);
    }

    /// Makes a batch of stored calls, as they were judged.
    pub(crate) fn stored(calls: Vec<Call>) -> Self {
        Self { judged: calls.len(), calls, ..Self::default() }
    }

    /// Restores the outcomes of stored calls. `outcome` returns the stored outcome of a call and its
    /// duration.
    pub(crate) fn restore(
        &mut self,
        guard: &mut Guard<Outcome>,
        outcome: impl Fn(&str) -> Option<(Outcome, u64)>,
    ) {
        for call in self.calls.iter_mut().filter(|call| call.is_outcome_given()) {
            guard.accept(&call.signature_texts(), call.number);
            if matches!(call.fate, Fate::Run(_)) {
                guard.count_run(&call.view.name);
            }
            call.settled = outcome(&call.view.id);
        }
        let denied = self.calls.iter().filter(|call| call.is_denied());
        denied.for_each(|call| guard.deny(&call.signature_texts()));
    }

    /// Settles the refused calls with a notice for the model, in a loop where each call has a
    /// result.
    pub(crate) fn answer_refused(&mut self, answer: impl Fn(&Call, Refusal) -> Outcome) {
        for call in &mut self.calls {
            if let Fate::Refused(refusal) = call.fate {
                call.settled = Some((answer(call, refusal), 0));
            }
        }
    }

    /// Says of incomplete arguments that the model's output limit cut them.
    pub(crate) fn cut_by_limit(&mut self) {
        self.calls.iter_mut().for_each(Call::cut_by_limit);
    }

    /// Whether all calls are judged.
    pub(crate) fn is_judged(&self) -> bool {
        self.judged == self.calls.len()
    }

    /// How many calls are judged, from the first on.
    pub(crate) fn judged(&self) -> usize {
        self.judged
    }

    /// How many calls were judged after the budget was spent.
    pub(crate) fn further(&self) -> u32 {
        self.further
    }

    /// All calls, in the model's order.
    pub(crate) fn calls(&self) -> &[Call] {
        &self.calls
    }

    pub(crate) fn into_calls(self) -> Vec<Call> {
        self.calls
    }

    pub(crate) fn call(&self, number: u32) -> Option<&Call> {
        self.calls.iter().find(|call| call.number == number)
    }

    /// The calls that are running.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.limits().is_some())
    }

    /// Number of calls that are executed.
    pub(crate) fn executed(&self) -> u32 {
        let ran = self.calls.iter().filter(|call| matches!(call.fate, Fate::Run(_)));
        u32::try_from(ran.count()).unwrap_or(u32::MAX)
    }

    /// The refused calls, grouped by reason, in order of first appearance.
    pub(crate) fn refused(&self) -> Vec<(Refusal, Vec<&Call>)> {
        let mut groups: Vec<(Refusal, Vec<&Call>)> = Vec::new();
        for call in &self.calls {
            let Fate::Refused(refusal) = call.fate else { continue };
            match groups.iter_mut().find(|(reason, _)| *reason == refusal) {
                Some((_, calls)) => calls.push(call),
                None => groups.push((refusal, vec![call])),
            }
        }
        groups
    }
}

impl Terms<'_> {
    fn limits(&self, tool: Option<&ToolSpec>, now: u64) -> Limits {
        let limit = |own: Option<u64>, limit: u64| match own {
            Some(own) if self.caps => own.min(limit),
            Some(own) => own,
            None => limit,
        };
        let timeout_ms = limit(tool.and_then(|tool| tool.timeout_ms), self.timeout_ms);
        let result_bytes = limit(tool.and_then(|tool| tool.max_result_bytes), self.result_bytes);
        Limits {
            timeout_ms,
            deadline: now.saturating_add(timeout_ms),
            result_bytes,
            media_bytes: self.media_bytes,
            urls: !tool.is_some_and(|tool| tool.untrusted),
            error_bytes: self.error_bytes.unwrap_or(result_bytes),
        }
    }
}

#[cfg(test)]
mod tests;
