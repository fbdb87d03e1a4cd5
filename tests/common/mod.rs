//! What the native tests share: scenario tables, and a model's answer as wire bytes.
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod facts;

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

/// The root of the project: where the tests run, which need not be where they were compiled.
pub fn repo() -> PathBuf {
    std::env::current_dir().unwrap()
}

/// A file or folder of `tests/data`; `path` stays inside.
pub fn data(path: &str) -> PathBuf {
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    assert!(inside, "{path} is not a path inside tests/data");
    repo().join("tests/data").join(path)
}

/// All scenarios of all tables.
pub fn scenarios() -> Vec<Value> {
    tables("tests/scenarios")
}

/// All scenarios of the tables in a folder.
pub fn tables(folder: &str) -> Vec<Value> {
    let mut files: Vec<_> = fs::read_dir(repo().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    let read = |path| match serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() {
        Value::Array(table) => table,
        other => panic!("a table is an array: {other}"),
    };
    files.iter().flat_map(read).collect()
}

fn texts<'a>(entry: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    entry[key].as_array().into_iter().flatten().map(|text| text.as_str().unwrap())
}

fn calls(entry: &Value) -> &[Value] {
    entry["calls"].as_array().map_or(&[], Vec::as_slice)
}

/// The pieces in which the arguments of call `at` are sent.
fn arguments(entry: &Value, at: usize) -> Vec<String> {
    let call = &calls(entry)[at];
    let text = match call["argsText"].as_str() {
        Some(text) => text.to_owned(),
        None if call["args"].is_null() => "{}".to_owned(),
        None => call["args"].to_string(),
    };
    let cut = entry["then"] == "cut" && at + 1 == calls(entry).len();
    let sent = if cut { &text[..text.len().div_ceil(2)] } else { &text[..] };
    let count = usize::try_from(call["fragments"].as_u64().unwrap_or(1)).unwrap();
    let chars: Vec<char> = sent.chars().collect();
    chars.chunks(chars.len().div_ceil(count).max(1)).map(|c| c.iter().collect()).collect()
}

fn finish(entry: &Value) -> String {
    let default = if calls(entry).is_empty() { "stop" } else { "tool_calls" };
    entry["finish"].as_str().unwrap_or(default).to_owned()
}

/// A model's answer, as the bytes that `dialect` sends.
pub fn render(entry: &Value, dialect: &str) -> Vec<u8> {
    if dialect == "anthropic" { anthropic(entry) } else { openai_chat(entry) }.into_bytes()
}

fn openai_chat(entry: &Value) -> String {
    let mut out = String::new();
    let mut data = |value: Value| out.push_str(&format!("data: {value}\n\n"));
    let chunk = |delta: Value, finish: Value| {
        json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
    };
    data(chunk(json!({ "role": "assistant", "content": "" }), Value::Null));
    for text in texts(entry, "reasoning") {
        data(chunk(json!({ "reasoning_content": text }), Value::Null));
    }
    for block in entry["blocks"].as_array().into_iter().flatten() {
        data(chunk(json!({ "executed_tools": [block] }), Value::Null));
    }
    for text in texts(entry, "text") {
        data(chunk(json!({ "content": text }), Value::Null));
    }
    for (index, call) in calls(entry).iter().enumerate() {
        let function = json!({ "name": call["name"], "arguments": "" });
        let open =
            json!({ "index": index, "id": call["id"], "type": "function", "function": function });
        data(chunk(json!({ "tool_calls": [open] }), Value::Null));
        for piece in arguments(entry, index) {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            data(chunk(json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    for text in texts(entry, "textAfter") {
        data(chunk(json!({ "content": text }), Value::Null));
    }
    match entry["then"].as_str() {
        Some("error") => {
            data(
                json!({ "error": { "message": "overloaded", "type": "overloaded_error", "code": 529 } }),
            );
        }
        Some("malformed") => out.push_str("data: {\"choices\":[{\"delta\":{\"content\":\"x\n\n"),
        Some(_) => {}
        None => {
            data(chunk(json!({}), finish(entry).into()));
            let (input, output) = usage(entry);
            let usage = json!({ "prompt_tokens": input, "completion_tokens": output });
            data(json!({ "choices": [], "usage": usage }));
            out.push_str("data: [DONE]\n\n");
        }
    }
    out
}

fn usage(entry: &Value) -> (u64, u64) {
    let number = |key: &str, default| entry["usage"][key].as_u64().unwrap_or(default);
    (number("input", 10), number("output", 5))
}

fn anthropic(entry: &Value) -> String {
    let mut out = String::new();
    let mut event = |kind: &str, mut own: Value| {
        own["type"] = kind.into();
        out.push_str(&format!("event: {kind}\ndata: {own}\n\n"));
    };
    let (input, output) = usage(entry);
    let usage = json!({ "input_tokens": input, "output_tokens": 1 });
    event(
        "message_start",
        json!({ "message": { "id": "msg_1", "role": "assistant", "usage": usage } }),
    );
    let mut blocks: Vec<(Value, Vec<Value>, bool)> = Vec::new();
    let reasoning: Vec<_> = texts(entry, "reasoning")
        .map(|text| json!({ "type": "thinking_delta", "thinking": text }))
        .collect();
    if !reasoning.is_empty() {
        let mut deltas = reasoning;
        deltas.push(json!({ "type": "signature_delta", "signature": "sig" }));
        blocks.push((json!({ "type": "thinking", "thinking": "" }), deltas, true));
    }
    let said = |key: &str| {
        let delta = |text| json!({ "type": "text_delta", "text": text });
        let deltas: Vec<_> = texts(entry, key).map(delta).collect();
        (!deltas.is_empty()).then(|| (json!({ "type": "text", "text": "" }), deltas, true))
    };
    for block in entry["blocks"].as_array().into_iter().flatten() {
        let (mut start, mut deltas) = (block.clone(), Vec::new());
        if let Some(input) = start.get_mut("input") {
            let text = input.to_string();
            *input = json!({});
            deltas.push(json!({ "type": "input_json_delta", "partial_json": text }));
        }
        blocks.push((start, deltas, true));
    }
    blocks.extend(said("text"));
    for (at, call) in calls(entry).iter().enumerate() {
        let open =
            json!({ "type": "tool_use", "id": call["id"], "name": call["name"], "input": {} });
        let delta = |piece| json!({ "type": "input_json_delta", "partial_json": piece });
        let deltas = arguments(entry, at).into_iter().map(delta).collect();
        let cut = entry["then"] == "cut" && at + 1 == calls(entry).len();
        blocks.push((open, deltas, !cut));
    }
    blocks.extend(said("textAfter"));
    for (index, (block, deltas, closed)) in blocks.into_iter().enumerate() {
        event("content_block_start", json!({ "index": index, "content_block": block }));
        for delta in deltas {
            event("content_block_delta", json!({ "index": index, "delta": delta }));
        }
        if closed {
            event("content_block_stop", json!({ "index": index }));
        }
    }
    match entry["then"].as_str() {
        Some("error") => {
            event(
                "error",
                json!({ "error": { "type": "overloaded_error", "message": "Overloaded" } }),
            );
        }
        Some("malformed") => out.push_str("data: {\"type\":\"content_block_del\n\n"),
        Some(_) => {}
        None => {
            let reason = match &*finish(entry) {
                "stop" => "end_turn".to_owned(),
                "tool_calls" => "tool_use".to_owned(),
                "length" => "max_tokens".to_owned(),
                "content_filter" => "refusal".to_owned(),
                other => other.to_owned(),
            };
            let delta = json!({ "stop_reason": reason });
            event("message_delta", json!({ "delta": delta, "usage": { "output_tokens": output } }));
            event("message_stop", json!({}));
        }
    }
    out
}

/// Small, seeded, the same everywhere.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(n.max(1)).unwrap()).unwrap()
    }
}

/// Plays each scenario on both wires, or on the one it names: whole, and under twenty seeded
/// schedules, or `SCHEDULES`.
pub fn play_tables(
    scenarios: &[Value],
    play: impl Fn(&Value, &str, Option<u64>) -> Result<(), String> + std::panic::RefUnwindSafe,
) {
    let schedules = std::env::var("SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(20_u64);
    let mut failures = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for scenario in scenarios {
        let name = scenario["name"].as_str().unwrap();
        assert!(names.insert(name), "`{name}` stands twice");
        let dialects = match scenario["dialect"].as_str() {
            // The drivers play these, over HTTP.
            Some("openai-responses" | "gemini" | "bedrock" | "cohere" | "ollama") => vec![],
            Some(dialect) => vec![dialect],
            None => vec!["openai-chat", "anthropic"],
        };
        for dialect in dialects {
            for seed in std::iter::once(None).chain((1..=schedules).map(|n| Some(n * 7_919))) {
                let played = std::panic::catch_unwind(|| play(scenario, dialect, seed));
                let failure = match played {
                    Ok(Ok(())) => continue,
                    Ok(Err(failure)) => failure,
                    Err(_) => "panicked, see above".to_owned(),
                };
                failures.push(format!("{name} [{dialect}, seed {seed:?}]\n  {failure}"));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "\n\n{}\n{} failed", failures.join("\n\n"), failures.len());
}
