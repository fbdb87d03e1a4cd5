//! Decodes `text/event-stream` bytes, after [WHATWG HTML §9.2.6].
//!
//! Any split of the stream gives the same events: a chunk may end inside a line, a `\r\n` pair or a
//! UTF-8 sequence. An event that is complete within one chunk is not copied.
//!
//! [WHATWG HTML §9.2.6]: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

use std::borrow::Cow;

/// One dispatched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event` field; empty if there was none (a browser would use `message`).
    pub event: Cow<'a, str>,
    /// The `data` lines, joined by line feeds.
    pub data: Cow<'a, str>,
    /// The last `id` field seen in the stream.
    pub id: Cow<'a, str>,
}

/// An event is larger than the decoder's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

/// Turns chunks into events.
///
/// ```
/// use turnlock::stream::SseDecoder;
///
/// let mut seen = Vec::new();
/// let mut decoder = SseDecoder::new(1024);
/// for chunk in ["event: ping\nda", "ta: 1\n", "\n"] {
///     decoder.feed(chunk.as_bytes(), |it| seen.push(format!("{}={}", it.event, it.data)))?;
/// }
/// assert_eq!(seen, ["ping=1"]);
/// # Ok::<(), turnlock::stream::EventTooLarge>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseDecoder {
    limit: usize,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// The previous byte was `\r`: a `\n` now belongs to the same terminator.
    after_cr: bool,
    first_line: bool,
    event: String,
    /// `None` until a `data` field arrives: an event without one is not dispatched.
    data: Option<String>,
    id: String,
    /// The beginning of the first line that is no field of the standard, such as a line of a page.
    foreign: Option<String>,
}

impl SseDecoder {
    /// Creates a decoder that stores at most `limit` bytes of one event.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            first_line: true,
            event: String::new(),
            data: None,
            id: String::new(),
            foreign: None,
        }
    }

    /// Takes the next chunk, of any length, and dispatches each event that it completes.
    ///
    /// # Errors
    /// If an event exceeds the limit. The stream cannot be decoded further.
    pub fn feed(
        &mut self,
        chunk: &[u8],
        mut dispatch: impl FnMut(&SseEvent<'_>),
    ) -> Result<(), EventTooLarge> {
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = rest.iter().position(|b| *b == b'\n' || *b == b'\r') {
            let (line, tail) = rest.split_at_checked(at).unwrap_or((rest, &[]));
            rest = after_terminator(tail);
            self.after_cr = tail == b"\r";
            if self.line.is_empty() {
                if let Some(data) = self.whole_event(line, &mut rest) {
                    dispatch(&SseEvent { event: "".into(), data, id: self.id.as_str().into() });
                    continue;
                }
                self.end_line(line, &mut dispatch);
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.end_line(&whole, &mut dispatch);
                whole.clear();
                self.line = whole;
            }
            self.check(0)?;
        }
        self.check(rest.len())?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Returns the last event if its blank line never arrived. A browser drops it, but some
    /// providers close without the last blank line, so the caller may check whether it is complete.
    pub fn end(&mut self) -> Option<SseEvent<'static>> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, &mut |_| {});
        }
        let data = self.data.take()?;
        let event = std::mem::take(&mut self.event);
        Some(SseEvent { event: event.into(), data: data.into(), id: self.id.clone().into() })
    }

    /// Returns the beginning of the first line that is no field of the standard.
    pub(super) fn foreign(&self) -> Option<&str> {
        self.foreign.as_deref()
    }

    /// The common case: an event that is one `data` line and its blank line, in one chunk. Consumes
    /// the blank line.
    fn whole_event<'a>(&self, line: &'a [u8], rest: &mut &[u8]) -> Option<Cow<'a, str>> {
        if self.first_line
            || self.data.is_some()
            || !self.event.is_empty()
            || line.len() > self.limit
        {
            return None;
        }
        let value = line.strip_prefix(b"data:")?;
        // A `\r` at the end of the chunk may be half of a terminator: leave that to `feed`.
        let ([b'\n', tail @ ..] | [b'\r', b'\n', tail @ ..]) = *rest else { return None };
        *rest = tail;
        let value = value.strip_prefix(b" ").unwrap_or(value);
        // The check alone reads several bytes at once, which the search for what to replace does not.
        let valid = std::str::from_utf8(value);
        Some(valid.map_or_else(|_| String::from_utf8_lossy(value), Cow::Borrowed))
    }

    fn check(&self, more: usize) -> Result<(), EventTooLarge> {
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len) + self.event.len();
        let fits = held + more <= self.limit;
        if fits { Ok(()) } else { Err(EventTooLarge { limit: self.limit }) }
    }

    fn end_line(&mut self, line: &[u8], dispatch: &mut dyn FnMut(&SseEvent<'_>)) {
        // "One leading U+FEFF BYTE ORDER MARK character must be ignored if any are present."
        let line = if std::mem::take(&mut self.first_line) {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            if let Some(data) = self.data.take() {
                dispatch(&SseEvent {
                    event: self.event.as_str().into(),
                    data: data.into(),
                    id: self.id.as_str().into(),
                });
            }
            self.event.clear();
            return;
        }
        let (field, value) = match line.iter().position(|b| *b == b':') {
            Some(0) => return, // a comment
            Some(at) => {
                let (field, value) = line.split_at_checked(at).unwrap_or((line, &[]));
                let value = value.strip_prefix(b":").unwrap_or(value);
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match field {
            b"data" => {
                let value = String::from_utf8_lossy(value);
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(&value);
                    }
                    None => self.data = Some(value.into_owned()),
                }
            }
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            // "If the field value does not contain U+0000 NULL"
            b"id" if !value.contains(&0) => self.id = String::from_utf8_lossy(value).into_owned(),
            b"id" | b"retry" => {} // `retry` concerns reconnecting
            _ if self.foreign.is_none() => {
                let head = line.get(..line.len().min(200)).unwrap_or_default();
                self.foreign = Some(String::from_utf8_lossy(head).into_owned());
            }
            _ => {} // any other field is ignored
        }
    }
}

/// Returns what follows the line terminator at the start of `tail`.
fn after_terminator(tail: &[u8]) -> &[u8] {
    match tail {
        [b'\r', b'\n', rest @ ..] | [b'\r' | b'\n', rest @ ..] => rest,
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAPE: &[u8] =
        "\u{FEFF}event: delta\r\ndata: {\"t\":\"é\"}\r\n\r\n: ping\n\ndata: a\ndata:b\r\rdata: c\n\nid: 7\ndata\n\n"
            .as_bytes();

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String, String)> {
        let mut decoder = SseDecoder::new(1000);
        let mut events = Vec::new();
        for chunk in chunks {
            let take = |e: &SseEvent<'_>| {
                events.push((e.event.to_string(), e.data.to_string(), e.id.to_string()));
            };
            decoder.feed(chunk, take).unwrap();
        }
        events
    }

    /// Every way to cut the tape in two, and one byte at a time.
    #[test]
    fn chunking_never_matters() {
        let whole = decode([TAPE]);
        let data: Vec<_> = whole.iter().map(|(_, data, _)| data.as_str()).collect();
        assert_eq!(data, ["{\"t\":\"é\"}", "a\nb", "c", ""]);
        for cut in 0..=TAPE.len() {
            let (head, tail) = TAPE.split_at(cut);
            assert_eq!(decode([head, tail]), whole, "cut at byte {cut}");
        }
        assert_eq!(decode(TAPE.chunks(1)), whole, "one byte at a time");
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut decoder = SseDecoder::new(100);
        let fed = (0..20).try_for_each(|_| decoder.feed(b"data: 0123456789\n", |_| {}));
        assert_eq!(fed, Err(EventTooLarge { limit: 100 }));
    }
}
