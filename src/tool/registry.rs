//! The tools of a turn.

use crate::error::Error;
use crate::guard::{Dedupe, KnownTool, Repeat};
use crate::json::table::{At, Describe, Read, Shape, Write, options};
use crate::json::{Json, object};
use crate::limits;
use crate::provider::ToolDeclaration;

options! {
    /// One tool, as the host declares it.
    pub struct ToolSpec as "ToolSpec" {
        /// The name: 1 to 64 of `A-Z a-z 0-9 _ -`, which every provider accepts.
        name "name": String | required;
        /// The description for the model.
        description "description": String;
        /// JSON Schema of the arguments, for the model.
        input_schema "inputSchema": Json<'static> = object! { "type": "object" };
        /// Whether the tool has no side effects.
        read_only "readOnly": bool = false;
        /// Whether a call may be executed twice with the same idempotency key.
        idempotent "idempotent": bool = false;
        /// How to treat repeated calls. Default: `block`; for read-only tools, `replay`.
        dedupe "dedupe": Option<Dedupe>;
        /// Timeout in milliseconds. Default: `policy.toolTimeoutMs`.
        timeout_ms "timeoutMs": Option<u64>, whole 1..=u64::MAX;
        /// Maximum bytes of a result. Default: `policy.maxToolResultBytes`.
        max_result_bytes "maxResultBytes": Option<u64>, whole 1..=u64::MAX;
        /// Maximum calls of this tool that are executed in one turn. Default: only the budgets of
        /// the phases.
        max_calls "maxCalls": Option<u32>, whole 1..=1000;
        /// Whether the host checks the arguments, or derives an action from them.
        checks "checks": bool = false;
        /// Milliseconds for which other turns of the tenant may use an outcome, for read-only tools
        /// only. Default: never.
        reuse_ms "reuseMs": Option<u64>, whole 1..=u64::MAX;
        /// Whether the host can find out what became of a call that may have run. It is asked
        /// before the outcome of such a call is `unknown`.
        reconciles "reconciles": bool = false;
        /// Whether its results have text of other people. The provider loads no address that such a
        /// result has.
        untrusted "untrusted": bool = false;
        /// Whether somebody else runs it, such as the page: a call of it waits, as for an approval,
        /// and the turn pauses with it in `calls`. Needs `checks`, and a verdict that asks for an
        /// approval.
        page "page": bool = false;
    }
}

impl ToolSpec {
    /// Makes a tool with the defaults: it may have side effects, accepts any object, and its
    /// arguments are not checked.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self::blank().name(name.into())
    }

    /// Returns how repeated calls are treated.
    #[must_use]
    pub fn dedupes(&self) -> Dedupe {
        self.dedupe.unwrap_or_else(|| Dedupe::usual(self.read_only))
    }

    /// What the guard needs to know of the tool, whose repeats are `repeats`.
    pub(crate) fn known_tool<'a>(&self, repeats: &'a [Repeat]) -> KnownTool<'a> {
        KnownTool { read_only: self.read_only, max_calls: self.max_calls, repeats }
    }

    /// Whether a call that may have run can run again with the same idempotency key.
    #[must_use]
    pub fn may_run_again(&self) -> bool {
        self.read_only || self.idempotent
    }
}

impl<'a> From<&'a ToolSpec> for ToolDeclaration<'a> {
    fn from(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema, .. } = tool;
        Self { name, description, input_schema }
    }
}

/// The tools of a turn, in the host's order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Registry {
    tools: Vec<ToolSpec>,
}

impl Registry {
    /// Makes a registry and checks the names of its tools.
    ///
    /// # Errors
    /// `tool.invalid_name` for a name that providers refuse, and for two names that differ only in
    /// case, because a model could confuse them.
    /// `options.invalid` for more than 1024 tools, and for `reuse_ms` of a tool that is not
    /// read-only.
    pub fn new(tools: Vec<ToolSpec>) -> Result<Self, Error> {
        if tools.len() > limits::TOOLS {
            return Err(Error::option("tools", "at most 1024 tools"));
        }
        for (i, tool) in tools.iter().enumerate() {
            if tool.reuse_ms.is_some() && !tool.read_only {
                let option = format!("tools[{i}].reuseMs");
                return Err(Error::option(option, "a tool that is readOnly"));
            }
            let wrong = |reason| Err(Error::ToolName { name: tool.name.clone(), reason });
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            if !(1..=64).contains(&tool.name.len()) || !tool.name.bytes().all(plain) {
                return wrong("expected 1 to 64 of A-Z, a-z, 0-9, _ and -");
            }
            let mut before = tools.iter().take(i);
            if before.any(|other| other.name.eq_ignore_ascii_case(&tool.name)) {
                return wrong("another tool has this name");
            }
        }
        Ok(Self { tools })
    }

    /// Returns the tool with exactly this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub(crate) fn into_tools(self) -> Vec<ToolSpec> {
        self.tools
    }

    /// Returns all tools, in the host's order.
    #[must_use]
    pub fn all(&self) -> &[ToolSpec] {
        &self.tools
    }
}

impl Write for Registry {
    fn write(&self) -> Json<'static> {
        self.tools.write()
    }
}

impl Read for Registry {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        let mut tools = Vec::new();
        tools.read(json, at)?;
        *self = Self::new(tools)?;
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "an array"
    }

    fn check(&self, at: &At<'_>) -> Result<(), Error> {
        self.tools.check(at)
    }
}

impl Describe for Registry {
    fn shape() -> Shape {
        Vec::<ToolSpec>::shape()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let spec = ToolSpec::new("list").description("d".to_owned()).read_only(true);
        let spec =
            spec.idempotent(true).dedupe(Some(Dedupe::Allow)).timeout_ms(Some(7)).checks(true);
        for bytes in [None, Some(9)] {
            let spec = spec.clone().max_result_bytes(bytes).reuse_ms(bytes);
            let mut read = Registry::default();
            read.read(Json::Array(vec![spec.to_json()]), &At::top("tools")).unwrap();
            assert_eq!(read.all(), [spec]);
            assert_eq!(read.write(), Json::Array(vec![read.all()[0].to_json()]));
        }
    }

    #[test]
    fn what_a_registry_refuses() {
        let tools = |count: usize| (0..count).map(|n| ToolSpec::new(format!("t{n}"))).collect();
        assert!(Registry::new(tools(limits::TOOLS)).is_ok());
        assert!(Registry::new(tools(limits::TOOLS + 1)).is_err());
        let reused = ToolSpec::new("a").reuse_ms(Some(1));
        assert!(Registry::new(vec![reused.clone()]).is_err(), "it may write");
        assert!(Registry::new(vec![reused.read_only(true)]).is_ok());
        let never = Registry::new(vec![ToolSpec::new("a").timeout_ms(Some(0))]).unwrap();
        assert!(never.check(&At::top("tools")).is_err());
    }

    #[test]
    fn what_may_run_again_and_how_repeats_are_treated() {
        let tool = |read_only, idempotent| {
            let tool = ToolSpec::new("a").read_only(read_only).idempotent(idempotent);
            (tool.may_run_again(), tool.dedupes())
        };
        assert_eq!(tool(false, false), (false, Dedupe::Block));
        assert_eq!(tool(true, false), (true, Dedupe::Replay));
        assert_eq!(tool(false, true), (true, Dedupe::Block));
    }

    #[test]
    fn names() {
        for name in ["a", "read_file", "Read-2", &*"x".repeat(64)] {
            assert!(Registry::new(vec![ToolSpec::new(name)]).is_ok(), "{name}");
        }
        for name in ["", "a b", "a.b", "réad", "а", "a\u{200b}", &*"x".repeat(65)] {
            assert!(Registry::new(vec![ToolSpec::new(name)]).is_err(), "{name}");
        }
        assert!(
            Registry::new(vec![ToolSpec::new("read"), ToolSpec::new("Read")]).is_err(),
            "shadowing"
        );
    }
}
