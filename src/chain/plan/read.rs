//! Reads a planner's text into steps. Relations between steps are checked later.

use super::{Pattern, PlanError, PlanStep, StepId, StepKind};
use crate::json::{Json, Reader};
use crate::limits;
use crate::text::said;

/// The content of a planner's answer.
#[derive(Debug)]
pub(in crate::chain) struct Draft {
    pub(in crate::chain) reasoning: String,
    /// `None` if the answer names no known pattern.
    pub(in crate::chain) pattern: Option<Pattern>,
    /// Each step, and whether the planner named its type.
    pub(in crate::chain) steps: Vec<(PlanStep, bool)>,
    pub(in crate::chain) stopping_criteria: String,
}

/// Maximum number of opening braces tried as the start of the plan, if it has text around it.
const TRIES: usize = 32;

/// Reads a plan in plain JSON, in a fenced block, or with text around it: the first object that
/// has `steps`.
pub(in crate::chain) fn draft(text: &str) -> Result<Draft, PlanError> {
    if text.len() > limits::PLAN_BYTES {
        return Err(PlanError::TooLarge);
    }
    let text = said(text).ok_or(PlanError::Syntax)?;
    if let Ok(value) = Json::parse(text.trim().as_bytes(), limits::PLAN_BYTES) {
        return from_json(&value);
    }
    for (at, _) in text.match_indices('{').take(TRIES) {
        let tail = text.get(at..).unwrap_or("");
        let read = Reader::strict(tail.as_bytes()).and_then(|mut reader| reader.value());
        if let Ok(value) = read
            && value.get("steps").is_some()
        {
            return from_json(&value);
        }
    }
    Err(PlanError::Syntax)
}

/// Reads a plan from JSON. An array is read as the `steps`; an object without `steps` stands around
/// its first member that has them, as in `{"plan": {"steps": […]}}`.
pub(in crate::chain) fn from_json(value: &Json<'_>) -> Result<Draft, PlanError> {
    let plan = |value: &&Json<'_>| value.get("steps").is_some();
    let mut members = value.as_object().into_iter().flatten().map(|(_, member)| member);
    let value = [value].into_iter().find(plan).or_else(|| members.find(plan)).unwrap_or(value);
    let steps = match value {
        Json::Array(steps) => steps,
        value => value.get("steps").and_then(Json::as_array).ok_or(PlanError::Syntax)?,
    };
    if steps.is_empty() {
        return Err(PlanError::Empty);
    }
    if steps.len() > limits::PLAN_STEPS {
        return Err(PlanError::TooManySteps { limit: limits::PLAN_STEPS });
    }
    let text = |key| value.get(key).map_or(String::new(), spoken);
    Ok(Draft {
        reasoning: text("reasoning"),
        pattern: value.get("pattern").and_then(Json::as_str).and_then(Pattern::parse),
        steps: steps.iter().enumerate().map(|(at, one)| step(at, one)).collect::<Result<_, _>>()?,
        stopping_criteria: text("stopping_criteria"),
    })
}

/// The text of a member for people. A planner may write it as a list or an object.
fn spoken(value: &Json<'_>) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.trim().to_owned(),
        other => other.to_text(),
    }
}

fn step(index: usize, value: &Json<'_>) -> Result<(PlanStep, bool), PlanError> {
    let wrong = |expected| PlanError::InvalidStep { index, expected };
    if value.as_object().is_none() {
        return Err(wrong("an object"));
    }
    let id = value.get("id").and_then(StepId::read);
    let id = id.ok_or_else(|| wrong("`id`: a text or a whole number"))?;
    let depends_on = match value.get("depends_on") {
        None | Some(Json::Null) => Vec::new(),
        Some(list) => {
            let list = list.as_array().ok_or_else(|| wrong("`depends_on`: an array of ids"))?;
            let mut ids: Vec<StepId> = Vec::new();
            for one in list {
                let id = StepId::read(one).ok_or_else(|| wrong("`depends_on`: ids"))?;
                // One more than a plan may have steps: one of them is unknown, whatever follows.
                if ids.len() <= limits::PLAN_STEPS && !ids.contains(&id) {
                    ids.push(id);
                }
            }
            ids
        }
    };
    let kind = match value.get("type") {
        None | Some(Json::Null) => None,
        Some(kind) => Some(
            kind.as_str()
                .and_then(StepKind::parse)
                .ok_or_else(|| wrong("`type`: search, refine or synthesize"))?,
        ),
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
