//! What each pattern of chains was worth, from what users said of them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::json::to_json;
use crate::lock::Lock;
use turnlock::chain::{Effectiveness, Learned, Learning, Pattern};

/// Keeps count of how chains of each pattern fared. Nothing is chosen by it unless
/// [`prefer_best`](Self::prefer_best) is set. Clones share what they know.
#[derive(Debug, Clone)]
pub struct PatternStats {
    known: Arc<Lock<Learned>>,
    prefers: bool,
    enough: u64,
    explore: f64,
}

impl Default for PatternStats {
    fn default() -> Self {
        Self { known: Arc::default(), prefers: false, enough: 20, explore: 0.1 }
    }
}

impl PatternStats {
    /// Nothing known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What [`export`](Self::export) gave, here or in the npm package. What is missing or makes no
    /// sense is nothing known.
    ///
    /// # Errors
    /// `json.*` for what the core does not read at all.
    pub fn restore(state: &impl Serialize) -> Result<Self, Error> {
        let learned = Learned::from_json(&to_json(state)?);
        Ok(Self { known: Arc::new(Lock::new(learned)), ..Self::default() })
    }

    /// Plans are asked for in the pattern that did best.
    #[must_use]
    pub fn prefer_best(mut self) -> Self {
        self.prefers = true;
        self
    }

    /// Chains of a pattern from which on it is compared; of two at least. Default 20.
    #[must_use]
    pub fn enough(mut self, chains: u64) -> Self {
        self.enough = chains;
        self
    }

    /// Share of the queries whose planner is asked for any pattern nevertheless, 0 to 1. Default 0.1.
    #[must_use]
    pub fn explore(mut self, share: f64) -> Self {
        self.explore = share;
        self
    }

    /// Adds a chain: whether the user was satisfied, what it cost, and milliseconds.
    pub fn record(&self, pattern: Pattern, success: bool, cost: f64, ms: u64) {
        self.known.lock().of_mut(pattern).record(success, cost, ms);
    }

    /// The pattern with the highest lower bound among `patterns`; none while there is not enough
    /// data.
    #[must_use]
    pub fn choose(&self, patterns: &[Pattern]) -> Option<Pattern> {
        self.known.lock().choose(patterns, self.enough)
    }

    /// What is known of a pattern.
    #[must_use]
    pub fn of(&self, pattern: Pattern) -> Effectiveness {
        self.known.lock().of(pattern).clone()
    }

    /// Everything, as plain JSON to be kept: `{ version, patterns }`, as the npm package has it.
    #[must_use]
    pub fn export(&self) -> Value {
        self.known.lock().to_json().into()
    }

    /// What a chain learns from.
    pub(super) fn learned(&self) -> Option<Learning> {
        let learning = || Learning::new(self.known.lock().clone());
        self.prefers.then(|| learning().enough(self.enough).explore(self.explore))
    }
}
