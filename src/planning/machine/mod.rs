//! The state machine of a pass: its state, its inputs, its clock, and the next step.

mod calls;
mod trace;

use std::collections::VecDeque;

use super::options::PassOptions;
use super::parse::RequestedCall;
use super::prompt::{self, Asked, Offer};
use super::rejected::RequestRejection;
use super::result::{FellBack, PassResult, PlanCandidate};
use super::trace::{PassEvent, PassPhase};
use super::{find, parse};
use crate::error::{Error, Failure};
use crate::guard::Guard;
use crate::inference::{End, Heard, Inference, Part, Rules};
use crate::next::Next;
use crate::provider::Wire;
use crate::reply::spoken;
use crate::stream::{Response, Usage};
use crate::tool::{BoxMaker, Call, CallBatch, Outcome, fit_arguments};
use crate::turn::{CancelReason, Effect, Input};

/// An action that the host of a pass must perform.
pub type PassEffect = Effect<PassResult, PassEvent>;

/// One pass. See the [module](super) for what it does, and
/// [the contract](crate#contract-drain-before-you-wait) for how to call it.
#[derive(Debug, Clone)]
pub struct Pass {
    options: PassOptions,
    /// The plan's id is made from the input.
    is_id_derived: bool,
    /// Milliseconds on the host's clock; never steps back.
    now: u64,
    started: u64,
    state: State,
    record: Record,
    effects: VecDeque<PassEffect>,
}

/// The state of a pass.
#[derive(Debug, Clone)]
enum State {
    /// Not started.
    Idle,
    /// A request is in flight, or waits for its next attempt.
    Asking(PassPhase, Box<Inference>),
    /// Calls are checked, or run.
    Calling(CallBatch),
    /// Terminal. No input leaves this state.
    Over,
}

/// The data that accumulates over the pass.
#[derive(Debug, Clone)]
struct Record {
    inferences: u32,
    /// The number of requests made.
    iteration: u64,
    /// The calls of earlier requests, in order.
    calls: Vec<Call>,
    /// The reason for each call, in the order of their numbers.
    reasons: Vec<String>,
    /// Why requests, or calls of them, were rejected.
    rejected: Vec<RequestRejection>,
    /// What deviates from the schema and does not matter.
    notes: Vec<RequestRejection>,
    /// The lengths of `rejected` and `notes` before the last response.
    heard: (usize, usize),
    /// What the last request came to, as long as no call ran.
    without: FellBack,
    guard: Guard<Outcome>,
    /// The number of calls that ran or used a recorded result.
    executed: u64,
    /// Milliseconds spent running tools.
    tools_ms: u64,
    boxes: BoxMaker,
    /// The sealed results.
    sealed: Option<String>,
    usage: Usage,
    /// The plan was requested a second time.
    again: bool,
}

impl Pass {
    /// Makes a pass.
    ///
    /// # Errors
    /// `options.invalid` for options that contradict each other or are missing without recorded
    /// results; `tool.invalid_name` for a tool that is named `request_tools`.
    pub fn new(options: PassOptions) -> Result<Self, Error> {
        let is_id_derived = options.plan_id.is_empty();
        Ok(Self::with(options.resolved()?, is_id_derived))
    }

    fn with(options: PassOptions, is_id_derived: bool) -> Self {
        Self {
            is_id_derived,
            now: 0,
            started: 0,
            state: State::Idle,
            record: Record {
                inferences: 0,
                iteration: 0,
                calls: Vec::new(),
                reasons: Vec::new(),
                rejected: Vec::new(),
                notes: Vec::new(),
                heard: (0, 0),
                without: FellBack::NoRequest,
                guard: Guard::default(),
                executed: 0,
                tools_ms: 0,
                boxes: match &options.box_secret {
                    Some(secret) => {
                        let pass = format!("{}\n{}", options.plan_id, options.run_id);
                        BoxMaker::derived(secret, &pass)
                    }
                    None => BoxMaker::new(&options.secret),
                },
                sealed: None,
                usage: Usage::default(),
                again: false,
            },
            effects: VecDeque::new(),
            options,
        }
    }

    /// Returns the id of the run in events, which may be made from the input.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.options.run_id
    }

    /// Handles an input. `now_ms` is the host's monotonic clock, from any origin; a step back is
    /// ignored. Late, repeated and unknown inputs are ignored, and so are inputs that only a turn
    /// handles.
    pub fn handle(&mut self, now_ms: u64, input: Input) {
        self.now = self.now.max(now_ms);
        match input.part() {
            // The limits of a pass count a response that is held back as silence, and it repairs none
            // of its requests.
            Ok((_, Part::HeldBack | Part::Repaired(..))) => {}
            Ok((request, part)) => {
                let open = !matches!(part, Part::Ended);
                if let State::Asking(step, inference) = &mut self.state
                    && let Some(heard) = inference.take(self.now, request, part)
                {
                    let step = *step;
                    self.heard(step, request.0, Heard { abort: heard.abort && open, ..heard });
                }
            }
            Err(input) => self.take(input),
        }
        self.expire();
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Start => self.start(),
            Input::Checked { call, verdict } => self.checked(call, verdict),
            Input::ToolSettled { call, settled } => self.tool_settled(call, settled),
            Input::Cancel { reason } => self.cancel(reason),
            // Only the time, or an input of turns alone.
            Input::ResponseHead { .. }
            | Input::ResponseBytes { .. }
            | Input::Deltas { .. }
            | Input::HeldBack { .. }
            | Input::Repaired { .. }
            | Input::ResponseEnded { .. }
            | Input::ResponseFailed { .. }
            | Input::Recalled { .. }
            | Input::Stored { .. }
            | Input::ToolProgress { .. }
            | Input::ToolUsage { .. }
            | Input::Timer
            | Input::Pause
            | Input::Verify => {}
        }
    }

    /// Returns the next effect, or until when to wait for the next input. After each input, poll
    /// until [`Next::Wait`] and perform the effects in order. If no other input occurs in time, send
    /// [`Input::Timer`].
    pub fn poll(&mut self) -> Next<PassEffect> {
        let effect = self.effects.pop_front();
        effect.map_or_else(|| Next::Wait { until: self.deadline() }, Next::Effect)
    }

    fn deadline(&self) -> Option<u64> {
        let own = match &self.state {
            State::Idle | State::Over => return None,
            State::Asking(_, inference) => inference.deadline(),
            State::Calling(batch) => batch.deadline().unwrap_or(u64::MAX),
        };
        Some(own.min(self.end_of_time()))
    }

    fn end_of_time(&self) -> u64 {
        self.started.saturating_add(self.options.policy.total_ms)
    }

    fn start(&mut self) {
        if matches!(self.state, State::Idle) {
            self.started = self.now;
            self.go_on();
        }
    }

    /// Makes every transition.
    fn enter(&mut self, next: State) {
        if let State::Calling(batch) = std::mem::replace(&mut self.state, next) {
            self.record.calls.extend(batch.into_calls());
        }
    }

    /// Handles a deadline that has passed.
    fn expire(&mut self) {
        let Some(due) = self.deadline() else { return };
        if self.now < due {
            return;
        }
        if self.now >= self.end_of_time() {
            return self.out_of_time();
        }
        match &mut self.state {
            State::Asking(step, inference) if inference.is_waiting() => {
                let step = *step;
                inference.retry(self.now);
                self.send(step);
            }
            State::Asking(step, inference) => {
                let (step, number) = (*step, inference.number());
                let heard = inference.time_out(self.now);
                self.heard(step, number, heard);
            }
            State::Calling(_) => self.calls_timed_out(),
            State::Idle | State::Over => {}
        }
    }

    fn out_of_time(&mut self) {
        self.stop_all(CancelReason::Timeout);
        let message = format!("no plan within {} ms", self.options.policy.total_ms);
        self.fail(Failure::new("model.timeout", message));
    }

    /// Starts the next request if it may still lead to a call, otherwise the plan.
    fn go_on(&mut self) {
        let policy = &self.options.policy;
        let left = self.record.iteration < policy.max_iterations && self.budget() > 0;
        self.ask(if left { PassPhase::Request } else { PassPhase::Plan });
    }

    fn budget(&self) -> u64 {
        self.options.policy.max_tool_calls.saturating_sub(self.record.executed)
    }

    /// Starts the next inference.
    fn ask(&mut self, step: PassPhase) {
        self.record.inferences += 1;
        if step == PassPhase::Request {
            self.record.iteration += 1;
        }
        let policy = &self.options.policy;
        let rules = Rules {
            first_byte_ms: policy.model_first_byte_ms,
            idle_ms: policy.model_idle_ms,
            max_retries: u32::try_from(self.options.max_retries).unwrap_or(u32::MAX),
            secret: self.options.secret.clone(),
            end: self.end_of_time(),
            // Nothing of a response is shown before it is complete.
            discards_output: true,
            stops_at_call: false,
            starts_calls: false,
            early: Vec::new(),
            needs_output: false,
            // The reader of requests and plans drops thoughts.
            markup: None,
        };
        let number = self.record.inferences;
        let inference = Inference::new(number, Wire::of(self.options.dialect), rules, self.now);
        self.enter(State::Asking(step, Box::new(inference)));
        self.send(step);
    }

    /// Sends the request of the current inference.
    fn send(&mut self, step: PassPhase) {
        let offer = (step == PassPhase::Request).then(|| {
            let all = self.options.tools.all().iter();
            let tools = all.filter(|tool| self.options.refused_by_name(&tool.name).is_none());
            Offer { tools: tools.collect(), limit: self.budget() }
        });
        let sealed = self.record.sealed.as_deref();
        let asked = Asked { sealed, offer, again: self.record.again };
        let request = prompt::ask(&self.options, &asked);
        let State::Asking(_, inference) = &self.state else { return };
        let (inference, attempt) = (inference.number(), inference.attempt());
        self.effects.push_back(Effect::Fetch { inference, attempt, model: 0, request });
    }

    fn heard(&mut self, step: PassPhase, inference: u32, heard: Heard) {
        if heard.abort {
            self.effects.push_back(Effect::Abort { inference });
        }
        match heard.end {
            None | Some(End::Retried) => {}
            Some(End::Done(response)) => {
                if let Some(usage) = response.usage {
                    self.record.usage.add(usage);
                }
                match step {
                    PassPhase::Request => self.requested(inference, &response),
                    PassPhase::Plan => self.planned(inference, &response),
                }
            }
            Some(End::Failed(failure)) => {
                self.trace_llm_call(step, inference, Err(&failure), 0);
                match step {
                    // A plan is still possible without a request.
                    PassPhase::Request if self.options.strict && failure.code == "replay.miss" => {
                        self.fail(failure);
                    }
                    PassPhase::Request => {
                        self.record.without = FellBack::ModelFailed;
                        self.ask(PassPhase::Plan);
                    }
                    PassPhase::Plan => self.fail(failure),
                }
            }
        }
    }

    /// Handles the response of the request pass.
    fn requested(&mut self, number: u32, response: &Response) {
        let most = if self.options.whole { u64::MAX } else { self.options.policy.max_reason_chars };
        let reading = if response.calls.is_empty() {
            parse::read_text(&response.text, most)
        } else {
            parse::read_calls(&response.calls, most)
        };
        let count = reading.as_ref().map_or(0, |reading| reading.calls.len());
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.trace_llm_call(PassPhase::Request, number, Ok(response), count);
        self.record.heard = (self.record.rejected.len(), self.record.notes.len());
        let mut calls = Vec::new();
        match reading {
            Ok(reading) => {
                self.record.without = match reading.calls.len() {
                    0 => FellBack::NoRequest,
                    _ => FellBack::AllBlocked,
                };
                self.record.notes.extend(reading.notes);
                for (index, call) in reading.calls.into_iter().enumerate() {
                    match call {
                        Ok(call) => calls.push(self.fitted(index, call)),
                        Err(rejected) => self.record.rejected.push(rejected),
                    }
                }
            }
            Err(rejected) => {
                self.record.without = FellBack::InvalidRequest;
                self.record.rejected.extend(rejected);
            }
        }
        if calls.is_empty() {
            self.trace_request();
            return self.ask(PassPhase::Plan);
        }
        let batch = self.batch(calls);
        self.enter(State::Calling(batch));
        self.judge_when_checked();
    }

    /// Fits the arguments of a call to the schema of its tool, which is noted once.
    fn fitted(&mut self, index: usize, mut call: RequestedCall) -> RequestedCall {
        let schema = self.options.tools.find(&call.tool_name).map(|tool| &tool.input_schema);
        if !fit_arguments(&mut call.params, schema).is_empty() {
            let note = RequestRejection::fitted(index, &call.tool_name);
            let noted = self.record.notes.get(self.record.heard.1..).unwrap_or_default();
            if !noted.contains(&note) {
                self.record.notes.push(note);
            }
        }
        call
    }

    /// Handles the response of the plan pass. Calls are not read here. A response that is empty or
    /// a request is not a plan; the plan is then requested once more.
    fn planned(&mut self, number: u32, response: &Response) {
        self.trace_llm_call(PassPhase::Plan, number, Ok(response), self.record.executed);
        let text = &response.text;
        if spoken(text).is_some_and(|said| !said.is_empty()) && !parse::is_request(text) {
            return self.finish(Ok(text));
        }
        if !self.record.again {
            self.record.again = true;
            return self.ask(PassPhase::Plan);
        }
        let message = "the model answered the plan pass without a plan".to_owned();
        self.fail(Failure::new("plan.missing", message));
    }

    fn cancel(&mut self, reason: String) {
        if matches!(self.state, State::Over) {
            return;
        }
        self.stop_all(CancelReason::Cancelled);
        let failure = Failure::new("request.cancelled", reason);
        self.fail(failure);
    }

    /// Ends the request and the calls in flight.
    fn stop_all(&mut self, reason: CancelReason) {
        if let State::Asking(_, inference) = &mut self.state
            && inference.stop()
        {
            self.effects.push_back(Effect::Abort { inference: inference.number() });
        }
        self.stop_calls(reason);
    }

    fn fail(&mut self, failure: Failure) {
        self.finish(Err(failure));
    }

    fn finish(&mut self, plan: Result<&str, Failure>) {
        self.enter(State::Over);
        let mut result = self.result();
        match plan {
            Ok(text) => {
                let read = find::plans(text, self.options.plan_is_json);
                let candidates = read.unwrap_or_else(|fault| {
                    result.fault = Some(fault.to_string());
                    Vec::new()
                });
                let PlanCandidate { plan, text, repairs } = match candidates.as_slice() {
                    [plan] => plan.clone(),
                    _ => {
                        let text = spoken(text).unwrap_or(text).to_owned();
                        PlanCandidate { plan: text.clone().into(), text, repairs: Vec::new() }
                    }
                };
                (result.plan, result.text, result.repairs) = (Some(plan), Some(text), repairs);
                if self.options.plan_is_json {
                    result.candidates = candidates;
                }
            }
            Err(failure) => result.error = Some(failure),
        }
        self.effects.push_back(Effect::Done { result });
    }
}
