//! The inputs and effects of a chain.

use super::calls::CallBody;
use super::event::ChainEvent;
use super::outcome::ChainResult;
use crate::json::table::{names, protocol};
use crate::json::{Json, JsonError};
use crate::limits;

protocol! {
    /// An input. The host sends each when it happens. Late and repeated inputs are ignored.
    pub enum Input as "ChainInput", read, non_exhaustive {
        /// Start the chain. Nothing happens before it.
        Start "start",
        /// A piece of the text that a streaming call writes.
        Chunk "chunk" {
            /// The call that [`call`](Effect::Call) named.
            call "call": u32,
            /// The piece.
            text "text": String,
        }
        /// A call returned.
        Returned "returned" {
            /// The call.
            call "call": u32,
            /// Its value; [`CallBody`] says what each kind of call returns. It crosses the boundary
            /// as JSON text, of at most 1 MiB: a text that is not JSON is a failure of the call.
            value "value": Json<'static> as "string",
            /// Its cost in the host's unit, if reported. Without it, the number in the value's `cost`.
            cost "cost": Option<f64>,
        }
        /// A call failed.
        Failed "failed" {
            /// The call.
            call "call": u32,
            /// Stable name of the failure.
            code "code": String,
            /// The error message.
            message "message": String,
            /// Whether a retry may succeed.
            retryable "retryable": bool,
            /// The cost of the failed call, if reported.
            cost "cost": Option<f64>,
        }
        /// Time has passed.
        Timer "timer",
        /// End the chain now.
        Cancel "cancel" {
            /// The reason, reported as the error message.
            reason "reason": String,
        }
    }
}

impl Input {
    /// A call returned the value with this JSON text. A text that is not JSON, or too long, is a
    /// failure of the call: `chain.invalid_result`, `chain.result_too_large`.
    #[must_use]
    pub fn returned(call: u32, text: &str, cost: Option<f64>) -> Self {
        match Json::parse_lossy(text.as_bytes(), limits::STEP_RESULT_BYTES) {
            Ok(value) => Self::Returned { call, value: value.into_owned(), cost },
            Err(error) => Self::unread(call, &error, cost),
        }
    }

    /// The failure of a call whose value was refused.
    pub(super) fn unread(call: u32, error: &JsonError, cost: Option<f64>) -> Self {
        let code = match error {
            JsonError::TooLarge { .. } => "chain.result_too_large",
            _ => "chain.invalid_result",
        };
        let (code, message) = (code.to_owned(), error.to_string());
        Self::Failed { call, code, message, retryable: false, cost }
    }
}

protocol! {
    /// An action that the host must perform. Perform them in order. A host must know all of them, so
    /// the enum is exhaustive.
    pub enum Effect as "ChainEffect", write {
        /// Make a call, and report its outcome with [`returned`](Input::Returned) or
        /// [`failed`](Input::Failed).
        Call "call" {
            /// The number of the call within the chain, from 1.
            call "call": u32,
            /// Its kind and what the callback is told.
            body "body": CallBody,
        }
        /// Abort a call. Its outcome is no longer needed.
        Abort "abort" {
            /// The call.
            call "call": u32,
            /// Why.
            reason "reason": AbortReason,
        }
        /// Store a result in the cache.
        Remember "remember" {
            /// The cache key. The host normalizes it to Unicode NFC.
            key "key": String,
            /// The result.
            value "value": Json<'static>,
        }
        /// Deliver an event.
        Emit "emit" (event "event": ChainEvent)
        /// The chain has ended. No effect follows.
        Done "done" (result "result": ChainResult)
    }
}

names! {
    /// Why a call is aborted.
    pub enum AbortReason as "ChainAbortReason", "timeout, stopped or cancelled" {
        /// It took too long.
        Timeout "timeout",
        /// The chain has stopped, or the call has returned too much.
        Stopped "stopped",
        /// The host cancelled the chain.
        Cancelled "cancelled",
    }
}
