//! The calls of a request: what the pass adds to a [`CallBatch`].

use sha2::{Digest, Sha256};

use super::super::inventory::changes;
use super::super::options::PassOptions;
use super::super::parse::RequestedCall;
use super::super::rejected::Reason;
use super::super::replay;
use super::super::result::{PassOutcome, PassToolResult};
use super::super::trace::PassPhase;
use super::{Pass, State};
use crate::error::Failure;
use crate::guard::{Refusal, Rules};
use crate::json::{Json, object};
use crate::limits;
use crate::signature::hex;
use crate::tool::{
    Call, CallBatch, Fate, Need, Outcome, Replays, Settled, Status, Terms, ToolError, Verdict,
};
use crate::turn::{CancelReason, Effect};

/// The maximum number of bytes of a tool's own error message.
///
/// Limit | a tool's message of an error | bytes | cut
const ERROR_BYTES: u64 = 1024;

impl PassOptions {
    /// Returns the reason to refuse a call that follows from its tool alone.
    pub(super) fn refused_by_name(&self, name: &str) -> Option<Reason> {
        let tool = self.tools.find(name);
        if let Some(refusal) = self.rules(0).by_name(name, tool.map(|tool| tool.read_only)) {
            return Some(refusal.into());
        }
        if tool.is_some_and(|tool| !tool.read_only) {
            return Some(Reason::NotReadOnly);
        }
        // Without a list of the host's, that of `inventory` counts, which has no doubtful tool.
        (self.policy.allow.is_none() && changes(name)).then_some(Reason::NotAllowed)
    }

    /// Returns why a call was refused. A tool that is not read-only is refused before its calls are
    /// judged.
    pub(super) fn refusal(&self, call: &Call) -> Option<Reason> {
        match call.fate() {
            Fate::Refused(refusal) => {
                Some(self.refused_by_name(&call.view().name).unwrap_or_else(|| refusal.into()))
            }
            _ => None,
        }
    }

    fn rules(&self, budget: u64) -> Rules<'_> {
        let budget = u32::try_from(budget).unwrap_or(u32::MAX);
        let allow = self.policy.allow.as_deref();
        Rules { tools_on: true, allow, reads_only: false, budget, asks_user: false }
    }

    fn terms(&self, budget: u64, tools_ms: u64) -> Terms<'_> {
        Terms {
            tools: &self.tools,
            rules: self.rules(budget),
            replays: Replays::Never,
            further: u32::MAX,
            has_other_phase: false,
            timeout_ms: self.policy.tool_timeout_ms,
            result_bytes: self.policy.max_tool_result_bytes,
            media_bytes: limits::MEDIA_BYTES,
            caps: true,
            error_bytes: Some(ERROR_BYTES),
            total_ms: self.policy.total_tool_ms.saturating_sub(tools_ms),
            total_option: "totalToolMs",
        }
    }
}

/// The entry of `tool_results`.
fn entry(call: &Call) -> Option<PassToolResult> {
    let (outcome, duration_ms) = call.outcome()?;
    let none = || ToolError { code: String::new(), message: String::new() };
    Some(PassToolResult {
        tool_name: call.view().name.clone(),
        params: call.view().args.clone(),
        duration_ms,
        outcome: match (&outcome.result, &outcome.error) {
            (Some(result), _) => PassOutcome::Result(result.clone()),
            (None, error) => PassOutcome::Error(error.clone().unwrap_or_else(none)),
        },
    })
}

impl Pass {
    /// Every call that was requested, in order.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        let current = match &self.state {
            State::Calling(batch) => batch.calls(),
            _ => &[],
        };
        self.record.calls.iter().chain(current)
    }

    /// Takes the calls of a request; those that are not refused by their name are checked.
    pub(super) fn batch(&mut self, requested: Vec<RequestedCall>) -> CallBatch {
        let first = self.record.reasons.len() + 1;
        let mut calls = Vec::with_capacity(requested.len());
        for (at, requested) in requested.into_iter().enumerate() {
            let RequestedCall { tool_name, params, reason, .. } = requested;
            let number = u32::try_from(first + at).unwrap_or(u32::MAX);
            let refused = self.options.refused_by_name(&tool_name).is_some();
            let id = format!("call_{number}");
            let call = Call::new(number, (id, tool_name), params, true, None);
            calls.push(match refused {
                true => call.refused(Refusal::NotAllowed),
                false if at >= limits::REQUESTED_CALLS => call.refused(Refusal::Budget),
                false => call,
            });
            self.record.reasons.push(reason);
        }
        // In a replay, checks have no time limit of their own.
        let timeout = match self.options.replay {
            Some(_) => u64::MAX,
            None => self.options.policy.tool_timeout_ms,
        };
        let tools = &self.options.tools;
        let batch = CallBatch::new(calls, self.now.saturating_add(timeout), |call| {
            let checks = tools.find(&call.view().name).is_some_and(|tool| tool.checks);
            checks.then_some(Need::Verdict)
        });
        for call in batch.calls() {
            if call.fate() == Fate::Unjudged(Some(Need::Verdict)) {
                let (name, args) = (call.view().name.clone(), call.view().args.clone());
                self.effects.push_back(Effect::Check { call: call.number(), name, args });
            }
        }
        batch
    }

    pub(super) fn checked(&mut self, number: u32, verdict: Verdict) {
        let State::Calling(batch) = &mut self.state else { return };
        // What is recorded of a pass, and found again by its signature, is what the model wrote.
        let verdict = match verdict {
            Verdict::Valid { action, approval, .. } => {
                Verdict::Valid { action, args: None, approval }
            }
            Verdict::Denied { action, reason, .. } => {
                Verdict::Denied { action, args: None, reason }
            }
            invalid @ Verdict::Invalid { .. } => invalid,
        };
        if batch.checked(number, verdict, None, |_| None).is_some() {
            self.judge_when_checked();
        }
    }

    /// Judges every call and starts those that are accepted.
    pub(super) fn judge_when_checked(&mut self) {
        let budget = self.budget();
        let State::Calling(batch) = &mut self.state else { return };
        if !batch.is_checked() {
            return;
        }
        let terms = self.options.terms(budget, self.record.tools_ms);
        batch.judge(self.now, &terms, &mut self.record.guard);
        self.record.executed += u64::from(batch.executed());
        let accepted: Vec<u32> = batch.running().map(Call::number).collect();
        self.trace_request();
        if accepted.is_empty() {
            return self.ask(PassPhase::Plan);
        }
        for number in accepted {
            self.run(number);
        }
        match self.missing_record().filter(|_| self.options.strict) {
            Some(failure) => self.fail(failure),
            None => self.go_on_when_settled(),
        }
    }

    /// The failure of the first call of the batch that has no recorded result.
    fn missing_record(&self) -> Option<Failure> {
        let State::Calling(batch) = &self.state else { return None };
        batch.calls().iter().find_map(|call| {
            let (outcome, _) = call.outcome()?;
            let error = outcome.error.as_ref().filter(|error| error.code == "replay.miss")?;
            let message = format!("`{}`: {}", call.view().name, error.message);
            Some(Failure::new("replay.miss", message))
        })
    }

    /// Emits the effect that runs a call. With recorded results, the recorded one is used and the
    /// call never runs.
    fn run(&mut self, number: u32) {
        let State::Calling(batch) = &mut self.state else { return };
        let Some(call) = batch.call(number) else { return };
        if let Some(recorded) = &self.options.replay {
            let signature = &call.view().signature;
            let found = replay::find(recorded, signature, &self.options.plan_id);
            batch.substitute(number, found.map(|one| (one.outcome.clone(), one.duration_ms)));
            return self.trace_result(number);
        }
        let mut parts = vec![
            self.options.run_id.clone().into(),
            self.options.plan_id.clone().into(),
            Json::integer(u64::from(number)),
            call.view().signature.clone().into(),
        ];
        if self.is_id_derived {
            // Passes with equal inputs have equal ids, and their calls are different ones.
            parts.push(hex(&self.options.secret.derive(format_args!("calls"))).into());
        }
        let parts = Json::Array(parts);
        self.effects.push_back(Effect::RunTool {
            call: number,
            name: call.view().name.clone(),
            tool_call_id: call.view().id.clone(),
            tool_batch_id: u32::try_from(self.record.iteration).unwrap_or(u32::MAX),
            idempotency_key: hex(&Sha256::digest(parts.to_text().as_bytes())),
            max_result_bytes: call.result_bytes(),
            max_media_bytes: call.media_bytes(),
            args: call.view().args.clone(),
            signed: None,
        });
    }

    pub(super) fn tool_settled(&mut self, number: u32, settled: Settled) {
        let State::Calling(batch) = &mut self.state else { return };
        if batch.settle(self.now, number, settled) {
            self.trace_result(number);
            self.go_on_when_settled();
        }
    }

    /// Handles the deadline of the checks, or of the running calls.
    pub(super) fn calls_timed_out(&mut self) {
        let State::Calling(batch) = &mut self.state else { return };
        if !batch.is_judged() {
            batch.time_out(self.now);
            return self.judge_when_checked();
        }
        for call in batch.time_out(self.now) {
            self.effects.push_back(Effect::CancelTool { call, reason: CancelReason::Timeout });
            self.trace_result(call);
        }
        self.go_on_when_settled();
    }

    /// Cancels and settles what is in flight when the pass ends.
    pub(super) fn stop_calls(&mut self, reason: CancelReason) {
        let State::Calling(batch) = &mut self.state else { return };
        let (status, code, message) = match reason {
            CancelReason::Timeout => {
                (Status::Timeout, "tool.timeout", "no result when `totalMs` was over")
            }
            CancelReason::Cancelled => {
                (Status::Cancelled, "tool.cancelled", "the pass ended first")
            }
        };
        let outcome = Outcome::failed(status, code, message);
        let stopped = batch.cancel(self.now, &outcome);
        for call in &stopped {
            self.effects.push_back(Effect::CancelTool { call: *call, reason });
        }
        for call in stopped {
            self.trace_result(call);
        }
    }

    /// Once every call has its outcome, seals the results and starts the next step.
    fn go_on_when_settled(&mut self) {
        let State::Calling(batch) = &self.state else { return };
        if !batch.is_settled() {
            return;
        }
        self.record.tools_ms += batch.elapsed_ms(self.now);
        if self.has_result() {
            let entries = Json::Array(self.entries().map(Json::from).collect());
            let results = object! { "tool_results": entries };
            let payload = object! { "global_context": results };
            self.record.sealed = Some(self.record.boxes.seal(&payload));
        }
        self.go_on();
    }

    /// Whether any call returned a result; without one the input is unchanged.
    pub(super) fn has_result(&self) -> bool {
        self.calls().any(|call| call.outcome().is_some_and(|(one, _)| one.status == Status::Ok))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = PassToolResult> {
        self.calls().filter_map(entry)
    }
}
