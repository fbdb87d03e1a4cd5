//! The state machine of a pass: its state, its inputs, its clock, and the next step.

use std::collections::VecDeque;

use super::calls::{Call, CallState};
use super::inference::{End, Inference};
use super::options::Options;
use super::parse::{self, Reading};
use super::prompt::{self, Asked, Offer};
use super::rejected::Rejected;
use crate::error::Error;
use crate::json::Json;
use crate::next::Next;
use crate::stream::{Response, Usage};
use crate::tool::{BoxMaker, Ledger};
use crate::trace::Failure;
use crate::turn::{self, Effect, Input};

/// One pass. See the [module](super) for what it does, and
/// [the contract](crate#contract-drain-before-you-wait) for how to call it.
#[derive(Debug, Clone)]
pub struct Pass {
    pub(super) options: Options,
    /// Milliseconds on the host's clock; never steps back.
    pub(super) now: u64,
    pub(super) started: u64,
    pub(super) state: State,
    pub(super) record: Record,
    pub(super) effects: VecDeque<Effect>,
}

/// The state of a pass.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    /// Not started.
    Idle,
    /// A request is in flight, or waits for its retry.
    Asking(Step, Box<Inference>),
    /// The host is checking arguments.
    Checking { deadline: u64 },
    /// Tools are in flight.
    Running { since: u64, deadline: u64 },
    /// Terminal. No input leaves this state.
    Over,
}

/// The purpose of an inference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Request,
    Plan,
}

impl Step {
    pub(super) fn phase(self) -> &'static str {
        match self {
            Self::Request => "request_pass",
            Self::Plan => "plan_pass",
        }
    }
}

/// The data that accumulates over the pass.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) inferences: u32,
    /// The number of requests made.
    pub(super) iteration: u64,
    /// Every call that was requested, in order.
    pub(super) calls: Vec<Call>,
    /// The reasons why requests were rejected.
    pub(super) rejected: Vec<Rejected>,
    pub(super) ledger: Ledger,
    /// The number of calls that ran or used a recorded result.
    pub(super) executed: u64,
    /// Milliseconds spent running tools.
    pub(super) tools_ms: u64,
    pub(super) boxes: BoxMaker,
    /// The sealed results.
    pub(super) sealed: Option<String>,
    pub(super) usage: Usage,
    /// The plan was requested a second time.
    pub(super) again: bool,
}

impl Pass {
    /// Creates a pass from a host's options; see [`Options::parse`] for their form.
    ///
    /// # Errors
    /// Those of [`Options::parse`].
    pub fn new(options: &[u8]) -> Result<Self, Error> {
        Ok(Self::with(Options::parse(options)?))
    }

    /// As [`Pass::new`], from parsed JSON.
    ///
    /// # Errors
    /// Those of [`Pass::new`] except `json.*`.
    pub fn from_json(options: &Json<'static>) -> Result<Self, Error> {
        Ok(Self::with(Options::from_json(options)?))
    }

    fn with(options: Options) -> Self {
        Self {
            now: 0,
            started: 0,
            state: State::Idle,
            record: Record {
                inferences: 0,
                iteration: 0,
                calls: Vec::new(),
                rejected: Vec::new(),
                ledger: Ledger::default(),
                executed: 0,
                tools_ms: 0,
                boxes: BoxMaker::new(&options.secret),
                sealed: None,
                usage: Usage::default(),
                again: false,
            },
            effects: VecDeque::new(),
            options,
        }
    }

    /// Handles an input. `now_ms` is the host's monotonic clock, from any origin; a step back is
    /// ignored. Late, repeated and unknown inputs are ignored, and so are inputs that only a turn
    /// handles.
    pub fn handle(&mut self, now_ms: u64, input: Input<'_>) {
        self.now = self.now.max(now_ms);
        let now = self.now;
        match input {
            Input::Start => self.start(),
            Input::ResponseHead { inference, attempt, status, retry_after_ms, body } => {
                let end = |asking: &mut Inference| asking.head(status, retry_after_ms, body);
                self.heard(inference, attempt, false, end);
            }
            Input::ResponseBytes { inference, attempt, bytes } => {
                self.heard(inference, attempt, true, |asking| asking.bytes(now, bytes));
            }
            Input::Deltas { inference, attempt, deltas } => {
                self.heard(inference, attempt, true, |asking| asking.deltas(now, deltas));
            }
            Input::ResponseEnded { inference, attempt } => {
                self.heard(inference, attempt, false, |asking| Some(asking.ended()));
            }
            Input::ResponseFailed { inference, attempt, message } => {
                self.heard(inference, attempt, false, |asking| Some(asking.broken(message)));
            }
            Input::Checked { call, verdict } => self.checked(call, verdict),
            Input::ToolSettled { call, settled } => self.tool_settled(call, settled),
            Input::Cancel { reason } => self.cancel(reason),
            Input::Timer
            | Input::Verify
            | Input::HeldBack { .. }
            | Input::ToolProgress { .. }
            | Input::Pause
            | Input::Recalled { .. }
            | Input::Stored { .. } => {}
        }
        self.expire();
    }

    /// Returns the next effect, or until when to wait for the next input. After each input, poll
    /// until [`Next::Wait`] and perform the effects in order. If no other input occurs in time, send
    /// [`Input::Timer`].
    pub fn poll(&mut self) -> Next<Effect> {
        let effect = self.effects.pop_front();
        effect.map_or_else(|| Next::Wait { until: self.deadline() }, Next::Effect)
    }

    fn deadline(&self) -> Option<u64> {
        let own = match &self.state {
            State::Idle | State::Over => return None,
            State::Asking(_, asking) => asking.deadline(&self.options.policy),
            State::Checking { deadline } => *deadline,
            State::Running { deadline, .. } => self.first_deadline().min(*deadline),
        };
        Some(own.min(self.end_of_time()))
    }

    fn end_of_time(&self) -> u64 {
        self.started.saturating_add(self.options.policy.total_ms)
    }

    fn start(&mut self) {
        if self.state == State::Idle {
            self.started = self.now;
            self.go_on();
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
        match &self.state {
            State::Asking(step, asking) if asking.waiting.is_some() => {
                let (step, number, attempt) = (*step, asking.number, asking.attempt + 1);
                let body = asking.body.clone();
                self.send(step, number, attempt, body);
            }
            State::Asking(_, asking) => {
                let end = asking.timed_out(&self.options.policy);
                self.effects.push_back(Effect::Abort { inference: asking.number });
                self.ended(end);
            }
            State::Checking { .. } => self.checks_timed_out(),
            State::Running { .. } => self.tools_timed_out(),
            State::Idle | State::Over => {}
        }
    }

    fn out_of_time(&mut self) {
        self.stop_all("timeout");
        let message = format!("no plan within {} ms", self.options.policy.total_ms);
        self.fail(Failure { code: "model.timeout".into(), message, status: None });
    }

    /// Starts the next request if it may still lead to a call, otherwise the plan.
    pub(super) fn go_on(&mut self) {
        let policy = &self.options.policy;
        let left = self.record.iteration < policy.max_iterations && self.budget() > 0;
        self.ask(if left { Step::Request } else { Step::Plan });
    }

    pub(super) fn budget(&self) -> u64 {
        self.options.policy.max_tool_calls.saturating_sub(self.record.executed)
    }

    /// Starts the next inference.
    pub(super) fn ask(&mut self, step: Step) {
        self.record.inferences += 1;
        let offer = match step {
            Step::Plan => None,
            Step::Request => {
                self.record.iteration += 1;
                let all = self.options.tools.all().iter();
                let tools = all.filter(|tool| self.refused_by_name(&tool.name).is_none());
                Some(Offer { tools: tools.collect(), limit: self.budget() })
            }
        };
        let sealed = self.record.sealed.as_deref();
        let asked = Asked { sealed, offer, again: self.record.again };
        match prompt::body(&self.options, &asked) {
            Ok(body) => self.send(step, self.record.inferences, 1, body),
            Err(error) => {
                let (code, message) = (error.code().into(), error.to_string());
                self.fail(Failure { code, message, status: None });
            }
        }
    }

    fn send(&mut self, step: Step, number: u32, attempt: u32, body: Json<'static>) {
        let asking = Inference::new(number, attempt, body.clone(), self.options.dialect, self.now);
        self.state = State::Asking(step, Box::new(asking));
        self.effects.push_back(Effect::Fetch { inference: number, attempt, body });
    }

    /// Passes an input to the request in flight; `open` tells whether its connection is still open.
    fn heard(
        &mut self,
        number: u32,
        attempt: u32,
        open: bool,
        take: impl FnOnce(&mut Inference) -> Option<End>,
    ) {
        let State::Asking(_, asking) = &mut self.state else { return };
        if !asking.is(number, attempt) {
            return;
        }
        let Some(end) = take(asking) else { return };
        if open {
            self.effects.push_back(Effect::Abort { inference: number });
        }
        self.ended(end);
    }

    /// Handles the end of a request: the response is complete, or the request has failed.
    fn ended(&mut self, end: End) {
        let State::Asking(step, mut asking) = std::mem::replace(&mut self.state, State::Over)
        else {
            return;
        };
        let number = asking.number;
        let (failure, retryable, retry_after_ms) = match end {
            End::Done => {
                let response = asking.into_response();
                if let Some(usage) = response.usage {
                    self.record.usage.add(usage);
                }
                return match step {
                    Step::Request => self.requested(number, &response),
                    Step::Plan => self.planned(number, &response),
                };
            }
            End::Failed { failure, retryable, retry_after_ms } => {
                (failure, retryable, retry_after_ms)
            }
        };
        let seed = format!("{}/wait/{number}", self.options.secret);
        let wait = retry_after_ms.unwrap_or_else(|| turn::backoff_ms(&seed, asking.attempt));
        let until = self.now.saturating_add(wait);
        let again = retryable
            && u64::from(asking.attempt) <= self.options.max_retries
            && wait <= turn::LONGEST_WAIT_MS
            && until < self.end_of_time();
        if again {
            asking.waiting = Some(until);
            self.state = State::Asking(step, asking);
            return;
        }
        self.trace_failed_call(step, number, &failure);
        match step {
            // A plan is still possible without a request.
            Step::Request => self.ask(Step::Plan),
            Step::Plan => self.fail(failure),
        }
    }

    /// Handles the response of the request pass.
    fn requested(&mut self, number: u32, response: &Response) {
        let most = self.options.policy.max_reason_chars;
        let reading: Reading = if response.calls.is_empty() {
            parse::read_text(&response.text, most)
        } else {
            parse::read_calls(&response.calls, most)
        };
        let count = reading.as_ref().map_or(0, |calls| u64::try_from(calls.len()).unwrap_or(0));
        self.trace_llm_call(Step::Request, number, response, count);
        match reading {
            Ok(calls) if !calls.is_empty() => self.take_calls(calls),
            Ok(_) => {
                self.trace_request(&[], &[]);
                self.ask(Step::Plan);
            }
            Err(rejected) => {
                self.trace_request(&[], &rejected);
                self.record.rejected.extend(rejected);
                self.ask(Step::Plan);
            }
        }
    }

    /// Handles the response of the plan pass. Calls are not read here. A response that is empty or
    /// a request is not a plan; the plan is then requested once more.
    fn planned(&mut self, number: u32, response: &Response) {
        self.trace_llm_call(Step::Plan, number, response, self.record.executed);
        let text = &response.text;
        if !text.trim().is_empty() && !is_request(text) {
            return self.finish(Ok(text));
        }
        if !self.record.again {
            self.record.again = true;
            return self.ask(Step::Plan);
        }
        let message = "the model answered the plan pass without a plan".to_owned();
        self.fail(Failure { code: "plan.missing".into(), message, status: None });
    }

    fn cancel(&mut self, reason: &str) {
        if matches!(self.state, State::Over) {
            return;
        }
        self.stop_all("cancelled");
        let failure =
            Failure { code: "request.cancelled".into(), message: reason.to_owned(), status: None };
        self.fail(failure);
    }

    /// Ends the request and the calls in flight.
    fn stop_all(&mut self, reason: &'static str) {
        if let State::Asking(_, asking) = &self.state
            && asking.waiting.is_none()
        {
            self.effects.push_back(Effect::Abort { inference: asking.number });
        }
        for call in &self.record.calls {
            if matches!(call.state, CallState::Running { .. }) {
                self.effects.push_back(Effect::CancelTool { call: call.number, reason });
            }
        }
        self.settle_open(reason);
    }

    fn fail(&mut self, failure: Failure) {
        self.finish(Err(failure));
    }

    fn finish(&mut self, plan: Result<&str, Failure>) {
        self.state = State::Over;
        let mut result = self.result();
        match plan {
            Ok(text) => {
                let json = parse::find_json(text).ok().flatten();
                let json = json.filter(|json| Json::parse_str(json).is_ok());
                let plan = json.and_then(|json| Json::parse_str(json).ok()).map(Json::into_owned);
                result.push(("plan", plan.unwrap_or_else(|| text.to_owned().into())));
                result.push(("text", json.unwrap_or(text).to_owned().into()));
            }
            Err(failure) => result.push(("error", failure.to_json())),
        }
        let members = result.into_iter().map(|(key, value)| (key.into(), value)).collect();
        self.effects.push_back(Effect::Done { result: Json::Object(members) });
    }
}

/// Whether a text is a request for tools, not a plan that has a list of the same name.
fn is_request(text: &str) -> bool {
    let json = parse::find_json(text).ok().flatten();
    let json = json.and_then(|json| Json::parse_str(json).ok());
    json.is_some_and(|json| json.get("tool_calls").is_some()) && parse::read_text(text, 0).is_ok()
}
