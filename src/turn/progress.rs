//! How far a turn is: what is stored of it besides its batches, how it ended, and where it may
//! continue.

use super::event::{PhaseName, Spent};
use super::phase::Phase;
use super::result::TurnStatus;
use crate::error::Failure;
use crate::json::Json;
use crate::stream::{FinishReason, TokenUsage, Usage};

/// The counters, the text and the phase of a turn, as they are stored with it.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    /// The number of the last event.
    pub(super) seq: u64,
    /// The number of the first event that the current inference could have; 0 before the first.
    pub(super) asked_seq: u64,
    /// `toolBatchId` of the last batch.
    pub(super) batch: u32,
    /// Number of stored records of batches. A batch has one for each step of its judging.
    pub(super) judged: u32,
    /// The number of the current cycle, from 1.
    pub(super) cycle: u32,
    pub(super) inferences: u32,
    /// The model that is asked: 0, or the place of the fallback from 1.
    pub(super) model: u32,
    /// Elements of the history that the thread of a model has.
    pub(super) heard: usize,
    /// Calls received.
    pub(super) calls: u32,
    /// Milliseconds that all batches of tools took together.
    pub(super) tools_ms: u64,
    /// All text shown, in order.
    pub(super) shown: String,
    /// The blocks of tools that the provider ran itself, each with the number of batches before it.
    pub(super) hosted: Vec<(usize, Json<'static>)>,
    pub(super) usage: Usage,
    /// Why the model stopped its last response, and the provider's word for it.
    pub(super) finish: Option<(FinishReason, String)>,
    /// The provider's id of the answer, where the provider keeps the conversation.
    pub(super) response: Option<String>,
    /// A response was not read to its end, so tokens of it may be missing.
    pub(super) is_cut: bool,
    /// Tokens that tools reported.
    pub(super) tool_usage: Usage,
    /// Why an answer was not valid; the model has been asked once more.
    pub(super) rejected: Option<String>,
    pub(super) phase: Phase,
}

impl Progress {
    pub(super) fn new(phase: PhaseName) -> Self {
        Self {
            seq: 0,
            asked_seq: 0,
            batch: 0,
            judged: 0,
            cycle: 1,
            inferences: 0,
            model: 0,
            heard: 0,
            calls: 0,
            tools_ms: 0,
            shown: String::new(),
            hosted: Vec::new(),
            usage: Usage::default(),
            finish: None,
            response: None,
            is_cut: false,
            tool_usage: Usage::default(),
            rejected: None,
            phase: Phase::new(phase),
        }
    }

    /// The tokens of all responses.
    pub(super) fn usage(&self) -> TokenUsage {
        let mut usage = TokenUsage::from(self.usage);
        usage.incomplete = self.is_cut;
        usage
    }

    /// The tokens of all responses, and those that tools reported.
    pub(super) fn total_usage(&self) -> TokenUsage {
        let mut total = self.usage;
        total.add(self.tool_usage);
        let mut total = TokenUsage::from(total);
        total.incomplete = self.is_cut;
        total
    }

    /// What the events of a turn say that has not answered.
    pub(super) fn spent(&self) -> Spent {
        Spent {
            usage: Some(self.usage()),
            total_usage: Some(self.total_usage()),
            inferences: Some(self.inferences),
        }
    }
}

/// How a turn, or one leg of it, ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Cancelled(String),
    Complete,
    Failed(Failure),
    /// A resumed turn continues at this point.
    Paused(Point),
}

/// Where a resumed turn continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    /// The action phase begins.
    Action,
    /// The current inference is made again.
    Ask,
    /// Calls wait for an approval.
    Awaiting,
    /// The calls of the last batch settle.
    Running,
    /// The next step of the unified loop.
    Step,
}

impl End {
    pub(super) fn status(&self) -> TurnStatus {
        match self {
            Self::Cancelled(_) => TurnStatus::Cancelled,
            Self::Complete => TurnStatus::Complete,
            Self::Failed(_) => TurnStatus::Failed,
            Self::Paused(_) => TurnStatus::Paused,
        }
    }

    /// Whether the turn goes on, or has ended, with another owner.
    pub(super) fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Failed(failure) if failure.code == "turn.conflict")
    }

    /// Whether the turn may be resumed. If the model failed, the request may be sent again.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Cancelled(_) | Self::Complete => false,
            Self::Failed(failure) => failure.code.starts_with("model."),
            Self::Paused(_) => true,
        }
    }
}
