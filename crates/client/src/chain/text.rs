//! What callbacks give, and what they fail with.

use std::borrow::Cow;
use std::fmt;

use futures::StreamExt;
use futures::stream::Stream;

use crate::platform::{BoxStream, MaybeSend};

/// A text at once, or piece by piece.
pub struct ChainText(pub(super) Written);

pub(super) enum Written {
    Whole(String),
    Pieces(BoxStream<'static, Result<String, StepError>>),
}

impl ChainText {
    /// Piece by piece: each is shown as it comes. A piece that fails is the failure of the call.
    pub fn stream<S, T, E>(pieces: S) -> Self
    where
        S: Stream<Item = Result<T, E>> + MaybeSend + 'static,
        T: Into<String>,
        E: Into<StepError>,
    {
        let pieces = pieces.map(|piece| piece.map(Into::into).map_err(Into::into));
        Self(Written::Pieces(Box::pin(pieces)))
    }
}

impl From<String> for ChainText {
    fn from(text: String) -> Self {
        Self(Written::Whole(text))
    }
}

impl From<&str> for ChainText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Debug for ChainText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Written::Whole(text) => f.debug_tuple("ChainText").field(text).finish(),
            Written::Pieces(_) => f.write_str("ChainText(..)"),
        }
    }
}

/// Why a callback has nothing to give. Whatever can be displayed is one that may be tried again,
/// so `?` takes any error.
///
/// ```
/// use turnlock_client::chain::StepError;
///
/// fn search(query: &str) -> Result<u32, StepError> {
///     if query.is_empty() {
///         return Err(StepError::new("nothing to look for").code("search.empty").fatal());
///     }
///     Ok(query.parse::<u32>()?)
/// }
/// assert!(search("x").unwrap_err().retryable);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    /// In words.
    pub message: String,
    /// A stable code. Default the name of the callback, as in `search.threw`.
    pub code: Option<Cow<'static, str>>,
    /// Whether trying again may help.
    pub retryable: bool,
}

impl StepError {
    /// One that may be tried again.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None, retryable: true }
    }

    /// A stable code of the host's.
    #[must_use]
    pub fn code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Trying again does not help.
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.retryable = false;
        self
    }
}

impl<E: fmt::Display> From<E> for StepError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}
