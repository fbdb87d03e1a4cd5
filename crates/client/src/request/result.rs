//! What passes come to, as values of the host's.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::error::Error;
use super::super::result::{FailureView, TokenUsage};
use turnlock::json::Json;
use turnlock::request::{Reason, planned_input};
use turnlock::tool::Status;

/// A plan, and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassResult<Plan = Value> {
    /// The plan: by default the JSON of the model's answer, or its text where it is no JSON.
    pub plan: Plan,
    /// What the tools brought, failures and time-outs included, in the order of the requests.
    pub tool_results: Vec<PassToolResult>,
    /// Every call that was requested, blocked ones included.
    pub calls: Vec<PassCall>,
    /// Why the plan was made from the input alone; `None` if it had results.
    pub fell_back: Option<FellBack>,
    /// What spoiled a request.
    pub rejected: Vec<RejectedView>,
    /// The input as the plan pass had it, results in `global_context.tool_results`.
    pub input: Value,
    /// The model's text, out of its fence.
    pub text: String,
    /// The plan's id.
    pub plan_id: String,
    /// The run's id.
    pub run_id: String,
    /// Tokens of all inferences.
    pub usage: TokenUsage,
    /// Requests to the model, repetitions not counted.
    pub inferences: u32,
    /// Every result for a later replay, where
    /// [`record_in_result`](super::PassOptions::record_in_result) asked for it. Not redacted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<RecordedCall>,
}

/// Why a plan was made from the input alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FellBack {
    /// The model asked for nothing.
    NoRequest,
    /// What it asked was no request.
    InvalidRequest,
    /// No call brought a result.
    AllFailed,
}

/// A requested call, and what has become of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassCall {
    /// The tool.
    pub tool_name: String,
    /// The arguments.
    pub params: Value,
    /// Why, in the model's words. Empty on a provider's tool-call channel.
    pub reason: String,
    /// The signature of the call.
    pub signature: String,
    /// `blocked`: it was refused; `skipped`: it is a duplicate, whose result is there already.
    pub status: Status,
    /// Why it did not run.
    pub refusal: Option<Reason>,
    /// Milliseconds from start to settlement.
    pub duration_ms: Option<u64>,
    /// The result is a recorded one.
    pub replayed: bool,
}

/// An entry of `global_context.tool_results`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassToolResult {
    /// The tool.
    pub tool_name: String,
    /// The arguments.
    pub params: Value,
    /// Milliseconds from start to settlement.
    pub duration_ms: u64,
    /// What it brought.
    #[serde(flatten)]
    pub outcome: PassOutcome,
}

/// What a call brought: the member `result`, or `error`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassOutcome {
    /// What the tool returned.
    Result(Value),
    /// Why there is no result.
    Error(FailureView),
}

/// Something of a request that is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedView {
    /// The call's place in the request, from 0; `None` for the request itself.
    pub index: Option<u32>,
    /// The tool, as far as it was named.
    pub tool_name: Option<String>,
    /// Why.
    pub reason: Reason,
    /// The member, or the code, that it is about.
    pub detail: Option<String>,
}

/// What came of a call, written down to be given again: by either driver, since as JSON it is the
/// same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedCall {
    /// The call without its id.
    pub signature: String,
    /// Of several records of one signature, that of the same plan counts, else the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Json<'static>>,
    /// Milliseconds that it took.
    pub duration_ms: u64,
    /// How it ended.
    pub status: Status,
    /// What the tool returned, members in its order: a replay sends the same bytes.
    #[serde(
        default,
        deserialize_with = "crate::json::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Json<'static>>,
    /// Why there is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureView>,
    /// Whether the result was cut to its limit.
    pub truncated: bool,
}

/// A pass without a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PassError {
    /// Stable code: `model.*`, `plan.missing`, `plan.invalid`, `request.cancelled`; `core.fault`
    /// where the runtime was torn down.
    pub code: String,
    /// In words; may change.
    pub message: String,
    /// How far it came.
    pub details: Box<PassErrorDetails>,
}

/// What a pass without a plan had.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PassErrorDetails {
    /// The model's answer, where it was an HTTP status.
    pub status: Option<u16>,
    /// The model's text, where it was not accepted as a plan.
    pub text: Option<String>,
    /// What the tools brought.
    pub tool_results: Vec<PassToolResult>,
    /// Every call that was requested.
    pub calls: Vec<PassCall>,
    /// What spoiled a request.
    pub rejected: Vec<RejectedView>,
    /// As [`PassResult::recorded`].
    pub recorded: Vec<RecordedCall>,
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for PassError {}

impl From<Error> for PassError {
    fn from(Error { code, message }: Error) -> Self {
        Self { code: code.into_owned(), message, details: Box::default() }
    }
}

/// What the core gives at the end, but for the plan.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    text: Option<String>,
    error: Option<FailureView>,
    tool_results: Vec<PassToolResult>,
    calls: Vec<PassCall>,
    rejected: Vec<RejectedView>,
    fell_back: Option<FellBack>,
    plan_id: String,
    run_id: String,
    usage: TokenUsage,
    inferences: u32,
    recorded: Vec<RecordedCall>,
}

/// A pass at its end, its plan as the core has it.
pub(super) type Ended = Result<PassResult<Json<'static>>, PassError>;

/// What a pass came to.
pub(super) fn ended(done: &Json<'static>, input: Json<'static>) -> Ended {
    let unread = |error: serde_json::Error| Error::new("core.fault", error.to_string());
    let read: Done = done.to().map_err(unread)?;
    if let Some(FailureView { code, message, details }) = read.error {
        let status = details.as_ref().and_then(|details| details.get("status")?.as_u64());
        let details = PassErrorDetails {
            status: status.and_then(|status| u16::try_from(status).ok()),
            text: None,
            tool_results: read.tool_results,
            calls: read.calls,
            rejected: read.rejected,
            recorded: read.recorded,
        };
        return Err(PassError { code, message, details: Box::new(details) });
    }
    let results = read.fell_back.is_none().then(|| done.get("toolResults").cloned()).flatten();
    Ok(PassResult {
        plan: done.get("plan").cloned().unwrap_or(Json::Null),
        tool_results: read.tool_results,
        calls: read.calls,
        fell_back: read.fell_back,
        rejected: read.rejected,
        input: planned_input(input, results).to().map_err(unread)?,
        text: read.text.unwrap_or_default(),
        plan_id: read.plan_id,
        run_id: read.run_id,
        usage: read.usage,
        inferences: read.inferences,
        recorded: read.recorded,
    })
}

impl<Plan> PassResult<Plan> {
    pub(super) fn with_plan<T>(self, plan: T) -> PassResult<T> {
        PassResult {
            plan,
            tool_results: self.tool_results,
            calls: self.calls,
            fell_back: self.fell_back,
            rejected: self.rejected,
            input: self.input,
            text: self.text,
            plan_id: self.plan_id,
            run_id: self.run_id,
            usage: self.usage,
            inferences: self.inferences,
            recorded: self.recorded,
        }
    }

    /// The host took the text for no plan.
    pub(super) fn refused(self, why: &str) -> PassError {
        let details = PassErrorDetails {
            status: None,
            text: Some(self.text),
            tool_results: self.tool_results,
            calls: self.calls,
            rejected: self.rejected,
            recorded: self.recorded,
        };
        PassError {
            code: "plan.invalid".to_owned(),
            message: format!("the plan was not accepted: {why}"),
            details: Box::new(details),
        }
    }
}
