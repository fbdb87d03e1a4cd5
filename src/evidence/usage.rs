//! Tokens and cost of replicates (§2.11), as integers. Costs are rounded once, at the end.

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Item, Read, record};
pub use crate::stream::Prices;

record! {
    /// Tokens of replicates.
    pub struct Tokens as "BundleUsage" {
        /// Tokens of the prompt, including the cached ones.
        input "inputTokens": u64;
        /// Tokens of the answer.
        output "outputTokens": u64;
        /// All tokens; at least `input` plus `output`.
        total "totalTokens": u64;
        /// Tokens of the prompt that were read from the provider's cache.
        cached "cachedInputTokens": u64;
        /// Tokens of the prompt that were written to the provider's cache, if there were any.
        written "cacheWriteInputTokens?": Option<u64>;
    }
}

/// As [`Tokens::read`].
impl Read for Tokens {
    fn read(&mut self, json: Json<'static>, _: &At<'_>) -> Result<(), Error> {
        *self = Self::read(&json);
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "an object"
    }
}

impl Item for Tokens {
    fn item() -> Self {
        Self::default()
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
        Self { input, output, total: input.saturating_add(output), cached: 0, written: None }
    }

    /// With tokens of the prompt that were read from the provider's cache.
    #[must_use]
    pub fn cached(mut self, cached: u64) -> Self {
        self.cached = cached.min(self.input);
        self
    }

    /// With tokens of the prompt that were written to the provider's cache.
    #[must_use]
    pub fn written(mut self, written: u64) -> Self {
        let rest = self.input.saturating_sub(self.cached);
        self.written = Some(written.min(rest)).filter(|written| *written > 0);
        self
    }

    /// With all tokens; less than those of prompt and answer counts as their sum.
    #[must_use]
    pub fn total(mut self, total: u64) -> Self {
        self.total = total.max(self.input.saturating_add(self.output));
        self
    }

    /// Reads `{ inputTokens?, outputTokens?, cachedInputTokens?, cacheWriteInputTokens?,
    /// totalTokens? }`. Values that are not whole numbers of at least 0 count as 0.
    #[must_use]
    pub fn read(json: &Json<'_>) -> Self {
        let number = |key| json.get(key).and_then(Json::as_u64).unwrap_or(0);
        let tokens = Self::new(number("inputTokens"), number("outputTokens"));
        let tokens = tokens.cached(number("cachedInputTokens"));
        tokens.written(number("cacheWriteInputTokens")).total(number("totalTokens"))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            total: self.total.saturating_add(other.total),
            cached: self.cached.saturating_add(other.cached),
            written: match (self.written, other.written) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
            },
        }
    }
}

/// The cost of these tokens in millionths of a micro-dollar, so that sums are exact.
pub(super) fn cost(price: Prices, tokens: Tokens) -> u128 {
    price.of((tokens.input, tokens.cached, tokens.written.unwrap_or(0), tokens.output))
}

/// Rounds to micro-dollars, with halves rounded up.
pub(super) fn micro_dollars(exact: u128) -> u64 {
    // A byte at a time: a division of 128 bits adds 1 KB to the wasm.
    let (mut whole, mut rest) = (0_u64, 0);
    for byte in exact.saturating_add(500_000).to_be_bytes() {
        let part = rest * 256 + u64::from(byte);
        whole = whole.saturating_mul(256).saturating_add(part / 1_000_000);
        rest = part % 1_000_000;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::micro_dollars;

    #[test]
    fn rounds_as_the_division_does() {
        let mut exact = 1_u128;
        for round in 0..128 {
            for near in [499_999, 500_000, 500_001, 999_999, 1_000_000] {
                for exact in [exact, exact - 1, exact.saturating_add(near), u128::MAX - near] {
                    let wanted = exact.saturating_add(500_000) / 1_000_000;
                    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
                    assert_eq!(micro_dollars(exact), wanted, "{exact} in round {round}");
                }
            }
            exact = exact.saturating_mul(2);
        }
    }
}
