//! Settles the calls of a batch, and records and shows their outcomes.

use super::batch::{Awaiting, Batch, BatchCall, Kind};
use super::candidates::{Said, unique};
use super::machine::{State, Turn};
use super::prompt::{Answered, Context, Exchange};
use super::protocol::{Effect, Settled};
use super::records;
use crate::json::Json;
use crate::planted::planted;
use crate::tool::{Outcome, Refusal, Status};
use crate::trace::{EventKind, PhaseName, ResultView};

impl Turn {
    pub(super) fn tool_settled(&mut self, call: u32, settled: Settled) {
        let now = self.now;
        let State::Running(batch) = &mut self.state else { return };
        let late = planted("a late result changes the outcome");
        let open = |one: &&mut BatchCall| one.call == call && (one.settled.is_none() || late);
        let Some(one) = batch.calls.iter_mut().find(open) else { return };
        let Kind::Run { limit, .. } = one.kind else { return };
        let outcome = match settled {
            Settled::Ok { text, bytes } => Outcome::returned(&text, bytes, limit),
            Settled::Error { code, message } => {
                Outcome::failed(Status::Error, &code, clip(message, limit))
            }
        };
        one.settled = Some((outcome, now));
        self.settle_replays();
    }

    /// Emits progress of a running call. It has no other effect.
    pub(super) fn tool_progress(&mut self, call: u32, data: Json<'_>) {
        let State::Running(batch) = &self.state else { return };
        let open = |one: &&BatchCall| {
            one.call == call && one.settled.is_none() && matches!(one.kind, Kind::Run { .. })
        };
        let Some(one) = batch.calls.iter().find(open) else { return };
        let (tool_call_id, name) = (one.view.id.clone(), one.view.name.clone());
        self.emit(EventKind::ToolProgress { tool_call_id, name, data: data.into_owned() });
    }

    pub(super) fn tools_timed_out(&mut self) {
        let now = self.now;
        let State::Running(batch) = &mut self.state else { return };
        let all = now >= batch.total_deadline;
        for one in batch.calls.iter_mut().filter(|one| one.settled.is_none()) {
            let Kind::Run { deadline, timeout, .. } = one.kind else { continue };
            if !all && now < deadline {
                continue;
            }
            let waited = if now >= deadline { timeout } else { now.saturating_sub(one.since) };
            let message = format!("no result within {waited} ms");
            one.settled = Some((Outcome::failed(Status::Timeout, "tool.timeout", message), now));
            self.effects.push_back(Effect::CancelTool { call: one.call, reason: "timeout" });
        }
        self.settle_replays();
    }

    /// Settles the replays whose outcome is known, and ends the batch if all calls have settled.
    pub(super) fn settle_replays(&mut self) {
        if self.settle_known() {
            self.finish_batch();
        }
    }

    /// Settles the replays whose outcome is known. Returns whether all calls have settled.
    pub(super) fn settle_known(&mut self) -> bool {
        self.keep_outcomes();
        let State::Running(batch) = &mut self.state else { return false };
        for one in batch.calls.iter().filter(|one| one.has_record()) {
            if let (Some(signature), Some((outcome, _))) = (one.signature(), &one.settled) {
                self.record.ledger.settle(signature, one.call, outcome);
            }
        }
        for one in batch.calls.iter_mut().filter(|one| one.settled.is_none()) {
            if let Kind::Replay { signature } = &one.kind {
                let known = self.record.ledger.outcome(signature);
                one.settled = known.map(|outcome| (outcome.clone(), one.since));
            }
        }
        batch.calls.iter().all(|one| one.settled.is_some())
    }

    /// Records each settled outcome once.
    fn keep_outcomes(&mut self) {
        if self.journal.is_none() {
            return;
        }
        let State::Running(batch) = &mut self.state else { return };
        let mut settled = Vec::new();
        for one in batch.calls.iter_mut().filter(|one| one.has_record() && !one.kept) {
            let Some((outcome, at)) = &one.settled else { continue };
            one.kept = true;
            let text = records::outcome(outcome, at.saturating_sub(one.since));
            let fresh = matches!(one.kind, Kind::Run { .. }) && outcome.status == Status::Ok;
            settled.push((one.view.clone(), text, fresh && !outcome.truncated));
        }
        for (view, text, reusable) in settled {
            let tool = self.options.tools.find(&view.name);
            if let Some(ttl) = tool.and_then(|tool| tool.reuse_ms).filter(|_| reusable) {
                self.keep_reusable(self.reuse_key(&view.signature), text.clone(), ttl);
            }
            let batch = self.record.batch;
            self.keep(|| (records::outcome_name(batch, &view.id), text));
        }
    }

    fn finish_batch(&mut self) {
        let Some(batch) = self.close_batch() else { return };
        let ran = |one: &&BatchCall| matches!(one.kind, Kind::Run { .. });
        let executed = u32::try_from(batch.calls.iter().filter(ran).count()).unwrap_or(u32::MAX);
        if self.record.awaiting.is_some() {
            return self.await_approval();
        }
        match self.phase.name {
            PhaseName::Tool => self.after_tools(executed),
            PhaseName::Action => {
                self.after_action(executed, true, batch.elsewhere);
            }
            PhaseName::Unified | PhaseName::Complete => self.after_step(),
        }
    }

    /// Cancels the calls that have not settled, because the turn is about to end.
    pub(super) fn cancel_batch(&mut self) {
        let now = self.now;
        let State::Running(batch) = &mut self.state else { return };
        for one in batch.calls.iter_mut().filter(|one| one.settled.is_none()) {
            one.settled = Some((cancelled(), now));
            if matches!(one.kind, Kind::Run { .. }) {
                self.effects.push_back(Effect::CancelTool { call: one.call, reason: "cancelled" });
            }
        }
        self.keep_outcomes();
        self.close_batch();
    }

    /// Shows and records the results of a batch whose calls have all settled.
    pub(super) fn close_batch(&mut self) -> Option<Batch> {
        let State::Running(mut batch) = std::mem::replace(&mut self.state, State::Over) else {
            return None;
        };
        self.record.tools_ms += self.now.saturating_sub(batch.since);
        let mut results = Vec::new();
        let mut answered = std::mem::take(&mut batch.prior);
        for one in &batch.calls {
            let Some((outcome, at)) = &one.settled else { continue };
            match &one.kind {
                Kind::Run { .. } | Kind::Recalled { .. } if self.boxed() => {
                    let (name, args) = (&one.view.name, &one.view.args);
                    let text = self.record.boxes.wrap(name, args, outcome, one.read_only);
                    self.record.context.push(Context::System(text));
                }
                Kind::Replay { .. } if self.boxed() => {
                    let notice = Refusal::Duplicate.notice(&[&one.view.name]);
                    self.record.context.push(Context::System(notice));
                }
                _ => {}
            }
            answered.push(Answered { view: one.view.clone(), answer: outcome.for_model() });
            results.push(ResultView {
                tool_call_id: one.view.id.clone(),
                name: one.view.name.clone(),
                signature: one.view.signature.clone(),
                outcome: outcome.clone(),
                duration_ms: at.saturating_sub(one.since),
                replayed: one.is_replayed(),
            });
        }
        self.answer_exchange(&mut batch, answered);
        if !results.is_empty() {
            for result in &results {
                self.trace_tool_result(result);
            }
            self.record.results.extend(results.iter().cloned());
            self.emit(EventKind::ToolResults(results));
        }
        Some(*batch)
    }

    /// Adds the exchange to the context once all its answers are known: in a history with native
    /// results, each call of a response needs an answer.
    fn answer_exchange(&mut self, batch: &mut Batch, mut answered: Vec<Answered>) {
        if self.phase.name != PhaseName::Unified {
            for (refusal, views) in &batch.refusals {
                answered.extend(views.iter().map(|view| Answered {
                    view: view.clone(),
                    answer: refusal.notice(&[&view.name]),
                }));
            }
        }
        if !batch.awaiting.is_empty() {
            let candidates = std::mem::take(&mut batch.awaiting);
            let said = batch.said.clone();
            self.record.awaiting = Some(Awaiting { said, answered, candidates });
        } else if !self.boxed() {
            for call in &mut answered {
                call.view.id = unique(std::mem::take(&mut call.view.id), &mut self.record.wire_ids);
            }
            let Said { reasoning, text } = batch.said.clone();
            self.record.context.push(Context::Exchange(Exchange {
                reasoning,
                text,
                calls: answered,
            }));
        }
    }
}

/// The outcome of a call that was cancelled because the turn ended.
pub(super) fn cancelled() -> Outcome {
    let message = "the turn ended before the tool did";
    Outcome::failed(Status::Cancelled, "tool.cancelled", message)
}

/// Cuts an error message to the limit of results.
fn clip(mut message: String, limit: u64) -> String {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    message.truncate(message.floor_char_boundary(limit));
    message
}
