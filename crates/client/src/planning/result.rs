//! A plan, or why there is none.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::super::error::Error;
use super::super::schema::Validator;
use turnlock::error::Failure;
use turnlock::json::Json;
use turnlock::planning::{PassResult, PassToolResult, PlanCandidate, planned_input};

/// A plan, and how it was made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Planned<Plan = Value> {
    /// The plan: by default the JSON of the model's answer, or its text if it is not JSON.
    pub plan: Plan,
    /// The input of the plan pass, with the results in `global_context.tool_results`.
    pub input: Json<'static>,
    /// What the pass came to: its calls, their results, its text. `recorded` is empty unless
    /// [`record_in_result`](super::PassOptions::record_in_result) was set; `plan` is not here.
    #[serde(flatten)]
    pub pass: PassResult,
}

/// A pass without a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PassError {
    /// Its code is `model.*`, `plan.missing`, `plan.invalid` or `request.cancelled`; `core.fault`
    /// if the runtime was torn down.
    pub failure: Failure,
    /// What the pass came to before it failed. `None` for an error of the host's own.
    pub pass: Option<Box<PassResult>>,
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for PassError {}

impl From<Error> for PassError {
    fn from(Error { code, message }: Error) -> Self {
        Self { failure: Failure::new(code, message), pass: None }
    }
}

/// The maximum number of errors of a plan that are named.
///
/// Limit | errors of a plan in a message | errors | not named
const ERRORS: usize = 20;

/// A pass at its end, its plan as the core has it.
pub(super) type Ended = Result<Planned<Json<'static>>, PassError>;

/// What a pass came to.
pub(super) fn ended(
    mut pass: PassResult,
    input: Json<'static>,
    schema: Option<&Option<Validator>>,
) -> Ended {
    if let Some(failure) = pass.error.take() {
        return Err(PassError { failure, pass: Some(Box::new(pass)) });
    }
    let results = || Json::Array(pass.tool_results.iter().map(PassToolResult::to_json).collect());
    let input = planned_input(input, pass.fell_back.is_none().then(results));
    let (candidates, fault) = (std::mem::take(&mut pass.candidates), pass.fault.take());
    let mut planned = Planned { plan: pass.plan.take().unwrap_or_default(), input, pass };
    let Some(schema) = schema else { return Ok(planned) };
    match only(candidates, schema.as_ref(), fault) {
        Ok(PlanCandidate { plan, text, repairs, .. }) => {
            planned.plan = plan;
            (planned.pass.text, planned.pass.repairs) = (Some(text), repairs);
            Ok(planned)
        }
        Err(errors) => Err(planned.refused(&errors.join("; "))),
    }
}

/// The only candidate that the schema accepts, or why there is none.
fn only(
    candidates: Vec<PlanCandidate>,
    schema: Option<&Validator>,
    fault: Option<String>,
) -> Result<PlanCandidate, Vec<String>> {
    let (mut fitting, mut errors) = (Vec::new(), None);
    for candidate in candidates {
        let found = schema.map_or_else(Vec::new, |schema| schema.errors(&candidate.plan, ERRORS));
        match found.is_empty() {
            true => fitting.push(candidate),
            false => errors = errors.or(Some(found)),
        }
    }
    if fitting.len() > 1 {
        return Err(vec!["#: several different JSON values fit".to_owned()]);
    }
    let fault = || match fault {
        Some(fault) => vec![format!("#: expected JSON: {fault}")],
        None => vec!["#: expected JSON".to_owned()],
    };
    fitting.pop().ok_or_else(|| errors.unwrap_or_else(fault))
}

impl<Plan> Planned<Plan> {
    pub(super) fn with_plan<T>(self, plan: T) -> Planned<T> {
        Planned { plan, input: self.input, pass: self.pass }
    }

    /// The host or its schema did not accept the plan.
    pub(super) fn refused(self, why: &str) -> PassError {
        let message = format!("the plan was not accepted: {why}");
        PassError {
            failure: Failure::new("plan.invalid", message),
            pass: Some(Box::new(self.pass)),
        }
    }
}
