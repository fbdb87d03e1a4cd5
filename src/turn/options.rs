//! The options that a host sets before a turn starts.

use std::borrow::Cow;
use std::sync::Arc;

use super::policy::{self, Policy};
use super::read::{boolean, choice, invalid, long, name_of, number, text_of};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::json::Json;
use crate::limits;
use crate::tool::{Dedupe, Registry, ToolSpec};

/// The mode of a turn: two phases, or the plain loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A bounded tool phase, then an action phase that answers. The default.
    TwoStage,
    /// One loop of model and tools with a soft stop.
    Unified,
}

/// The options of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The wire format of the model.
    pub dialect: Dialect,
    /// Two phases, or the plain loop.
    pub mode: Mode,
    /// Limits and switches.
    pub policy: Policy,
    /// The history, in any shape that `message` reads. The user's message is the last one.
    pub messages: Vec<Json<'static>>,
    /// The tools.
    pub tools: Registry,
    /// The turn's id.
    pub request_id: Arc<str>,
    /// Part of every signature.
    pub project_id: Option<Arc<str>>,
    /// Randomness of the host, at least 32 characters, for boxes, keys and jitter.
    pub secret: String,
    /// Retries of a failed request. Default 2, at most 10.
    pub max_retries: u32,
    /// Whether the turn emits trace events. Default `false`.
    pub trace: bool,
    /// With a store: what is stored, and for how long.
    pub keep: Option<Keep>,
    /// The record of the host's options, until it is written.
    pub(super) given: Option<String>,
}

/// How a turn is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// Identifies this owner of the turn: 128 random bits from the host.
    pub owner: String,
    /// The tenant that the turn belongs to. Default: the empty string.
    pub tenant: String,
    /// Maximum number of stored events; the oldest are dropped first. Default 10 000. With 0, text
    /// and reasoning are not stored, so they need no commit before they are shown.
    pub events: u64,
    /// Maximum size of the stored events in bytes. Default 4 MiB.
    pub bytes: u64,
    /// Milliseconds from the last commit until the store may delete the turn. Default: one day.
    pub ttl_ms: u64,
    /// Milliseconds without a commit after which an owner's lease expires. Default 15 000.
    pub lease_ms: u64,
    /// Minimum milliseconds for which text is gathered between two commits. Default 25.
    pub gather_ms: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            owner: String::new(),
            tenant: String::new(),
            events: 10_000,
            bytes: 4 * 1024 * 1024,
            ttl_ms: DAY,
            lease_ms: 15_000,
            gather_ms: 25,
        }
    }
}

impl Keep {
    /// Returns the JSON form that hosts use, with every field.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        Json::object([
            ("owner", self.owner.clone().into()),
            ("tenant", self.tenant.clone().into()),
            ("events", Json::integer(self.events)),
            ("bytes", Json::integer(self.bytes)),
            ("ttlMs", Json::integer(self.ttl_ms)),
            ("leaseMs", Json::integer(self.lease_ms)),
            ("gatherMs", Json::integer(self.gather_ms)),
        ])
    }
}

const DAY: u64 = 24 * 60 * 60 * 1000;

impl Options {
    /// Reads the options of a host:
    /// `{ dialect, mode?, policy?, messages, tools?, requestId, projectId?, conversationId?,
    /// secret, maxRetries?, trace?, keep? }`.
    ///
    /// # Errors
    /// `json.*` for invalid JSON; `options.invalid`, with the path of the option, for an option
    /// that is missing, unknown, of the wrong type or out of range; `dialect.unknown`;
    /// `tool.invalid_name`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        Self::from_json(Json::parse_lossy(text, limits::HISTORY_BYTES)?.into_owned())
    }

    /// As [`Options::parse`], for JSON that is already parsed.
    ///
    /// # Errors
    /// Those of [`Options::parse`], except `json.*`.
    pub fn from_json(options: Json<'static>) -> Result<Self, Error> {
        let Json::Object(members) = options else { return Err(invalid("options", "an object")) };
        Self::read(members, false)
    }

    /// As [`Options::parse`]. A `resumed` turn needs no messages, and its policy may name tools
    /// that no longer exist.
    pub(super) fn read(members: Vec<Member>, resumed: bool) -> Result<Self, Error> {
        let mut found = Found { resumed, ..Found::default() };
        found.given = given(&members);
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
                "policy" => found.policy = policy::parse(&value)?,
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
                "keep" => found.keep = Some(keep(&value)?),
                _ => return Err(invalid(&key, "an option that exists")),
            }
        }
        found.finish()
    }
}

type Member = (Cow<'static, str>, Json<'static>);

struct Found {
    resumed: bool,
    keep: Option<Keep>,
    given: Option<String>,
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
            resumed: false,
            keep: None,
            given: None,
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
        if self.messages.is_empty() && !self.resumed {
            return Err(invalid("messages", "at least one message"));
        }
        if self.secret.len() < 32 {
            return Err(invalid("secret", "at least 32 characters of randomness"));
        }
        let tools = Registry::new(self.tools)?;
        for name in &self.policy.action_tools {
            if tools.find(name).is_none() && !self.resumed {
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
            given: self.given.filter(|_| self.keep.is_some()),
            keep: self.keep,
        })
    }
}

/// The record of the host's options: those that a resumed turn needs and that the host need not
/// supply again.
fn given(members: &[Member]) -> Option<String> {
    let member = |key: &str| members.iter().find(|(name, _)| name == key);
    let (_, keep) = member("keep")?;
    let of_keep = |(name, value): &Member| {
        (name != "owner" && name != "tenant").then(|| (name.clone(), value.clone()))
    };
    let keep = keep.as_object()?.iter().filter_map(of_keep).collect();
    let mut out = format!("{{\"v\":{},\"keep\":", crate::store::FORMAT);
    Json::Object(keep).write(&mut out);
    for key in ["dialect", "mode", "policy", "projectId", "conversationId", "messages"] {
        if let Some((_, value)) = member(key) {
            // Written directly, without a copy: a history may have megabytes.
            out.push_str(&format!(",\"{key}\":"));
            value.write(&mut out);
        }
    }
    out.push('}');
    Some(out)
}

fn keep(value: &Json<'_>) -> Result<Keep, Error> {
    let members = value.as_object().ok_or_else(|| invalid("keep", "an object"))?;
    let mut keep = Keep::default();
    for (key, value) in members {
        let path = format!("keep.{key}");
        if value.is_null() {
            continue;
        }
        match key.as_ref() {
            "owner" => keep.owner = text_of(&path, value)?.to_owned(),
            "tenant" => keep.tenant = text_of(&path, value)?.to_owned(),
            "events" => keep.events = long(&path, value, 0, 10_000_000)?,
            "bytes" => keep.bytes = long(&path, value, 1, 1 << 30)?,
            "ttlMs" => keep.ttl_ms = long(&path, value, 1, 3650 * DAY)?,
            "leaseMs" => keep.lease_ms = long(&path, value, 100, DAY)?,
            "gatherMs" => keep.gather_ms = long(&path, value, 0, 10_000)?,
            _ => return Err(invalid(&path, "a field of keep that exists")),
        }
    }
    if keep.owner.len() < 16 {
        return Err(invalid("keep.owner", "at least 16 characters of randomness"));
    }
    // A live owner commits three times per lease. Its claims must not expire between commits.
    if keep.ttl_ms < keep.lease_ms {
        return Err(invalid("keep.ttlMs", "at least as long as keep.leaseMs"));
    }
    Ok(keep)
}

const DEDUPE: [(&str, Dedupe); 3] =
    [("allow", Dedupe::Allow), ("block", Dedupe::Block), ("replay", Dedupe::Replay)];

impl ToolSpec {
    /// Returns the JSON form that hosts use. A field without a value is `null`.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let number = |n: Option<u64>| n.map_or(Json::Null, Json::integer);
        Json::object([
            ("name", self.name.clone().into()),
            ("description", self.description.clone().into()),
            ("inputSchema", self.input_schema.clone()),
            ("readOnly", self.read_only.into()),
            ("idempotent", self.idempotent.into()),
            ("dedupe", name_of(&DEDUPE, self.dedupe)),
            ("timeoutMs", number(self.timeout_ms)),
            ("maxResultBytes", number(self.max_result_bytes)),
            ("checks", self.checks.into()),
            ("reuseMs", number(self.reuse_ms)),
        ])
    }
}

/// Reads a host's tools: an array of `{ name, description?, inputSchema?, readOnly?, … }`.
pub(crate) fn tools(value: Json<'static>) -> Result<Vec<ToolSpec>, Error> {
    let Json::Array(items) = value else { return Err(invalid("tools", "an array")) };
    items.into_iter().enumerate().map(|(i, item)| tool(i, item)).collect()
}

fn tool(index: usize, value: Json<'static>) -> Result<ToolSpec, Error> {
    let at = |key: &str| format!("tools[{index}].{key}");
    let Json::Object(members) = value else {
        return Err(invalid(&format!("tools[{index}]"), "an object"));
    };
    let mut dedupe = None;
    let mut spec = ToolSpec::new(String::new());
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
                dedupe = Some(choice(&path, &value, &DEDUPE, "block, replay or allow")?);
            }
            "timeoutMs" => spec.timeout_ms = Some(long(&path, &value, 1, u64::MAX)?),
            "maxResultBytes" => spec.max_result_bytes = Some(long(&path, &value, 1, u64::MAX)?),
            "checks" => spec.checks = boolean(&path, &value)?,
            "reuseMs" => spec.reuse_ms = Some(long(&path, &value, 1, u64::MAX)?),
            _ => return Err(invalid(&path, "a tool field that exists")),
        }
    }
    if spec.reuse_ms.is_some() && !spec.read_only {
        return Err(invalid(&at("reuseMs"), "a tool that is readOnly"));
    }
    spec.dedupe = dedupe.unwrap_or_else(|| Dedupe::usual(spec.read_only));
    Ok(spec)
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
    fn what_is_written_is_read() {
        let kept = Keep {
            owner: SECRET.to_owned(),
            tenant: "t".to_owned(),
            events: 1,
            bytes: 2,
            ttl_ms: 300,
            lease_ms: 200,
            gather_ms: 5,
        };
        assert_eq!(keep(&kept.to_json()).unwrap(), kept);
        let mut spec = ToolSpec::new("list");
        spec.description = "d".to_owned();
        spec.read_only = true;
        spec.idempotent = true;
        spec.dedupe = Dedupe::Allow;
        spec.timeout_ms = Some(7);
        spec.checks = true;
        for reuse_ms in [None, Some(9)] {
            spec.max_result_bytes = reuse_ms;
            spec.reuse_ms = reuse_ms;
            let read = tools(Json::Array(vec![spec.to_json()])).unwrap();
            assert_eq!(read, [spec.clone()]);
        }
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
