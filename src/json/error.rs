//! The error for a text that is not accepted as JSON.

use std::fmt;

/// Why a text is not accepted as JSON. Offsets count bytes from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonError {
    /// Not JSON (RFC 8259), or not UTF-8.
    Syntax {
        /// The offset at which the reader stopped.
        offset: usize,
    },
    /// An object has a duplicate key (RFC 7493 §2.3).
    DuplicateKey {
        /// The offset of the end of the object.
        offset: usize,
    },
    /// A string holds half of a surrogate pair (RFC 7493 §2.1).
    LoneSurrogate {
        /// The offset of the start of the escape.
        offset: usize,
    },
    /// The text is nested too deep.
    TooDeep {
        /// The limit, in levels.
        limit: u32,
    },
    /// The text is too long.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A number is too large for a double, or an integer that a model wrote has digits that a double
    /// does not keep.
    NumberRange {
        /// The offset of the start of the number.
        offset: usize,
    },
}

impl JsonError {
    /// The same error with `by` bytes added to its offset.
    pub(crate) fn moved(self, by: usize) -> Self {
        match self {
            Self::Syntax { offset } => Self::Syntax { offset: offset + by },
            Self::DuplicateKey { offset } => Self::DuplicateKey { offset: offset + by },
            Self::LoneSurrogate { offset } => Self::LoneSurrogate { offset: offset + by },
            Self::NumberRange { offset } => Self::NumberRange { offset: offset + by },
            Self::TooDeep { .. } | Self::TooLarge { .. } => self,
        }
    }

    /// Returns the stable, machine-readable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "json.syntax",
            Self::DuplicateKey { .. } => "json.duplicate_key",
            Self::LoneSurrogate { .. } => "json.lone_surrogate",
            Self::TooDeep { .. } => "json.too_deep",
            Self::TooLarge { .. } => "json.too_large",
            Self::NumberRange { .. } => "json.number_range",
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { offset } => write!(f, "not JSON at byte {offset}"),
            Self::DuplicateKey { offset } => {
                write!(f, "an object that ends at byte {offset} names a key twice")
            }
            Self::LoneSurrogate { offset } => write!(f, "lone surrogate at byte {offset}"),
            Self::TooDeep { limit } => write!(f, "nested deeper than {limit} levels"),
            Self::TooLarge { limit } => write!(f, "longer than {limit} bytes"),
            Self::NumberRange { offset } => {
                write!(f, "a double cannot hold the number at byte {offset}")
            }
        }
    }
}

impl std::error::Error for JsonError {}
