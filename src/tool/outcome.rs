//! The outcome of a call.

use std::sync::Arc;

use super::content::{Content, ContentLimits};
use crate::json::table::{Range, Row, names, record, writer};
use crate::json::{Json, Reader};
use crate::text::holds;

names! {
    /// How a call ended.
    pub enum Status as "ToolStatus", "a status of a call" {
        /// Unified mode: the call was refused; its result is a notice for the model. In any mode: the
        /// result was dropped by whoever resumed the turn (`tool.result_dropped`).
        Blocked "blocked",
        /// The turn ended before the tool settled. Whether it had an effect is unknown.
        Cancelled "cancelled",
        /// The tool threw, or returned a value that has no JSON form.
        Error "error",
        /// The tool returned.
        Ok "ok",
        /// Unified mode: the call was not started, because no inference would read its result.
        Skipped "skipped",
        /// The tool exceeded its timeout and was cancelled. Whether it had an effect is unknown.
        Timeout "timeout",
        /// The tool was started, and it is unknown whether it finished.
        Unknown "unknown",
    }
}

record! {
    /// Why a call has no result.
    pub struct ToolError as "ToolError" {
        /// Stable code, such as `tool.threw`.
        code "code": String;
        /// The error message.
        message "message": String;
    }
}

impl Eq for ToolError {}

/// The outcome of a call. One outcome is recorded for each call, and it never changes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// How the call ended.
    pub status: Status,
    /// The value that the tool returned. Of content, images and files have references in place of
    /// their data.
    pub result: Option<Json<'static>>,
    /// Why there is no result.
    pub error: Option<ToolError>,
    /// Whether the result was cut to its limit. A cut result ends with a mark.
    pub truncated: bool,
    /// Whether whoever resumed the turn replaced or dropped the result.
    pub revised: bool,
    /// Whether the tool did not return it here: `reconcile` said what became of the call.
    pub reconciled: bool,
    /// The result with its data, if it is content. Events and stores do not have it.
    pub(crate) content: Option<Arc<Content>>,
}

writer! {
    /// The outcome of a call. One outcome is recorded for each call, and it never changes.
    Outcome as "ToolOutcome" {
        /// How the call ended.
        status Row::new("status", false, Range::Any), Status, None;
        /// The value that the tool returned. Of content, images and files have references in place of
        /// their data: `bytes` is the size, and `omitted` says why the model does not get it.
        result Row::new("result?", false, Range::Any), Option<Json<'static>>, None;
        /// Why there is no result.
        error Row::new("error?", false, Range::Any), Option<ToolError>, None;
        /// Whether the result was cut to its limit. A cut result ends with a mark.
        truncated Row::new("truncated", false, Range::Any), bool, None;
        /// Whether whoever resumed the turn replaced or dropped the result.
        revised Row::new("revised?", false, Range::Any), bool, None;
        /// Whether the tool did not return it here: `reconcile` said what became of the call.
        reconciled Row::new("reconciled?", false, Range::Any), bool, None;
    }
}

/// What the model must know of a tool with effects that was cut off.
pub(crate) const UNKNOWN_EFFECT: &str = "whether the tool had its effect is not known";

/// How the message of a call begins that was started and has no outcome.
pub(crate) const UNKNOWN_END: &str = "the tool was started, and whether it finished is not known";

impl Outcome {
    fn of(status: Status) -> Self {
        Self {
            status,
            result: None,
            error: None,
            truncated: false,
            revised: false,
            reconciled: false,
            content: None,
        }
    }

    /// Makes the outcome of a tool that returned. `text` is the JSON text of the result, or its
    /// beginning if the host has cut it; `bytes` is the size of the whole text. Results longer than
    /// `limit` bytes are cut.
    #[must_use]
    pub fn returned(text: &str, bytes: u64, limit: u64) -> Self {
        let size = u64::try_from(text.len()).unwrap_or(u64::MAX).max(bytes);
        let (result, truncated) = if size > limit {
            (Json::String(cut(text, size, limit).into()), true)
        } else {
            (read(text), false)
        };
        Self { result: Some(result), truncated, ..Self::of(Status::Ok) }
    }

    /// As [`Outcome::returned`], of a tool whose result may be content. That of a text that a host has
    /// cut is not.
    #[must_use]
    pub(crate) fn returned_content(text: &str, bytes: u64, limits: ContentLimits) -> Self {
        let whole = usize::try_from(bytes).is_ok_and(|bytes| bytes <= text.len());
        let may_be = whole && text.starts_with('{') && holds(text, "\"content\"");
        match may_be.then(|| Content::read(&read(text))).flatten() {
            Some(content) => Self::of_content(content.within(limits)),
            None => Self::returned(text, bytes, limits.text_bytes),
        }
    }

    fn of_content((content, truncated): (Content, bool)) -> Self {
        let result = Some(content.reference());
        Self { result, truncated, content: Some(content.into()), ..Self::of(Status::Ok) }
    }

    /// Makes the outcome of a call without a result.
    #[must_use]
    pub fn failed(status: Status, code: &str, message: impl Into<String>) -> Self {
        let error = ToolError { code: code.to_owned(), message: message.into() };
        Self { error: Some(error), ..Self::of(status) }
    }

    /// The outcome of a call whose result the model must not see.
    #[must_use]
    pub(crate) fn dropped() -> Self {
        let message = "the result was removed before the model could read it";
        Self { revised: true, ..Self::failed(Status::Blocked, "tool.result_dropped", message) }
    }

    /// Makes the outcome of a call whose result is a text for the model.
    #[must_use]
    pub fn told(status: Status, text: impl Into<String>) -> Self {
        let result = Some(Json::String(text.into().into()));
        Self { result, ..Self::of(status) }
    }

    /// Returns the members of an outcome in events and records: `status, result?, error?,
    /// truncated`.
    #[must_use]
    pub fn members(&self) -> Vec<(std::borrow::Cow<'static, str>, Json<'static>)> {
        match self.to_json() {
            Json::Object(members) => members,
            _ => Vec::new(),
        }
    }

    /// Reads the members that [`Outcome::members`] returns.
    #[must_use]
    pub fn read(json: &Json<'_>) -> Option<Self> {
        let text = |json: &Json<'_>, key| json.get(key).and_then(Json::as_str).map(str::to_owned);
        let error = |json: &Json<'_>| {
            Some(ToolError { code: text(json, "code")?, message: text(json, "message")? })
        };
        let flag = |key| json.get(key).and_then(Json::as_bool).unwrap_or(false);
        let content = json.get("result").and_then(Content::read);
        Some(Self {
            content: content.map(Arc::new),
            status: Status::parse(json.get("status")?.as_str()?)?,
            result: json.get("result").cloned().map(Json::into_owned),
            error: json.get("error").and_then(error),
            truncated: json.get("truncated")?.as_bool()?,
            revised: flag("revised"),
            reconciled: flag("reconciled"),
        })
    }

    /// The result, if it has images or files for the model.
    pub(crate) fn media(&self) -> Option<Arc<Content>> {
        self.content.clone().filter(|content| content.has_media())
    }

    /// Whether the result has data that events and stores do not have.
    pub(crate) fn has_data(&self) -> bool {
        self.content.as_ref().is_some_and(|content| content.has_data())
    }

    /// Whether the result had data that is not here.
    pub(crate) fn is_gone(&self) -> bool {
        self.content.as_ref().is_some_and(|content| content.is_gone())
    }

    /// Whether another outcome has the same result, its data included.
    pub(crate) fn has_same_result(&self, other: &Self) -> bool {
        self.result == other.result && self.content == other.content
    }

    /// Returns the result or the error as compact text for the model.
    #[must_use]
    pub fn for_model(&self) -> String {
        if let Some(content) = &self.content {
            return content.text();
        }
        match (&self.result, &self.error) {
            (Some(Json::String(text)), _) => text.to_string(),
            (Some(result), _) => result.to_text(),
            (None, Some(error)) => format!("{}: {}", self.status.name(), error.message),
            (None, None) => self.status.name().to_owned(),
        }
    }
}

/// Reads a host's JSON. Text that this crate does not accept as JSON, such as a value that is
/// nested too deep, becomes a string, so nothing is lost.
fn read(text: &str) -> Json<'static> {
    let mut reader = Reader::lossy(text);
    let value = reader.value().and_then(|value| reader.end().map(|()| value));
    value.map_or_else(|_| Json::String(text.to_owned().into()), Json::into_owned)
}

/// Returns the first `limit` bytes and a mark that reports the cut. A JSON string is unescaped and
/// loses its quotes.
fn cut(text: &str, size: u64, limit: u64) -> String {
    let at = text.floor_char_boundary(usize::try_from(limit).unwrap_or(usize::MAX));
    let prefix = text.get(..at).unwrap_or_default();
    let unquoted = prefix.starts_with('"').then(|| {
        // The cut may split an escape. The longest one, a surrogate pair, has 12 characters.
        (0..12).find_map(|back| {
            let quoted = format!("{}\"", prefix.get(..prefix.len().checked_sub(back)?)?);
            Reader::strict(quoted.as_bytes()).ok()?.string().ok().map(std::borrow::Cow::into_owned)
        })
    });
    let prefix = unquoted.flatten().unwrap_or_else(|| prefix.to_owned());
    format!("{prefix}… [cut: the first {limit} of {size} bytes]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_the_content_of_a_string() {
        let text = "\"line\\nnext \\ud83d\\ude00 end\"";
        for limit in 1..text.len() as u64 {
            let outcome = Outcome::returned(text, text.len() as u64, limit);
            let result = outcome.result.unwrap();
            let prefix = result.as_str().unwrap().split_once("… [cut").unwrap().0;
            assert!(outcome.truncated);
            assert!("line\nnext 😀 end".starts_with(prefix), "{limit}: {prefix}");
        }
        assert!(!Outcome::returned(text, text.len() as u64, text.len() as u64).truncated);
    }

    #[test]
    fn what_the_model_reads_is_the_result_or_why_there_is_none() {
        assert_eq!(Outcome::returned("{ \"a\": 1 }", 0, 99).for_model(), r#"{"a":1}"#);
        assert_eq!(Outcome::told(Status::Skipped, "no \"need\"").for_model(), "no \"need\"");
        let failed = Outcome::failed(Status::Timeout, "tool.timeout", "late");
        assert_eq!(failed.for_model(), "timeout: late");
        assert_eq!(Outcome::of(Status::Unknown).for_model(), "unknown");
        let dropped = Outcome::dropped();
        assert_eq!((dropped.status, dropped.revised), (Status::Blocked, true));
        assert_eq!(Outcome::read(&dropped.to_json()), Some(dropped));
        assert!(!failed.revised);
    }

    #[test]
    fn what_is_no_json_is_kept_as_text() {
        assert_eq!(Outcome::returned("{oops", 5, 99).result, Some("{oops".into()));
        let deep = "[".repeat(200);
        assert_eq!(Outcome::returned(&deep, 200, 999).result.unwrap().as_str(), Some(&*deep));
    }
}
