//! Tokens and money of replicates (§2.11): integers, rounded once, at the end.

use crate::json::Json;

/// Tokens of one replicate. `input` holds cached ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Of the prompt.
    pub input: u64,
    /// Of the prompt, read from the provider's cache.
    pub cached: u64,
    /// Of the answer.
    pub output: u64,
    /// All; at least the sum of both.
    pub total: u64,
}

impl Tokens {
    /// Reads `{ inputTokens?, outputTokens?, cachedInputTokens?, totalTokens? }`; what is no
    /// whole number from 0 on counts as 0.
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

/// Micro-dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Of the prompt.
    pub input: u64,
    /// Of what the provider's cache had. Default: as `input`.
    pub cached_input: u64,
    /// Of the answer.
    pub output: u64,
}

impl Price {
    /// In millionths of a micro-dollar, so that sums are exact.
    pub(super) fn of(self, tokens: Tokens) -> u128 {
        let times = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        times(tokens.input.saturating_sub(tokens.cached), self.input)
            .saturating_add(times(tokens.cached, self.cached_input))
            .saturating_add(times(tokens.output, self.output))
    }
}

/// Micro-dollars, half of one rounded up.
pub(super) fn micro_dollars(exact: u128) -> u64 {
    u64::try_from(exact.saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX)
}
