//! The state machine of a chain: its state, its inputs and its clock.

use std::collections::VecDeque;

use super::calls::{CallBody, CallKind, ClassifyCall};
use super::classify::{Classification, classify};
use super::event::Classifier;
use super::options::ChainOptions;
use super::outcome::{Failure, Refinement};
use super::plan::{Plan, PlanLimits};
use super::protocol::{AbortReason, Effect, Input};
use super::results::SeenItems;
use super::run::Runs;
use super::stop::Stop;
use crate::error::Error;
use crate::json::JsonError;
use crate::limits;
use crate::next::Next;

/// One chain. See the [module](super) for how to drive it.
#[derive(Debug, Clone)]
pub struct Chain {
    pub(super) options: ChainOptions,
    pub(super) plan_limits: PlanLimits,
    /// Milliseconds on the host's clock; never steps back.
    pub(super) now: u64,
    pub(super) started: u64,
    pub(super) state: State,
    pub(super) classification: Option<Classification>,
    pub(super) plan: Option<Plan>,
    /// The index of the step that writes the answer.
    pub(super) last: usize,
    pub(super) runs: Runs,
    pub(super) calls: Vec<Call>,
    pub(super) last_call: u32,
    pub(super) progress: Accumulated,
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
        if matches!(self.kind, CallKind::Recall | CallKind::Condition | CallKind::Enhance) {
            0.0
        } else {
            self.reserved
        }
    }
}

/// Data that accumulates while the chain runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Accumulated {
    /// Cost of all calls that have settled.
    pub(super) spent: f64,
    pub(super) seen: SeenItems,
    /// Steps whose results the host has not rated yet, in order of completion.
    pub(super) unrated: VecDeque<usize>,
    /// The host's ratings of searches, in order of completion.
    pub(super) qualities: Vec<f64>,
    /// Steps of whose results the host has not made a short text yet.
    pub(super) unsummarized: VecDeque<usize>,
    /// The step of whose result the host is making one.
    pub(super) summarizing: Option<usize>,
    /// Calls of the planner so far.
    pub(super) plans: u32,
    /// When the planner is asked again, and why.
    pub(super) plan_again: Option<u64>,
    pub(super) plan_error: Option<Failure>,
    /// The last answer of the planner was read, and was no plan.
    pub(super) plan_refused: bool,
    pub(super) completeness: Option<f64>,
    /// Results have arrived since the last assessment.
    pub(super) unassessed: bool,
    /// Steps have finished since the stop rules were last applied.
    pub(super) unjudged: bool,
    /// Number of waves that had settled at the last replanning.
    pub(super) waves: usize,
    pub(super) stop: Option<Stop>,
    pub(super) fell_back: Option<Failure>,
    pub(super) refinements: Vec<Refinement>,
    /// All text shown so far.
    pub(super) text: String,
    pub(super) attempts: u32,
}

impl Chain {
    /// Makes a chain.
    ///
    /// # Errors
    /// `options.invalid` with the path of an option that is out of range, or does not fit another
    /// one.
    pub fn new(options: ChainOptions) -> Result<Self, Error> {
        let options = options.checked()?;
        Ok(Self {
            plan_limits: options.plan_limits(),
            options,
            now: 0,
            started: 0,
            state: State::Idle,
            classification: None,
            plan: None,
            last: 0,
            runs: Runs::default(),
            calls: Vec::new(),
            last_call: 0,
            progress: Accumulated::default(),
            seq: 0,
            effects: VecDeque::new(),
        })
    }

    /// Handles an input. `now_ms` is the host's monotonic clock, from any origin; a step back is
    /// ignored. Late, repeated and unknown inputs are ignored.
    pub fn handle(&mut self, now_ms: u64, input: Input) {
        self.now = self.now.max(now_ms);
        self.take(input);
        self.expire();
        self.advance();
    }

    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Start => self.start(),
            Input::Chunk { call, text } => self.chunk(call, text),
            Input::Returned { call, value, cost } => {
                let limit = limits::STEP_RESULT_BYTES;
                if value.to_text().len() > limit {
                    let error = JsonError::TooLarge { limit };
                    return self.take(Input::unread(call, &error, cost));
                }
                let inside = || value.get("cost")?.as_f64();
                if let Some(call) = self.settle(call, cost.or_else(inside)) {
                    self.returned(call, value);
                }
            }
            Input::Failed { call, code, message, retryable, cost } => {
                if let Some(call) = self.settle(call, cost) {
                    self.failed(call, Failure { code, message }, retryable);
                }
            }
            Input::Timer => {}
            Input::Cancel { reason } => self.cancel(reason),
        }
    }

    /// Returns the next effect, or until when to wait for the next input. After each input, poll
    /// until [`Next::Wait`], and perform the effects in order. If no other input arrives in time,
    /// send [`Input::Timer`].
    pub fn poll(&mut self) -> Next<Effect> {
        let effect = self.effects.pop_front();
        effect.map_or_else(|| Next::Wait { until: self.deadline() }, Next::Effect)
    }

    fn deadline(&self) -> Option<u64> {
        if matches!(self.state, State::Idle | State::Over) {
            return None;
        }
        let calls = self.calls.iter().map(|call| call.deadline);
        let total = self.is_before_answer().then(|| self.total_deadline());
        let total = total.into_iter().chain(self.progress.plan_again);
        calls.chain(total).chain(self.retry_at()).min()
    }

    fn start(&mut self) {
        if self.state != State::Idle {
            return;
        }
        self.started = self.now;
        if !self.options.is_enabled() {
            return self.answer();
        }
        let query = self.options.query.clone();
        let classification = classify(&query, &self.options.classifier);
        self.classification = Some(classification.clone());
        if self.options.hooks.classify {
            self.state = State::Classifying;
            let body = ClassifyCall { query, classification };
            return self.call(CallBody::Classify(body), None);
        }
        self.classified(Classifier::Core);
    }

    /// Starts a call to the host.
    pub(super) fn call(&mut self, body: CallBody, step: Option<usize>) {
        let kind = body.kind();
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
        self.effects.push_back(Effect::Call { call: call.id, body });
        self.calls.push(call);
    }

    /// Removes a call from those in flight and counts its cost. `None` if it is not in flight.
    fn settle(&mut self, id: u32, cost: Option<f64>) -> Option<Call> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        let call = self.calls.remove(at);
        let said = cost.filter(|cost| cost.is_finite() && *cost >= 0.0);
        let cost = said.unwrap_or_else(|| call.price());
        self.charge(&call, cost);
        if let Some(price) = self.options.costs.of_mut(call.kind) {
            // The next call of this kind may cost as much.
            *price = price.max(cost);
        }
        Some(call)
    }

    /// Counts the cost of a call, for its step too. The call of the last synthesis has no step.
    fn charge(&mut self, call: &Call, cost: f64) {
        self.progress.spent += cost;
        let last = (call.kind == CallKind::Synthesize).then_some(self.last);
        if let Some(run) = call.step.or(last).and_then(|at| self.runs.get_mut(at)) {
            run.cost += cost;
        }
    }

    /// The cost to reserve for a call of `kind`.
    pub(super) fn price(&self, kind: CallKind) -> f64 {
        self.options.costs.of(kind)
    }

    /// Whether the budget covers a call of `kind` and the answer.
    pub(super) fn affords(&self, kind: CallKind) -> bool {
        let reserved: f64 = self.calls.iter().map(|call| call.reserved).sum();
        let answer = self.options.costs.reserve();
        let all = self.progress.spent + reserved + self.price(kind) + answer;
        all <= self.options.limits.budget() + super::stop::SLACK
    }

    /// Aborts calls. Their cost so far is unknown, so their full price counts.
    pub(super) fn abort(&mut self, reason: AbortReason, which: impl Fn(&Call) -> bool) {
        let (aborted, kept) = std::mem::take(&mut self.calls).into_iter().partition(which);
        self.calls = kept;
        let aborted: Vec<Call> = aborted;
        for call in aborted {
            self.charge(&call, call.price());
            self.effects.push_back(Effect::Abort { call: call.id, reason });
        }
    }

    pub(super) fn is_before_answer(&self) -> bool {
        matches!(self.state, State::Classifying | State::Planning | State::Running)
    }

    fn total_deadline(&self) -> u64 {
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
            self.effects.push_back(Effect::Abort { call: call.id, reason: AbortReason::Timeout });
            self.charge(&call, call.price());
            let code = if call.kind == CallKind::Plan { "plan.timeout" } else { "chain.timeout" };
            let message = format!("`{}` took too long", call.kind.name());
            self.failed(call, Failure::new(code, message), true);
        }
    }
}

/// Time limit of a cache call in milliseconds. An arbitrary value; a search hardly takes longer.
///
/// Limit | asking the cache of a chain | ms | as if it had nothing
const RECALL_MS: u64 = 2_000;
