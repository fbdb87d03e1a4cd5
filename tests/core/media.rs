//! Images, files and sounds in messages and in results: what each provider gets of them, as
//! `tests/core/media.json` says, and that what it cannot take is told.
//!
//! `WRITE_MEDIA=1 cargo test -p turnlock --test core media` writes the file anew.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::history::{HistoryOptions, diagnose, normalize};
use turnlock::json::Json;

/// What is attached, by name: a block, and what of it must arrive or be named.
fn attached() -> Vec<(&'static str, Value, &'static str)> {
    let url = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    let pdf = "data:application/pdf;base64,cGRmLWRhdGE=";
    let page = "https://example.org/a.pdf";
    vec![
        ("image", url("data:image/png;base64,aW1nLWRhdGE="), "aW1nLWRhdGE="),
        ("image by address", url("https://example.org/a.png"), "https://example.org/a.png"),
        (
            "file",
            json!({ "type": "file", "file": { "filename": "a.pdf", "file_data": pdf } }),
            "cGRmLWRhdGE=",
        ),
        (
            "file by address",
            json!({ "type": "document", "source": { "type": "url", "url": page } }),
            page,
        ),
        (
            "sound",
            json!({ "type": "input_audio", "input_audio": { "data": "c25kLWRhdGE=", "format": "wav" } }),
            "c25kLWRhdGE=",
        ),
    ]
}

fn history(block: &Value, in_result: bool) -> Vec<Value> {
    let content = json!([{ "type": "text", "text": "See." }, block]);
    if !in_result {
        return vec![json!({ "role": "user", "content": content })];
    }
    vec![
        json!({ "role": "user", "content": "go" }),
        json!({ "role": "assistant", "content": "",
                "toolCalls": [{ "id": "call_0001", "name": "look", "args": {} }] }),
        json!({ "role": "tool", "toolCallId": "call_0001", "name": "look", "content": content }),
    ]
}

fn parsed(text: &str) -> Json<'static> {
    Json::parse_str(text).unwrap().into_owned()
}

/// The last message, or the item of the result and what follows it, and the codes of the repairs.
fn sent(dialect: Dialect, given: &[Value]) -> (Value, Vec<String>) {
    let given = given.iter().map(|one| parsed(&one.to_string()));
    let made = normalize(given, &HistoryOptions::new(dialect)).unwrap();
    let violations = diagnose(made.messages.clone(), dialect).unwrap();
    assert!(violations.is_empty(), "{dialect:?}: {violations:?}");
    let carries = |one: &&Json<'static>| {
        let text = one.to_text();
        text.contains("See.") || text.contains("function_call_output")
    };
    // With a message behind it that has the image or file of a result.
    let at = made.messages.iter().rposition(|one| carries(&one)).unwrap();
    let values =
        made.messages[at..].iter().map(|one| serde_json::from_str(&one.to_text()).unwrap());
    let mut values: Vec<Value> = values.collect();
    let message = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
    let repairs = made.repairs.iter().map(|one| format!("{}: {}", one.code.name(), one.detail));
    (message, repairs.collect())
}

#[test]
fn what_each_provider_gets() {
    let mut lines: Vec<String> = Vec::new();
    for dialect in Dialect::ALL {
        for (name, block, must) in attached() {
            for place in ["message", "result"] {
                let (message, repairs) = sent(dialect, &history(&block, place == "result"));
                let text = message.to_string();
                let told = repairs.iter().any(|one| {
                    one.starts_with("CONTENT_SHAPE") || one.starts_with("TOOL_RESULT_TYPE")
                });
                // It is there, or the message names it and a repair says so.
                let marks = ["[attachment", "be given it.]"];
                let named = marks.iter().any(|mark| text.contains(mark));
                assert!(text.contains(must) || named && told, "{dialect:?} {name} {place}: {text}");
                assert!(!named || told, "{dialect:?} {name} {place}: {repairs:?}");
                let line = json!([dialect.name(), name, place, message, repairs]);
                lines.push(line.to_string());
            }
        }
    }
    let mut all = String::from("[\n");
    for (at, line) in lines.iter().enumerate() {
        let end = if at + 1 < lines.len() { "," } else { "" };
        writeln!(all, "{line}{end}").unwrap();
    }
    all.push_str("]\n");
    let path = PathBuf::from("tests/core/media.json");
    if std::env::var_os("WRITE_MEDIA").is_some() {
        fs::write(&path, &all).unwrap();
    }
    let known: Vec<Value> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for (line, known) in lines.iter().zip(&known) {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap(), *known);
    }
    assert_eq!(lines.len(), known.len());
}
