//! The trace events of a pass.

use super::rejected::{Reason, RequestRejection};
use crate::json::Json;
use crate::json::table::{cases, envelope, names, record};
use crate::stream::{FinishReason, TokenUsage};
use crate::tool::Status;

envelope! {
    /// A trace event of a pass. It contains no results, only summaries of their shapes.
    pub struct PassEvent as "PassTraceEvent" of PassEventKind, read {
        /// The run's id.
        request_id "requestId": String;
        /// Always null: a pass has no project.
        project_id "projectId": Option<String> as "null";
        /// Milliseconds since the pass began. When replaying, only recorded durations count.
        at_ms "atMs": u64;
        /// Milliseconds since 1970: the start of the pass plus `at_ms`.
        at "at": u64;
        /// The plan's id.
        plan_id "plan_id": String;
        /// The id of the run that the plan belongs to.
        run_id "run_id": String;
        /// The origin of the plan, if the host gave one.
        source "source": Option<String>;
        /// Where in the pass it happened.
        details "details": PassPlace;
    }
}

record! {
    /// Where in a pass something happened.
    pub struct PassPlace as "PassPlace", read {
        /// The pass.
        phase "phase": PassPhase;
        /// The number of the last request, from 1; 0 before the first.
        tool_batch_id "toolBatchId": u64;
    }
}

names! {
    /// The two passes.
    pub enum PassPhase as "PassPhase", "request_pass or plan_pass" {
        /// The model may request data.
        Request "request_pass",
        /// The model plans.
        Plan "plan_pass",
    }
}

cases! {
    /// What happened in a pass.
    pub enum PassEventKind as "PassTraceEventKind", read {
        /// The model requested tools, or none.
        ToolRequest "strategist_tool_request" {
            /// Every requested call, in order.
            tool_calls "tool_calls": Vec<AskedCall>,
            /// Whether the response was a request; if not, no call of it is accepted.
            valid "valid": bool,
            /// What was rejected, and why: the response, or calls that do not match the schema.
            rejected "rejected": Vec<RequestRejection>,
            /// What deviates from the schema without effect on the calls.
            notes "notes": Vec<RequestRejection>,
            /// The id of the prompt of the request pass.
            prompt_template_id "prompt_template_id": String,
            /// Lower-case hex SHA-256 of its text.
            prompt_template_hash "prompt_template_hash": String,
        }
        /// A call has its outcome.
        ToolResult "strategist_tool_result" {
            /// The tool.
            tool_name "tool_name": String,
            /// The signature of the call.
            signature "signature": String,
            /// Milliseconds from the start of the call until it settled.
            duration_ms "duration_ms": u64,
            /// How the call ended.
            status "status": Status,
            /// Whether the result is a recorded one.
            replayed "replayed": bool,
            /// Shape, size and member names of the result, or the code of the failure.
            result_summary "result_summary": String,
        }
        /// A request to the model has ended.
        LlmCall "llm_call" {
            /// The number of the inference, from 1.
            inference "inference": u32,
            /// The id of the prompt.
            prompt_template_id "prompt_template_id": String,
            /// Lower-case hex SHA-256 of its text.
            prompt_template_hash "prompt_template_hash": String,
            /// The members of `global_context`, and `tool_results` if results were added.
            context_flags "context_flags": Vec<String>,
            /// Request pass: requested calls. Plan pass: calls that ran before it.
            tool_call_count "tool_call_count": u64,
            /// Why the model stopped, if it said so.
            finish_reason "finish_reason": Option<FinishReason>,
            /// The tokens, if the provider reported them.
            usage "usage": Option<TokenUsage>,
            /// The code of the failure, if it failed.
            error "error?": Option<String>,
        }
    }
}

record! {
    /// A requested call, as trace events have it.
    pub struct AskedCall as "AskedCall", read {
        /// The tool.
        tool_name "tool_name": String;
        /// The arguments; long ones are cut to a text.
        params "params": Json<'static>;
        /// The model's reason.
        reason "reason": String;
        /// The signature of the call.
        signature "signature": String;
        /// Whether the call runs.
        allowed "allowed": bool;
        /// Why it does not run.
        refusal "refusal": Option<Reason> as "CallRefusal | null";
    }
}
