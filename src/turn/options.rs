//! What a host says about a turn before it starts.

use std::sync::Arc;

use crate::canon::Json;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::limits;
use crate::tool::{Dedupe, Registry, ToolSpec};

/// Two phases, or the plain loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A bounded tool phase, then an action phase that answers. The default.
    TwoStage,
    /// One loop of model and tools with a soft stop.
    Unified,
}

/// When the tool phase stops reading a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freeze {
    /// At the first call when one call is left in the budget, else at the end. The default.
    Auto,
    /// At the end of the response.
    Batch,
    /// At the first complete call.
    FirstCall,
}

/// How results reach the next inference of a two-stage turn.
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
    /// Calls executed in the tool phase of a cycle. Default 1; 0 makes a turn without tools.
    pub max_tools: u32,
    /// Default [`Freeze::Auto`].
    pub freeze: Freeze,
    /// Tools of the action phase. Default none.
    pub action_tools: Vec<String>,
    /// Calls executed in the action phase of a cycle, where it has tools. Default 1.
    pub action_max_tools: u32,
    /// A/B cycles: 1 (default) or 2.
    pub max_cycles: u32,
    /// End as `paused` behind the tool phase. Default `false`.
    pub pause_after_tools: bool,
    /// One call. Default 30 000.
    pub tool_timeout_ms: u64,
    /// All calls of the turn together. Default 60 000.
    pub tools_total_ms: u64,
    /// From the request to the first byte. Default 60 000.
    pub model_first_byte_ms: u64,
    /// Between two chunks of a response. Default 60 000.
    pub model_idle_ms: u64,
    /// The whole turn. Default 300 000.
    pub turn_ms: u64,
    /// Bytes of one result, as JSON text. Default 65 536.
    pub max_tool_result_bytes: u64,
    /// Unified mode: inferences in one turn. Default 5.
    pub max_steps: u32,
    /// Default [`ResultsAs::SystemBox`].
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

/// Everything a host says about a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The wire of the model.
    pub dialect: Dialect,
    /// Two phases, or the plain loop.
    pub mode: Mode,
    /// Limits and switches.
    pub policy: Policy,
    /// The history, the user's message last, in any shape that `message` reads.
    pub messages: Vec<Json<'static>>,
    /// The tools.
    pub tools: Registry,
    /// The turn's id.
    pub request_id: Arc<str>,
    /// Part of every signature.
    pub project_id: Option<Arc<str>>,
    /// Randomness of the host, at least 32 characters, for boxes, keys and jitter.
    pub secret: String,
    /// Repetitions of a failed request. Default 2, at most 10.
    pub max_retries: u32,
    /// Whether trace events are wanted. Default `false`.
    pub trace: bool,
}

impl Options {
    /// Reads the options of a host:
    /// `{ dialect, mode?, policy?, messages, tools?, requestId, projectId?, conversationId?, secret, maxRetries?, trace? }`.
    ///
    /// # Errors
    /// `json.*` for a text that is no JSON; `options.invalid` with the path of the option
    /// for what is missing, unknown, of the wrong type or out of range; `dialect.unknown`;
    /// `tool.invalid_name`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let Json::Object(members) = Json::parse_lossy(text, limits::HISTORY_BYTES)?.into_owned()
        else {
            return Err(invalid("options", "an object"));
        };
        let mut found = Found::default();
        for (key, value) in members {
            if value.is_null() {
                continue;
            }
            match key.as_ref() {
                "dialect" => found.dialect = Some(Dialect::parse(text_of(&key, &value)?)?),
                "mode" => {
                    found.mode = choice(
                        &key,
                        &value,
                        &[("two_stage", Mode::TwoStage), ("unified", Mode::Unified)],
                        "two_stage or unified",
                    )?;
                }
                "policy" => found.policy = policy(&value)?,
                "messages" => {
                    let Json::Array(items) = value else {
                        return Err(invalid("messages", "an array"));
                    };
                    found.messages = items;
                }
                "tools" => found.tools = tools(value)?,
                "requestId" => found.request_id = Some(text_of(&key, &value)?.into()),
                "projectId" => found.project_id = Some(text_of(&key, &value)?.into()),
                "conversationId" => drop(text_of(&key, &value)?),
                "secret" => found.secret = text_of(&key, &value)?.to_owned(),
                "maxRetries" => found.max_retries = number(&key, &value, 0, 10)?,
                "trace" => found.trace = boolean(&key, &value)?,
                _ => return Err(invalid(&key, "an option that exists")),
            }
        }
        found.finish()
    }
}

struct Found {
    dialect: Option<Dialect>,
    mode: Mode,
    policy: Policy,
    messages: Vec<Json<'static>>,
    tools: Vec<ToolSpec>,
    request_id: Option<Arc<str>>,
    project_id: Option<Arc<str>>,
    secret: String,
    max_retries: u32,
    trace: bool,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            dialect: None,
            mode: Mode::TwoStage,
            policy: Policy::default(),
            messages: Vec::new(),
            tools: Vec::new(),
            request_id: None,
            project_id: None,
            secret: String::new(),
            max_retries: 2,
            trace: false,
        }
    }
}

impl Found {
    fn finish(self) -> Result<Options, Error> {
        if self.messages.is_empty() {
            return Err(invalid("messages", "at least one message"));
        }
        if self.secret.len() < 32 {
            return Err(invalid("secret", "at least 32 characters of randomness"));
        }
        let tools = Registry::new(self.tools)?;
        for name in &self.policy.action_tools {
            if tools.find(name).is_none() {
                return Err(invalid("policy.actionTools", "names of tools of this turn"));
            }
        }
        Ok(Options {
            dialect: self.dialect.ok_or_else(|| invalid("dialect", "a dialect"))?,
            mode: self.mode,
            policy: self.policy,
            messages: self.messages,
            tools,
            request_id: self
                .request_id
                .filter(|id| !id.is_empty())
                .ok_or_else(|| invalid("requestId", "a string that is not empty"))?,
            project_id: self.project_id,
            secret: self.secret,
            max_retries: self.max_retries,
            trace: self.trace,
        })
    }
}

fn policy(value: &Json<'_>) -> Result<Policy, Error> {
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
                policy.freeze = choice(
                    &path,
                    value,
                    &[
                        ("auto", Freeze::Auto),
                        ("batch", Freeze::Batch),
                        ("first_call", Freeze::FirstCall),
                    ],
                    "auto, first_call or batch",
                )?;
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
                policy.results_as = choice(
                    &path,
                    value,
                    &[("native", ResultsAs::Native), ("system_box", ResultsAs::SystemBox)],
                    "system_box or native",
                )?;
            }
            _ => return Err(invalid(&path, "a policy field that exists")),
        }
    }
    Ok(policy)
}

fn tools(value: Json<'static>) -> Result<Vec<ToolSpec>, Error> {
    let Json::Array(items) = value else { return Err(invalid("tools", "an array")) };
    items.into_iter().enumerate().map(|(i, item)| tool(i, item)).collect()
}

fn tool(index: usize, value: Json<'static>) -> Result<ToolSpec, Error> {
    let at = |key: &str| format!("tools[{index}].{key}");
    let Json::Object(members) = value else {
        return Err(invalid(&format!("tools[{index}]"), "an object"));
    };
    let mut dedupe = None;
    let mut spec = ToolSpec {
        name: String::new(),
        description: String::new(),
        input_schema: Json::object([("type", "object".into())]),
        read_only: false,
        idempotent: false,
        dedupe: Dedupe::Block,
        timeout_ms: None,
        max_result_bytes: None,
        checks: false,
    };
    for (key, value) in members {
        if value.is_null() {
            continue;
        }
        let path = at(&key);
        match key.as_ref() {
            "name" => spec.name = text_of(&path, &value)?.to_owned(),
            "description" => spec.description = text_of(&path, &value)?.to_owned(),
            "inputSchema" => spec.input_schema = value,
            "readOnly" => spec.read_only = boolean(&path, &value)?,
            "idempotent" => spec.idempotent = boolean(&path, &value)?,
            "dedupe" => {
                let names = [
                    ("allow", Dedupe::Allow),
                    ("block", Dedupe::Block),
                    ("replay", Dedupe::Replay),
                ];
                dedupe = Some(choice(&path, &value, &names, "block, replay or allow")?);
            }
            "timeoutMs" => spec.timeout_ms = Some(long(&path, &value, 1, u64::MAX)?),
            "maxResultBytes" => spec.max_result_bytes = Some(long(&path, &value, 1, u64::MAX)?),
            "checks" => spec.checks = boolean(&path, &value)?,
            _ => return Err(invalid(&path, "a tool field that exists")),
        }
    }
    spec.dedupe = dedupe.unwrap_or(if spec.read_only { Dedupe::Replay } else { Dedupe::Block });
    Ok(spec)
}

fn invalid(option: &str, expected: &'static str) -> Error {
    Error::Options { option: option.to_owned(), expected }
}

fn text_of<'a>(path: &str, value: &'a Json<'_>) -> Result<&'a str, Error> {
    value.as_str().ok_or_else(|| invalid(path, "a string"))
}

fn boolean(path: &str, value: &Json<'_>) -> Result<bool, Error> {
    value.as_bool().ok_or_else(|| invalid(path, "true or false"))
}

fn long(path: &str, value: &Json<'_>, least: u64, most: u64) -> Result<u64, Error> {
    value
        .as_u64()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| invalid(path, "a whole number in range"))
}

fn number(path: &str, value: &Json<'_>, least: u32, most: u32) -> Result<u32, Error> {
    let number = long(path, value, u64::from(least), u64::from(most))?;
    u32::try_from(number).map_err(|_| invalid(path, "a whole number in range"))
}

fn choice<T: Copy>(
    path: &str,
    value: &Json<'_>,
    names: &[(&str, T)],
    expected: &'static str,
) -> Result<T, Error> {
    let name = value.as_str().unwrap_or_default();
    let found = names.iter().find_map(|(known, choice)| (*known == name).then_some(*choice));
    found.ok_or_else(|| invalid(path, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn parse(extra: &str) -> Result<Options, Error> {
        let text = format!(
            r#"{{"dialect":"openai-chat","requestId":"r","secret":"{SECRET}","messages":[{{}}]{extra}}}"#
        );
        Options::parse(text.as_bytes())
    }

    #[test]
    fn defaults_are_those_of_the_contract() {
        let options = parse("").unwrap();
        assert_eq!(options.policy, Policy::default());
        assert_eq!((options.mode, options.max_retries), (Mode::TwoStage, 2));
        let tools = parse(r#","tools":[{"name":"a","readOnly":true},{"name":"b"}]"#).unwrap().tools;
        let dedupe: Vec<_> = tools.all().iter().map(|tool| tool.dedupe).collect();
        assert_eq!(dedupe, [Dedupe::Replay, Dedupe::Block]);
    }

    #[test]
    fn misuse_names_the_option() {
        for (extra, path) in [
            (r#","policy":{"maxTools":-1}"#, "policy.maxTools"),
            (r#","policy":{"maxCycles":3}"#, "policy.maxCycles"),
            (r#","policy":{"maxTool":1}"#, "policy.maxTool"),
            (r#","policy":{"turnMs":1.5}"#, "policy.turnMs"),
            (r#","policy":{"freeze":"never"}"#, "policy.freeze"),
            (r#","policy":{"actionTools":["ghost"]}"#, "policy.actionTools"),
            (r#","tools":[{"name":"a","dedupe":"x"}]"#, "tools[0].dedupe"),
            (r#","mode":"three""#, "mode"),
            (r#","colour":1"#, "colour"),
        ] {
            match parse(extra) {
                Err(Error::Options { option, .. }) => assert_eq!(option, path),
                other => panic!("{path}: {other:?}"),
            }
        }
    }
}
