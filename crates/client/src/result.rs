//! What turns come to, as values of the host's.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// The host, or whoever held the turn, stopped it.
    Cancelled,
    /// It answered.
    Complete,
    /// It could not go on; [`TurnResult::error`] says why.
    Failed,
    /// It waits for [`resume_turn`](super::resume_turn).
    Paused,
}

/// What a turn came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnResult {
    /// The turn.
    pub request_id: String,
    /// How it ended.
    pub status: TurnStatus,
    /// The text of the last phase: the answer.
    pub text: String,
    /// All text that was shown, in order.
    pub full_content: String,
    /// What came of the calls that ran.
    pub tool_results: Vec<ToolResult>,
    /// Signatures of all calls that were refused, each once.
    pub blocked_signatures: Vec<String>,
    /// Tokens of all inferences.
    pub usage: TokenUsage,
    /// Requests to the model, repetitions not counted.
    pub inferences: u32,
    /// What was changed in the history, so that the provider takes it.
    pub repairs: Vec<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureView>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The provider's id of the call.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// `ok`, `error`, `timeout`, `cancelled`, `unknown`, `skipped` or `blocked`.
    pub status: String,
    /// What the tool returned; `Some(Value::Null)` where that is `null`.
    #[serde(
        default,
        deserialize_with = "crate::json::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Value>,
    /// Why there is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureView>,
    /// Milliseconds from start to settlement.
    pub duration_ms: u64,
    /// The signature of the call.
    pub signature: String,
    /// Whether an earlier outcome was used instead of an execution.
    pub replayed: bool,
    /// Whether the result was cut to its limit.
    #[serde(default)]
    pub truncated: bool,
}

/// A failure in words, with a stable code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureView {
    /// Stable code, such as `model.timeout`.
    pub code: String,
    /// In words; may change.
    pub message: String,
    /// More about it: `{ "status": 429 }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Tokens written, reasoning included.
    pub output_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Of the tokens read, those that came from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Of the tokens written, those of the reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}
