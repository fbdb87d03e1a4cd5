//! What a turn came to.

use std::sync::Arc;

use super::event::ResultView;
use crate::error::Failure;
use crate::json::table::{names, record};
use crate::message::Repair;
use crate::stream::TokenUsage;

names! {
    /// How a turn ended.
    pub enum TurnStatus as "TurnStatus", "a status of a turn" {
        /// It has answered.
        Complete "complete",
        /// It waits to be resumed.
        Paused "paused",
        /// The host ended it.
        Cancelled "cancelled",
        /// It could not go on.
        Failed "failed",
    }
}

record! {
    /// What a turn came to.
    pub struct TurnResult as "TurnResult" {
        /// The id of the turn.
        request_id "requestId": Arc<str>;
        /// How the turn ended.
        status "status": TurnStatus;
        /// The answer: the text of the last action phase, or of the plain stream.
        text "text": String;
        /// All text that was shown, in order.
        full_content "fullContent": String;
        /// The results of the calls, in order.
        tool_results "toolResults": Vec<ResultView>;
        /// Signatures of all calls that were refused, or that got the outcome of an earlier call of
        /// this turn, each once.
        blocked_signatures "blockedSignatures": Vec<String>;
        /// How often a call of these signatures came again without being executed again.
        repeats "repeats": Vec<(String, u32)>;
        /// Tokens of all inferences.
        usage "usage": TokenUsage;
        /// Requests to the model, not counting retries.
        inferences "inferences": u32;
        /// The changes to the given history, so that the provider accepts it.
        repairs "repairs": Vec<Repair>;
        /// Why the turn failed.
        error "error?": Option<Failure>;
    }
}

impl TurnResult {
    /// Makes the result of a turn that failed before it began.
    #[must_use]
    pub fn failed(request_id: impl Into<Arc<str>>, failure: Failure) -> Self {
        Self {
            request_id: request_id.into(),
            status: TurnStatus::Failed,
            text: String::new(),
            full_content: String::new(),
            tool_results: Vec::new(),
            blocked_signatures: Vec::new(),
            repeats: Vec::new(),
            usage: TokenUsage::default(),
            inferences: 0,
            repairs: Vec::new(),
            error: Some(failure),
        }
    }
}
