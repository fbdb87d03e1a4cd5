//! The phases around the steps: classification, planning, the answer and the end.

use super::machine::{Call, Chain, State};
use super::plan::{self, Pattern, Plan, PlanError};
use super::protocol::CallKind;
use super::run::{Run, Runs, Status};
use super::stop::Stop;
use crate::json::Json;
use crate::limits;

impl Chain {
    pub(super) fn classified(&mut self, by: &'static str) {
        let complex = self.classification.as_ref().is_some_and(|found| found.complex);
        let found = self.classification.as_ref().map_or(Json::Null, |found| found.to_json());
        let mut members = found.as_object().unwrap_or_default().to_vec();
        members.push(("by".into(), by.into()));
        self.emit("classified", members);
        if complex { self.ask_planner() } else { self.answer() }
    }

    fn ask_planner(&mut self) {
        if !self.affords(CallKind::Plan) {
            return self.fall_back("chain.over_budget", "no budget for a plan and an answer");
        }
        self.state = State::Planning;
        let allowed = &self.options.plan.patterns;
        let learned = self.options.learned.as_ref();
        let hint = learned.and_then(|(learned, enough)| learned.choose(allowed, *enough));
        let names = |all: &[Pattern]| all.iter().map(|one| one.name()).collect::<Vec<_>>();
        let offered = names(hint.as_ref().map_or(allowed.as_slice(), std::slice::from_ref));
        let prompt = prompt(&self.options.query, &offered, self.options.limits.max_steps);
        let body = Json::object([
            ("query", self.options.query.clone().into()),
            ("prompt", prompt.into()),
            ("patterns", Json::Array(offered.into_iter().map(Json::from).collect())),
            ("maxSteps", Json::integer(u64::try_from(self.options.limits.max_steps).unwrap_or(0))),
        ]);
        self.call(CallKind::Plan, None, body);
    }

    /// Handles the value that a call returned.
    pub(super) fn returned(&mut self, call: Call, value: Json<'static>) {
        match (call.kind, call.step) {
            (CallKind::Answer, _) => self.answered(value),
            (CallKind::Classify, _) => {
                let said = value.get("complexity").unwrap_or(&value).as_str();
                let complex = match said {
                    Some("complex") => true,
                    Some("simple") => false,
                    _ => return self.classified("core"),
                };
                if let Some(found) = &mut self.classification {
                    found.complex = complex;
                }
                self.classified("host");
            }
            (CallKind::Plan, _) => {
                let read = match value.as_str() {
                    Some(text) => plan::draft(text),
                    None => plan::from_json(&value),
                };
                match read.and_then(|draft| Plan::new(draft, &self.options.plan)) {
                    Ok(plan) => self.planned(plan),
                    Err(error) => self.plan_failed(&error),
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
    pub(super) fn failed(&mut self, call: Call, code: &str, message: &str, retryable: bool) {
        match (call.kind, call.step) {
            (CallKind::Answer | CallKind::Synthesize, None) => {
                self.answer_failed(call.kind, code, message, retryable);
            }
            (CallKind::Classify, _) => self.classified("core"),
            (CallKind::Plan, _) => {
                let code = if code == "plan.timeout" { code } else { "plan.failed" };
                self.fall_back(code, message);
            }
            // The results stay unassessed; the plan stays unchanged.
            (CallKind::Assess | CallKind::Replan, _) | (_, None) => {}
            (_, Some(at)) => self.step_failed(&call, at, code, message, retryable),
        }
    }

    fn planned(&mut self, plan: Plan) {
        self.runs = Runs(plan.steps.iter().map(|_| Run::default()).collect());
        let shown = plan.to_json();
        self.plan = Some(plan);
        self.state = State::Running;
        self.emit("plan_ready", vec![("plan".into(), shown)]);
    }

    fn plan_failed(&mut self, error: &PlanError) {
        self.fall_back(error.code(), &error.to_string());
    }

    /// Falls back to the simple path.
    pub(super) fn fall_back(&mut self, code: &str, message: &str) {
        self.progress.fell_back = Some((code.to_owned(), message.to_owned()));
        self.abort("stopped", |_| true);
        self.answer();
    }

    /// Takes the simple path: one call.
    pub(super) fn answer(&mut self) {
        self.state = State::Answering;
        let fell_back = self.fell_back_json();
        let body =
            Json::object([("query", self.options.query.clone().into()), ("fellBack", fell_back)]);
        self.progress.attempts += 1;
        self.call(CallKind::Answer, None, body);
    }

    /// Called when all steps that will run have settled. Emits `chain_stopped` and starts the
    /// synthesis.
    pub(super) fn conclude(&mut self) {
        let last = self.last();
        self.skip_rest(|at| at != last);
        self.emit_stopped();
        let found = (0..self.runs.0.len()).any(|at| self.runs.is(at, Status::Done));
        if !found {
            return self.fall_back("chain.no_results", "no step of the plan has found anything");
        }
        self.state = State::Synthesizing;
        self.synthesize();
    }

    fn synthesize(&mut self) {
        let last = self.last();
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
        let body = self.synthesis_body(last, true);
        // Passed without a step, because its text is shown, not stored as a result.
        self.call(CallKind::Synthesize, None, body);
    }

    /// Handles a piece of streamed text.
    pub(super) fn chunk(&mut self, id: u32, text: &str) {
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id) else { return };
        let streams = matches!(call.kind, CallKind::Answer | CallKind::Synthesize);
        if !streams || text.is_empty() {
            return;
        }
        if call.step.is_some() {
            if call.text.len() + text.len() <= limits::STEP_RESULT_BYTES {
                call.text.push_str(text);
            }
            return;
        }
        if self.progress.text.len() + text.len() > limits::RESPONSE_BYTES {
            self.abort("stopped", |_| true);
            return self.finish("failed", Some(("chain.too_long", "the answer is too long")));
        }
        self.progress.text.push_str(text);
        self.emit("text", vec![("chunk".into(), text.to_owned().into())]);
    }

    /// Ends the answer. Text that was not streamed is shown now.
    fn answered(&mut self, value: Json<'static>) {
        let text = value.get("text").unwrap_or(&value).as_str().unwrap_or("");
        if self.progress.text.is_empty() && !text.is_empty() {
            self.progress.text.push_str(text);
            self.emit("text", vec![("chunk".into(), text.to_owned().into())]);
        }
        if self.state == State::Synthesizing {
            self.last_settled(Status::Done, None);
        }
        self.finish("complete", None);
    }

    fn answer_failed(&mut self, kind: CallKind, code: &str, message: &str, retryable: bool) {
        let limits = &self.options.limits;
        let left = limits.max_cost - self.progress.spent + super::stop::SLACK;
        let again = retryable
            && self.progress.text.is_empty()
            && self.progress.attempts <= limits.max_retries
            && self.price(kind) <= left;
        if again {
            return if kind == CallKind::Answer { self.answer() } else { self.synthesize() };
        }
        if self.state == State::Synthesizing {
            self.last_settled(Status::Failed, Some((code, message)));
        }
        self.finish("failed", Some((code, message)));
    }

    fn last_settled(&mut self, status: Status, error: Option<(&str, &str)>) {
        let (last, now) = (self.last(), self.now);
        if let Some(run) = self.runs.get_mut(last) {
            run.status = status;
            run.ended = Some(now);
            run.error = error.map(|(code, message)| (code.to_owned(), message.to_owned()));
        }
        self.step_done(last);
    }

    pub(super) fn out_of_time(&mut self) {
        if self.state == State::Running {
            self.progress.budget = "time";
            self.stop(Stop::MaxCost);
        } else {
            self.fall_back("chain.timeout", "the time for a chain is over");
        }
    }

    pub(super) fn cancel(&mut self, reason: &str) {
        if self.state == State::Over {
            return;
        }
        self.abort("cancelled", |_| true);
        self.skip_rest(|_| true);
        let told = self.progress.stop.is_some() && !self.is_before_answer();
        self.progress.stop = Some(Stop::Cancelled);
        if !told {
            self.emit_stopped();
        }
        self.finish("cancelled", Some(("chain.cancelled", reason)));
    }
}

/// The prompt for the planner, based on the planning prompt of the seed (ADR-008 §3).
fn prompt(query: &str, patterns: &[&str], most: usize) -> String {
    let mut quoted = String::new();
    crate::json::write_string(query, &mut quoted);
    format!(
        "Analyze this query and create a multi-step search plan: {quoted}\n\n\
         Consider:\n\
         1. What key information needs to be gathered?\n\
         2. In what order? Steps that do not need each other's results run side by side.\n\
         3. How might early results inform later searches? Write $1 for the result of step 1.\n\
         4. What entities, topics or timeframes are involved?\n\n\
         Answer with JSON only, at most {most} steps:\n\
         {{\"reasoning\": \"brief explanation of the approach\", \"pattern\": \"{}\", \
         \"steps\": [{{\"id\": 1, \"type\": \"search|refine|synthesize\", \
         \"query\": \"specific search terms\", \"focus\": \"what to look for in results\", \
         \"depends_on\": [], \"when\": \"optional condition, such as count($1) > 0 or \
         $1 contains \\\"recall\\\"\"}}], \
         \"stopping_criteria\": \"when to stop the chain\"}}",
        patterns.join("|")
    )
}
