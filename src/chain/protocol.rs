//! The grammar of a chain: what happened, and what to do.

use crate::json::Json;

/// What the host is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// Answer in one call of the model: the simple path. Streams.
    Answer,
    /// Say how complete the results are: a number from 0 to 1.
    Assess,
    /// Classify the query: `simple` or `complex`.
    Classify,
    /// Say whether a conditional step runs: true or false.
    Condition,
    /// Make a plan.
    Plan,
    /// Look into the cache: `{ value, ageMs }` or null.
    Recall,
    /// Condense results.
    Refine,
    /// Say what is to be done instead of the remaining steps, or null.
    Replan,
    /// Find something out.
    Search,
    /// Write from results. Streams.
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

/// A fact. The host reports each as it happens; late and repeated ones are harmless.
#[derive(Debug, Clone, PartialEq)]
pub enum Input<'a> {
    /// Begin. Nothing happens before it.
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
        /// What it cost, in the host's unit, if it said so. Default: the number in the value's
        /// `cost`.
        cost: Option<f64>,
    },
    /// A call failed.
    Failed {
        /// The call.
        call: u32,
        /// Stable name of the failure.
        code: &'a str,
        /// In words.
        message: &'a str,
        /// Whether trying again may help.
        retryable: bool,
        /// What it cost all the same.
        cost: Option<f64>,
    },
    /// Time has passed.
    Timer,
    /// End now.
    Cancel {
        /// Why, for the event.
        reason: &'a str,
    },
}

/// A wish. The host does each in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Do something and report how it ended.
    Call {
        /// Names the call within the chain, from 1.
        call: u32,
        /// What to do.
        kind: CallKind,
        /// What it is told.
        body: Json<'static>,
    },
    /// The end of a call is no longer wanted.
    Abort {
        /// The call.
        call: u32,
        /// `timeout`, `stopped` or `cancelled`.
        reason: &'static str,
    },
    /// Put a result into the cache.
    Remember {
        /// Its name there, a text that the host brings into Unicode's normal form C.
        key: String,
        /// The result.
        value: Json<'static>,
    },
    /// Show an event.
    Emit(Json<'static>),
    /// The chain is over. Nothing follows.
    Done {
        /// See `ChainResult` in `pkg/src/chain/types.ts`.
        result: Json<'static>,
    },
}
