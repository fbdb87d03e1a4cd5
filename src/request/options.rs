//! What a host says about a pass before it starts.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::prompt::{self, Channel, Template};
use super::replay::Recorded;
use crate::canon::Json;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::limits;
use crate::signature::hex;
use crate::tool::{Dedupe, Registry};
use crate::turn::read::{boolean, choice, invalid, long, number, text_of};
use crate::turn::read_tools;

type Member = (Cow<'static, str>, Json<'static>);

/// The limits of a pass. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Names of the tools that may be asked for; `None` is every tool that is `readOnly`. A
    /// tool that is not never runs, whatever stands here.
    pub allow: Option<Vec<String>>,
    /// Calls that run for one plan. Default 2.
    pub max_tool_calls: u32,
    /// Requests for one plan. Default 1; with 0 the plan is asked for at once. At most 4.
    pub max_iterations: u32,
    /// One call; a tool's own limit counts where it is shorter. Default 2 000.
    pub tool_timeout_ms: u64,
    /// All calls together. Default 5 000.
    pub total_tool_ms: u64,
    /// Bytes of one result, as JSON text; a tool's own limit counts where it is smaller.
    /// Default 65 536.
    pub max_tool_result_bytes: u64,
    /// UTF-16 units of a reason; longer ones are cut. Default 200.
    pub max_reason_chars: usize,
    /// How the model is asked for its request. Default [`Channel::Text`].
    pub channel: Channel,
    /// From a request to the first byte of its response. Default 60 000.
    pub model_first_byte_ms: u64,
    /// Between two chunks of a response. Default 60 000.
    pub model_idle_ms: u64,
    /// The whole pass. Default 300 000.
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

/// Everything a host says about a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The wire of the model.
    pub dialect: Dialect,
    /// The planning input, an object, without `global_context.tool_results`: those are the
    /// pass's own.
    pub input: Json<'static>,
    /// The tools. Duplicates are always collapsed, so every one has [`Dedupe::Replay`].
    pub tools: Registry,
    /// The limits.
    pub policy: Policy,
    /// Names the plan in every event.
    pub plan_id: String,
    /// Names the run that the plan belongs to.
    pub run_id: String,
    /// What asked for the plan; default `live`, with recorded results `backtest`.
    pub source: String,
    /// What the model is told in the request pass.
    pub request_prompt: Template,
    /// What the model is told in the plan pass.
    pub plan_prompt: Template,
    /// Randomness of the host, at least 32 characters, for boxes, keys and jitter.
    pub secret: String,
    /// Recorded results; with these no tool ever runs.
    pub replay: Option<Vec<Recorded>>,
    /// Milliseconds since 1970 that the start of the pass counts as. Default 0.
    pub started_at: u64,
    /// Repetitions of a failed request. Default 2, at most 10.
    pub max_retries: u32,
    /// Whether trace events are wanted. Default `false`.
    pub trace: bool,
}

impl Options {
    /// Reads the options of a host: `{ dialect, input, tools?, policy?, planId?, runId?, source?,
    /// requestPrompt?, planPrompt?, secret?, replay?, startedAt?, maxRetries?, trace? }`.
    ///
    /// Without recorded results `planId`, `runId` and `secret` are needed. With them they are
    /// made from the input, so that the same input gives the same pass, byte for byte.
    ///
    /// # Errors
    /// `json.*` for a text that is no JSON; `options.invalid` with the path of the option;
    /// `dialect.unknown`; `tool.invalid_name`, also for a tool that is called `request_tools`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let Json::Object(members) = Json::parse_lossy(text, limits::HISTORY_BYTES)?.into_owned()
        else {
            return Err(invalid("options", "an object"));
        };
        let mut found = Found::default();
        for (key, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
            found.take(&key, value)?;
        }
        found.finish()
    }
}

#[derive(Default)]
struct Found {
    dialect: Option<Dialect>,
    input: Option<Json<'static>>,
    tools: Registry,
    policy: Policy,
    plan_id: Option<String>,
    run_id: Option<String>,
    source: Option<String>,
    request_prompt: Option<Template>,
    plan_prompt: Option<Template>,
    secret: Option<String>,
    replay: Option<Vec<Recorded>>,
    started_at: u64,
    max_retries: Option<u32>,
    trace: bool,
}

impl Found {
    fn take(&mut self, key: &str, value: Json<'static>) -> Result<(), Error> {
        let text = |value: &Json<'_>| text_of(key, value).map(|text| Some(text.to_owned()));
        match key {
            "dialect" => self.dialect = Some(Dialect::parse(text_of(key, &value)?)?),
            "input" => self.input = Some(input(value)?),
            "tools" => self.tools = tools(value)?,
            "policy" => self.policy = policy(&value)?,
            "planId" => self.plan_id = text(&value)?,
            "runId" => self.run_id = text(&value)?,
            "source" => self.source = text(&value)?,
            "requestPrompt" => self.request_prompt = Some(Template::read(key, &value)?),
            "planPrompt" => self.plan_prompt = Some(Template::read(key, &value)?),
            "secret" => self.secret = text(&value)?,
            "replay" => {
                let entries = value.as_array().ok_or_else(|| invalid(key, "an array"))?;
                let read = |(at, entry)| Recorded::read(at, entry);
                let entries = entries.iter().enumerate().map(read).collect::<Result<_, _>>()?;
                self.replay = Some(entries);
            }
            "startedAt" => self.started_at = long(key, &value, 0, 1 << 53)?,
            "maxRetries" => self.max_retries = Some(number(key, &value, 0, 10)?),
            "trace" => self.trace = boolean(key, &value)?,
            _ => return Err(invalid(key, "an option that exists")),
        }
        Ok(())
    }

    fn finish(self) -> Result<Options, Error> {
        let input = self.input.ok_or_else(|| invalid("input", "an object"))?;
        let digest =
            self.replay.is_some().then(|| hex(&Sha256::digest(input.to_canonical().as_bytes())));
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let made = |what: &str| digest.as_ref().map(|digest| format!("{what}-{digest}"));
        let needed = |option| move || invalid(option, "a string that is not empty");
        let secret = self.secret.or_else(|| digest.clone());
        let source = if digest.is_some() { "backtest" } else { "live" };
        Ok(Options {
            dialect: self.dialect.ok_or_else(|| invalid("dialect", "a dialect"))?,
            tools: self.tools,
            policy: self.policy,
            plan_id: given(self.plan_id).or_else(|| made("plan")).ok_or_else(needed("planId"))?,
            run_id: given(self.run_id).or_else(|| made("run")).ok_or_else(needed("runId"))?,
            source: given(self.source).unwrap_or_else(|| source.to_owned()),
            request_prompt: self.request_prompt.unwrap_or_else(prompt::request),
            plan_prompt: self.plan_prompt.unwrap_or_else(prompt::plan),
            secret: secret
                .filter(|secret| secret.len() >= 32)
                .ok_or_else(|| invalid("secret", "at least 32 characters of randomness"))?,
            replay: self.replay,
            started_at: self.started_at,
            max_retries: self.max_retries.unwrap_or(2),
            trace: self.trace,
            input,
        })
    }
}

fn input(value: Json<'static>) -> Result<Json<'static>, Error> {
    let Json::Object(mut members) = value else { return Err(invalid("input", "an object")) };
    for (_, value) in members.iter_mut().filter(|(key, _)| key == "global_context") {
        match value {
            Json::Object(context) => context.retain(|(key, _)| key != "tool_results"),
            Json::Null => {}
            _ => return Err(invalid("input.global_context", "an object")),
        }
    }
    Ok(Json::Object(members))
}

fn tools(value: Json<'static>) -> Result<Registry, Error> {
    let mut tools = read_tools(value)?;
    for tool in &mut tools {
        tool.dedupe = Dedupe::Replay;
        if tool.name.eq_ignore_ascii_case(super::REQUEST_TOOL) {
            let reason = "the pass has a tool of this name";
            return Err(Error::ToolName { name: tool.name.clone(), reason });
        }
    }
    Registry::new(tools)
}

/// Reads what a host gives; fields that are left out, or null, keep their default.
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
            "allow" => policy.allow = Some(names(&path, value)?),
            "maxToolCalls" => policy.max_tool_calls = number(&path, value, 0, 100)?,
            "maxIterations" => {
                policy.max_iterations = number(&path, value, 0, limits::REQUEST_ITERATIONS)?;
            }
            "toolTimeoutMs" => policy.tool_timeout_ms = long(&path, value, 1, MS)?,
            "totalToolMs" => policy.total_tool_ms = long(&path, value, 1, MS)?,
            "maxToolResultBytes" => {
                policy.max_tool_result_bytes = long(&path, value, 1, 64 * 1024 * 1024)?;
            }
            "maxReasonChars" => policy.max_reason_chars = reason_chars(&path, value)?,
            "channel" => {
                let channels = [
                    ("text", Channel::Text),
                    ("structured", Channel::Structured),
                    ("tool_call", Channel::ToolCall),
                ];
                policy.channel = choice(&path, value, &channels, "text, structured or tool_call")?;
            }
            "modelFirstByteMs" => policy.model_first_byte_ms = long(&path, value, 1, MS)?,
            "modelIdleMs" => policy.model_idle_ms = long(&path, value, 1, MS)?,
            "totalMs" => policy.total_ms = long(&path, value, 1, MS)?,
            _ => return Err(invalid(&path, "a policy field that exists")),
        }
    }
    Ok(policy)
}

fn names(path: &str, value: &Json<'_>) -> Result<Vec<String>, Error> {
    let names = value.as_array().ok_or_else(|| invalid(path, "an array of names"))?;
    names.iter().map(|name| text_of(path, name).map(str::to_owned)).collect()
}

fn reason_chars(path: &str, value: &Json<'_>) -> Result<usize, Error> {
    let chars = number(path, value, 0, 10_000)?;
    usize::try_from(chars).map_err(|_| invalid(path, "a whole number in range"))
}

impl super::ParsePolicy {
    /// Reads `{ allow, maxToolCalls?, maxReasonChars? }`. Other members of a pass's policy are
    /// passed over, so that one object serves both.
    ///
    /// # Errors
    /// `options.invalid` with the path of the option.
    pub fn read(value: &Json<'_>) -> Result<Self, Error> {
        let member = |key| value.get(key).filter(|value| !value.is_null());
        let default = Policy::default();
        Ok(Self {
            allow: names("policy.allow", member("allow").unwrap_or(&Json::Null))?,
            max_tool_calls: match member("maxToolCalls") {
                Some(value) => number("policy.maxToolCalls", value, 0, 100)?,
                None => default.max_tool_calls,
            },
            max_reason_chars: match member("maxReasonChars") {
                Some(value) => reason_chars("policy.maxReasonChars", value)?,
                None => default.max_reason_chars,
            },
        })
    }
}

/// The members of `global_context` that are there.
pub(super) fn context_of<'a>(input: &'a Json<'static>) -> &'a [Member] {
    input.get("global_context").and_then(Json::as_object).unwrap_or_default()
}
