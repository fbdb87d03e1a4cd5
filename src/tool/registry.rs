//! The tools of a turn.

use crate::error::Error;
use crate::json::Json;
use crate::limits;
use crate::provider::ToolDeclaration;

/// How to treat a call whose signature was executed before in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dedupe {
    /// Execute it again, for tools whose result changes, such as a poll.
    Allow,
    /// Refuse it. The default.
    Block,
    /// Use the recorded outcome again. The default of read-only tools.
    Replay,
}

impl Dedupe {
    /// Returns the default for a tool.
    #[must_use]
    pub fn usual(read_only: bool) -> Self {
        if read_only { Self::Replay } else { Self::Block }
    }
}

/// One tool, as the host declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name: 1 to 64 of `A-Z a-z 0-9 _ -`, which every provider accepts.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the arguments, for the model.
    pub input_schema: Json<'static>,
    /// Whether the tool has no side effects. Default `false`.
    pub read_only: bool,
    /// Whether a call may be executed twice with the same idempotency key. Default `false`.
    pub idempotent: bool,
    /// How to treat repeated calls. Default `block`; for read-only tools, `replay`.
    pub dedupe: Dedupe,
    /// Timeout in milliseconds. Default `policy.toolTimeoutMs`.
    pub timeout_ms: Option<u64>,
    /// Maximum bytes of a result. Default `policy.maxToolResultBytes`.
    pub max_result_bytes: Option<u64>,
    /// Whether the host checks the arguments, or derives an action from them.
    pub checks: bool,
    /// Milliseconds for which other turns of the tenant may use an outcome, for read-only tools
    /// only. Default: never.
    pub reuse_ms: Option<u64>,
}

impl ToolSpec {
    /// Makes a tool with the defaults: it may have side effects, accepts any object, and its
    /// arguments are not checked.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            input_schema: Json::object([("type", "object".into())]),
            read_only: false,
            idempotent: false,
            dedupe: Dedupe::Block,
            timeout_ms: None,
            max_result_bytes: None,
            checks: false,
            reuse_ms: None,
        }
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
    /// `options.invalid` for more than 1024 tools.
    pub fn new(tools: Vec<ToolSpec>) -> Result<Self, Error> {
        if tools.len() > limits::TOOLS {
            return Err(Error::Options {
                option: "tools".to_owned(),
                expected: "at most 1024 tools",
            });
        }
        for (i, tool) in tools.iter().enumerate() {
            let wrong = |reason| Err(Error::ToolName { name: tool.name.clone(), reason });
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            if !(1..=64).contains(&tool.name.len()) || !tool.name.bytes().all(plain) {
                return wrong("expected 1 to 64 of A-Z, a-z, 0-9, _ and -");
            }
            let mut before = tools.iter().take(i);
            if before.any(|other| other.name.eq_ignore_ascii_case(&tool.name)) {
                return wrong("another tool has this name, but for upper and lower case");
            }
        }
        Ok(Self { tools })
    }

    /// Returns the tool with exactly this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns all tools, in the host's order.
    #[must_use]
    pub fn all(&self) -> &[ToolSpec] {
        &self.tools
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
