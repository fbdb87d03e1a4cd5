//! JSON, signatures, and event streams.

use serde_json::Value;
use turnlock::Signature;
use turnlock::json::{Json, canonicalize};
use turnlock::stream::{SseDecoder, SseEvent};

use super::Bytes;

const MOST: usize = 1 << 20;

/// What is read is what another reader reads, and what is written is read as the same.
pub(super) fn json(data: &[u8]) {
    let strict = Json::parse(data, MOST);
    let lossy = Json::parse_lossy(data, MOST);
    if let Ok(value) = &strict {
        assert!(lossy.is_ok(), "the strict reader takes what the lossy one refuses");
        let text = value.to_text();
        assert_eq!(&Json::parse_str(&text).expect("own text"), value);
        match serde_json::from_slice::<Value>(data) {
            Ok(other) => {
                let again = serde_json::from_str(&text).expect("own text, for another reader");
                assert!(is_same(&again, &other), "{text}");
            }
            // It refuses numbers beyond a double, which are kept here as they are written.
            Err(error) => assert!(error.to_string().contains("number out of range"), "{error}"),
        }
    }
    if let Ok(text) = canonicalize(data) {
        assert_eq!(canonicalize(text.as_bytes()).as_ref(), Ok(&text), "canonical twice");
    }
}

/// The same values; -0 is 0 (RFC 8785), and the other reader may miss the last bit of a double.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            let (x, y) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            a == b || (x - y).abs() <= 1e-15 * x.abs()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        _ => one == other,
    }
}

/// The identity of a call is that of its canonical arguments.
pub(super) fn signature(data: &[u8]) {
    let mut bytes = Bytes(data);
    let name = bytes.text();
    let args = bytes.0;
    let (Ok(canonical), Ok(value)) = (canonicalize(args), Json::parse(args, MOST)) else { return };
    let of = |json: &Json<'_>| Signature::new(&name, None, json, None);
    let signed = of(&value).to_string();
    let parsed = Json::parse_str(&canonical).expect("canonical text");
    assert_eq!(of(&parsed).to_string(), signed);
    assert_eq!(signed.len(), 64);
}

/// The events are the same, however the bytes are cut, and a limit is an error in both.
pub(super) fn sse(data: &[u8]) {
    let mut bytes = Bytes(data);
    let (most, size) = (1 + bytes.below(256) * 16, 1 + bytes.below(16));
    let events = |chunks: &mut dyn Iterator<Item = &[u8]>| {
        let mut decoder = SseDecoder::new(most);
        let mut all = Vec::new();
        for chunk in chunks {
            let take = |event: &SseEvent<'_>| {
                all.push((event.event.to_string(), event.data.to_string()));
            };
            if decoder.feed(chunk, take).is_err() {
                return None;
            }
        }
        Some(all)
    };
    let whole = events(&mut [bytes.0].into_iter());
    let cut = events(&mut bytes.0.chunks(size));
    if let (Some(whole), Some(cut)) = (whole, cut) {
        assert_eq!(cut, whole);
    }
}
