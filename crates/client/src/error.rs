//! What the driver refuses or fails with.

use std::borrow::Cow;
use std::fmt;

/// A failure with a stable code, as the npm package's `TurnlockError`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Stable code, such as `options.invalid`. Never reused, never reworded.
    pub code: Cow<'static, str>,
    /// In words; may change.
    pub message: String,
}

impl Error {
    pub(super) fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }

    /// `options.invalid` for an option.
    pub(super) fn option(option: &str, expected: &str) -> Self {
        Self::new("options.invalid", format!("`{option}`: expected {expected}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Error {}

impl From<turnlock::Error> for Error {
    fn from(error: turnlock::Error) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<super::store::StoreError> for Error {
    fn from(error: super::store::StoreError) -> Self {
        Self::new(error.code, error.message)
    }
}
