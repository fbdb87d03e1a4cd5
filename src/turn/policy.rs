//! The limits and switches of one turn.

use super::read::{boolean, choice, invalid, long, name_of, number, text_of};
use crate::error::Error;
use crate::json::Json;
use crate::limits;

/// When the tool phase stops reading a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freeze {
    /// At the first complete call if the budget has one call left, otherwise at the end of the
    /// response. The default.
    Auto,
    /// At the end of the response.
    Batch,
    /// At the first complete call.
    FirstCall,
}

/// The form of tool results in the requests of a two-stage turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultsAs {
    /// As the provider's tool messages.
    Native,
    /// As TOOL RESULT boxes in system messages. The default.
    SystemBox,
}

/// The limits and switches of one turn. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Maximum calls executed in the tool phase of a cycle. Default 1; 0 disables the tools of that
    /// phase.
    pub max_tools: u32,
    /// When the tool phase stops reading a response. Default [`Freeze::Auto`].
    pub freeze: Freeze,
    /// Names of the tools of the action phase. Default: none.
    pub action_tools: Vec<String>,
    /// Maximum calls executed in the action phase of a cycle, if it has tools. Default 1.
    pub action_max_tools: u32,
    /// Maximum cycles of tool phase and action phase: 1 (default) or 2.
    pub max_cycles: u32,
    /// Whether the turn ends as `paused` after the tool phase. Default `false`.
    pub pause_after_tools: bool,
    /// Timeout of one call. Default 30 000.
    pub tool_timeout_ms: u64,
    /// Timeout of all calls of the turn together. Default 60 000.
    pub tools_total_ms: u64,
    /// Timeout from a request to the first byte of its response. Default 60 000.
    pub model_first_byte_ms: u64,
    /// Timeout between two chunks of a response. Default 60 000.
    pub model_idle_ms: u64,
    /// Timeout of the whole turn. Default 300 000.
    pub turn_ms: u64,
    /// Maximum bytes of one result as JSON text. Default 65 536.
    pub max_tool_result_bytes: u64,
    /// Unified mode: maximum inferences in one turn. Default 5.
    pub max_steps: u32,
    /// The form of tool results in requests. Default [`ResultsAs::SystemBox`].
    pub results_as: ResultsAs,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_tools: 1,
            freeze: Freeze::Auto,
            action_tools: Vec::new(),
            action_max_tools: 1,
            max_cycles: 1,
            pause_after_tools: false,
            tool_timeout_ms: 30_000,
            tools_total_ms: 60_000,
            model_first_byte_ms: 60_000,
            model_idle_ms: 60_000,
            turn_ms: 300_000,
            max_tool_result_bytes: 65_536,
            max_steps: 5,
            results_as: ResultsAs::SystemBox,
        }
    }
}

impl Policy {
    /// Reads the policy from a host's JSON. Fields that are missing or null have their default.
    ///
    /// # Errors
    /// `options.invalid` with the path of the field.
    pub fn from_json(value: &Json<'_>) -> Result<Self, Error> {
        parse(value)
    }

    /// Returns the JSON form that hosts use, with every field.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let number = |n: u32| Json::integer(u64::from(n));
        let names = self.action_tools.iter().map(|name| name.clone().into()).collect();
        Json::object([
            ("maxTools", number(self.max_tools)),
            ("freeze", name_of(&FREEZE, self.freeze)),
            ("actionTools", Json::Array(names)),
            ("actionMaxTools", number(self.action_max_tools)),
            ("maxCycles", number(self.max_cycles)),
            ("pauseAfterTools", self.pause_after_tools.into()),
            ("toolTimeoutMs", Json::integer(self.tool_timeout_ms)),
            ("toolsTotalMs", Json::integer(self.tools_total_ms)),
            ("modelFirstByteMs", Json::integer(self.model_first_byte_ms)),
            ("modelIdleMs", Json::integer(self.model_idle_ms)),
            ("turnMs", Json::integer(self.turn_ms)),
            ("maxToolResultBytes", Json::integer(self.max_tool_result_bytes)),
            ("maxSteps", number(self.max_steps)),
            ("resultsAs", name_of(&RESULTS_AS, self.results_as)),
        ])
    }
}

const FREEZE: [(&str, Freeze); 3] =
    [("auto", Freeze::Auto), ("batch", Freeze::Batch), ("first_call", Freeze::FirstCall)];

const RESULTS_AS: [(&str, ResultsAs); 2] =
    [("native", ResultsAs::Native), ("system_box", ResultsAs::SystemBox)];

/// Reads the policy from a host's JSON. Fields that are missing or null have their default.
pub(super) fn parse(value: &Json<'_>) -> Result<Policy, Error> {
    const MS: u64 = 24 * 60 * 60 * 1000;
    let members = value.as_object().ok_or_else(|| invalid("policy", "an object"))?;
    let mut policy = Policy::default();
    for (key, value) in members {
        let path = format!("policy.{key}");
        if value.is_null() {
            continue;
        }
        match key.as_ref() {
            "maxTools" => policy.max_tools = number(&path, value, 0, 1000)?,
            "freeze" => {
                policy.freeze = choice(&path, value, &FREEZE, "auto, first_call or batch")?;
            }
            "actionTools" => {
                let names = value.as_array().ok_or_else(|| invalid(&path, "an array of names"))?;
                policy.action_tools = names
                    .iter()
                    .map(|name| text_of(&path, name).map(str::to_owned))
                    .collect::<Result<_, _>>()?;
            }
            "actionMaxTools" => policy.action_max_tools = number(&path, value, 0, 1000)?,
            "maxCycles" => policy.max_cycles = number(&path, value, 1, limits::MAX_CYCLES)?,
            "pauseAfterTools" => policy.pause_after_tools = boolean(&path, value)?,
            "toolTimeoutMs" => policy.tool_timeout_ms = long(&path, value, 1, MS)?,
            "toolsTotalMs" => policy.tools_total_ms = long(&path, value, 1, MS)?,
            "modelFirstByteMs" => policy.model_first_byte_ms = long(&path, value, 1, MS)?,
            "modelIdleMs" => policy.model_idle_ms = long(&path, value, 1, MS)?,
            "turnMs" => policy.turn_ms = long(&path, value, 1, MS)?,
            "maxToolResultBytes" => {
                policy.max_tool_result_bytes = long(&path, value, 1, 64 * 1024 * 1024)?;
            }
            "maxSteps" => policy.max_steps = number(&path, value, 1, 1000)?,
            "resultsAs" => {
                policy.results_as = choice(&path, value, &RESULTS_AS, "system_box or native")?;
            }
            _ => return Err(invalid(&path, "a policy field that exists")),
        }
    }
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all = Policy {
            max_tools: 3,
            freeze: Freeze::FirstCall,
            action_tools: vec!["a".to_owned()],
            action_max_tools: 2,
            max_cycles: 2,
            pause_after_tools: true,
            tool_timeout_ms: 11,
            tools_total_ms: 12,
            model_first_byte_ms: 13,
            model_idle_ms: 14,
            turn_ms: 15,
            max_tool_result_bytes: 16,
            max_steps: 17,
            results_as: ResultsAs::Native,
        };
        for policy in [all, Policy::default()] {
            assert_eq!(parse(&policy.to_json()).unwrap(), policy);
        }
    }
}
