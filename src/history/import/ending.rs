//! How a call ended, by the members that results of every shape have for it.
//!
//! A failure must not read as a success, so the words and flags of all shapes are read in every one of
//! them, in any case and spelling: LangChain has `status: "error"`, Anthropic `is_error`, MCP `isError`,
//! chat pages `status: "timeout"`, `state: "output-error"`, `success: false`.

use super::super::model::{Content, Part};
use super::Fields;
use crate::json::Json;
use crate::limits;
pub(in crate::history) use crate::mcp::flag;
use crate::mcp::is_failure;
use crate::text::holds;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(in crate::history) enum Ending {
    /// No member tells, or by a word that is not known.
    #[default]
    Unstated,
    Success,
    Failure,
    /// The call was cut off, and may have had its effect.
    Unknown,
}

/// Words for a call that failed, in lower case and without what separates their parts.
const FAILURE: [&str; 22] = [
    "error",
    "errored",
    "failed",
    "failure",
    "fail",
    "exception",
    "crashed",
    "invalid",
    "denied",
    "rejected",
    "refused",
    "declined",
    "forbidden",
    "blocked",
    "skipped",
    "notapproved",
    "outputerror",
    "outputdenied",
    "executiondenied",
    "errortext",
    "errorjson",
    "toolerror",
];

/// Words for a call that was cut off.
const UNKNOWN: [&str; 13] = [
    "timeout",
    "timedout",
    "deadlineexceeded",
    "unknown",
    "cancelled",
    "canceled",
    "interrupted",
    "aborted",
    "abort",
    "incomplete",
    "killed",
    "terminated",
    "stopped",
];

const SUCCESS: [&str; 10] = [
    "success",
    "successful",
    "succeeded",
    "ok",
    "complete",
    "completed",
    "done",
    "finished",
    "outputavailable",
    "result",
];

/// The members of a result that tell how its call ended, without the error itself.
const MEMBERS: [&str; 6] = ["isError", "is_error", "success", "ok", "status", "state"];

impl Ending {
    /// Whether the call did not end well.
    pub(in crate::history) fn is_failure(self) -> bool {
        self >= Self::Failure
    }

    pub(super) fn failure_if(failed: bool) -> Self {
        if failed { Self::Failure } else { Self::Unstated }
    }

    /// The worse of both.
    pub(super) fn or(self, other: Self) -> Self {
        self.max(other)
    }

    /// Reads a word for a status or a state.
    #[inline(never)]
    pub(super) fn of_word(word: &str) -> Self {
        let is_in = |words: &[&str]| words.iter().any(|known| is_word(word, known));
        match () {
            () if is_in(&FAILURE) => Self::Failure,
            () if is_in(&UNKNOWN) => Self::Unknown,
            () if is_in(&SUCCESS) => Self::Success,
            () => Self::Unstated,
        }
    }

    /// Reads a status: a word, or an object that has one, as assistant-ui's
    /// `{ type: "incomplete", reason: "error" }` and CopilotKit's `{ code: "Failed" }`.
    #[inline(never)]
    fn of_status(status: &Json<'_>) -> Self {
        let word = |json: &Json<'_>| json.as_str().map_or(Self::Unstated, Self::of_word);
        let inner = |key| status.get(key).map_or(Self::Unstated, word);
        let named = ["type", "code", "status"].into_iter().map(inner).fold(word(status), Self::or);
        match inner("reason") {
            reason if named == Self::Unknown && reason.is_failure() => reason,
            _ => named,
        }
    }

    /// Reads how a call ended from the members of its result.
    #[inline(never)]
    pub(super) fn read(fields: &Fields<'_>) -> Self {
        let is = |key, wanted| fields.get(key).and_then(flag) == Some(wanted);
        let failed = is("isError", true) || is("is_error", true) || is("success", false);
        let told = |key| fields.get(key).map_or(Self::Unstated, Self::of_status);
        let flagged = Self::failure_if(failed || is("ok", false));
        // Older versions of LangChain have the flag there.
        let more = fields.get("additional_kwargs").and_then(|more| more.get("is_error"));
        let flagged = flagged.or(Self::failure_if(more.and_then(flag) == Some(true)));
        flagged.or(told("status")).or(told("state"))
    }

    /// As [`Ending::read`]. Takes the members that the result then has no more need of: the flags, a
    /// status that is known, and all of a failure. A status of another word stays, to be reported as
    /// unknown.
    #[inline(never)]
    pub(super) fn take(fields: &mut Fields<'_>) -> Self {
        let ending = Self::read(fields);
        fields.forget(&["isError", "is_error"]);
        if fields.get("status").map(Self::of_status) != Some(Self::Unstated) {
            fields.take("status");
        }
        ending.taken(fields)
    }

    /// Removes the members that tell of a failure.
    #[inline(never)]
    pub(super) fn taken(self, fields: &mut Fields<'_>) -> Self {
        if self.is_failure() {
            fields.forget(&MEMBERS);
        }
        self
    }
}

/// Whether a text is this word, in any case, whatever separates its parts.
#[inline(never)]
fn is_word(text: &str, word: &str) -> bool {
    let letters = text.bytes().filter(|c| !matches!(c, b' ' | b'-' | b'_' | b'.'));
    letters.map(|c| c.to_ascii_lowercase()).eq(word.bytes())
}

/// Whether a content is MCP's result of a call that failed, or its JSON text: clients put it into a
/// result as it is.
pub(super) fn is_mcp_failure(content: &Content<'_>) -> bool {
    match content {
        Content::Value(value) => is_failure(value),
        Content::Text(text) => is_mcp_text(text),
        Content::Parts(parts) => match parts.as_slice() {
            [Part::Text(text)] => is_mcp_text(&text.text),
            _ => false,
        },
    }
}

/// As [`is_mcp_failure`], of a text.
pub(in crate::history) fn is_mcp_text(text: &Json<'_>) -> bool {
    let Json::String(text) = text else { return false };
    text.trim_start().starts_with('{')
        && holds(text, "\"isError\"")
        && Json::parse_lossy(text.as_bytes(), limits::JSON_BYTES)
            .is_ok_and(|value| is_failure(&value))
}
