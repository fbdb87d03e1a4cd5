//! What a turn came to.

use std::sync::Arc;

use super::event::ResultView;
use crate::dialect::Dialect;
use crate::error::Failure;
use crate::history::Repair;
use crate::json::Json;
use crate::json::table::{names, record};
use crate::stream::{FinishReason, TokenUsage};

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
    /// A message that a turn adds to the history, in the core's own shape.
    pub struct TurnMessage as "TurnMessage" {
        /// Who speaks.
        role "role": &'static str as "'assistant' | 'tool'";
        /// The text of the assistant, which may be empty beside calls; or the result of a call: its
        /// text, or its JSON, or why there is none.
        content "content": String;
        /// The result of a call with images or files: its texts, images and files in order, with their
        /// data. `content` then has notes in place of them.
        parts "parts?": Vec<Json<'static>> as "ToolContentPart[]";
        /// The calls of the assistant that were executed or got an earlier outcome.
        tool_calls "toolCalls?": Vec<MessageCall>;
        /// The blocks of tools that the provider ran itself, as it wants them back.
        provider_tools "providerTools?": Vec<Json<'static>>;
        /// What the provider wants back with the calls, in turns of `deepseek`, `openai-chat` and
        /// `chat-template`.
        reasoning "reasoning?": Option<TurnReasoning>;
        /// The call that a result belongs to.
        tool_call_id "toolCallId?": Option<String>;
        /// The tool of the result.
        name "name?": Option<String>;
        /// Whether the result is a failure.
        is_error "isError?": bool;
    }
}

record! {
    /// Reasoning and signatures that came with the calls of a message, and go back with them: to
    /// DeepSeek in any later turn, to another model only if it is the same.
    pub struct TurnReasoning as "TurnReasoning" {
        /// The wire format of the model.
        dialect "dialect": Dialect;
        /// The provider's name of the model.
        model "model?": Option<String>;
        /// Members of the message, such as `reasoning_content` or `reasoning_details`.
        members "members?": Option<Json<'static>> as "Record<string, unknown>";
        /// Members of calls, such as `extra_content`, by the ids of the calls.
        calls "calls?": Option<Json<'static>> as "Record<string, unknown>";
    }
}

record! {
    /// A call in a message.
    pub struct MessageCall as "MessageCall" {
        /// The provider's id. If the history or an earlier message has it already, a number is
        /// appended.
        id "id": String;
        /// The tool.
        name "name": String;
        /// The arguments.
        args "args": Json<'static>;
    }
}

record! {
    /// What a turn came to.
    pub struct TurnResult as "TurnResult" {
        /// The id of the turn.
        request_id "requestId": Arc<str>;
        /// The id of the conversation, if the host set one.
        conversation_id "conversationId?": Option<Arc<str>>;
        /// How the turn ended.
        status "status": TurnStatus;
        /// The answer: the text of the last inference of the last phase that had any.
        text "text": String;
        /// The answer as a value, in a turn with `answerSchema` that is complete: what the validator
        /// made of it.
        object "object?": Option<Json<'static>>;
        /// All text that was shown and still stands, in order. Text of an inference that a resume
        /// made again does not.
        full_content "fullContent": String;
        /// What the turn adds to the history, in order: calls, their results, the answer. Refused
        /// calls, notices, boxes and void text are not in it.
        messages "messages": Vec<TurnMessage>;
        /// The results of the calls, in order.
        tool_results "toolResults": Vec<ResultView>;
        /// Signatures of all calls that were refused, or that got the outcome of an earlier call of
        /// this turn, each once.
        blocked_signatures "blockedSignatures": Vec<String>;
        /// How often a call of these signatures came again without being executed again.
        repeats "repeats": Vec<(String, u32)>;
        /// Tokens of all inferences.
        usage "usage": TokenUsage;
        /// Tokens of all inferences, and those that tools reported.
        total_usage "totalUsage": TokenUsage;
        /// Requests to the model, not counting retries.
        inferences "inferences": u32;
        /// Whether the answer was composed from the tool results, because the model gave none.
        composed "composed?": bool;
        /// Why the model stopped its last response, if it said so and the response was read to its
        /// end: with `length` or `content_filter` the answer is not whole.
        finish_reason "finishReason?": Option<FinishReason>;
        /// The provider's word for it.
        raw_finish_reason "rawFinishReason?": Option<String>;
        /// The provider's name of the model that answered, in a turn with fallbacks.
        model "model?": Option<String>;
        /// With the strategy `thread` and the Responses API: the provider's id of the response that is
        /// the answer, for `previousResponseId` of the conversation's next turn. Not of a turn whose
        /// answer was composed or is not whole.
        response_id "responseId?": Option<String>;
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
            conversation_id: None,
            status: TurnStatus::Failed,
            text: String::new(),
            object: None,
            full_content: String::new(),
            messages: Vec::new(),
            tool_results: Vec::new(),
            blocked_signatures: Vec::new(),
            repeats: Vec::new(),
            usage: TokenUsage::default(),
            total_usage: TokenUsage::default(),
            inferences: 0,
            composed: false,
            finish_reason: None,
            raw_finish_reason: None,
            model: None,
            response_id: None,
            repairs: Vec::new(),
            error: Some(failure),
        }
    }
}
