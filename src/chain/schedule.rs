//! Scheduling: which step starts when, and how its calls are handled.

use super::calls::StepResult;
use super::calls::{AssessCall, CallBody, CallKind, ConditionCall, EnhanceCall, RecallCall};
use super::condition;
use super::event::ChainEventKind;
use super::machine::{Call, Chain, State};
use super::outcome::{Failure, SkipReason};
use super::plan::{PlanStep, StepKind, position};
use super::protocol::{AbortReason, Effect};
use super::reference;
use super::results;
use super::run::{Run, Status};
use super::stop::{SLACK, Stop, complete, diminishing};
use crate::json::{Json, object};
use crate::mcp;

impl Chain {
    /// Makes decisions until only a new input can change anything.
    pub(super) fn advance(&mut self) {
        self.replan_if_due();
        while self.state == State::Running && self.decide() {}
    }

    /// Makes one decision. Returns false if there is none to make.
    fn decide(&mut self) -> bool {
        if self.isolate() {
            return true;
        }
        if self.progress.stop.is_none() && !self.has_more() {
            let over = self.progress.spent > self.options.limits.budget() + SLACK;
            self.stop(if over { Stop::MaxCost } else { Stop::PlanFinished });
        }
        if self.progress.stop.is_some() {
            if self.calls.is_empty() {
                self.conclude();
            }
            return false;
        }
        let gate = |call: &Call| {
            use CallKind::{Assess, Quality, Replan, SummarizeResult};
            matches!(call.kind, Assess | Quality | Replan | SummarizeResult)
        };
        if self.calls.iter().any(gate) {
            return false;
        }
        if self.progress.unjudged {
            self.judge();
            return true;
        }
        if let Some(at) = self.progress.unsummarized.pop_front() {
            self.progress.summarizing = Some(at);
            if let Some(result) = self.result_of(at) {
                self.call(CallBody::SummarizeResult(result), None);
            }
            return true;
        }
        if self.ask_replan() {
            return true;
        }
        self.start_next()
    }

    /// Skips a step that can no longer run because of its dependencies. Returns whether there was
    /// one.
    fn isolate(&mut self) -> bool {
        let skip = (0..self.steps().len()).find_map(|at| {
            let waiting = self.runs.is(at, Status::Waiting) && at != self.last;
            let needs = self.needs(at);
            if !waiting || needs.is_empty() || self.minds_failures(at) {
                return None;
            }
            let runs = &self.runs;
            let is = |status| move |need: &usize| runs.is(*need, status);
            let failed = needs.iter().any(is(Status::Failed))
                || needs.iter().any(is(Status::Skipped(SkipReason::Dependency)))
                || needs.iter().any(is(Status::Skipped(SkipReason::EmptyReference)));
            if failed {
                return Some((at, SkipReason::Dependency));
            }
            let passed_by = needs.iter().all(is(Status::Skipped(SkipReason::Condition)));
            passed_by.then_some((at, SkipReason::Condition))
        });
        let Some((at, why)) = skip else { return false };
        self.skip(at, why);
        true
    }

    fn needs(&self, at: usize) -> Vec<usize> {
        let steps = self.steps();
        let Some(step) = steps.get(at) else { return Vec::new() };
        step.depends_on.iter().filter_map(|id| position(steps, id)).collect()
    }

    fn minds_failures(&self, at: usize) -> bool {
        let when = self.steps().get(at).and_then(|step| step.when.as_deref());
        when.and_then(|when| condition::parse(when, self.steps()))
            .is_some_and(|when| when.minds_failures())
    }

    /// Whether a step before the last one has not settled.
    fn has_more(&self) -> bool {
        let last = self.last;
        self.runs.0.iter().enumerate().any(|(at, run)| at != last && !run.settled())
    }

    fn result_of(&self, at: usize) -> Option<StepResult> {
        let (step, run) = self.steps().get(at).zip(self.runs.get(at))?;
        run.result(step)
    }

    /// Applies the stop rules in this order: cost, steps, completeness, diminishing returns.
    fn judge(&mut self) {
        let limits = &self.options.limits;
        if self.progress.spent >= limits.budget() - SLACK {
            return self.stop(Stop::MaxCost);
        }
        let last = self.last;
        let run = |(at, run): &(usize, &Run)| *at != last && run.started.is_some() && run.settled();
        if self.runs.0.iter().enumerate().filter(run).count() >= limits.max_steps {
            return self.stop(Stop::MaxSteps);
        }
        if let Some(at) = self.progress.unrated.pop_front() {
            if let Some(result) = self.result_of(at) {
                self.call(CallBody::Quality(result), None);
            }
            return;
        }
        if self.options.hooks.assess && self.progress.unassessed && self.affords(CallKind::Assess) {
            self.progress.unassessed = false;
            let (query, results) = (self.options.query.clone(), self.results());
            let plan = self.plan.as_ref();
            let stopping_criteria =
                plan.map_or_else(String::new, |plan| plan.stopping_criteria.clone());
            let body = AssessCall { query, stopping_criteria, results };
            return self.call(CallBody::Assess(body), None);
        }
        let enough = self.options.limits.completeness;
        if self.progress.completeness.is_some_and(|found| complete(found, enough)) {
            return self.stop(Stop::Complete);
        }
        if diminishing(&self.progress.qualities, self.options.limits.diminishing) {
            return self.stop(Stop::DiminishingReturns);
        }
        self.progress.unjudged = false;
    }

    /// Stops starting steps. Steps in flight are already paid for and may finish, unless the
    /// results are complete or the time is over.
    pub(super) fn stop(&mut self, why: Stop) {
        self.progress.stop = Some(why);
        let at_once = matches!(why, Stop::Complete | Stop::MaxTime);
        let own = |call: &Call| {
            at_once
                || !matches!(call.kind, CallKind::Search | CallKind::Refine | CallKind::Synthesize)
        };
        let steps: Vec<usize> =
            self.calls.iter().filter(|call| own(call)).filter_map(|call| call.step).collect();
        self.abort(AbortReason::Stopped, own);
        for at in steps {
            self.skip(at, SkipReason::Stopped);
        }
    }

    /// Starts a step that is ready, or stops the chain if none can start. Returns whether it did
    /// either.
    fn start_next(&mut self) -> bool {
        let last = self.last;
        let limits = &self.options.limits;
        let busy = self.runs.0.iter().filter(|run| run.status == Status::Busy).count();
        // A step whose condition or query is being asked for is about to start.
        let starts = |run: &&Run| run.started.is_some() || run.status == Status::Busy;
        let started = self.runs.0.iter().filter(starts).count();
        let (mut no_steps, mut no_cost) = (false, false);
        for at in (0..self.steps().len()).filter(|at| *at != last) {
            if busy >= limits.max_parallel || !self.is_ready(at) {
                continue;
            }
            let new = self.runs.get(at).is_some_and(|run| run.started.is_none());
            if new && started >= limits.max_steps {
                no_steps = true;
            } else if !self.affords(self.call_kind(at)) {
                no_cost = true;
            } else {
                self.begin(at);
                return true;
            }
        }
        let idle = busy == 0 && self.retry_at().is_none();
        if idle {
            self.stop(match (no_cost, no_steps) {
                (true, _) => Stop::MaxCost,
                (false, true) => Stop::MaxSteps,
                (false, false) => Stop::PlanFinished,
            });
        }
        idle
    }

    fn is_ready(&self, at: usize) -> bool {
        match self.runs.get(at).map(|run| run.status) {
            Some(Status::Waiting) => {
                let settled = |need: &usize| self.runs.get(*need).is_some_and(Run::settled);
                self.needs(at).iter().all(settled) && !self.has_twin_under_way(at)
            }
            Some(Status::Again(when)) => when <= self.now,
            _ => false,
        }
    }

    /// Whether an equal search or refinement has begun, whose result will be this one's. The key is
    /// empty until the query is filled.
    fn has_twin_under_way(&self, at: usize) -> bool {
        let Some(run) = self.runs.get(at) else { return false };
        let begun = |other: &Run| matches!(other.status, Status::Busy | Status::Again(_));
        let mut others = self.runs.0.iter().enumerate().filter(|(other, _)| *other != at);
        self.call_kind(at) != CallKind::Synthesize
            && !run.key.is_empty()
            && others.any(|(_, other)| begun(other) && other.key == run.key)
    }

    /// The time at which the next retry is due.
    pub(super) fn retry_at(&self) -> Option<u64> {
        let due = |run: &Run| match run.status {
            Status::Again(when) if when > self.now => Some(when),
            _ => None,
        };
        self.runs.0.iter().filter_map(due).min().filter(|_| self.progress.stop.is_none())
    }

    pub(super) fn call_kind(&self, at: usize) -> CallKind {
        match self.steps().get(at).map(|step| step.kind) {
            Some(StepKind::Refine) => CallKind::Refine,
            Some(StepKind::Synthesize) => CallKind::Synthesize,
            _ => CallKind::Search,
        }
    }

    /// Begins a step. In order: its condition, equal results of this chain, the cache, the call.
    fn begin(&mut self, at: usize) {
        let Some(step) = self.steps().get(at).cloned() else { return };
        let allowed = self.runs.get(at).is_some_and(|run| run.allowed);
        if let Some(when) = step.when.as_ref().filter(|_| !allowed) {
            if self.options.hooks.condition {
                self.set(at, Status::Busy);
                let body = ConditionCall { when: when.clone(), step: self.step_call(at, &step) };
                return self.call(CallBody::Condition(body), Some(at));
            }
            let holds = condition::parse(when, self.steps()).is_some_and(|it| it.holds(&self.runs));
            if !holds {
                return self.skip(at, SkipReason::Condition);
            }
        }
        self.run(at);
    }

    fn run(&mut self, at: usize) {
        let Some(step) = self.steps().get(at).cloned() else { return };
        if self.skip_without_subject(at, &step) {
            return;
        }
        self.fill(at);
        let inputs = self.inputs(&step);
        if let Some(run) = self.runs.get_mut(at) {
            run.allowed = true;
            run.status = Status::Busy;
            if self.options.hooks.enhance && step.kind == StepKind::Search && !run.enhanced {
                run.enhanced = true;
                let body = EnhanceCall { query: run.query.clone(), step, inputs };
                return self.call(CallBody::Enhance(body), Some(at));
            }
        }
        if self.runs.get(at).is_some_and(|run| run.started.is_none()) {
            if self.has_twin_under_way(at) {
                return self.set(at, Status::Waiting);
            }
            self.announce(at);
        }
        let bare = self.runs.get(at).is_none_or(|run| run.query.is_empty());
        if step.kind == StepKind::Refine && !self.options.hooks.refine && bare {
            // Nobody refines, and there is nothing to look for: the inputs are passed on.
            let mut inputs: Vec<_> = inputs.into_iter().map(|one| one.result).collect();
            let passed = match inputs.len() {
                1 => inputs.pop().unwrap_or_default(),
                _ => Json::Array(inputs),
            };
            return self.found(at, passed, false);
        }
        let cacheable = step.kind != StepKind::Synthesize;
        let Some(run) = self.runs.get(at).filter(|_| cacheable) else { return self.ask(at, &step) };
        let same = |other: &&Run| other.status == Status::Done && other.key == run.key;
        if let Some(found) = self.runs.0.iter().find(same).and_then(|other| other.result.clone()) {
            return self.found(at, found, true);
        }
        if self.options.hooks.cache && !run.recalled {
            let body = CallBody::Recall(RecallCall { key: run.key.clone() });
            if let Some(run) = self.runs.get_mut(at) {
                run.recalled = true;
            }
            return self.call(body, Some(at));
        }
        self.ask(at, &step);
    }

    /// Skips a step whose query refers to an empty result: it has lost its subject.
    fn skip_without_subject(&mut self, at: usize, step: &PlanStep) -> bool {
        let result = |at: usize| self.runs.get(at).and_then(|run| run.result.as_ref());
        let short = |at: usize| self.runs.get(at).and_then(|run| run.short.as_deref());
        let empty = reference::empty(step, self.steps(), &result, &short);
        let Some(empty) = empty else { return false };
        let message = format!("step `{}` is skipped: `{empty}` in its query is empty", step.id);
        let failure = Failure::new("chain.empty_reference", message);
        let call = self.call_kind(at);
        self.emit(ChainEventKind::Warning { call, failure, language: None });
        self.skip(at, SkipReason::EmptyReference);
        true
    }

    fn ask(&mut self, at: usize, step: &PlanStep) {
        if !self.affords(self.call_kind(at)) {
            // The call has become more expensive since the step began.
            return self.set(at, Status::Again(self.now));
        }
        if let Some(run) = self.runs.get_mut(at) {
            run.attempts += 1;
        }
        let body = match step.kind {
            StepKind::Search => CallBody::Search(self.step_call(at, step)),
            StepKind::Refine => CallBody::Refine(self.step_call(at, step)),
            StepKind::Synthesize => CallBody::Synthesize(self.synthesis_call(at, step, false)),
        };
        self.call(body, Some(at));
    }

    /// Fills the placeholders of a step's query and makes its cache key.
    pub(super) fn fill(&mut self, at: usize) {
        let Some(step) = self.steps().get(at) else { return };
        let result = |at: usize| self.runs.get(at).and_then(|run| run.result.as_ref());
        let short = |at: usize| self.runs.get(at).and_then(|run| run.short.as_deref());
        let own = self.runs.get(at).and_then(|run| run.own_query.clone());
        let filled = || reference::fill(step, self.steps(), &result, &short);
        let query = own.unwrap_or_else(filled);
        let hash = |need: usize| result(need).map(|value| results::hash(value).into());
        let inputs = self.needs(at).into_iter().filter_map(hash).collect();
        let mut key = object! {
            "type": Json::from(step.kind.name()),
            "query": Json::from(query.clone()),
            "focus": Json::from(step.focus.clone()),
            "inputs": Json::Array(inputs),
            "model": Json::from(self.options.model.clone()),
        };
        if let (Some(wanted), Json::Object(members)) = (step.num_results, &mut key) {
            members.push(("num_results".into(), Json::integer(wanted)));
        }
        let key = key.to_canonical();
        if let Some(run) = self.runs.get_mut(at) {
            (run.query, run.key) = (query, key);
        }
    }

    /// Handles the value that a step's call returned.
    pub(super) fn step_returned(&mut self, call: Call, at: usize, value: Json<'static>) {
        match call.kind {
            CallKind::Condition => match value.as_bool() {
                Some(true) => self.run(at),
                Some(false) => self.skip(at, SkipReason::Condition),
                None => {
                    let message = "`condition`: expected a boolean";
                    self.give_up(at, Failure::new("chain.invalid_result", message));
                }
            },
            CallKind::Enhance => {
                let query = value.as_str().map(str::trim).filter(|query| !query.is_empty());
                if let Some((run, query)) = self.runs.get_mut(at).zip(query) {
                    run.own_query = Some(query.to_owned());
                }
                self.run(at);
            }
            CallKind::Recall => {
                let age = value.get("ageMs").and_then(Json::as_f64).unwrap_or(f64::INFINITY);
                let fresh = age <= float(self.options.limits.cache_ms);
                match value.get("value").filter(|_| fresh) {
                    Some(found) => self.found(at, found.clone(), true),
                    None => self.run(at),
                }
            }
            _ => {
                if let Some(message) = mcp::failure(&value) {
                    let error = Failure::new(format!("{}.threw", call.kind.name()), message);
                    return self.step_failed(&call, at, error, true);
                }
                let streamed = value.is_null() && !call.text.is_empty();
                let value = if streamed { call.text.into() } else { value };
                self.found(at, value, false);
            }
        }
    }

    /// Handles the failure of a step's call.
    pub(super) fn step_failed(&mut self, call: &Call, at: usize, error: Failure, retryable: bool) {
        if matches!(call.kind, CallKind::Recall | CallKind::Enhance) {
            return self.run(at);
        }
        let limits = &self.options.limits;
        let attempts = self.runs.get(at).map_or(0, |run| run.attempts);
        let again = retryable
            && call.kind != CallKind::Condition
            && attempts <= limits.max_retries
            && self.progress.stop.is_none()
            && self.affords(call.kind);
        if !again {
            return self.give_up(at, error);
        }
        let wait = limits.retry_ms.saturating_mul(1 << attempts.saturating_sub(1).min(20));
        self.set(at, Status::Again(self.now.saturating_add(wait)));
    }

    fn found(&mut self, at: usize, value: Json<'static>, cached: bool) {
        let kind = self.steps().get(at).map(|step| step.kind);
        let gain = match kind {
            Some(StepKind::Synthesize) | None => 0,
            Some(_) => self.progress.seen.gain(&value),
        };
        // A refinement condenses results, and cannot be compared with them.
        if kind == Some(StepKind::Search) && self.options.hooks.quality {
            self.progress.unrated.push_back(at);
        }
        let mentions = |step: &PlanStep| {
            reference::mentioned(step, self.steps()).iter().any(|(other, _)| *other == at)
        };
        if self.options.hooks.summarize_result && self.steps().iter().any(mentions) {
            self.progress.unsummarized.push_back(at);
        }
        // An empty result may be a limit of the service; the next chain searches again.
        let remember = self.options.hooks.cache
            && !cached
            && kind != Some(StepKind::Synthesize)
            && !results::is_empty(&value);
        let now = self.now;
        if let Some(run) = self.runs.get_mut(at) {
            run.status = Status::Done;
            run.ended = Some(now);
            run.cached = cached;
            run.gain = gain;
            run.result = Some(value.clone());
            if remember {
                self.effects.push_back(Effect::Remember { key: run.key.clone(), value });
            }
        }
        self.progress.unassessed = true;
        self.progress.unjudged = true;
        self.step_done(at);
    }

    fn give_up(&mut self, at: usize, error: Failure) {
        let now = self.now;
        if let Some(run) = self.runs.get_mut(at) {
            run.status = Status::Failed;
            run.ended = Some(now);
            run.error = Some(error);
        }
        self.progress.unjudged = true;
        self.step_done(at);
    }

    fn skip(&mut self, at: usize, why: SkipReason) {
        let now = self.now;
        if let Some(run) = self.runs.get_mut(at) {
            run.status = Status::Skipped(why);
            run.ended = Some(now);
        }
        self.step_done(at);
    }

    /// Skips the `wanted` steps that have not settled. Emits `step_done` for those that were
    /// announced.
    pub(super) fn skip_rest(&mut self, wanted: impl Fn(usize) -> bool) {
        for at in (0..self.runs.0.len()).filter(|at| wanted(*at)) {
            match self.runs.get(at) {
                Some(run) if run.settled() => {}
                Some(run) if run.started.is_some() => self.skip(at, SkipReason::Stopped),
                _ => self.set(at, Status::Skipped(SkipReason::Stopped)),
            }
        }
    }

    fn set(&mut self, at: usize, status: Status) {
        if let Some(run) = self.runs.get_mut(at) {
            run.status = status;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a year fit")]
fn float(millis: u64) -> f64 {
    millis as f64
}
