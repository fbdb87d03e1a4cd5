//! The record of which signatures were executed in a turn, and with what outcome.
//!
//! It lives outside the prompt, so trimming a history never lets a call through again.

use std::collections::BTreeMap;

use super::Outcome;
use crate::signature::Signature;

/// What is known of a signature.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    call: u32,
    outcome: Option<Outcome>,
}

/// The duplicate ledger of one turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    entries: BTreeMap<Signature, Entry>,
}

impl Ledger {
    /// The call that was accepted with this signature.
    #[must_use]
    pub fn call(&self, signature: &Signature) -> Option<u32> {
        self.entries.get(signature).map(|entry| entry.call)
    }

    /// Its outcome, once it has settled.
    #[must_use]
    pub fn outcome(&self, signature: &Signature) -> Option<&Outcome> {
        self.entries.get(signature)?.outcome.as_ref()
    }

    /// Notes that `call` is executed under `signature`. A later call of a tool that may
    /// repeat takes the place of the earlier one.
    pub fn accept(&mut self, signature: Signature, call: u32) {
        self.entries.insert(signature, Entry { call, outcome: None });
    }

    /// Notes what came of `call`.
    pub fn settle(&mut self, signature: &Signature, call: u32, outcome: &Outcome) {
        if let Some(entry) = self.entries.get_mut(signature).filter(|entry| entry.call == call) {
            entry.outcome = Some(outcome.clone());
        }
    }
}
