//! The inputs and effects of the turn machine.

use std::sync::Arc;

use super::event::Event;
use super::result::TurnResult;
use super::trace::TraceEvent;
use crate::history::Repair;
use crate::inference::Part;
use crate::json::Json;
use crate::json::table::{names, protocol};
use crate::provider::Request;
use crate::secret::Secret;
use crate::store::{Commit, CommitResult, StoredOutcome};
use crate::stream::{Delta, Usage};
use crate::tool::{CallView, Settled, Verdict};

protocol! {
    /// Something that happened. The host reports each input when it happens. Late and repeated inputs
    /// are ignored.
    pub enum Input as "TurnInput", read, non_exhaustive {
        /// Starts the turn. The turn has no effects before this input.
        Start "start",
        /// A response head arrived.
        ResponseHead "response_head" {
            /// The inference that [`fetch`](Effect::Fetch) named.
            inference "inference": u32,
            /// The attempt that [`fetch`](Effect::Fetch) named.
            attempt "attempt": u32,
            /// The HTTP status; 200 for a model without HTTP.
            status "status": u16,
            /// The delay that `retry-after` or `retry-after-ms` requests, in milliseconds.
            retry_after_ms "retryAfterMs": Option<u64>,
            /// The beginning of the body of an error response, for the error message.
            body "body": String,
            /// What an error message adds in parentheses if nothing comes of this response: where it
            /// came from, or its content type where a stream was expected.
            hint "hint": Option<String>,
            /// Texts that no error message shows, such as the key of the request: some providers
            /// repeat it. Shorter ones than six bytes may be a part of any word and are ignored.
            secrets "secrets": Vec<Secret>,
        }
        /// Deltas of a model whose output the core does not decode.
        Deltas "deltas" {
            /// The inference.
            inference "inference": u32,
            /// The attempt.
            attempt "attempt": u32,
            /// The deltas.
            deltas "deltas": Vec<Delta> as "Delta[]",
        }
        /// The host holds the response back because its readers are slow. The timeouts count this as
        /// activity of the model.
        HeldBack "held_back" {
            /// The inference.
            inference "inference": u32,
            /// The attempt.
            attempt "attempt": u32,
        }
        /// The result of [`repair`](Effect::Repair).
        Repaired "repaired" {
            /// The inference.
            inference "inference": u32,
            /// The attempt.
            attempt "attempt": u32,
            /// The repaired body; null if there was nothing to repair.
            body "body": Json<'static>,
            /// The repairs; none if there was nothing to repair.
            repairs "repairs": Vec<Repair>,
        }
        /// The response body ended.
        ResponseEnded "response_end" {
            /// The inference.
            inference "inference": u32,
            /// The attempt.
            attempt "attempt": u32,
        }
        /// The request or the body failed: no connection, a reset, a model that threw.
        ResponseFailed "response_failed" {
            /// The inference.
            inference "inference": u32,
            /// The attempt.
            attempt "attempt": u32,
            /// The error message of the host.
            message "message": String,
            /// Whether code of the host failed, rather than a connection: a model of its own that
            /// threw.
            thrown "thrown": bool,
            /// The code of the failure if the host knows it, such as `replay.miss` of a recorded
            /// model. Nothing is sent again then.
            code "code": Option<String>,
        }
        /// The verdict that [`check`](Effect::Check) requested.
        Checked "checked" {
            /// The call.
            call "call": u32,
            /// The verdict of the host.
            verdict "verdict": Verdict,
        }
        /// The result of [`recall`](Effect::Recall).
        Recalled "recalled" {
            /// The call.
            call "call": u32,
            /// The outcome, if there is one.
            found "found": Option<StoredOutcome>,
        }
        /// The answer to [`commit`](Effect::Commit).
        Stored "stored" {
            /// The number of the commit.
            revision "revision": u64,
            /// The attempt that [`commit`](Effect::Commit) named.
            attempt "attempt": u32,
            /// The answer of the store.
            answer "answer": CommitResult,
        }
        /// A tool settled.
        ToolSettled "tool_settled" {
            /// The call.
            call "call": u32,
            /// Its result or error.
            settled "settled": Settled,
        }
        /// A running tool reports its progress.
        ToolProgress "tool_progress" {
            /// The call.
            call "call": u32,
            /// The progress data.
            data "data": Json<'static>,
        }
        /// A running tool reports tokens that it has used, for example of models that it has called.
        ToolUsage "tool_usage" {
            /// The call.
            call "call": u32,
            /// The tokens since its last report.
            usage "usage": Usage as "Partial<Usage>",
        }
        /// Time has passed.
        Timer "timer",
        /// Pause after the tools, so that the turn can be resumed later.
        Pause "pause",
        /// Another owner may have written to the store. The turn makes a commit to find out.
        Verify "verify",
        /// Ends the turn now.
        Cancel "cancel" {
            /// The reason, for the event.
            reason "reason": String,
        }
    } beside {
        /// Bytes of a response body, split at any position.
        ResponseBytes {
            /// The inference.
            inference: u32,
            /// The attempt.
            attempt: u32,
            /// The bytes.
            bytes: Vec<u8>,
        }
    }
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
            Self::Repaired { inference, attempt, body, repairs } => {
                ((inference, attempt), Part::Repaired(body, repairs))
            }
            Self::ResponseEnded { inference, attempt } => ((inference, attempt), Part::Ended),
            Self::ResponseFailed { inference, attempt, message, thrown, code } => {
                ((inference, attempt), Part::Failed { message, thrown, code })
            }
            other => return Err(other),
        })
    }
}

protocol! {
    /// An action that the host must perform. Perform the effects in order. A host must know all of
    /// them, so the enum is exhaustive. A pass has the same effects, with its own result and trace
    /// events.
    pub enum Effect<R = TurnResult, T = TraceEvent>
        as "TurnEffect<Result = TurnResult, Trace = TraceEvent>", write
    {
        /// Send a request to the model.
        Fetch "fetch" {
            /// The number of the inference, from 1.
            inference "inference": u32,
            /// The number of the attempt, from 1. Inputs of an earlier attempt are ignored.
            attempt "attempt": u32,
            /// The model to ask: 0, or the place in `fallbacks` from 1.
            model "model": u32,
            /// The request. The host adds the address and the key. Without the option `model`, its
            /// body has only the members that the core decides: `messages`, and `system`, `tools`
            /// and `tool_choice` if present.
            request "request": Request<'static>,
        }
        /// Repair the history in the body of a request with [`history::repair`](crate::history::repair),
        /// and report [`repaired`](Input::Repaired). It is no part of the machine, so that a program
        /// whose histories need no repair does not carry it.
        Repair "repair" {
            /// The number of the inference, from 1.
            inference "inference": u32,
            /// The number of the attempt, from 1.
            attempt "attempt": u32,
            /// The model that will be asked, as in [`fetch`](Effect::Fetch).
            model "model": u32,
            /// The body of the request.
            body "body": Json<'static>,
            /// What the provider said when it refused requests of this turn as invalid.
            refusal "refusal": String,
        }
        /// Stop reading a response and close its connection.
        Abort "abort" {
            /// The inference.
            inference "inference": u32,
        }
        /// Check the arguments of a call against the tool's schema, or the answer against
        /// `answerSchema`.
        Check "check" {
            /// The number of the call within the turn, from 1; 0 for the answer.
            call "call": u32,
            /// The tool; empty for the answer.
            name "name": String,
            /// The arguments, an object; or the answer, any value.
            args "args": Json<'static>,
        }
        /// Look up a stored outcome of another turn for a call.
        Recall "recall" {
            /// The call.
            call "call": u32,
            /// The key of the outcome in the store.
            key "key": String,
        }
        /// Write to the store.
        Commit "commit" {
            /// The number of the attempt, from 1.
            attempt "attempt": u32,
            /// The commit to write.
            commit "commit": Arc<Commit> as "Commit",
        }
        /// Run a tool.
        RunTool "run_tool" {
            /// The call.
            call "call": u32,
            /// The tool.
            name "name": String,
            /// The provider's id of the call.
            tool_call_id "toolCallId": String,
            /// The batch.
            tool_batch_id "toolBatchId": u32,
            /// A key that stays the same across retries and resumes.
            idempotency_key "idempotencyKey": String,
            /// Limit of the result in bytes. The host need not report more.
            max_result_bytes "maxResultBytes": u64,
            /// Limit of the images and files of the result in bytes, decoded.
            max_media_bytes "maxMediaBytes": u64,
            /// The arguments as the model wrote them, an object. If the host's validator returned
            /// changed arguments, the host uses those.
            args "args": Json<'static>,
            /// The arguments that the validator returned, if the signature is made of them. A host
            /// that did not check this call itself checks `args`, and starts nothing
            /// (`tool.invalid_arguments`) if other arguments come of it.
            signed "signed?": Option<Json<'static>>,
        }
        /// Find out what became of a call that may have run, instead of running it: its owner is
        /// gone, and its tool may not run twice. The host answers with [`tool_settled`](Input::ToolSettled).
        Reconcile "reconcile" {
            /// The call.
            call "call": u32,
            /// Its id, name, arguments and signature, as in events.
            about "about": CallView,
            /// The key with which it was started.
            idempotency_key "idempotencyKey": String,
            /// Limit of the result in bytes. The host need not report more.
            max_result_bytes "maxResultBytes": u64,
            /// Limit of the images and files of the result in bytes, decoded.
            max_media_bytes "maxMediaBytes": u64,
        }
        /// Cancel a tool whose result is no longer needed.
        CancelTool "cancel_tool" {
            /// The call.
            call "call": u32,
            /// Why the result is no longer needed.
            reason "reason": CancelReason,
        }
        /// Show an event.
        Emit "emit" (event "event": Event)
        /// Record a trace event.
        Trace "trace" (event "event": T as "Trace")
        /// The turn is over. This is the last effect.
        Done "done" {
            /// What it came to.
            result "result": R as "Result",
        }
    }
}

names! {
    /// Why a tool is cancelled.
    pub enum CancelReason as "CancelReason", "cancelled or timeout", non_exhaustive {
        /// The turn has ended.
        Cancelled "cancelled",
        /// The time of the call is over.
        Timeout "timeout",
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
}
