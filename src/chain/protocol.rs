//! The inputs and effects of a chain.

use crate::json::Json;

/// The kind of a call to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// Answer with one model call: the simple path. Streams.
    Answer,
    /// Rate how complete the results are: a number from 0 to 1.
    Assess,
    /// Classify the query: `simple` or `complex`.
    Classify,
    /// Decide whether a conditional step runs: true or false.
    Condition,
    /// Make a plan.
    Plan,
    /// Look up a key in the cache: `{ value, ageMs }` or null.
    Recall,
    /// Condense results.
    Refine,
    /// Return new steps that replace the remaining ones, or null.
    Replan,
    /// Search for information.
    Search,
    /// Write a text from results. Streams.
    Synthesize,
}

impl CallKind {
    /// The name of the host's callback.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Assess => "assess",
            Self::Classify => "classify",
            Self::Condition => "condition",
            Self::Plan => "plan",
            Self::Recall => "recall",
            Self::Refine => "refine",
            Self::Replan => "replan",
            Self::Search => "search",
            Self::Synthesize => "synthesize",
        }
    }
}

/// An input. The host sends each when it happens. Late and repeated inputs are ignored.
#[derive(Debug, Clone, PartialEq)]
pub enum Input<'a> {
    /// Start the chain. Nothing happens before it.
    Start,
    /// A piece of the text that a streaming call writes.
    Chunk {
        /// The call that [`Effect::Call`] named.
        call: u32,
        /// The piece.
        text: &'a str,
    },
    /// A call returned.
    Returned {
        /// The call.
        call: u32,
        /// The JSON text of its value.
        value: &'a str,
        /// Its cost in the host's unit, if reported. Default: the number in the value's `cost`.
        cost: Option<f64>,
    },
    /// A call failed.
    Failed {
        /// The call.
        call: u32,
        /// Stable name of the failure.
        code: &'a str,
        /// The error message.
        message: &'a str,
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
        reason: &'a str,
    },
}

/// An action the host must perform. Perform them in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Make a call and report its outcome.
    Call {
        /// The number of the call within the chain, from 1.
        call: u32,
        /// The kind of the call.
        kind: CallKind,
        /// The arguments of the call.
        body: Json<'static>,
    },
    /// Abort a call. Its outcome is no longer needed.
    Abort {
        /// The call.
        call: u32,
        /// `timeout`, `stopped` or `cancelled`.
        reason: &'static str,
    },
    /// Store a result in the cache.
    Remember {
        /// The cache key. The host normalizes it to Unicode NFC.
        key: String,
        /// The result.
        value: Json<'static>,
    },
    /// Deliver an event.
    Emit(Json<'static>),
    /// The chain has ended. No effect follows.
    Done {
        /// See `ChainResult` in `pkg/src/chain/types.ts`.
        result: Json<'static>,
    },
}
