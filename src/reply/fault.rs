//! Why a reply has no JSON that can be taken.

use std::fmt;

use crate::json::JsonError;

/// Why a reply has no JSON that can be taken. Offsets count bytes of the reply from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// No value.
    Missing,
    /// Several different values fit.
    Ambiguous,
    /// The reply ends inside a `<think>` block.
    Thinking,
    /// The reply ends inside a value.
    Cut {
        /// Its length.
        offset: usize,
    },
    /// A value cannot be read.
    Invalid {
        /// Where and why.
        error: JsonError,
        /// The usual mistake at that place.
        cause: Option<&'static str>,
    },
}

impl Fault {
    /// Whether the end of the reply is missing.
    #[must_use]
    pub fn is_cut(self) -> bool {
        matches!(self, Self::Cut { .. } | Self::Thinking)
    }

    /// The code of a value that cannot be read.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Invalid { error, .. } => error.code(),
            _ => "json.syntax",
        }
    }

    /// Adds `by` bytes to its offset.
    pub(crate) fn moved(self, by: usize) -> Self {
        match self {
            Self::Cut { offset } => Self::Cut { offset: offset + by },
            Self::Invalid { error, cause } => Self::Invalid { error: error.moved(by), cause },
            other => other,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no JSON that fits was found"),
            Self::Ambiguous => f.write_str("several different JSON values fit"),
            Self::Thinking => f.write_str("the text is cut: a `<think>` block does not end"),
            Self::Cut { offset } => {
                write!(f, "the text is cut: it ends inside a JSON value, at byte {offset}")
            }
            Self::Invalid { error, cause: None } => error.fmt(f),
            Self::Invalid { error, cause: Some(cause) } => write!(f, "{error}: {cause}"),
        }
    }
}

impl std::error::Error for Fault {}

/// Returns the usual mistake at the place where `text` stops being JSON.
pub(super) fn cause(text: &str, error: JsonError) -> Option<&'static str> {
    if let JsonError::NumberRange { offset } = error {
        let number = text.get(offset..).unwrap_or_default().trim_start_matches('-');
        let digits = number.trim_start_matches(|c: char| c.is_ascii_digit());
        return (!digits.starts_with(['.', 'e', 'E'])).then_some("write the integer as a string");
    }
    let JsonError::Syntax { offset } = error else { return None };
    let (before, rest) = text.split_at_checked(offset)?;
    let before = before.trim_end();
    let starts = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
    if starts(&["}", "]"]) && before.ends_with(',') {
        return Some("a trailing comma");
    }
    if starts(&["//", "/*", "#"]) {
        return Some("a comment");
    }
    if starts(&["'"]) {
        return Some("single quotes");
    }
    if starts(&["“", "”", "„", "«"]) {
        return Some("typographic quotes");
    }
    if starts(&["NaN", "Infinity", "+Infinity"]) {
        return Some("JSON has no NaN and no Infinity");
    }
    if starts(&["True", "False", "None", "undefined"]) {
        return Some("JSON has true, false and null only");
    }
    if starts(&["...", "…"]) && !before.ends_with(['[', '{']) {
        return Some("an ellipsis");
    }
    if starts(&["\n", "\r", "\t"]) {
        return Some("a line break or tab in a string");
    }
    if starts(&["\""]) && !before.ends_with(['[', '{', ',', ':']) {
        return Some("a missing comma or colon");
    }
    let name = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let after = rest.get(name.count()..).unwrap_or_default();
    let key = after.len() < rest.len() && after.trim_start().starts_with(':');
    (key && before.ends_with(['{', ','])).then_some("a key without quotes")
}
