//! The output of a turn: effects, events, trace events and the result.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::event::{Event, EventKind, PhaseName, ResultView, ResumePoint};
use super::super::progress::End;
use super::super::prompt::template;
use super::super::protocol::Effect;
use super::super::result::{TurnResult, TurnStatus};
use super::super::trace::{TraceEvent, TraceEventKind, TracePlace, TracedCall};
use super::{Calling, Record};
use crate::guard::Refusal;
use crate::history::{Action, Code, Repair};
use crate::stream::{FinishReason, Response, TokenUsage, calls_in};
use crate::tool::{Call, CallView, Outcome, Status};

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

    /// The next event is not stored, and repeats the last `seq`: the next one is another owner's.
    pub(crate) fn repeat_seq(&mut self) {
        // Before the first event there is none; this one then has 0.
        self.progress.seq = self.progress.seq.wrapping_sub(1);
    }

    pub(crate) fn emit(&mut self, kind: EventKind) {
        self.progress.seq = self.progress.seq.wrapping_add(1);
        let phase = match kind {
            EventKind::Complete { .. } => PhaseName::Complete,
            _ => self.progress.phase.name(),
        };
        self.push(Effect::Emit(Event {
            phase,
            request_id: Arc::clone(&self.options.request_id),
            project_id: self.options.project_id.clone(),
            conversation_id: self.options.conversation_id.clone(),
            tool_batch_id: self.progress.batch,
            seq: self.progress.seq,
            kind,
        }));
    }

    pub(crate) fn phase_started(&mut self) {
        self.in_phase = true;
        self.trace(TraceEventKind::PhaseStart {});
        let max_tools = self.progress.phase.granted(&self.options.policy);
        self.emit(EventKind::PhaseStart { resumed: false, max_tools, void_from: None });
    }

    /// `again`: its last inference is made again.
    pub(crate) fn phase_resumed(&mut self, again: bool) {
        self.in_phase = true;
        self.trace(TraceEventKind::PhaseStart {});
        let max_tools = self.progress.phase.granted(&self.options.policy);
        let void_from = again.then_some(self.progress.asked_seq);
        self.emit(EventKind::PhaseStart { resumed: true, max_tools, void_from });
    }

    /// `status`: how the turn goes on or ends behind the phase.
    pub(crate) fn phase_ended(&mut self, status: TurnStatus) {
        self.trace_phase_end(status);
        let ended = self.ended.take();
        self.emit(EventKind::PhaseEnd { ended });
    }

    fn trace_phase_end(&mut self, status: TurnStatus) {
        if std::mem::take(&mut self.in_phase) {
            self.trace(TraceEventKind::PhaseEnd { status });
        }
    }

    pub(super) fn trace_tools(&mut self) {
        let tools = self.options.tools.all().iter().map(|tool| tool.name.clone()).collect();
        self.trace(TraceEventKind::ToolRegistration { tools });
    }

    /// Traces an inference with its response, or how the turn ended without one.
    pub(crate) fn trace_llm_call(&mut self, response: &Response, status: TurnStatus) {
        if !self.options.trace {
            return;
        }
        let (policy, phase) = (&self.options.policy, &self.progress.phase);
        let flags = self.conversation.flags(phase.offers_tools(policy));
        let request_kind = (self.conversation.has_results(), &self.options.answer_schema);
        let template = template(phase, policy, request_kind, self.progress.rejected.as_deref());
        let (prompt_template_id, prompt_template_hash) = template.unzip();
        self.trace(TraceEventKind::LlmCall {
            status,
            inference: self.progress.inferences,
            model: self.model(),
            prompt_template_id,
            prompt_template_hash,
            context_flags: flags,
            tool_call_count: response.calls.len(),
            finish_reason: response.finish.as_ref().map(|(reason, _)| *reason),
            raw_finish_reason: response.finish.as_ref().map(|(_, raw)| raw.clone()),
            usage: response.usage.map(TokenUsage::from),
        });
        if matches!(response.finish, Some((FinishReason::TextToolCall, _))) {
            let is_tool = |name: &str| self.options.tools.find(name).is_some();
            let calls = calls_in(&response.text, &is_tool).into_iter();
            let tools = calls.map(|call| call.name).collect();
            self.trace(TraceEventKind::TextToolCall { tools });
        }
    }

    /// Traces that a refused request was repaired, and is sent once more.
    pub(super) fn trace_repair(&mut self, repairs: &[Repair]) {
        let mut codes: Vec<_> = repairs.iter().map(|repair| repair.code).collect();
        codes.dedup();
        let inference = self.progress.inferences;
        self.trace(TraceEventKind::HistoryRepair { inference, codes, repairs: repairs.len() });
    }

    /// The name of the model that is asked, in a turn with fallbacks.
    fn model(&self) -> Option<String> {
        self.options.model.clone().filter(|_| self.has_fallbacks)
    }

    pub(super) fn trace_tool_call(&mut self, call: &Call) {
        self.trace(TraceEventKind::ToolCall { call: traced(call) });
    }

    pub(super) fn trace_tool_result(&mut self, call: &Call, outcome: &Outcome, duration_ms: u64) {
        // A refused call of the unified loop was not executed, so it has no tool result.
        if matches!(outcome.status, Status::Blocked | Status::Skipped) {
            return;
        }
        self.trace(TraceEventKind::ToolResult {
            call: traced(call),
            status: outcome.status,
            duration_ms,
            replayed: call.is_replayed(),
            truncated: outcome.truncated,
            revised: outcome.revised,
            reconciled: outcome.reconciled,
        });
        if call.is_replayed() {
            self.trace(TraceEventKind::DuplicateToolCall { call: traced(call) });
        }
    }

    /// Shows a result that took the place of an earlier one of this batch.
    pub(crate) fn show_revised(&mut self, batch: u32, view: ResultView) {
        let last = std::mem::replace(&mut self.progress.batch, batch);
        let call = TracedCall {
            tool_name: view.name.clone(),
            tool_call_id: view.tool_call_id.clone(),
            signature: view.signature.clone(),
        };
        self.trace(TraceEventKind::ToolResult {
            call,
            status: view.outcome.status,
            duration_ms: view.duration_ms,
            replayed: view.replayed,
            truncated: view.outcome.truncated,
            revised: true,
            reconciled: view.outcome.reconciled,
        });
        self.emit(EventKind::ToolResults { results: vec![view] });
        self.progress.batch = last;
    }

    pub(super) fn trace_refused(&mut self, reason: Refusal, calls: &[&Call]) {
        for call in calls {
            let ran = self.guard.call(&call.signature_texts()).is_some();
            if ran || reason == Refusal::Duplicate {
                self.trace(TraceEventKind::DuplicateToolCall { call: traced(call) });
            }
            if reason != Refusal::Duplicate {
                self.trace(TraceEventKind::ToolRefused { call: traced(call), reason });
            }
        }
    }

    pub(crate) fn emit_complete(&mut self, composed: bool) {
        self.composed = composed;
        self.emit(EventKind::Complete {
            text: self.progress.phase.text().to_owned(),
            object: self.object.clone(),
            full_content: self.progress.shown.clone(),
            usage: self.progress.usage(),
            total_usage: Box::new(self.progress.total_usage()),
            inferences: self.progress.inferences,
            blocked: self.blocked.clone(),
            repeats: self.repeats.clone(),
            composed,
            finish_reason: self.progress.finish.as_ref().map(|(reason, _)| *reason),
            raw_finish_reason: self.progress.finish.as_ref().map(|(_, raw)| raw.clone()),
            model: self.model(),
        });
    }

    pub(crate) fn emit_paused(&mut self, calls: Vec<CallView>, approvals: Vec<CallView>) {
        let request_id = Arc::clone(&self.options.request_id);
        let resume = ResumePoint { request_id, tool_batch_id: self.progress.batch };
        self.emit(EventKind::Paused { resume, calls, approvals, spent: self.progress.spent() });
    }

    /// Emits the last event of a turn that was cancelled or has failed, and the result.
    pub(crate) fn ended(&mut self, end: &End) {
        self.trace_phase_end(end.status());
        match end {
            End::Cancelled(reason) => {
                let spent = self.progress.spent();
                self.emit(EventKind::Cancelled { reason: reason.clone(), spent });
            }
            End::Failed(failure) => {
                let spent = self.progress.spent();
                self.emit(EventKind::Error { failure: failure.clone(), spent });
            }
            End::Complete | End::Paused(_) => {}
        }
        let result = TurnResult {
            request_id: Arc::clone(&self.options.request_id),
            conversation_id: self.options.conversation_id.clone(),
            status: end.status(),
            text: self.progress.phase.text().to_owned(),
            object: self.object.clone(),
            full_content: self.progress.shown.clone(),
            messages: self.messages(),
            tool_results: self.closed.iter().flat_map(Calling::results).collect(),
            blocked_signatures: self.blocked.clone(),
            repeats: self.repeats.clone(),
            usage: self.progress.usage(),
            total_usage: self.progress.total_usage(),
            inferences: self.progress.inferences,
            composed: self.composed,
            finish_reason: self.progress.finish.as_ref().map(|(reason, _)| *reason),
            raw_finish_reason: self.progress.finish.as_ref().map(|(_, raw)| raw.clone()),
            model: self.model(),
            response_id: self.progress.response.clone().filter(|_| matches!(end, End::Complete)),
            repairs: self.repairs(),
            error: match end {
                End::Failed(failure) => Some(failure.clone()),
                End::Cancelled(_) | End::Complete | End::Paused(_) => None,
            },
        };
        self.push(Effect::Done { result });
    }

    /// What was changed in the history and in arguments, and what was dropped around the answer.
    fn repairs(&self) -> Vec<Repair> {
        let dropped = self.dropped.iter().map(|dropped| Repair {
            code: Code::AnswerExtraText,
            action: Action::Dropped,
            index: self.given,
            tool_call_id: None,
            detail: dropped.name().to_owned(),
        });
        let history = self.conversation.repairs().iter().chain(&self.arguments);
        let refused = self.refused.iter().map(|repair| {
            // What the turn has added stands behind the host's history.
            let index = repair.index.min(self.given);
            let detail = format!("{}, because the provider refused the request", repair.detail);
            Repair { index, detail, ..repair.clone() }
        });
        history.cloned().chain(refused).chain(dropped).collect()
    }

    /// Emits a trace event. Trace events contain names and numbers, but no text, arguments or
    /// results, so they need no redaction.
    fn trace(&mut self, kind: TraceEventKind) {
        if !self.options.trace {
            return;
        }
        let at_ms = self.now.saturating_sub(self.started);
        let event = TraceEvent {
            request_id: Arc::clone(&self.options.request_id),
            project_id: self.options.project_id.clone(),
            conversation_id: self.options.conversation_id.clone(),
            at_ms,
            at: self.options.started_at.saturating_add(at_ms),
            details: TracePlace {
                phase: self.progress.phase.name(),
                tool_batch_id: self.progress.batch,
            },
            kind,
        };
        self.push(Effect::Trace(event));
    }
}

fn traced(call: &Call) -> TracedCall {
    let CallView { name, id, signature, .. } = call.view().clone();
    TracedCall { tool_name: name, tool_call_id: id, signature }
}
