//! The options of a pass, which a host sets before it starts.

use sha2::{Digest, Sha256};

use super::prompt::{self, Channel, Template};
use super::replay::Recorded;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::guard::Dedupe;
use crate::json::table::{At, Member, Read, options, read};
use crate::json::{Add, Json, object};
use crate::limits;
use crate::secret::Secret;
use crate::signature::hex;
use crate::tool::Registry;

const MS: u64 = 24 * 60 * 60 * 1000;

options! {
    /// The limits of a pass. Times are milliseconds.
    pub struct Policy as "ToolRequestPolicy" {
        /// Names of the tools that may be requested. A tool that is not `readOnly` never runs, even
        /// if it is listed. Default: what `inventoryTools` calls read-only: every tool that is
        /// `readOnly`, except those whose names begin with a verb of change, such as `place_order`.
        allow "allow": Option<Vec<String>>;
        /// Where the model is asked to put its request.
        channel "channel": Channel = Channel::Text;
        /// The maximum number of requests for one plan; with 0 the plan is requested at once.
        max_iterations "maxIterations": u64 = 1, whole 0..=limits::REQUEST_ITERATIONS;
        /// The maximum number of UTF-16 units of a reason; longer ones are cut.
        max_reason_chars "maxReasonChars": u64 = 200, whole 0..=10_000;
        /// The maximum number of calls that run for one plan; further ones are refused, in order.
        max_tool_calls "maxToolCalls": u64 = 2, whole 0..=100;
        /// The maximum size of one result, in bytes of JSON text; a tool's own limit applies if it
        /// is smaller. Longer results are cut and marked as truncated.
        max_tool_result_bytes "maxToolResultBytes": u64 = 65_536, whole 1..=64 * 1024 * 1024;
        /// The time limit from a request to the first byte of its response.
        model_first_byte_ms "modelFirstByteMs": u64 = 60_000, whole 1..=MS;
        /// The time limit between two chunks of a response.
        model_idle_ms "modelIdleMs": u64 = 60_000, whole 1..=MS;
        /// The time limit of one call; a tool's own limit applies if it is shorter.
        tool_timeout_ms "toolTimeoutMs": u64 = 2_000, whole 1..=MS;
        /// The time limit of the whole pass.
        total_ms "totalMs": u64 = 300_000, whole 1..=MS;
        /// The time limit of all calls together. What it cuts off is not recorded for a replay.
        total_tool_ms "totalToolMs": u64 = 5_000, whole 1..=MS;
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::blank()
    }
}

impl Policy {
    /// Reads the JSON of a host; fields that are omitted or null keep their default.
    ///
    /// # Errors
    /// `options.invalid` with the path of the field.
    pub fn from_json(value: &Json<'_>) -> Result<Self, Error> {
        let mut policy = Self::blank();
        policy.read(value.clone().into_owned(), &At::top("policy"))?;
        Ok(policy)
    }
}

options! {
    /// The options of a pass.
    pub struct PassOptions as "PassOptions" {
        /// The wire format of the model.
        dialect "dialect": Dialect | required = Dialect::OpenAiChat;
        /// The provider's name of the model. Without it, requests have only what the core decides,
        /// and the host adds the model and the stream.
        model "model": Option<String>;
        /// Members of every request's body, such as `temperature`: an object. They replace those
        /// for the model and the stream, and are replaced by those for messages and tools.
        body "body": Json<'static> = Json::Null;
        /// The planning input, an object. The pass sets its `global_context.tool_results` itself.
        input "input": Json<'static> | required;
        /// The tools. Duplicate calls are always collapsed, whatever their `dedupe`.
        tools "tools": Registry;
        /// The limits.
        policy "policy": Policy = Policy::blank();
        /// The id of the plan in every event. If it is empty, it is made from the input: a replay
        /// then finds the records of the pass with the same input.
        plan_id "planId": String;
        /// The id of the run that the plan belongs to. If it is empty, it is made from the input.
        run_id "runId": String;
        /// The origin of the plan in every event, such as `live`, `paper` or `backtest`. Default:
        /// none, which is null in events.
        source "source": Option<String>;
        /// The system prompt of the request pass.
        request_prompt "requestPrompt": Template = prompt::request();
        /// The system prompt of the plan pass. Unless it is the shipped one, the request pass is
        /// shown it too, behind its own prompt and the tools: the strategy decides what is missing.
        plan_prompt "planPrompt": Template = prompt::plan();
        /// Whether prose is no plan: the values that stand in it are then `candidates` of the result,
        /// of which the host takes the only one that fits its schema.
        plan_is_json "planIsJson": bool = false;
        /// Randomness from the host, at least 32 characters, for boxes, keys and jitter. May be
        /// empty with recorded results: it is then made from the input.
        secret "secret": Secret;
        /// A secret of the host, at least 32 characters, from which the nonces of boxes derive, with
        /// `plan_id`, `run_id` and the content: a replay with the same ids sends the bytes of the
        /// recorded pass, so that a recorded model answers it. Default: randomness of each pass.
        box_secret "boxSecret": Option<Secret>;
        /// Recorded results; if they are given, no tool ever runs. A call gets the result that was
        /// recorded for the same plan, arguments and tool.
        replay "replay": Option<Vec<Recorded>>;
        /// Whether a call without exactly one recorded result, or a request that a recorded model
        /// does not have, ends the pass with `replay.miss`, so that no plan is made.
        strict "strict": bool = false;
        /// The time at which the pass starts, in milliseconds since 1970.
        started_at "startedAt": u64 = 0, whole 0..=1 << 53;
        /// The maximum number of retries of a failed request.
        max_retries "maxRetries": u64 = 2, whole 0..=10;
        /// Whether trace events are emitted.
        trace "trace": bool = false;
        /// Whether reasons, arguments and names are told whole: a host that redacts texts cuts them
        /// behind that, because half of a secret is not found.
        whole "whole": bool = false;
    }
}

impl PassOptions {
    /// Returns the defaults for a planning input. Without recorded results, also set `secret`.
    #[must_use]
    pub fn new(dialect: Dialect, input: Json<'static>) -> Self {
        Self::blank().dialect(dialect).input(input)
    }

    /// Reads the options from JSON text; members that are missing or null have their default.
    ///
    /// # Errors
    /// `json.*` for invalid JSON; `options.invalid` with the path of the option; `dialect.unknown`;
    /// `tool.invalid_name`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        Self::from_json(Json::parse_host(text, limits::HISTORY_BYTES)?.into_owned())
    }

    /// As [`PassOptions::parse`], for JSON that is already parsed.
    ///
    /// # Errors
    /// Those of [`PassOptions::parse`], except `json.*`.
    pub fn from_json(json: Json<'static>) -> Result<Self, Error> {
        let mut options = Self::blank();
        read(&mut options, json, &At::ROOT)?;
        Ok(options)
    }

    /// Checks that every value is in range, and fills in what is made from the input. With
    /// recorded results, the same input gives the same pass, byte for byte.
    pub(super) fn resolved(mut self) -> Result<Self, Error> {
        self.check(&At::ROOT)?;
        if !matches!(self.body, Json::Null | Json::Object(_)) {
            return Err(Error::option("body", "an object"));
        }
        self.input = input(self.input)?;
        let is_secret_missing = self.replay.is_some() && self.secret.is_empty();
        if self.plan_id.is_empty() || self.run_id.is_empty() || is_secret_missing {
            let digest = hex(&Sha256::digest(self.input.to_canonical().as_bytes()));
            let made = [(&mut self.plan_id, "plan"), (&mut self.run_id, "run")];
            for (id, name) in made {
                if id.is_empty() {
                    *id = format!("{name}-{digest}");
                }
            }
            if is_secret_missing {
                self.secret = format!("secret-{digest}").into();
            }
        }
        if self.secret.len() < 32 {
            return Err(Error::option("secret", "at least 32 characters of randomness"));
        }
        if self.box_secret.as_ref().is_some_and(|secret| secret.len() < 32) {
            return Err(Error::option("boxSecret", "at least 32 characters of randomness"));
        }
        self.tools = tools(self.tools)?;
        for name in self.policy.allow.iter().flatten() {
            if self.tools.find(name).is_none() {
                let wanted = format!("names of `tools`; there is no tool `{name}`");
                return Err(Error::option("policy.allow", wanted));
            }
        }
        Ok(self)
    }
}

fn input(value: Json<'static>) -> Result<Json<'static>, Error> {
    let Json::Object(members) = value else { return Err(Error::option("input", "an object")) };
    let context = members.iter().find(|(key, _)| key == "global_context");
    if context.is_some_and(|(_, value)| !matches!(value, Json::Object(_) | Json::Null)) {
        return Err(Error::option("input.global_context", "an object"));
    }
    Ok(planned_input(Json::Object(members), None))
}

fn tools(given: Registry) -> Result<Registry, Error> {
    let mut tools = given.into_tools();
    for tool in &mut tools {
        tool.dedupe = Some(Dedupe::Replay);
        if tool.name.eq_ignore_ascii_case(super::REQUEST_TOOL) {
            let reason = "the pass has a tool of this name";
            return Err(Error::ToolName { name: tool.name.clone(), reason });
        }
    }
    Registry::new(tools)
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
                context.add("tool_results", results);
            } else {
                *context = object! { "tool_results": results };
            }
        }
    } else if let Some(results) = results {
        members.add("global_context", object! { "tool_results": results });
    }
    Json::Object(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_read_as_it_is_written() {
        let all = Policy::default().allow(Some(vec!["a".to_owned(), "b".to_owned()]));
        let all = all.max_tool_calls(3).channel(Channel::ToolCall).total_ms(11);
        let none = Policy::default().allow(Some(Vec::new())).channel(Channel::Structured);
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
