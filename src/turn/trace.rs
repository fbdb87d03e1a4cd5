//! The trace events of a turn.

use std::sync::Arc;

use super::event::PhaseName;
use super::result::TurnStatus;
use crate::guard::Refusal;
use crate::history::Code;
use crate::json::table::{cases, envelope, record};
use crate::stream::{FinishReason, TokenUsage};
use crate::tool::Status;

envelope! {
    /// A trace event of a turn: names and numbers, never texts, arguments or results.
    pub struct TraceEvent as "TraceEvent" of TraceEventKind {
        /// The id of the turn.
        request_id "requestId": Arc<str>;
        /// The host's project, if the host set one.
        project_id "projectId": Option<Arc<str>>;
        /// The id of the conversation, if the host set one.
        conversation_id "conversationId?": Option<Arc<str>>;
        /// Milliseconds since the turn began, or was resumed.
        at_ms "atMs": u64;
        /// Milliseconds since 1970: `startedAt` plus `at_ms`.
        at "at": u64;
        /// Where in the turn it happened.
        details "details": TracePlace;
    }
}

record! {
    /// Where in a turn something happened.
    pub struct TracePlace as "TracePlace" {
        /// The phase.
        phase "phase": PhaseName;
        /// The number of the last batch of tool calls; 0 before the first.
        tool_batch_id "toolBatchId": u32;
    }
}

cases! {
    /// What happened in a turn.
    pub enum TraceEventKind as "TraceEventKind" {
        /// The turn begins.
        ToolRegistration "tool_registration" {
            /// The names of its tools.
            tools "tools": Vec<String>,
        }
        /// A call was accepted.
        ToolCall "tool_call" {
            /// The call.
            call "": TracedCall,
        }
        /// A call has its outcome.
        ToolResult "tool_result" {
            /// The call.
            call "": TracedCall,
            /// How it ended.
            status "status": Status,
            /// Milliseconds from the start of the call until it settled.
            duration_ms "duration_ms": u64,
            /// Whether an earlier outcome was used instead of an execution.
            replayed "replayed": bool,
            /// Whether the result was cut to its limit.
            truncated "truncated": bool,
            /// Whether whoever resumed the turn replaced or dropped the result.
            revised "revised?": bool,
            /// Whether `reconcile` said what became of the call.
            reconciled "reconciled?": bool,
        }
        /// A call with the signature of an earlier one.
        DuplicateToolCall "duplicate_tool_call" {
            /// The call.
            call "": TracedCall,
        }
        /// A call is not executed.
        ToolRefused "tool_refused" {
            /// The call.
            call "": TracedCall,
            /// The reason.
            reason "reason": Refusal,
        }
        /// A phase begins.
        PhaseStart "orchestration_phase_start" {}
        /// A phase ends.
        PhaseEnd "orchestration_phase_end" {
            /// `complete`, or how the turn ended within the phase.
            status "status": TurnStatus,
        }
        /// A response of the model was read, or is not read further; or there is none.
        LlmCall "llm_call" {
            /// `complete`, or how the turn ended before the response did.
            status "status": TurnStatus,
            /// The number of the inference, from 1.
            inference "inference": u32,
            /// The provider's name of the model, in a turn with fallbacks.
            model "model?": Option<String>,
            /// The id of the turn's instruction in the request, if there was one.
            prompt_template_id "prompt_template_id": Option<&'static str>,
            /// Lower-case hex SHA-256 of its text.
            prompt_template_hash "prompt_template_hash": Option<String>,
            /// What the request had in addition to the given history.
            context_flags "context_flags": Vec<&'static str>,
            /// How many calls the response has.
            tool_call_count "tool_call_count": usize,
            /// Why the model stopped, if it said so.
            finish_reason "finish_reason": Option<FinishReason>,
            /// The provider's word for it.
            raw_finish_reason "raw_finish_reason?": Option<String>,
            /// The tokens, if the provider reported them.
            usage "usage": Option<TokenUsage>,
        }
        /// The provider refused a request for its history, which was repaired; the request is sent once
        /// more.
        HistoryRepair "history_repair" {
            /// The number of the inference, from 1.
            inference "inference": u32,
            /// The codes of the repairs.
            codes "codes": Vec<Code>,
            /// How many repairs were made.
            repairs "repairs": usize,
        }
        /// The model wrote calls into its text, which do not run (`textToolCalls: "report"`).
        TextToolCall "text_tool_call" {
            /// The names of the tools, one for each call.
            tools "tools": Vec<String>,
        }
    }
}

record! {
    /// A call, as trace events name it.
    pub struct TracedCall as "TracedCall" {
        /// The tool.
        tool_name "tool_name": String;
        /// The provider's id of the call.
        tool_call_id "tool_call_id": String;
        /// The signature of the call.
        signature "signature": String;
    }
}
