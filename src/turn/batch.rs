//! The calls of one response, which are judged and started together.

use super::candidates::{Approval, Candidate, Said};
use super::machine::{State, Turn};
use super::policy::ResultsAs;
use super::prompt::{Answered, Context};
use super::protocol::Effect;
use super::records;
use crate::planted::planted;
use crate::signature::Signature;
use crate::tool::{self, Outcome, Refusal, Rules, Ruling};
use crate::trace::{CallView, EventKind, PhaseName};

/// Calls that are executed together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    pub(super) since: u64,
    /// When the time limit of all calls of the turn together expires.
    pub(super) total_deadline: u64,
    pub(super) said: Said,
    pub(super) calls: Vec<BatchCall>,
    /// Calls that are not executed, by reason, in order of first appearance.
    pub(super) refusals: Vec<(Refusal, Vec<CallView>)>,
    /// Calls that wait for the user's approval.
    pub(super) awaiting: Vec<Candidate>,
    /// These calls waited for the user's approval before.
    pub(super) approved: bool,
    /// Answers that an earlier batch gave to calls of the same response.
    pub(super) prior: Vec<Answered>,
    /// A refused call would run in a tool phase. The action phase uses this after the batch.
    pub(super) elsewhere: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct BatchCall {
    pub(super) call: u32,
    pub(super) view: CallView,
    pub(super) kind: Kind,
    pub(super) read_only: bool,
    /// The call may run again if it is unknown whether it ran.
    pub(super) again: bool,
    pub(super) since: u64,
    pub(super) settled: Option<(Outcome, u64)>,
    /// Its outcome is recorded.
    pub(super) kept: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// The host runs it.
    Run { signature: Signature, deadline: u64, limit: u64, timeout: u64 },
    /// The outcome of an earlier call is used.
    Replay { signature: Signature },
    /// The stored outcome of another turn is used.
    Recalled { signature: Signature },
    /// The call was refused, and received its answer when it was judged.
    Told(Refusal),
}

/// Calls that wait for the user's approval, and the rest of their response.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Awaiting {
    pub(super) said: Said,
    pub(super) answered: Vec<Answered>,
    pub(super) candidates: Vec<Candidate>,
}

impl BatchCall {
    pub(super) fn new(view: CallView, kind: Kind) -> Self {
        Self {
            call: 0,
            view,
            kind,
            read_only: false,
            again: false,
            since: 0,
            settled: None,
            kept: false,
        }
    }

    /// Whether its outcome comes from outside the turn and must be recorded.
    pub(super) fn has_record(&self) -> bool {
        matches!(self.kind, Kind::Run { .. } | Kind::Recalled { .. })
    }

    pub(super) fn is_replayed(&self) -> bool {
        matches!(self.kind, Kind::Replay { .. } | Kind::Recalled { .. })
    }

    pub(super) fn signature(&self) -> Option<&Signature> {
        match &self.kind {
            Kind::Run { signature, .. }
            | Kind::Replay { signature }
            | Kind::Recalled { signature } => Some(signature),
            Kind::Told(_) => None,
        }
    }
}

impl Batch {
    pub(super) fn new(said: Said, calls: Vec<BatchCall>) -> Self {
        Self {
            since: 0,
            total_deadline: 0,
            said,
            calls,
            refusals: Vec::new(),
            awaiting: Vec::new(),
            approved: false,
            prior: Vec::new(),
            elsewhere: false,
        }
    }

    pub(super) fn deadline(&self) -> Option<u64> {
        let open = self.calls.iter().filter(|call| call.settled.is_none());
        let own = open.filter_map(|call| match call.kind {
            Kind::Run { deadline, .. } => Some(deadline),
            Kind::Replay { .. } | Kind::Recalled { .. } | Kind::Told(_) => None,
        });
        own.min().map(|own| own.min(self.total_deadline))
    }

    fn refuse(&mut self, refusal: Refusal, view: CallView) {
        match self.refusals.iter_mut().find(|(reason, _)| *reason == refusal) {
            Some((_, views)) => views.push(view),
            None => self.refusals.push((refusal, vec![view])),
        }
    }
}

impl Turn {
    /// Judges every call in the model's order, and starts the accepted calls.
    pub(super) fn decide(&mut self, said: Said, candidates: Vec<Candidate>) {
        let mut batch = Batch::new(said, Vec::new());
        if let Some(awaiting) = self.record.awaiting.take() {
            batch.prior = awaiting.answered;
            batch.approved = true;
        }
        let mut budget = self.budget();
        for mut candidate in candidates {
            let (ruling, view, signature) = self.rule(&candidate, budget);
            let ruling = match (ruling, candidate.approval) {
                (Ruling::Execute, Approval::Denied) if !planted("a denied call runs") => {
                    Ruling::Refuse(Refusal::NotApproved)
                }
                (ruling, _) => ruling,
            };
            let recalled = candidate.recalled.take();
            let kind = match ruling {
                Ruling::Execute if candidate.approval == Approval::Needed => {
                    // Reserve budget, so that a call can run once the user approves it.
                    budget = budget.saturating_sub(1);
                    batch.awaiting.push(candidate);
                    continue;
                }
                Ruling::Execute => {
                    budget = budget.saturating_sub(1);
                    self.run(&candidate.name, signature)
                }
                Ruling::Recall => Kind::Recalled { signature },
                Ruling::Replay(_) => Kind::Replay { signature },
                Ruling::Refuse(refusal) => {
                    batch.elsewhere |= self.would_run_elsewhere(&candidate, &signature);
                    batch.refuse(refusal, view.clone());
                    if self.phase.name != PhaseName::Unified {
                        continue;
                    }
                    Kind::Told(refusal)
                }
            };
            let tool = self.options.tools.find(&view.name);
            let mut call = BatchCall {
                call: candidate.call,
                read_only: tool.is_some_and(|tool| tool.read_only),
                again: tool.is_some_and(tool::ToolSpec::may_run_again),
                since: self.now,
                settled: recalled
                    .filter(|_| matches!(kind, Kind::Recalled { .. }))
                    .map(|outcome| (outcome, self.now)),
                ..BatchCall::new(view, kind)
            };
            self.admit(&mut call);
            batch.calls.push(call);
        }
        self.open(batch);
        self.settle_replays();
    }

    /// Records a call, so that later calls are judged with it.
    fn admit(&mut self, call: &mut BatchCall) {
        match &call.kind {
            Kind::Run { signature, .. } => {
                self.phase.executed += 1;
                if self.now > 0 || !planted("a resumed turn forgets what ran") {
                    self.record.ledger.accept(signature.clone(), call.call);
                }
            }
            Kind::Recalled { signature } => {
                self.record.ledger.accept(signature.clone(), call.call);
            }
            Kind::Replay { .. } => {}
            Kind::Told(refusal) => {
                let notice = refusal.notice(&[&call.view.name]);
                call.settled = Some((self.soft_stop(*refusal, &notice), call.since));
            }
        }
    }

    /// Restores a stored batch. This produces the same effects as before; the caller drops them.
    pub(super) fn reopen(
        &mut self,
        mut batch: Batch,
        outcomes: impl Fn(&str) -> Option<(Outcome, u64)>,
    ) {
        if batch.approved
            && let Some(awaiting) = self.record.awaiting.take()
        {
            batch.prior = awaiting.answered;
        }
        for call in &mut batch.calls {
            self.admit(call);
            if call.has_record() {
                call.settled =
                    outcomes(&call.view.id).filter(|_| !planted("kept outcomes are forgotten"));
                call.kept = call.settled.is_some();
            }
        }
        self.open(batch);
    }

    fn open(&mut self, mut batch: Batch) {
        batch.since = self.now;
        let left = self.options.policy.tools_total_ms.saturating_sub(self.record.tools_ms);
        batch.total_deadline = self.now.saturating_add(left);
        self.record.decided += 1;
        self.announce(&batch);
        let (phase, cycle, decided) = (self.phase.name, self.cycle, self.record.decided);
        self.keep(|| (records::batch_name(decided), records::batch(&batch, phase, cycle)));
        self.state_changed();
        self.state = State::Running(Box::new(batch));
    }

    pub(super) fn rule(&self, candidate: &Candidate, budget: u32) -> (Ruling, CallView, Signature) {
        let tool = self.options.tools.find(&candidate.name);
        let signature = self.signature_of(candidate);
        let rules = Rules { budget, ..self.rules() };
        let known = candidate.recalled.is_some();
        let ruling =
            tool::judge(tool, candidate.valid, known, &signature, &rules, &self.record.ledger);
        let view = CallView {
            id: candidate.id.clone(),
            name: candidate.name.clone(),
            args: candidate.args.clone(),
            signature: signature.as_str().to_owned(),
        };
        (ruling, view, signature)
    }

    pub(super) fn run(&self, name: &str, signature: Signature) -> Kind {
        let tool = self.options.tools.find(name);
        let policy = &self.options.policy;
        let timeout = tool.and_then(|tool| tool.timeout_ms).unwrap_or(policy.tool_timeout_ms);
        let limit = tool.and_then(|tool| tool.max_result_bytes);
        Kind::Run {
            signature,
            deadline: self.now.saturating_add(timeout),
            limit: limit.unwrap_or(policy.max_tool_result_bytes),
            timeout,
        }
    }

    /// Emits the events of the decision, and starts the tools.
    fn announce(&mut self, batch: &Batch) {
        if !batch.calls.is_empty() {
            self.record.batch += 1;
            let views = batch.calls.iter().map(|call| call.view.clone()).collect();
            self.emit(EventKind::ToolCalls(views));
        }
        for (_, calls) in &batch.refusals {
            for view in calls {
                if !self.record.blocked.contains(&view.signature) {
                    self.record.blocked.push(view.signature.clone());
                }
            }
        }
        for (reason, calls) in &batch.refusals {
            let names: Vec<&str> = calls.iter().map(|view| view.name.as_str()).collect();
            let notice = reason.notice(&names);
            if self.boxed() {
                self.record.context.push(Context::System(notice.clone()));
            }
            self.trace_refused(*reason, calls);
            let blocked = self.record.blocked.clone();
            let (calls, reason) = (calls.clone(), *reason);
            self.emit(EventKind::Refused { calls, reason, notice, blocked });
        }
        for (place, call) in batch.calls.iter().enumerate() {
            self.start_tool(place, call);
        }
    }

    /// Adds the claim of a call, and then the effect that runs it.
    pub(super) fn start_tool(&mut self, place: usize, call: &BatchCall) {
        let Kind::Run { signature, limit, .. } = &call.kind else { return };
        self.trace_tool_call(&call.view);
        let key = self.idempotency_key(place, signature);
        let (batch, epoch) = (self.record.batch, self.record.epoch);
        if !planted("a start without a claim") {
            self.keep(|| (records::claim_name(batch, epoch, &call.view.id), records::claim(&key)));
        }
        self.effects.push_back(Effect::RunTool {
            call: call.call,
            name: call.view.name.clone(),
            tool_call_id: call.view.id.clone(),
            tool_batch_id: batch,
            idempotency_key: key,
            max_result_bytes: *limit,
            args: call.view.args.clone(),
        });
    }

    /// Whether the model receives results as boxes. Otherwise it receives the provider's messages.
    pub(super) fn boxed(&self) -> bool {
        self.phase.name != PhaseName::Unified
            && self.options.policy.results_as == ResultsAs::SystemBox
    }
}
