//! Decodes `application/vnd.amazon.eventstream`, the binary frames of Bedrock:
//! <https://smithy.io/2.0/aws/amazon-eventstream.html>.
//!
//! ```text
//!   u32 length of the frame · u32 length of the headers · u32 CRC of these eight bytes
//!   headers · payload · u32 CRC of everything before
//! ```

use crate::json::{Json, Reader, object, write_string};
use crate::limits;
use crate::text::base64;

/// The lengths, their CRC, and the CRC of the frame.
const LEAST: usize = 16;

/// Reads frames. A provider names it, so that a program without these providers does not hold it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Framer(pub(super) Feed);

type Feed = fn(&mut Frames, &[u8], &mut dyn FnMut(Frame)) -> Result<(), Broken>;

pub(crate) const FRAMES: Framer = Framer(Frames::feed);

impl PartialEq for Framer {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The state between two chunks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Frames {
    /// The beginning of a frame whose end has not arrived.
    held: Vec<u8>,
}

/// What a frame holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// An event as JSON: `{"<type>": payload}`.
    Event(String),
    /// An event of another provider's wire format, which Bedrock passes on (`{"bytes": base64}`).
    Inner(String),
    /// An exception or error as JSON: `{"type", "message"}`.
    Failure(String),
}

/// The bytes are no frames; the reason.
pub(crate) type Broken = &'static str;

impl Frames {
    /// Takes the next chunk and dispatches each frame that it completes.
    fn feed(&mut self, chunk: &[u8], dispatch: &mut dyn FnMut(Frame)) -> Result<(), Broken> {
        let mut held = std::mem::take(&mut self.held);
        let mut rest = if held.is_empty() {
            chunk
        } else {
            held.extend_from_slice(chunk);
            &held[..]
        };
        while let Some((frame, tail)) = next(rest)? {
            if let Some(frame) = read(frame)? {
                dispatch(frame);
            }
            rest = tail;
        }
        if rest.len() == held.len() {
            // Nothing was completed: a large frame is not copied with each chunk.
            self.held = held;
        } else {
            self.held = rest.to_vec();
        }
        Ok(())
    }

    /// Whether the beginning of a frame was received, and not its end.
    pub(super) fn is_cut(&self) -> bool {
        !self.held.is_empty()
    }
}

/// A frame, and what follows it.
type Divided<'a> = Option<(&'a [u8], &'a [u8])>;

/// The first frame of `bytes`, and what follows it; `None` if it is not complete.
fn next(bytes: &[u8]) -> Result<Divided<'_>, Broken> {
    let Some((lengths, _)) = bytes.split_at_checked(8) else { return Ok(None) };
    let length = u32_at(lengths);
    let Some((head, _)) = bytes.split_at_checked(12) else { return Ok(None) };
    if crc32(lengths) != u32_at(head.get(8..).unwrap_or_default()) {
        return Err("the checksum of a frame's lengths is wrong");
    }
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > limits::SSE_EVENT_BYTES {
        return Err("a frame is too large");
    }
    if length < LEAST {
        return Err("a frame is too short");
    }
    Ok(bytes.split_at_checked(length))
}

/// Reads a whole frame; `None` if it holds nothing for the reader.
fn read(frame: &[u8]) -> Result<Option<Frame>, Broken> {
    let (body, crc) = frame.split_at_checked(frame.len() - 4).unwrap_or_default();
    if crc32(body) != u32_at(crc) {
        return Err("the checksum of a frame is wrong");
    }
    let headers = usize::try_from(u32_at(body.get(4..).unwrap_or_default())).unwrap_or(0);
    let rest = body.get(12..).unwrap_or_default();
    let Some((headers, payload)) = rest.split_at_checked(headers) else {
        return Err("the headers of a frame are longer than the frame");
    };
    let headers = Headers::read(headers).ok_or("the headers of a frame cannot be read")?;
    let payload = String::from_utf8_lossy(payload);
    let mut json = String::new();
    if headers.failure.is_some() || headers.is_error {
        let said = Reader::lossy(&payload).value().ok();
        let said = said.as_ref().and_then(|said| {
            let member = said.get("message").or_else(|| said.get("Message"));
            member.and_then(Json::as_str)
        });
        let kind = headers.failure.unwrap_or("error");
        let message = said.or(headers.message).unwrap_or(&payload);
        let failure = object! { "type": Json::from(kind), "message": Json::from(message) };
        failure.write(&mut json);
        return Ok(Some(Frame::Failure(json)));
    }
    let Some(kind) = headers.event else { return Ok(None) };
    if kind == "chunk"
        && let Ok(chunk) = Reader::lossy(&payload).value()
        && let Some(bytes) = chunk.get("bytes").and_then(Json::as_str)
    {
        let inner = base64(bytes).ok_or("the payload of a frame is no base64")?;
        return Ok(Some(Frame::Inner(String::from_utf8_lossy(&inner).into_owned())));
    }
    json.push('{');
    write_string(kind, &mut json);
    json.push(':');
    json.push_str(if payload.is_empty() { "{}" } else { &payload });
    json.push('}');
    Ok(Some(Frame::Event(json)))
}

/// The headers that say what a frame holds.
#[derive(Debug, Default)]
struct Headers<'a> {
    event: Option<&'a str>,
    /// The type of an exception, or the code of an error.
    failure: Option<&'a str>,
    message: Option<&'a str>,
    is_error: bool,
}

impl<'a> Headers<'a> {
    fn read(mut rest: &'a [u8]) -> Option<Self> {
        let mut all = Self::default();
        while let Some((length, tail)) = rest.split_first() {
            let (name, tail) = tail.split_at_checked(usize::from(*length))?;
            let (kind, tail) = tail.split_first()?;
            let (size, tail) = match kind {
                0 | 1 => (0, tail),
                2 => (1, tail),
                3 => (2, tail),
                4 => (4, tail),
                5 | 8 => (8, tail),
                9 => (16, tail),
                6 | 7 => {
                    let (size, tail) = tail.split_at_checked(2)?;
                    (size.iter().fold(0, |all, byte| all * 256 + usize::from(*byte)), tail)
                }
                _ => return None,
            };
            let (value, tail) = tail.split_at_checked(size)?;
            rest = tail;
            if *kind != 7 {
                continue;
            }
            let value = std::str::from_utf8(value).ok()?;
            match name {
                b":event-type" => all.event = Some(value),
                b":exception-type" | b":error-code" => all.failure = Some(value),
                b":error-message" => all.message = Some(value),
                b":message-type" => all.is_error = value == "error" || value == "exception",
                _ => {}
            }
        }
        Some(all)
    }
}

/// The number in the first four bytes.
fn u32_at(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |all, byte| all << 8 | u32::from(*byte))
}

/// The CRC of gzip and PNG (ISO 3309), reflected.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 16] = {
        let mut table = [0; 16];
        let mut at = 0;
        let mut value = 0;
        while at < 16 {
            let mut crc = value;
            let mut bit = 0;
            while bit < 4 {
                crc = if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
                bit += 1;
            }
            #[allow(clippy::indexing_slicing, reason = "when the program is compiled")]
            {
                table[at] = crc;
            }
            at += 1;
            value += 1;
        }
        table
    };
    let step = |crc: u32| {
        let at = usize::try_from(crc & 15).unwrap_or(0);
        TABLE.get(at).copied().unwrap_or(0) ^ (crc >> 4)
    };
    !bytes.iter().fold(!0, |crc, byte| step(step(crc ^ u32::from(*byte))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_zlib() {
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
