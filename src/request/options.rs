//! The options of a pass, which a host sets before it starts.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::prompt::{self, Channel, Template};
use super::replay::Recorded;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::json::Json;
use crate::limits;
use crate::signature::hex;
use crate::tool::{Dedupe, Registry};
use crate::turn::read::{boolean, choice, invalid, long, name_of, text_of};
use crate::turn::read_tools;

type Member = (Cow<'static, str>, Json<'static>);

/// The limits of a pass. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Names of the tools that may be requested; `None` means every tool that is `readOnly`. A tool
    /// that is not `readOnly` never runs, even if it is listed.
    pub allow: Option<Vec<String>>,
    /// The maximum number of calls that run for one plan. Default 2.
    pub max_tool_calls: u64,
    /// The maximum number of requests for one plan. Default 1; with 0 the plan is requested at
    /// once. At most 4.
    pub max_iterations: u64,
    /// The time limit of one call; a tool's own limit applies if it is shorter. Default 2 000.
    pub tool_timeout_ms: u64,
    /// The time limit of all calls together. Default 5 000.
    pub total_tool_ms: u64,
    /// The maximum size of one result, in bytes of JSON text; a tool's own limit applies if it is
    /// smaller. Default 65 536.
    pub max_tool_result_bytes: u64,
    /// The maximum number of UTF-16 units of a reason; longer ones are cut. Default 200.
    pub max_reason_chars: u64,
    /// The channel of the model's request. Default [`Channel::Text`].
    pub channel: Channel,
    /// The time limit from a request to the first byte of its response. Default 60 000.
    pub model_first_byte_ms: u64,
    /// The time limit between two chunks of a response. Default 60 000.
    pub model_idle_ms: u64,
    /// The time limit of the whole pass. Default 300 000.
    pub total_ms: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            allow: None,
            max_tool_calls: 2,
            max_iterations: 1,
            tool_timeout_ms: 2_000,
            total_tool_ms: 5_000,
            max_tool_result_bytes: 65_536,
            max_reason_chars: 200,
            channel: Channel::Text,
            model_first_byte_ms: 60_000,
            model_idle_ms: 60_000,
            total_ms: 300_000,
        }
    }
}

impl Policy {
    /// Reads the JSON of a host; fields that are omitted or null keep their default.
    ///
    /// # Errors
    /// `options.invalid` with the path of the field.
    pub fn from_json(value: &Json<'_>) -> Result<Self, Error> {
        policy(value)
    }

    /// Returns the JSON that hosts pass in, with every field; `allow` is null if every read-only
    /// tool may be requested.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let names = |all: &Vec<String>| all.iter().map(|name| name.clone().into()).collect();
        Json::object([
            ("allow", self.allow.as_ref().map_or(Json::Null, |all| Json::Array(names(all)))),
            ("channel", name_of(&CHANNELS, self.channel)),
            ("maxIterations", Json::integer(self.max_iterations)),
            ("maxReasonChars", Json::integer(self.max_reason_chars)),
            ("maxToolCalls", Json::integer(self.max_tool_calls)),
            ("maxToolResultBytes", Json::integer(self.max_tool_result_bytes)),
            ("modelFirstByteMs", Json::integer(self.model_first_byte_ms)),
            ("modelIdleMs", Json::integer(self.model_idle_ms)),
            ("toolTimeoutMs", Json::integer(self.tool_timeout_ms)),
            ("totalMs", Json::integer(self.total_ms)),
            ("totalToolMs", Json::integer(self.total_tool_ms)),
        ])
    }
}

/// All options of a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The wire format of the model.
    pub dialect: Dialect,
    /// The planning input, an object without `global_context.tool_results`, which the pass sets
    /// itself.
    pub input: Json<'static>,
    /// The tools. Duplicate calls are always collapsed, so every tool has [`Dedupe::Replay`].
    pub tools: Registry,
    /// The limits.
    pub policy: Policy,
    /// The id of the plan in every event.
    pub plan_id: String,
    /// The id of the run that the plan belongs to.
    pub run_id: String,
    /// The origin of the plan. Default `live`, or `backtest` with recorded results.
    pub source: String,
    /// The system prompt of the request pass.
    pub request_prompt: Template,
    /// The system prompt of the plan pass.
    pub plan_prompt: Template,
    /// Randomness from the host, at least 32 characters, for boxes, keys and jitter.
    pub secret: String,
    /// Recorded results; if they are given, no tool ever runs.
    pub replay: Option<Vec<Recorded>>,
    /// The time at which the pass starts, in milliseconds since 1970. Default 0.
    pub started_at: u64,
    /// The maximum number of retries of a failed request. Default 2, at most 10.
    pub max_retries: u64,
    /// Whether trace events are emitted. Default `false`.
    pub trace: bool,
}

impl Options {
    /// Reads the options of a host: `{ dialect, input, tools?, policy?, planId?, runId?, source?,
    /// requestPrompt?, planPrompt?, secret?, replay?, startedAt?, maxRetries?, trace? }`.
    ///
    /// Without recorded results, `planId`, `runId` and `secret` are required. With recorded
    /// results, they default to values made from the input, so that the same input gives the same
    /// pass, byte for byte.
    ///
    /// # Errors
    /// `json.*` for invalid JSON; `options.invalid` with the path of the option; `dialect.unknown`;
    /// `tool.invalid_name`, also for a tool that is named `request_tools`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        Self::from_json(&Json::parse_lossy(text, limits::HISTORY_BYTES)?.into_owned())
    }

    /// As [`Options::parse`], from parsed JSON.
    ///
    /// # Errors
    /// Those of [`Options::parse`] except `json.*`.
    pub fn from_json(json: &Json<'static>) -> Result<Self, Error> {
        let members = json.as_object().ok_or_else(|| invalid("options", "an object"))?;
        if let Some((key, _)) = members.iter().find(|(key, _)| !KNOWN.contains(&key.as_ref())) {
            return Err(invalid(key, "an option that exists"));
        }
        let member = |key: &str| json.get(key).filter(|value| !value.is_null());
        let text = |key: &str| {
            let text = member(key).map(|value| text_of(key, value)).transpose()?;
            Ok::<_, Error>(text.filter(|text| !text.is_empty()).map(str::to_owned))
        };
        let prompt = |key: &str, shipped: fn() -> Template| {
            member(key).map_or_else(|| Ok(shipped()), |value| Template::read(key, value))
        };
        let input = input(member("input").cloned())?;
        let replay = member("replay").map(recorded).transpose()?;
        let digest = hex(&Sha256::digest(input.to_canonical().as_bytes()));
        let made = |what: &str| replay.as_ref().map(|_| format!("{what}-{digest}"));
        let needed = |key, made: Option<String>| {
            text(key)?.or(made).ok_or_else(|| invalid(key, "a string that is not empty"))
        };
        let dialect = text("dialect")?.ok_or_else(|| invalid("dialect", "a dialect"))?;
        let source = if replay.is_some() { "backtest" } else { "live" };
        let secret = needed("secret", made("secret"))?;
        if secret.len() < 32 {
            return Err(invalid("secret", "at least 32 characters of randomness"));
        }
        Ok(Self {
            dialect: Dialect::parse(&dialect)?,
            tools: tools(member("tools").cloned())?,
            policy: member("policy").map_or_else(|| Ok(Policy::default()), policy)?,
            plan_id: needed("planId", made("plan"))?,
            run_id: needed("runId", made("run"))?,
            source: text("source")?.unwrap_or_else(|| source.to_owned()),
            request_prompt: prompt("requestPrompt", prompt::request)?,
            plan_prompt: prompt("planPrompt", prompt::plan)?,
            started_at: whole("startedAt", member("startedAt"), 0, 1 << 53, 0)?,
            max_retries: whole("maxRetries", member("maxRetries"), 0, 10, 2)?,
            trace: member("trace").map_or(Ok(false), |value| boolean("trace", value))?,
            secret,
            replay,
            input,
        })
    }
}

const KNOWN: [&str; 14] = [
    "dialect",
    "input",
    "maxRetries",
    "planId",
    "planPrompt",
    "policy",
    "replay",
    "requestPrompt",
    "runId",
    "secret",
    "source",
    "startedAt",
    "tools",
    "trace",
];

fn whole(
    key: &str,
    value: Option<&Json<'_>>,
    least: u64,
    most: u64,
    default: u64,
) -> Result<u64, Error> {
    value.map_or(Ok(default), |value| long(key, value, least, most))
}

fn recorded(value: &Json<'_>) -> Result<Vec<Recorded>, Error> {
    let entries = value.as_array().ok_or_else(|| invalid("replay", "an array"))?;
    entries.iter().enumerate().map(|(at, entry)| Recorded::read(at, entry)).collect()
}

fn input(value: Option<Json<'static>>) -> Result<Json<'static>, Error> {
    let Some(Json::Object(members)) = value else { return Err(invalid("input", "an object")) };
    let context = members.iter().find(|(key, _)| key == "global_context");
    if context.is_some_and(|(_, value)| !matches!(value, Json::Object(_) | Json::Null)) {
        return Err(invalid("input.global_context", "an object"));
    }
    Ok(planned_input(Json::Object(members), None))
}

fn tools(value: Option<Json<'static>>) -> Result<Registry, Error> {
    let mut tools = value.map_or_else(|| Ok(Vec::new()), read_tools)?;
    for tool in &mut tools {
        tool.dedupe = Dedupe::Replay;
        if tool.name.eq_ignore_ascii_case(super::REQUEST_TOOL) {
            let reason = "the pass has a tool of this name";
            return Err(Error::ToolName { name: tool.name.clone(), reason });
        }
    }
    Registry::new(tools)
}

/// Reads the policy of a host; fields that are omitted or null keep their default.
fn policy(value: &Json<'_>) -> Result<Policy, Error> {
    const MS: u64 = 24 * 60 * 60 * 1000;
    let members = value.as_object().ok_or_else(|| invalid("policy", "an object"))?;
    let mut policy = Policy::default();
    for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let path = format!("policy.{key}");
        let (field, least, most) = match key.as_ref() {
            "allow" => {
                policy.allow = Some(names(&path, value)?);
                continue;
            }
            "channel" => {
                policy.channel = choice(&path, value, &CHANNELS, "text, structured or tool_call")?;
                continue;
            }
            "maxToolCalls" => (&mut policy.max_tool_calls, 0, MOST_CALLS),
            "maxIterations" => (&mut policy.max_iterations, 0, limits::REQUEST_ITERATIONS),
            "maxReasonChars" => (&mut policy.max_reason_chars, 0, MOST_REASON),
            "maxToolResultBytes" => (&mut policy.max_tool_result_bytes, 1, 64 * 1024 * 1024),
            "modelFirstByteMs" => (&mut policy.model_first_byte_ms, 1, MS),
            "modelIdleMs" => (&mut policy.model_idle_ms, 1, MS),
            "toolTimeoutMs" => (&mut policy.tool_timeout_ms, 1, MS),
            "totalMs" => (&mut policy.total_ms, 1, MS),
            "totalToolMs" => (&mut policy.total_tool_ms, 1, MS),
            _ => return Err(invalid(&path, "a policy field that exists")),
        };
        *field = long(&path, value, least, most)?;
    }
    Ok(policy)
}

const CHANNELS: [(&str, Channel); 3] = [
    ("text", Channel::Text),
    ("structured", Channel::Structured),
    ("tool_call", Channel::ToolCall),
];

const MOST_CALLS: u64 = 100;
const MOST_REASON: u64 = 10_000;

fn names(path: &str, value: &Json<'_>) -> Result<Vec<String>, Error> {
    let names = value.as_array().ok_or_else(|| invalid(path, "an array of names"))?;
    names.iter().map(|name| text_of(path, name).map(str::to_owned)).collect()
}

impl super::ParsePolicy {
    /// Reads `{ allow, maxToolCalls?, maxReasonChars? }`. Other members of a pass's policy are
    /// ignored, so that one object serves both.
    ///
    /// # Errors
    /// `options.invalid` with the path of the option.
    pub fn read(value: &Json<'_>) -> Result<Self, Error> {
        let member = |key| value.get(key).filter(|value| !value.is_null());
        let default = Policy::default();
        let number =
            |key, most, default| whole(&format!("policy.{key}"), member(key), 0, most, default);
        Ok(Self {
            allow: names("policy.allow", member("allow").unwrap_or(&Json::Null))?,
            max_tool_calls: number("maxToolCalls", MOST_CALLS, default.max_tool_calls)?,
            max_reason_chars: number("maxReasonChars", MOST_REASON, default.max_reason_chars)?,
        })
    }
}

/// The members of `global_context`; none if it is absent.
pub(super) fn context_of<'a>(input: &'a Json<'static>) -> &'a [Member] {
    input.get("global_context").and_then(Json::as_object).unwrap_or_default()
}

/// Returns the input of the plan pass: with `results` in `global_context.tool_results`, or without
/// that member. A value that is not an object is returned unchanged.
#[must_use]
pub fn planned_input(input: Json<'static>, results: Option<Json<'static>>) -> Json<'static> {
    let Json::Object(mut members) = input else { return input };
    if let Some((_, context)) = members.iter_mut().find(|(key, _)| key == "global_context") {
        if let Json::Object(context) = context {
            context.retain(|(key, _)| key != "tool_results");
        }
        if let Some(results) = results {
            if let Json::Object(context) = context {
                context.push(("tool_results".into(), results));
            } else {
                *context = Json::object([("tool_results", results)]);
            }
        }
    } else if let Some(results) = results {
        members.push(("global_context".into(), Json::object([("tool_results", results)])));
    }
    Json::Object(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all = Policy {
            allow: Some(vec!["a".to_owned(), "b".to_owned()]),
            max_tool_calls: 3,
            max_iterations: 4,
            tool_timeout_ms: 5,
            total_tool_ms: 6,
            max_tool_result_bytes: 7,
            max_reason_chars: 8,
            channel: Channel::ToolCall,
            model_first_byte_ms: 9,
            model_idle_ms: 10,
            total_ms: 11,
        };
        let none = Policy { allow: Some(Vec::new()), channel: Channel::Structured, ..all.clone() };
        for policy in [all, none, Policy::default()] {
            assert_eq!(Policy::from_json(&policy.to_json()).unwrap(), policy);
        }
    }

    #[test]
    fn the_input_of_the_plan_pass() {
        let read = |text: &'static str| Json::parse_str(text).unwrap();
        let results = || Some(read("[1]"));
        let cases = [
            (r#"{"a":1}"#, results(), r#"{"a":1,"global_context":{"tool_results":[1]}}"#),
            (r#"{"a":1}"#, None, r#"{"a":1}"#),
            (
                r#"{"global_context":{"tool_results":0,"x":1},"a":1}"#,
                results(),
                r#"{"global_context":{"x":1,"tool_results":[1]},"a":1}"#,
            ),
            (r#"{"global_context":{"tool_results":0}}"#, None, r#"{"global_context":{}}"#),
            (r#"{"global_context":null}"#, None, r#"{"global_context":null}"#),
            (r#"{"global_context":null}"#, results(), r#"{"global_context":{"tool_results":[1]}}"#),
        ];
        for (text, results, wanted) in cases {
            assert_eq!(planned_input(read(text), results).to_text(), wanted, "{text}");
        }
    }
}
