//! Decoders of provider streams.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::STREAMS;
use turnlock::dialect::Dialect;
use turnlock::error::Error;
use turnlock::json::write_string;
use turnlock::stream::{Decoder, Delta};

/// A decoder for a dialect, as its number.
#[wasm_bindgen]
#[must_use]
pub fn stream_new(dialect: &str) -> String {
    let made = Dialect::parse(dialect).and_then(Decoder::new);
    made.map_or_else(|error| failure(&error), |decoder| STREAMS.with(|all| all.insert(decoder)))
}

/// Feeds a chunk; a JSON array of deltas, in which a bare string is a text delta.
#[wasm_bindgen]
#[must_use]
pub fn stream_feed(handle: u32, bytes: &[u8]) -> String {
    stream(handle, |decoder, out| decoder.feed(bytes, out))
}

/// Ends a stream; its last deltas.
#[wasm_bindgen]
#[must_use]
pub fn stream_end(handle: u32) -> String {
    stream(handle, Decoder::end)
}

/// Forgets a decoder.
#[wasm_bindgen]
pub fn stream_free(handle: u32) {
    STREAMS.with(|all| all.remove(handle));
}

fn stream(handle: u32, work: impl FnOnce(&mut Decoder, &mut Vec<Delta>)) -> String {
    let mut deltas = Vec::new();
    let found = STREAMS.with(|all| all.with(handle, |decoder| work(decoder, &mut deltas)));
    if found.is_none() {
        return failure(&Error::Handle);
    }
    // Which member has the reasoning is for histories alone.
    deltas.retain(|delta| !matches!(delta, Delta::Members { members, .. } if members == EMPTY));
    texts(&deltas)
}

/// Members without content.
const EMPTY: &str = r#"{"reasoning":""}"#;

/// A JSON array, in which a bare string is a text delta; empty when there are none.
fn texts(deltas: &[Delta]) -> String {
    if deltas.is_empty() {
        return String::new();
    }
    let mut out = String::from("[");
    for delta in deltas {
        if out.len() > 1 {
            out.push(',');
        }
        match delta {
            Delta::Text(text) => write_string(text, &mut out),
            delta => delta.write_json(&mut out),
        }
    }
    out.push(']');
    out
}
