//! Responses of providers, and the frames of Bedrock.

use turnlock::Dialect;
use turnlock::stream::{Decoder, Delta, Response};

use super::Bytes;

fn deltas<'a>(mut decoder: Decoder, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Delta> {
    let mut all = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk, &mut all);
    }
    decoder.end(&mut all);
    all
}

/// The deltas of a response are the same, however it is cut, with the short cut and without.
pub(super) fn wire(dialect: Dialect, data: &[u8]) {
    let mut bytes = Bytes(data);
    let size = 1 + bytes.below(64);
    let decoder = || Decoder::new(dialect).expect("a wire");
    let whole = deltas(decoder(), [bytes.0]);
    assert_eq!(deltas(decoder(), bytes.0.chunks(size)), whole, "pieces of {size}");
    assert_eq!(deltas(decoder().without_template(), [bytes.0]), whole, "without the short cut");
    let mut response = Response::default();
    for delta in &whole {
        if response.take(delta).is_err() {
            return;
        }
    }
}

/// As the format's specification has it (<https://www.rfc-editor.org/rfc/rfc1952#section-8>).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1))
        })
    })
}

/// A frame whose checksums are right: a fuzzer does not find these.
fn frame(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = |size: usize| u32::try_from(size).expect("a piece").to_be_bytes();
    let mut made = [length(16 + headers.len() + payload.len()), length(headers.len())].concat();
    made.extend(crc32(&made).to_be_bytes());
    made.extend([headers, payload].concat());
    made.extend(crc32(&made).to_be_bytes());
    made
}

/// A header with a text, its name and value by their number: those that are read, and any others.
fn header(bytes: &mut Bytes<'_>) -> Vec<u8> {
    const NAMES: [&str; 6] =
        [":message-type", ":event-type", ":exception-type", ":error-message", ":content-type", "x"];
    const VALUES: [&str; 8] = [
        "event",
        "exception",
        "error",
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "messageStop",
        "chunk",
    ];
    let name = NAMES[bytes.below(NAMES.len())];
    let value = VALUES[bytes.below(VALUES.len())];
    let length = |text: &str| u8::try_from(text.len()).expect("a short text");
    [&[length(name)], name.as_bytes(), &[7, 0, length(value)], value.as_bytes()].concat()
}

/// Frames with any headers and payloads: the deltas are the same, however the bytes are cut, and a
/// byte that is not as it was sent is an error, but for the first one, which tells frames from text.
pub(super) fn frames(data: &[u8]) {
    let mut bytes = Bytes(data);
    let (size, wrong) = (1 + bytes.below(64), bytes.below(8));
    let mut stream = Vec::new();
    while !bytes.is_empty() && stream.len() < 1 << 16 {
        let headers = match bytes.below(8) {
            0 => bytes.piece().to_vec(),
            count => (1..count).flat_map(|_| header(&mut bytes)).collect(),
        };
        stream.extend(frame(&headers, bytes.piece()));
    }
    let decoder = || Decoder::new(Dialect::Bedrock).expect("a wire");
    let whole = deltas(decoder(), [&stream[..]]);
    assert_eq!(deltas(decoder(), stream.chunks(size)), whole, "pieces of {size}");
    if wrong == 0 && !stream.is_empty() {
        let at = usize::from(u16::from_be_bytes([data[0], *data.last().unwrap_or(&0)]));
        let at = at % stream.len();
        stream[at] ^= 1;
        let damaged = deltas(decoder(), [&stream[..]]);
        let is_error = damaged.last().is_some_and(|last| matches!(last, Delta::Error(_)));
        assert!(at == 0 || is_error || damaged == whole, "byte {at}");
    }
}
