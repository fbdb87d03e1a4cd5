//! What a pass came to.

use super::rejected::{Reason, RequestRejection};
use super::replay::Recorded;
use crate::error::Failure;
use crate::json::Json;
use crate::json::table::{Definition, Describe, Shape, Write, names, record};
use crate::reply::Dropped;
use crate::stream::TokenUsage;
use crate::tool::{Status, ToolError};

record! {
    /// What a pass came to: a plan and its text, or an error.
    pub struct PassResult as "PassResult" {
        /// The plan's id.
        plan_id "planId": String;
        /// The id of the run that the plan belongs to.
        run_id "runId": String;
        /// The results of the tools, including failures and time-outs, in the order of the requests.
        tool_results "toolResults": Vec<PassToolResult>;
        /// Every requested call, including blocked ones.
        calls "calls": Vec<PassCall>;
        /// The parts of requests that were rejected.
        rejected "rejected": Vec<RequestRejection>;
        /// What the schema of a request does not define, or requires and is missing, without effect
        /// on the calls: unknown members, and calls without a `reason`.
        notes "notes": Vec<RequestRejection>;
        /// Why the plan was made from the input alone; null if it had results.
        fell_back "fellBack": Option<FellBack>;
        /// Tokens of all inferences.
        usage "usage": TokenUsage;
        /// Requests to the model, not counting retries.
        inferences "inferences": u32;
        /// The outcomes of the calls that ran, for a later replay, without those that `totalToolMs`,
        /// `totalMs` or the end of the pass cut off. Not redacted.
        recorded "recorded": Vec<Recorded>;
        /// The plan: the JSON of the model's answer, or its text if it is not JSON.
        plan "plan?": Option<Json<'static>>;
        /// The JSON of the plan, as the model wrote it; of prose, all after its thinking.
        text "text?": Option<String>;
        /// What was dropped around the JSON of the plan.
        repairs "repairs": Vec<Dropped>;
        /// With `planIsJson`, the values of which one is the plan: the host checks each with its
        /// schema. A single one is `plan` too.
        candidates "candidates": Vec<PlanCandidate>;
        /// With `planIsJson`, why the text has no JSON.
        fault "fault?": Option<String>;
        /// Why there is no plan.
        error "error?": Option<Failure>;
    }
}

record! {
    /// A value of the model's answer that may be the plan.
    pub struct PlanCandidate as "PlanCandidate" {
        /// The value.
        plan "plan": Json<'static>;
        /// Its text.
        text "text": String;
        /// What was dropped around it.
        repairs "repairs": Vec<Dropped>;
    }
}

names! {
    /// Why a plan was made from the input alone.
    pub enum FellBack as "FellBack", "a reason to plan without results" {
        /// The model requested nothing, or was not asked.
        NoRequest "no_request",
        /// What the model said is not a request.
        InvalidRequest "invalid_request",
        /// Calls ran, and none returned a result.
        AllFailed "all_failed",
        /// Calls were requested, and none was allowed to run.
        AllBlocked "all_blocked",
        /// The model failed in the request pass; the event `llm_call` has the code.
        ModelFailed "model_failed",
    }
}

record! {
    /// A requested call and its outcome.
    pub struct PassCall as "PassCall" {
        /// The tool.
        tool_name "tool_name": String;
        /// The arguments.
        params "params": Json<'static> as "Record<string, unknown>";
        /// The model's reason. Empty if it gave none.
        reason "reason": String;
        /// The signature of the call.
        signature "signature": String;
        /// How the call ended. `blocked`: it was refused; `skipped`: it is a duplicate of a call
        /// that has a result.
        status "status": Status;
        /// Why the call did not run.
        refusal "refusal": Option<Reason> as "CallRefusal | null";
        /// Milliseconds from the start of the call until it settled; null if it did not run.
        duration_ms "duration_ms": Option<u64>;
        /// Whether the result is a recorded one.
        replayed "replayed": bool;
    }
}

record! {
    /// An entry of `global_context.tool_results`.
    pub struct PassToolResult as "PassToolResult" {
        /// The tool.
        tool_name "tool_name": String;
        /// The arguments.
        params "params": Json<'static> as "Record<string, unknown>";
        /// Milliseconds from the start of the call until it settled.
        duration_ms "duration_ms": u64;
        /// What the call returned.
        outcome "": PassOutcome;
    }
}

/// What a call returned: the member `result`, or `error`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PassOutcome {
    /// The value that the tool returned.
    Result(Json<'static>),
    /// Why there is no result.
    Error(ToolError),
}

impl Write for PassOutcome {
    fn write(&self) -> Json<'static> {
        Json::object([match self {
            Self::Result(result) => ("result", result.clone()),
            Self::Error(error) => ("error", error.to_json()),
        }])
    }
}

impl Describe for PassOutcome {
    fn shape() -> Shape {
        Shape::Named(|| {
            let shapes = ["{ result: unknown }", "{ error: ToolError }"].map(Shape::Written);
            Definition::either("PassOutcome", &[" What a call returned."], shapes)
        })
    }
}
