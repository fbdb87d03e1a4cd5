//! How a turn ended, and where it may continue.

use crate::error::Failure;

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
    pub(super) fn status(&self) -> &'static str {
        match self {
            Self::Cancelled(_) => "cancelled",
            Self::Complete => "complete",
            Self::Failed(_) => "failed",
            Self::Paused(_) => "paused",
        }
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
