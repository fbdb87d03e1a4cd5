//! The calls of a request: they are judged, run together or taken from a recording, and settled.

use sha2::{Digest, Sha256};

use super::machine::{Pass, State, Step};
use super::parse::RequestedCall;
use super::rejected::Reason;
use super::replay;
use crate::json::Json;
use crate::limits;
use crate::signature::{Signature, hex};
use crate::tool::{self, Outcome, Rules, Ruling, Status};
use crate::turn::{Effect, Settled, Verdict};

/// The maximum number of bytes of a tool's own error message.
const ERROR_BYTES: usize = 1024;

/// A requested call and its state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// The number of the call within the pass, from 1.
    pub(super) number: u32,
    /// The number of its request, from 1.
    iteration: u64,
    pub(super) requested: RequestedCall,
    pub(super) signature: Signature,
    pub(super) state: CallState,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum CallState {
    /// The host is checking its arguments.
    Unchecked,
    /// It waits for the checks of the other calls.
    Checked { valid: bool, approval: bool },
    /// It was refused and does not run.
    Refused(Reason),
    /// The host is running it.
    Running { since: u64, deadline: u64, timeout: u64, limit: u64 },
    /// It has an outcome.
    Settled { outcome: Outcome, duration_ms: u64, replayed: bool },
}

impl Call {
    pub(super) fn outcome(&self) -> Option<(&Outcome, u64, bool)> {
        match &self.state {
            CallState::Settled { outcome, duration_ms, replayed } => {
                Some((outcome, *duration_ms, *replayed))
            }
            _ => None,
        }
    }

    /// `{ tool_name, params, duration_ms, result | error }`: the entry of `tool_results`.
    pub(super) fn entry(&self) -> Option<Json<'static>> {
        let (outcome, duration_ms, _) = self.outcome()?;
        let last = match (&outcome.result, &outcome.error) {
            (Some(result), _) => ("result", result.clone()),
            (None, error) => {
                let error = error.as_ref();
                let text = |text: Option<&String>| Json::from(text.cloned().unwrap_or_default());
                let error = Json::object([
                    ("code", text(error.map(|error| &error.code))),
                    ("message", text(error.map(|error| &error.message))),
                ]);
                ("error", error)
            }
        };
        Some(Json::object([
            ("tool_name", self.requested.tool_name.clone().into()),
            ("params", self.requested.params.clone()),
            ("duration_ms", Json::integer(duration_ms)),
            last,
        ]))
    }

    /// The name of its status in results: `blocked` for a call that was not allowed to run,
    /// `skipped` for a duplicate.
    pub(super) fn status(&self) -> &'static str {
        match &self.state {
            CallState::Settled { outcome, .. } => outcome.status.name(),
            CallState::Refused(Reason::Duplicate) => Status::Skipped.name(),
            CallState::Refused(_) => Status::Blocked.name(),
            CallState::Unchecked | CallState::Checked { .. } | CallState::Running { .. } => {
                Status::Cancelled.name()
            }
        }
    }

    pub(super) fn refusal(&self) -> Option<Reason> {
        match self.state {
            CallState::Refused(reason) => Some(reason),
            _ => None,
        }
    }
}

impl Pass {
    /// Returns the reason to refuse a call that follows from its tool alone.
    pub(super) fn refused_by_name(&self, name: &str) -> Option<Reason> {
        let tool = self.options.tools.find(name);
        if let Some(refusal) = self.rules(0).by_name(tool) {
            return Some(refusal.into());
        }
        tool.is_some_and(|tool| !tool.read_only).then_some(Reason::NotReadOnly)
    }

    fn rules(&self, budget: u64) -> Rules<'_> {
        let budget = u32::try_from(budget).unwrap_or(u32::MAX);
        Rules { tools_on: true, allow: self.options.policy.allow.as_deref(), budget }
    }

    /// Takes the calls of a request; those that are not refused by their name are checked.
    pub(super) fn take_calls(&mut self, requested: Vec<RequestedCall>) {
        let iteration = self.record.iteration;
        for (at, requested) in requested.into_iter().enumerate() {
            let number = u32::try_from(self.record.calls.len() + 1).unwrap_or(u32::MAX);
            let name = &requested.tool_name;
            let checks = self.options.tools.find(name).is_some_and(|tool| tool.checks);
            let state = match self.refused_by_name(name) {
                Some(reason) => CallState::Refused(reason),
                None if at >= limits::REQUESTED_CALLS => CallState::Refused(Reason::Budget),
                None if checks => CallState::Unchecked,
                None => CallState::Checked { valid: true, approval: false },
            };
            if state == CallState::Unchecked {
                let (name, args) = (name.clone(), requested.params.clone());
                self.effects.push_back(Effect::Check { call: number, name, args });
            }
            let signature = Signature::new(name, None, &requested.params, None);
            self.record.calls.push(Call { number, iteration, requested, signature, state });
        }
        // In a replay, checks have no time limit of their own.
        let timeout = match self.options.replay {
            Some(_) => u64::MAX,
            None => self.options.policy.tool_timeout_ms,
        };
        self.state = State::Checking { deadline: self.now.saturating_add(timeout) };
        self.judge_when_checked();
    }

    pub(super) fn checked(&mut self, number: u32, verdict: Verdict) {
        if !matches!(self.state, State::Checking { .. }) {
            return;
        }
        let open = |call: &&mut Call| call.number == number && call.state == CallState::Unchecked;
        let Some(call) = self.record.calls.iter_mut().find(open) else { return };
        call.state = match verdict {
            Verdict::Valid { action, approval } => {
                let RequestedCall { tool_name, params, .. } = &call.requested;
                call.signature = Signature::new(tool_name, action.as_deref(), params, None);
                CallState::Checked { valid: true, approval }
            }
            Verdict::Invalid { .. } => CallState::Checked { valid: false, approval: false },
        };
        self.judge_when_checked();
    }

    /// Treats arguments as invalid if their check did not finish in time.
    pub(super) fn checks_timed_out(&mut self) {
        for call in &mut self.record.calls {
            if call.state == CallState::Unchecked {
                call.state = CallState::Checked { valid: false, approval: false };
            }
        }
        self.judge_when_checked();
    }

    /// Judges every call in the model's order and starts those that are accepted.
    fn judge_when_checked(&mut self) {
        if self.record.calls.iter().any(|call| call.state == CallState::Unchecked) {
            return;
        }
        let left = self.options.policy.total_tool_ms.saturating_sub(self.record.tools_ms);
        let deadline = self.now.saturating_add(left);
        self.state = State::Running { since: self.now, deadline };
        let mut request = Vec::new();
        let mut accepted = Vec::new();
        let mut calls = std::mem::take(&mut self.record.calls);
        for (at, call) in calls.iter_mut().enumerate() {
            if call.iteration != self.record.iteration {
                continue;
            }
            request.push(at);
            let CallState::Checked { valid, approval } = call.state else { continue };
            let tool = self.options.tools.find(&call.requested.tool_name);
            let (signature, ledger) = (&call.signature, &self.record.ledger);
            let rules = self.rules(self.budget());
            let refusal = match tool::judge(tool, valid, false, signature, &rules, ledger) {
                Ruling::Execute if approval => Some(Reason::NotApproved),
                Ruling::Execute => None,
                Ruling::Refuse(refusal) => Some(refusal.into()),
                Ruling::Replay(_) | Ruling::Recall => Some(Reason::Duplicate),
            };
            if let Some(reason) = refusal {
                call.state = CallState::Refused(reason);
                continue;
            }
            self.record.executed += 1;
            self.record.ledger.accept(signature.clone(), call.number);
            accepted.push(at);
        }
        self.record.calls = calls;
        self.trace_request(&request, &[]);
        if accepted.is_empty() {
            return self.ask(Step::Plan);
        }
        for at in accepted {
            self.run(at);
        }
        self.go_on_when_settled();
    }

    /// Emits the effect that runs a call. With recorded results, the recorded one is used and the
    /// call never runs.
    fn run(&mut self, at: usize) {
        let now = self.now;
        let policy = &self.options.policy;
        let Some(call) = self.record.calls.get_mut(at) else { return };
        let tool = self.options.tools.find(&call.requested.tool_name);
        if let Some(recorded) = &self.options.replay {
            let found = replay::find(recorded, call.signature.as_str(), &self.options.plan_id);
            let (outcome, duration_ms) = found.map_or_else(
                || {
                    let message = "no result was recorded for this call";
                    (Outcome::failed(Status::Error, "replay.miss", message), 0)
                },
                |found| (found.outcome.clone(), found.duration_ms),
            );
            let replayed = found.is_some();
            call.state = CallState::Settled { outcome, duration_ms, replayed };
            return self.trace_result(at);
        }
        let own = tool.and_then(|tool| tool.timeout_ms).unwrap_or(u64::MAX);
        let timeout = own.min(policy.tool_timeout_ms);
        let own = tool.and_then(|tool| tool.max_result_bytes).unwrap_or(u64::MAX);
        let limit = own.min(policy.max_tool_result_bytes);
        let deadline = now.saturating_add(timeout);
        call.state = CallState::Running { since: now, deadline, timeout, limit };
        let parts = Json::Array(vec![
            self.options.run_id.clone().into(),
            self.options.plan_id.clone().into(),
            Json::integer(u64::from(call.number)),
            call.signature.as_str().to_owned().into(),
        ]);
        self.effects.push_back(Effect::RunTool {
            call: call.number,
            name: call.requested.tool_name.clone(),
            tool_call_id: format!("call_{}", call.number),
            tool_batch_id: u32::try_from(self.record.iteration).unwrap_or(u32::MAX),
            idempotency_key: hex(&Sha256::digest(parts.to_text().as_bytes())),
            max_result_bytes: limit,
            args: call.requested.params.clone(),
        });
    }

    pub(super) fn tool_settled(&mut self, number: u32, settled: Settled) {
        let all = self.record.calls.iter();
        let Some(at) = all.clone().position(|call| call.number == number) else { return };
        let Some(CallState::Running { limit, .. }) = self.record.calls.get(at).map(|c| &c.state)
        else {
            return;
        };
        let outcome = match settled {
            Settled::Ok { text, bytes } => Outcome::returned(&text, bytes, *limit),
            Settled::Error { code, mut message } => {
                message.truncate(message.floor_char_boundary(ERROR_BYTES));
                Outcome::failed(Status::Error, &code, message)
            }
        };
        self.settle(at, outcome);
        self.go_on_when_settled();
    }

    pub(super) fn first_deadline(&self) -> u64 {
        let deadline = |call: &Call| match call.state {
            CallState::Running { deadline, .. } => Some(deadline),
            _ => None,
        };
        self.record.calls.iter().filter_map(deadline).min().unwrap_or(u64::MAX)
    }

    pub(super) fn tools_timed_out(&mut self) {
        let State::Running { deadline: all, .. } = self.state else { return };
        for at in 0..self.record.calls.len() {
            let Some(call) = self.record.calls.get(at) else { continue };
            let CallState::Running { since, deadline, timeout, .. } = call.state else { continue };
            if self.now < deadline.min(all) {
                continue;
            }
            let waited = if self.now >= deadline { timeout } else { self.now - since };
            let message = format!("no result within {waited} ms");
            let call = call.number;
            self.effects.push_back(Effect::CancelTool { call, reason: "timeout" });
            self.settle(at, Outcome::failed(Status::Timeout, "tool.timeout", message));
        }
        self.go_on_when_settled();
    }

    /// Settles what is in flight when the pass ends.
    pub(super) fn settle_open(&mut self, reason: &'static str) {
        for at in 0..self.record.calls.len() {
            let state = self.record.calls.get(at).map(|call| &call.state);
            if matches!(state, Some(CallState::Running { .. })) {
                let message = "the pass ended first";
                self.settle(
                    at,
                    match reason {
                        "timeout" => Outcome::failed(Status::Timeout, "tool.timeout", message),
                        _ => Outcome::failed(Status::Cancelled, "tool.cancelled", message),
                    },
                );
            }
        }
    }

    fn settle(&mut self, at: usize, outcome: Outcome) {
        let now = self.now;
        let Some(call) = self.record.calls.get_mut(at) else { return };
        let CallState::Running { since, .. } = call.state else { return };
        let duration_ms = now.saturating_sub(since);
        call.state = CallState::Settled { outcome, duration_ms, replayed: false };
        self.trace_result(at);
    }

    /// Once every call has its outcome, seals the results and starts the next step.
    fn go_on_when_settled(&mut self) {
        let open = |call: &Call| matches!(call.state, CallState::Running { .. });
        let State::Running { since, .. } = self.state else { return };
        if self.record.calls.iter().any(open) {
            return;
        }
        self.record.tools_ms += self.now.saturating_sub(since);
        if self.has_result() {
            let results = Json::object([("tool_results", self.entries())]);
            let payload = Json::object([("global_context", results)]);
            self.record.sealed = Some(self.record.boxes.seal(&payload));
        }
        self.go_on();
    }

    /// Whether any call returned a result; without one the input is unchanged.
    pub(super) fn has_result(&self) -> bool {
        let ok = |call: &Call| call.outcome().is_some_and(|(one, ..)| one.status == Status::Ok);
        self.record.calls.iter().any(ok)
    }

    pub(super) fn entries(&self) -> Json<'static> {
        Json::Array(self.record.calls.iter().filter_map(Call::entry).collect())
    }
}
