//! The dependencies between steps.

use super::{PlanError, Step};

/// The index of the step `id`.
pub(crate) fn position(steps: &[Step], id: &str) -> Option<usize> {
    steps.iter().position(|step| step.id == id)
}

/// Groups steps that could start together into waves, each in list order. There are as many waves
/// as the longest chain of dependencies has steps.
///
/// # Errors
/// `plan.unknown_dependency`, `plan.cycle`.
pub fn waves(steps: &[Step]) -> Result<Vec<Vec<usize>>, PlanError> {
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
            let id = circle.and_then(|(at, _)| steps.get(at)).map(|step| step.id.clone());
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

fn needs(steps: &[Step]) -> Result<Vec<Vec<usize>>, PlanError> {
    let of = |step: &Step| {
        let place = |dependency: &String| {
            position(steps, dependency).ok_or_else(|| PlanError::UnknownDependency {
                id: step.id.clone(),
                dependency: dependency.clone(),
            })
        };
        step.depends_on.iter().map(place).collect()
    };
    steps.iter().map(of).collect()
}

/// For each step, whether `at` waits for it, directly or indirectly.
pub(crate) fn ancestors(steps: &[Step], at: usize) -> Vec<bool> {
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
