//! Checks between steps, and safe repairs.

use super::{Draft, Pattern, Plan, PlanError, PlanLimits, PlanRepair, Step, StepKind};
use super::{ancestors, position, waves};
use crate::chain::{condition, reference};

/// Checks and repairs a draft. Order of the checks: number of steps, ids, dependencies, cycles,
/// contents of each step, conditions, pattern.
pub(super) fn plan(draft: Draft, limits: &PlanLimits) -> Result<Plan, PlanError> {
    let Draft { reasoning, pattern, mut steps, stopping_criteria } = draft;
    if steps.is_empty() {
        return Err(PlanError::Empty);
    }
    if steps.len() > limits.max_steps {
        return Err(PlanError::TooManySteps { limit: limits.max_steps });
    }
    for (at, step) in steps.iter().enumerate() {
        if steps.iter().skip(at + 1).any(|other| other.id == step.id) {
            return Err(PlanError::DuplicateStep { id: step.id.clone() });
        }
    }
    waves(&steps)?;
    let mut repairs = Vec::new();
    if pattern == Some(Pattern::Sequential) && steps.iter().all(|step| step.depends_on.is_empty()) {
        in_sequence(&mut steps, &mut repairs);
    }
    contents(&mut steps, &mut repairs)?;
    conditions(&steps, limits)?;
    references(&mut steps, &mut repairs);
    let last = synthesis(&mut steps, &mut repairs);
    let pattern = pattern.unwrap_or_else(|| {
        repairs.push(PlanRepair { code: "pattern_inferred", step: None });
        infer(&steps)
    });
    if !limits.patterns.contains(&pattern) {
        return Err(PlanError::PatternNotAllowed { pattern: pattern.name() });
    }
    Ok(Plan { reasoning, pattern, steps, stopping_criteria, repairs, last })
}

/// The step that writes the answer: a synthesis that every other step leads to.
fn last(steps: &[Step]) -> Option<usize> {
    (0..steps.len()).find(|at| {
        let writes = steps.get(*at).is_some_and(|step| step.kind() == StepKind::Synthesize);
        let reached = ancestors(steps, *at).iter().filter(|reached| **reached).count();
        writes && reached + 1 == steps.len()
    })
}

fn in_sequence(steps: &mut [Step], repairs: &mut Vec<PlanRepair>) {
    let mut before: Option<String> = None;
    for step in steps.iter_mut() {
        if let Some(before) = before.replace(step.id.clone()) {
            step.depends_on.push(before);
        }
    }
    if steps.len() > 1 {
        repairs.push(PlanRepair { code: "sequence_added", step: None });
    }
}

fn contents(steps: &mut [Step], repairs: &mut Vec<PlanRepair>) -> Result<(), PlanError> {
    for (index, step) in steps.iter_mut().enumerate() {
        let mut note = |code| repairs.push(PlanRepair { code, step: Some(step.id.clone()) });
        if step.kind.is_none() && !step.query.is_empty() {
            step.kind = Some(StepKind::Search);
            note("type_inferred");
        }
        let Some(kind) = step.kind else {
            return Err(PlanError::InvalidStep {
                index,
                expected: "`type`: search, refine or synthesize",
            });
        };
        if kind == StepKind::Search && step.query.is_empty() {
            if step.focus.is_empty() {
                return Err(PlanError::InvalidStep {
                    index,
                    expected: "`query`: what to look for",
                });
            }
            step.query.clone_from(&step.focus);
            note("query_inferred");
        }
    }
    Ok(())
}

fn conditions(steps: &[Step], limits: &PlanLimits) -> Result<(), PlanError> {
    for step in steps.iter().filter(|_| limits.conditions) {
        if let Some(when) = &step.when
            && condition::parse(when, steps).is_none()
        {
            return Err(PlanError::InvalidCondition { id: step.id.clone() });
        }
    }
    Ok(())
}

/// Makes each step depend on the steps whose results it mentions. A mention that would close a
/// cycle is not a reference.
fn references(steps: &mut [Step], repairs: &mut Vec<PlanRepair>) {
    for at in 0..steps.len() {
        let Some(step) = steps.get(at) else { continue };
        let mut mentioned = reference::mentioned(&step.query, steps);
        mentioned.extend(reference::mentioned(step.when.as_deref().unwrap_or(""), steps));
        for other in mentioned {
            let known = ancestors(steps, at).get(other).copied().unwrap_or(true);
            let circle = other == at || ancestors(steps, other).get(at).copied().unwrap_or(true);
            let Some(id) = steps.get(other).map(|step| step.id.clone()) else { continue };
            if !known
                && !circle
                && let Some(step) = steps.get_mut(at)
            {
                step.depends_on.push(id);
                repairs.push(PlanRepair { code: "dependency_added", step: Some(step.id.clone()) });
            }
        }
    }
}

/// Makes the last synthesis without dependencies depend on all other steps. If no synthesis
/// depends on all other steps, adds one. Returns the index of the final synthesis.
fn synthesis(steps: &mut Vec<Step>, repairs: &mut Vec<PlanRepair>) -> usize {
    let bare = |step: &Step| step.kind() == StepKind::Synthesize && step.depends_on.is_empty();
    if let Some(at) = steps.iter().rposition(bare)
        && steps.len() > 1
        && let Some(own) = steps.get(at).map(|step| step.id.clone())
    {
        let leads_elsewhere = |place: usize| ancestors(steps, place).get(at) == Some(&true);
        let others: Vec<String> = (0..steps.len())
            .filter(|place| *place != at && !leads_elsewhere(*place))
            .filter_map(|place| steps.get(place).map(|step| step.id.clone()))
            .collect();
        if !others.is_empty()
            && let Some(step) = steps.get_mut(at)
        {
            step.depends_on = others;
            repairs.push(PlanRepair { code: "dependency_added", step: Some(own) });
        }
    }
    if let Some(last) = last(steps) {
        return last;
    }
    let needed = |id: &String| steps.iter().any(|step| step.depends_on.contains(id));
    let ends: Vec<String> =
        steps.iter().map(|step| step.id.clone()).filter(|id| !needed(id)).collect();
    let id = add_synthesis(steps, ends);
    repairs.push(PlanRepair { code: "synthesis_added", step: Some(id) });
    steps.len() - 1
}

/// Adds a synthesis that depends on `depends_on` and returns its id.
fn add_synthesis(steps: &mut Vec<Step>, depends_on: Vec<String>) -> String {
    let mut id = "synthesis".to_owned();
    while position(steps, &id).is_some() {
        id.push('_');
    }
    steps.push(Step {
        id: id.clone(),
        numeric: false,
        kind: Some(StepKind::Synthesize),
        query: String::new(),
        focus: String::new(),
        depends_on,
        when: None,
    });
    id
}

impl Plan {
    /// Ensures that the step that writes the answer is not one of the first `kept`.
    pub(crate) fn close(&mut self, kept: usize) {
        if self.last >= kept {
            return;
        }
        let all = self.steps.iter().map(|step| step.id.clone()).collect();
        add_synthesis(&mut self.steps, all);
        self.last = self.steps.len() - 1;
    }
}

fn infer(steps: &[Step]) -> Pattern {
    if steps.iter().any(|step| step.when.is_some()) {
        return Pattern::Conditional;
    }
    let chained =
        steps.iter().any(|step| step.kind() != StepKind::Synthesize && !step.depends_on.is_empty());
    if chained { Pattern::Sequential } else { Pattern::Parallel }
}
