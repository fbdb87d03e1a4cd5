//! Call arguments in the form that the dialect requires.

use std::borrow::Cow;

use super::code::Code;
use super::model::Args;
use crate::json::{Host, Json, JsonError, Kind, Reader, is_space, object};
use crate::limits;
use crate::provider::Arguments;

/// Returns the arguments in the form that the dialect requires, and the code of any defect.
pub(super) fn settle<'a>(args: &Args<'a>, want: Arguments) -> (Json<'a>, Option<Code>) {
    let (object, code) = match args {
        Args::Value(value) => object(value.clone()),
        Args::Text(text) => {
            let read = text.as_str().unwrap_or_default();
            if read.trim().is_empty() {
                (Json::Object(Vec::new()), Some(Code::ToolArgsEmpty))
            } else if matches!(want, Arguments::Text { .. }) && is_object(read) {
                // Already a JSON object: the text is sent unchanged.
                return (text.clone(), None);
            } else {
                parsed(text)
            }
        }
    };
    let wanted = match want {
        Arguments::Object { .. } => object,
        Arguments::Text { .. } => object.into_text(),
    };
    (wanted, code)
}

/// Whether there are no arguments: null, blank text, or an object or a list without members (some
/// languages write an empty map as `[]`).
pub(super) fn is_empty(args: &Args<'_>) -> bool {
    match args {
        Args::Value(Json::Object(members)) => members.is_empty(),
        Args::Value(Json::Array(items)) => items.is_empty(),
        Args::Value(value) => value.is_null(),
        Args::Text(Json::String(text)) => {
            let mut rest = text.chars().filter(|c| !is_space(*c));
            let first: String = rest.by_ref().take(5).collect();
            ["", "{}", "[]", "\"\"", "null"].contains(&first.as_str())
        }
        Args::Text(_) => false,
    }
}

/// Whether this is the beginning of a JSON text, cut before its end.
pub(super) fn is_partial(args: &Args<'_>) -> bool {
    let Args::Text(Json::String(text)) = args else { return false };
    let end = text.trim_end().len();
    let cut = |error| matches!(error, JsonError::Syntax { offset } if offset >= end);
    Json::parse_str(text).is_err_and(cut)
}

/// The object that they are; `None` if they are none, or no JSON.
pub(super) fn as_object<'a>(args: &Args<'a>) -> Option<Json<'a>> {
    let value = match args {
        Args::Value(value) => value.clone(),
        Args::Text(Json::String(text)) => read(text)?.0.into_owned(),
        Args::Text(_) => return None,
    };
    matches!(value, Json::Object(_) | Json::Host(Host::Object(_))).then_some(value)
}

/// Whether both are the same JSON, or the same text.
pub(super) fn same(one: &Args<'_>, other: &Args<'_>) -> bool {
    match (one, other) {
        (Args::Text(one), Args::Text(other)) if one == other => true,
        _ => match (as_object(one), as_object(other)) {
            (Some(one), Some(other)) => one.to_canonical() == other.to_canonical(),
            (None, None) => plain(one) == plain(other),
            _ => false,
        },
    }
}

fn plain(args: &Args<'_>) -> String {
    match args {
        Args::Value(value) => value.to_canonical(),
        Args::Text(text) => text.as_str().unwrap_or_default().to_owned(),
    }
}

fn object(value: Json<'_>) -> (Json<'_>, Option<Code>) {
    match value {
        Json::Object(_) | Json::Host(Host::Object(_)) => (value, None),
        Json::Null => (Json::Object(Vec::new()), Some(Code::ToolArgsEmpty)),
        other => (object! { "_value": other }, Some(Code::ToolArgsNotObject)),
    }
}

fn parsed<'a>(text: &Json<'a>) -> (Json<'a>, Option<Code>) {
    let read = match text {
        Json::String(Cow::Borrowed(text)) => read(text),
        Json::String(Cow::Owned(text)) => {
            read(text).map(|(value, code)| (value.into_owned(), code))
        }
        _ => None,
    };
    match read {
        Some((value, halved)) => {
            let (value, code) = object(value);
            (value, code.or(halved))
        }
        None => (object! { "_invalid_json": text.clone() }, Some(Code::ToolArgsInvalidJson)),
    }
}

/// Parses a text as JSON; the code is set if lone surrogates were replaced.
fn read(text: &str) -> Option<(Json<'_>, Option<Code>)> {
    match Json::parse_str(text) {
        Ok(value) => Some((value, None)),
        Err(error) => {
            let value = Json::parse_lossy(text.as_bytes(), limits::JSON_BYTES).ok()?;
            let halved = matches!(error, JsonError::LoneSurrogate { .. });
            Some((value, halved.then_some(Code::UnicodeLoneSurrogate)))
        }
    }
}

fn is_object(text: &str) -> bool {
    if text.len() > limits::JSON_BYTES {
        return false;
    }
    let Ok(mut reader) = Reader::strict(text.as_bytes()) else { return false };
    matches!(reader.peek(), Ok(Kind::Object)) && reader.skip().is_ok() && reader.end().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that no reader takes is not passed on as if it had been read.
    #[test]
    fn a_text_is_as_long_as_json_may_be() {
        let long = |size: usize| {
            let text = format!("{{ \"a\":\"{}\"}}", "x".repeat(size - 9));
            assert_eq!(text.len(), size);
            Json::from(text)
        };
        let (most, more) = (long(limits::JSON_BYTES), long(limits::JSON_BYTES + 1));
        let sent = |text: &Json<'static>| {
            settle(&Args::Text(text.clone()), Arguments::Text { read: false })
        };
        assert!(sent(&most) == (most.clone(), None));
        assert_eq!(sent(&more).1, Some(Code::ToolArgsInvalidJson));
    }
}
