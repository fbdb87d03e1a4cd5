//! The dependencies between steps.

use super::{PlanError, PlanStep, StepId};

/// The index of the step `id`.
pub(in crate::chain) fn position(steps: &[PlanStep], id: &StepId) -> Option<usize> {
    steps.iter().position(|step| step.id == *id)
}

/// Groups steps that could start together into waves, each in list order. There are as many waves
/// as the longest chain of dependencies has steps.
///
/// # Errors
/// `plan.unknown_dependency`, `plan.cycle`.
pub fn waves(steps: &[PlanStep]) -> Result<Vec<Vec<usize>>, PlanError> {
    let needs = needs(steps)?;
    let mut done = vec![false; steps.len()];
    let mut waves = Vec::new();
    while done.contains(&false) {
        let is_done = |at: &usize| done.get(*at).copied().unwrap_or(false);
        let ready: Vec<usize> = needs
            .iter()
            .enumerate()
            .filter(|(at, needs)| !is_done(at) && needs.iter().all(is_done))
            .map(|(at, _)| at)
            .collect();
        if ready.is_empty() {
            let circle = needs.iter().enumerate().find(|(at, _)| !is_done(at));
            let id = circle.and_then(|(at, _)| steps.get(at)).map(|step| step.id.to_string());
            return Err(PlanError::Cycle { id: id.unwrap_or_default() });
        }
        for at in &ready {
            if let Some(done) = done.get_mut(*at) {
                *done = true;
            }
        }
        waves.push(ready);
    }
    Ok(waves)
}

fn needs(steps: &[PlanStep]) -> Result<Vec<Vec<usize>>, PlanError> {
    let of = |step: &PlanStep| {
        let place = |dependency: &StepId| {
            position(steps, dependency).ok_or_else(|| PlanError::UnknownDependency {
                id: step.id.to_string(),
                dependency: dependency.to_string(),
            })
        };
        step.depends_on.iter().map(place).collect()
    };
    steps.iter().map(of).collect()
}

/// The ids of the steps that could start together, wave by wave; see [`waves`].
pub(super) fn ids_by_wave(steps: &[PlanStep]) -> Vec<Vec<StepId>> {
    let id = |at: usize| steps.get(at).map(|step| step.id.clone());
    let ids = |wave: Vec<usize>| wave.into_iter().filter_map(id).collect();
    waves(steps).unwrap_or_default().into_iter().map(ids).collect()
}

/// For each step, whether `at` waits for it, directly or indirectly.
pub(in crate::chain) fn ancestors(steps: &[PlanStep], at: usize) -> Vec<bool> {
    let mut found = vec![false; steps.len()];
    let mut open = vec![at];
    while let Some(next) = open.pop() {
        let Some(step) = steps.get(next) else { continue };
        for place in step.depends_on.iter().filter_map(|id| position(steps, id)) {
            if let Some(seen) = found.get_mut(place)
                && !*seen
            {
                *seen = true;
                open.push(place);
            }
        }
    }
    found
}
