//! The calls of one response: judged, executed together, settled.

use sha2::{Digest, Sha256};

use super::candidates::{Candidate, Said, unique};
use super::io::{Effect, Settled};
use super::machine::{State, Turn};
use super::policy::ResultsAs;
use super::prompt::{Answered, Context, Exchange};
use crate::canon::Json;
use crate::signature::{Signature, hex};
use crate::tool::{self, Outcome, Refusal, Rules, Ruling, Status};
use crate::trace::{CallView, EventKind, PhaseName, ResultView};

/// Calls that are executed together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    since: u64,
    /// When all calls of the turn together have had their time.
    total_deadline: u64,
    said: Said,
    calls: Vec<BatchCall>,
    /// Refused calls with their notices, for histories in which each call needs an answer.
    refused: Vec<Answered>,
    /// The action phase must know, once the batch is over.
    elsewhere: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct BatchCall {
    call: u32,
    view: CallView,
    kind: Kind,
    since: u64,
    settled: Option<(Outcome, u64)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// The host runs it.
    Run { signature: Signature, deadline: u64, limit: u64, timeout: u64 },
    /// It takes the outcome of an earlier call.
    Replay { signature: Signature },
    /// It got its answer when it was judged.
    Told,
}

impl Batch {
    pub(super) fn deadline(&self) -> Option<u64> {
        let open = self.calls.iter().filter(|call| call.settled.is_none());
        let own = open.filter_map(|call| match call.kind {
            Kind::Run { deadline, .. } => Some(deadline),
            Kind::Replay { .. } | Kind::Told => None,
        });
        own.min().map(|own| own.min(self.total_deadline))
    }
}

impl Turn {
    /// Judges every call in the model's order and starts those that are accepted.
    pub(super) fn decide(&mut self, said: Said, candidates: Vec<Candidate>) {
        let mut batch = Batch {
            since: self.now,
            total_deadline: {
                let left = self.options.policy.tools_total_ms.saturating_sub(self.record.tools_ms);
                self.now.saturating_add(left)
            },
            said,
            calls: Vec::new(),
            refused: Vec::new(),
            elsewhere: false,
        };
        let mut refusals: Vec<(Refusal, Vec<CallView>)> = Vec::new();
        let mut budget = self.budget();
        for candidate in candidates {
            let (ruling, view, signature) = self.rule(&candidate, budget);
            let kind = match ruling {
                Ruling::Execute => {
                    budget = budget.saturating_sub(1);
                    self.phase.executed += 1;
                    self.record.ledger.accept(signature.clone(), candidate.call);
                    self.run(&candidate.name, signature)
                }
                Ruling::Replay(_) => Kind::Replay { signature },
                Ruling::Refuse(refusal) => {
                    batch.elsewhere |= self.would_run_elsewhere(&candidate, &signature);
                    if !self.record.blocked.contains(&view.signature) {
                        self.record.blocked.push(view.signature.clone());
                    }
                    match refusals.iter_mut().find(|(reason, _)| *reason == refusal) {
                        Some((_, views)) => views.push(view.clone()),
                        None => refusals.push((refusal, vec![view.clone()])),
                    }
                    let notice = refusal.notice(&[&view.name]);
                    if self.phase.name == PhaseName::Unified {
                        let told = self.soft_stop(refusal, &notice);
                        let call = candidate.call;
                        let settled = Some((told, self.now));
                        let since = self.now;
                        batch.calls.push(BatchCall {
                            call,
                            view,
                            kind: Kind::Told,
                            since,
                            settled,
                        });
                    } else {
                        batch.refused.push(Answered { view, answer: notice });
                    }
                    continue;
                }
            };
            let (call, since) = (candidate.call, self.now);
            batch.calls.push(BatchCall { call, view, kind, since, settled: None });
        }
        self.announce(&batch, &refusals);
        self.state = State::Running(Box::new(batch));
        self.settle_replays();
    }

    fn rule(&self, candidate: &Candidate, budget: u32) -> (Ruling, CallView, Signature) {
        let tool = self.options.tools.find(&candidate.name);
        let (action, project) = (candidate.action.as_deref(), self.options.project_id.as_deref());
        let signature = Signature::new(&candidate.name, action, &candidate.args, project);
        let rules = Rules { budget, ..self.rules() };
        let ruling = tool::judge(tool, candidate.valid, &signature, &rules, &self.record.ledger);
        let view = CallView {
            id: candidate.id.clone(),
            name: candidate.name.clone(),
            args: candidate.args.clone(),
            signature: signature.as_str().to_owned(),
        };
        (ruling, view, signature)
    }

    fn run(&self, name: &str, signature: Signature) -> Kind {
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

    /// Shows what was decided, and starts the tools.
    fn announce(&mut self, batch: &Batch, refusals: &[(Refusal, Vec<CallView>)]) {
        if !batch.calls.is_empty() {
            self.record.batch += 1;
            let views = batch.calls.iter().map(|call| call.view.clone()).collect();
            self.emit(EventKind::ToolCalls(views));
        }
        for (reason, calls) in refusals {
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
            let Kind::Run { signature, limit, .. } = &call.kind else { continue };
            let max_result_bytes = *limit;
            self.trace_tool_call(&call.view);
            let tool_batch_id = self.record.batch;
            let request = &self.options.request_id;
            let key = format!("{request}/{tool_batch_id}/{place}/{}", signature.as_str());
            let key = hex(&Sha256::digest(key.as_bytes()));
            self.effects.push_back(Effect::RunTool {
                call: call.call,
                name: call.view.name.clone(),
                tool_call_id: call.view.id.clone(),
                tool_batch_id,
                idempotency_key: key,
                max_result_bytes,
                args: call.view.args.clone(),
            });
        }
    }

    pub(super) fn tool_settled(&mut self, call: u32, settled: Settled) {
        let now = self.now;
        let State::Running(batch) = &mut self.state else { return };
        let open = |one: &&mut BatchCall| one.call == call && one.settled.is_none();
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

    /// Shown while the call runs; it changes nothing else.
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

    /// Replays take their outcome as soon as it is known; then the batch may be over.
    fn settle_replays(&mut self) {
        let State::Running(batch) = &mut self.state else { return };
        for one in &batch.calls {
            if let (Kind::Run { signature, .. }, Some((outcome, _))) = (&one.kind, &one.settled) {
                self.record.ledger.settle(signature, one.call, outcome);
            }
        }
        for one in batch.calls.iter_mut().filter(|one| one.settled.is_none()) {
            if let Kind::Replay { signature } = &one.kind {
                let known = self.record.ledger.outcome(signature);
                one.settled = known.map(|outcome| (outcome.clone(), one.since));
            }
        }
        if batch.calls.iter().all(|one| one.settled.is_some()) {
            self.finish_batch();
        }
    }

    fn finish_batch(&mut self) {
        let Some(batch) = self.close_batch() else { return };
        let ran = |one: &&BatchCall| matches!(one.kind, Kind::Run { .. });
        let executed = u32::try_from(batch.calls.iter().filter(ran).count()).unwrap_or(u32::MAX);
        match self.phase.name {
            PhaseName::Tool => self.after_tools(executed),
            PhaseName::Action => {
                self.after_action(executed, true, batch.elsewhere);
            }
            PhaseName::Unified | PhaseName::Complete => self.after_step(),
        }
    }

    /// Cancels what has not settled; the turn is about to end.
    pub(super) fn cancel_batch(&mut self) {
        let now = self.now;
        let State::Running(batch) = &mut self.state else { return };
        for one in batch.calls.iter_mut().filter(|one| one.settled.is_none()) {
            let message = "the turn ended before the tool did";
            one.settled =
                Some((Outcome::failed(Status::Cancelled, "tool.cancelled", message), now));
            if matches!(one.kind, Kind::Run { .. }) {
                self.effects.push_back(Effect::CancelTool { call: one.call, reason: "cancelled" });
            }
        }
        self.close_batch();
    }

    /// Shows and records the results of a batch in which everything has settled.
    fn close_batch(&mut self) -> Option<Batch> {
        let State::Running(batch) = std::mem::replace(&mut self.state, State::Over) else {
            return None;
        };
        self.record.tools_ms += self.now.saturating_sub(batch.since);
        let mut results = Vec::new();
        let mut answered = Vec::new();
        for one in &batch.calls {
            let Some((outcome, at)) = &one.settled else { continue };
            let read_only =
                self.options.tools.find(&one.view.name).is_some_and(|tool| tool.read_only);
            match &one.kind {
                Kind::Run { .. } if self.boxed() => {
                    let (name, args) = (&one.view.name, &one.view.args);
                    let text = self.record.boxes.wrap(name, args, outcome, read_only);
                    self.record.context.push(Context::System(text));
                }
                Kind::Replay { .. } if self.boxed() => {
                    let notice = Refusal::Duplicate.notice(&[&one.view.name]);
                    self.record.context.push(Context::System(notice));
                }
                Kind::Run { .. } | Kind::Replay { .. } | Kind::Told => {}
            }
            answered.push(Answered { view: one.view.clone(), answer: outcome.for_model() });
            results.push(ResultView {
                tool_call_id: one.view.id.clone(),
                name: one.view.name.clone(),
                signature: one.view.signature.clone(),
                outcome: outcome.clone(),
                duration_ms: at.saturating_sub(one.since),
                replayed: matches!(one.kind, Kind::Replay { .. }),
            });
        }
        if !self.boxed() {
            answered.extend(batch.refused.iter().cloned());
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
        if !results.is_empty() {
            for result in &results {
                self.trace_tool_result(result);
            }
            self.record.results.extend(results.iter().cloned());
            self.emit(EventKind::ToolResults(results));
        }
        Some(*batch)
    }

    /// Whether results reach the model as boxes; else as the provider's own messages.
    fn boxed(&self) -> bool {
        self.phase.name != PhaseName::Unified
            && self.options.policy.results_as == ResultsAs::SystemBox
    }
}

/// An error's text obeys the limit of results.
fn clip(mut message: String, limit: u64) -> String {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    message.truncate(message.floor_char_boundary(limit));
    message
}
