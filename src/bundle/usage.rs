//! Tokens and cost of replicates (§2.11), as integers. Costs are rounded once, at the end.

use crate::json::Json;

/// Tokens of one replicate. `input` includes the cached ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the prompt that were read from the provider's cache.
    pub cached: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// All tokens; at least `input` plus `output`.
    pub total: u64,
}

impl Tokens {
    /// Reads `{ inputTokens?, outputTokens?, cachedInputTokens?, totalTokens? }`. Values that are
    /// not whole numbers of at least 0 count as 0.
    #[must_use]
    pub fn read(json: &Json<'_>) -> Self {
        let number = |key| json.get(key).and_then(Json::as_u64).unwrap_or(0);
        let (input, output) = (number("inputTokens"), number("outputTokens"));
        let cached = number("cachedInputTokens").min(input);
        Self {
            input,
            cached,
            output,
            total: number("totalTokens").max(input.saturating_add(output)),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            output: self.output.saturating_add(other.output),
            total: self.total.saturating_add(other.total),
        }
    }

    pub(super) fn to_json(self) -> Json<'static> {
        Json::object([
            ("inputTokens", self.input.into()),
            ("outputTokens", self.output.into()),
            ("totalTokens", self.total.into()),
            ("cachedInputTokens", self.cached.into()),
        ])
    }
}

/// Prices in micro-dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Price of the prompt.
    pub input: u64,
    /// Price of prompt tokens read from the provider's cache. Default: `input`.
    pub cached_input: u64,
    /// Price of the answer.
    pub output: u64,
}

impl Price {
    /// The cost in millionths of a micro-dollar, so that sums are exact.
    pub(super) fn of(self, tokens: Tokens) -> u128 {
        let times = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        times(tokens.input.saturating_sub(tokens.cached), self.input)
            .saturating_add(times(tokens.cached, self.cached_input))
            .saturating_add(times(tokens.output, self.output))
    }
}

/// Rounds to micro-dollars, with halves rounded up.
pub(super) fn micro_dollars(exact: u128) -> u64 {
    u64::try_from(exact.saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX)
}
