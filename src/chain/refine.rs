//! Replanning: replaces the remaining steps of a plan. Steps that have started never change.

use super::machine::{Chain, State};
use super::plan::{self, Draft, Plan, Step, position, waves};
use super::protocol::CallKind;
use super::run::{Run, Status};
use crate::json::Json;

impl Chain {
    /// Waves at the front of the plan whose steps have all settled.
    fn settled_waves(&self) -> usize {
        let last = self.last();
        let settled = |at: &usize| *at == last || self.runs.get(*at).is_some_and(Run::settled);
        let waves = waves(self.steps()).unwrap_or_default();
        waves.iter().take_while(|wave| wave.iter().all(settled)).count()
    }

    /// Calls the host after each wave, so that it can replace the steps that have not started.
    /// Returns whether a call was made.
    pub(super) fn ask_replan(&mut self) -> bool {
        let settled = self.settled_waves();
        let waits = |at: &usize| *at != self.last() && self.runs.is(*at, Status::Waiting);
        let remaining: Vec<usize> = (0..self.steps().len()).filter(waits).collect();
        let due = self.options.hooks.replan
            && settled > self.progress.waves
            && !remaining.is_empty()
            && self.affords(CallKind::Replan);
        if !due {
            return false;
        }
        self.progress.waves = settled;
        let shown = self.plan.as_ref().map_or(Json::Null, Plan::to_json);
        let ids = remaining.iter().filter_map(|at| self.steps().get(*at)).map(Step::id_json);
        let body = Json::object([
            ("query", self.options.query.clone().into()),
            ("plan", shown),
            ("results", self.results(|_| true)),
            ("remaining", Json::Array(ids.collect())),
        ]);
        self.call(CallKind::Replan, None, body);
        true
    }

    /// Replaces the remaining steps. Steps that have started stay, whatever the answer contains.
    pub(super) fn replanned(&mut self, value: &Json<'static>) {
        if value.is_null() || self.state != State::Running {
            return;
        }
        let Some(plan) = self.plan.take() else { return };
        let last = plan.last;
        let kept: Vec<usize> = (0..plan.steps.len())
            .filter(|at| *at != last && !self.runs.is(*at, Status::Waiting))
            .collect();
        let empty = value.as_array().or_else(|| value.get("steps").and_then(Json::as_array));
        let read = match value.as_str() {
            Some(text) => plan::draft(text),
            None if empty.is_some_and(<[_]>::is_empty) => Ok(Draft {
                reasoning: String::new(),
                pattern: None,
                steps: Vec::new(),
                stopping_criteria: String::new(),
            }),
            None => plan::from_json(value),
        };
        let refined = read.and_then(|draft| refine(&plan, &kept, draft, &self.options.plan));
        match refined {
            Ok(refined) => {
                let runs = kept.iter().filter_map(|at| self.runs.get(*at).cloned());
                let mut runs: Vec<Run> = runs.collect();
                runs.resize_with(refined.steps.len(), Run::default);
                self.runs.0 = runs;
                for call in &mut self.calls {
                    call.step = call.step.and_then(|at| kept.iter().position(|old| *old == at));
                }
                self.emit_refined(&plan, &refined);
                self.plan = Some(refined);
                self.progress.waves = self.settled_waves();
            }
            Err(error) => {
                let error = [("code", error.code().into()), ("message", error.to_string().into())];
                self.progress.refinements.push(Json::object([
                    ("accepted", false.into()),
                    ("error", Json::object(error)),
                ]));
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
    limits: &plan::PlanLimits,
) -> Result<Plan, plan::PlanError> {
    let kept: Vec<Step> = kept.iter().filter_map(|at| plan.steps.get(*at).cloned()).collect();
    let mut steps = kept.clone();
    let is_new = |step: &Step| position(&kept, &step.id).is_none();
    steps.extend(draft.steps.into_iter().filter(is_new));
    let draft = Draft {
        reasoning: plan.reasoning.clone(),
        pattern: Some(plan.pattern),
        steps,
        stopping_criteria: plan.stopping_criteria.clone(),
    };
    let mut refined = Plan::new(draft, limits)?;
    for (step, kept) in refined.steps.iter_mut().zip(&kept) {
        step.clone_from(kept);
    }
    refined.close(kept.len());
    Ok(refined)
}
