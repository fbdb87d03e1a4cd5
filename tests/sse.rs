//! Event-stream framing against eventsource-parser's own recordings.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

mod common;

use std::fs;

use serde_json::Value;
use turnlock::stream::{SseDecoder, SseEvent};

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
    let mut decoder = SseDecoder::new(1_000_000);
    let mut events = Vec::new();
    for chunk in chunks {
        let take =
            |event: &SseEvent<'_>| events.push((event.event.to_string(), event.data.to_string()));
        decoder.feed(chunk, take).unwrap();
    }
    events
}

#[test]
fn recordings() {
    let path = common::corpora().join("sse-framing/eventsource-parser.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let (mut played, mut left_out) = (0, 0);
    for line in text.lines() {
        let recording: Value = serde_json::from_str(line).unwrap();
        let name = recording["test"].as_str().unwrap();
        let ops = recording["ops"].as_array().unwrap();
        // That parser's buffer option and its reset have no counterpart here: our limit is fixed
        // and terminal, and a decoder is made anew for each response.
        let foreign = !recording["options"]["maxBufferSize"].is_null()
            || ops.iter().any(|op| op["feed"].is_null());
        if foreign {
            left_out += 1;
            continue;
        }
        // Two recordings hold a byte order mark as three Latin-1 characters: its bytes.
        let fed: Vec<String> = ops
            .iter()
            .map(|op| op["feed"].as_str().unwrap().replace("\u{ef}\u{bb}\u{bf}", "\u{feff}"))
            .collect();
        let chunks: Vec<&[u8]> = fed.iter().map(String::as_bytes).collect();
        let want: Vec<(String, String)> = recording["events"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["type"] == "event")
            .map(|event| {
                let part = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
                (part("event"), part("data"))
            })
            .collect();
        assert_eq!(decode(chunks.iter().copied()), want, "{name}");
        let whole = chunks.concat();
        assert_eq!(decode(whole.chunks(1)), want, "{name}: one byte at a time");
        if whole.len() < 5_000 {
            for cut in 0..=whole.len() {
                let (head, tail) = whole.split_at(cut);
                assert_eq!(decode([head, tail]), want, "{name}: cut at byte {cut}");
            }
        }
        played += 1;
    }
    assert_eq!((played, left_out), (39, 13));
}
