//! The state machine of a chain: its state, its inputs and its clock.

use std::collections::VecDeque;

use super::classify::{Classification, classify};
use super::options::Options;
use super::plan::Plan;
use super::protocol::{CallKind, Effect, Input};
use super::results::SeenItems;
use super::run::Runs;
use super::stop::Stop;
use crate::error::Error;
use crate::json::Json;
use crate::limits;

/// One chain. See the [module](super) for how to drive it.
#[derive(Debug, Clone)]
pub struct Chain {
    pub(super) options: Options,
    /// Milliseconds on the host's clock; never steps back.
    pub(super) now: u64,
    pub(super) started: u64,
    pub(super) state: State,
    pub(super) classification: Option<Classification>,
    pub(super) plan: Option<Plan>,
    pub(super) runs: Runs,
    pub(super) calls: Vec<Call>,
    pub(super) last_call: u32,
    pub(super) progress: Progress,
    pub(super) seq: u64,
    pub(super) effects: VecDeque<Effect>,
}

/// The state of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not started.
    Idle,
    /// The host classifies the query.
    Classifying,
    /// The planner was called.
    Planning,
    /// Steps are running.
    Running,
    /// The answer is being written from the results.
    Synthesizing,
    /// The answer is being written in one call.
    Answering,
    /// Terminal: no input leaves this state.
    Over,
}

/// A call in flight.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: u32,
    pub(super) kind: CallKind,
    pub(super) step: Option<usize>,
    pub(super) deadline: u64,
    /// Reserved cost.
    pub(super) reserved: f64,
    /// Text streamed so far, if the text is not shown.
    pub(super) text: String,
}

impl Call {
    /// The cost that is counted if the host reports none.
    fn price(&self) -> f64 {
        if matches!(self.kind, CallKind::Recall | CallKind::Condition) {
            0.0
        } else {
            self.reserved
        }
    }
}

/// Data that accumulates while the chain runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// Cost of all calls that have settled.
    pub(super) spent: f64,
    pub(super) seen: SeenItems,
    /// Number of new items of each finished search, in order of completion.
    pub(super) gains: Vec<u64>,
    pub(super) completeness: Option<f64>,
    /// Results have arrived since the last assessment.
    pub(super) unassessed: bool,
    /// Steps have finished since the stop rules were last applied.
    pub(super) unjudged: bool,
    /// Number of waves that had settled at the last replanning.
    pub(super) waves: usize,
    pub(super) stop: Option<Stop>,
    /// The budget that ran out, for `max_cost`.
    pub(super) budget: &'static str,
    pub(super) fell_back: Option<(String, String)>,
    pub(super) refinements: Vec<Json<'static>>,
    /// All text shown so far.
    pub(super) text: String,
    pub(super) attempts: u32,
}

impl Chain {
    /// Makes a chain from a host's options; see [`Options::parse`] for their form.
    ///
    /// # Errors
    /// Those of [`Options::parse`].
    pub fn new(options: &[u8]) -> Result<Self, Error> {
        Ok(Self::with(Options::parse(options)?))
    }

    /// Makes a chain from options that [`Options::checked`] has accepted.
    #[must_use]
    pub fn with(options: Options) -> Self {
        Self {
            options,
            now: 0,
            started: 0,
            state: State::Idle,
            classification: None,
            plan: None,
            runs: Runs::default(),
            calls: Vec::new(),
            last_call: 0,
            progress: Progress { budget: "cost", ..Progress::default() },
            seq: 0,
            effects: VecDeque::new(),
        }
    }

    /// Handles an input. `now_ms` is the host's monotonic clock, from any origin; a step back is
    /// ignored. Late, repeated and unknown inputs are ignored.
    pub fn handle(&mut self, now_ms: u64, input: Input<'_>) {
        self.now = self.now.max(now_ms);
        match input {
            Input::Start => self.start(),
            Input::Chunk { call, text } => self.chunk(call, text),
            Input::Returned { call, value, cost } => {
                let value = Json::parse_lossy(value.as_bytes(), limits::STEP_RESULT_BYTES);
                let inside = || value.as_ref().ok()?.get("cost")?.as_f64();
                if let Some(call) = self.settle(call, cost.or_else(inside)) {
                    match value {
                        Ok(value) => self.returned(call, value.into_owned()),
                        Err(error) => {
                            let code = match error {
                                crate::json::JsonError::TooLarge { .. } => "chain.result_too_large",
                                _ => "chain.invalid_result",
                            };
                            self.failed(call, code, &error.to_string(), false);
                        }
                    }
                }
            }
            Input::Failed { call, code, message, retryable, cost } => {
                if let Some(call) = self.settle(call, cost) {
                    self.failed(call, code, message, retryable);
                }
            }
            Input::Timer => {}
            Input::Cancel { reason } => self.cancel(reason),
        }
        self.expire();
        self.advance();
    }

    /// Returns the next effect. After each input, poll until `None` and perform the effects in
    /// order.
    #[must_use]
    pub fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The time at which to send [`Input::Timer`] if no other input arrives, on the clock of
    /// [`Chain::handle`]. `None` before the start and after the end.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        if matches!(self.state, State::Idle | State::Over) {
            return None;
        }
        let calls = self.calls.iter().map(|call| call.deadline);
        let total = self.is_before_answer().then(|| self.total_deadline());
        calls.chain(total).chain(self.retry_at()).min()
    }

    fn start(&mut self) {
        if self.state != State::Idle {
            return;
        }
        self.started = self.now;
        if !self.options.enabled {
            return self.answer();
        }
        let own = classify(&self.options.query, &self.options.classifier);
        let body = Json::object([
            ("query", self.options.query.clone().into()),
            ("classification", own.to_json()),
        ]);
        self.classification = Some(own);
        if self.options.hooks.classify {
            self.state = State::Classifying;
            return self.call(CallKind::Classify, None, body);
        }
        self.classified("core");
    }

    /// Starts a call to the host.
    pub(super) fn call(&mut self, kind: CallKind, step: Option<usize>, body: Json<'static>) {
        let limits = &self.options.limits;
        let time = match kind {
            CallKind::Answer => limits.answer_ms,
            CallKind::Synthesize if self.state == State::Synthesizing => limits.answer_ms,
            CallKind::Plan => limits.plan_ms,
            CallKind::Recall => limits.step_ms.min(RECALL_MS),
            _ => limits.step_ms,
        };
        self.last_call += 1;
        let call = Call {
            id: self.last_call,
            kind,
            step,
            deadline: self.now.saturating_add(time),
            // A cache or condition call also reserves the cost of the step that may follow.
            reserved: match step {
                Some(at) => self.price(self.call_kind(at)),
                None => self.price(kind),
            },
            text: String::new(),
        };
        self.effects.push_back(Effect::Call { call: call.id, kind, body });
        self.calls.push(call);
    }

    /// Removes a call from those in flight and counts its cost. `None` if it is not in flight.
    fn settle(&mut self, id: u32, cost: Option<f64>) -> Option<Call> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        let call = self.calls.remove(at);
        let said = cost.filter(|cost| cost.is_finite() && *cost >= 0.0);
        let cost = said.unwrap_or_else(|| call.price());
        self.progress.spent += cost;
        if let Some(price) = self.options.costs.of(call.kind) {
            // The next call of this kind may cost as much.
            *price = price.max(cost);
        }
        if let Some(run) = call.step.and_then(|at| self.runs.get_mut(at)) {
            run.cost += cost;
        }
        Some(call)
    }

    /// The cost to reserve for a call of `kind`.
    pub(super) fn price(&self, kind: CallKind) -> f64 {
        let mut costs = self.options.costs;
        costs.of(kind).map_or(0.0, |price| *price)
    }

    /// Whether the budget covers a call of `kind` and the answer.
    pub(super) fn affords(&self, kind: CallKind) -> bool {
        let costs = &self.options.costs;
        let reserved: f64 = self.calls.iter().map(|call| call.reserved).sum();
        let answer = costs.answer.max(costs.synthesize);
        let all = self.progress.spent + reserved + self.price(kind) + answer;
        all <= self.options.limits.max_cost + super::stop::SLACK
    }

    /// Aborts calls. Their cost so far is unknown, so their full price counts.
    pub(super) fn abort(&mut self, reason: &'static str, which: impl Fn(&Call) -> bool) {
        let (aborted, kept) = std::mem::take(&mut self.calls).into_iter().partition(which);
        self.calls = kept;
        let aborted: Vec<Call> = aborted;
        for call in aborted {
            self.progress.spent += call.price();
            if let Some(run) = call.step.and_then(|at| self.runs.get_mut(at)) {
                run.cost += call.price();
            }
            self.effects.push_back(Effect::Abort { call: call.id, reason });
        }
    }

    pub(super) fn is_before_answer(&self) -> bool {
        matches!(self.state, State::Classifying | State::Planning | State::Running)
    }

    pub(super) fn total_deadline(&self) -> u64 {
        self.started.saturating_add(self.options.limits.total_ms)
    }

    /// Handles the deadlines that have passed.
    fn expire(&mut self) {
        if matches!(self.state, State::Idle | State::Over) {
            return;
        }
        if self.is_before_answer() && self.now >= self.total_deadline() {
            return self.out_of_time();
        }
        while let Some(at) = self.calls.iter().position(|call| call.deadline <= self.now) {
            let call = self.calls.remove(at);
            self.effects.push_back(Effect::Abort { call: call.id, reason: "timeout" });
            self.progress.spent += call.price();
            if let Some(run) = call.step.and_then(|at| self.runs.get_mut(at)) {
                run.cost += call.price();
            }
            let code = if call.kind == CallKind::Plan { "plan.timeout" } else { "chain.timeout" };
            let message = format!("`{}` took too long", call.kind.name());
            self.failed(call, code, &message, true);
        }
    }
}

/// Time limit of a cache call in milliseconds. An arbitrary value; a search hardly takes longer.
const RECALL_MS: u64 = 2_000;
