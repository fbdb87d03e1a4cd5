//! The inputs and effects of the turn machine.

use std::sync::Arc;

use super::event::Event;
use super::result::TurnResult;
use super::trace::TraceEvent;
use crate::inference::Part;
use crate::json::Json;
use crate::provider::Request;
use crate::secret::Secret;
use crate::store::{Answer, Commit};
use crate::stream::{Delta, Usage};
use crate::tool::{CallView, Settled, Verdict};

/// Something that happened. The host reports each input when it happens. Late and repeated inputs
/// are ignored.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Input {
    /// Starts the turn. The turn has no effects before this input.
    Start,
    /// A response head arrived.
    ResponseHead {
        /// The inference that [`Effect::Fetch`] named.
        inference: u32,
        /// The attempt that [`Effect::Fetch`] named.
        attempt: u32,
        /// The HTTP status; 200 for a model without HTTP.
        status: u16,
        /// The delay that `retry-after` or `retry-after-ms` requests, in milliseconds.
        retry_after_ms: Option<u64>,
        /// The beginning of the body of an error response, for the error message.
        body: String,
        /// What an error message adds in parentheses if nothing comes of this response: where it
        /// came from, or its content type where a stream was expected.
        hint: Option<String>,
        /// Texts that no error message shows, such as the key of the request: some providers
        /// repeat it. Shorter ones than six bytes may be a part of any word and are ignored.
        secrets: Vec<Secret>,
    },
    /// Bytes of a response body, split at any position.
    ResponseBytes {
        /// The inference.
        inference: u32,
        /// The attempt.
        attempt: u32,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Deltas of a model whose output the core does not decode.
    Deltas {
        /// The inference.
        inference: u32,
        /// The attempt.
        attempt: u32,
        /// The deltas.
        deltas: Vec<Delta>,
    },
    /// The host holds the response back because its readers are slow. The timeouts count this as
    /// activity of the model.
    HeldBack {
        /// The inference.
        inference: u32,
        /// The attempt.
        attempt: u32,
    },
    /// The response body ended.
    ResponseEnded {
        /// The inference.
        inference: u32,
        /// The attempt.
        attempt: u32,
    },
    /// The request or the body failed: no connection, a reset, a model that threw.
    ResponseFailed {
        /// The inference.
        inference: u32,
        /// The attempt.
        attempt: u32,
        /// The error message of the host.
        message: String,
        /// Whether code of the host failed, rather than a connection: a model of its own that threw.
        thrown: bool,
    },
    /// The verdict that [`Effect::Check`] requested.
    Checked {
        /// The call.
        call: u32,
        /// The verdict of the host.
        verdict: Verdict,
    },
    /// The result of [`Effect::Recall`].
    Recalled {
        /// The call.
        call: u32,
        /// The record of an outcome and its age in milliseconds, if there is one.
        found: Option<(String, u64)>,
    },
    /// The answer to [`Effect::Commit`].
    Stored {
        /// The number of the commit.
        revision: u64,
        /// The attempt that [`Effect::Commit`] named.
        attempt: u32,
        /// The answer of the store.
        answer: Answer,
    },
    /// A tool settled.
    ToolSettled {
        /// The call.
        call: u32,
        /// Its result or error.
        settled: Settled,
    },
    /// A running tool reports its progress.
    ToolProgress {
        /// The call.
        call: u32,
        /// The progress data.
        data: Json<'static>,
    },
    /// A running tool reports tokens that it has used, for example of models that it has called.
    ToolUsage {
        /// The call.
        call: u32,
        /// The tokens since its last report.
        usage: Usage,
    },
    /// Time has passed.
    Timer,
    /// Pause after the tools, so that the turn can be resumed later.
    Pause,
    /// Another owner may have written to the store. The turn makes a commit to find out.
    Verify,
    /// Ends the turn now.
    Cancel {
        /// The reason, for the event.
        reason: String,
    },
}

impl Input {
    /// Separates the parts of a response, with its inference and attempt, from the other inputs.
    pub(crate) fn part(self) -> Result<((u32, u32), Part), Self> {
        Ok(match self {
            Self::ResponseHead {
                inference,
                attempt,
                status,
                retry_after_ms,
                body,
                hint,
                secrets,
            } => ((inference, attempt), Part::Head { status, retry_after_ms, body, hint, secrets }),
            Self::ResponseBytes { inference, attempt, bytes } => {
                ((inference, attempt), Part::Bytes(bytes))
            }
            Self::Deltas { inference, attempt, deltas } => {
                ((inference, attempt), Part::Deltas(deltas))
            }
            Self::HeldBack { inference, attempt } => ((inference, attempt), Part::HeldBack),
            Self::ResponseEnded { inference, attempt } => ((inference, attempt), Part::Ended),
            Self::ResponseFailed { inference, attempt, message, thrown } => {
                ((inference, attempt), Part::Failed { message, thrown })
            }
            other => return Err(other),
        })
    }
}

/// An action that the host must perform. Perform the effects in order. A
/// [pass](crate::request::PassEffect) has the same effects, with its own result and trace events.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Effect<R = TurnResult, T = TraceEvent> {
    /// Send a request to the model.
    Fetch {
        /// The number of the inference, from 1.
        inference: u32,
        /// The number of the attempt, from 1. Inputs of an earlier attempt are ignored.
        attempt: u32,
        /// The model to ask: 0, or the place in `fallbacks` from 1.
        model: u32,
        /// The request. The host adds the address and the key. Without the option `model`, its
        /// body has only the members that the core decides: `messages`, and `system`, `tools` and
        /// `tool_choice` if present.
        request: Request<'static>,
    },
    /// Stop reading a response and close its connection.
    Abort {
        /// The inference.
        inference: u32,
    },
    /// Check the arguments of a call against the tool's schema, or the answer against `answerSchema`.
    Check {
        /// The number of the call within the turn, from 1; 0 for the answer.
        call: u32,
        /// The tool; empty for the answer.
        name: String,
        /// The arguments, an object; or the answer, any value.
        args: Json<'static>,
    },
    /// Look up a stored outcome of another turn for a call.
    Recall {
        /// The call.
        call: u32,
        /// The key of the outcome in the store.
        key: String,
    },
    /// Write to the store.
    Commit {
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The commit to write.
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
        /// A key that stays the same across retries and resumes.
        idempotency_key: String,
        /// Limit of the result in bytes. The host need not report more.
        max_result_bytes: u64,
        /// The arguments as the model wrote them, an object. If the host's validator returned
        /// changed arguments, the host uses those.
        args: Json<'static>,
        /// The arguments that the validator returned, if the signature is made of them. A host that
        /// did not check this call itself checks `args`, and starts nothing
        /// (`tool.invalid_arguments`) if other arguments come of it.
        signed: Option<Json<'static>>,
    },
    /// Find out what became of a call that may have run, instead of running it: its owner is gone,
    /// and its tool may not run twice. The host answers with [`Input::ToolSettled`].
    Reconcile {
        /// The call.
        call: u32,
        /// Its id, name, arguments and signature, as in events.
        about: CallView,
        /// The key with which it was started.
        idempotency_key: String,
        /// Limit of the result in bytes. The host need not report more.
        max_result_bytes: u64,
    },
    /// Cancel a tool whose result is no longer needed.
    CancelTool {
        /// The call.
        call: u32,
        /// Why the result is no longer needed.
        reason: CancelReason,
    },
    /// Show an event.
    Emit(Event),
    /// Record a [trace event](crate::trace).
    Trace(T),
    /// The turn is over. This is the last effect.
    Done {
        /// What it came to.
        result: R,
    },
}

/// Why a tool is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelReason {
    /// The turn has ended.
    Cancelled,
    /// The time of the call is over.
    Timeout,
}

impl CancelReason {
    /// Returns `cancelled` or `timeout`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
        }
    }
}

impl<R, T> Effect<R, T> {
    /// Whether the effect is performed even if the turn has another owner: it stops a request or a
    /// tool, or is a trace event.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Abort { .. } | Self::CancelTool { .. } | Self::Trace(_))
    }

    /// Whether this ends what `other` begins.
    pub(super) fn ends(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Abort { inference }, Self::Fetch { inference: one, .. }) => one == inference,
            (
                Self::CancelTool { call, .. },
                Self::RunTool { call: one, .. } | Self::Reconcile { call: one, .. },
            ) => one == call,
            _ => false,
        }
    }

    /// Converts the result and the trace events.
    #[must_use]
    pub fn map<R2, T2>(
        self,
        result: impl FnOnce(R) -> R2,
        trace: impl FnOnce(T) -> T2,
    ) -> Effect<R2, T2> {
        match self {
            Self::Fetch { inference, attempt, model, request } => {
                Effect::Fetch { inference, attempt, model, request }
            }
            Self::Abort { inference } => Effect::Abort { inference },
            Self::Check { call, name, args } => Effect::Check { call, name, args },
            Self::Recall { call, key } => Effect::Recall { call, key },
            Self::Commit { attempt, commit } => Effect::Commit { attempt, commit },
            Self::RunTool {
                call,
                name,
                tool_call_id,
                tool_batch_id,
                idempotency_key,
                max_result_bytes,
                args,
                signed,
            } => Effect::RunTool {
                call,
                name,
                tool_call_id,
                tool_batch_id,
                idempotency_key,
                max_result_bytes,
                args,
                signed,
            },
            Self::Reconcile { call, about, idempotency_key, max_result_bytes } => {
                Effect::Reconcile { call, about, idempotency_key, max_result_bytes }
            }
            Self::CancelTool { call, reason } => Effect::CancelTool { call, reason },
            Self::Emit(event) => Effect::Emit(event),
            Self::Trace(event) => Effect::Trace(trace(event)),
            Self::Done { result: one } => Effect::Done { result: result(one) },
        }
    }
}
