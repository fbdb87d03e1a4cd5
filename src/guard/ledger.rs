//! The record of the calls that were executed, by signature, with their outcomes.
//!
//! The record is not part of the prompt, so trimming a history does not allow a repeated call.

use super::{Repeat, SameResult};
use crate::index::Index;

/// What is recorded of a signature.
#[derive(Debug, Clone)]
pub(super) struct Entry<T> {
    /// The last call that was accepted, and its outcome once it has settled.
    pub(super) call: Option<u32>,
    pub(super) outcome: Option<T>,
    /// How many calls were accepted.
    pub(super) accepted: u32,
    /// Accepted calls without an outcome.
    running: Vec<u32>,
    /// Accepted calls without an outcome whose runner is another process, which may be gone.
    pub(super) elsewhere: u32,
    /// The last result, and how many calls in a row had it.
    pub(super) result: Option<String>,
    pub(super) in_a_row: u32,
    /// Whether the user has denied the call.
    pub(super) denied: bool,
    /// How many equal calls were judged or recorded, whatever the verdict.
    pub(super) seen: u32,
}

/// Judges calls, counts them and records their outcomes, of type `T`.
#[derive(Debug, Clone)]
pub struct Guard<T> {
    /// The signatures, which number the entries.
    signatures: Index,
    pub(super) entries: Vec<Entry<T>>,
    /// The names of tools, which number the counts: a model makes up as many as it likes.
    tools: Index,
    /// How many calls of a tool ran.
    runs: Vec<u32>,
    /// How many calls ran.
    ran: u32,
    /// Whether any call has settled.
    pub(super) has_results: bool,
}

impl<T> Default for Guard<T> {
    fn default() -> Self {
        Self {
            signatures: Index::default(),
            entries: Vec::new(),
            tools: Index::default(),
            runs: Vec::new(),
            ran: 0,
            has_results: false,
        }
    }
}

impl<T> Default for Entry<T> {
    fn default() -> Self {
        Self {
            call: None,
            outcome: None,
            accepted: 0,
            running: Vec::new(),
            elsewhere: 0,
            result: None,
            in_a_row: 0,
            denied: false,
            seen: 0,
        }
    }
}

impl<T: Clone> Guard<T> {
    /// Returns the last call that was accepted with one of these signatures.
    #[must_use]
    pub fn call(&self, signatures: &[&str]) -> Option<u32> {
        self.find(signatures).find_map(|entry| entry.call)
    }

    /// Returns the outcome of that call, if it has settled.
    #[must_use]
    pub fn outcome(&self, signatures: &[&str]) -> Option<&T> {
        self.find(signatures).find(|entry| entry.call.is_some())?.outcome.as_ref()
    }

    /// Records that a call is executed, or that its outcome is given.
    pub fn accept(&mut self, signatures: &[&str], call: u32) {
        for signature in signatures {
            let entry = self.entry(signature);
            entry.call = Some(call);
            entry.outcome = None;
            entry.accepted = entry.accepted.saturating_add(1);
            entry.running.push(call);
        }
    }

    /// Records that a call of a tool runs.
    pub fn count_run(&mut self, tool: &str) {
        self.count_runs(tool, 1);
    }

    pub(super) fn count_runs(&mut self, tool: &str, more: u32) {
        let number = self.tools.number(tool);
        let runs: &mut u32 = crate::index::slot(&mut self.runs, number);
        *runs = runs.saturating_add(more);
        self.ran = self.ran.saturating_add(more);
    }

    /// Returns how many calls of a tool ran.
    #[must_use]
    pub fn runs(&self, tool: &str) -> u32 {
        let number = self.tools.find(tool);
        number.and_then(|number| self.runs.get(number)).copied().unwrap_or(0)
    }

    /// Returns how many calls ran.
    #[must_use]
    pub fn ran(&self) -> u32 {
        self.ran
    }

    /// The tools of which calls ran, and how many of each.
    pub(super) fn all_runs(&self) -> impl Iterator<Item = (&str, u32)> {
        self.tools.texts().zip(self.runs.iter().copied())
    }

    /// Records the outcome of a call, once. `result`: what the results of equal calls are compared
    /// by, if they are.
    pub fn settle(&mut self, signatures: &[&str], call: u32, outcome: &T, result: Option<&str>) {
        for signature in signatures {
            let entry = self.entry(signature);
            let Some(place) = entry.running.iter().position(|number| *number == call) else {
                continue;
            };
            entry.running.remove(place);
            if entry.call == Some(call) {
                entry.outcome = Some(outcome.clone());
            }
            if let Some(result) = result {
                entry.returned(result);
            }
            self.has_results = true;
        }
    }

    /// Forgets the last call with these signatures, so that the next one is no repeat of it. What has
    /// run still counts.
    pub fn forget(&mut self, signatures: &[&str]) {
        for signature in signatures {
            let entry = self.entry(signature);
            (entry.call, entry.outcome) = (None, None);
            entry.accepted = entry.accepted.saturating_sub(1);
        }
    }

    /// As [`Guard::settle`], of a call that another process began.
    pub(super) fn settle_elsewhere(
        &mut self,
        signatures: &[&str],
        outcome: &T,
        result: Option<&str>,
    ) {
        for signature in signatures {
            let entry = self.entry(signature);
            if entry.elsewhere > 0 {
                entry.elsewhere -= 1;
                entry.outcome = Some(outcome.clone());
                result.into_iter().for_each(|result| entry.returned(result));
                self.has_results = true;
            }
        }
    }

    /// Records that the user denied a call.
    pub fn deny(&mut self, signatures: &[&str]) {
        for signature in signatures {
            self.entry(signature).denied = true;
        }
    }

    /// Returns whether the user has denied a call with one of these signatures.
    #[must_use]
    pub fn is_denied(&self, signatures: &[&str]) -> bool {
        self.find(signatures).any(|entry| entry.denied)
    }

    /// Returns whether a call is a repeat by `rule`; and of which call it can get the outcome, if
    /// there is or will be one.
    pub(super) fn repeats(&self, signatures: &[&str], rule: Repeat) -> Option<Option<u32>> {
        let repeats = |entry: &&Entry<T>| entry.times(rule.same_result) >= rule.most;
        let entry = self.find(signatures).find(repeats)?;
        let has_outcome = entry.outcome.is_some() || !entry.running.is_empty();
        Some(entry.call.filter(|_| has_outcome))
    }

    pub(super) fn find(&self, signatures: &[&str]) -> impl Iterator<Item = &Entry<T>> {
        let number = |signature: &&str| self.signatures.find(signature);
        signatures.iter().filter_map(number).filter_map(|number| self.entries.get(number))
    }

    /// The signatures and their entries, in the order in which they came.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Entry<T>)> {
        self.signatures.texts().zip(&self.entries)
    }

    pub(super) fn entry(&mut self, signature: &str) -> &mut Entry<T> {
        let number = self.signatures.number(signature);
        crate::index::slot(&mut self.entries, number)
    }

    /// Leaves the calls that run to another process, which may be gone.
    #[cfg(test)]
    pub(super) fn leave_running(&mut self) {
        for entry in &mut self.entries {
            (entry.elsewhere, entry.running) = (entry.open(), Vec::new());
        }
    }
}

impl<T> Entry<T> {
    /// The call that ran longest; `None` if none runs here.
    pub(super) fn oldest(&self) -> Option<u32> {
        self.running.first().copied()
    }

    /// How many calls have no outcome.
    pub(super) fn open(&self) -> u32 {
        u32::try_from(self.running.len()).unwrap_or(u32::MAX).saturating_add(self.elsewhere)
    }

    /// Whether a call was started whose outcome nobody here will report.
    pub(super) fn is_lost(&self) -> bool {
        self.outcome.is_none() && self.running.is_empty() && self.elsewhere > 0
    }

    /// How many earlier calls count.
    fn times(&self, same_result: Option<SameResult>) -> u32 {
        let running = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        match same_result {
            None => self.accepted,
            Some(SameResult::Known) => self.in_a_row,
            Some(SameResult::KnownOrRunning) => self.in_a_row.saturating_add(running),
        }
    }

    /// Counts a result. Another result than before is new information, so it ends the row.
    pub(super) fn returned(&mut self, result: &str) {
        if self.result.as_deref() == Some(result) {
            self.in_a_row = self.in_a_row.saturating_add(1);
        } else {
            self.result = Some(result.to_owned());
            self.in_a_row = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_that_of_the_last_call_of_its_signature() {
        let mut guard = Guard::default();
        guard.accept(&["a"], 1);
        guard.accept(&["b"], 2);
        assert_eq!(guard.outcome(&["a"]), None);
        guard.settle(&["a"], 2, &"another call", None);
        guard.settle(&["c"], 1, &"another signature", None);
        assert_eq!((guard.outcome(&["a"]), guard.outcome(&["b"])), (None, None));
        guard.settle(&["b"], 2, &"two", None);
        guard.settle(&["a"], 1, &"one", None);
        assert_eq!(guard.outcome(&["a"]), Some(&"one"));
        assert_eq!(guard.outcome(&["c", "b"]), Some(&"two"));
        guard.accept(&["a"], 3);
        assert_eq!((guard.call(&["a"]), guard.outcome(&["a"])), (Some(3), None));
        guard.settle(&["a"], 1, &"late", None);
        assert_eq!(guard.outcome(&["a"]), None, "of the call before");
        assert_eq!(guard.outcome(&["b"]), Some(&"two"));
    }

    #[test]
    fn a_forgotten_call_is_no_repeat() {
        let mut guard = Guard::default();
        let rule = Repeat { most: 1, same_result: None, replays: true };
        guard.accept(&["a", "b"], 1);
        guard.settle(&["a", "b"], 1, &"one", None);
        assert_eq!(guard.repeats(&["a"], rule), Some(Some(1)));
        guard.forget(&["a", "b"]);
        assert_eq!((guard.repeats(&["a"], rule), guard.outcome(&["b"])), (None, None));
        assert!(guard.has_results);
    }

    #[test]
    fn a_denial_is_that_of_its_signature() {
        let mut guard = Guard::<()>::default();
        guard.deny(&["a"]);
        guard.accept(&["a"], 1);
        assert_eq!(["a", "b"].map(|signature| guard.is_denied(&[signature])), [true, false]);
    }

    #[test]
    fn runs_are_counted_by_tool() {
        let mut guard = Guard::<()>::default();
        ["a", "b", "a", "a"].iter().for_each(|tool| guard.count_run(tool));
        assert_eq!(["a", "b", "c"].map(|tool| guard.runs(tool)), [3, 1, 0]);
        assert_eq!(guard.ran(), 4);
    }
}
