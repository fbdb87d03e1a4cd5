//! The calls of a batch while they run: how they settle, and what the turn tells of it.

use sha2::{Digest, Sha256};

use super::super::super::event::{EventKind, PhaseName, ResultView};
use super::super::super::options::TurnOptions;
use super::super::super::prompt::{Answered, Exchange};
use super::super::super::protocol::{CancelReason, Effect};
use super::super::Record;
use super::super::outcomes::{answer, cancelled, elsewhere, repeated, repeated_content};
use super::{Calling, Place, has_run, is_accepted, model_view, tenant, terms, view};
use crate::guard::Refusal;
use crate::json::Json;
use crate::signature::hex;
use crate::stream::Usage;
use crate::tool::{Call, CallBatch, CallView, Fate, Outcome, Settled, Status};

impl Calling {
    /// Takes over a batch whose owner is gone.
    pub(crate) fn take_over(&mut self, record: &mut Record) {
        let again = self.batch.take_over(record.now, &terms(&record.options, &record.progress));
        for at in 0..self.opened {
            if self.batch.calls().get(at).is_some_and(|call| again.contains(&call.number())) {
                self.start(at, record);
            }
        }
    }

    /// Settles a batch whose owner is gone and whose turn is cancelled.
    pub(crate) fn abandon(&mut self) {
        self.batch.abandon(&cancelled());
    }

    /// Takes what a running tool settled with.
    pub(crate) fn settle(&mut self, call: u32, settled: Settled, record: &Record) {
        self.batch.settle(record.now, call, settled);
    }

    /// Emits progress of a running call. It has no other effect.
    pub(crate) fn report(&self, call: u32, data: Json<'static>, record: &mut Record) {
        let Some(call) = self.batch.running().find(|one| one.number() == call) else { return };
        let (tool_call_id, name) = (call.view().id.clone(), call.view().name.clone());
        record.emit(EventKind::ToolProgress { tool_call_id, name, data });
    }

    /// Counts tokens that a running call has used.
    pub(crate) fn spend(&self, call: u32, usage: Usage, record: &mut Record) {
        if self.batch.running().any(|one| one.number() == call) {
            record.progress.tool_usage.add(usage);
        }
    }

    /// Ends the checks, and cancels the calls whose time is over.
    pub(crate) fn time_out(&mut self, record: &mut Record) {
        for call in self.batch.time_out(record.now) {
            record.push(Effect::CancelTool { call, reason: CancelReason::Timeout });
        }
    }

    /// Cancels the calls that have not settled, because the turn ends; `lost`: here, as another owner
    /// has it. Calls that are not judged were never told of.
    pub(crate) fn cancel(&mut self, lost: bool, record: &mut Record) {
        self.reading = false;
        self.batch.drop_unjudged();
        if self.batch.calls().is_empty() {
            return;
        }
        if !self.complete {
            self.open(record);
        }
        let outcome = if lost { elsewhere() } else { cancelled() };
        for call in self.batch.cancel(record.now, &outcome) {
            record.push(Effect::CancelTool { call, reason: CancelReason::Cancelled });
        }
        self.show_settled(record);
        self.close(record);
    }

    /// Shows the results of the calls that have settled. Returns whether the batch is over.
    pub(crate) fn show_settled(&mut self, record: &mut Record) -> bool {
        self.batch.settle_replays(&mut record.guard);
        while let Some(number) = self.batch.next_settled() {
            let found = self.settled().find(|(call, ..)| call.number() == number);
            let Some((call, outcome, duration_ms)) = found else { continue };
            record.trace_tool_result(call, outcome, duration_ms);
            let results = vec![view(call, outcome, duration_ms)];
            let (tool, count) = (call.view().name.clone(), self.same_results(call, record));
            record.emit(EventKind::ToolResults { results });
            if count > 1 {
                record.emit(EventKind::Stagnation { tool, count });
            }
        }
        self.complete && self.batch.is_settled()
    }

    /// How often the tool of a call that ran has returned the call's result, behind other arguments
    /// every time. Calls count from when their results were shown.
    fn same_results(&self, call: &Call, record: &Record) -> u32 {
        let Some((outcome, _)) = call.outcome().filter(|_| has_run(call)) else { return 0 };
        let all = record.closed.iter().chain([self]).flat_map(|one| one.batch.calls());
        let same = all.filter(|one| {
            let is_same = one.outcome().is_some_and(|(own, _)| own.has_same_result(outcome));
            let signature = &one.view().signature;
            one.is_told()
                && has_run(one)
                && one.view().name == call.view().name
                && is_same
                && (*signature != call.view().signature || one.number() == call.number())
        });
        u32::try_from(same.count()).unwrap_or(u32::MAX)
    }

    /// Whether a tool has returned the same result again, or every call was made before; of `all`
    /// calls of the response, of which these are the last.
    pub(crate) fn is_stagnant(&self, all: &[&Self], record: &Record) -> bool {
        let calls = || all.iter().flat_map(|one| one.batch.calls());
        let repeated = |call: &Call| {
            matches!(call.fate(), Fate::Replay | Fate::Refused(Refusal::Duplicate) | Fate::Waiting)
        };
        calls().all(repeated) || calls().any(|call| self.same_results(call, record) > 1)
    }

    /// The calls that would be refused again if the model repeated them.
    pub(crate) fn lasting_refusals(&self) -> impl Iterator<Item = &Call> {
        self.batch.calls().iter().filter(|call| call.is_refused_for_good())
    }

    /// Adds the results of a batch that is over to the conversation.
    pub(crate) fn close(&mut self, record: &mut Record) {
        record.progress.tools_ms += self.batch.elapsed_ms(record.now);
        let (is_boxed, has_results) = (record.is_boxed(), self.has_results(record));
        let mut answered = std::mem::take(&mut self.exchange.calls);
        let mut boxed = Vec::new();
        for (call, outcome, _) in self.settled() {
            if is_boxed && call.is_outcome_given() {
                record.conversation.add_result(call, outcome);
                if let Some(content) = outcome.media() {
                    boxed.push((call.view().name.clone(), content));
                }
            } else if is_boxed {
                record.conversation.add_notice(repeated(&call.view().name));
            }
            answered.push(Answered {
                view: model_view(call),
                answer: answer(call, outcome),
                content: outcome.media().map(|content| repeated_content(call, content)),
                failed: outcome.status != Status::Ok,
            });
        }
        record.conversation.add_media(boxed);
        if self.place.phase != PhaseName::Unified {
            for (refusal, calls) in self.batch.refused() {
                let answer = |call: &Call| Call::notice(refusal, &[call], has_results);
                let answer = |call: &Call| Answered {
                    view: model_view(call),
                    answer: answer(call),
                    content: None,
                    failed: true,
                };
                answered.extend(calls.into_iter().map(answer));
            }
        }
        // In the model's order: reasoning stands between the calls.
        let order = |id: &str| self.batch.calls().iter().position(|call| call.view().id == id);
        answered.sort_by_cached_key(|one| order(&one.view.id));
        if self.is_waiting() {
            self.exchange.calls = answered;
        } else if !is_boxed {
            let mut exchange = self.exchange.clone();
            if answered.len() != self.batch.calls().len() {
                // The provider would miss an answer.
                exchange.response = None;
            }
            record.conversation.add_exchange(Exchange { calls: answered, ..exchange });
        }
    }

    /// How many calls have performed rulings, and whether the batch gets no more.
    pub(crate) fn opened(&self) -> (usize, bool) {
        (self.opened, self.complete)
    }

    /// Whether calls were accepted, or no more come.
    pub(crate) fn is_begun(&self) -> bool {
        let mut opened = self.batch.calls().iter().take(self.opened);
        self.complete || opened.any(is_accepted)
    }

    pub(crate) fn batch(&self) -> &CallBatch {
        &self.batch
    }

    pub(crate) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Whether calls wait for the user's approval.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting().next().is_some()
    }

    /// The calls that wait for the user's approval.
    pub(crate) fn approvals(&self) -> Vec<CallView> {
        self.waiting().map(|call| call.view().clone()).collect()
    }

    pub(in super::super) fn settled(&self) -> impl Iterator<Item = (&Call, &Outcome, u64)> {
        self.listed().filter_map(|call| {
            let (outcome, duration_ms) = call.outcome()?;
            Some((call, outcome, duration_ms))
        })
    }

    /// The calls with a result, in the model's order.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Call> {
        self.batch.calls().iter().filter(|call| call.has_result())
    }

    /// The calls that wait for the user's approval.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Call> {
        self.batch.calls().iter().filter(|call| call.fate() == Fate::Waiting)
    }

    /// The results of the calls that have settled.
    pub(crate) fn results(&self) -> impl Iterator<Item = ResultView> {
        self.settled().map(|(call, outcome, duration_ms)| view(call, outcome, duration_ms))
    }

    /// Emits the effect that runs the call at a place of the batch, if it runs.
    pub(super) fn start(&self, at: usize, record: &mut Record) {
        let Some(call) = self.batch.calls().get(at).filter(|call| call.is_running()) else {
            return;
        };
        let view = call.view();
        // Its place among the calls with a result.
        let before = self.batch.calls().iter().take(at);
        let place = before.filter(|call| call.has_result()).count();
        let idempotency_key = self.idempotency_key(place, call, &record.options);
        if call.reconciles() {
            return record.push(Effect::Reconcile {
                call: call.number(),
                about: view.clone(),
                idempotency_key,
                max_result_bytes: call.result_bytes(),
                max_media_bytes: call.media_bytes(),
            });
        }
        record.trace_tool_call(call);
        record.push(Effect::RunTool {
            call: call.number(),
            name: view.name.clone(),
            tool_call_id: view.id.clone(),
            tool_batch_id: self.place.id,
            idempotency_key,
            max_result_bytes: call.result_bytes(),
            max_media_bytes: call.media_bytes(),
            args: call.raw_args().clone(),
            signed: call.raw().map(|_| view.args.clone()),
        });
    }

    /// Returns a key that is the same each time this call is started, so that a tool can detect a
    /// repeated call.
    fn idempotency_key(&self, place: usize, call: &Call, options: &TurnOptions) -> String {
        let parts = Json::Array(vec![
            tenant(options).to_owned().into(),
            options.request_id.to_string().into(),
            Json::integer(u64::from(self.place.id)),
            Json::integer(u64::try_from(place).unwrap_or(u64::MAX)),
            call.view().signature.clone().into(),
        ]);
        hex(&Sha256::digest(parts.to_text().as_bytes()))
    }
}
