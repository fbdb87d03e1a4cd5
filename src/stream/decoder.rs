//! Decodes the bytes of a response into deltas: first the framing, then the provider's wire format.
//!
//! The first byte that is no white space tells the framing, whatever the provider: server-sent
//! events, JSON objects (a whole response, one a line, or in an array), or the binary frames of
//! Bedrock.

use std::borrow::Cow;

use super::ambiguous::is_ambiguous;
use super::classify::{failure, malformed};
use super::delta::{Delta, ErrorClass, StreamError};
use super::events::AnyEvents;
use super::frames::{Frame, Framer, Frames};
use super::sse::{SseDecoder, SseEvent};
use super::template::Template;
use super::values::{Broken, Values};
use crate::json::Reader;
use crate::limits;

/// Bytes that are kept of text that is no framing.
///
/// Limit | text that is no framing, as it is told | bytes | cut
const SHOWN: usize = 1000;

/// Decodes one response of one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoder {
    framing: Framing,
    /// The reader of binary frames, for providers that send them.
    framer: Option<Framer>,
    meaning: Meaning,
    is_cut: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Framing {
    /// Only this white space was received so far.
    Unknown(Vec<u8>),
    Sse(SseDecoder),
    Values(Values),
    Frames(Frames, Framer),
    /// The beginning of a page in place of a stream.
    Page(Vec<u8>),
}

/// What the events say.
#[derive(Debug, Clone, PartialEq)]
struct Meaning {
    events: AnyEvents,
    /// The wire format of frames that hold another provider's events.
    inner: Option<AnyEvents>,
    /// The shortcut for text events; `None` disables it.
    template: Option<Template>,
    /// An error ended the stream; later bytes are ignored.
    failed: bool,
    /// An event was of this wire format.
    known: bool,
    /// The beginning of the first event, if it was not.
    foreign: Option<String>,
    /// A call has started.
    has_calls: bool,
}

impl Decoder {
    /// `inner`: the wire format of frames that hold another provider's events.
    pub(crate) fn of(events: AnyEvents, framer: Option<Framer>, inner: Option<AnyEvents>) -> Self {
        let template = Some(Template::default());
        let (failed, known, foreign, has_calls) = (false, false, None, false);
        let meaning = Meaning { events, inner, template, failed, known, foreign, has_calls };
        Self { framing: Framing::Unknown(Vec::new()), framer, meaning, is_cut: false }
    }

    /// Returns the decoder without its shortcut for text events, for tests that compare both.
    #[doc(hidden)]
    #[must_use]
    pub fn without_template(mut self) -> Self {
        self.meaning.template = None;
        self
    }

    /// Takes the next chunk, which may end anywhere, and appends the deltas that it completes.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<Delta>) {
        if self.meaning.failed {
            return;
        }
        let mut bytes = bytes;
        if let Framing::Unknown(space) = &mut self.framing {
            // Blank lines may come first, without end; what is read later is the same for any cut.
            let at = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
            let (blank, rest) = bytes.split_at(at.unwrap_or(bytes.len()));
            let line =
                blank.rsplit(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
            if line.len() < blank.len() {
                space.clear();
            }
            space.extend(line.iter().take(1024_usize.saturating_sub(space.len())));
            let Some(first) = rest.first() else { return };
            let before = std::mem::take(space);
            self.framing = match (first, self.framer) {
                (b'{' | b'[', _) => Framing::Values(Values::default()),
                (b'<', _) => Framing::Page(Vec::new()),
                // The high byte of a length.
                (0, Some(framer)) => Framing::Frames(Frames::default(), framer),
                (0 | 0x1f, _) => {
                    return self.meaning.broken("the response is binary or compressed", "", out);
                }
                _ => Framing::Sse(SseDecoder::new(limits::SSE_EVENT_BYTES)),
            };
            // White space before a frame would be a part of it.
            if !matches!(self.framing, Framing::Frames(..)) {
                self.decode(&before, out);
            }
            bytes = rest;
        }
        self.decode(bytes, out);
    }

    fn decode(&mut self, bytes: &[u8], out: &mut Vec<Delta>) {
        let meaning = &mut self.meaning;
        match &mut self.framing {
            Framing::Unknown(_) => {}
            Framing::Sse(sse) => {
                let dispatch = |event: &SseEvent<'_>| match &event.data {
                    // One line, in the common case.
                    Cow::Borrowed(data) => meaning.event(data, out),
                    Cow::Owned(data) => meaning.lines(data, out),
                };
                if sse.feed(bytes, dispatch).is_err() {
                    meaning.too_large(out);
                }
            }
            Framing::Values(values) => {
                let mut dispatch = |value: &[u8]| {
                    meaning.event(&String::from_utf8_lossy(value), out);
                };
                match values.feed(bytes, &mut dispatch) {
                    Ok(()) => {}
                    Err(Broken::TooLarge) => meaning.too_large(out),
                    Err(Broken::Syntax) => meaning.broken("the response is no JSON", "", out),
                }
            }
            Framing::Frames(frames, framer) => {
                let mut dispatch = |frame| meaning.frame(frame, out);
                if let Err(why) = (framer.0)(frames, bytes, &mut dispatch) {
                    meaning.broken(why, "", out);
                }
            }
            Framing::Page(page) => {
                let more = SHOWN.saturating_sub(page.len());
                page.extend(bytes.iter().take(more));
                if page.len() == SHOWN {
                    meaning.page(page, out);
                }
            }
        }
    }

    /// Ends the stream; appends the deltas that only the end completes.
    ///
    /// A response that ends inside an event, and is not complete without it, gets an error of the
    /// class `malformed`.
    pub fn end(&mut self, out: &mut Vec<Delta>) {
        let framing = std::mem::replace(&mut self.framing, Framing::Unknown(Vec::new()));
        let meaning = &mut self.meaning;
        if meaning.failed {
            return;
        }
        let mut half = None;
        match framing {
            Framing::Unknown(_) => {}
            Framing::Sse(mut sse) => {
                // The standard drops an event whose blank line never came: it may be cut. Some
                // servers close without it, so the end of a response counts if it is complete.
                let event = sse.end().map(|event| event.data).unwrap_or_default();
                let (before, last) = match event.rsplit_once('\n') {
                    Some(two) if !is_whole(&event) => two,
                    _ => ("", &*event),
                };
                meaning.lines(before, out);
                if is_whole(last) {
                    meaning.last(last, out);
                } else if !last.trim_ascii().is_empty() {
                    half = Some(last.to_owned());
                }
                let is_read =
                    meaning.known || meaning.foreign.is_some() || meaning.events.is_finished();
                if let Some(line) = sse.foreign().filter(|_| !is_read && half.is_none()) {
                    meaning.page(line.as_bytes(), out);
                }
            }
            Framing::Values(mut values) => {
                let rest = values.rest();
                half = (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned());
            }
            Framing::Frames(frames, _) => half = frames.is_cut().then(String::new),
            Framing::Page(page) => meaning.page(&page, out),
        }
        if !meaning.failed && half.is_none() {
            meaning.events.end(out);
        }
        if meaning.failed || meaning.events.is_finished() {
            return;
        }
        if let Some(text) = half {
            self.is_cut = true;
            meaning.broken("the response ends inside an event", &text, out);
        } else if !meaning.known
            && let Some(text) = meaning.foreign.take()
        {
            meaning.broken("the response is not in the provider's wire format", &text, out);
        }
    }

    /// Whether the model has finished: a finish reason or the wire's end mark was seen.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.meaning.events.is_finished()
    }

    /// The id of a complete response that the provider can keep.
    pub(crate) fn response(&self) -> Option<&str> {
        self.meaning.events.response()
    }

    /// Whether the response has ended inside an event, so that it can be complete elsewhere.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl Meaning {
    /// Takes the data of an event. Some servers leave out the blank line between two events: then
    /// each line is an event.
    fn lines(&mut self, data: &str, out: &mut Vec<Delta>) {
        if data.as_bytes().contains(&b'\n') && !is_whole(data) {
            data.split('\n').for_each(|line| self.event(line, out));
        } else {
            self.event(data, out);
        }
    }

    fn event(&mut self, data: &str, out: &mut Vec<Delta>) {
        // Some gateways keep a connection alive with events without data.
        if self.failed || data.trim_ascii().is_empty() {
            return;
        }
        if let Some(text) = self.template.as_mut().and_then(|template| template.text(data)) {
            if !text.is_empty() {
                out.push(Delta::Text(text));
            }
            return;
        }
        let before = out.len();
        self.events.data(data, out);
        self.refuse_ambiguous(data, before, out);
        let deltas = out.get(before..).unwrap_or_default();
        self.failed = matches!(deltas.last(), Some(Delta::Error(_)));
        if !self.known && data.trim() != "[DONE]" {
            self.known = !deltas.iter().any(|delta| matches!(delta, Delta::Other { .. }));
            if !self.known && self.foreign.is_none() {
                self.foreign = Some(head(data).to_owned());
            }
        }
        let Some(template) = &mut self.template else { return };
        let events = &self.events;
        template.learn(data, deltas, |data| {
            let mut deltas = Vec::new();
            let mut trial = events.clone();
            trial.data(data, &mut deltas);
            // An event that changes the state carries more than its text.
            if trial == *events { deltas } else { Vec::new() }
        });
    }

    /// Replaces the deltas of an event, which begin at `from`, by an error if the event may be of a
    /// call and can be read in two ways.
    fn refuse_ambiguous(&mut self, data: &str, from: usize, out: &mut Vec<Delta>) {
        let deltas = out.get(from..).unwrap_or_default();
        let is_speech = |delta: &Delta| matches!(delta, Delta::Text(_) | Delta::Reasoning { .. });
        let speaks = !deltas.is_empty() && deltas.iter().all(is_speech);
        self.has_calls |= deltas.iter().any(|delta| matches!(delta, Delta::ToolCallStart { .. }));
        if (self.has_calls || !speaks) && is_ambiguous(data) {
            out.truncate(from);
            let said = "an event of the model has a member of a call twice, with different values";
            out.push(Delta::Error(malformed(said, data)));
        }
    }

    fn frame(&mut self, frame: Frame, out: &mut Vec<Delta>) {
        match frame {
            Frame::Event(data) => self.event(&data, out),
            Frame::Inner(data) => {
                if let Some(inner) = self.inner.take() {
                    self.events = inner;
                }
                self.event(&data, out);
            }
            Frame::Failure(data) if !self.failed => {
                self.failed = true;
                let said = Reader::lossy(&data).value().unwrap_or_default();
                out.push(Delta::Error(failure(&said, &data)));
            }
            Frame::Failure(_) => {}
        }
    }

    /// Takes a whole event whose end was not received, if the response is complete with it.
    fn last(&mut self, data: &str, out: &mut Vec<Delta>) {
        if self.failed {
            return;
        }
        let (mut ended, mut deltas) = (self.events.clone(), Vec::new());
        ended.data(data, &mut deltas);
        self.refuse_ambiguous(data, 0, &mut deltas);
        // What the provider says to have failed has, with or without a blank line behind it.
        let fails = matches!(deltas.last(), Some(Delta::Error(error)) if error.class != ErrorClass::Malformed);
        if ended.is_finished() || fails {
            self.events = ended;
            self.failed = fails;
            out.append(&mut deltas);
        }
    }

    /// Takes the page or the text of a gateway. As its status 502, it may be gone with the next request.
    fn page(&mut self, page: &[u8], out: &mut Vec<Delta>) {
        let page = String::from_utf8_lossy(page);
        let said = "the response is a page or a plain text, not a response of the model's API";
        if !std::mem::replace(&mut self.failed, true) {
            let class = ErrorClass::Server;
            out.push(Delta::Error(StreamError { class, ..malformed(said, &page) }));
        }
    }

    fn too_large(&mut self, out: &mut Vec<Delta>) {
        let message = format!("an event is larger than {} bytes", limits::SSE_EVENT_BYTES);
        self.broken(&message, "", out);
    }

    fn broken(&mut self, why: &str, text: &str, out: &mut Vec<Delta>) {
        if !std::mem::replace(&mut self.failed, true) {
            out.push(Delta::Error(malformed(why, text)));
        }
    }
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(SHOWN)).unwrap_or_default()
}

fn is_whole(data: &str) -> bool {
    let mut reader = Reader::lossy(data);
    data.trim() == "[DONE]" || reader.skip().and_then(|()| reader.end()).is_ok()
}
