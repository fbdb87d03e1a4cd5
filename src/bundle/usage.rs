//! Tokens and cost of replicates (§2.11), as integers. Costs are rounded once, at the end.

use crate::json::Json;
use crate::json::table::record;
pub use crate::stream::Price;

record! {
    /// Tokens of replicates.
    pub struct Tokens as "BundleUsage", read {
        /// Tokens of the prompt, including the cached ones.
        input "inputTokens": u64;
        /// Tokens of the answer.
        output "outputTokens": u64;
        /// All tokens; at least `input` plus `output`.
        total "totalTokens": u64;
        /// Tokens of the prompt that were read from the provider's cache.
        cached "cachedInputTokens": u64;
    }
}

impl Copy for Tokens {}

impl Eq for Tokens {}

impl Default for Tokens {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl Tokens {
    /// Returns the tokens of a prompt and its answer, none of them cached.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, total: input.saturating_add(output), cached: 0 }
    }

    /// With tokens of the prompt that were read from the provider's cache.
    #[must_use]
    pub fn cached(mut self, cached: u64) -> Self {
        self.cached = cached.min(self.input);
        self
    }

    /// With all tokens; less than those of prompt and answer counts as their sum.
    #[must_use]
    pub fn total(mut self, total: u64) -> Self {
        self.total = total.max(self.input.saturating_add(self.output));
        self
    }

    /// Reads `{ inputTokens?, outputTokens?, cachedInputTokens?, totalTokens? }`. Values that are
    /// not whole numbers of at least 0 count as 0.
    #[must_use]
    pub fn read(json: &Json<'_>) -> Self {
        let number = |key| json.get(key).and_then(Json::as_u64).unwrap_or(0);
        let tokens = Self::new(number("inputTokens"), number("outputTokens"));
        tokens.cached(number("cachedInputTokens")).total(number("totalTokens"))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            total: self.total.saturating_add(other.total),
            cached: self.cached.saturating_add(other.cached),
        }
    }
}

/// The cost of these tokens in millionths of a micro-dollar, so that sums are exact.
pub(super) fn cost(price: Price, tokens: Tokens) -> u128 {
    price.of((tokens.input, tokens.cached, tokens.output))
}

/// Rounds to micro-dollars, with halves rounded up.
pub(super) fn micro_dollars(exact: u128) -> u64 {
    u64::try_from(exact.saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX)
}
