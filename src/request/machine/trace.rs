//! The trace events and the result of a pass.

use super::super::options::context_of;
use super::super::rejected::Rejected;
use super::{Pass, State, Step};
use crate::error::Failure;
use crate::json::Json;
use crate::stream::{Response, Usage};
use crate::tool::{Call, Fate, Outcome, Refusal, Status};
use crate::trace::{self, Members};
use crate::turn::Effect;

/// The maximum number of bytes of a call's arguments in a trace event.
const PARAMS_BYTES: usize = 2048;
/// The maximum number of member names in a summary, and of bytes of one name.
const KEYS: usize = 8;
const KEY_BYTES: usize = 40;
/// The maximum number of members of `global_context` that are named.
const FLAGS: usize = 32;

impl Pass {
    /// Traces the requested calls, and the reasons why the request was rejected.
    pub(super) fn trace_request(&mut self, rejected: &[Rejected]) {
        let calls = match &self.state {
            State::Calling(batch) => batch.calls(),
            _ => &[],
        };
        let list = calls.iter().map(|call| {
            let refusal = self.options.refusal(call);
            Json::object([
                ("tool_name", call.view().name.clone().into()),
                ("params", params(call)),
                ("reason", self.reason(call)),
                ("signature", call.view().signature.clone().into()),
                ("allowed", refusal.is_none().into()),
                ("refusal", refusal.map_or(Json::Null, |reason| reason.name().into())),
            ])
        });
        let own = vec![
            ("tool_calls", Json::Array(list.collect())),
            ("valid", rejected.is_empty().into()),
            ("rejected", rejections(rejected)),
            ("prompt_template_id", self.options.request_prompt.id.clone().into()),
            ("prompt_template_hash", self.options.request_prompt.hash().into()),
        ];
        self.trace("strategist_tool_request", Step::Request, own);
    }

    /// Traces the outcome of a call: a summary, never the result.
    pub(super) fn trace_result(&mut self, number: u32) {
        let Some(call) = self.calls().find(|call| call.number() == number) else { return };
        let Some((outcome, duration_ms)) = call.outcome() else { return };
        let own = vec![
            ("tool_name", call.view().name.clone().into()),
            ("signature", call.view().signature.clone().into()),
            ("duration_ms", Json::integer(duration_ms)),
            ("status", outcome.status.name().into()),
            ("replayed", call.is_replayed().into()),
            ("result_summary", summary(outcome).into()),
        ];
        self.trace("strategist_tool_result", Step::Request, own);
    }

    /// `count` is the number of calls that a request pass requested, or that ran before a plan
    /// pass.
    pub(super) fn trace_llm_call(
        &mut self,
        step: Step,
        inference: u32,
        response: &Response,
        count: u64,
    ) {
        let finish = response.finish.as_ref();
        let mut own = self.about_call(step, inference, count);
        own.extend([
            ("finish_reason", finish.map_or(Json::Null, |(reason, _)| reason.name().into())),
            ("usage", response.usage.map_or(Json::Null, Usage::to_json)),
        ]);
        self.trace("llm_call", step, own);
    }

    pub(super) fn trace_failed_call(&mut self, step: Step, inference: u32, failure: &Failure) {
        let mut own = self.about_call(step, inference, 0);
        let code = Json::String(failure.code.clone());
        own.extend([("finish_reason", Json::Null), ("usage", Json::Null), ("error", code)]);
        self.trace("llm_call", step, own);
    }

    fn about_call(&self, step: Step, inference: u32, count: u64) -> Members {
        let prompt = match step {
            Step::Request => &self.options.request_prompt,
            Step::Plan => &self.options.plan_prompt,
        };
        let context = context_of(&self.options.input).iter().filter(|(_, value)| !value.is_null());
        let mut flags: Vec<Json<'static>> =
            context.take(FLAGS).map(|(key, _)| clip(key, KEY_BYTES).to_owned().into()).collect();
        if self.record.sealed.is_some() {
            flags.push("tool_results".into());
        }
        vec![
            ("inference", Json::integer(u64::from(inference))),
            ("prompt_template_id", prompt.id.clone().into()),
            ("prompt_template_hash", prompt.hash().into()),
            ("context_flags", Json::Array(flags)),
            ("tool_call_count", Json::integer(count)),
        ]
    }

    fn trace(&mut self, kind: &'static str, step: Step, own: Members) {
        if !self.options.trace {
            return;
        }
        let options = &self.options;
        let at_ms = self.elapsed();
        let source = trace::Source {
            request_id: &options.run_id,
            project_id: None,
            at_ms,
            phase: step.phase(),
            tool_batch_id: self.record.iteration,
        };
        let mut members: Members = vec![
            ("at", Json::integer(options.started_at.saturating_add(at_ms))),
            ("plan_id", options.plan_id.clone().into()),
            ("run_id", options.run_id.clone().into()),
            ("source", options.source.clone().into()),
        ];
        members.extend(own);
        let event = trace::event(kind, &source, members);
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

    fn reason(&self, call: &Call) -> Json<'static> {
        let at = usize::try_from(call.number()).unwrap_or(usize::MAX).checked_sub(1);
        let reason = at.and_then(|at| self.record.reasons.get(at));
        reason.cloned().unwrap_or_default().into()
    }

    /// The members of the result that the host receives at the end, except the plan.
    pub(super) fn result(&self) -> Members {
        let spoiled = !self.record.rejected.is_empty();
        let fell_back = match (self.has_result(), self.record.reasons.is_empty(), spoiled) {
            (true, ..) => Json::Null,
            (false, false, _) => "all_failed".into(),
            (false, true, true) => "invalid_request".into(),
            (false, true, false) => "no_request".into(),
        };
        let recorded = self.calls().filter_map(|call| self.recorded(call));
        vec![
            ("planId", self.options.plan_id.clone().into()),
            ("runId", self.options.run_id.clone().into()),
            ("toolResults", self.entries()),
            ("calls", Json::Array(self.calls().map(|call| self.call_view(call)).collect())),
            ("rejected", rejections(&self.record.rejected)),
            ("fellBack", fell_back),
            ("usage", self.record.usage.to_json()),
            ("inferences", Json::integer(u64::from(self.record.inferences))),
            ("recorded", Json::Array(recorded.collect())),
        ]
    }

    /// A call in the form that [`Recorded`](crate::request::Recorded) reads, with additional members for
    /// people. A call that was cancelled with the pass has no result to record.
    fn recorded(&self, call: &Call) -> Option<Json<'static>> {
        let (outcome, duration_ms) = call.outcome()?;
        if call.is_replayed()
            || self.options.replay.is_some()
            || outcome.status == Status::Cancelled
        {
            return None;
        }
        let text = |text: &str| Json::from(text.to_owned());
        let mut members = vec![
            ("signature".into(), text(&call.view().signature)),
            ("plan_id".into(), text(&self.options.plan_id)),
            ("tool_name".into(), text(&call.view().name)),
            ("params".into(), call.view().args.clone()),
            ("duration_ms".into(), Json::integer(duration_ms)),
        ];
        members.extend(outcome.members());
        Some(Json::Object(members))
    }

    /// `{ tool_name, params, reason, signature, status, refusal, duration_ms, replayed }`.
    fn call_view(&self, call: &Call) -> Json<'static> {
        let refusal = self.options.refusal(call);
        Json::object([
            ("tool_name", call.view().name.clone().into()),
            ("params", call.view().args.clone()),
            ("reason", self.reason(call)),
            ("signature", call.view().signature.clone().into()),
            ("status", status(call).into()),
            ("refusal", refusal.map_or(Json::Null, |reason| reason.name().into())),
            ("duration_ms", call.outcome().map_or(Json::Null, |(_, ms)| Json::integer(ms))),
            ("replayed", call.is_replayed().into()),
        ])
    }
}

/// The name of a call's status in results: `blocked` for a call that was not allowed to run,
/// `skipped` for a duplicate.
fn status(call: &Call) -> &'static str {
    match (call.outcome(), call.fate()) {
        (Some((outcome, _)), _) => outcome.status.name(),
        (None, Fate::Refused(Refusal::Duplicate)) => Status::Skipped.name(),
        (None, Fate::Refused(_)) => Status::Blocked.name(),
        (None, _) => Status::Cancelled.name(),
    }
}

fn rejections(rejected: &[Rejected]) -> Json<'static> {
    Json::Array(rejected.iter().map(Rejected::to_json).collect())
}

fn params(call: &Call) -> Json<'static> {
    let text = call.view().args.to_text();
    if text.len() <= PARAMS_BYTES {
        return call.view().args.clone();
    }
    format!("{}… [cut: {} bytes]", clip(&text, PARAMS_BYTES), text.len()).into()
}

/// Shape and size of a result, or the code of a failure. It contains member names, never values.
fn summary(outcome: &Outcome) -> String {
    let Some(result) = &outcome.result else {
        let code = outcome.error.as_ref().map_or("", |error| error.code.as_str());
        return format!("{}: {code}", outcome.status.name());
    };
    let many = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let shape = match result {
        Json::Array(items) => format!("list of {}", many(items.len(), "item")),
        Json::Object(members) => {
            let keys: Vec<_> =
                members.iter().take(KEYS).map(|(key, _)| clip(key, KEY_BYTES)).collect();
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

fn clip(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}
