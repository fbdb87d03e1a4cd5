//! Decodes the bytes of a response into deltas: first the framing, then the provider's wire format.

use super::classify::malformed;
use super::delta::Delta;
use super::dialect::{anthropic, openai_chat};
use super::sse::{SseDecoder, SseEvent};
use super::template::Template;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::json::Reader;
use crate::limits;

/// Decodes one response of one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoder {
    framing: Framing,
    wire: Wire,
    /// The shortcut for text events; `None` disables it.
    template: Option<Template>,
    /// An error ended the stream; later bytes are ignored.
    failed: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Framing {
    /// Only this white space was received so far.
    Unknown(Vec<u8>),
    Sse(SseDecoder),
    /// A JSON body instead of a stream: providers report failures this way, with status 200.
    Body(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq)]
enum Wire {
    OpenAiChat(openai_chat::Wire),
    Anthropic(anthropic::Wire),
}

impl Wire {
    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        match self {
            Self::OpenAiChat(wire) => wire.data(data, out),
            Self::Anthropic(wire) => wire.data(data, out),
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
        let wire = match dialect {
            Dialect::OpenAiChat
            | Dialect::Mistral
            | Dialect::DeepSeek
            | Dialect::Groq
            | Dialect::Xai
            | Dialect::ChatTemplate => Wire::OpenAiChat(openai_chat::Wire::default()),
            Dialect::Anthropic => Wire::Anthropic(anthropic::Wire::default()),
            Dialect::OpenAiResponses
            | Dialect::Gemini
            | Dialect::Cohere
            | Dialect::Bedrock
            | Dialect::Ollama
            | Dialect::LangChain => {
                return Err(Error::Dialect { name: dialect.name().to_owned(), known: true });
            }
        };
        let template = Some(Template::default());
        Ok(Self { framing: Framing::Unknown(Vec::new()), wire, template, failed: false })
    }

    /// Returns the decoder without its shortcut for text events, for tests that compare both.
    #[doc(hidden)]
    #[must_use]
    pub fn without_template(mut self) -> Self {
        self.template = None;
        self
    }

    /// Takes the next chunk, which may end anywhere, and appends the deltas that it completes.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<Delta>) {
        if self.failed {
            return;
        }
        if let Framing::Unknown(space) = &mut self.framing {
            // A stream starts with a field or a comment, a body with a brace.
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else {
                // Blank lines may arrive without end: they are not stored from 1024 bytes on.
                if space.len() < 1024 {
                    space.extend_from_slice(bytes);
                }
                return;
            };
            let before = std::mem::take(space);
            self.framing = match first {
                b'{' => Framing::Body(Vec::new()),
                _ => Framing::Sse(SseDecoder::new(limits::SSE_EVENT_BYTES)),
            };
            self.decode(&before, out);
        }
        self.decode(bytes, out);
    }

    fn decode(&mut self, bytes: &[u8], out: &mut Vec<Delta>) {
        let (wire, failed, template) = (&mut self.wire, &mut self.failed, &mut self.template);
        let fits = match &mut self.framing {
            Framing::Unknown(_) => true,
            Framing::Sse(sse) => {
                let dispatch = |event: &SseEvent<'_>| match template {
                    Some(template) => with_template(template, wire, failed, &event.data, out),
                    None => event_data(wire, failed, &event.data, out),
                };
                sse.feed(bytes, dispatch).is_ok()
            }
            Framing::Body(body) => {
                body.extend_from_slice(bytes);
                body.len() <= limits::SSE_EVENT_BYTES
            }
        };
        if !fits && !self.failed {
            self.failed = true;
            let message = format!("an event is larger than {} bytes", limits::SSE_EVENT_BYTES);
            out.push(Delta::Error(malformed(&message, "")));
        }
    }

    /// Ends the stream; appends the deltas that only the end completes.
    pub fn end(&mut self, out: &mut Vec<Delta>) {
        let framing = std::mem::replace(&mut self.framing, Framing::Unknown(Vec::new()));
        if self.failed {
            return;
        }
        match framing {
            Framing::Unknown(_) => {}
            Framing::Sse(mut sse) => {
                // Some servers close without the last blank line, so a complete last event counts.
                // A truncated event is dropped, as the standard requires.
                let last = sse.end().filter(|event| is_whole(&event.data));
                if let Some(event) = last {
                    event_data(&mut self.wire, &mut self.failed, &event.data, out);
                }
            }
            Framing::Body(body) => {
                let text = String::from_utf8_lossy(&body);
                let before = out.len();
                event_data(&mut self.wire, &mut self.failed, &text, out);
                if !self.failed {
                    out.truncate(before);
                    out.push(Delta::Error(malformed("a JSON body in place of a stream", &text)));
                    self.failed = true;
                }
            }
        }
    }

    /// Whether the model has finished: a finish reason or the wire's end mark was seen.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.wire {
            Wire::OpenAiChat(wire) => wire.is_finished(),
            Wire::Anthropic(wire) => wire.is_finished(),
        }
    }
}

fn with_template(
    template: &mut Template,
    wire: &mut Wire,
    failed: &mut bool,
    data: &str,
    out: &mut Vec<Delta>,
) {
    if *failed {
        return;
    }
    if let Some(text) = template.text(data) {
        if !text.is_empty() {
            out.push(Delta::Text(text));
        }
        return;
    }
    let before = out.len();
    event_data(wire, failed, data, out);
    template.learn(data, out.get(before..).unwrap_or_default(), |data| {
        let mut deltas = Vec::new();
        let mut trial = wire.clone();
        trial.data(data, &mut deltas);
        // An event that changes the state carries more than its text.
        if trial == *wire { deltas } else { Vec::new() }
    });
}

fn event_data(wire: &mut Wire, failed: &mut bool, data: &str, out: &mut Vec<Delta>) {
    if *failed {
        return;
    }
    wire.data(data, out);
    *failed = matches!(out.last(), Some(Delta::Error(_)));
}

fn is_whole(data: &str) -> bool {
    let mut reader = Reader::lossy(data);
    data.trim() == "[DONE]" || reader.skip().and_then(|()| reader.end()).is_ok()
}
