//! Every shape that a history comes in, and what is left as it is: cases written by hand, each
//! with its messages, its repairs and what would be refused of it. Those of `reports.json` rebuild public
//! reports of other libraries, whose source and date they have.

use serde_json::{Value, json};
use turnlock::history::{History, HistoryOptions, diagnose, normalize};
use turnlock::json::Json;
use turnlock::{Dialect, limits};

use crate::common::repo;
use crate::random::grows;
use crate::{elements, made, unsettled, value};

fn options(case: &Value) -> HistoryOptions {
    let mut given = case["options"].clone();
    if given.is_null() {
        given = json!({});
    }
    given["dialect"] = case["dialect"].clone();
    HistoryOptions::parse(given.to_string().as_bytes()).unwrap()
}

fn cases() -> Vec<Value> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(repo().join("tests/histories").join(name)).unwrap();
        serde_json::from_str::<Vec<Value>>(&text).unwrap()
    };
    ["shapes.json", "reports.json"].into_iter().flat_map(read).collect()
}

#[test]
fn every_shape_is_read_and_every_wire_keeps_its_own() {
    let cases = cases();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let input = case["input"].to_string();
        let options = options(case);
        let normalized = made(&input, &options);
        let messages = value(&Json::Array(normalized.messages.clone()));
        assert_eq!(messages, case["messages"], "{name}");
        let system = normalized.system.as_ref().map_or(Value::Null, value);
        assert_eq!(system, case["system"], "{name}");
        assert_eq!(normalized.thread_id.as_deref(), case["threadId"].as_str(), "{name}");
        let codes = |all: Vec<&'static str>| all.into_iter().map(Value::from).collect::<Vec<_>>();
        let repairs = codes(normalized.repairs.iter().map(|one| one.code.name()).collect());
        assert_eq!(Value::Array(repairs), case["repairs"], "{name}");
        let partial = options.partial;
        let mut given = History::new(HistoryOptions::new(options.dialect).partial(partial));
        given.append(elements(&input)).unwrap();
        let violations = given.violations();
        let violations = codes(violations.iter().map(|one| one.code.name()).collect());
        assert_eq!(Value::Array(violations), case["violations"], "{name}");
        // With options of its own a list need not hold under the defaults.
        if case["options"].is_null() {
            assert_eq!(unsettled(&normalized, options.dialect), None, "{name}");
        }
    }
    assert!(cases.len() > 30, "{}", cases.len());
}

/// One element at a time, each case is after every element what it is at once. With options of its
/// own, it is compared under them.
#[test]
fn every_shape_grows_into_what_it_is_at_once() {
    for case in &cases() {
        grows(case["input"].as_array().unwrap(), &options(case), case["name"].as_str().unwrap());
    }
}

/// However many calls wait for their start, each gets the arguments that came before it.
#[test]
fn no_arguments_are_lost_before_their_calls() {
    let delta = |i| json!({"type": "TOOL_CALL_ARGS", "toolCallId": format!("c{i}"), "delta": format!("{{\"n\":{i}}}")});
    let start =
        |i| json!({"type": "TOOL_CALL_START", "toolCallId": format!("c{i}"), "toolCallName": "f"});
    let all: Vec<Value> = (0..200).map(delta).chain((0..200).rev().map(start)).collect();
    let input = Value::Array(all).to_string();
    let normalized = made(&input, &HistoryOptions::new(Dialect::OpenAiChat));
    let messages = value(&Json::Array(normalized.messages));
    let calls =
        messages.as_array().unwrap().iter().flat_map(|one| one["tool_calls"].as_array()).flatten();
    let mut seen = 0;
    for call in calls {
        let number = call["id"].as_str().unwrap().trim_start_matches('c');
        assert_eq!(call["function"]["arguments"], format!("{{\"n\":{number}}}"));
        seen += 1;
    }
    assert_eq!(seen, 200);
}

/// What has a role may hold the user's words; the rest is left out unless the host forbids it.
#[test]
fn an_unknown_element_is_left_out_or_refused() {
    let refused = |element: &Value, unknown: &str| {
        let options = json!({ "dialect": "openai-chat", "unknown": unknown }).to_string();
        let options = HistoryOptions::parse(options.as_bytes()).unwrap();
        let text = json!([{ "role": "user", "content": "u" }, element]).to_string();
        normalize(elements(&text), &options).err().map(|error| error.to_string())
    };
    let shape = Some("message 1 has no known shape".to_owned());
    let left_out = [
        json!({ "type": "status" }),
        json!({ "type": "text_delta", "delta": "x" }),
        json!({ "type": "done", "role": null }),
        json!({ "type": "MESSAGES_SNAPSHOT", "messages": [{ "type": "status" }] }),
    ];
    for element in left_out {
        assert_eq!(refused(&element, "drop"), None, "{element}");
        assert_eq!(refused(&element, "error"), shape, "{element}");
    }
    let always = [
        json!({ "type": "status", "role": "narrator" }),
        json!({ "role": "user", "words": "hi" }),
        json!({ "type": "user_message", "words": "hi" }),
        json!({ "type": "human", "words": "hi" }),
        json!({ "words": "hi" }),
        json!({ "role": "user", "content": { "words": "hi" } }),
        // Only the assistant has calls and thoughts.
        json!({ "role": "user", "content": [{ "type": "tool_use", "id": "a", "name": "f" }] }),
        json!({ "role": "user", "content": [
            { "type": "thinking", "thinking": "t", "signature": "s" }] }),
        json!({ "role": "system", "parts": [{ "functionCall": { "name": "f" } }] }),
        json!({ "type": 1 }),
        json!("hi"),
    ];
    for element in always {
        assert_eq!(refused(&element, "drop"), shape, "{element}");
        assert_eq!(refused(&element, "error"), shape, "{element}");
    }
}

/// A fault is named where it is: in the result's message, not in that of its call.
#[test]
fn a_fault_in_a_result_has_the_index_of_the_result() {
    let image = json!({ "type": "image_url", "image_url": { "url": "https://example.com/a.png" } });
    let history = json!([
        { "role": "user", "content": "u" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } },
            { "id": "b", "type": "function", "function": { "name": "f", "arguments": "{}" } }] },
        { "role": "tool", "tool_call_id": "a", "content": "r", "timestamp": 1, "name": "a tool" },
        { "role": "tool", "tool_call_id": "b", "content": [image] },
    ])
    .to_string();
    let named = diagnose(elements(&history), Dialect::Groq).unwrap();
    let named: Vec<_> = named.iter().map(|one| (one.code.name(), one.index)).collect();
    assert_eq!(named, [("FIELD_UNKNOWN", 2), ("NAME_FIELD_FORMAT", 2), ("CONTENT_SHAPE", 3)]);
}

/// Where the wire names the call in another way, it is told which call is meant.
#[test]
fn a_result_that_names_its_call_in_another_spelling_has_the_id_of_the_call() {
    let function = json!({ "name": "f", "arguments": "{}" });
    let history = json!([
        { "role": "user", "content": "u" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "a", "type": "function", "function": function },
            { "id": "b", "type": "function", "function": function }] },
        { "role": "tool", "tool_call_id": "a", "content": "r" },
        { "role": "tool", "toolCallId": "b", "content": "r" },
    ])
    .to_string();
    let told = |dialect| {
        let named = made(&history, &HistoryOptions::new(dialect)).repairs;
        named.into_iter().map(|one| (one.code.name(), one.tool_call_id)).collect::<Vec<_>>()
    };
    assert_eq!(told(Dialect::OpenAiChat), [("FIELD_UNKNOWN", Some("b".to_owned()))]);
    assert_eq!(told(Dialect::Anthropic), []);
}

/// Whose shape it is, for each block that no other provider takes.
#[test]
fn a_foreign_shape_is_named() {
    for (whose, block) in [
        ("AI SDK", json!({ "type": "image-url", "url": "https://x/a.png" })),
        ("AI SDK", json!({ "type": "file-data", "data": "AAAA", "mediaType": "text/plain" })),
        ("AI SDK", json!({ "type": "image", "image": "AAAA" })),
        ("AI SDK", json!({ "type": "image", "image": "AAAA", "mimeType": "image/png" })),
        ("AI SDK", json!({ "type": "file", "data": "AAAA", "mediaType": "image/png" })),
        ("AI SDK", json!({ "type": "file", "data": "AAAA", "mimeType": "image/png" })),
        ("LangChain", json!({ "type": "file", "base64": "AAAA", "mime_type": "image/png" })),
        ("LangChain", json!({ "type": "image", "source_type": "url", "url": "https://x/a.png" })),
        ("UI event", json!({ "type": "binary", "data": "AAAA", "mimeType": "image/png" })),
        ("Anthropic", json!({ "type": "image", "source": { "type": "url", "url": "https://x" } })),
        ("OpenAI Responses", json!({ "type": "input_image", "image_url": "https://x/a.png" })),
        ("OpenAI Chat", json!({ "type": "file", "file": { "file_data": "AAAA" } })),
        ("Gemini", json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } })),
        ("Bedrock", json!({ "image": { "format": "png", "source": { "bytes": "AAAA" } } })),
    ] {
        let history = json!([{ "role": "user", "content": [block] }]).to_string();
        // One that takes none of them as they are.
        let other = if whose == "OpenAI Chat" { Dialect::Anthropic } else { Dialect::Ollama };
        let named = diagnose(elements(&history), other).unwrap();
        let told = named.iter().any(|one| one.message.contains(whose));
        assert!(told, "{whose}: {block} {named:?}");
    }
}

/// An image is a block, and so many of them have no room in a history.
#[test]
fn images_beside_a_text_are_limited() {
    let sent = |count: usize| {
        let images = vec!["A".repeat(60); count];
        let history = json!([{ "role": "user", "content": "u", "images": images }]).to_string();
        let normalized = normalize(elements(&history), &HistoryOptions::new(Dialect::Ollama));
        normalized.map(|normalized| normalized.messages.len())
    };
    assert_eq!(sent(limits::HISTORY_TINY).unwrap(), 1);
    assert_eq!(sent(limits::HISTORY_TINY + 1).unwrap_err().code(), "message.unknown_shape");
}

/// An attachment of the user is at least named; of an answer it is left out.
#[test]
fn a_block_that_only_another_provider_knows_is_named_or_left_out() {
    let block = json!({ "type": "container_upload", "file_id": "f" });
    let history = json!([
        { "role": "user", "content": [{ "type": "text", "text": "u" }, block] },
        { "role": "assistant", "content": [{ "type": "text", "text": "a" }, block] },
        { "role": "user", "content": "v" },
    ])
    .to_string();
    let normalized = made(&history, &HistoryOptions::new(Dialect::OpenAiChat));
    let repairs = normalized.repairs.iter().map(|one| (one.index, one.action.name()));
    assert_eq!(repairs.collect::<Vec<_>>(), [(0, "converted"), (1, "dropped")]);
    let text = Json::Array(normalized.messages).to_text();
    assert_eq!(text.matches("[attachment: container_upload]").count(), 1, "{text}");
}
