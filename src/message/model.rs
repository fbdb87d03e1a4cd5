//! The provider-neutral message.

use crate::canon::Json;
use crate::dialect::Dialect;

/// How to normalize.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The provider.
    pub dialect: Dialect,
}

impl Options {
    /// The defaults of a dialect.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect }
    }
}

/// A history that the provider takes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Normalized {
    /// The provider's messages.
    pub messages: Vec<Json<'static>>,
    /// The system prompt, where the provider has it beside the messages.
    pub system: Option<Json<'static>>,
    /// Every change that was made.
    pub repairs: Vec<Repair>,
}

/// One change made to a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Stable code, such as `TOOL_RESULT_ORPHAN`.
    pub code: &'static str,
    /// What was done: `dropped`, `synthesized`, `moved`, `merged`, `renamed` or `converted`.
    pub action: &'static str,
    /// The element of the given history, from 0.
    pub index: usize,
    /// The call, where it concerns one.
    pub tool_call_id: Option<String>,
    /// In words.
    pub detail: String,
}

impl Repair {
    /// `{ code, action, index, toolCallId?, detail }`.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let mut members = vec![
            ("code".into(), self.code.into()),
            ("action".into(), self.action.into()),
            ("index".into(), Json::integer(u64::try_from(self.index).unwrap_or(u64::MAX))),
        ];
        if let Some(id) = &self.tool_call_id {
            members.push(("toolCallId".into(), id.clone().into()));
        }
        members.push(("detail".into(), self.detail.clone().into()));
        Json::Object(members)
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) role: Role,
    /// A text, a list of parts, or null.
    pub(super) content: Json<'static>,
    pub(super) calls: Vec<ToolCall>,
    /// Of a tool message.
    pub(super) call_id: Option<String>,
}

/// One call of an assistant message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    /// An object.
    pub(super) args: Json<'static>,
}
