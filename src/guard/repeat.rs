//! What counts as a repeated call, and what is done with it.

use crate::json::table::names;

names! {
    /// How to treat a call whose signature was executed before in this turn.
    pub enum Dedupe as "Dedupe", "block, replay or allow" {
        /// Refuse it.
        Block "block",
        /// Use the recorded outcome again.
        Replay "replay",
        /// Execute it again, for tools whose result changes, such as a poll.
        Allow "allow",
    }
}

impl Dedupe {
    /// Returns the default for a tool.
    #[must_use]
    pub fn usual(read_only: bool) -> Self {
        if read_only { Self::Replay } else { Self::Block }
    }

    /// Returns what counts as a repeat; `None` for [`Dedupe::Allow`].
    #[must_use]
    pub fn repeat(self) -> Option<Repeat> {
        let once = Repeat { most: 1, same_result: None, replays: self == Self::Replay };
        (self != Self::Allow).then_some(once)
    }
}

/// A rule by which a call counts as a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// Earlier calls with the same signature from which on another one is a repeat.
    pub most: u32,
    /// Whether only calls in a row with the same result count. `None`: all do.
    pub same_result: Option<SameResult>,
    /// Whether a repeat gets the recorded outcome. Otherwise it is blocked.
    pub replays: bool,
}

/// Which calls have the same result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameResult {
    /// Those whose results are known.
    Known,
    /// Those, and calls that are still running.
    KnownOrRunning,
}
