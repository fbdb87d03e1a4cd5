//! The output of a turn: events, trace events and the result.

use super::machine::{State, Turn};
use super::protocol::Effect;
use super::snapshot::{End, Point};
use crate::json::Json;
use crate::planted::planted;
use crate::stream::Response;
use crate::tool::{Refusal, Status};
use crate::trace::{CallView, Event, EventKind, Failure, PhaseName, ResultView};

impl Turn {
    pub(super) fn emit(&mut self, kind: EventKind) {
        self.emit_in(self.phase.name, kind);
    }

    fn emit_in(&mut self, phase: PhaseName, kind: EventKind) {
        self.record.seq += 1;
        self.effects.push_back(Effect::Emit(Event {
            phase,
            request_id: self.options.request_id.clone(),
            project_id: self.options.project_id.clone(),
            tool_batch_id: self.record.batch,
            seq: self.record.seq,
            kind,
        }));
    }

    pub(super) fn phase_started(&mut self, resumed: bool) {
        self.trace("orchestration_phase_start", vec![]);
        self.emit(EventKind::PhaseStart { resumed });
    }

    pub(super) fn phase_ended(&mut self) {
        self.trace("orchestration_phase_end", vec![]);
        self.emit(EventKind::PhaseEnd);
    }

    pub(super) fn complete(&mut self, composed: bool) {
        self.phase_ended();
        let kind = EventKind::Complete {
            full_content: self.record.shown.clone(),
            usage: self.record.usage,
            blocked: self.record.blocked.clone(),
            composed,
        };
        self.emit_in(PhaseName::Complete, kind);
        self.finish(End::Complete, None);
    }

    /// Ends this turn as paused. A resumed turn continues at `point`.
    pub(super) fn paused(&mut self, point: Point, approvals: Vec<CallView>) {
        self.phase_ended();
        self.record.point = Some(point);
        self.emit(EventKind::Paused { approvals });
        self.finish(End::Paused, None);
    }

    /// Pauses the turn because calls wait for the user's approval.
    pub(super) fn await_approval(&mut self) {
        let Some(awaiting) = &self.record.awaiting else { return };
        let view = |one| self.rule(one, u32::MAX).1;
        let views: Vec<CallView> = awaiting.candidates.iter().map(view).collect();
        self.emit(EventKind::ApprovalRequired(views.clone()));
        self.paused(Point::Awaiting, views);
    }

    pub(super) fn cancel(&mut self, reason: &str) {
        if matches!(self.state, State::Over) {
            return;
        }
        self.abort_request();
        if !planted("a stop leaves tools running") {
            self.cancel_batch();
        }
        self.emit(EventKind::Cancelled { reason: reason.to_owned() });
        self.finish(End::Cancelled(reason.to_owned()), None);
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.cancel_batch();
        self.emit(EventKind::Error(failure.clone()));
        let again = failure.code.starts_with("model.");
        self.finish(End::Failed { again }, Some(&failure));
    }

    fn finish(&mut self, end: End, failure: Option<&Failure>) {
        self.state = State::Over;
        let status = end.status();
        self.record.end = Some(end);
        self.state_changed();
        let list = |items: Vec<Json<'static>>| Json::Array(items);
        let blocked = self.record.blocked.iter().map(|one| one.clone().into()).collect();
        let mut members = vec![
            ("requestId".into(), self.options.request_id.to_string().into()),
            ("status".into(), status.into()),
            ("text".into(), self.phase.text.clone().into()),
            ("fullContent".into(), self.record.shown.clone().into()),
            (
                "toolResults".into(),
                list(self.record.results.iter().map(ResultView::to_json).collect()),
            ),
            ("blockedSignatures".into(), list(blocked)),
            ("usage".into(), self.record.usage.to_json()),
            ("inferences".into(), Json::integer(u64::from(self.record.inferences))),
            ("repairs".into(), self.history.repairs()),
        ];
        if let Some(failure) = failure {
            members.push(("error".into(), failure.to_json()));
        }
        self.effects.push_back(Effect::Done { result: Json::Object(members) });
    }

    pub(super) fn trace_tools(&mut self) {
        let name = |tool: &crate::tool::ToolSpec| tool.name.clone().into();
        let names = self.options.tools.all().iter().map(name).collect();
        self.trace("tool_registration", vec![("tools", Json::Array(names))]);
    }

    pub(super) fn trace_llm_call(&mut self, inference: u32, response: &Response) {
        let prompt = self.prompt_template();
        let text = |value: Option<String>| value.map_or(Json::Null, Json::from);
        let flags = self.context_flags().into_iter().map(Json::from).collect();
        let calls = u64::try_from(response.calls.len()).unwrap_or(u64::MAX);
        let finish = response.finish.as_ref().map(|(reason, _)| reason.name().to_owned());
        self.trace(
            "llm_call",
            vec![
                ("inference", Json::integer(u64::from(inference))),
                ("prompt_template_id", text(prompt.as_ref().map(|(id, _)| (*id).to_owned()))),
                ("prompt_template_hash", text(prompt.map(|(_, hash)| hash))),
                ("context_flags", Json::Array(flags)),
                ("tool_call_count", Json::integer(calls)),
                ("finish_reason", text(finish)),
                ("usage", response.usage.map_or(Json::Null, crate::stream::Usage::to_json)),
            ],
        );
    }

    pub(super) fn trace_tool_call(&mut self, view: &CallView) {
        let mut own = call_members(&view.name, &view.id, &view.signature);
        if planted("a trace has arguments") {
            own.push(("args", view.args.clone()));
        }
        self.trace("tool_call", own);
    }

    pub(super) fn trace_tool_result(&mut self, result: &ResultView) {
        // A refused call of the unified loop was not executed, so it has no tool result.
        if matches!(result.outcome.status, Status::Blocked | Status::Skipped) {
            return;
        }
        let mut own = call_members(&result.name, &result.tool_call_id, &result.signature);
        own.push(("status", result.outcome.status.name().into()));
        own.push(("duration_ms", Json::integer(result.duration_ms)));
        own.push(("replayed", result.replayed.into()));
        own.push(("truncated", result.outcome.truncated.into()));
        self.trace("tool_result", own);
        if result.replayed {
            let own = call_members(&result.name, &result.tool_call_id, &result.signature);
            self.trace("duplicate_tool_call", own);
        }
    }

    pub(super) fn trace_refused(&mut self, reason: Refusal, calls: &[CallView]) {
        for view in calls.iter().filter(|_| reason == Refusal::Duplicate) {
            let own = call_members(&view.name, &view.id, &view.signature);
            self.trace("duplicate_tool_call", own);
        }
    }

    /// Emits a trace event. Trace events contain names and numbers, but no text, arguments or
    /// results, so they need no redaction.
    fn trace(&mut self, kind: &'static str, own: Vec<(&'static str, Json<'static>)>) {
        if !self.options.trace {
            return;
        }
        let details = Json::object([
            ("phase", self.phase.name.name().into()),
            ("toolBatchId", Json::integer(u64::from(self.record.batch))),
        ]);
        let project = &self.options.project_id;
        let mut members = vec![
            ("type".into(), kind.into()),
            ("requestId".into(), self.options.request_id.to_string().into()),
            ("projectId".into(), project.as_ref().map_or(Json::Null, |id| id.to_string().into())),
            ("atMs".into(), Json::integer(self.now.saturating_sub(self.started))),
        ];
        members.extend(own.into_iter().map(|(key, value)| (key.into(), value)));
        members.push(("details".into(), details));
        self.effects.push_back(Effect::Trace(Json::Object(members)));
    }
}

fn call_members(name: &str, id: &str, signature: &str) -> Vec<(&'static str, Json<'static>)> {
    vec![
        ("tool_name", name.to_owned().into()),
        ("tool_call_id", id.to_owned().into()),
        ("signature", signature.to_owned().into()),
    ]
}
