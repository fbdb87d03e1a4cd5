//! Replanning: replaces the remaining steps of a plan. Steps that have started never change.

use super::calls::{CallBody, CallKind, ReplanCall};
use super::event::ChainEventKind;
use super::machine::{Chain, State};
use super::outcome::{Failure, Refinement};
use super::plan::{self, Draft, Plan, PlanError, PlanLimits, PlanStep, Planned, position, waves};
use super::run::{Run, Status};
use crate::json::Json;

impl Chain {
    /// Waves at the front of the plan whose steps have all settled.
    fn settled_waves(&self) -> usize {
        let last = self.last;
        let settled = |at: &usize| *at == last || self.runs.get(*at).is_some_and(Run::settled);
        let waves = waves(self.steps()).unwrap_or_default();
        waves.iter().take_while(|wave| wave.iter().all(settled)).count()
    }

    /// Calls the host after each wave, so that it can replace the steps that have not started.
    /// Returns whether a call was made.
    pub(super) fn ask_replan(&mut self) -> bool {
        let settled = self.settled_waves();
        let waits = |at: &usize| *at != self.last && self.runs.is(*at, Status::Waiting);
        let remaining: Vec<usize> = (0..self.steps().len()).filter(waits).collect();
        let due = self.options.hooks.replan
            && settled > self.progress.waves
            && !remaining.is_empty()
            && self.affords(CallKind::Replan);
        if !due {
            return false;
        }
        let Some(plan) = self.plan.clone() else { return false };
        let ids = remaining.iter().filter_map(|at| plan.steps.get(*at));
        let body = ReplanCall {
            query: self.options.query.clone(),
            remaining: ids.map(|step| step.id.clone()).collect(),
            results: self.results(),
            plan,
        };
        self.progress.waves = settled;
        self.call(CallBody::Replan(body), None);
        true
    }

    /// Replaces the remaining steps. Steps that have started stay, whatever the answer contains.
    pub(super) fn replanned(&mut self, value: &Json<'static>) {
        if value.is_null() || self.state != State::Running {
            return;
        }
        let Some(plan) = self.plan.take() else { return };
        let last = self.last;
        let kept: Vec<usize> = (0..plan.steps.len())
            .filter(|at| *at != last && !self.runs.is(*at, Status::Waiting))
            .collect();
        let empty = value.as_array().or_else(|| value.get("steps").and_then(Json::as_array));
        let read = match value.as_str() {
            Some(text) => plan::draft(text),
            None if empty.is_some_and(<[_]>::is_empty) => Ok(Draft::default()),
            None => plan::from_json(value),
        };
        let refined = read.and_then(|draft| refine(&plan, &kept, draft, &self.plan_limits));
        match refined {
            Ok(Planned { plan: refined, last }) => {
                let runs = kept.iter().filter_map(|at| self.runs.get(*at).cloned());
                let mut runs: Vec<Run> = runs.collect();
                runs.resize_with(refined.steps.len(), Run::default);
                self.runs.0 = runs;
                // Both are empty when the host is asked for new steps, or no longer of use.
                self.progress.unrated.clear();
                self.progress.unsummarized.clear();
                for call in &mut self.calls {
                    call.step = call.step.and_then(|at| kept.iter().position(|old| *old == at));
                }
                self.emit_refined(&plan, &refined);
                (self.plan, self.last) = (Some(refined), last);
                self.progress.waves = self.settled_waves();
            }
            Err(error) => {
                let error = Failure::from(&error);
                let (call, failure) = (CallKind::Replan, error.clone());
                self.emit(ChainEventKind::Warning { call, failure, language: None });
                self.progress.refinements.push(Refinement::Refused { error });
                self.plan = Some(plan);
            }
        }
    }
}

/// Returns `plan` with its `kept` steps first, followed by the new ones of `draft`.
fn refine(
    plan: &Plan,
    kept: &[usize],
    draft: Draft,
    limits: &PlanLimits,
) -> Result<Planned, PlanError> {
    let kept: Vec<PlanStep> = kept.iter().filter_map(|at| plan.steps.get(*at).cloned()).collect();
    let is_new = |(step, _): &(PlanStep, bool)| position(&kept, &step.id).is_none();
    let new = draft.steps.into_iter().filter(is_new);
    let draft = Draft {
        reasoning: plan.reasoning.clone(),
        pattern: Some(plan.pattern),
        steps: kept.iter().cloned().map(|step| (step, true)).chain(new).collect(),
        stopping_criteria: plan.stopping_criteria.clone(),
        repairs: draft.repairs,
    };
    let mut refined = Planned::new(draft, limits)?;
    refined.keep(&kept);
    Ok(refined)
}
