//! The record of the signatures that were executed in a turn, with their outcomes.
//!
//! The ledger is not part of the prompt, so trimming a history does not allow a repeated call.

use super::Outcome;
use crate::signature::Signature;

/// An executed signature.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    signature: Signature,
    call: u32,
    outcome: Option<Outcome>,
}

/// The duplicate ledger of one turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    /// A turn executes few calls, so a map would only increase the code size.
    entries: Vec<Entry>,
    /// How many calls of a tool ran, by its name.
    runs: Vec<(String, u32)>,
    /// The signatures that the user has denied.
    denied: Vec<Signature>,
}

impl Ledger {
    /// Returns the call that was accepted with this signature.
    #[must_use]
    pub fn call(&self, signature: &Signature) -> Option<u32> {
        self.find(signature).map(|entry| entry.call)
    }

    /// Returns the outcome of that call, if it has settled.
    #[must_use]
    pub fn outcome(&self, signature: &Signature) -> Option<&Outcome> {
        self.find(signature)?.outcome.as_ref()
    }

    /// Records that `call` is executed with `signature`. It replaces an earlier call with this
    /// signature, which exists only if the tool allows repeated calls.
    pub fn accept(&mut self, signature: Signature, call: u32) {
        self.entries.retain(|entry| entry.signature != signature);
        self.entries.push(Entry { signature, call, outcome: None });
    }

    /// Records that a call of a tool runs.
    pub fn run(&mut self, tool: &str) {
        match self.runs.iter_mut().find(|(name, _)| name == tool) {
            Some((_, runs)) => *runs += 1,
            None => self.runs.push((tool.to_owned(), 1)),
        }
    }

    /// Returns how many calls of a tool ran.
    #[must_use]
    pub fn runs(&self, tool: &str) -> u32 {
        self.runs.iter().find(|(name, _)| name == tool).map_or(0, |(_, runs)| *runs)
    }

    /// Records the outcome of `call`.
    pub fn settle(&mut self, signature: &Signature, call: u32, outcome: &Outcome) {
        let same = |entry: &&mut Entry| entry.signature == *signature && entry.call == call;
        if let Some(entry) = self.entries.iter_mut().find(same) {
            entry.outcome = Some(outcome.clone());
        }
    }

    /// Records that the user denied a signature, for the rest of the turn.
    pub fn deny(&mut self, signature: &Signature) {
        if !self.is_denied(signature) {
            self.denied.push(signature.clone());
        }
    }

    /// Returns whether the user has denied this signature.
    #[must_use]
    pub fn is_denied(&self, signature: &Signature) -> bool {
        self.denied.contains(signature)
    }

    fn find(&self, signature: &Signature) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.signature == *signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::tool::Status;

    #[test]
    fn an_outcome_is_that_of_the_last_call_of_its_signature() {
        let of = |name| Signature::new(name, None, &Json::Null, None);
        let told = |text: &str| Outcome::told(Status::Ok, text);
        let mut ledger = Ledger::default();
        ledger.accept(of("a"), 1);
        ledger.accept(of("b"), 2);
        assert_eq!(ledger.outcome(&of("a")), None);
        ledger.settle(&of("a"), 2, &told("another call"));
        ledger.settle(&of("c"), 1, &told("another signature"));
        assert_eq!((ledger.outcome(&of("a")), ledger.outcome(&of("b"))), (None, None));
        ledger.settle(&of("b"), 2, &told("two"));
        ledger.settle(&of("a"), 1, &told("one"));
        assert_eq!(ledger.outcome(&of("a")), Some(&told("one")));
        assert_eq!(ledger.outcome(&of("b")), Some(&told("two")));
        ledger.accept(of("a"), 3);
        assert_eq!((ledger.call(&of("a")), ledger.outcome(&of("a"))), (Some(3), None));
        ledger.settle(&of("a"), 1, &told("late"));
        assert_eq!(ledger.outcome(&of("a")), None, "of the call before");
        assert_eq!(ledger.outcome(&of("b")), Some(&told("two")));
    }

    #[test]
    fn a_denial_stays_and_is_that_of_its_signature() {
        let of = |name| Signature::new(name, None, &Json::Null, None);
        let mut ledger = Ledger::default();
        ledger.deny(&of("a"));
        ledger.deny(&of("a"));
        ledger.accept(of("a"), 1);
        assert_eq!(["a", "b"].map(|name| ledger.is_denied(&of(name))), [true, false]);
        assert_eq!(ledger.denied.len(), 1);
    }

    #[test]
    fn runs_are_counted_by_tool() {
        let mut ledger = Ledger::default();
        ["a", "b", "a", "a"].iter().for_each(|tool| ledger.run(tool));
        assert_eq!(["a", "b", "c"].map(|tool| ledger.runs(tool)), [3, 1, 0]);
    }
}
