//! Recorded streams of real providers: any cut gives the same deltas, and the deltas mean what
//! an independent reading of the events says.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use turnlock::Dialect;
use turnlock::stream::{Decoder, Delta, Response};

/// Bodies over this are cut at some hundred places instead of at every byte.
const EVERY_CUT: usize = 6_000;

/// A recorded body in wire form, and the JSON of its events.
struct Tape {
    path: PathBuf,
    bytes: Vec<u8>,
    events: Vec<Value>,
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

/// Every recorded body whose events are of a kind, found by looking at them.
fn tapes(is_of_kind: fn(&Value) -> bool) -> Vec<Tape> {
    let mut paths = Vec::new();
    for folder in ["streams-vercel-ai", "streams-prism-php", "streams-misc"] {
        files(&common::data(folder), &mut paths);
    }
    paths.sort();
    let mut tapes = Vec::new();
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let chunks = path.to_string_lossy().ends_with(".chunks.txt");
        let text = if chunks {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines.map(|line| format!("data: {line}\n\n")).collect()
        } else {
            text
        };
        let data = |line: &str| Some(line.strip_prefix("data:")?.trim().to_owned());
        let events: Vec<Value> =
            text.lines().filter_map(data).filter_map(|d| serde_json::from_str(&d).ok()).collect();
        if events.iter().any(is_of_kind) && text.trim_start().starts_with(['d', 'e', ':']) {
            tapes.push(Tape { path, bytes: text.into_bytes(), events });
        }
    }
    tapes
}

fn decode<'a>(dialect: Dialect, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Delta> {
    let mut decoder = Decoder::new(dialect).unwrap();
    let mut deltas = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk, &mut deltas);
    }
    decoder.end(&mut deltas);
    deltas
}

fn any_cut_is_the_same(dialect: Dialect, tape: &Tape) -> Vec<Delta> {
    let whole = decode(dialect, [&tape.bytes[..]]);
    let name = tape.path.display();
    let mut plain = Vec::new();
    let mut decoder = Decoder::new(dialect).unwrap().without_template();
    decoder.feed(&tape.bytes, &mut plain);
    decoder.end(&mut plain);
    assert_eq!(plain, whole, "{name}: with and without the short cut");
    assert_eq!(decode(dialect, tape.bytes.chunks(1)), whole, "{name}: one byte at a time");
    let step = if tape.bytes.len() <= EVERY_CUT { 1 } else { tape.bytes.len() / 300 };
    for cut in (0..=tape.bytes.len()).step_by(step) {
        let (head, tail) = tape.bytes.split_at(cut);
        assert_eq!(decode(dialect, [head, tail]), whole, "{name}: cut at byte {cut}");
    }
    whole
}

/// What a stream says, read without the crate.
#[derive(Debug, Default, PartialEq)]
struct Meaning {
    text: String,
    reasoning: String,
    calls: Vec<(String, String)>,
    finish: Option<String>,
    output_tokens: Option<u64>,
}

fn meaning_of(deltas: &[Delta]) -> (Meaning, bool) {
    let mut response = Response::default();
    deltas.iter().for_each(|delta| response.take(delta).unwrap());
    let ended = response.calls.iter().all(|call| call.ended);
    let calls = response.calls.into_iter().map(|call| (call.name, call.arguments));
    let meaning = Meaning {
        text: response.text,
        reasoning: response.reasoning.into_iter().map(|block| block.text).collect(),
        calls: calls.collect(),
        finish: response.finish.map(|(_, raw)| raw),
        output_tokens: response.usage.and_then(|usage| usage.output_tokens),
    };
    (meaning, ended)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn read_openai(events: &[Value]) -> Meaning {
    let mut meaning = Meaning::default();
    // By (index, id): a new id at a known index is a new call.
    let mut keys: Vec<(Value, String)> = Vec::new();
    for event in events {
        for usage in [&event["usage"], &event["x_groq"]["usage"]] {
            let tokens = usage["completion_tokens"].as_u64();
            meaning.output_tokens = tokens.or(meaning.output_tokens);
        }
        for choice in event["choices"].as_array().into_iter().flatten() {
            if choice["index"].as_u64().unwrap_or(0) != 0 {
                continue;
            }
            let delta = &choice["delta"];
            meaning.text += text(&delta["content"]);
            meaning.text += text(&delta["refusal"]);
            for part in delta["content"].as_array().into_iter().flatten() {
                meaning.text += text(&part["text"]);
                for thought in part["thinking"].as_array().into_iter().flatten() {
                    meaning.reasoning += text(&thought["text"]);
                }
            }
            let reasoning = [&delta["reasoning_content"], &delta["reasoning"]];
            meaning.reasoning += reasoning.iter().find_map(|r| r.as_str()).unwrap_or_default();
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                let (index, id) = (call["index"].clone(), text(&call["id"]));
                let found = keys.iter().rposition(|(known, known_id)| {
                    *known == index && (id.is_empty() || id == "null" || id == known_id)
                });
                let at = found.unwrap_or_else(|| {
                    keys.push((index, id.to_owned()));
                    meaning.calls.push((String::new(), String::new()));
                    keys.len() - 1
                });
                let (name, arguments) = &mut meaning.calls[at];
                if name.is_empty() {
                    *name = text(&call["function"]["name"]).to_owned();
                }
                *arguments += &match &call["function"]["arguments"] {
                    Value::String(text) => text.clone(),
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
            }
            if let Some(raw) = choice["finish_reason"].as_str().filter(|raw| !raw.is_empty()) {
                meaning.finish.get_or_insert_with(|| raw.to_owned());
            }
        }
    }
    meaning
}

fn read_anthropic(events: &[Value]) -> Meaning {
    let mut meaning = Meaning::default();
    let mut blocks: Vec<(u64, Option<usize>)> = Vec::new();
    for event in events {
        let index = event["index"].as_u64().unwrap_or(0);
        match text(&event["type"]) {
            "message_start" => {
                let message = &event["message"];
                meaning.output_tokens = message["usage"]["output_tokens"].as_u64();
                for block in message["content"].as_array().into_iter().flatten() {
                    if block["type"] == "tool_use" {
                        let call = (text(&block["name"]).to_owned(), block["input"].to_string());
                        meaning.calls.push(call);
                    }
                }
                if let Some(raw) = message["stop_reason"].as_str() {
                    meaning.finish.get_or_insert_with(|| raw.to_owned());
                }
            }
            "content_block_start" => {
                let block = &event["content_block"];
                let mut call = None;
                match text(&block["type"]) {
                    "text" => meaning.text += text(&block["text"]),
                    "thinking" => meaning.reasoning += text(&block["thinking"]),
                    "tool_use" => {
                        call = Some(meaning.calls.len());
                        let input = block["input"].as_object().filter(|input| !input.is_empty());
                        let whole = input.map(|_| block["input"].to_string()).unwrap_or_default();
                        meaning.calls.push((text(&block["name"]).to_owned(), whole));
                    }
                    _ => {}
                }
                blocks.retain(|(open, _)| *open != index);
                blocks.push((index, call));
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                meaning.text += text(&delta["text"]);
                meaning.reasoning += text(&delta["thinking"]);
                let open = blocks.iter().find(|(open, _)| *open == index);
                if let Some((_, Some(call))) = open {
                    meaning.calls[*call].1 += text(&delta["partial_json"]);
                }
            }
            "message_delta" => {
                let tokens = event["usage"]["output_tokens"].as_u64();
                meaning.output_tokens = tokens.or(meaning.output_tokens);
                if let Some(raw) = event["delta"]["stop_reason"].as_str() {
                    meaning.finish.get_or_insert_with(|| raw.to_owned());
                }
            }
            _ => {}
        }
    }
    meaning
}

fn check(dialect: Dialect, tapes: &[Tape], read: fn(&[Value]) -> Meaning) -> [usize; 3] {
    let mut counts = [0; 3];
    for tape in tapes {
        let deltas = any_cut_is_the_same(dialect, tape);
        let name = tape.path.display();
        let failed = deltas.iter().find_map(|delta| match delta {
            Delta::Error(error) => Some(error),
            _ => None,
        });
        if let Some(error) = failed {
            // Recorded failures, and one stream into which a retry was spliced.
            let said = tape.events.iter().any(|event| !event["error"].is_null());
            let spliced = tape.path.to_string_lossy().contains("spliced-message-start");
            assert!(said || spliced, "{name}: {error:?}");
            counts[2] += 1;
            continue;
        }
        let (got, ended) = meaning_of(&deltas);
        assert_eq!(got, read(&tape.events), "{name}");
        let finished = got.finish.is_some();
        assert!(ended || !finished || got.finish.as_deref() == Some("max_tokens"), "{name}");
        counts[0] += 1;
        counts[1] += usize::from(!got.calls.is_empty());
        // A call that the provider ended with a reason of its own has arguments that parse.
        for (_, arguments) in got.calls.iter().filter(|_| ended && finished) {
            let whole = arguments.is_empty() || serde_json::from_str::<Value>(arguments).is_ok();
            let cut = matches!(got.finish.as_deref(), Some("max_tokens" | "length"));
            assert!(whole || cut, "{name}: {arguments}");
        }
    }
    counts
}

#[test]
fn openai_chat_tapes() {
    let tapes = tapes(|event| {
        let delta =
            event["choices"].as_array().is_some_and(|c| c.iter().any(|c| c["delta"].is_object()));
        delta || event["object"] == "chat.completion.chunk"
    });
    let [read, with_calls, failed] = check(Dialect::OpenAiChat, &tapes, read_openai);
    println!("{read} read, {with_calls} with calls, {failed} failures");
    assert!(read >= 50 && with_calls >= 20, "only {read} tapes, {with_calls} with calls");
}

#[test]
fn anthropic_tapes() {
    let tapes = tapes(|event| event["type"] == "message_start");
    let [read, with_calls, failed] = check(Dialect::Anthropic, &tapes, read_anthropic);
    println!("{read} read, {with_calls} with calls, {failed} failures");
    assert!(read >= 45 && with_calls >= 10, "only {read} tapes, {with_calls} with calls");
}

/// Broken in any way, a stream still decodes to something, the same wherever it is cut.
#[test]
fn broken_tapes() {
    let mut random = common::Random(0xB0B);
    let mut failures = 0;
    for (dialect, tapes) in [
        (Dialect::OpenAiChat, tapes(|event| event["choices"].is_array())),
        (Dialect::Anthropic, tapes(|event| event["type"] == "message_start")),
    ] {
        let tapes: Vec<_> = tapes.iter().filter(|tape| tape.bytes.len() < 20_000).collect();
        for _ in 0..1_500 {
            let mut bytes = tapes[random.below(tapes.len())].bytes.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                let end = (at + random.below(60)).min(bytes.len());
                match random.below(6) {
                    0 => {
                        bytes[at] =
                            [0, b'"', b'\\', b'{', b'\r', b'\n', 0xFF, 0xE2][random.below(8)]
                    }
                    1 => drop(bytes.drain(at..end)),
                    2 => drop(bytes.splice(at..at, bytes[at..end].to_vec()).collect::<Vec<_>>()),
                    3 => bytes.truncate(at.max(1)),
                    4 => drop(bytes.splice(at..at, *b"\\ud83d").collect::<Vec<_>>()),
                    _ => drop(bytes.splice(at..at, *b"\n\n").collect::<Vec<_>>()),
                }
            }
            let whole = decode(dialect, [&bytes[..]]);
            let text = String::from_utf8_lossy(&bytes);
            assert_eq!(decode(dialect, bytes.chunks(1)), whole, "{text}");
            let size = 1 + random.below(300);
            assert_eq!(decode(dialect, bytes.chunks(size)), whole, "{text}");
            let failed = |delta: &Delta| matches!(delta, Delta::Error(_));
            assert!(
                whole.iter().rev().skip(1).all(|delta| !failed(delta)),
                "nothing behind an error"
            );
            failures += usize::from(whole.last().is_some_and(failed));
        }
    }
    assert!(failures > 300, "only {failures} of the broken streams were noticed");
}

/// What a body begins with decides how it is read, wherever it is cut.
#[test]
fn the_beginning_is_cut_anywhere_too() {
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    for (start, texts) in
        [("", 2), ("\n\n", 2), ("\r\n", 2), (" ", 1), ("\u{feff}", 2), (": hi\n", 2)]
    {
        let stream = format!("{start}{event}{event}");
        let whole = decode(Dialect::OpenAiChat, [stream.as_bytes()]);
        assert_eq!(whole.len(), texts, "{start:?}");
        assert_eq!(decode(Dialect::OpenAiChat, stream.as_bytes().chunks(1)), whole, "{start:?}");
    }
}

/// A body in place of a stream, with status 200: providers report failures so.
#[test]
fn a_json_body_is_a_failure() {
    for (dialect, body) in [
        (Dialect::OpenAiChat, r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#),
        (Dialect::OpenAiChat, r#"{"code":"x","error":"Rate limit reached"}"#),
        (Dialect::OpenAiChat, r#"{"object":"error","message":"Rate limit reached","code":429}"#),
        (
            Dialect::Anthropic,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"x"}}"#,
        ),
    ] {
        let whole = decode(dialect, [body.as_bytes()]);
        assert_eq!(decode(dialect, body.as_bytes().chunks(1)), whole);
        let [Delta::Error(error)] = &whole[..] else { panic!("{body}: {whole:?}") };
        assert_eq!(error.class, turnlock::stream::ErrorClass::RateLimit, "{body}");
    }
}

/// An empty event keeps a connection alive. The last event counts without its blank line only if the
/// response is complete with it.
#[test]
fn framing_follows_the_standard() {
    let text = |text: &str| format!(r#"data: {{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#);
    let stop = r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let usage = r#"data: {"choices":[],"usage":{"completion_tokens":7}}"#;
    let read = |wire: &str| {
        let whole = decode(Dialect::OpenAiChat, [wire.as_bytes()]);
        for cut in 0..=wire.len() {
            let (head, tail) = wire.as_bytes().split_at(cut);
            assert_eq!(decode(Dialect::OpenAiChat, [head, tail]), whole, "{wire} cut at {cut}");
        }
        let meaning = meaning_of(&whole).0;
        let error = whole.iter().any(|delta| matches!(delta, Delta::Error(_)));
        (meaning.text, meaning.finish.is_some(), meaning.output_tokens, error)
    };
    let (a, b) = (text("a"), text("b"));
    let all = ("ab".to_owned(), true, None, false);
    for alive in ["data:\n\n", "data: \n\n", "data\n\n", "event: ping\ndata:\ndata:\n\n"] {
        let wire = format!("{alive}{a}\n\n{alive}{b}\n\n{alive}{stop}\n\n{alive}data: [DONE]\n\n");
        assert_eq!(read(&wire), all, "{alive:?}");
    }
    for end in ["", "\n"] {
        let cut = read(&format!("{a}\n\n{b}{end}"));
        assert_eq!(cut, ("a".to_owned(), false, None, false), "may be cut");
        assert_eq!(read(&format!("{a}\n\n{b}\n\n{stop}{end}")), all);
        assert_eq!(read(&format!("{a}\n\n{b}\n\ndata: [DONE]{end}")).0, "ab");
        let counted = read(&format!("{a}\n\n{b}\n\n{stop}\n\n{usage}{end}"));
        assert_eq!(counted, ("ab".to_owned(), true, Some(7), false));
    }
}

#[test]
fn details_are_the_reasoning_where_there_is_no_other() {
    let reasoning = |delta: &str| {
        let wire = format!("data: {{\"choices\":[{{\"delta\":{{{delta}}}}}]}}\n\n");
        meaning_of(&decode(Dialect::OpenAiChat, [wire.as_bytes()])).0.reasoning
    };
    let details = concat!(
        r#""reasoning_details":[{"type":"reasoning.text","text":"a","signature":null},"#,
        r#"{"type":"reasoning.summary","summary":"b"},{"type":"reasoning.encrypted","data":"x"}]"#
    );
    assert_eq!(reasoning(details), "ab");
    assert_eq!(reasoning(&format!(r#"{details},"reasoning":null,"content":"""#)), "ab");
    assert_eq!(reasoning(&format!(r#""reasoning":"ab",{details}"#)), "ab");
    assert_eq!(reasoning(&format!(r#"{details},"reasoning_content":"ab""#)), "ab");
}

/// Perplexity: each chunk has a `message` too, with all that was said so far.
#[test]
fn what_was_said_so_far_is_not_said_again() {
    for [first, second] in [["message", "delta"], ["delta", "message"]] {
        let chunk = |so_far: &str, now: &str, finish: &str| {
            let text = |key: &str| if key == "delta" { now } else { so_far }.to_owned();
            let (a, b) = (text(first), text(second));
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"{first}\":{{\"content\":\"{a}\"}},\"finish_reason\":{finish},\"{second}\":{{\"content\":\"{b}\"}}}}]}}\n\n"
            )
        };
        let wire =
            [chunk("1", "1", "null"), chunk("1 2", " 2", "null"), chunk("1 2", "", "\"stop\"")]
                .concat();
        let meaning = meaning_of(&decode(Dialect::OpenAiChat, [wire.as_bytes()])).0;
        assert_eq!(meaning.text, "1 2", "{first} first");
        assert!(meaning.finish.is_some(), "{first} first");
    }
}
