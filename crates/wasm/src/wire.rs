//! What all parts of the boundary share: the host's clock, and errors.

use turnlock::error::Error;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a clock fits")]
pub(super) fn millis(now: f64) -> u64 {
    now.max(0.0) as u64
}

#[expect(clippy::cast_precision_loss, reason = "a clock fits")]
pub(super) fn to_f64(millis: u64) -> f64 {
    millis as f64
}

pub(super) fn bad(option: &str, expected: &'static str) -> Error {
    Error::Options { option: option.to_owned(), expected: expected.into() }
}

/// A result that may itself begin with the mark of an error is told apart by a leading `=`.
pub(super) fn tagged(text: String) -> String {
    format!("={text}")
}
