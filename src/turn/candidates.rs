//! The calls of one response before they run: read, checked by the host, ready to be judged.

use super::io::{Effect, Verdict};
use super::machine::{State, Turn};
use crate::canon::Json;
use crate::limits;
use crate::signature::Signature;
use crate::stream::{Call, Reasoning, Response};
use crate::tool::{Dedupe, Rules};
use crate::trace::PhaseName;

/// Calls that wait for the host's verdict on their arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checking {
    said: Said,
    candidates: Vec<Candidate>,
    pub(super) deadline: u64,
}

/// What the model said beside its calls.
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
    /// The arguments: an object when `valid`, else the raw text as a string.
    pub(super) args: Json<'static>,
    pub(super) valid: bool,
    pub(super) action: Option<String>,
    /// A verdict is awaited.
    pending: bool,
}

impl Turn {
    /// Executions that the current phase has left.
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

    /// Judges the calls of a response, once the host has checked those that need it.
    pub(super) fn judge_calls(&mut self, response: Response) {
        let calls = response.calls.into_iter();
        let mut ids = Vec::new();
        let mut candidates: Vec<_> = calls.map(|call| self.candidate(call, &mut ids)).collect();
        for candidate in &mut candidates {
            candidate.pending = candidate.valid && self.needs_check(&candidate.name);
            if candidate.pending {
                self.effects.push_back(Effect::Check {
                    call: candidate.call,
                    name: candidate.name.clone(),
                    args: candidate.args.clone(),
                });
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
            pending: false,
        }
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
        let State::Checking(checking) = &mut self.state else { return };
        let waiting = |one: &&mut Candidate| one.call == call && one.pending;
        let Some(candidate) = checking.candidates.iter_mut().find(waiting) else { return };
        candidate.pending = false;
        match verdict {
            Verdict::Valid { action } => candidate.action = action,
            Verdict::Invalid { .. } => candidate.valid = false,
        }
        self.decide_when_checked();
    }

    /// A validator that never answers has not found the arguments valid.
    pub(super) fn checks_timed_out(&mut self) {
        let State::Checking(checking) = &mut self.state else { return };
        for candidate in checking.candidates.iter_mut().filter(|one| one.pending) {
            candidate.pending = false;
            candidate.valid = false;
        }
        self.decide_when_checked();
    }

    fn decide_when_checked(&mut self) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Checking(checking) if checking.candidates.iter().all(|one| !one.pending) => {
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
                tool.dedupe == Dedupe::Allow || self.record.ledger.call(signature).is_none()
            })
    }
}

/// `id`, with a number behind it where it is taken: providers use ids twice, while outcomes
/// are keyed by them within a batch, and histories within themselves.
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
