//! Reads a planner's text into steps. Relations between steps are checked later.

use super::{Pattern, PlanError, PlanRepair, PlanStep, RepairCode, StepId, StepKind};
use crate::json::Json;
use crate::limits;
use crate::reply::{Dropped, Fault, Reply};

/// The content of a planner's answer.
#[derive(Debug, Default)]
pub(in crate::chain) struct Draft {
    pub(in crate::chain) reasoning: String,
    /// `None` if the answer names no known pattern.
    pub(in crate::chain) pattern: Option<Pattern>,
    /// Each step, and whether the planner named its type.
    pub(in crate::chain) steps: Vec<(PlanStep, bool)>,
    pub(in crate::chain) stopping_criteria: String,
    /// How the answer deviates from the form that is asked for.
    pub(in crate::chain) repairs: Vec<PlanRepair>,
}

/// Reads a plan in plain JSON, or with a fence, words or thoughts around it: the only value that has
/// `steps`, or is a list of objects.
pub(in crate::chain) fn draft(text: &str) -> Result<Draft, PlanError> {
    if text.len() > limits::PLAN_BYTES {
        return Err(PlanError::TooLarge);
    }
    let reply = Reply::read(text);
    let value = match reply.only(is_plan) {
        Ok(value) => value,
        Err(fault) => match reply.distinct().as_deref() {
            // What it lacks says more than that it is no plan.
            Ok([value]) if !reply.dropped_around(value).contains(&Dropped::Words) => *value,
            _ => return Err(PlanError::Syntax { fault: Some(fault) }),
        },
    };
    let mut draft = from_json(&value.json)?;
    let code = |dropped| match dropped {
        Dropped::ByteOrderMark => RepairCode::ByteOrderMarkDropped,
        Dropped::Thinking => RepairCode::ThinkingDropped,
        Dropped::Fence => RepairCode::FenceDropped,
        Dropped::Words => RepairCode::WordsDropped,
    };
    let around = reply.dropped_around(value).into_iter().map(code);
    let around = around.map(|code| PlanRepair { code, step: None });
    draft.repairs.splice(0..0, around);
    Ok(draft)
}

/// The names under which planners list dependencies. The first one is asked for; all are read.
const DEPENDENCIES: [&str; 5] =
    ["depends_on", "dependsOn", "depends-on", "depends", "dependencies"];

fn has_steps(value: &Json<'_>) -> bool {
    value.get("steps").is_some()
}

fn is_plan(value: &Json<'_>) -> bool {
    let steps =
        |all: &[Json<'_>]| !all.is_empty() && all.iter().all(|one| one.as_object().is_some());
    has_steps(value)
        || value.as_array().is_some_and(steps)
        || value.as_object().into_iter().flatten().any(|(_, member)| has_steps(member))
}

/// Reads a plan from JSON. An array is read as the `steps`; an object without `steps` stands around
/// its only member that has them, as in `{"plan": {"steps": […]}}`.
pub(in crate::chain) fn from_json(value: &Json<'_>) -> Result<Draft, PlanError> {
    let (value, form) = unwrapped(value)?;
    let steps = match value {
        Json::Array(steps) => Some(steps.as_slice()),
        value => value.get("steps").and_then(Json::as_array),
    };
    let steps = steps.ok_or(PlanError::Syntax { fault: None })?;
    if steps.is_empty() {
        return Err(PlanError::Empty);
    }
    if steps.len() > limits::PLAN_STEPS {
        return Err(PlanError::TooManySteps { limit: limits::PLAN_STEPS });
    }
    let text = |key| value.get(key).map_or(String::new(), spoken);
    let mut draft = Draft {
        reasoning: text("reasoning"),
        pattern: value.get("pattern").and_then(Json::as_str).and_then(Pattern::parse),
        stopping_criteria: text("stopping_criteria"),
        repairs: form.map(|code| PlanRepair { code, step: None }).into_iter().collect(),
        ..Draft::default()
    };
    if let (None, Some(Json::String(said))) = (draft.pattern, value.get("pattern")) {
        draft.pattern = Pattern::parse(&said.trim().to_ascii_lowercase());
        let note = PlanRepair { code: RepairCode::PatternRead, step: None };
        draft.repairs.extend(draft.pattern.map(|_| note));
    }
    let given: Vec<Option<StepId>> =
        steps.iter().map(|one| one.get("id").and_then(StepId::read)).collect();
    for (index, (one, id)) in steps.iter().zip(&given).enumerate() {
        let id = id.clone().map_or_else(|| missing_id(index, one, &given), Ok)?;
        let read = step(index, one, id, &mut draft.repairs)?;
        draft.steps.push(read);
    }
    Ok(draft)
}

/// The object or the list that has the steps, and how it deviates from an object with `steps`.
fn unwrapped<'v, 'j>(value: &'v Json<'j>) -> Result<(&'v Json<'j>, Option<RepairCode>), PlanError> {
    if has_steps(value) {
        return Ok((value, None));
    }
    let mut inside = value.as_object().into_iter().flatten().map(|(_, member)| member);
    let mut inside = inside.by_ref().filter(|member| has_steps(member));
    let Some(plan) = inside.next() else {
        return Ok((value, value.as_array().map(|_| RepairCode::ListRead)));
    };
    let canonical = plan.to_canonical();
    if inside.any(|other| other.to_canonical() != canonical) {
        return Err(PlanError::Syntax { fault: Some(Fault::Ambiguous) });
    }
    Ok((plan, Some(RepairCode::WrapperDropped)))
}

/// The id of a step without one: its number, from 1, or the next one that is free.
fn missing_id(
    index: usize,
    step: &Json<'_>,
    given: &[Option<StepId>],
) -> Result<StepId, PlanError> {
    let wrong = |expected| PlanError::InvalidStep { index, expected };
    if step.as_object().is_none() {
        return Err(wrong("an object"));
    }
    let blank = match step.get("id") {
        None | Some(Json::Null) => true,
        Some(id) => id.as_str().is_some_and(|id| id.trim().is_empty()),
    };
    if !blank {
        return Err(wrong("`id`: a text or a whole number"));
    }
    let number = |at: usize| StepId::from(u64::try_from(at + 1).unwrap_or(u64::MAX));
    let is_free = |at: &usize| given.iter().flatten().all(|id| *id != number(*at));
    // Of as many numbers as the list has steps behind its end, each step gets its own.
    let own = [index, given.len() + index, given.len() * 2 + index];
    own.into_iter().find(is_free).map(number).ok_or_else(|| wrong("`id`: a text or a whole number"))
}

/// The text of a member for people. A planner may write it as a list or an object.
fn spoken(value: &Json<'_>) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.trim().to_owned(),
        other => other.to_text(),
    }
}

fn step(
    index: usize,
    value: &Json<'_>,
    id: StepId,
    repairs: &mut Vec<PlanRepair>,
) -> Result<(PlanStep, bool), PlanError> {
    let wrong = |expected| PlanError::InvalidStep { index, expected };
    let mut note = |code| repairs.push(PlanRepair { code, step: Some(id.clone()) });
    if value.get("id").and_then(StepId::read).is_none() {
        note(RepairCode::IdAdded);
    }
    let (mut depends_on, mut as_asked) = (Vec::new(), true);
    for name in DEPENDENCIES {
        let Some(list) = value.get(name).filter(|list| !list.is_null()) else { continue };
        let (ids, is_list) = dependencies(list);
        as_asked &= is_list;
        for id in ids.ok_or_else(|| wrong("`depends_on`: an array of ids"))? {
            if !depends_on.contains(&id) {
                as_asked &= name == "depends_on";
                depends_on.push(id);
            }
        }
    }
    if !as_asked {
        note(RepairCode::DependencyRead);
    }
    let kind = match value.get("type") {
        None | Some(Json::Null) => None,
        Some(kind) => {
            let said = kind.as_str().unwrap_or_default();
            let read = StepKind::parse(said).or_else(|| {
                note(RepairCode::TypeRead);
                StepKind::parse(&said.trim().to_ascii_lowercase())
            });
            Some(read.ok_or_else(|| wrong("`type`: search, refine or synthesize"))?)
        }
    };
    let text = |key| value.get(key).map_or(String::new(), spoken);
    let when = Some(text("when")).filter(|when| !when.is_empty());
    let step = PlanStep {
        id,
        kind: kind.unwrap_or(StepKind::Search),
        query: text("query"),
        focus: text("focus"),
        depends_on,
        // A wish, of which nothing else depends: what is no such number is none.
        num_results: value.get("num_results").and_then(Json::as_u64).filter(|wanted| *wanted > 0),
        when,
    };
    Ok((step, kind.is_some()))
}

/// The ids of a list of dependencies, and whether it is an array of ids. A planner may write a single
/// id, several in a text, or objects with an `id`. `None` for anything else.
fn dependencies(list: &Json<'_>) -> (Option<Vec<StepId>>, bool) {
    let mut ids: Vec<StepId> = Vec::new();
    let mut add = |id: StepId| {
        // One more than a plan may have steps: one of them is unknown, whatever follows.
        if ids.len() <= limits::PLAN_STEPS && !ids.contains(&id) {
            ids.push(id);
        }
    };
    let Json::Array(items) = list else {
        match list {
            Json::String(text) => {
                let ids = text.split(',').map(|id| StepId::read(&id.into()));
                ids.flatten().for_each(add);
            }
            one => match StepId::read(one) {
                Some(id) => add(id),
                None => return (None, false),
            },
        }
        return (Some(ids), false);
    };
    let mut as_asked = true;
    for one in items {
        let blank = one.is_null() || one.as_str().is_some_and(|text| text.trim().is_empty());
        let inside = one.as_object().and_then(|_| StepId::read(one.get("id")?));
        as_asked &= !blank && inside.is_none();
        match StepId::read(one).or(inside) {
            Some(id) => add(id),
            None if blank => {}
            None => return (None, false),
        }
    }
    (Some(ids), as_asked)
}
