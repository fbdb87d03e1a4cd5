//! Event-stream framing against eventsource-parser's own recordings.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

use crate::common;
use std::fs;

use serde_json::Value;
use turnlock::stream::{SseDecoder, SseEvent};
use turnlock::turn::{Event, EventKind, PhaseName};

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
    let path = common::data("sse-framing/eventsource-parser.jsonl");
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

/// Text that would end a line, an event or a stream, if it were not written as JSON.
const NASTY: [&str; 7] = [
    "a\rb\nc\r\nd\r\n\r\n",
    "\n\ndata: {\"type\":\"complete\"}\n\n",
    "id: 7\nevent: x\nretry: 0\n: comment",
    "\u{2028} \u{2029} \u{85} \u{b} \u{c}",
    "\0 \u{7} \u{1b}[2J \u{7f} \u{feff}",
    "😀 e\u{301} \u{202e}",
    "\"\\\"\\\\ </script><!--",
];

#[test]
fn what_is_written_is_read() {
    let kinds = |text: &str| {
        let text = text.to_owned();
        [EventKind::text(&*text), EventKind::reasoning(&*text), EventKind::cancelled(text)]
    };
    let events: Vec<Event> = NASTY
        .into_iter()
        .flat_map(kinds)
        .zip(1..)
        .map(|(kind, seq)| {
            let mut event = Event::new(PhaseName::Tool, "r", seq, kind);
            event.project_id = Some("p\n\nq".into());
            event
        })
        .collect();
    let wire: String = events.iter().map(Event::to_sse).collect();
    let mut decoder = SseDecoder::new(1_000_000);
    let mut read: Vec<(String, Value)> = Vec::new();
    let take = |event: &SseEvent<'_>| {
        read.push((event.id.to_string(), serde_json::from_str(&event.data).unwrap()));
    };
    decoder.feed(wire.as_bytes(), take).unwrap();
    let written = |event: &Event| {
        let json = serde_json::from_str(&event.to_json().to_text()).unwrap();
        (event.seq.to_string(), json)
    };
    assert_eq!(read, events.iter().map(written).collect::<Vec<_>>());
}
