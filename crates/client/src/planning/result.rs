//! A plan, or why there is none.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::super::error::Error;
use super::super::schema::Validator;
use turnlock::error::Failure;
use turnlock::json::Json;
use turnlock::planning::{PassResult, PassToolResult, planned_input};

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
    let planned = Planned { plan: pass.plan.take().unwrap_or_default(), input, pass };
    let errors = match (schema, &planned.plan) {
        (None, _) => Vec::new(),
        // The plan is the text itself only where the answer is not JSON.
        (Some(_), Json::String(said)) if planned.pass.text.as_deref() == Some(said) => {
            vec!["#: expected JSON".to_owned()]
        }
        (Some(schema), plan) => {
            schema.as_ref().map_or_else(Vec::new, |schema| schema.errors(plan, ERRORS))
        }
    };
    if errors.is_empty() { Ok(planned) } else { Err(planned.refused(&errors.join("; "))) }
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
