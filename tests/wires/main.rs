//! Recorded responses on every wire, streams and whole bodies: any cut gives the same deltas, and
//! what they say is what `tests/wires` has and what an independent reading of the bodies says.
//!
//! `WRITE_WIRES=1 cargo test -p turnlock --test wires` writes `tests/wires` anew.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

mod attribution;
mod back;
mod bad;
#[path = "../common/mod.rs"]
mod common;
mod contradictions;
mod frames;
mod oracle;
mod recorded;

use std::collections::BTreeMap;
use std::fs;

use recorded::{Form, bodies};
use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::stream::{Decoder, Delta, Response};

/// Bodies over this are cut at some hundred places instead of at every byte.
const EVERY_CUT: usize = 4_000;

fn decode<'a>(dialect: Dialect, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Delta> {
    run(Decoder::new(dialect).unwrap(), chunks)
}

fn run<'a>(mut decoder: Decoder, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk, &mut deltas);
    }
    decoder.end(&mut deltas);
    deltas
}

/// The deltas of a body, which are the same wherever it is cut and with or without the short cut.
fn any_cut(dialect: Dialect, bytes: &[u8], name: &str, random: &mut common::Random) -> Vec<Delta> {
    let whole = decode(dialect, [bytes]);
    let plain = run(Decoder::new(dialect).unwrap().without_template(), [bytes]);
    assert_eq!(plain, whole, "{name}: with and without the short cut");
    assert_eq!(decode(dialect, bytes.chunks(1)), whole, "{name}: one byte at a time");
    let cuts: Vec<usize> = if bytes.len() <= EVERY_CUT {
        (0..=bytes.len()).collect()
    } else {
        (0..60).map(|_| random.below(bytes.len())).collect()
    };
    for cut in cuts {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(decode(dialect, [head, tail]), whole, "{name}: cut at byte {cut}");
    }
    whole
}

/// A long text by its ends, so that the expectations can be read.
fn short(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= 160 {
        return text.to_owned();
    }
    let (head, tail): (String, String) =
        (chars[..100].iter().collect(), chars[chars.len() - 40..].iter().collect());
    format!("{head} … {tail} ({} bytes, {:08x})", text.len(), frames::crc32(text.as_bytes()))
}

fn said(deltas: &[Delta]) -> Value {
    let mut response = Response::default();
    deltas.iter().for_each(|delta| response.take(delta).unwrap());
    let mut all = serde_json::Map::new();
    let mut add = |key: &str, value: Value| {
        if !value.is_null() && value != json!([]) && value != "" {
            all.insert(key.to_owned(), value);
        }
    };
    let reasoning = response.reasoning.iter().map(|block| match &block.signature {
        Some(signature) => json!([short(&block.text), short(signature)]),
        None => json!(short(&block.text)),
    });
    add("reasoning", reasoning.collect());
    add("text", json!(short(&response.text)));
    let calls = response.calls.iter().map(|call| {
        let mut one = vec![json!(call.name), json!(call.id), json!(short(&call.arguments))];
        one.extend((!call.ended).then(|| json!("open")));
        Value::Array(one)
    });
    add("calls", calls.collect());
    let finish = response.finish.map(|(reason, raw)| format!("{} ({raw})", reason.name()));
    add("finish", json!(finish));
    let usage = response.usage.map(|usage| {
        json!([
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            usage.reasoning_tokens
        ])
    });
    add("usage", json!(usage));
    let others = deltas.iter().filter(|delta| matches!(delta, Delta::Other { .. })).count();
    add("other", if others > 0 { json!(others) } else { Value::Null });
    let error = deltas.iter().find_map(|delta| match delta {
        Delta::Error(error) => Some(format!("{}: {}", error.class.name(), short(&error.message))),
        _ => None,
    });
    add("error", json!(error));
    Value::Object(all)
}

fn dialect(name: &str) -> Dialect {
    Dialect::parse(name).unwrap()
}

#[test]
fn every_recorded_body_is_read() {
    let mut random = common::Random(7);
    let mut wires: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let all = bodies();
    for body in &all {
        let deltas = any_cut(dialect(body.wire), &body.bytes, &body.name, &mut random);
        let said = said(&deltas);
        for call in said["calls"].as_array().into_iter().flatten() {
            let text = call[2].as_str().unwrap();
            let whole = text.is_empty() || text.contains(" bytes, ");
            let parses = whole || serde_json::from_str::<Value>(text).is_ok_and(|v| v.is_object());
            assert!(parses || call[3] == "open" || body.cut(), "{}: {text}", body.name);
        }
        wires.entry(body.wire).or_default().push(format!("[{:?},{said}]", body.name));
    }
    for (wire, lines) in wires {
        let text = format!("[\n{}\n]\n", lines.join(",\n"));
        let path = common::repo().join(format!("tests/wires/{wire}.json"));
        if std::env::var("WRITE_WIRES").is_ok() {
            fs::write(&path, &text).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        for (kept, new) in kept.lines().zip(text.lines()) {
            assert_eq!(new, kept, "{wire}");
        }
        assert_eq!(kept.lines().count(), text.lines().count(), "{wire}");
    }
    let count = |wire: &str, form: Form| {
        all.iter().filter(|body| body.wire == wire && body.form == form).count()
    };
    for (wire, streams, whole) in [
        ("openai-chat", 50, 40),
        ("anthropic", 45, 50),
        ("openai-responses", 70, 50),
        ("gemini", 60, 20),
        ("bedrock", 12, 11),
        ("cohere", 4, 6),
        ("ollama", 8, 3),
    ] {
        let (s, w) = (count(wire, Form::Stream), count(wire, Form::Whole));
        assert!(s >= streams && w >= whole, "{wire}: {s} streams, {w} whole responses");
    }
}
