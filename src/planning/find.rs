//! Finds the JSON in what a model said. Every step reads the text once.
//!
//! Models put it into a fenced block, write about it, or think before it: a `<think>` block at the
//! beginning of the text is skipped. What is found is a part of the text, as the model wrote it.

use super::rejected::Reason;
use crate::json::Json;
use crate::text::{holds, said};

/// The member that makes an object a request, as JSON has it.
const MEMBER: &str = "\"tool_calls\"";

/// Returns the JSON of a request: all of the text, the content of its only fenced block, or the
/// only object with `tool_calls` that stands in prose. `None` for an empty text.
pub(super) fn request(text: &str) -> Result<Option<&str>, Reason> {
    let text = said(text).ok_or(Reason::Truncated)?;
    let starts = text.starts_with(['{', '[']);
    if starts && Json::parse_str(text).is_ok() {
        return Ok(Some(text));
    }
    if !starts {
        let found = fenced(text);
        if found != Err(Reason::NoJson) {
            return found;
        }
    }
    // An object that cannot be read might be the request as well, if it has its word.
    let found = only(text, |object| match Json::parse_str(object) {
        Ok(json) => json.get("tool_calls").is_some(),
        Err(_) => holds(object, MEMBER),
    })?;
    // What looks like JSON and is none is handed on: the parser says what is wrong with it.
    let found = found.or_else(|| starts.then_some(text));
    found.map(Some).ok_or(Reason::NoJson)
}

/// Returns the JSON of a plan: all of the text, the content of its only fenced block, or, if prose
/// is no plan, the only object that stands in it. `None` if there is none, or if it cannot be read.
pub(super) fn plan(text: &str, prose_is_none: bool) -> Option<&str> {
    let text = said(text)?;
    let is_json = |json: &str| Json::parse_str(json).is_ok();
    let fenced = || fenced(text).ok().flatten().filter(|json| is_json(json));
    let found = Some(text).filter(|text| is_json(text)).or_else(fenced);
    found.or_else(|| prose_is_none.then(|| only(text, is_json).ok().flatten()).flatten())
}

/// Returns the only object outside of other objects that is `wanted`.
fn only(text: &str, wanted: fn(&str) -> bool) -> Result<Option<&str>, Reason> {
    let mut found = None;
    for object in (Objects { rest: text }) {
        if wanted(object) && found.replace(object).is_some() {
            return Err(Reason::Ambiguous);
        }
    }
    Ok(found)
}

/// Returns the content of the only fenced block without a language or with `json`. `None` for an
/// empty text.
fn fenced(text: &str) -> Result<Option<&str>, Reason> {
    if text.is_empty() {
        return Ok(None);
    }
    let mut found = None;
    let mut open: Option<(&str, usize, bool)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim();
        let info = bare.trim_start_matches('`');
        let ticks = bare.get(..bare.len() - info.len()).unwrap_or_default();
        match open {
            None if ticks.len() >= 3 => {
                let info = info.trim();
                open = Some((ticks, at, info.is_empty() || info.eq_ignore_ascii_case("json")));
            }
            Some((fence, body, json)) if info.is_empty() && ticks.len() >= fence.len() => {
                if json && found.replace(text.get(body..start).unwrap_or_default()).is_some() {
                    return Err(Reason::Ambiguous);
                }
                open = None;
            }
            None | Some(_) => {}
        }
    }
    match (found, open) {
        (_, Some((_, _, true))) => Err(Reason::Truncated),
        (None, _) => Err(Reason::NoJson),
        (Some(json), _) => Ok(Some(json.trim())),
    }
}

/// The parts of a text between a brace and the one that closes it, outside of one another; the last
/// one may not be closed. Braces inside of JSON strings do not count.
struct Objects<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Objects<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.get(self.rest.bytes().position(|byte| byte == b'{')?..)?;
        let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
        let closes = text.bytes().position(|byte| {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' if !quoted => depth += 1,
                b'}' if !quoted => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let end = closes.map_or(text.len(), |at| at + 1);
        self.rest = text.get(end..).unwrap_or_default();
        text.get(..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts follow one another, so that all of them together are read once.
    #[test]
    fn no_text_is_read_twice_however_hostile() {
        let size = crate::limits::REQUEST_BYTES;
        for piece in
            ["{", "}", "{}", "{{}", "{\"", "\"{", "{\\", "{\"tool_calls\":", "<think>", "</think>"]
        {
            let text = piece.repeat(size / piece.len());
            let mut end = 0;
            for object in (Objects { rest: &text }) {
                let at = object.as_ptr() as usize - text.as_ptr() as usize;
                assert!(at >= end && !object.is_empty(), "{piece}");
                end = at + object.len();
            }
            assert!(end <= text.len());
            assert_ne!(request(&text).ok().flatten(), Some(""), "{piece}");
        }
    }

    #[test]
    fn braces_in_strings_close_nothing() {
        let json = r#"{"tool_calls":[{"tool_name":"a","params":{"q":"} \" } {"},"reason":"{"}]}"#;
        for text in [format!("Sure: {json} That is all."), format!("{{not}} this: {json}")] {
            assert_eq!(request(&text), Ok(Some(json)), "{text}");
        }
        assert_eq!(request(&format!("{json} or {json}")), Err(Reason::Ambiguous));
        // Those of a string need not match one another.
        let json = r#"{"tool_calls":[{"tool_name":"a","params":{"q":"}"},"reason":"\\\"}"}]}"#;
        assert_eq!(request(&format!("Sure: {json} That is all.")), Ok(Some(json)));
        // Outside of strings a backslash stands for itself.
        assert_eq!(request(&format!("Of {{a, b\\}} I need {json}")), Ok(Some(json)));
        assert_eq!(plan(&format!("The plan is {json}, I think."), true), Some(json));
    }

    #[test]
    fn a_fence_ends_with_as_many_marks_and_nothing_behind_them() {
        let body = "{\"a\":\n```\n1}";
        assert_eq!(fenced(&format!("````json\n{body}\n````\n")), Ok(Some(body)));
        assert_eq!(fenced("```json\n{}\n``` x\n"), Err(Reason::Truncated));
        assert_eq!(fenced("```\n{}\n`````"), Ok(Some("{}")));
    }
}
