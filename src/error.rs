//! One error for callers that mix modules, and the stable table of codes.
//!
//! ```
//! use turnlock::Error;
//! use turnlock::turn::Options;
//!
//! let error = Options::parse(br#"{ "policy": { "maxTools": -1 } }"#).unwrap_err();
//! assert_eq!(error.code(), "options.invalid");
//! assert!(matches!(&error, Error::Options { option, .. } if option == "policy.maxTools"));
//! assert!(error.to_string().contains("policy.maxTools"));
//! ```

use std::fmt;

use crate::chain::PlanError;
use crate::json::JsonError;

/// Anything this crate can refuse.
///
/// Match on [`Error::code`] across the wasm boundary and on the variant in Rust.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A text is not the JSON that is accepted here.
    Json(JsonError),
    /// An option is missing, of the wrong type or out of range.
    Options {
        /// Path of the option, such as `policy.maxTools`.
        option: String,
        /// What was expected there.
        expected: &'static str,
    },
    /// The dialect has no such name, or no wire of its own.
    Dialect {
        /// The name that was given.
        name: String,
        /// Whether the dialect exists but has no stream.
        known: bool,
    },
    /// An element of a history has no shape that is known.
    MessageShape {
        /// Its place in the history, from 0.
        index: usize,
    },
    /// A tool's name is not usable or is taken.
    ToolName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A planner's answer is no plan.
    Plan(PlanError),
    /// A handle does not name a live object.
    Handle,
}

impl Error {
    /// Stable, machine-readable name. Never reused, never reworded.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(error) => error.code(),
            Self::Options { .. } => "options.invalid",
            Self::Dialect { known: false, .. } => "dialect.unknown",
            Self::Dialect { known: true, .. } => "dialect.no_stream",
            Self::MessageShape { .. } => "message.unknown_shape",
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
            Self::Dialect { name, known: false } => write!(f, "unknown dialect `{name}`"),
            Self::Dialect { name, known: true } => write!(f, "dialect `{name}` has no stream"),
            Self::MessageShape { index } => write!(f, "message {index} has no known shape"),
            Self::ToolName { name, reason } => write!(f, "tool `{name}`: {reason}"),
            Self::Plan(error) => error.fmt(f),
            Self::Handle => f.write_str("the handle is not live"),
        }
    }
}

impl std::error::Error for Error {}

impl From<JsonError> for Error {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}
