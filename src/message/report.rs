//! Reports about a history: repairs that were made, violations that were found.

use std::borrow::Cow;

use crate::json::Json;

/// One change made to a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Stable code, such as `TOOL_RESULT_ORPHAN`.
    pub code: &'static str,
    /// What was done: `dropped`, `synthesized`, `moved`, `merged`, `renamed` or `converted`.
    pub action: &'static str,
    /// The index of the element in the given history, from 0.
    pub index: usize,
    /// The given id of the call, if the repair concerns one.
    pub tool_call_id: Option<String>,
    /// A description of the repair.
    pub detail: String,
}

/// One rule of a provider that a list of messages breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Stable code, such as `TOOL_RESULT_ORPHAN`.
    pub code: &'static str,
    /// The index of the message, from 0.
    pub index: usize,
    /// The id of the call, if the violation concerns one.
    pub tool_call_id: Option<String>,
    /// A description of the violation.
    pub message: String,
}

impl Repair {
    /// `{ code, action, index, toolCallId?, detail }`.
    #[must_use]
    pub fn into_json(self) -> Json<'static> {
        let Self { code, action, index, tool_call_id, detail } = self;
        members(code, Some(action), index, tool_call_id, ("detail", detail))
    }
}

impl Violation {
    /// `{ code, index, toolCallId?, message }`.
    #[must_use]
    pub fn into_json(self) -> Json<'static> {
        let Self { code, index, tool_call_id, message } = self;
        members(code, None, index, tool_call_id, ("message", message))
    }
}

fn members(
    code: &'static str,
    action: Option<&'static str>,
    index: usize,
    id: Option<String>,
    (key, words): (&'static str, String),
) -> Json<'static> {
    let mut all = Vec::with_capacity(5);
    all.push(("code".into(), code.into()));
    if let Some(action) = action {
        all.push(("action".into(), action.into()));
    }
    all.push(("index".into(), Json::integer(u64::try_from(index).unwrap_or(u64::MAX))));
    if let Some(id) = id {
        all.push(("toolCallId".into(), id.into()));
    }
    all.push((key.into(), words.into()));
    Json::Object(all)
}

/// A finding about one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) code: &'static str,
    pub(super) action: &'static str,
    pub(super) index: usize,
    pub(super) id: Option<String>,
    /// Details that the description of the code does not contain.
    pub(super) more: Cow<'static, str>,
    /// What was done, if the action alone is not clear.
    pub(super) done: Cow<'static, str>,
    pub(super) weight: Weight,
}

/// How a finding is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// As a repair and a violation: the provider refuses it.
    Fault,
    /// As a repair only: it is a precaution, and the provider may accept the original.
    Risk,
    /// As a violation only: the same content in a form that this provider does not read.
    Spelling,
}

impl Weight {
    pub(super) fn risk_if(risk: bool) -> Self {
        if risk { Self::Risk } else { Self::Fault }
    }
}

impl Finding {
    pub(super) fn new(code: &'static str, action: &'static str, index: usize) -> Self {
        Self {
            code,
            action,
            index,
            id: None,
            more: Cow::Borrowed(""),
            done: Cow::Borrowed(""),
            weight: Weight::Fault,
        }
    }

    pub(super) fn call(mut self, id: &str) -> Self {
        self.id = (!id.is_empty()).then(|| id.to_owned());
        self
    }

    pub(super) fn more(mut self, more: impl Into<Cow<'static, str>>) -> Self {
        self.more = more.into();
        self
    }

    pub(super) fn done(mut self, done: impl Into<Cow<'static, str>>) -> Self {
        self.done = done.into();
        self
    }

    pub(super) fn spelling(mut self) -> Self {
        self.weight = Weight::Spelling;
        self
    }

    pub(super) fn risk_if(mut self, risk: bool) -> Self {
        self.weight = Weight::risk_if(risk);
        self
    }

    pub(super) fn is_repair(&self) -> bool {
        self.weight != Weight::Spelling
    }

    pub(super) fn is_violation(&self) -> bool {
        self.weight != Weight::Risk
    }

    fn sentence(&self) -> String {
        let mut text = words(self.code).to_owned();
        if !self.more.is_empty() {
            text.push_str(": ");
            text.push_str(&self.more);
        }
        text
    }

    fn told(&self) -> String {
        let mut text = self.sentence();
        if !self.done.is_empty() {
            text.push_str("; ");
            text.push_str(&self.done);
        }
        text
    }

    pub(super) fn repair(self) -> Repair {
        Repair {
            code: self.code,
            action: self.action,
            index: self.index,
            detail: self.told(),
            tool_call_id: self.id,
        }
    }

    pub(super) fn violation(self) -> Violation {
        Violation {
            code: self.code,
            index: self.index,
            message: self.sentence(),
            tool_call_id: self.id,
        }
    }
}

/// The description of each code. The codes are those of the project's provider rules.
fn words(code: &str) -> &'static str {
    match code {
        "ASSISTANT_BRIDGE_REQUIRED" => "a user may not speak directly after a tool result",
        "CONTENT_EMPTY" => "nothing was said here",
        "CONTENT_NULL" => "content may not be null here",
        "CONTENT_SHAPE" => "the content is in a shape that this provider does not take",
        "FIELD_UNKNOWN" => "a field that this provider does not know",
        "FIRST_MESSAGE_ROLE" => "the first message must be the user's",
        "ITEM_ID_DUPLICATE" => "the id of this item is used twice",
        "LAST_MESSAGE_ROLE" => "the last message may not be the assistant's",
        "MSG_LIST_EMPTY" => "there is no message but instructions",
        "NAME_FIELD_FORMAT" => "the name has a form that this provider refuses",
        "REASONING_FOREIGN" => "this provider does not take back this reasoning",
        "REASONING_FINAL" => "reasoning may not be the last block of a message",
        "REASONING_ITEM_UNPAIRED" => "a reasoning item must stand before the item it led to",
        "ROLE_ALTERNATION" => "the same role speaks twice in a row",
        "ROLE_UNSUPPORTED" => "this provider does not know this role",
        "SYSTEM_MULTIPLE" => "only one system message is taken",
        "SYSTEM_POSITION" => "a system message is taken at the beginning only",
        "THOUGHT_SIGNATURE_MISSING" => "the first call of a step must carry a thought signature",
        "TOOLS_REQUIRED_BY_HISTORY" => "a history with tool calls needs tools to be declared",
        "TOOL_ARGS_EMPTY" => "the arguments are empty",
        "TOOL_ARGS_INVALID_JSON" => "the arguments are not JSON",
        "TOOL_ARGS_NOT_OBJECT" => "the arguments are not an object",
        "TOOL_ARGS_TYPE" => "the arguments have the wrong type",
        "TOOL_CALL_ID_DUPLICATE" => "the id of this call is used before",
        "TOOL_CALL_ID_FORMAT" => "the id of this call has a form that this provider refuses",
        "TOOL_CALL_ID_LENGTH" => "the id of this call is too long",
        "TOOL_CALL_ID_MISSING" => "the call has no id",
        "TOOL_CALL_OMITTED" => "tool calls are left out by this strategy",
        "TOOL_CALLS_TOO_MANY" => "a message has too many calls",
        "TOOL_CALL_PARTIAL" => "the call was never complete",
        "TOOL_CALL_PENDING" => "the history ends before this call has a result",
        "TOOL_CALL_UNANSWERED" => "the call has no result",
        "TOOL_NAME_FORMAT" => "the tool's name has a form that this provider refuses",
        "TOOL_NAME_MISSING" => "the call names no tool",
        "TOOL_RESULT_BEFORE_CALL" => "the result stands before its call",
        "TOOL_RESULT_DUPLICATE" => "the call has another result",
        "TOOL_RESULT_EMPTY" => "the result may not be empty",
        "TOOL_RESULT_NAME_REQUIRED" => "the result does not name its tool",
        "TOOL_RESULT_NOT_ADJACENT" => "something stands between the call and its result",
        "TOOL_RESULT_ORDER" => "the results are not in the order of their calls",
        "TOOL_RESULT_ORPHAN" => "no call has this result",
        "TOOL_RESULT_TEXT_FIRST" => "results must stand before other content",
        "TOOL_RESULT_TYPE" => "the result is not text",
        "TOOL_USE_NOT_LAST" => "calls must stand behind what was said",
        "TRAILING_WHITESPACE" => "the last assistant text ends with white space",
        "UNICODE_LONE_SURROGATE" => "half of a character",
        _ => "the provider does not take this",
    }
}
