//! What tokens cost.

use crate::json::table::options;

options! {
    /// Prices in micro-dollars per million tokens.
    pub struct Prices as "Prices" {
        /// Price of the prompt.
        input "input": u64 | required, whole 0..=u64::MAX;
        /// Price of prompt tokens read from the provider's cache. Default: `input`.
        cached_input "cachedInput?": Option<u64>, whole 0..=u64::MAX;
        /// Price of prompt tokens written to the provider's cache. Default: `input`. Anthropic and
        /// Bedrock charge 1.25 times `input` (2 times for an hour),
        /// <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>; OpenAI 1.25 times
        /// from GPT-5.6 on, <https://developers.openai.com/api/docs/guides/prompt-caching>
        /// (2026-11-30).
        cache_write_input "cacheWriteInput?": Option<u64>, whole 0..=u64::MAX;
        /// Price of the answer.
        output "output": u64 | required, whole 0..=u64::MAX;
    }
}

impl Copy for Prices {}

impl Prices {
    /// Returns the prices of a prompt and its answer.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self::blank().input(input).output(output)
    }

    /// The cost of tokens in millionths of a micro-dollar: those of the prompt, how many of them
    /// were read from the provider's cache and written to it, and those of the answer. Providers charge
    /// each token of a prompt once, at one of the three prices.
    pub(crate) fn of(self, (input, cached, written, output): (u64, u64, u64, u64)) -> u128 {
        let times = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        times(input.saturating_sub(cached).saturating_sub(written), self.input)
            .saturating_add(times(cached, self.cached_input.unwrap_or(self.input)))
            .saturating_add(times(written, self.cache_write_input.unwrap_or(self.input)))
            .saturating_add(times(output, self.output))
    }
}
