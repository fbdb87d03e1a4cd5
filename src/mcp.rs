//! Results of MCP tools, as hosts pass them on:
//! <https://modelcontextprotocol.io/specification/2025-06-18/schema#calltoolresult>.

use crate::json::{Json, Kind, Reader};
use crate::text::holds;

/// Returns a flag in any form: a truth value, a number, or the text of one.
pub(crate) fn flag(value: &Json<'_>) -> Option<bool> {
    match value {
        Json::Bool(flag) => Some(*flag),
        Json::Number(number) => Some(number != "0"),
        Json::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether a value is the result of a call that failed: an object with `isError` and a list of
/// blocks as `content`. The result of any other tool that has a member `isError` is not.
pub(crate) fn is_failure(value: &Json<'_>) -> bool {
    let blocks = value.get("content").and_then(Json::as_array);
    blocks.is_some_and(|blocks| blocks.iter().all(|block| block.kind().is_some()))
        && value.get("isError").and_then(flag) == Some(true)
}

/// Returns the error message of a result of a call that failed: its texts, otherwise its structured
/// content, otherwise a sentence. `None` if the call did not fail.
pub(crate) fn failure(value: &Json<'_>) -> Option<String> {
    if !is_failure(value) {
        return None;
    }
    let mut message = String::new();
    for block in value.get("content").and_then(Json::as_array).unwrap_or_default() {
        let Some(text) = block.get("text").and_then(Json::as_str) else { continue };
        if !message.is_empty() {
            message.push('\n');
        }
        message.push_str(text);
    }
    if message.trim().is_empty() {
        let structured = value.get("structuredContent").filter(|value| !value.is_null());
        message = structured.map_or_else(|| "the tool failed".to_owned(), Json::to_text);
    }
    Some(message)
}

/// As [`failure`], of the JSON text of a value. A host cuts long text: the message is then the text
/// as far as it goes, if its beginning has the members of a failure.
pub(crate) fn failure_in(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(['{', '"']) || !holds(text, "isError") {
        return None;
    }
    let mut reader = Reader::lossy(text);
    match reader.value().and_then(|value| reader.end().map(|()| value)) {
        // A tool may return the text of a result.
        Ok(Json::String(text)) => Json::parse_str(&text).ok().and_then(|value| failure(&value)),
        Ok(value) => failure(&value),
        Err(_) => is_cut_failure(text).then(|| text.to_owned()),
    }
}

/// Whether the beginning of a JSON text has the members of a failure.
fn is_cut_failure(text: &str) -> bool {
    let (mut has_content, mut has_failed) = (false, false);
    let mut reader = Reader::lossy(text);
    // It ends in an error, because the text does.
    let _ = reader.object(&mut |key, reader| match &*key {
        "content" => {
            has_content = reader.peek()? == Kind::Array;
            reader.skip()
        }
        "isError" => {
            has_failed = flag(&reader.value()?) == Some(true);
            Ok(())
        }
        _ => reader.skip(),
    });
    has_content && has_failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_result_is_its_message() {
        let block = r#"{"type":"text","text":"no such table"}"#;
        for (text, want) in [
            (format!(r#"{{"isError":true,"content":[{block}]}}"#), Some("no such table")),
            (
                format!(
                    r#"{{"content":[{block},{{"type":"image","data":"x"}},{block}],"isError":true}}"#
                ),
                Some("no such table\nno such table"),
            ),
            (
                r#"{"isError":true,"content":[],"structuredContent":{"code":5}}"#.to_owned(),
                Some(r#"{"code":5}"#),
            ),
            (r#"{"isError":true,"content":[]}"#.to_owned(), Some("the tool failed")),
            (format!(r#"{{"isError":false,"content":[{block}]}}"#), None),
            (format!(r#"{{"content":[{block}]}}"#), None),
            (r#"{"isError":true,"rows":3}"#.to_owned(), None),
            (r#"{"isError":true,"content":"text"}"#.to_owned(), None),
            (r#"[{"isError":true,"content":[]}]"#.to_owned(), None),
            (r#""isError""#.to_owned(), None),
            (r#""{\"isError\":true,\"content\":[]}""#.to_owned(), Some("the tool failed")),
        ] {
            assert_eq!(failure_in(&text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn a_failed_result_that_was_cut_is_a_failure() {
        let cut = r#"{"isError":true,"content":[{"type":"text","text":"no su"#;
        assert_eq!(failure_in(cut).as_deref(), Some(cut));
        let cut = r#"{"isError":false,"content":[{"type":"text","text":"no su"#;
        assert_eq!(failure_in(cut), None);
    }
}
