//! Responses of providers.

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
