//! Which responses are decoded.

use super::{Dialect, stream};
use crate::error::Error;
use crate::stream::{AnyEvents, Decoder};

/// Whether and how the responses of a provider are decoded.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    /// Server-sent events; the function makes the decoder of the events of one response.
    Sse(fn() -> AnyEvents),
    /// The provider has no stream, or one that this version does not decode.
    None,
}

impl Stream {
    pub(super) fn decoder(&self) -> Option<Decoder> {
        match self {
            Self::Sse(events) => Some(Decoder::of(events())),
            Self::None => None,
        }
    }
}

impl Decoder {
    /// Creates a decoder for the streams of `dialect`. `mistral`, `deepseek`, `groq`, `xai` and
    /// `chat-template` stream as `openai-chat`.
    ///
    /// # Errors
    /// `dialect.no_stream` for `langchain`, which has no wire format, and for the wire formats that
    /// this version does not decode.
    pub fn new(dialect: Dialect) -> Result<Self, Error> {
        let no_stream = || Error::Dialect { name: dialect.name().to_owned(), known: true };
        stream(dialect).decoder().ok_or_else(no_stream)
    }
}
