//! Signatures, which identify equal tool calls.
//!
//! ```
//! use turnlock::Signature;
//!
//! let of = |args: &str| Signature::of_text("read_file", None, args.as_bytes(), None);
//! let first = of(r#"{"path":"notes.txt","page":1}"#)?;
//! assert_eq!(of(r#"{ "page": 1.0, "path": "notes.txt" }"#)?, first, "the same call");
//! assert_ne!(of(r#"{"path":"notes.txt","page":2}"#)?, first);
//! assert_eq!(first.to_string().parse::<Signature>(), Ok(first));
//! # Ok::<(), turnlock::Error>(())
//! ```

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::json::table::{Describe, Shape, Write};
use crate::json::{Json, JsonError};
use crate::limits;

/// The hash of a tool call without its id: a lower-case hex SHA-256 (64 characters).
///
/// The hash covers the canonical text of
/// `{"action":…|null,"args":…,"projectId":…|null,"tool":…}`, so key order, white space and the
/// spelling of a number (`1`, `1.0`, `1e0`) do not affect it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature(String);

impl Signature {
    /// Computes the signature of a call to `tool` with `args`.
    #[must_use]
    pub fn new(
        tool: &str,
        action: Option<&str>,
        args: &Json<'_>,
        project_id: Option<&str>,
    ) -> Self {
        let text = |value: Option<&str>, out: &mut String| match value {
            Some(value) => crate::json::write_string(value, out),
            None => out.push_str("null"),
        };
        let mut out = String::from("{\"action\":");
        text(action, &mut out);
        out.push_str(",\"args\":");
        args.write_canonical(&mut out);
        out.push_str(",\"projectId\":");
        text(project_id, &mut out);
        out.push_str(",\"tool\":");
        text(Some(tool), &mut out);
        out.push('}');
        Self(hex(&Sha256::digest(out.as_bytes())))
    }

    /// As [`Signature::new`], for arguments given as JSON text.
    ///
    /// # Errors
    /// As [`canonicalize`](crate::json::canonicalize).
    pub fn of_text(
        tool: &str,
        action: Option<&str>,
        args: &[u8],
        project_id: Option<&str>,
    ) -> Result<Self, JsonError> {
        Ok(Self::new(tool, action, &Json::parse(args, limits::JSON_BYTES)?, project_id))
    }

    /// Restores a signature from its stored text.
    pub(crate) fn from_stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the 64 hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Signature {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Reads the text of a signature that was computed before: 64 lower-case hex digits. Any other text
/// is `options.invalid`.
impl FromStr for Signature {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let fits = text.len() == 64 && text.bytes().all(hex);
        let wrong = || Error::option("signature", "64 lower-case hex digits");
        fits.then(|| Self::from_stored(text)).ok_or_else(wrong)
    }
}

impl Write for Signature {
    fn write(&self) -> Json<'static> {
        self.0.clone().into()
    }
}

impl Describe for Signature {
    fn shape() -> Shape {
        Shape::Text
    }
}

#[cfg(feature = "serde")]
crate::json::by_text!(Signature);

/// Returns `bytes` in lower-case hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_order_white_space_and_number_spelling_do_not_matter() {
        let of = |args: &str| Signature::of_text("read", None, args.as_bytes(), None).unwrap();
        let plain = of(r#"{"a":1,"b":[true,null]}"#);
        for same in ["{ \"b\": [true, null],\n \"a\": 1.0 }", r#"{"b":[true,null],"a":1e0}"#] {
            assert_eq!(of(same), plain, "{same}");
        }
        for other in [r#"{"a":2,"b":[true,null]}"#, r#"{"a":1,"b":[null,true]}"#] {
            assert_ne!(of(other), plain, "{other}");
        }
    }

    #[test]
    fn every_part_counts() {
        let args = Json::Null;
        let all = [
            Signature::new("t", None, &args, None),
            Signature::new("t", Some("a"), &args, None),
            Signature::new("t", None, &args, Some("a")),
            Signature::new("u", None, &args, None),
            Signature::new("t", Some("null"), &args, None),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(all.iter().skip(i + 1).all(|other| other != one));
        }
        // The same digest in a shell:
        // printf '{"action":null,"args":null,"projectId":null,"tool":"t"}' | sha256sum
        assert_eq!(all[0].as_str().len(), 64);
    }

    #[test]
    fn a_text_is_read_back_and_any_other_is_refused() {
        let signature = Signature::new("t", None, &Json::Null, None);
        assert_eq!(signature.as_ref(), signature.as_str());
        assert_eq!(signature.to_string(), signature.as_str());
        assert_eq!(signature.write(), Json::from(signature.as_str().to_owned()));
        assert_eq!(signature.as_str().parse::<Signature>().unwrap(), signature);
        let upper = signature.as_str().to_uppercase();
        let short = signature.as_str().strip_prefix(|_: char| true).unwrap();
        let strange = format!("{short}g");
        for wrong in ["", short, &upper, &strange, &format!("{signature}0")] {
            assert_eq!(
                wrong.parse::<Signature>().unwrap_err().code(),
                "options.invalid",
                "{wrong}"
            );
        }
        assert_eq!(hex(&[0, 0x0f, 0xa9]), "000fa9");
    }
}
