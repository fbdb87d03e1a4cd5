//! Emits the events of a chain and its result, and makes the bodies of its calls.

use super::calls::{MissingStep, StepCall, StepResult, SynthesisCall};
use super::event::{ChainEvent, ChainEventKind, Progress};
use super::machine::{Chain, State};
use super::outcome::{
    ChainOutcome, ChainPath, ChainResult, ChainStatus, Failure, Refinement, SkipReason,
};
use super::plan::{Plan, PlanStep, StepId, position};
use super::protocol::Effect;
use super::run::{Run, Status};

impl Chain {
    pub(super) fn steps(&self) -> &[PlanStep] {
        self.plan.as_ref().map_or(&[], |plan| plan.steps.as_slice())
    }

    /// The steps in plan order, each with its state.
    fn pairs(&self) -> impl Iterator<Item = (&PlanStep, &Run)> {
        self.steps().iter().zip(&self.runs.0)
    }

    pub(super) fn emit(&mut self, kind: ChainEventKind) {
        self.seq += 1;
        self.effects.push_back(Effect::Emit(ChainEvent { seq: self.seq, kind }));
    }

    /// Emits a piece of the answer.
    pub(super) fn emit_text(&mut self, chunk: String) {
        self.progress.text.push_str(&chunk);
        self.emit(ChainEventKind::Text { chunk });
    }

    /// Records that a step starts and emits `step_started`.
    pub(super) fn announce(&mut self, at: usize) {
        let now = self.now;
        if let Some(run) = self.runs.get_mut(at) {
            run.started = Some(now);
        }
        let Some((step, run)) = self.steps().get(at).zip(self.runs.get(at)) else { return };
        self.emit(ChainEventKind::StepStarted {
            id: step.id.clone(),
            step_type: step.kind,
            query: run.query.clone(),
            focus: step.focus.clone(),
            progress: self.counts(),
        });
    }

    /// Emits `step_done` for a step that has settled.
    pub(super) fn step_done(&mut self, at: usize) {
        let Some((step, run)) = self.steps().get(at).zip(self.runs.get(at)) else { return };
        let (outcome, progress) = (run.outcome(step), self.counts());
        self.emit(ChainEventKind::StepDone { outcome, progress });
    }

    /// The progress of the plan.
    fn counts(&self) -> Progress {
        Progress {
            settled: self.runs.0.iter().filter(|run| run.settled()).count(),
            total: self.runs.0.len(),
            spent: self.progress.spent,
        }
    }

    pub(super) fn emit_stopped(&mut self) {
        let Some(reason) = self.progress.stop else { return };
        let ids = |wanted: &dyn Fn(Status) -> bool| {
            let wanted = self.pairs().filter(|(_, run)| wanted(run.status));
            wanted.map(|(step, _)| step.id.clone()).collect()
        };
        self.emit(ChainEventKind::ChainStopped {
            reason,
            finished: ids(&|status| status == Status::Done),
            failed: ids(&|status| status == Status::Failed),
            skipped: ids(&|status| matches!(status, Status::Skipped(_))),
            spent: self.progress.spent,
            completeness: self.progress.completeness,
        });
    }

    pub(super) fn emit_refined(&mut self, before: &Plan, after: &Plan) {
        let missing = |from: &Plan, to: &Plan| -> Vec<StepId> {
            let ids = from.steps.iter().map(|step| &step.id);
            ids.filter(|id| position(&to.steps, id).is_none()).cloned().collect()
        };
        let (added, removed) = (missing(after, before), missing(before, after));
        let accepted = Refinement::Accepted { added: added.clone(), removed: removed.clone() };
        self.progress.refinements.push(accepted);
        self.emit(ChainEventKind::PlanRefined { plan: after.clone(), added, removed });
    }

    /// The share of the plan's steps that have a result which is not empty. Steps that their condition skipped were not
    /// needed, and the last synthesis is the answer; both do not count.
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    fn coverage(&self) -> Option<f64> {
        self.plan.as_ref()?;
        let passed = Status::Skipped(SkipReason::Condition);
        let of = self.runs.0.iter().enumerate();
        let of = of.filter(|(at, run)| *at != self.last && run.status != passed);
        let (mut done, mut all) = (0, 0);
        for (_, run) in of {
            done += usize::from(run.has_evidence());
            all += 1;
        }
        Some(if all == 0 { 0.0 } else { done as f64 / all as f64 })
    }

    /// Results of all finished steps, in plan order.
    pub(super) fn results(&self) -> Vec<StepResult> {
        self.pairs().filter_map(|(step, run)| run.result(step)).collect()
    }

    /// Results of the steps that `step` depends on, in plan order.
    pub(super) fn inputs(&self, step: &PlanStep) -> Vec<StepResult> {
        let needed = self.pairs().filter(|(other, _)| step.depends_on.contains(&other.id));
        needed.filter_map(|(step, run)| run.result(step)).collect()
    }

    /// The body of a search, refinement or condition call.
    pub(super) fn step_call(&self, at: usize, step: &PlanStep) -> StepCall {
        let run = self.runs.get(at);
        StepCall {
            id: step.id.clone(),
            kind: step.kind,
            query: run.map_or_else(String::new, |run| run.query.clone()),
            template: step.query.clone(),
            focus: step.focus.clone(),
            num_results: step.num_results,
            user_query: self.options.query.clone(),
            inputs: self.inputs(step),
            attempt: run.map_or(0, |run| run.attempts),
        }
    }

    /// The body of a synthesis call. The last synthesis receives all results, an earlier one only
    /// those of its dependencies.
    pub(super) fn synthesis_call(&self, at: usize, step: &PlanStep, last: bool) -> SynthesisCall {
        let lacks =
            |(other, run): &(&PlanStep, &Run)| last && other.id != step.id && run.result.is_none();
        let missing = |(step, run): (&PlanStep, &Run)| MissingStep {
            id: step.id.clone(),
            query: step.query.clone(),
            status: run.shown(),
        };
        SynthesisCall {
            id: step.id.clone(),
            query: self.options.query.clone(),
            task: self.runs.get(at).map_or_else(String::new, |run| run.query.clone()),
            focus: step.focus.clone(),
            results: if last { self.results() } else { self.inputs(step) },
            missing: self.pairs().filter(lacks).map(missing).collect(),
            is_final: last,
            stopped: self.progress.stop,
        }
    }

    /// Ends the chain: emits the only terminal event and the result.
    pub(super) fn finish(&mut self, status: ChainStatus, error: Option<Failure>) {
        let answered =
            matches!(self.state, State::Answering | State::Classifying | State::Planning);
        let simple = answered || self.plan.is_none();
        self.state = State::Over;
        let outcome = ChainOutcome {
            status,
            path: if simple { ChainPath::Simple } else { ChainPath::Chain },
            text: self.progress.text.clone(),
            stopped: self.progress.stop,
            coverage: self.coverage(),
            fell_back: self.progress.fell_back.clone(),
            cost: self.progress.spent,
            duration_ms: self.now.saturating_sub(self.started),
            error,
        };
        self.emit(ChainEventKind::Complete { outcome: outcome.clone() });
        self.effects.push_back(Effect::Done(ChainResult {
            outcome,
            classification: self.classification.clone(),
            plan: self.plan.clone(),
            steps: self.pairs().map(|(step, run)| run.outcome(step)).collect(),
            refinements: std::mem::take(&mut self.progress.refinements),
            completeness: self.progress.completeness,
        }));
    }
}
