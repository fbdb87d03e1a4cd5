//! The limits and switches of one turn.

use super::action_tools::ActionTools;
use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Read, names, options};
use crate::limits;
use crate::stream::{Prices, TokenUsage, Usage};

names! {
    /// When the tool phase stops reading a response.
    pub enum ReadMode as "ReadMode", "auto, first_call or batch" {
        /// At its end. A call starts as soon as it is complete; once the budget is spent, the rest
        /// is read only beside the tools: at most 8 further calls and 16 KiB, and for 250 ms after
        /// the last tool has settled. What is cut off makes `usage.incomplete` true.
        Auto "auto",
        /// At the first complete call.
        FirstCall "first_call",
        /// At the end of the response.
        Batch "batch",
    }
}

names! {
    /// The form of tool results in the requests of a two-stage turn.
    pub enum ResultsAs as "ResultsAs", "box or native" {
        /// As TOOL RESULT boxes in system messages.
        Box "box",
        /// As the provider's tool messages.
        Native "native",
    }
}

names! {
    /// What follows when a tool returns the same result again behind other arguments.
    pub enum Stagnation as "Stagnation", "report or stop" {
        /// The event `stagnation`.
        Report "report",
        /// The event, and the end of the tool phase.
        Stop "stop",
    }
}

names! {
    /// Which limit ended the tools of a phase.
    pub enum ToolLimit as "ToolLimit", "a limit of the policy" {
        /// `maxTools`: of calls that run, and of inferences that ask for them.
        MaxTools "max_tools",
        /// `maxTokens`.
        MaxTokens "max_tokens",
        /// `maxCost`.
        MaxCost "max_cost",
        /// The same result again, or only repeated calls, with `stagnation: "stop"`.
        Stagnation "stagnation",
        /// `maxSteps` of the unified mode.
        MaxSteps "max_steps",
    }
}

const MS: u64 = 24 * 60 * 60 * 1000;

options! {
    /// The limits and switches of one turn. Times are milliseconds.
    pub struct Policy as "Policy" {
        /// Maximum calls executed in the tool phase of a cycle. 0 disables the tools of that phase.
        ///
        /// Limit | calls | refused (`budget`)
        max_tools "maxTools": u32 = 1, whole 0..=1000;
        /// When the tool phase stops reading a response.
        read_mode "readMode": ReadMode = ReadMode::Auto;
        /// The tools of the action phase: names, `readOnly` for every read-only tool, or `*` for all.
        /// An empty list allows none.
        action_tools "actionTools": ActionTools;
        /// Maximum calls executed in the action phase of a cycle, if it has tools.
        ///
        /// Limit | calls | refused (`budget`)
        action_max_tools "actionMaxTools": u32 = 1, whole 0..=1000;
        /// Maximum cycles of tool phase and action phase: 1 or 2.
        ///
        /// Limit | cycles | the answer is asked for
        max_cycles "maxCycles": u32 = 1, whole 1..=limits::MAX_CYCLES as u64;
        /// Whether the turn ends as `paused` after the tool phase.
        pause_after_tools "pauseAfterTools": bool = false;
        /// Timeout of one call.
        ///
        /// Limit | ms | the call: `timeout`, or `unknown`
        tool_timeout_ms "toolTimeoutMs": u64 = 30_000, whole 1..=MS;
        /// Timeout of all calls of the turn together.
        ///
        /// Limit | ms | the calls: `timeout`, or `unknown`
        tools_total_ms "toolsTotalMs": u64 = 60_000, whole 1..=MS;
        /// Timeout from a request to the first byte of its response.
        ///
        /// Limit | ms | `model.timeout`
        model_first_byte_ms "modelFirstByteMs": u64 = 60_000, whole 1..=MS;
        /// Timeout between two chunks of a response.
        ///
        /// Limit | ms | `model.timeout`
        model_idle_ms "modelIdleMs": u64 = 60_000, whole 1..=MS;
        /// Timeout of the whole turn.
        ///
        /// Limit | ms | `turn.timeout`, or `model.timeout`
        turn_ms "turnMs": u64 = 300_000, whole 1..=MS;
        /// Maximum bytes of one result as JSON text. Longer results are cut and marked as truncated.
        ///
        /// Limit | bytes of JSON | cut, and marked
        max_tool_result_bytes "maxToolResultBytes": u64 = 65_536, whole 1..=64 * 1024 * 1024;
        /// Maximum bytes of the images and files in one result, decoded. A larger one is replaced by a
        /// note for the model. The default is the smallest limit that a provider has for one image
        /// (Bedrock).
        ///
        /// Limit | bytes of images and files | a note for the model
        max_media_bytes "maxMediaBytes": u64 = limits::MEDIA_BYTES, whole 0..=64 * 1024 * 1024;
        /// Calls left in the tool phase from which on a system notice tells the model how many there
        /// are. Default: never.
        warn_at "warnAt": Option<u32>, whole 1..=1000;
        /// What follows when a tool returns the same result again behind other arguments. With `stop`,
        /// a response whose every call was made before ends the tool phase, too.
        stagnation "stagnation": Stagnation = Stagnation::Report;
        /// Tokens of the turn, as the provider reports them, after which the tool phase makes no
        /// further inference: the answer is asked for. Default: no limit.
        ///
        /// Limit | tokens | the answer is asked for
        max_tokens "maxTokens": Option<u64>, whole 1..=u64::MAX;
        /// Micro-dollars of the turn, by the tokens that the provider reports and `prices`, after
        /// which the tool phase makes no further inference, as for `maxTokens`. Default: no limit.
        ///
        /// Limit | micro-dollars | the answer is asked for
        max_cost "maxCost": Option<u64>, whole 1..=u64::MAX;
        /// What the model's tokens cost, for `maxCost`.
        prices "prices": Option<Prices>;
        /// Unified mode: maximum inferences in one turn. From 2 on, the last one has no tools.
        ///
        /// Limit | inferences | no call of the last one runs
        max_steps "maxSteps": u32 = 5, whole 1..=1000;
        /// The form of tool results in requests.
        results_as "resultsAs": ResultsAs = ResultsAs::Box;
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::blank()
    }
}

impl Policy {
    /// Which limit these tokens have reached: they are as many, or cost as much, as the turn may spend.
    pub(super) fn spent(&self, usage: Usage) -> Option<ToolLimit> {
        let tokens = TokenUsage::from(usage).total_tokens;
        let prompt =
            [usage.input_tokens, usage.cached_input_tokens, usage.cache_write_input_tokens];
        let [input, cached, written] = prompt.map(Option::unwrap_or_default);
        let output = usage.output_tokens.unwrap_or_default();
        let cost = self.prices.map(|prices| prices.of((input, cached, written, output)));
        let most = self.max_cost.map(|most| u128::from(most) * 1_000_000);
        if self.max_tokens.is_some_and(|most| tokens >= most) {
            return Some(ToolLimit::MaxTokens);
        }
        cost.zip(most).is_some_and(|(cost, most)| cost >= most).then_some(ToolLimit::MaxCost)
    }

    /// Reads the policy from a host's JSON. Fields that are missing or null have their default.
    ///
    /// # Errors
    /// `options.invalid` with the path of the field.
    pub fn from_json(value: &Json<'_>) -> Result<Self, Error> {
        let mut policy = Self::blank();
        policy.read(value.clone().into_owned(), &At::top("policy"))?;
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_reaches_a_limit() {
        let usage = Usage {
            input_tokens: Some(3),
            output_tokens: Some(2),
            cached_input_tokens: Some(1),
            ..Usage::default()
        };
        let tokens = |most| Policy::default().max_tokens(Some(most)).spent(usage);
        assert_eq!((tokens(5), tokens(6)), (Some(ToolLimit::MaxTokens), None));
        // Two tokens of the prompt, one that was cached, two of the answer.
        let prices = Prices::new(1_000_000, 10_000_000).cached_input(Some(500_000));
        let cost = |most| Policy::default().max_cost(Some(most)).prices(Some(prices)).spent(usage);
        assert_eq!((cost(22), cost(23)), (Some(ToolLimit::MaxCost), None));
        assert_eq!(Policy::default().prices(Some(prices)).spent(usage), None, "no limit");
        // One token of the prompt at each price: 1 + 0.5 + 1.25 + 2 × 10.
        let usage = Usage { cache_write_input_tokens: Some(1), ..usage };
        let prices = prices.cache_write_input(Some(1_250_000));
        let cost = |most| Policy::default().max_cost(Some(most)).prices(Some(prices)).spent(usage);
        assert_eq!((cost(22), cost(23)), (Some(ToolLimit::MaxCost), None));
        // Without a price of its own, writing costs what reading the prompt costs.
        let prices = Prices::new(1_000_000, 10_000_000);
        let cost = |most| Policy::default().max_cost(Some(most)).prices(Some(prices)).spent(usage);
        assert_eq!((cost(23), cost(24)), (Some(ToolLimit::MaxCost), None));
    }

    #[test]
    fn a_policy_is_read_alone() {
        let json = Json::parse_str(r#"{"maxTools":3,"actionTools":"readOnly"}"#).unwrap();
        let policy = Policy::from_json(&json).unwrap();
        assert_eq!((policy.max_tools, &policy.action_tools), (3, &ActionTools::ReadOnly));
        let wrong = Json::parse_str(r#"{"actionTools":"all"}"#).unwrap();
        let wrong = Policy::from_json(&wrong).unwrap_err().to_string();
        assert!(wrong.starts_with("`policy.actionTools`"), "{wrong}");
        assert!(wrong.contains(ActionTools::EXPECTED), "{wrong}");
    }
}
