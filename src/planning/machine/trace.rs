//! The trace events and the result of a pass.

use super::super::cut::{NAME_BYTES, clip, params};
use super::super::options::context_of;
use super::super::rejected::RequestRejection;
use super::super::replay::Recorded;
use super::super::result::{FellBack, PassCall, PassResult};
use super::super::trace::{AskedCall, PassEvent, PassEventKind, PassPhase, PassPlace};
use super::{Pass, Record, State};
use crate::error::Failure;
use crate::guard::Refusal;
use crate::json::Json;
use crate::stream::{Response, TokenUsage};
use crate::tool::{Call, Fate, Outcome, Status};
use crate::turn::Effect;

/// The maximum number of member names in a summary, and of bytes of one name.
///
/// Limit | names of members in a summary | names | not named
const KEYS: usize = 8;
/// Limit | a name of a member in a summary | bytes | cut
const KEY_BYTES: usize = 40;
/// The maximum number of members of `global_context` that are named.
///
/// Limit | members of `global_context` in a trace | names | not named
const FLAGS: usize = 32;

impl Pass {
    /// Traces the requested calls, and what was wrong with the request.
    pub(super) fn trace_request(&mut self) {
        let Record { rejected, notes, heard, .. } = &self.record;
        let rejected: Vec<RequestRejection> = rejected.iter().skip(heard.0).cloned().collect();
        let calls = match &self.state {
            State::Calling(batch) => batch.calls(),
            _ => &[],
        };
        let tool_calls = calls.iter().map(|call| {
            let refusal = self.options.refusal(call);
            let (name, args) = (&call.view().name, &call.view().args);
            // On the tool-call channel a name may be of any length.
            let (tool_name, params) = match self.options.whole {
                true => (name.as_str(), args.clone()),
                false => (clip(name, NAME_BYTES), params(args)),
            };
            AskedCall {
                tool_name: tool_name.to_owned(),
                params,
                reason: self.reason(call),
                signature: call.view().signature.clone(),
                allowed: refusal.is_none(),
                refusal,
            }
        });
        let kind = PassEventKind::ToolRequest {
            tool_calls: tool_calls.collect(),
            valid: self.record.without != FellBack::InvalidRequest,
            rejected,
            notes: notes.iter().skip(heard.1).cloned().collect(),
            prompt_template_id: self.options.request_prompt.id.clone(),
            prompt_template_hash: self.options.request_prompt.hash(),
        };
        self.trace(PassPhase::Request, kind);
    }

    /// Traces the outcome of a call: a summary, never the result.
    pub(super) fn trace_result(&mut self, number: u32) {
        let Some(call) = self.calls().find(|call| call.number() == number) else { return };
        let Some((outcome, duration_ms)) = call.outcome() else { return };
        let kind = PassEventKind::ToolResult {
            tool_name: call.view().name.clone(),
            signature: call.view().signature.clone(),
            duration_ms,
            status: outcome.status,
            replayed: call.is_replayed(),
            result_summary: summary(outcome, self.options.whole),
        };
        self.trace(PassPhase::Request, kind);
    }

    /// `count` is the number of calls that a request pass requested, or that ran before a plan
    /// pass. `ended` is the response, or why there is none.
    pub(super) fn trace_llm_call(
        &mut self,
        step: PassPhase,
        inference: u32,
        ended: Result<&Response, &Failure>,
        count: u64,
    ) {
        let prompt = match step {
            PassPhase::Request => &self.options.request_prompt,
            PassPhase::Plan => &self.options.plan_prompt,
        };
        let context = context_of(&self.options.input).iter().filter(|(_, value)| !value.is_null());
        let mut context_flags: Vec<String> =
            context.take(FLAGS).map(|(key, _)| clip(key, KEY_BYTES).to_owned()).collect();
        if self.record.sealed.is_some() {
            context_flags.push("tool_results".to_owned());
        }
        let response = ended.ok();
        let kind = PassEventKind::LlmCall {
            inference,
            prompt_template_id: prompt.id.clone(),
            prompt_template_hash: prompt.hash(),
            context_flags,
            tool_call_count: count,
            finish_reason: response.and_then(|one| Some(one.finish.as_ref()?.0)),
            usage: response.and_then(|one| one.usage).map(TokenUsage::from),
            error: ended.err().map(|failure| failure.code.clone().into_owned()),
        };
        self.trace(step, kind);
    }

    fn trace(&mut self, phase: PassPhase, kind: PassEventKind) {
        if !self.options.trace {
            return;
        }
        let options = &self.options;
        let at_ms = self.elapsed();
        let event = PassEvent {
            request_id: options.run_id.clone(),
            project_id: None,
            at_ms,
            at: options.started_at.saturating_add(at_ms),
            plan_id: options.plan_id.clone(),
            run_id: options.run_id.clone(),
            source: options.source.clone(),
            details: PassPlace { phase, tool_batch_id: self.record.iteration },
            kind,
        };
        self.effects.push_back(Effect::Trace(event));
    }

    /// Milliseconds since the start. With recorded results, the model's time does not count and the
    /// recorded time of the tools is used, so that the trace is the same each time.
    fn elapsed(&self) -> u64 {
        if self.options.replay.is_none() {
            return self.now.saturating_sub(self.started);
        }
        self.calls().filter_map(Call::outcome).map(|(_, ms)| ms).max().unwrap_or(0)
    }

    fn reason(&self, call: &Call) -> String {
        let at = usize::try_from(call.number()).unwrap_or(usize::MAX).checked_sub(1);
        let reason = at.and_then(|at| self.record.reasons.get(at));
        reason.cloned().unwrap_or_default()
    }

    /// What the host receives at the end, without the plan.
    pub(super) fn result(&self) -> PassResult {
        let fell_back = match (self.has_result(), self.record.executed) {
            (true, _) => None,
            (false, 0) => Some(self.record.without),
            (false, _) => Some(FellBack::AllFailed),
        };
        PassResult {
            plan_id: self.options.plan_id.clone(),
            run_id: self.options.run_id.clone(),
            tool_results: self.entries().collect(),
            calls: self.calls().map(|call| self.call_view(call)).collect(),
            rejected: self.record.rejected.clone(),
            notes: self.record.notes.clone(),
            fell_back,
            usage: self.record.usage.into(),
            inferences: self.record.inferences,
            recorded: self.calls().filter_map(|call| self.recorded(call)).collect(),
            plan: None,
            text: None,
            repairs: Vec::new(),
            candidates: Vec::new(),
            fault: None,
            error: None,
        }
    }

    /// The record of a call. What the end of the pass or of its tools' time cut off says nothing of
    /// the tool, and has no record.
    fn recorded(&self, call: &Call) -> Option<Recorded> {
        let (outcome, duration_ms) = call.outcome()?;
        if call.is_cut_off() || self.options.replay.is_some() {
            return None;
        }
        Some(Recorded {
            signature: call.view().signature.clone(),
            plan_id: Some(self.options.plan_id.clone()),
            tool_name: Some(call.view().name.clone()),
            params: Some(call.view().args.clone()),
            duration_ms,
            outcome: outcome.clone(),
        })
    }

    fn call_view(&self, call: &Call) -> PassCall {
        PassCall {
            tool_name: call.view().name.clone(),
            params: call.view().args.clone(),
            reason: self.reason(call),
            signature: call.view().signature.clone(),
            status: status(call),
            refusal: self.options.refusal(call),
            duration_ms: call.outcome().map(|(_, ms)| ms),
            replayed: call.is_replayed(),
        }
    }
}

/// A call's status in results: `blocked` for a call that was not allowed to run, `skipped` for a
/// duplicate.
fn status(call: &Call) -> Status {
    match (call.outcome(), call.fate()) {
        (Some((outcome, _)), _) => outcome.status,
        (None, Fate::Refused(Refusal::Duplicate)) => Status::Skipped,
        (None, Fate::Refused(_)) => Status::Blocked,
        (None, _) => Status::Cancelled,
    }
}

/// Shape and size of a result, or the code of a failure. It contains member names, never values.
fn summary(outcome: &Outcome, whole: bool) -> String {
    let most = if whole { usize::MAX } else { KEY_BYTES };
    let Some(result) = &outcome.result else {
        let code = outcome.error.as_ref().map_or("", |error| error.code.as_str());
        return format!("{}: {code}", outcome.status.name());
    };
    let many = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let shape = match result {
        Json::Array(items) => format!("list of {}", many(items.len(), "item")),
        Json::Object(members) => {
            let keys: Vec<_> = members.iter().take(KEYS).map(|(key, _)| clip(key, most)).collect();
            let more = if members.len() > KEYS { ", …" } else { "" };
            format!("object of {} ({}{more})", many(members.len(), "member"), keys.join(", "))
        }
        Json::String(text) => format!("text of {}", many(text.chars().count(), "character")),
        Json::Number(_) => "number".to_owned(),
        Json::Bool(_) => "boolean".to_owned(),
        Json::Null | Json::Host(_) => "null".to_owned(),
    };
    let cut = if outcome.truncated { ", cut" } else { "" };
    format!("{shape}, {}{cut}", many(result.to_text().len(), "byte"))
}
