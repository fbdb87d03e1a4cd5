//! What a bundle is told, and what it wishes.

use super::usage::Tokens;

/// A fact.
#[derive(Debug, Clone)]
pub enum Input<'a> {
    /// Begin. Only the first one counts.
    Start,
    /// What an attempt has used so far.
    Usage {
        /// The replicate's place, from 0.
        replicate: usize,
        /// The attempt at it, from 1.
        attempt: u32,
        /// All of it, not what came since.
        tokens: Tokens,
    },
    /// An attempt is over.
    Settled {
        /// The replicate's place, from 0.
        replicate: usize,
        /// The attempt at it, from 1.
        attempt: u32,
        /// What it came to.
        outcome: Outcome<'a>,
        /// What it used in all, where that is known.
        tokens: Option<Tokens>,
        /// The model, where it differs from the bundle's.
        model: Option<&'a str>,
    },
    /// Time has passed.
    Timer,
    /// End now, with what there is.
    Cancel {
        /// Why, for the event.
        reason: &'a str,
    },
}

/// What an attempt came to.
#[derive(Debug, Clone)]
pub enum Outcome<'a> {
    /// It returned.
    Data {
        /// Its JSON text. What is no I-JSON, too deep or too long makes the replicate invalid.
        json: &'a [u8],
        /// What the host's validator says against it; empty: nothing.
        errors: Vec<String>,
    },
    /// It threw, or returned what has no JSON.
    Failed {
        /// In words.
        message: String,
    },
}

/// A wish. The host does each in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Run a replicate.
    Run {
        /// Its place, from 0.
        replicate: usize,
        /// Its seed.
        seed: i64,
        /// The attempt at it, from 1. Facts of an earlier attempt are late.
        attempt: u32,
    },
    /// Tell a replicate that nobody waits any longer: its signal fires, its connections close.
    Cancel {
        /// Its place.
        replicate: usize,
        /// `timeout`, `token_limit`, `early`, `budget` or `cancelled`.
        reason: &'static str,
    },
    /// Show an event: its JSON text.
    Emit(String),
    /// The bundle is over; the last event held it. Nothing follows.
    Done,
}
