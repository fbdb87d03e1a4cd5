//! The calls of one response before they are judged: parsed, and checked by the host.

use super::machine::{State, Turn};
use super::protocol::{Effect, Verdict};
use super::records;
use crate::json::Json;
use crate::limits;
use crate::planted::planted;
use crate::signature::Signature;
use crate::stream::{Call, Reasoning, Response};
use crate::tool::{Dedupe, Outcome, Rules};
use crate::trace::PhaseName;

/// Calls that wait for the host's verdict on their arguments, or for a stored outcome.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checking {
    said: Said,
    candidates: Vec<Candidate>,
    pub(super) deadline: u64,
}

/// The reasoning and text of a response with calls.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) reasoning: Vec<Reasoning>,
    pub(super) text: String,
}

/// A call of the model before it is judged.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) call: u32,
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments: an object, or the raw text as a string if it is not a complete JSON object.
    pub(super) args: Json<'static>,
    pub(super) valid: bool,
    pub(super) action: Option<String>,
    pub(super) approval: Approval,
    /// The stored outcome of another turn.
    pub(super) recalled: Option<Outcome>,
    pub(super) pending: Option<Pending>,
}

/// Whether the user must approve a call, or has decided on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approval {
    Denied,
    Granted,
    Needed,
    NotNeeded,
}

/// The input that a call needs before it can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    Outcome,
    Verdict,
}

impl Candidate {
    /// Makes a call whose arguments were checked before.
    pub(super) fn checked() -> Self {
        Self {
            call: 0,
            id: String::new(),
            name: String::new(),
            args: Json::Null,
            valid: true,
            action: None,
            approval: Approval::Needed,
            recalled: None,
            pending: None,
        }
    }
}

impl Turn {
    /// The number of executions left in the current phase.
    pub(super) fn budget(&self) -> u32 {
        let policy = &self.options.policy;
        match self.phase.name {
            PhaseName::Tool => policy.max_tools.saturating_sub(self.phase.executed),
            PhaseName::Action => policy.action_max_tools.saturating_sub(self.phase.executed),
            PhaseName::Unified | PhaseName::Complete if self.is_last_step() => 0,
            PhaseName::Unified | PhaseName::Complete => u32::MAX,
        }
    }

    /// Whether the current phase has tools at all.
    pub(super) fn tools_on(&self) -> bool {
        let policy = &self.options.policy;
        match self.phase.name {
            PhaseName::Tool => policy.max_tools > 0,
            PhaseName::Action => {
                !policy.action_tools.is_empty()
                    && policy.action_max_tools > 0
                    && !self.phase.last_chance
            }
            PhaseName::Unified | PhaseName::Complete => true,
        }
    }

    pub(super) fn rules(&self) -> Rules<'_> {
        let allow = &self.options.policy.action_tools;
        Rules {
            tools_on: self.tools_on(),
            allow: (self.phase.name == PhaseName::Action).then_some(allow.as_slice()),
            budget: self.budget(),
        }
    }

    /// Requests the checks that the calls of a response need, and judges the calls afterwards.
    pub(super) fn judge_calls(&mut self, response: Response) {
        let calls = response.calls.into_iter();
        let mut ids = Vec::new();
        let mut candidates: Vec<_> = calls.map(|call| self.candidate(call, &mut ids)).collect();
        for candidate in &mut candidates {
            if candidate.valid && self.needs_check(&candidate.name) {
                candidate.pending = Some(Pending::Verdict);
                self.effects.push_back(Effect::Check {
                    call: candidate.call,
                    name: candidate.name.clone(),
                    args: candidate.args.clone(),
                });
            } else {
                self.recall(candidate);
            }
        }
        let deadline = self.now.saturating_add(self.options.policy.tool_timeout_ms);
        let said = Said { reasoning: response.reasoning, text: response.text };
        let checking = Checking { said, candidates, deadline };
        self.state = State::Checking(Box::new(checking));
        self.decide_when_checked();
    }

    fn candidate(&mut self, call: Call, ids: &mut Vec<String>) -> Candidate {
        self.record.calls += 1;
        let text = if call.ended && call.arguments.trim().is_empty() {
            "{}"
        } else {
            call.arguments.as_str()
        };
        let parsed = Json::parse(text.as_bytes(), limits::ARGUMENTS_BYTES).map(Json::into_owned);
        let object = parsed.ok().filter(|json| call.ended && json.as_object().is_some());
        Candidate {
            call: self.record.calls,
            id: unique(call.id, ids),
            name: call.name,
            valid: object.is_some(),
            args: object.unwrap_or_else(|| Json::String(call.arguments.into())),
            action: None,
            approval: Approval::NotNeeded,
            recalled: None,
            pending: None,
        }
    }

    pub(super) fn signature_of(&self, candidate: &Candidate) -> Signature {
        let (action, project) = (candidate.action.as_deref(), self.options.project_id.as_deref());
        Signature::new(&candidate.name, action, &candidate.args, project)
    }

    /// Looks up the outcome of another turn for a call, if the tool allows its reuse.
    fn recall(&mut self, candidate: &mut Candidate) {
        let tool = self.options.tools.find(&candidate.name);
        let reuses = tool.is_some_and(|tool| tool.reuse_ms.is_some());
        if !reuses || !candidate.valid || self.journal.is_none() {
            return;
        }
        let signature = self.signature_of(candidate);
        if self.record.ledger.call(&signature).is_some() {
            return;
        }
        candidate.pending = Some(Pending::Outcome);
        let key = self.reuse_key(signature.as_str());
        self.effects.push_back(Effect::Recall { call: candidate.call, key });
    }

    fn needs_check(&self, name: &str) -> bool {
        let tool = self.options.tools.find(name);
        let judged_on = self.rules().by_name(tool).is_none() || self.may_cycle();
        judged_on && tool.is_some_and(|tool| tool.checks)
    }

    fn may_cycle(&self) -> bool {
        let policy = &self.options.policy;
        self.phase.name == PhaseName::Action
            && self.cycle < policy.max_cycles
            && policy.max_tools > 0
    }

    pub(super) fn checked(&mut self, call: u32, verdict: Verdict) {
        let Some(mut candidate) = self.pending(call, Pending::Verdict) else { return };
        match verdict {
            Verdict::Valid { action, approval } => {
                candidate.action = action;
                if approval {
                    // Not recalled: an outcome of another turn was not approved for this turn.
                    candidate.approval = Approval::Needed;
                } else {
                    self.recall(&mut candidate);
                }
            }
            Verdict::Invalid { .. } => candidate.valid = false,
        }
        self.no_longer_pending(candidate);
    }

    /// Takes the stored outcome for a call. A text that cannot be read counts as no outcome.
    pub(super) fn recalled(&mut self, call: u32, found: Option<(&str, u64)>) {
        let Some(mut candidate) = self.pending(call, Pending::Outcome) else { return };
        let tool = self.options.tools.find(&candidate.name);
        let limit = tool.and_then(|tool| tool.reuse_ms).unwrap_or(0);
        let fresh =
            found.filter(|(_, age_ms)| *age_ms <= limit || planted("an outcome of any age"));
        let outcome = fresh.and_then(|(text, _)| records::read_outcome(text));
        candidate.recalled = outcome.map(|(outcome, _)| outcome);
        self.no_longer_pending(candidate);
    }

    fn pending(&mut self, call: u32, pending: Pending) -> Option<Candidate> {
        let State::Checking(checking) = &mut self.state else { return None };
        let waits = |one: &&mut Candidate| one.call == call && one.pending == Some(pending);
        let candidate = checking.candidates.iter_mut().find(waits)?;
        candidate.pending = None;
        Some(candidate.clone())
    }

    fn no_longer_pending(&mut self, candidate: Candidate) {
        let State::Checking(checking) = &mut self.state else { return };
        if let Some(one) = checking.candidates.iter_mut().find(|one| one.call == candidate.call) {
            *one = candidate;
        }
        self.decide_when_checked();
    }

    /// Ends the checks at the deadline. Arguments without a verdict count as invalid, and a call
    /// whose stored outcome is still awaited is judged without it.
    pub(super) fn checks_timed_out(&mut self) {
        let State::Checking(checking) = &mut self.state else { return };
        for candidate in &mut checking.candidates {
            candidate.valid &= candidate.pending != Some(Pending::Verdict);
            candidate.pending = None;
        }
        self.decide_when_checked();
    }

    fn decide_when_checked(&mut self) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Checking(checking)
                if checking.candidates.iter().all(|one| one.pending.is_none()) =>
            {
                self.decide(checking.said, checking.candidates);
            }
            state => self.state = state,
        }
    }

    pub(super) fn would_run_elsewhere(&self, candidate: &Candidate, signature: &Signature) -> bool {
        let tool = self.options.tools.find(&candidate.name);
        self.may_cycle()
            && candidate.valid
            && tool.is_some_and(|tool| {
                tool.dedupes() == Dedupe::Allow || self.record.ledger.call(signature).is_none()
            })
    }
}

/// Returns `id`, with a number appended if it is taken. Providers repeat ids, but outcomes in a
/// batch and calls in a history need unique ids.
pub(super) fn unique(id: String, taken: &mut Vec<String>) -> String {
    let mut unique = id.clone();
    let mut n = 1;
    while taken.contains(&unique) {
        n += 1;
        unique = format!("{id}-{n}");
    }
    taken.push(unique.clone());
    unique
}
