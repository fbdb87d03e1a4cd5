//! Checks between steps, and safe repairs.

use super::graph::ids_by_wave;
use super::{Draft, Pattern, Plan, PlanError, PlanLimits, PlanRepair, PlanStep, Planned};
use super::{RepairCode, StepId, StepKind, ancestors, waves};
use crate::chain::{condition, reference};

/// Checks and repairs a draft. Order of the checks: number of steps, ids, dependencies, cycles,
/// contents of each step, conditions, pattern.
pub(super) fn plan(draft: Draft, limits: &PlanLimits) -> Result<Planned, PlanError> {
    let Draft { reasoning, pattern, steps, stopping_criteria, mut repairs } = draft;
    let (mut steps, typed): (Vec<PlanStep>, Vec<bool>) = steps.into_iter().unzip();
    if steps.is_empty() {
        return Err(PlanError::Empty);
    }
    if steps.len() > limits.max_steps {
        return Err(PlanError::TooManySteps { limit: limits.max_steps });
    }
    for (at, step) in steps.iter().enumerate() {
        if steps.iter().skip(at + 1).any(|other| other.id == step.id) {
            return Err(PlanError::DuplicateStep { id: step.id.to_string() });
        }
    }
    as_declared(&mut steps, &mut repairs);
    waves(&steps)?;
    if pattern == Some(Pattern::Sequential) && steps.iter().all(|step| step.depends_on.is_empty()) {
        in_sequence(&mut steps, &mut repairs);
    }
    contents(&mut steps, &typed, &mut repairs)?;
    conditions(&steps, limits)?;
    references(&mut steps, &mut repairs)?;
    let last = synthesis(&mut steps, &mut repairs);
    let pattern = pattern.unwrap_or_else(|| {
        repairs.push(PlanRepair { code: RepairCode::PatternInferred, step: None });
        infer(&steps)
    });
    if !limits.patterns.contains(&pattern) {
        return Err(PlanError::PatternNotAllowed { pattern: pattern.name() });
    }
    let waves = ids_by_wave(&steps);
    let plan = Plan { reasoning, pattern, steps, stopping_criteria, waves, repairs };
    Ok(Planned { plan, last })
}

/// Writes each dependency as the step itself has its id: a planner may write `1` and `"1"`, and
/// `step 1`, `$1` or `#1`. Drops `none`, unless a step has that id.
fn as_declared(steps: &mut [PlanStep], repairs: &mut Vec<PlanRepair>) {
    let ids: Vec<StepId> = steps.iter().map(|step| step.id.clone()).collect();
    for step in steps {
        let mut respelled = false;
        let mut needs: Vec<StepId> = Vec::with_capacity(step.depends_on.len());
        for need in &step.depends_on {
            let known = ids.iter().find(|id| *id == need);
            let read = known.or_else(|| {
                let mut same = ids.iter().filter(|id| bare(id.as_str()) == bare(need.as_str()));
                same.next().filter(|_| same.next().is_none())
            });
            respelled |= known.is_none() && (read.is_some() || is_none(need.as_str()));
            match read.unwrap_or(need) {
                id if read.is_none() && is_none(id.as_str()) => {}
                id if needs.contains(id) => {}
                id => needs.push(id.clone()),
            }
        }
        step.depends_on = needs;
        let note = PlanRepair { code: RepairCode::DependencyRead, step: Some(step.id.clone()) };
        if respelled && !repairs.contains(&note) {
            repairs.push(note);
        }
    }
}

/// An id without the marks and the word with which a planner refers to it.
pub(in crate::chain) fn bare(id: &str) -> &str {
    let mark =
        |c: char| matches!(c, '$' | '{' | '}' | '#' | '_' | '-' | ':' | '.') || c.is_whitespace();
    let id = id.trim_matches(mark);
    let word = id.get(..4).filter(|word| word.eq_ignore_ascii_case("step"));
    match word.and_then(|word| id.get(word.len()..)) {
        Some(rest) if !rest.trim_matches(mark).is_empty() => rest.trim_matches(mark),
        _ => id,
    }
}

/// Whether a planner wrote that there is no dependency.
fn is_none(id: &str) -> bool {
    ["none", "null", "nil", "n/a", "[]"].iter().any(|none| id.eq_ignore_ascii_case(none))
}

/// The step that writes the answer: a synthesis that every other step leads to.
fn last(steps: &[PlanStep]) -> Option<usize> {
    (0..steps.len()).find(|at| {
        let writes = steps.get(*at).is_some_and(|step| step.kind == StepKind::Synthesize);
        let reached = ancestors(steps, *at).iter().filter(|reached| **reached).count();
        writes && reached + 1 == steps.len()
    })
}

fn in_sequence(steps: &mut [PlanStep], repairs: &mut Vec<PlanRepair>) {
    let mut before: Option<StepId> = None;
    for step in steps.iter_mut() {
        if let Some(before) = before.replace(step.id.clone()) {
            step.depends_on.push(before);
        }
    }
    if steps.len() > 1 {
        repairs.push(PlanRepair { code: RepairCode::SequenceAdded, step: None });
    }
}

fn contents(
    steps: &mut [PlanStep],
    typed: &[bool],
    repairs: &mut Vec<PlanRepair>,
) -> Result<(), PlanError> {
    for (index, (step, typed)) in steps.iter_mut().zip(typed).enumerate() {
        let wrong = |expected| PlanError::InvalidStep { index, expected };
        let mut note = |code| repairs.push(PlanRepair { code, step: Some(step.id.clone()) });
        if !typed {
            if step.query.is_empty() {
                return Err(wrong("`type`: search, refine or synthesize"));
            }
            note(RepairCode::TypeInferred);
        }
        if step.kind == StepKind::Search && step.query.is_empty() {
            if step.focus.is_empty() {
                return Err(wrong("`query`: what to look for"));
            }
            step.query.clone_from(&step.focus);
            note(RepairCode::QueryInferred);
        }
    }
    Ok(())
}

fn conditions(steps: &[PlanStep], limits: &PlanLimits) -> Result<(), PlanError> {
    for step in steps.iter().filter(|_| limits.conditions) {
        if let Some(when) = &step.when
            && condition::parse(when, steps).is_none()
        {
            return Err(PlanError::InvalidCondition { id: step.id.to_string() });
        }
    }
    Ok(())
}

/// Makes each step depend on the steps whose results it mentions.
///
/// # Errors
/// `plan.unknown_dependency` for a reference to no step; `plan.cycle` for a mention that closes a circle. `$name` without braces is then no reference.
fn references(steps: &mut [PlanStep], repairs: &mut Vec<PlanRepair>) -> Result<(), PlanError> {
    for at in 0..steps.len() {
        let Some(step) = steps.get(at) else { continue };
        if let Some(name) = reference::unknown(&step.query, steps) {
            let (id, dependency) = (step.id.to_string(), name.to_owned());
            return Err(PlanError::UnknownDependency { id, dependency });
        }
        let mut mentioned = reference::mentioned(step, steps);
        let when = step.when.as_deref().unwrap_or("");
        let conditions = reference::mentioned_in_condition(when, steps);
        mentioned.extend(conditions.into_iter().map(|other| (other, true)));
        for (other, certain) in mentioned {
            let known = ancestors(steps, at).get(other).copied().unwrap_or(true);
            let circle = other == at || ancestors(steps, other).get(at).copied().unwrap_or(true);
            let Some(id) = steps.get(other).map(|step| step.id.clone()) else { continue };
            let Some(step) = steps.get_mut(at) else { continue };
            if circle && certain {
                return Err(PlanError::Cycle { id: step.id.to_string() });
            }
            if !known && !circle {
                step.depends_on.push(id);
                let (code, step) = (RepairCode::DependencyAdded, Some(step.id.clone()));
                repairs.push(PlanRepair { code, step });
            }
        }
    }
    Ok(())
}

/// Makes the last synthesis without dependencies depend on all other steps. If no synthesis
/// depends on all other steps, adds one. Returns the index of the final synthesis.
fn synthesis(steps: &mut Vec<PlanStep>, repairs: &mut Vec<PlanRepair>) -> usize {
    let bare = |step: &PlanStep| step.kind == StepKind::Synthesize && step.depends_on.is_empty();
    if let Some(at) = steps.iter().rposition(bare)
        && steps.len() > 1
        && let Some(own) = steps.get(at).map(|step| step.id.clone())
    {
        let leads_elsewhere = |place: usize| ancestors(steps, place).get(at) == Some(&true);
        let others: Vec<StepId> = (0..steps.len())
            .filter(|place| *place != at && !leads_elsewhere(*place))
            .filter_map(|place| steps.get(place).map(|step| step.id.clone()))
            .collect();
        if !others.is_empty()
            && let Some(step) = steps.get_mut(at)
        {
            step.depends_on = others;
            repairs.push(PlanRepair { code: RepairCode::DependencyAdded, step: Some(own) });
        }
    }
    if let Some(last) = last(steps) {
        return last;
    }
    let needed = |id: &StepId| steps.iter().any(|step| step.depends_on.contains(id));
    let ends: Vec<StepId> =
        steps.iter().map(|step| step.id.clone()).filter(|id| !needed(id)).collect();
    let id = add_synthesis(steps, ends);
    repairs.push(PlanRepair { code: RepairCode::SynthesisAdded, step: Some(id) });
    steps.len() - 1
}

/// Adds a synthesis that depends on `depends_on` and returns its id.
fn add_synthesis(steps: &mut Vec<PlanStep>, depends_on: Vec<StepId>) -> StepId {
    let mut name = "synthesis".to_owned();
    while steps.iter().any(|step| step.id.as_str() == name) {
        name.push('_');
    }
    let step = PlanStep { depends_on, ..PlanStep::new(name, StepKind::Synthesize, "") };
    let id = step.id.clone();
    steps.push(step);
    id
}

impl Planned {
    /// Gives the first steps back as they are in `kept`, and ensures that the step that writes the
    /// answer is not one of them.
    pub(in crate::chain) fn keep(&mut self, kept: &[PlanStep]) {
        let steps = &mut self.plan.steps;
        for (step, kept) in steps.iter_mut().zip(kept) {
            step.clone_from(kept);
        }
        if self.last < kept.len() {
            let all = steps.iter().map(|step| step.id.clone()).collect();
            add_synthesis(steps, all);
            self.last = steps.len() - 1;
        }
        self.plan.waves = ids_by_wave(steps);
    }
}

fn infer(steps: &[PlanStep]) -> Pattern {
    if steps.iter().any(|step| step.when.is_some()) {
        return Pattern::Conditional;
    }
    let chained =
        steps.iter().any(|step| step.kind != StepKind::Synthesize && !step.depends_on.is_empty());
    if chained { Pattern::Sequential } else { Pattern::Parallel }
}
