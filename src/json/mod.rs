//! Canonical JSON, after [RFC 8785] (JCS), and the one JSON reader of the crate.
//!
//! All JSON texts of the core are read here: arguments, histories, provider events
//! and options. Because there is one reader, all parts of a turn interpret a text in
//! the same way. In strict mode, it refuses what [I-JSON] refuses (duplicate keys, lone
//! surrogates). It always refuses texts that would exhaust memory or stack.
//!
//! ```
//! use turnlock::json::{Json, canonicalize};
//!
//! // Equal values have the same text, whatever their key order, white space or number spelling.
//! assert_eq!(canonicalize(br#"{ "b": 1.0, "a": [1e2, "\u00e9"] }"#)?, r#"{"a":[100,"é"],"b":1}"#);
//! // A text that two readers could interpret differently is refused.
//! assert_eq!(canonicalize(br#"{"a":1,"a":2}"#).unwrap_err().code(), "json.duplicate_key");
//!
//! let call = Json::parse_str(r#"{"path":"notes.txt","lines":[1,20]}"#)?;
//! assert_eq!(call.get("path").and_then(Json::as_str), Some("notes.txt"));
//! assert_eq!(call.get("lines").and_then(|lines| lines.at(1)), Some(&20.into()));
//! let made = Json::object([("ok", true.into()), ("paths", vec!["notes.txt"].into())]);
//! assert_eq!(made.to_string(), r#"{"ok":true,"paths":["notes.txt"]}"#);
//! # Ok::<(), turnlock::Error>(())
//! ```
//!
//! [RFC 8785]: https://www.rfc-editor.org/rfc/rfc8785
//! [I-JSON]: https://www.rfc-editor.org/rfc/rfc7493

mod decimal;
mod error;
mod host;
mod number;
mod object;
mod read;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "serde")]
pub(crate) use serde::by_text;
#[doc(hidden)]
#[allow(rustdoc::private_intra_doc_links, reason = "its documentation is for this crate")]
pub mod table;
mod value;
mod write;

pub use error::JsonError;
pub(crate) use host::{Host, Joined, is_space};
pub(crate) use number::is_rounded;
pub(crate) use object::{Add, members, object};
pub(crate) use read::{Kind, Reader};
pub use value::Json;
pub(crate) use write::one_line;
pub use write::write_string;

/// What only the bindings of the npm package and the Rust driver need. It changes without notice.
#[doc(hidden)]
pub mod shell {
    pub use super::host::{Host, Piece, is_space};
    pub use crate::index::Index;
}

use crate::limits;

/// Returns the value at an RFC 6901 pointer.
///
/// ```
/// use turnlock::json::{Json, pointer};
///
/// let answer = Json::parse_str(r#"{"files":[{"name":"a/b"}]}"#)?;
/// assert_eq!(pointer(&answer, "/files/0/name"), Some(&"a/b".into()));
/// assert_eq!(pointer(&answer, "/files/1"), None);
/// # Ok::<(), turnlock::Error>(())
/// ```
#[must_use]
pub fn pointer<'a, 'j>(root: &'a Json<'j>, pointer: &str) -> Option<&'a Json<'j>> {
    if pointer.is_empty() {
        return Some(root);
    }
    let mut at = root;
    for token in pointer.strip_prefix('/')?.split('/') {
        let token = unescaped(token);
        at = match at {
            Json::Array(items) => items.get(token.parse::<usize>().ok()?)?,
            other => other.get(&token)?,
        };
    }
    Some(at)
}

/// Returns the name that a token of an RFC 6901 pointer stands for.
pub(crate) fn unescaped(token: &str) -> String {
    let mut name = String::with_capacity(token.len());
    let mut rest = token.chars();
    while let Some(c) = rest.next() {
        let (made, escaped) = match rest.as_str().as_bytes().first() {
            Some(b'0') if c == '~' => ('~', true),
            Some(b'1') if c == '~' => ('/', true),
            _ => (c, false),
        };
        name.push(made);
        if escaped {
            rest.next();
        }
    }
    name
}

/// Appends `/` and `name` as a token of an RFC 6901 pointer.
pub(crate) fn push_token(pointer: &mut String, name: &str) {
    pointer.push('/');
    for c in name.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// Returns ECMAScript's text of a double, or `null` if the double is not finite.
#[must_use]
pub fn number_text(double: f64) -> String {
    if double.is_finite() { number::ecmascript(double) } else { "null".to_owned() }
}

/// Returns the RFC 8785 text of `json`.
///
/// Keys are sorted by UTF-16 code units, white space is removed, and numbers have their
/// ECMAScript text. There is one deviation, so that identifiers never collide: a plain
/// integer literal that is not the ECMAScript text of its own double keeps its
/// exact digits (`9007199254740993` stays, where RFC 8785 would give `…992`).
///
/// # Errors
/// `json.syntax`, `json.duplicate_key`, `json.lone_surrogate`, `json.too_deep`
/// (over 128 levels), `json.too_large` (over 16 MiB), `json.number_range` (a
/// number that is not a plain integer and has no finite double, such as `1e400`).
pub fn canonicalize(json: &[u8]) -> Result<String, JsonError> {
    let value = Json::parse(json, limits::JSON_BYTES)?;
    let mut text = String::with_capacity(json.len());
    value.write_canonical(&mut text);
    Ok(text)
}
