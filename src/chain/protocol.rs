//! The inputs and effects of a chain.

use super::calls::CallBody;
use super::event::ChainEvent;
use super::outcome::ChainResult;
use crate::json::table::names;
use crate::json::{Json, JsonError};
use crate::limits;

/// An input. The host sends each when it happens. Late and repeated inputs are ignored.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Input {
    /// Start the chain. Nothing happens before it.
    Start,
    /// A piece of the text that a streaming call writes.
    Chunk {
        /// The call that [`Effect::Call`] named.
        call: u32,
        /// The piece.
        text: String,
    },
    /// A call returned.
    Returned {
        /// The call.
        call: u32,
        /// Its value, of at most [`limits::STEP_RESULT_BYTES`] as JSON text. [`CallBody`] says
        /// what each kind of call returns.
        value: Json<'static>,
        /// Its cost in the host's unit, if reported. Default: the number in the value's `cost`.
        cost: Option<f64>,
    },
    /// A call failed.
    Failed {
        /// The call.
        call: u32,
        /// Stable name of the failure.
        code: String,
        /// The error message.
        message: String,
        /// Whether a retry may succeed.
        retryable: bool,
        /// The cost of the failed call, if reported.
        cost: Option<f64>,
    },
    /// Time has passed.
    Timer,
    /// End the chain now.
    Cancel {
        /// The reason, reported as the error message.
        reason: String,
    },
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

/// An action that the host must perform. Perform them in order. A host must know all of them, so
/// the enum is exhaustive.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::large_enum_variant, reason = "the result of a chain comes once")
)]
pub enum Effect {
    /// Make a call, and report its outcome with [`Input::Returned`] or [`Input::Failed`].
    Call {
        /// The number of the call within the chain, from 1.
        call: u32,
        /// Its kind and what the callback is told.
        body: CallBody,
    },
    /// Abort a call. Its outcome is no longer needed.
    Abort {
        /// The call.
        call: u32,
        /// Why.
        reason: AbortReason,
    },
    /// Store a result in the cache.
    Remember {
        /// The cache key. The host normalizes it to Unicode NFC.
        key: String,
        /// The result.
        value: Json<'static>,
    },
    /// Deliver an event.
    Emit(ChainEvent),
    /// The chain has ended. No effect follows.
    Done(ChainResult),
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
