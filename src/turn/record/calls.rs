//! The calls of a turn: what it adds to a [`CallBatch`].

use sha2::{Digest, Sha256};

use super::super::event::{EventKind, PhaseName, ResultView};
use super::super::options::TurnOptions;
use super::super::phase::Phase;
use super::super::progress::Progress;
use super::super::prompt::{Answered, Exchange, unique};
use super::super::protocol::{CancelReason, Effect};
use super::Record;
use super::outcomes::{cancelled, soft_stop};
use crate::json::Json;
use crate::limits;
use crate::signature::hex;
use crate::store;
use crate::stream::{self, Response, Usage};
use crate::tool::CallView;
use crate::tool::{Call, CallBatch, Fate, Need, Outcome, Refusal, Settled, Terms, Verdict};

/// The calls of one response, with the rest of it.
#[derive(Debug, Clone)]
pub(crate) struct Calling {
    batch: CallBatch,
    /// What the model said with the calls. If calls wait for the user's approval, also the answers
    /// to the others.
    exchange: Exchange,
    place: Place,
}

/// The place of a batch in its turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) phase: PhaseName,
    pub(crate) cycle: u32,
    /// `toolBatchId`, once the calls are judged.
    pub(crate) id: u32,
    /// The calls waited for the user's approval before.
    pub(crate) is_approved: bool,
    /// A refused call would run in a tool phase. The action phase uses this after the batch.
    pub(crate) elsewhere: bool,
    /// Bytes of text that the turn had shown with the calls.
    pub(crate) shown: usize,
}

/// Calls before they run.
impl Calling {
    /// Takes the calls of a response, and requests the inputs that they need.
    pub(crate) fn new(response: Response, record: &mut Record) -> Self {
        let (options, progress) = (&record.options, &mut record.progress);
        let mut ids = Vec::new();
        let mut calls = Vec::with_capacity(response.calls.len());
        for call in response.calls {
            progress.calls += 1;
            calls.push(read(call, progress.calls, &mut ids, options.project_id.as_deref()));
        }
        let (policy, phase) = (&options.policy, &progress.phase);
        let (rules, may_cycle) = (phase.rules(policy), phase.may_cycle(policy, progress.cycle));
        let deadline = record.now.saturating_add(policy.tool_timeout_ms);
        let batch = CallBatch::new(calls, deadline, |call| {
            let tool = options.tools.find(&call.view().name);
            let judged_on = rules.by_name(tool).is_none() || may_cycle;
            let checks = judged_on && tool.is_some_and(|tool| tool.checks);
            if checks { Some(Need::Verdict) } else { record.recalls(call) }
        });
        let Response { reasoning, text, .. } = response;
        let exchange = Exchange { reasoning, text, calls: Vec::new() };
        let calling = Self { batch, exchange, place: Place::of(record.progress()) };
        for call in calling.batch.calls() {
            record.request_input(call);
        }
        calling
    }

    /// Makes a batch from its stored form.
    pub(crate) fn stored(calls: Vec<Call>, exchange: Exchange, place: Place) -> Self {
        Self { batch: CallBatch::stored(calls), exchange, place }
    }

    /// Makes a batch of the calls that wait for the user's approval. `approved` returns what the
    /// user decided on a signature.
    pub(crate) fn approved(
        &self,
        record: &Record,
        approved: impl Fn(&str) -> Option<bool>,
    ) -> Self {
        let batch = CallBatch::approved(self.waiting(), |call| approved(&call.view().signature));
        let place = Place { is_approved: true, ..Place::of(record.progress()) };
        Self { batch, exchange: self.exchange.clone(), place }
    }

    /// Takes a verdict.
    pub(crate) fn check(&mut self, call: u32, verdict: Verdict, record: &mut Record) {
        let project = record.options.project_id.as_deref();
        let checked = self.batch.checked(call, verdict, project, |call| record.recalls(call));
        if let Some(call) = checked {
            record.request_input(call);
        }
    }

    /// Takes the stored outcome of another turn, and its age in milliseconds.
    pub(crate) fn recall(&mut self, call: u32, found: Option<(Outcome, u64)>, record: &Record) {
        self.batch.recalled(call, found, &record.options.tools);
    }

    /// Judges the calls once no input is missing, and starts the accepted ones. Returns whether
    /// they were judged.
    pub(crate) fn judge(&mut self, record: &mut Record) -> bool {
        if self.batch.is_judged() || !self.batch.is_checked() {
            return false;
        }
        let terms = terms(&record.options, &record.progress);
        self.place.elsewhere = self.batch.judge(record.now, &terms, &mut record.ledger);
        self.open(record);
        true
    }

    /// Restores a stored batch, with the outcomes that are stored. This has the same effects as when
    /// the calls were judged; the caller drops them. Returns whether all calls have settled.
    pub(crate) fn restore(
        &mut self,
        record: &mut Record,
        outcome: impl Fn(u32, &str) -> Option<(Outcome, u64)>,
    ) -> bool {
        record.progress.phase = Phase::new(self.place.phase);
        record.progress.cycle = self.place.cycle;
        if let Some(before) = record.closed.last().filter(|_| self.place.is_approved) {
            self.exchange.calls.clone_from(&before.exchange.calls);
        }
        let id = record.progress.batch + 1;
        self.batch.restore(&mut record.ledger, |call| outcome(id, call));
        self.open(record);
        self.settle_replays(record)
    }

    /// Emits the events of the rulings, and starts the tools.
    fn open(&mut self, record: &mut Record) {
        record.progress.judged += 1;
        record.progress.phase.execute(self.batch.executed());
        if self.place.phase == PhaseName::Unified {
            self.batch.answer_refused(soft_stop);
        }
        let views: Vec<_> = self.listed().map(|call| call.view().clone()).collect();
        if !views.is_empty() {
            record.progress.batch += 1;
            record.emit(EventKind::ToolCalls { calls: views });
        }
        self.place.id = record.progress.batch;
        let refused = self.batch.refused();
        for call in refused.iter().flat_map(|(_, calls)| calls) {
            let signature = &call.view().signature;
            if !record.blocked.iter().any(|one| one == signature) {
                record.blocked.push(signature.to_owned());
            }
        }
        for (reason, calls) in refused {
            let notice = Call::notice(reason, &calls);
            if record.is_boxed() {
                record.conversation.add_notice(notice.clone());
            }
            record.trace_refused(reason, &calls);
            let calls = calls.into_iter().map(|call| call.view().clone()).collect();
            let blocked = record.blocked.clone();
            record.emit(EventKind::Refused { calls, reason, notice, blocked });
        }
        for (place, call) in self.listed().enumerate() {
            self.start(place, call, record);
        }
    }
}

/// Calls that run, and their outcomes.
impl Calling {
    /// Takes over a batch whose owner is gone.
    pub(crate) fn take_over(&mut self, record: &mut Record) {
        let again = self.batch.take_over(record.now, &terms(&record.options, &record.progress));
        for (place, call) in self.listed().enumerate() {
            if again.contains(&call.number()) {
                self.start(place, call, record);
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

    /// Ends the checks, or cancels the calls whose time is over.
    pub(crate) fn time_out(&mut self, record: &mut Record) {
        if !self.batch.is_judged() {
            return self.batch.stop_checks();
        }
        for call in self.batch.time_out(record.now) {
            record.push(Effect::CancelTool { call, reason: CancelReason::Timeout });
        }
    }

    /// Cancels the calls that have not settled, because the turn ends.
    pub(crate) fn cancel(&mut self, record: &mut Record) {
        if self.batch.is_judged() {
            for call in self.batch.cancel(record.now, &cancelled()) {
                record.push(Effect::CancelTool { call, reason: CancelReason::Cancelled });
            }
            self.close(record);
        }
    }

    /// Records settled outcomes, and settles the replays of them. Returns whether all calls have
    /// settled.
    pub(crate) fn settle_replays(&mut self, record: &mut Record) -> bool {
        self.batch.settle_replays(&mut record.ledger)
    }

    /// Shows the results of a batch whose calls have all settled, and adds them to the conversation.
    pub(crate) fn close(&mut self, record: &mut Record) {
        record.progress.tools_ms += self.batch.elapsed_ms(record.now);
        let is_boxed = record.is_boxed();
        let mut answered = std::mem::take(&mut self.exchange.calls);
        for (call, outcome, _) in self.settled() {
            if is_boxed && call.is_outcome_given() {
                record.conversation.add_result(call, outcome);
            } else if is_boxed && call.is_replayed() {
                record.conversation.add_notice(Refusal::Duplicate.notice(&[&call.view().name]));
            }
            answered.push(Answered { view: call.view().clone(), answer: outcome.for_model() });
        }
        if self.place.phase != PhaseName::Unified {
            for (refusal, calls) in self.batch.refused() {
                let answer = |call: &Call| Call::notice(refusal, &[call]);
                let answer =
                    |call: &Call| Answered { view: call.view().clone(), answer: answer(call) };
                answered.extend(calls.into_iter().map(answer));
            }
        }
        if self.is_waiting() {
            self.exchange.calls = answered;
        } else if !is_boxed {
            let exchange = self.exchange.clone();
            record.conversation.add_exchange(Exchange { calls: answered, ..exchange });
        }
        let results: Vec<_> = self.results().collect();
        if !results.is_empty() {
            for (call, outcome, duration_ms) in self.settled() {
                record.trace_tool_result(call, outcome, duration_ms);
            }
            record.emit(EventKind::ToolResults { results });
        }
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

    pub(super) fn settled(&self) -> impl Iterator<Item = (&Call, &Outcome, u64)> {
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
        self.settled().map(|(call, outcome, duration_ms)| ResultView {
            tool_call_id: call.view().id.clone(),
            name: call.view().name.clone(),
            args: call.view().args.clone(),
            signature: call.view().signature.clone(),
            outcome: outcome.clone(),
            duration_ms,
            replayed: call.is_replayed(),
        })
    }

    /// Emits the effect that runs a call. `place`: its place among the calls with a result.
    fn start(&self, place: usize, call: &Call, record: &mut Record) {
        if !call.is_running() {
            return;
        }
        record.trace_tool_call(call);
        record.push(Effect::RunTool {
            call: call.number(),
            name: call.view().name.clone(),
            tool_call_id: call.view().id.clone(),
            tool_batch_id: self.place.id,
            idempotency_key: self.idempotency_key(place, call, &record.options),
            max_result_bytes: call.result_bytes(),
            args: call.view().args.clone(),
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

/// Reads a call of a response. Its arguments become a string if they are no complete JSON object.
fn read(call: stream::Call, number: u32, ids: &mut Vec<String>, project: Option<&str>) -> Call {
    let empty = call.ended && call.arguments.trim().is_empty();
    let text = if empty { "{}" } else { call.arguments.as_str() };
    let parsed = Json::parse(text.as_bytes(), limits::ARGUMENTS_BYTES).map(Json::into_owned);
    let object = parsed.ok().filter(|json| call.ended && json.as_object().is_some());
    let valid = object.is_some();
    let args = object.unwrap_or_else(|| Json::String(call.arguments.into()));
    Call::new(number, (unique(call.id, ids), call.name), args, valid, project)
}

impl Record {
    /// Requests the input that a call needs before it is judged.
    fn request_input(&mut self, call: &Call) {
        let number = call.number();
        match call.fate() {
            Fate::Unjudged(Some(Need::Verdict)) => {
                let (name, args) = (call.view().name.clone(), call.view().args.clone());
                self.push(Effect::Check { call: number, name, args });
            }
            Fate::Unjudged(Some(Need::Outcome)) => {
                let key = reuse_key(&self.options, call);
                self.push(Effect::Recall { call: number, key });
            }
            _ => {}
        }
    }

    /// Whether the outcome of another turn must be looked up for a call, because its tool allows
    /// the reuse.
    fn recalls(&self, call: &Call) -> Option<Need> {
        let tool =
            self.options.tools.find(&call.view().name).filter(|_| self.options.keep.is_some());
        let reuses = tool.is_some_and(|tool| tool.reuse_ms.is_some());
        let is_new = || self.ledger.call(call.signature()).is_none();
        (reuses && is_new()).then_some(Need::Outcome)
    }

    /// Whether the model receives results as boxes. Otherwise it receives the provider's messages.
    fn is_boxed(&self) -> bool {
        self.conversation.is_thread() || self.progress.phase.is_boxed(&self.options.policy)
    }
}

impl Place {
    fn of(progress: &Progress) -> Self {
        let (phase, cycle) = (progress.phase.name(), progress.cycle);
        let shown = progress.shown.len();
        Self { phase, cycle, id: 0, is_approved: false, elsewhere: false, shown }
    }
}

fn terms<'a>(options: &'a TurnOptions, progress: &Progress) -> Terms<'a> {
    let policy = &options.policy;
    Terms {
        tools: &options.tools,
        rules: progress.phase.rules(policy),
        asks_user: true,
        replays: true,
        has_other_phase: progress.phase.may_cycle(policy, progress.cycle),
        timeout_ms: policy.tool_timeout_ms,
        result_bytes: policy.max_tool_result_bytes,
        caps: false,
        error_bytes: None,
        total_ms: policy.tools_total_ms.saturating_sub(progress.tools_ms),
    }
}

/// Returns the store key under which other turns find the outcome of a call.
pub(in super::super) fn reuse_key(options: &TurnOptions, call: &Call) -> String {
    store::reuse_key(tenant(options), &call.view().signature)
}

fn tenant(options: &TurnOptions) -> &str {
    options.keep.as_ref().map_or("", |keep| keep.tenant.as_str())
}
