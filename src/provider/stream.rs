//! Which responses are decoded.

use super::{Dialect, stream};
use crate::error::Error;
use crate::stream::{AnyEvents, Decoder, Framer};

/// Whether and how the responses of a provider are decoded.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    /// The function makes the decoder of the events of one response.
    Events(fn() -> AnyEvents),
    /// As `Events`. Behind the API may stand a server of local models that leaves thoughts and calls
    /// of the model in its text.
    Marked(fn() -> AnyEvents),
    /// As `Events`, or in binary frames, which may hold events of another wire format.
    Framed(fn() -> AnyEvents, Framer, Option<fn() -> AnyEvents>),
    /// The provider has no stream.
    None,
}

impl Stream {
    pub(super) fn decoder(&self) -> Option<Decoder> {
        match self {
            Self::Events(events) | Self::Marked(events) => Some(Decoder::of(events(), None, None)),
            Self::Framed(events, framer, inner) => {
                let inner = inner.as_ref().map(|inner| inner());
                Some(Decoder::of(events(), Some(*framer), inner))
            }
            Self::None => None,
        }
    }
}

impl Decoder {
    /// Creates a decoder for the responses of `dialect`. `mistral`, `deepseek`, `groq`, `xai` and
    /// `chat-template` respond as `openai-chat`.
    ///
    /// Streams and whole responses (`stream: false`) are both decoded. The bytes tell the framing:
    /// server-sent events, JSON objects (one, one a line, or in an array), or Bedrock's binary
    /// frames.
    ///
    /// # Errors
    /// `dialect.no_stream` for `langchain`, which has no wire format.
    pub fn new(dialect: Dialect) -> Result<Self, Error> {
        let no_stream = || Error::Dialect { name: dialect.name().to_owned(), known: true };
        stream(dialect).decoder().ok_or_else(no_stream)
    }
}
