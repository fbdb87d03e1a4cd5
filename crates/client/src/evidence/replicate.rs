//! What a replicate is told, and what it comes to.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::options::Check;
use super::strict::strict_text;
use crate::error::Error;
use crate::platform::{Dyn, Signal};
use turnlock::evidence::{Strategy, Tokens};
use turnlock::json::Json;
use turnlock::reply::Dropped;
use turnlock::stream::TokenUsage;

/// What a replicate is told.
#[derive(Clone)]
pub struct ReplicateContext {
    /// `r1`, `r2`, …
    pub id: String,
    /// For the provider, where it takes one; a label anyway.
    pub seed: i64,
    /// Its strategy, if the bundle has any.
    pub strategy: Option<Strategy>,
    /// 1, and on with `retries`.
    pub attempt: u32,
    #[cfg_attr(not(target_arch = "wasm32"), expect(dead_code, reason = "the web's"))]
    pub(crate) signal: Signal,
    /// Those of a `bundle_tool`'s call.
    pub(super) args: Arc<Json<'static>>,
    pub(super) report: Arc<Dyn![Fn(TokenUsage)]>,
    /// The checks of the bundle's data.
    pub(super) checks: Arc<[Check]>,
}

impl fmt::Debug for ReplicateContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicateContext")
            .field("id", &self.id)
            .field("seed", &self.seed)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

impl ReplicateContext {
    /// Says what was used so far, all of it: ceilings then hold while the replicate runs.
    pub fn report(&self, usage: TokenUsage) {
        (self.report)(usage);
    }
}

/// What a replicate came to.
#[derive(Debug, Clone)]
pub struct Replicate {
    pub(super) data: Result<String, Error>,
    pub(super) usage: Option<TokenUsage>,
    pub(super) model: Option<String>,
    pub(super) seed_unsent: bool,
    /// What was dropped around the JSON of the model's answer.
    pub(super) repairs: Vec<Dropped>,
}

impl Replicate {
    /// Its data. What has no JSON (NaN, infinities, keys that are no texts) is evidence: an invalid
    /// replicate.
    pub fn new(data: impl Serialize) -> Self {
        Self::of(strict_text(&data))
    }

    /// Its data as a JSON text.
    pub(super) fn of(data: Result<String, Error>) -> Self {
        Self { data, usage: None, model: None, seed_unsent: false, repairs: Vec::new() }
    }

    /// What it used in all. A `total_tokens` below the sum of both counts as the sum.
    #[must_use]
    pub fn usage(mut self, usage: TokenUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The model that was used, for the metadata and prices. Default: that of the strategy or the
    /// bundle.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }
}

impl Replicate {
    /// The seed could not be sent, for the metadata.
    #[must_use]
    pub fn seed_unsent(mut self) -> Self {
        self.seed_unsent = true;
        self
    }
}

/// Why a replicate has no data. Made of any error that has words; use this one itself to say what
/// was used nevertheless.
#[derive(Debug, Clone)]
pub struct ReplicateError {
    pub(super) message: String,
    pub(super) usage: Option<TokenUsage>,
    pub(super) model: Option<String>,
    pub(super) seed_unsent: bool,
}

impl ReplicateError {
    /// Why, in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), usage: None, model: None, seed_unsent: false }
    }

    /// What it used in all.
    #[must_use]
    pub fn usage(mut self, usage: TokenUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Why, in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

// It has no words of its own (`Display`), or this would be `From<Self>`.
impl<E: fmt::Display> From<E> for ReplicateError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// As the core counts them.
pub(super) fn tokens(usage: TokenUsage) -> Tokens {
    let tokens = Tokens::new(usage.input_tokens, usage.output_tokens);
    let tokens = tokens.cached(usage.cached_input_tokens.unwrap_or(0));
    tokens.written(usage.cache_write_input_tokens.unwrap_or(0)).total(usage.total_tokens)
}
