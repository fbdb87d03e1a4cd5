//! The record of which signatures were executed in a turn, and with what outcome.
//!
//! It lives outside the prompt, so trimming a history never lets a call through again.

use super::Outcome;
use crate::signature::Signature;

/// What is known of a signature.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    signature: Signature,
    call: u32,
    outcome: Option<Outcome>,
}

/// The duplicate ledger of one turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    /// Few: a turn executes a handful of calls, so a map would only cost size.
    entries: Vec<Entry>,
}

impl Ledger {
    /// The call that was accepted with this signature.
    #[must_use]
    pub fn call(&self, signature: &Signature) -> Option<u32> {
        self.find(signature).map(|entry| entry.call)
    }

    /// Its outcome, once it has settled.
    #[must_use]
    pub fn outcome(&self, signature: &Signature) -> Option<&Outcome> {
        self.find(signature)?.outcome.as_ref()
    }

    /// Notes that `call` is executed under `signature`. A later call of a tool that may
    /// repeat takes the place of the earlier one.
    pub fn accept(&mut self, signature: Signature, call: u32) {
        self.entries.retain(|entry| entry.signature != signature);
        self.entries.push(Entry { signature, call, outcome: None });
    }

    /// Notes what came of `call`.
    pub fn settle(&mut self, signature: &Signature, call: u32, outcome: &Outcome) {
        let same = |entry: &&mut Entry| entry.signature == *signature && entry.call == call;
        if let Some(entry) = self.entries.iter_mut().find(same) {
            entry.outcome = Some(outcome.clone());
        }
    }

    fn find(&self, signature: &Signature) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.signature == *signature)
    }
}
