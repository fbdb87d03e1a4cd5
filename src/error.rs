//! The error type that all modules share, and the stable table of error codes.
//!
//! ```
//! use turnlock::Error;
//! use turnlock::turn::TurnOptions;
//!
//! let error = TurnOptions::parse(br#"{ "policy": { "maxTools": -1 } }"#).unwrap_err();
//! assert_eq!(error.code(), "options.invalid");
//! assert!(matches!(&error, Error::Options { option, .. } if option == "policy.maxTools"));
//! assert!(error.to_string().contains("policy.maxTools"));
//! ```

use std::borrow::Cow;
use std::fmt;

use crate::chain::PlanError;
use crate::json::JsonError;
use crate::json::table::record;
use crate::provider::Dialect;

/// An error of any module of this crate.
///
/// Match on [`Error::code`] across the wasm boundary and on the variant in Rust.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A text is not JSON, or is JSON that this crate refuses.
    Json(JsonError),
    /// An option is missing, of the wrong type or out of range.
    Options {
        /// Path of the option, such as `policy.maxTools`.
        option: String,
        /// The expected value, such as `a whole number from 1 to 60`.
        expected: Cow<'static, str>,
    },
    /// No dialect has this name, or the dialect has no stream.
    Dialect {
        /// The name that was given.
        name: String,
        /// Whether the dialect exists but has no stream.
        known: bool,
    },
    /// An element of a history has an unknown shape.
    MessageShape {
        /// Its index in the history, from 0.
        index: usize,
    },
    /// A history has too many parts.
    MessageParts {
        /// The index of the element with which it has, from 0.
        index: usize,
    },
    /// A tool's name is invalid or already in use.
    ToolName {
        /// The name.
        name: String,
        /// Why the name is refused.
        reason: &'static str,
    },
    /// A planner's answer is not a valid plan.
    Plan(PlanError),
    /// A handle does not refer to a live object.
    Handle,
}

impl Error {
    /// An option is not what is expected.
    pub(crate) fn option(
        option: impl Into<String>,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Options { option: option.into(), expected: expected.into() }
    }

    /// The stable, machine-readable code. A code is never reused or renamed.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(error) => error.code(),
            Self::Options { .. } => "options.invalid",
            Self::Dialect { known: false, .. } => "dialect.unknown",
            Self::Dialect { known: true, .. } => "dialect.no_stream",
            Self::MessageShape { .. } => "message.unknown_shape",
            Self::MessageParts { .. } => "message.too_many_parts",
            Self::ToolName { .. } => "tool.invalid_name",
            Self::Plan(error) => error.code(),
            Self::Handle => "core.stale_handle",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Options { option, expected } => write!(f, "`{option}`: expected {expected}"),
            Self::Dialect { name, known: false } => {
                write!(f, "unknown dialect `{name}`: expected {}", Dialect::NAMES)
            }
            Self::Dialect { name, known: true } => write!(f, "dialect `{name}` has no stream"),
            Self::MessageShape { index } => write!(f, "message {index} has no known shape"),
            Self::MessageParts { index } => {
                write!(
                    f,
                    "the history has too many parts, with message {index} and those before it"
                )
            }
            Self::ToolName { name, reason } => write!(f, "tool `{name}`: {reason}"),
            Self::Plan(error) => error.fmt(f),
            Self::Handle => f.write_str("the handle is not live"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Json(error) => Some(error),
            Self::Plan(error) => Some(error),
            _ => None,
        }
    }
}

record! {
    /// Why a turn or a pass failed.
    pub struct Failure as "TurnFailure" {
        /// Stable code, such as `model.timeout`.
        code "code": Cow<'static, str>;
        /// The error message.
        message "message": String;
        /// More about the failure, if there is more.
        details "details?": Option<FailureDetails>;
    }
}

record! {
    /// More about a failure.
    pub struct FailureDetails as "FailureDetails" {
        /// The HTTP status of the model's response, if it is the reason.
        status "status?": Option<u16>;
        /// Milliseconds after which the provider wants to be asked again, if it said so
        /// (`retry-after`).
        retry_after_ms "retryAfterMs?": Option<u64>;
    }
}

impl Eq for Failure {}

impl Eq for FailureDetails {}

impl Failure {
    /// Makes a failure without an HTTP status.
    #[must_use]
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: None }
    }

    /// With the HTTP status of the model's response.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.details = Some(FailureDetails { status: Some(status), retry_after_ms: None });
        self
    }

    /// With the wait that the provider asks for, beside the status.
    #[must_use]
    pub(crate) fn with_retry_after(mut self, wait_ms: Option<u64>) -> Self {
        if let Some(details) = &mut self.details {
            details.retry_after_ms = wait_ms;
        }
        self
    }

    /// Returns the HTTP status of the model's response, if it is the reason.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.details.as_ref().and_then(|details| details.status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl From<JsonError> for Error {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn the_error_of_a_text_is_a_source() {
        let inner = JsonError::Syntax { offset: 3 };
        let error = Error::from(inner);
        let source = error.source().and_then(|source| source.downcast_ref::<JsonError>());
        assert_eq!(source, Some(&inner));
        assert!(Error::Handle.source().is_none());
    }
}
