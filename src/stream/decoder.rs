//! Decodes the bytes of a response into deltas: first the framing, then the provider's wire format.

use super::classify::malformed;
use super::delta::Delta;
use super::events::AnyEvents;
use super::sse::{SseDecoder, SseEvent};
use super::template::Template;
use crate::json::Reader;
use crate::limits;

/// Decodes one response of one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoder {
    framing: Framing,
    events: AnyEvents,
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

impl Decoder {
    pub(crate) fn of(events: AnyEvents) -> Self {
        let template = Some(Template::default());
        Self { framing: Framing::Unknown(Vec::new()), events, template, failed: false }
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
        let (events, failed, template) = (&mut self.events, &mut self.failed, &mut self.template);
        let fits = match &mut self.framing {
            Framing::Unknown(_) => true,
            Framing::Sse(sse) => {
                let dispatch = |event: &SseEvent<'_>| match template {
                    // A keep-alive of some gateways.
                    _ if event.data.trim_ascii().is_empty() => {}
                    Some(template) => with_template(template, events, failed, &event.data, out),
                    None => event_data(events, failed, &event.data, out),
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
                // The standard drops an event whose blank line never came: it may be cut. Some servers
                // close without it, so the end of a response counts if it is complete.
                let last = sse.end().filter(|event| is_whole(&event.data));
                if let Some(event) = last {
                    let (mut ended, mut deltas) = (self.events.clone(), Vec::new());
                    ended.data(&event.data, &mut deltas);
                    if ended.is_finished() {
                        self.events = ended;
                        out.append(&mut deltas);
                    }
                }
            }
            Framing::Body(body) => {
                let text = String::from_utf8_lossy(&body);
                let before = out.len();
                event_data(&mut self.events, &mut self.failed, &text, out);
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
        self.events.is_finished()
    }
}

fn with_template(
    template: &mut Template,
    events: &mut AnyEvents,
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
    event_data(events, failed, data, out);
    template.learn(data, out.get(before..).unwrap_or_default(), |data| {
        let mut deltas = Vec::new();
        let mut trial = events.clone();
        trial.data(data, &mut deltas);
        // An event that changes the state carries more than its text.
        if trial == *events { deltas } else { Vec::new() }
    });
}

fn event_data(events: &mut AnyEvents, failed: &mut bool, data: &str, out: &mut Vec<Delta>) {
    if *failed {
        return;
    }
    events.data(data, out);
    *failed = matches!(out.last(), Some(Delta::Error(_)));
}

fn is_whole(data: &str) -> bool {
    let mut reader = Reader::lossy(data);
    data.trim() == "[DONE]" || reader.skip().and_then(|()| reader.end()).is_ok()
}
