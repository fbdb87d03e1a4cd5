//! The machine of a turn: its state, and every transition between the states.
//!
//! The states that may follow, by their first letters; `·`: the state stays. *Waiting* is an
//! inference that waits for its next attempt, *Taking* a response that is read while its calls are
//! checked and run, *Checking* a batch of which not all calls are judged yet, *Judging* an answer that
//! waits for the host's verdict.
//!
//! | | Idle | Asking | Waiting | Taking | Checking | Running | Judging | Over |
//! |---|---|---|---|---|---|---|---|---|
//! | `Start` | A | · | · | · | · | · | · | · |
//! | `resume` | A R O |  |  |  |  |  |  |  |
//! | `ResponseHead` | · | A W O | · | A T C R O | · | · | · | · |
//! | `ResponseBytes` | · | A W T C R O | · | A T C R O | · | · | · | · |
//! | `Deltas` | · | A W T C R O | · | A T C R O | · | · | · | · |
//! | `HeldBack` | · | · | · | · | · | · | · | · |
//! | `Repaired` | · | A O | · | · | · | · | · | · |
//! | `ResponseEnded` | · | A W C R J O | · | A T C R O | · | · | · | · |
//! | `ResponseFailed` | · | A W C R J O | · | A C R O | · | · | · | · |
//! | `Checked` | · | · | · | T C R O | A C R J O | · | A J O | · |
//! | `Recalled` | · | · | · | T R | A C R J O | · | · | · |
//! | `ToolSettled` | · | · | · | · | · | A R O | · | · |
//! | `ToolProgress` | · | · | · | · | · | · | · | · |
//! | `ToolUsage` | · | · | · | · | · | · | · | · |
//! | `Timer` | · | A W C R J O | A W O | A T C R O | A C R J O | A R O | J O | · |
//! | `Pause` | · | · | · | T C R O | · | · | · | · |
//! | `Cancel` | O | O | O | O | O | O | O | · |
//! | `Stored` | · | · | · | · | · | · | · | · |
//! | `Verify` | · | · | · | · | · | · | · | · |
//! | `lose` |  | O | O | O | O | O | O | · |
//!
//! `Timer` is [`Machine::expire`], which follows every input. `resume` and `lose` are calls of the
//! [wrapper](super::durable) of turns with a store, which also takes `Stored` and `Verify`.
//! `tests/transitions` walks this table cell by cell.

use super::answer::Candidates;
use super::event::{EventKind, PhaseName, ResultView};
use super::options::TurnOptions;
use super::phase::Step;
use super::progress::{End, Point};
use super::protocol::{Effect, Input};
use super::record::{Calling, Record, compose};
use super::restore::Approval;
use super::result::TurnStatus;
use crate::error::{Error, Failure};
use crate::guard::Dedupe;
use crate::inference::{self, Heard, Inference};
use crate::next::Next;
use crate::stream::{FinishReason, Response};
use crate::tool::{CallView, Decision, Outcome};

/// A turn without a store.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    state: State,
    end: Option<End>,
    record: Record,
}

/// The state of a turn. Each state holds only the values that it needs.
#[derive(Debug, Clone)]
enum State {
    /// Not started.
    Idle,
    /// A request is in flight, or waits for its next attempt.
    Asking(Box<Inference>),
    /// The calls of a response are checked, or run. The response may still be read.
    Calling(Box<Calling>, Option<Box<Inference>>),
    /// The answer waits for the host's verdict.
    Judging(Box<Candidates>),
    /// Terminal. No input leaves this state.
    Over,
}

/// How a restored turn begins.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Where it continues, or how it ends.
    pub(super) at: Result<Point, End>,
    /// The batch whose owner is gone.
    pub(super) calling: Option<Box<Calling>>,
    /// The user's decisions on calls that wait.
    pub(super) approvals: Vec<Approval>,
    /// The results that take the place of earlier ones, with their batches.
    pub(super) revised: Vec<(u32, ResultView)>,
}

impl Machine {
    pub(super) fn new(options: TurnOptions) -> Result<Self, Error> {
        Record::new(options).map(Self::of)
    }

    /// As [`Machine::new`], for a plain history; `None` if it is not one.
    pub(super) fn plain(options: TurnOptions) -> Option<Self> {
        Record::plain(options).map(Self::of)
    }

    fn of(record: Record) -> Self {
        Self { state: State::Idle, end: None, record }
    }

    /// Takes an input, and what is due by now.
    pub(super) fn handle(&mut self, now_ms: u64, input: Input) {
        self.record.advance(now_ms);
        self.take(input);
        self.expire();
    }

    /// Returns the next effect, or until when to wait.
    pub(super) fn poll(&mut self) -> Next<Effect> {
        match self.record.pop() {
            Some(effect) => Next::Effect(effect),
            None => Next::Wait { until: self.deadline() },
        }
    }

    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    pub(super) fn record_mut(&mut self) -> &mut Record {
        &mut self.record
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    pub(super) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// The name of the state in the table.
    #[cfg(test)]
    pub(super) fn state(&self) -> &'static str {
        match &self.state {
            State::Idle => "Idle",
            State::Asking(inference) if inference.is_waiting() => "Waiting",
            State::Asking(_) => "Asking",
            State::Calling(_, Some(_)) => "Taking",
            State::Calling(calling, None) if calling.batch().is_judged() => "Running",
            State::Calling(..) => "Checking",
            State::Judging(_) => "Judging",
            State::Over => "Over",
        }
    }

    /// The batches with an accepted call, or to which no more calls come, in order.
    pub(super) fn batches(&self) -> impl Iterator<Item = &Calling> {
        let current = match &self.state {
            State::Calling(calling, _) if calling.is_begun() => Some(&**calling),
            _ => None,
        };
        self.record.closed().iter().chain(current)
    }

    /// Whether a response is read whose calls already run.
    pub(super) fn is_taking(&self) -> bool {
        matches!(&self.state, State::Calling(calling, Some(_)) if calling.is_begun())
    }

    /// Where a turn that is restored now would continue.
    pub(super) fn point(&self) -> Point {
        match (&self.state, &self.end) {
            (State::Calling(calling, _), _) if calling.is_begun() => Point::Running,
            (State::Over, Some(End::Paused(point))) => *point,
            _ => Point::Ask,
        }
    }

    /// When [`Machine::expire`] is due.
    pub(super) fn deadline(&self) -> Option<u64> {
        let deadline = match &self.state {
            State::Idle | State::Over => return None,
            State::Asking(inference) => Some(inference.deadline()),
            State::Judging(_) => None,
            State::Calling(calling, reading) => {
                let read = reading.as_ref().map(|inference| inference.deadline());
                let deadlines = calling.batch().deadline().into_iter().chain(read);
                deadlines.chain(calling.reads_until(&self.record)).min()
            }
        };
        let end = self.record.end_of_time();
        Some(deadline.map_or(end, |deadline| deadline.min(end)))
    }
}

/// Inputs.
impl Machine {
    /// Takes an input. The clock of the record is set.
    pub(super) fn take(&mut self, input: Input) {
        let record = &mut self.record;
        let input = match input.part() {
            Ok((request, part)) => {
                let (State::Asking(inference) | State::Calling(_, Some(inference))) =
                    &mut self.state
                else {
                    return;
                };
                if let Some(heard) = inference.take(record.now(), request, part) {
                    self.take_progress(request.0, heard);
                }
                return;
            }
            Err(input) => input,
        };
        match (input, &mut self.state) {
            (Input::Start, State::Idle) => {
                record.start();
                record.phase_started();
                self.ask();
            }
            (Input::Checked { call: 0, verdict }, State::Judging(candidates)) => {
                candidates.take(verdict);
                self.judge();
            }
            (Input::Checked { call, verdict }, State::Calling(calling, _)) => {
                calling.check(call, verdict, record);
                self.go_on();
            }
            (Input::ToolSettled { call, settled }, State::Calling(calling, _)) => {
                calling.settle(call, settled, record);
                self.go_on();
            }
            (Input::ToolProgress { call, data }, State::Calling(calling, _)) => {
                calling.report(call, data, record);
            }
            (Input::ToolUsage { call, usage }, State::Calling(calling, _)) => {
                calling.spend(call, usage, record);
            }
            (Input::Pause, _) => {
                record.pause();
                self.go_on();
            }
            (Input::Cancel { .. }, State::Over) => {}
            (Input::Cancel { reason }, _) => self.stop(End::Cancelled(reason)),
            // Only the time, an input of turns with a store, or one that means nothing in this state.
            (
                Input::Start
                | Input::ResponseHead { .. }
                | Input::ResponseBytes { .. }
                | Input::Deltas { .. }
                | Input::HeldBack { .. }
                | Input::Repaired { .. }
                | Input::ResponseEnded { .. }
                | Input::ResponseFailed { .. }
                | Input::Checked { .. }
                | Input::Recalled { .. }
                | Input::Stored { .. }
                | Input::ToolSettled { .. }
                | Input::ToolProgress { .. }
                | Input::ToolUsage { .. }
                | Input::Timer
                | Input::Verify,
                _,
            ) => {}
        }
    }

    /// Takes the stored outcome of another turn, and its age in milliseconds, for a call.
    pub(super) fn recall(&mut self, call: u32, found: Option<(Outcome, u64)>) {
        if let State::Calling(calling, _) = &mut self.state {
            calling.recall(call, found, &self.record);
            self.go_on();
        }
    }

    /// Starts a restored turn.
    pub(super) fn resume(&mut self, entry: Entry) {
        let Entry { at, calling, approvals, revised } = entry;
        self.record.start();
        revised.into_iter().for_each(|(batch, view)| self.record.show_revised(batch, view));
        if at.is_ok() && at != Ok(Point::Action) {
            self.record.phase_resumed(at == Ok(Point::Ask));
        }
        if let Some(mut calling) = calling {
            match at {
                Ok(_) => calling.take_over(&mut self.record),
                Err(_) => calling.abandon(),
            }
            self.enter(State::Calling(calling, None));
        }
        match at {
            Err(end) => self.stop(end),
            Ok(Point::Action) => {
                self.record.begin_phase(PhaseName::Action);
                self.ask();
            }
            Ok(Point::Ask) => self.ask_again(),
            Ok(Point::Awaiting) => self.approve(&approvals),
            Ok(Point::Running) => self.go_on(),
            Ok(Point::Step) => self.ask(),
        }
    }

    /// Handles the deadlines that have passed.
    pub(super) fn expire(&mut self) {
        let now = self.record.now();
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        if now >= self.record.end_of_time() {
            let code = match self.state {
                State::Asking(_) => "model.timeout",
                State::Idle | State::Calling(..) | State::Judging(_) | State::Over => {
                    "turn.timeout"
                }
            };
            let turn_ms = self.record.options().policy.turn_ms;
            let message = format!("the turn took more than {turn_ms} ms");
            return self.fail(Failure::new(code, message));
        }
        match &mut self.state {
            State::Idle | State::Judging(_) | State::Over => {}
            State::Asking(inference) if inference.is_waiting() => {
                inference.retry(now);
                self.record.send(inference);
            }
            State::Asking(inference) => {
                let (number, heard) = (inference.number(), inference.time_out(now));
                self.take_progress(number, heard);
            }
            State::Calling(calling, reading) => {
                calling.time_out(&mut self.record);
                let silent = reading.as_mut().filter(|inference| now >= inference.deadline());
                if let Some(inference) = silent {
                    let (number, heard) = (inference.number(), inference.time_out(now));
                    self.take_progress(number, heard);
                }
                self.go_on();
            }
        }
    }

    /// Ends the turn because it belongs to another owner, even if it has ended here. `seq` is that
    /// of the last event that was shown; `unseen`, the bytes of text after it; `beside`: the last
    /// event repeats `seq`. Returns the effects that stop the request and the tools.
    pub(super) fn lose(&mut self, end: End, seq: u64, unseen: usize, beside: bool) -> Vec<Effect> {
        self.abort(&end);
        let stopped = self.record.drain().into_iter().filter(Effect::is_kept).collect();
        self.record.retract(seq, unseen);
        if beside {
            self.record.repeat_seq();
        }
        self.finish(end);
        stopped
    }
}

/// Transitions.
impl Machine {
    /// Every change of the state.
    fn enter(&mut self, next: State) {
        if let State::Calling(calling, _) = std::mem::replace(&mut self.state, next)
            && calling.is_begun()
        {
            self.record.archive(*calling);
        }
    }

    /// Makes the next inference of the phase.
    fn ask(&mut self) {
        self.record.count_inference();
        self.ask_again();
    }

    /// Makes the current inference.
    fn ask_again(&mut self) {
        let mut inference = self.record.inference();
        self.record.send(&mut inference);
        self.enter(State::Asking(Box::new(inference)));
    }

    fn take_progress(&mut self, inference: u32, heard: Heard) {
        heard.deltas.into_iter().for_each(|delta| self.record.show(delta));
        if let (State::Asking(inference), Some((body, repairs))) = (&self.state, heard.repaired) {
            self.record.send_repaired(inference, body, repairs);
        }
        if heard.abort {
            self.record.push(Effect::Abort { inference });
        }
        match heard.end {
            None => self.take_calls(),
            Some(inference::End::Retried) => {
                if let State::Asking(inference) = &self.state {
                    self.record.attempt_failed(inference);
                }
            }
            Some(inference::End::Failed(failure)) => {
                self.take_calls();
                self.broke(failure);
            }
            Some(inference::End::Done(response)) => self.responded(response, heard.abort),
        }
    }

    /// Takes the calls that are complete from a response that is read on.
    fn take_calls(&mut self) {
        if !self.record.reads_on() {
            return;
        }
        if matches!(&self.state, State::Asking(inference)
            if inference.response().calls.first().is_some_and(|call| self.record.takes(call)))
            && let State::Asking(inference) = std::mem::replace(&mut self.state, State::Over)
        {
            self.record.show_draft();
            let calling = Box::new(Calling::new(&self.record));
            self.state = State::Calling(calling, Some(inference));
        }
        self.go_on();
    }

    /// Goes on after a request that failed, with a fallback if there is one. Once one of its calls was
    /// accepted, the calls count.
    fn broke(&mut self, failure: Failure) {
        if let State::Asking(inference) = &mut self.state {
            let next = self.record.repair(inference, &failure);
            let next = next.or_else(|| self.record.fall_back(inference, &failure));
            let Some(mut next) = next else { return self.fail(failure) };
            self.record.send(&mut next);
            **inference = next;
            return;
        }
        let State::Calling(calling, reading) = &mut self.state else { return };
        let Some(inference) = reading.take() else { return };
        self.record.response_done(inference.response(), true, TurnStatus::Failed);
        calling.stop_reading(inference.response(), Some(failure));
        self.go_on();
    }

    /// Goes on after a response. `cut`: it was not read to its end. Calls that a refusal cut are left out:
    /// the response is the answer.
    fn responded(&mut self, mut response: Response, cut: bool) {
        let refused = is_cut_by_refusal(&response);
        if cut || refused {
            response.id = None;
        }
        self.record.response_done(&response, cut, TurnStatus::Complete);
        if refused {
            response.calls.clear();
        }
        if let State::Asking(inference) = &mut self.state
            && let Some(mut next) = self.record.go_on_after(inference, &response)
        {
            self.record.send(&mut next);
            **inference = next;
            return;
        }
        if let State::Calling(_, reading) = &mut self.state {
            *reading = None;
        } else if response.calls.is_empty() {
            // Nothing is in flight any more, whatever the step is.
            self.state = State::Over;
            let step = self.record.after_text();
            return self.step(step);
        } else {
            self.record.show_draft();
            self.enter(State::Calling(Box::new(Calling::new(&self.record)), None));
        }
        if let State::Calling(calling, _) = &mut self.state {
            calling.finish(response, &mut self.record);
        }
        self.go_on();
    }

    /// Judges the calls for which no input is missing, stops to read a response of which enough is
    /// known, and ends the batch once all its calls have settled.
    fn go_on(&mut self) {
        let State::Calling(calling, reading) = &mut self.state else { return };
        calling.judge(&mut self.record);
        while let Some(inference) = reading
            && calling.take_calls(inference.response(), &mut self.record)
        {
            calling.judge(&mut self.record);
        }
        if let Some(inference) = reading
            && calling.has_enough(inference.read(), &self.record)
        {
            if inference.stop() {
                self.record.push(Effect::Abort { inference: inference.number() });
            }
            self.record.response_done(inference.response(), true, TurnStatus::Complete);
            calling.stop_reading(inference.response(), None);
            *reading = None;
            calling.judge(&mut self.record);
        }
        if let Some(failure) = calling.failure() {
            // Nothing of the response was told.
            self.state = State::Over;
            return self.fail(failure);
        }
        if !calling.show_settled(&mut self.record) {
            return;
        }
        calling.close(&mut self.record);
        if calling.is_waiting() {
            let views = calling.approvals();
            return self.await_approval(views);
        }
        let step = self.record.after_calls(calling);
        self.step(step);
    }

    /// Runs or refuses the calls that the user has decided on. The others continue to wait.
    fn approve(&mut self, decisions: &[Approval]) {
        let Some(waiting) = self.record.closed().last().filter(|one| one.is_waiting()) else {
            let step = self.record.after_tools();
            return self.step(step);
        };
        // If the same call was both approved and denied, it is denied.
        let decision = |signature: &str| {
            let about = decisions.iter().filter(|one| one.signature == signature);
            let first = about.min_by_key(|one| one.approved)?;
            Some(Decision { approved: first.approved, reason: first.reason.as_deref() })
        };
        let views = waiting.approvals();
        if !views.iter().any(|view| decision(&view.signature).is_some()) {
            return self.await_approval(views);
        }
        let calling = waiting.approved(&self.record, decision);
        self.enter(State::Calling(Box::new(calling), None));
        self.go_on();
    }

    fn await_approval(&mut self, views: Vec<CallView>) {
        let tools = &self.record.options().tools;
        let is_page = |view: &CallView| tools.find(&view.name).is_some_and(|tool| tool.page);
        let (calls, mut approvals): (Vec<_>, Vec<_>) = views.into_iter().partition(is_page);
        // The user decides once on equal calls, unless the tool is to run for each of them.
        let mut signatures = Vec::new();
        approvals.retain(|view| {
            let is_new = !signatures.contains(&view.signature);
            signatures.push(view.signature.clone());
            is_new || tools.find(&view.name).is_some_and(|tool| tool.dedupes() == Dedupe::Allow)
        });
        if !approvals.is_empty() {
            self.record.emit(EventKind::ApprovalRequired { calls: approvals.clone() });
        }
        self.pause(Point::Awaiting, calls, approvals);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Ask => self.ask(),
            Step::Act => {
                self.record.phase_ended(TurnStatus::Complete);
                self.record.begin_phase(PhaseName::Action);
                self.ask();
            }
            Step::Cycle => {
                self.record.phase_ended(TurnStatus::Complete);
                self.record.begin_cycle();
                self.ask();
            }
            Step::Complete | Step::Compose if self.record.options().has_schema() => {
                match self.record.drafted() {
                    _ if step == Step::Compose => self.fail(unanswered("the model gave none")),
                    Err(errors) => self.reject(errors),
                    Ok(candidates) => {
                        self.enter(State::Judging(Box::new(candidates)));
                        self.judge();
                    }
                }
            }
            Step::Complete => self.complete(false),
            Step::Compose => {
                let answer = compose(self.batches().flat_map(Calling::results));
                self.record.answer(answer);
                self.complete(true);
            }
            Step::Pause(point) => self.pause(point, Vec::new(), Vec::new()),
        }
    }

    /// Has the next value of the answer checked, or goes on after the last verdict.
    fn judge(&mut self) {
        let State::Judging(candidates) = &self.state else { return };
        if let Some(args) = candidates.next().cloned() {
            return self.record.push(Effect::Check { call: 0, name: String::new(), args });
        }
        match candidates.clone().decide() {
            Ok(answer) => {
                self.record.accept(answer);
                self.complete(false);
            }
            Err(errors) => self.reject(errors),
        }
    }

    /// Lets the model answer once more after an answer that is not valid.
    fn reject(&mut self, errors: String) {
        let failure = unanswered(&errors);
        match self.record.reject(errors) {
            Some(step) => self.step(step),
            None => self.fail(failure),
        }
    }

    fn complete(&mut self, composed: bool) {
        if composed {
            self.record.forget_answer();
        }
        self.record.phase_ended(TurnStatus::Complete);
        self.record.emit_complete(composed);
        self.finish(End::Complete);
    }

    /// Ends this turn as paused. A resumed turn continues at `point`.
    fn pause(&mut self, point: Point, calls: Vec<CallView>, approvals: Vec<CallView>) {
        self.record.phase_ended(TurnStatus::Paused);
        self.record.emit_paused(calls, approvals);
        self.finish(End::Paused(point));
    }

    fn fail(&mut self, failure: Failure) {
        self.stop(End::Failed(failure));
    }

    /// Ends the turn, whatever is in flight.
    fn stop(&mut self, end: End) {
        self.abort(&end);
        self.finish(end);
    }

    /// Aborts the request in flight, and cancels the calls that have not settled.
    fn abort(&mut self, end: &End) {
        let status = end.status();
        match &mut self.state {
            State::Asking(inference) => {
                if inference.stop() {
                    self.record.push(Effect::Abort { inference: inference.number() });
                }
                if inference.is_heard() {
                    self.record.count_usage(inference.response(), true);
                }
                self.record.trace_llm_call(inference.response(), status);
            }
            State::Calling(calling, reading) => {
                if let Some(inference) = reading {
                    self.record.push(Effect::Abort { inference: inference.number() });
                    self.record.count_usage(inference.response(), true);
                    self.record.trace_llm_call(inference.response(), status);
                }
                calling.cancel(end.is_elsewhere(), &mut self.record);
            }
            State::Idle | State::Judging(_) | State::Over => {}
        }
    }

    fn finish(&mut self, end: End) {
        self.enter(State::Over);
        self.record.ended(&end);
        self.end = Some(end);
    }
}

/// Whether Anthropic refused while the model wrote its calls, none of which is complete. Going on leads
/// to further refusals: "Reset context after refusal",
/// <https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals>
/// (read 2026-11-30).
fn is_cut_by_refusal(response: &Response) -> bool {
    let refused = matches!(&response.finish,
        Some((FinishReason::ContentFilter, raw)) if raw == "refusal");
    refused && !response.calls.is_empty() && response.calls.iter().all(|call| !call.ended)
}

/// The end of a turn without a valid answer.
fn unanswered(errors: &str) -> Failure {
    Failure::new("answer.invalid", format!("the answer does not fit its schema: {errors}"))
}
