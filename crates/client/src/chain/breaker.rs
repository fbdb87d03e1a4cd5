//! A circuit breaker: after too many failed chains, queries take the simple path for a while.

use std::sync::Arc;

use crate::clock;
use crate::lock::Lock;
use turnlock::chain::{ChainResult, ChainStatus};

/// Counts chains that failed, or fell back to the simple path because something failed. Clones share
/// the count; pass one to [`Callbacks::breaker`](super::Callbacks::breaker) of every chain. While it
/// is open, complex queries take the simple path, and `fell_back` is `chain.breaker_open`.
#[derive(Debug, Clone)]
pub struct ChainBreaker {
    failures: usize,
    within_ms: u64,
    for_ms: u64,
    seen: Arc<Lock<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// When chains failed, oldest first.
    failed: Vec<u64>,
    open_until: u64,
}

impl Default for ChainBreaker {
    fn default() -> Self {
        Self { failures: 5, within_ms: 60_000, for_ms: 60_000, seen: Arc::default() }
    }
}

impl ChainBreaker {
    /// Opens after 5 failures in a minute, for a minute.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Failures after which it opens, from 1. Default 5.
    #[must_use]
    pub fn failures(mut self, failures: usize) -> Self {
        self.failures = failures.max(1);
        self
    }

    /// Milliseconds within which they happen. Default 60 000.
    #[must_use]
    pub fn within_ms(mut self, within_ms: u64) -> Self {
        self.within_ms = within_ms;
        self
    }

    /// Milliseconds for which it stays open. Default 60 000.
    #[must_use]
    pub fn for_ms(mut self, for_ms: u64) -> Self {
        self.for_ms = for_ms;
        self
    }

    /// Whether complex queries take the simple path now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        clock::whole_now() < self.seen.lock().open_until
    }

    pub(super) fn record(&self, result: &ChainResult) {
        let fell_back = result.outcome.fell_back.as_ref();
        let expected = ["chain.breaker_open", "chain.over_budget"];
        let fell_back = fell_back.is_some_and(|why| !expected.contains(&why.code.as_str()));
        if !fell_back && result.outcome.status != ChainStatus::Failed {
            return;
        }
        let (now, mut seen) = (clock::whole_now(), self.seen.lock());
        seen.failed.retain(|at| now.saturating_sub(*at) < self.within_ms);
        seen.failed.push(now);
        if seen.failed.len() >= self.failures {
            seen.failed.clear();
            seen.open_until = now.saturating_add(self.for_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnlock::chain::Failure;

    #[test]
    fn opens_after_failures() {
        let breaker = ChainBreaker::new().failures(2);
        let failed = ChainResult::failed(Failure::new("x", "y"));
        let mut fell_back = failed.clone();
        fell_back.outcome.status = ChainStatus::Complete;
        breaker.record(&fell_back);
        fell_back.outcome.fell_back = Some(Failure::new("chain.over_budget", ""));
        breaker.record(&fell_back);
        breaker.record(&failed);
        assert!(!breaker.is_open(), "one chain has failed");
        fell_back.outcome.fell_back = Some(Failure::new("plan.failed", ""));
        breaker.clone().record(&fell_back);
        assert!(breaker.is_open());
        let closed = ChainBreaker::new().failures(1).for_ms(0);
        closed.record(&failed);
        assert!(!closed.is_open());
    }
}
