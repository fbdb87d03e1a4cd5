//! The grammar of the turn machine: what happened, and what to do.

use std::sync::Arc;

use crate::json::Json;
use crate::store::{Answer, Commit};
use crate::stream::Delta;

/// A fact. The host reports each as it happens; late and repeated ones are harmless.
#[derive(Debug, Clone, PartialEq)]
pub enum Input<'a> {
    /// Begin. Nothing happens before it.
    Start,
    /// A response head arrived.
    ResponseHead {
        /// The inference that [`Effect::Fetch`] named.
        inference: u32,
        /// The attempt at it.
        attempt: u32,
        /// The HTTP status; 200 for a model without HTTP.
        status: u16,
        /// What `retry-after` or `retry-after-ms` ask for, in milliseconds.
        retry_after_ms: Option<u64>,
        /// The beginning of the body of a failure, for its message.
        body: &'a str,
    },
    /// Bytes of a response body, cut anywhere.
    ResponseBytes {
        /// The inference.
        inference: u32,
        /// The attempt at it.
        attempt: u32,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Deltas of a model that is not decoded here.
    Deltas {
        /// The inference.
        inference: u32,
        /// The attempt at it.
        attempt: u32,
        /// What the model says.
        deltas: Vec<Delta>,
    },
    /// The host holds the response back, because its readers are behind: the model is not silent.
    HeldBack {
        /// The inference.
        inference: u32,
        /// The attempt at it.
        attempt: u32,
    },
    /// The response body ended.
    ResponseEnded {
        /// The inference.
        inference: u32,
        /// The attempt at it.
        attempt: u32,
    },
    /// The request or the body failed: no connection, a reset, a model that threw.
    ResponseFailed {
        /// The inference.
        inference: u32,
        /// The attempt at it.
        attempt: u32,
        /// The host's words.
        message: &'a str,
    },
    /// The verdict that [`Effect::Check`] asked for.
    Checked {
        /// The call.
        call: u32,
        /// What the host found.
        verdict: Verdict,
    },
    /// What [`Effect::Recall`] found.
    Recalled {
        /// The call.
        call: u32,
        /// The record of an outcome and its age in milliseconds, if there is one.
        found: Option<(&'a str, u64)>,
    },
    /// The answer to [`Effect::Commit`].
    Stored {
        /// The number of the commit.
        revision: u64,
        /// The attempt at it.
        attempt: u32,
        /// What the store said.
        answer: Answer,
    },
    /// A tool settled.
    ToolSettled {
        /// The call.
        call: u32,
        /// What it settled with.
        settled: Settled,
    },
    /// A tool that runs says how far it is.
    ToolProgress {
        /// The call.
        call: u32,
        /// What it says.
        data: Json<'a>,
    },
    /// Time has passed.
    Timer,
    /// Stop after the tools, to be resumed.
    Pause,
    /// Another owner may have written to the store: find out.
    Verify,
    /// End now.
    Cancel {
        /// Why, for the event.
        reason: &'a str,
    },
}

/// What the host found when it checked the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They fit the schema.
    Valid {
        /// What the tool's `action(args)` says, for the signature.
        action: Option<String>,
        /// The user must approve the call.
        approval: bool,
    },
    /// They do not.
    Invalid {
        /// What is wrong, in the validator's words.
        errors: String,
    },
}

/// What a tool settled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// It returned.
    Ok {
        /// The JSON text of its value; cut short by the host when it is far over the limit.
        text: String,
        /// Bytes of the whole text.
        bytes: u64,
    },
    /// It threw, or returned what has no JSON.
    Error {
        /// Stable name of the failure, such as `tool.threw`.
        code: String,
        /// In words.
        message: String,
    },
}

/// A wish. The host does each in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the model.
    Fetch {
        /// Names the inference, from 1.
        inference: u32,
        /// The attempt at it, from 1. Facts of an earlier attempt are late.
        attempt: u32,
        /// The members of the request that the core decides, in the dialect's wire shape:
        /// `messages`, and `system`, `tools`, `tool_choice` where there are any.
        body: Json<'static>,
    },
    /// Stop reading a response and close its connection.
    Abort {
        /// The inference.
        inference: u32,
    },
    /// Check the arguments of a call against the tool's schema.
    Check {
        /// Names the call within the turn, from 1.
        call: u32,
        /// The tool.
        name: String,
        /// The arguments, an object.
        args: Json<'static>,
    },
    /// Look for an outcome that another turn may use.
    Recall {
        /// The call.
        call: u32,
        /// Its name in the store.
        key: String,
    },
    /// Write to the store.
    Commit {
        /// The attempt at it, from 1.
        attempt: u32,
        /// What to write.
        commit: Arc<Commit>,
    },
    /// Run a tool.
    RunTool {
        /// The call.
        call: u32,
        /// The tool.
        name: String,
        /// The provider's id of the call.
        tool_call_id: String,
        /// The batch.
        tool_batch_id: u32,
        /// The same over retries and resumes.
        idempotency_key: String,
        /// Bytes of the result that are kept; more need not be reported.
        max_result_bytes: u64,
        /// The arguments, an object. A host that got other ones from its validator uses those.
        args: Json<'static>,
    },
    /// Tell a tool that its result is no longer wanted.
    CancelTool {
        /// The call.
        call: u32,
        /// `timeout` or `cancelled`.
        reason: &'static str,
    },
    /// Show an event.
    Emit(crate::trace::Event),
    /// Record a trace event.
    Trace(Json<'static>),
    /// The turn is over. Nothing follows.
    Done {
        /// `{ requestId, status, text, fullContent, toolResults, blockedSignatures, usage, repairs, error? }`
        result: Json<'static>,
    },
}
