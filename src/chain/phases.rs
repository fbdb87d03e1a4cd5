//! The phases around the steps: classification, planning, the answer and the end.

use super::calls::{AnswerCall, CallBody, CallKind, PlanCall};
use super::classify::{Complexity, Language};
use super::event::{ChainEventKind, Classifier};
use super::machine::{Call, Chain, State};
use super::options::NoResults;
use super::outcome::{ChainStatus, Failure};
use super::plan::{self, Pattern, Planned, StepKind};
use super::protocol::{AbortReason, Effect, Input};
use super::run::{Run, Runs, Status};
use super::stop::{SLACK, Stop};
use crate::json::{Json, JsonError};
use crate::limits;

impl Chain {
    pub(super) fn classified(&mut self, by: Classifier) {
        let Some(classification) = self.classification.clone() else { return self.answer() };
        let complex = classification.is_complex();
        let language = classification.language;
        let uncovered = by == Classifier::Core && language == Language::Uncovered && !complex;
        self.emit(ChainEventKind::Classified { classification, by });
        if uncovered {
            let message = "the words of this language are not known, so the score says little";
            self.emit(ChainEventKind::Warning {
                call: CallKind::Classify,
                failure: Failure::new("chain.language_uncovered", message),
                language: Some(language),
            });
        }
        match complex {
            true if self.options.broken => {
                let message = "too many chains have failed lately";
                self.fall_back(Failure::new("chain.breaker_open", message));
            }
            true => self.ask_planner(),
            false => self.answer(),
        }
    }

    fn ask_planner(&mut self) {
        if !self.affords(CallKind::Plan) {
            let message = "no budget for a plan and an answer";
            return self.fall_back(Failure::new("chain.over_budget", message));
        }
        self.state = State::Planning;
        self.progress.plan_again = None;
        self.progress.plans += 1;
        let allowed = &self.options.patterns;
        let learned = self.options.learned.as_ref();
        let hint = learned.and_then(|learned| learned.choose(allowed, &self.options.query));
        let patterns = hint.map_or_else(|| allowed.clone(), |best| vec![best]);
        let (query, max_steps) = (self.options.query.clone(), self.options.limits.max_steps);
        let mut prompt = prompt(&query, &patterns, max_steps, self.options.hooks.refine);
        let (attempt, error) = (self.progress.plans, self.progress.plan_error.take());
        if let Some(error) = error.as_ref().filter(|_| self.progress.plan_refused) {
            prompt.push_str("\n\nYour last plan was refused: ");
            prompt.push_str(&crate::json::one_line(error.message.clone()));
            prompt.push_str(". Answer with a plan without this fault.");
        }
        let body = PlanCall { query, prompt, patterns, max_steps, attempt, error };
        self.call(CallBody::Plan(body), None);
    }

    /// Asks the planner again, after `wait` milliseconds, or takes the simple path.
    fn plan_failed(&mut self, error: Failure, again: bool, wait: u64) {
        let again = again
            && self.progress.plans <= self.options.limits.max_retries
            && self.affords(CallKind::Plan);
        if !again {
            return self.fall_back(error);
        }
        let wait = wait.saturating_mul(1 << self.progress.plans.saturating_sub(1).min(20));
        self.progress.plan_again = Some(self.now.saturating_add(wait));
        self.progress.plan_error = Some(error);
    }

    /// Asks the planner again if it is time.
    pub(super) fn replan_if_due(&mut self) {
        let due = self.progress.plan_again.is_some_and(|at| at <= self.now);
        if due && self.state == State::Planning {
            self.ask_planner();
        }
    }

    /// Handles the value that a call returned.
    pub(super) fn returned(&mut self, call: Call, value: Json<'static>) {
        match (call.kind, call.step) {
            (CallKind::Answer, _) => self.answered(value),
            (CallKind::Classify, _) => {
                let said = value.get("complexity").unwrap_or(&value).as_str();
                let Some(said) = said.and_then(Complexity::parse) else {
                    return self.classified(Classifier::Core);
                };
                if let Some(found) = &mut self.classification {
                    found.complexity = said;
                }
                self.classified(Classifier::Host);
            }
            (CallKind::Plan, _) => {
                let read = match value.as_str() {
                    Some(text) => plan::draft(text),
                    None => plan::from_json(&value),
                };
                match read.and_then(|draft| Planned::new(draft, &self.plan_limits)) {
                    Ok(planned) => self.planned(planned),
                    Err(error) => {
                        self.progress.plan_refused = true;
                        self.plan_failed(Failure::from(&error), true, 0);
                    }
                }
            }
            (CallKind::Quality, _) => {
                let said = value.get("quality").unwrap_or(&value).as_f64();
                match said.filter(|said| said.is_finite()) {
                    Some(said) => self.progress.qualities.push(said),
                    None => self.unrated(Failure::new(
                        "chain.invalid_result",
                        "`quality`: expected a number",
                    )),
                }
            }
            (CallKind::SummarizeResult, _) => {
                let run = self.progress.summarizing.take().and_then(|at| self.runs.get_mut(at));
                if let Some((run, short)) = run.zip(value.as_str()) {
                    run.short = Some(short.to_owned());
                }
            }
            (CallKind::Synthesize, None) => self.answered(value),
            (CallKind::Assess, _) => {
                let said = value.get("completeness").unwrap_or(&value).as_f64();
                self.progress.completeness = said.map(|said| said.clamp(0.0, 1.0));
            }
            (CallKind::Replan, _) => self.replanned(&value),
            (_, Some(at)) => self.step_returned(call, at, value),
            (_, None) => {}
        }
    }

    /// Handles a call that failed or took too long.
    pub(super) fn failed(&mut self, call: Call, error: Failure, retryable: bool) {
        match (call.kind, call.step) {
            (CallKind::Answer | CallKind::Synthesize, None) => {
                self.answer_failed(call.kind, error, retryable);
            }
            (CallKind::Classify, _) => self.classified(Classifier::Core),
            (CallKind::Plan, _) if error.code == "plan.timeout" => self.fall_back(error),
            (CallKind::Plan, _) => {
                let (failure, wait) =
                    (Failure::new("plan.failed", error.message), self.options.limits.retry_ms);
                self.progress.plan_refused = false;
                self.plan_failed(failure, retryable, wait);
            }
            (CallKind::Quality, _) => self.unrated(error),
            // The results stay unassessed; the plan stays unchanged.
            (CallKind::Assess | CallKind::Replan, _) | (_, None) => {}
            (_, Some(at)) => self.step_failed(&call, at, error, retryable),
        }
    }

    fn unrated(&mut self, failure: Failure) {
        let (call, language) = (CallKind::Quality, None);
        self.emit(ChainEventKind::Warning { call, failure, language });
    }

    fn planned(&mut self, planned: Planned) {
        let Planned { plan, last } = planned;
        self.runs = Runs(plan.steps.iter().map(|_| Run::default()).collect());
        (self.plan, self.last) = (Some(plan.clone()), last);
        self.state = State::Running;
        self.emit(ChainEventKind::PlanReady { plan });
    }

    /// Falls back to the simple path.
    pub(super) fn fall_back(&mut self, error: Failure) {
        self.progress.plan_again = None;
        self.progress.fell_back = Some(error);
        self.abort(AbortReason::Stopped, |_| true);
        self.answer();
    }

    /// Takes the simple path: one call.
    pub(super) fn answer(&mut self) {
        self.state = State::Answering;
        self.progress.attempts += 1;
        let fell_back = self.progress.fell_back.clone();
        let body = AnswerCall { query: self.options.query.clone(), fell_back };
        self.call(CallBody::Answer(body), None);
    }

    /// Called when all steps that will run have settled. Emits `chain_stopped` and starts the
    /// synthesis.
    pub(super) fn conclude(&mut self) {
        let last = self.last;
        self.skip_rest(|at| at != last);
        self.emit_stopped();
        if !self.has_evidence() {
            let message = "no step of the plan has found anything";
            let failure = Failure::new("chain.no_results", message);
            return match self.options.no_results {
                NoResults::Simple => self.fall_back(failure),
                NoResults::Fail => self.finish(ChainStatus::Failed, Some(failure)),
            };
        }
        self.state = State::Synthesizing;
        self.synthesize();
    }

    /// Whether a search has found something; in a plan without searches, whether a step has.
    fn has_evidence(&self) -> bool {
        let searches = self.steps().iter().any(|step| step.kind == StepKind::Search);
        let mut steps = self.steps().iter().zip(&self.runs.0);
        steps.any(|(step, run)| (!searches || step.kind == StepKind::Search) && run.has_evidence())
    }

    fn synthesize(&mut self) {
        let last = self.last;
        self.progress.attempts += 1;
        let attempts = self.progress.attempts;
        if let Some(run) = self.runs.get_mut(last) {
            run.status = Status::Busy;
            run.attempts = attempts;
        }
        if attempts == 1 {
            self.fill(last);
            self.announce(last);
        }
        let Some(step) = self.steps().get(last) else { return };
        let body = self.synthesis_call(last, step, true);
        // Passed without a step, because its text is shown, not stored as a result.
        self.call(CallBody::Synthesize(body), None);
    }

    /// Handles a piece of streamed text.
    pub(super) fn chunk(&mut self, id: u32, text: String) {
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id) else { return };
        let streams = matches!(call.kind, CallKind::Answer | CallKind::Synthesize);
        if !streams || text.is_empty() {
            return;
        }
        if call.step.is_some() {
            let limit = limits::STEP_RESULT_BYTES;
            if call.text.len() + text.len() <= limit {
                return call.text.push_str(&text);
            }
            // A text that is cut would count as the whole result.
            self.effects.push_back(Effect::Abort { call: id, reason: AbortReason::Stopped });
            return self.take(Input::unread(id, &JsonError::TooLarge { limit }, None));
        }
        if self.progress.text.len() + text.len() > limits::RESPONSE_BYTES {
            self.abort(AbortReason::Stopped, |_| true);
            let error = Failure::new("chain.too_long", "the answer is too long");
            return self.finish(ChainStatus::Failed, Some(error));
        }
        self.emit_text(text);
    }

    /// Ends the answer. Text that was not streamed is shown now.
    fn answered(&mut self, value: Json<'static>) {
        let text = value.get("text").unwrap_or(&value).as_str().unwrap_or("");
        if self.progress.text.is_empty() && !text.is_empty() {
            self.emit_text(text.to_owned());
        }
        if self.state == State::Synthesizing {
            self.last_settled(Status::Done, None);
        }
        self.finish(ChainStatus::Complete, None);
    }

    fn answer_failed(&mut self, kind: CallKind, error: Failure, retryable: bool) {
        let limits = &self.options.limits;
        let left = limits.budget() - self.progress.spent + SLACK;
        let again = retryable
            && self.progress.text.is_empty()
            && self.progress.attempts <= limits.max_retries
            && self.price(kind) <= left;
        if again {
            return if kind == CallKind::Answer { self.answer() } else { self.synthesize() };
        }
        if self.state == State::Synthesizing {
            self.last_settled(Status::Failed, Some(error.clone()));
        }
        self.finish(ChainStatus::Failed, Some(error));
    }

    fn last_settled(&mut self, status: Status, error: Option<Failure>) {
        let (last, now) = (self.last, self.now);
        if let Some(run) = self.runs.get_mut(last) {
            run.status = status;
            run.ended = Some(now);
            run.error = error;
        }
        self.step_done(last);
    }

    pub(super) fn out_of_time(&mut self) {
        if self.state == State::Running {
            self.stop(Stop::MaxTime);
        } else {
            self.fall_back(Failure::new("chain.timeout", "the time for a chain is over"));
        }
    }

    pub(super) fn cancel(&mut self, reason: String) {
        if self.state == State::Over {
            return;
        }
        if self.state == State::Idle {
            // It has taken no time, whatever the clock says.
            self.started = self.now;
        }
        self.progress.plan_again = None;
        self.abort(AbortReason::Cancelled, |_| true);
        self.skip_rest(|_| true);
        let told = self.progress.stop.is_some() && !self.is_before_answer();
        self.progress.stop = Some(Stop::Cancelled);
        if !told {
            self.emit_stopped();
        }
        let error = Failure::new("chain.cancelled", reason);
        self.finish(ChainStatus::Cancelled, Some(error));
    }
}

/// The prompt for the planner, based on the planning prompt of the seed (ADR-008 §3).
fn prompt(query: &str, patterns: &[Pattern], most: usize, refines: bool) -> String {
    let kinds = if refines { "search|refine|synthesize" } else { "search|synthesize" };
    let patterns: Vec<&str> = patterns.iter().map(|one| one.name()).collect();
    let mut quoted = String::new();
    crate::json::write_string(query, &mut quoted);
    let quoted = crate::json::one_line(quoted);
    format!(
        "Analyze this query and create a multi-step search plan: {quoted}\n\n\
         Consider:\n\
         1. What key information needs to be gathered?\n\
         2. In what order? Steps that do not need each other's results run side by side.\n\
         3. How might early results inform later searches? Write ${{1}} for the result of step 1.\n\
         4. What entities, topics or timeframes are involved?\n\n\
         Answer with JSON only, at most {most} steps:\n\
         {{\"reasoning\": \"brief explanation of the approach\", \"pattern\": \"{}\", \
         \"steps\": [{{\"id\": 1, \"type\": \"{kinds}\", \
         \"query\": \"specific search terms\", \"focus\": \"what to look for in results\", \
         \"depends_on\": [], \"when\": \"optional condition, such as count(${{1}}) > 0 or \
         ${{1}} contains \\\"recall\\\"\"}}], \
         \"stopping_criteria\": \"when to stop the chain\"}}",
        patterns.join("|")
    )
}
