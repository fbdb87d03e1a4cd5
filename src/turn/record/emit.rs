//! The output of a turn: effects, events, trace events and the result.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::event::{Event, EventKind, PhaseName};
use super::super::progress::End;
use super::super::protocol::Effect;
use super::{Calling, Record};
use crate::json::Json;
use crate::stream::{Response, Usage};
use crate::tool::{Call, Outcome, Refusal, Status};
use crate::trace::{self, Members};

impl Record {
    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    pub(crate) fn pop(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Takes all effects.
    pub(crate) fn drain(&mut self) -> VecDeque<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub(crate) fn emit(&mut self, kind: EventKind) {
        self.progress.seq += 1;
        let phase = match kind {
            EventKind::Complete { .. } => PhaseName::Complete,
            _ => self.progress.phase.name(),
        };
        self.push(Effect::Emit(Event {
            phase,
            request_id: Arc::clone(&self.options.request_id),
            project_id: self.options.project_id.clone(),
            tool_batch_id: self.progress.batch,
            seq: self.progress.seq,
            kind,
        }));
    }

    pub(crate) fn phase_started(&mut self, resumed: bool) {
        self.trace("orchestration_phase_start", vec![]);
        self.emit(EventKind::PhaseStart { resumed });
    }

    pub(crate) fn phase_ended(&mut self) {
        self.trace("orchestration_phase_end", vec![]);
        self.emit(EventKind::PhaseEnd);
    }

    pub(super) fn trace_tools(&mut self) {
        let names = self.options.tools.all().iter().map(|tool| tool.name.clone().into()).collect();
        self.trace("tool_registration", vec![("tools", Json::Array(names))]);
    }

    /// `prompt`: the id and hash of the instruction, if there was one. `flags`: the context that
    /// the request had in addition to the given history.
    pub(super) fn trace_llm_call(
        &mut self,
        response: &Response,
        prompt: Option<(&'static str, String)>,
        flags: Vec<&'static str>,
    ) {
        let (id, hash) = prompt.unzip();
        let flags = flags.into_iter().map(Json::from).collect();
        let calls = u64::try_from(response.calls.len()).unwrap_or(u64::MAX);
        let finish = response.finish.as_ref().map(|(reason, _)| reason.name().into());
        self.trace(
            "llm_call",
            vec![
                ("inference", Json::integer(u64::from(self.progress.inferences))),
                ("prompt_template_id", id.map_or(Json::Null, Json::from)),
                ("prompt_template_hash", hash.map_or(Json::Null, Json::from)),
                ("context_flags", Json::Array(flags)),
                ("tool_call_count", Json::integer(calls)),
                ("finish_reason", finish.unwrap_or(Json::Null)),
                ("usage", response.usage.map_or(Json::Null, Usage::to_json)),
            ],
        );
    }

    pub(super) fn trace_tool_call(&mut self, call: &Call) {
        self.trace("tool_call", members(call));
    }

    pub(super) fn trace_tool_result(&mut self, call: &Call, outcome: &Outcome, duration_ms: u64) {
        // A refused call of the unified loop was not executed, so it has no tool result.
        if matches!(outcome.status, Status::Blocked | Status::Skipped) {
            return;
        }
        let mut own = members(call);
        own.push(("status", outcome.status.name().into()));
        own.push(("duration_ms", Json::integer(duration_ms)));
        own.push(("replayed", call.is_replayed().into()));
        own.push(("truncated", outcome.truncated.into()));
        self.trace("tool_result", own);
        if call.is_replayed() {
            self.trace("duplicate_tool_call", members(call));
        }
    }

    pub(super) fn trace_refused(&mut self, reason: Refusal, calls: &[&Call]) {
        for call in calls.iter().filter(|_| reason == Refusal::Duplicate) {
            self.trace("duplicate_tool_call", members(call));
        }
    }

    pub(crate) fn emit_complete(&mut self, composed: bool) {
        self.emit(EventKind::Complete {
            full_content: self.progress.shown.clone(),
            usage: self.progress.usage,
            blocked: self.blocked.clone(),
            composed,
        });
    }

    /// Emits the last event of a turn that was cancelled or has failed, and the result.
    pub(crate) fn ended(&mut self, end: &End) {
        match end {
            End::Cancelled(reason) => self.emit(EventKind::Cancelled { reason: reason.clone() }),
            End::Failed(failure) => self.emit(EventKind::Error(failure.clone())),
            End::Complete | End::Paused(_) => {}
        }
        let blocked = self.blocked.iter().map(|one| one.clone().into()).collect();
        let results = self.closed.iter().flat_map(Calling::results);
        let results = results.map(|result| result.to_json()).collect();
        let mut members = vec![
            ("requestId".into(), self.options.request_id.to_string().into()),
            ("status".into(), end.status().into()),
            ("text".into(), self.progress.phase.text().to_owned().into()),
            ("fullContent".into(), self.progress.shown.clone().into()),
            ("toolResults".into(), Json::Array(results)),
            ("blockedSignatures".into(), Json::Array(blocked)),
            ("usage".into(), self.progress.usage.to_json()),
            ("inferences".into(), Json::integer(u64::from(self.progress.inferences))),
            ("repairs".into(), self.conversation.repairs()),
        ];
        if let End::Failed(failure) = end {
            members.push(("error".into(), failure.to_json()));
        }
        self.push(Effect::Done { result: Json::Object(members) });
    }

    /// Emits a trace event. Trace events contain names and numbers, but no text, arguments or
    /// results, so they need no redaction.
    fn trace(&mut self, kind: &'static str, own: Members) {
        if !self.options.trace {
            return;
        }
        let source = trace::Source {
            request_id: &self.options.request_id,
            project_id: self.options.project_id.as_deref(),
            at_ms: self.now.saturating_sub(self.started),
            phase: self.progress.phase.name().name(),
            tool_batch_id: u64::from(self.progress.batch),
        };
        let event = trace::event(kind, &source, own);
        self.push(Effect::Trace(event));
    }
}

fn members(call: &Call) -> Members {
    vec![
        ("tool_name", call.view().name.clone().into()),
        ("tool_call_id", call.view().id.clone().into()),
        ("signature", call.view().signature.clone().into()),
    ]
}
