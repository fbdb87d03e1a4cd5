//! One call that a message describes more than once: whatever two places have it, its arguments
//! arrive.
//!
//! LangChain stores a streamed call of Claude as a content block whose `input` is `{}`, beside
//! `tool_calls` with the arguments (langchain-ai/langchainjs#9798, 2026-01-13; #9809 makes
//! `tool_calls` the source of the arguments). Chat pages have `parts` beside `content`, and LangChain's
//! version 1 has `content_blocks`.

use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::history::HistoryOptions;
use turnlock::json::Json;

use crate::{made, unsettled, value};

/// Where a message may have a call: its content blocks, or members beside the content.
type Place = (&'static str, fn(&Value) -> Value);

fn text(args: &Value) -> String {
    // An empty object, as a stream that was not read to its end leaves it.
    if args.is_null() { String::new() } else { args.to_string() }
}

fn object(args: &Value) -> Value {
    if args.is_null() { json!({}) } else { args.clone() }
}

fn pieces(args: &Value, kind: &str, key: &str) -> Vec<Value> {
    let text = text(args);
    let (a, b) = text.split_at(text.len() / 2);
    [a, b].map(|piece| json!({ "type": kind, key: piece, "index": 1 })).into()
}

fn blocks(first: Value, rest: Vec<Value>) -> Value {
    let content: Vec<Value> = std::iter::once(first).chain(rest).collect();
    json!({ "content": content })
}

/// The pieces of a call as LangChain's chunks.
fn chunks(args: &Value) -> Vec<Value> {
    let mut all = pieces(args, "tool_call_chunk", "args");
    all[0]["id"] = json!("c1");
    all[0]["name"] = json!("f");
    all
}

const PLACES: &[Place] = &[
    ("tool_use", |args| {
        blocks(
            json!({ "type": "tool_use", "id": "c1", "name": "f", "input": object(args) }),
            vec![],
        )
    }),
    ("tool_use as text", |args| {
        blocks(
            json!({ "type": "tool_use", "id": "c1", "name": "f", "input": text(args), "index": 1 }),
            vec![],
        )
    }),
    ("partial_json", |args| {
        let block = json!({ "type": "tool_use", "id": "c1", "name": "f", "input": {}, "partial_json": text(args), "index": 1 });
        blocks(block, vec![])
    }),
    ("input_json_delta", |args| {
        let block = json!({ "type": "tool_use", "id": "c1", "name": "f", "input": "", "index": 1 });
        blocks(block, pieces(args, "input_json_delta", "partial_json"))
    }),
    ("input_json_delta, older", |args| {
        let block = json!({ "type": "tool_use", "id": "c1", "name": "f", "input": {}, "index": 1 });
        blocks(block, pieces(args, "input_json_delta", "input"))
    }),
    ("tool_call", |args| {
        blocks(
            json!({ "type": "tool_call", "id": "c1", "name": "f", "args": object(args) }),
            vec![],
        )
    }),
    ("tool_call_chunk", |args| json!({ "content": chunks(args) })),
    ("invalid_tool_call", |args| {
        blocks(
            json!({ "type": "invalid_tool_call", "id": "c1", "name": "f", "args": text(args) }),
            vec![],
        )
    }),
    ("function_call item", |args| {
        blocks(
            json!({ "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": text(args) }),
            vec![],
        )
    }),
    ("tool-call", |args| {
        blocks(
            json!({ "type": "tool-call", "toolCallId": "c1", "toolName": "f", "input": object(args) }),
            vec![],
        )
    }),
    ("argsText", |args| {
        blocks(
            json!({ "type": "tool-call", "toolCallId": "c1", "toolName": "f", "args": {}, "argsText": text(args) }),
            vec![],
        )
    }),
    ("toolUse", |args| {
        blocks(
            json!({ "toolUse": { "toolUseId": "c1", "name": "f", "input": object(args) } }),
            vec![],
        )
    }),
    (
        "tool_calls",
        |args| json!({ "tool_calls": [{ "id": "c1", "name": "f", "args": object(args), "type": "tool_call" }] }),
    ),
    (
        "tool_calls of OpenAI",
        |args| json!({ "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "f", "arguments": text(args) } }] }),
    ),
    (
        "toolCalls",
        |args| json!({ "toolCalls": [{ "toolCallId": "c1", "toolName": "f", "args": object(args) }] }),
    ),
    (
        "invalid_tool_calls",
        |args| json!({ "invalid_tool_calls": [{ "id": "c1", "name": "f", "args": text(args), "error": "cut" }] }),
    ),
    ("tool_call_chunks", |args| json!({ "tool_call_chunks": chunks(args) })),
    (
        "content_blocks tool_call",
        |args| json!({ "content_blocks": [{ "type": "tool_call", "id": "c1", "name": "f", "args": object(args) }] }),
    ),
    ("content_blocks tool_call_chunk", |args| json!({ "content_blocks": chunks(args) })),
    (
        "content_blocks invalid_tool_call",
        |args| json!({ "content_blocks": [{ "type": "invalid_tool_call", "id": "c1", "name": "f", "args": text(args), "error": "cut" }] }),
    ),
    (
        "contentBlocks",
        |args| json!({ "contentBlocks": [{ "type": "tool_call", "id": "c1", "name": "f", "args": object(args) }] }),
    ),
    (
        "content_blocks non_standard",
        |args| json!({ "content_blocks": [{ "type": "non_standard", "value": { "type": "tool_use", "id": "c1", "name": "f", "input": object(args) } }] }),
    ),
    (
        "parts tool-NAME",
        |args| json!({ "parts": [{ "type": "tool-f", "toolCallId": "c1", "state": "input-available", "input": object(args) }] }),
    ),
    (
        "parts dynamic-tool",
        |args| json!({ "parts": [{ "type": "dynamic-tool", "toolName": "f", "toolCallId": "c1", "state": "input-available", "input": object(args) }] }),
    ),
    (
        "parts tool-invocation",
        |args| json!({ "parts": [{ "type": "tool-invocation", "toolInvocation": { "state": "call", "toolCallId": "c1", "toolName": "f", "args": object(args) } }] }),
    ),
    (
        "parts tool-call",
        |args| json!({ "parts": [{ "type": "tool-call", "id": "c1", "name": "f", "arguments": text(args), "state": "input-complete" }] }),
    ),
    (
        "parts functionCall",
        |args| json!({ "parts": [{ "functionCall": { "id": "c1", "name": "f", "args": object(args) } }] }),
    ),
    (
        "parts functionCall without an id",
        |args| json!({ "parts": [{ "functionCall": { "name": "f", "args": object(args) } }] }),
    ),
    (
        "toolInvocations",
        |args| json!({ "toolInvocations": [{ "state": "call", "toolCallId": "c1", "toolName": "f", "args": object(args) }] }),
    ),
    ("additional_kwargs.tool_calls", |args| {
        json!({ "additional_kwargs": { "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "f", "arguments": text(args) } }] } })
    }),
    ("function_call", |args| json!({ "function_call": { "name": "f", "arguments": text(args) } })),
    (
        "additional_kwargs.function_call",
        |args| json!({ "additional_kwargs": { "function_call": { "name": "f", "arguments": text(args) } } }),
    ),
];

/// What a message is beside its calls.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Base {
    /// LangChain's own.
    Ai,
    /// As LangChain serializes it.
    Constructor,
    /// As LangChain's `messages_to_dict` writes it.
    Data,
    Role,
}

const BASES: [Base; 4] = [Base::Ai, Base::Constructor, Base::Data, Base::Role];

/// The text of a message that has what both have, with its members in this order or in reverse.
fn message(base: Base, one: Value, other: Value, reverse: bool) -> String {
    let mut all: Vec<(String, Value)> =
        vec![("content".to_owned(), json!([{ "type": "text", "text": "Let me look." }]))];
    for members in [one, other] {
        for (key, value) in members.as_object().unwrap() {
            match all.iter_mut().find(|(known, _)| known == key) {
                Some((_, Value::Array(known))) => {
                    known.extend(value.as_array().unwrap().iter().cloned());
                }
                Some((_, Value::Object(known))) => known.extend(value.as_object().unwrap().clone()),
                Some((_, known)) => *known = value.clone(),
                None => all.push((key.clone(), value.clone())),
            }
        }
    }
    if reverse {
        all.reverse();
    }
    let members: Vec<_> =
        all.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    let members = members.join(",");
    match base {
        Base::Ai => format!(r#"{{"type":"ai",{members}}}"#),
        Base::Role => format!(r#"{{{members},"role":"assistant"}}"#),
        Base::Data => format!(r#"{{"type":"ai","data":{{{members}}}}}"#),
        Base::Constructor => format!(
            r#"{{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{{{members}}}}}"#
        ),
    }
}

/// The arguments that are sent, and whether a repair tells of others.
fn sent(assistant: &str, dialect: Dialect) -> (Vec<Value>, bool) {
    let result = json!({ "role": "tool", "tool_call_id": "c1", "content": "r", "name": "f" });
    let history = format!(
        r#"[{{"role":"user","content":"go"}},{assistant},{result},{{"role":"user","content":"and now?"}}]"#
    );
    let normalized = made(&history, &HistoryOptions::new(dialect));
    assert_eq!(unsettled(&normalized, dialect), None, "{history}");
    let text = value(&Json::Array(normalized.messages));
    let codes: Vec<_> = normalized.repairs.iter().map(|one| one.code.name()).collect();
    let lost = ["TOOL_RESULT_ORPHAN", "TOOL_CALL_UNANSWERED"];
    assert!(!codes.iter().any(|code| lost.contains(code)), "{codes:?} {history}");
    (arguments(&text), codes.contains(&"TOOL_ARGS_CONFLICT"))
}

/// The arguments of each call, wherever a dialect has them.
fn arguments(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    match value {
        Value::Array(items) => items.iter().for_each(|item| all.extend(arguments(item))),
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("arguments", Value::String(text)) => {
                        all.push(serde_json::from_str(text).unwrap());
                    }
                    ("arguments" | "args" | "input", value) => all.push(value.clone()),
                    (_, value) => all.extend(arguments(value)),
                }
            }
        }
        _ => {}
    }
    all
}

#[test]
fn arguments_arrive_from_every_place() {
    let args = json!({ "path": "a.txt", "lines": [1, 2] });
    for (name, place) in PLACES {
        for base in BASES {
            // A call of an older form has no id, and matches its result by the tool's name.
            for dialect in Dialect::ALL {
                let assistant = message(base, place(&args), json!({}), false);
                let found = sent(&assistant, dialect);
                assert_eq!(found, (vec![args.clone()], false), "{name} {dialect:?}: {assistant}");
            }
        }
    }
}

/// The list and the type of its items: some providers use an id twice in one of them, so two items of
/// one are two calls.
fn kind(place: fn(&Value) -> Value) -> String {
    let at = place(&json!({}));
    let (key, first) = at.as_object().unwrap().iter().next().unwrap();
    // Both spellings are one list.
    let key = key.replace("contentBlocks", "content_blocks");
    let item = first.get(0).cloned().unwrap_or_default();
    let nested = if item.get("function").is_some() { " nested" } else { "" };
    format!("{key} {}{nested}", item["type"].as_str().unwrap_or_default())
}

/// The tool parts of the AI SDK, of which some providers use an id twice.
const TOOL_PARTS: [&str; 3] = ["parts tool-NAME", "parts dynamic-tool", "parts tool-invocation"];

/// An empty description, in whichever place, takes nothing away, and neither does one that was cut.
#[test]
fn arguments_arrive_from_every_pair_of_places() {
    let args = json!({ "path": "a.txt", "lines": [1, 2] });
    let other = json!({ "path": "b.txt" });
    let mut pairs = 0;
    for (one, first) in PLACES {
        for (two, second) in PLACES {
            if one == two || kind(*first) == kind(*second) && !one.starts_with("additional") {
                continue;
            }
            for base in BASES {
                pairs += 1;
                let dialects = [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::Gemini];
                let dialect = dialects[pairs / BASES.len() % dialects.len()];
                let reverse = (pairs / BASES.len()).is_multiple_of(2);
                let found = |a: Value, b: Value| sent(&message(base, a, b, reverse), dialect);
                let shown = format!("{one} and {two}, {base:?}, {dialect:?}");
                let expected = (vec![args.clone()], false);
                assert_eq!(found(first(&args), second(&Value::Null)), expected, "{shown}");
                assert_eq!(found(first(&Value::Null), second(&args)), expected, "{shown}");
                assert_eq!(found(first(&json!({})), second(&args)), expected, "{shown}");
                if [one, two].iter().all(|name| TOOL_PARTS.contains(name)) {
                    // With arguments of their own, they are two calls.
                    continue;
                }
                assert_eq!(found(first(&args), second(&args)), expected, "{shown}");
                let (found, conflict) = found(first(&args), second(&other));
                assert!(conflict, "{shown}: {found:?}");
                assert!(found == [args.clone()] || found == [other.clone()], "{shown}: {found:?}");
            }
        }
    }
    assert!(pairs > 4 * 900, "{pairs}");
}

/// Values that stand for no arguments, and texts that end too early, beside the real arguments.
#[test]
fn arguments_win_over_every_form_of_none() {
    let args = json!({ "path": "a.txt" });
    let nothing = [
        json!({}),
        json!(null),
        json!(""),
        json!(" "),
        json!("{}"),
        json!("{ }"),
        json!("null"),
        json!("\"\""),
        json!([]),
        json!("[]"),
        json!("{\"path\":\"a.t"),
        json!("{\"pa"),
    ];
    let wrap: [Place; 4] = [
        (
            "tool_use",
            |input| json!({ "content": [{ "type": "tool_use", "id": "c1", "name": "f", "input": input }] }),
        ),
        (
            "parts",
            |input| json!({ "parts": [{ "type": "tool-f", "toolCallId": "c1", "state": "input-available", "input": input }] }),
        ),
        (
            "tool_calls",
            |args| json!({ "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "f", "arguments": args } }] }),
        ),
        (
            "content_blocks",
            |args| json!({ "content_blocks": [{ "type": "tool_call", "id": "c1", "name": "f", "args": args }] }),
        ),
    ];
    for none in nothing {
        for (at, (one, first)) in wrap.iter().enumerate() {
            for (_, (two, second)) in wrap.iter().enumerate().filter(|(other, _)| *other != at) {
                for base in BASES {
                    let assistant = message(base, first(&none), second(&args), at % 2 == 0);
                    let found = sent(&assistant, Dialect::OpenAiChat);
                    assert_eq!(
                        found,
                        (vec![args.clone()], false),
                        "{one} {none} and {two} {base:?}"
                    );
                }
            }
        }
    }
}

/// As LangChain sends it itself.
#[test]
fn tool_calls_count_where_a_block_has_other_arguments() {
    let (args, other) = (json!({ "a": 1 }), json!({ "a": 2 }));
    let list = json!({ "tool_calls": [{ "id": "c1", "name": "f", "args": args }] });
    for (name, place) in PLACES {
        if name.starts_with("tool_calls") {
            continue;
        }
        for base in BASES {
            let assistant = message(base, list.clone(), place(&other), false);
            let (found, conflict) = sent(&assistant, Dialect::Anthropic);
            assert_eq!((found, conflict), (vec![args.clone()], true), "{name} {base:?}");
        }
    }
}

/// Calls side by side keep their own arguments, also where their pieces have no place in a stream.
#[test]
fn pieces_belong_to_their_call() {
    let block = |id: &str, index: Option<usize>| {
        let mut block = json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
        if let Some(index) = index {
            block["index"] = json!(index);
        }
        block
    };
    let delta = |text: &str, index: Option<usize>| {
        let mut delta = json!({ "type": "input_json_delta", "partial_json": text });
        if let Some(index) = index {
            delta["index"] = json!(index);
        }
        delta
    };
    let orders = [
        vec![
            block("c1", Some(0)),
            block("c2", Some(1)),
            delta("{\"n\":2}", Some(1)),
            delta("{\"n\"", Some(0)),
            delta(":1}", Some(0)),
        ],
        vec![
            block("c1", None),
            delta("{\"n\":", None),
            delta("1}", None),
            block("c2", None),
            delta("{\"n\":2}", None),
        ],
    ];
    for content in orders {
        let history = json!([
            { "role": "user", "content": "go" },
            { "type": "ai", "content": content },
            { "role": "tool", "tool_call_id": "c1", "content": "r" },
            { "role": "tool", "tool_call_id": "c2", "content": "r" },
        ]);
        let history = history.to_string();
        let normalized = made(&history, &HistoryOptions::new(Dialect::Anthropic));
        let found = arguments(&value(&Json::Array(normalized.messages)));
        assert_eq!(found, [json!({ "n": 1 }), json!({ "n": 2 })], "{history}");
        assert!(normalized.repairs.is_empty(), "{:?}", normalized.repairs);
    }
}

/// A tool that the provider runs itself, too: its call is sent back as it was.
#[test]
fn a_hosted_call_gets_its_input_back() {
    let hosted = |rest: Value| {
        let mut block = json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}, "index": 0 });
        block.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        block
    };
    let found = json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [] });
    let whole =
        json!({ "type": "input_json_delta", "partial_json": "{\"query\":\"cats\"}", "index": 0 });
    for content in [
        json!([hosted(json!({ "partial_json": "{\"query\":\"cats\"}" })), found]),
        json!([hosted(json!({})), whole, found]),
        json!([hosted(json!({ "input": { "query": "cats" } })), found]),
        json!([hosted(json!({})), found]),
    ] {
        // LangChain's standard blocks describe it, too.
        let described = json!([
            { "type": "server_tool_call", "id": "s1", "name": "web_search", "args": { "query": "cats" } },
            { "type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": [] },
        ]);
        let history = json!([{ "role": "user", "content": "go" },
            { "type": "ai", "content": content, "content_blocks": described },
            { "role": "user", "content": "and now?" }]);
        let history = history.to_string();
        let normalized = made(&history, &HistoryOptions::new(Dialect::Anthropic));
        let sent = json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "query": "cats" } });
        let messages = value(&Json::Array(normalized.messages));
        assert_eq!(messages[1]["content"][0], sent, "{history}");
    }
}

/// Events: what a call began with, pieces before and behind it, and all of it at the end.
#[test]
fn arguments_arrive_from_every_pair_of_events() {
    let start = |args: Value| {
        let mut event = json!({ "type": "tool_call_start", "toolCallId": "c1", "toolName": "f" });
        if !args.is_null() {
            event["args"] = args;
        }
        event
    };
    let delta = |text: &str| json!({ "type": "tool_call_args", "toolCallId": "c1", "delta": text });
    let whole = |input: Value| json!({ "type": "tool-input-available", "toolCallId": "c1", "toolName": "f", "input": input });
    let rows = [
        (vec![start(Value::Null), delta("{\"n\":"), delta("1}")], false),
        (vec![start(json!({})), delta("{\"n\":"), delta("1}")], false),
        (vec![start(json!("{}")), delta("{\"n\":"), delta("1}")], false),
        (vec![start(json!("")), delta("{\"n\":1}")], false),
        (vec![start(json!("{\"n\":")), delta("1}")], false),
        (vec![start(json!({ "n": 1 })), delta("{\"n\":1}")], false),
        (vec![start(json!("{\"n\": 1}")), delta("{\"n\":1}")], false),
        (vec![start(json!({ "n": 2 })), delta("{\"n\":1}")], true),
        (vec![start(json!({ "n": 1 })), delta("{\"n\":")], true),
        (vec![start(json!({ "n": 1 })), delta(""), delta("{}")], false),
        (vec![delta("{\"n\":1}"), start(Value::Null)], false),
        (vec![delta("{\"n\":1}"), start(json!({}))], false),
        (vec![delta("{\"n\":1}"), whole(json!({}))], false),
        (vec![delta("{\"n\":"), whole(json!({ "n": 1 }))], false),
        (vec![start(Value::Null), delta("{\"n\":"), whole(json!({ "n": 1 }))], false),
        (vec![start(Value::Null), delta("{\"n\":1}"), whole(json!({}))], false),
        (vec![start(json!({ "n": 1 })), whole(Value::Null)], false),
        (vec![whole(json!({ "n": 1 }))], false),
    ];
    for (events, conflict) in rows {
        let mut history = vec![json!({ "role": "user", "content": "go" })];
        history.extend(events.clone());
        history.push(json!({ "type": "tool_call_result", "toolCallId": "c1", "result": "r" }));
        let text = Value::Array(history.clone()).to_string();
        for dialect in Dialect::ALL {
            let normalized = made(&text, &HistoryOptions::new(dialect));
            assert_eq!(unsettled(&normalized, dialect), None, "{text}");
            let found = arguments(&value(&Json::Array(normalized.messages)));
            assert_eq!(found, [json!({ "n": 1 })], "{dialect:?} {text}");
            let codes: Vec<_> = normalized.repairs.iter().map(|one| one.code.name()).collect();
            assert_eq!(codes.contains(&"TOOL_ARGS_CONFLICT"), conflict, "{codes:?} {text}");
            crate::random::grows(&history, &HistoryOptions::new(dialect), &text);
        }
    }
}

/// A call that is described again by an element of its own, in any shape: it is one call. Only an event
/// or an item without arguments begins another one.
#[test]
fn arguments_arrive_from_every_pair_of_elements() {
    let args = json!({ "path": "a.txt" });
    let elements: [Place; 7] = [
        (
            "event",
            |args| json!({ "type": "tool_call_start", "toolCallId": "c1", "toolName": "f", "args": args }),
        ),
        (
            "whole event",
            |args| json!({ "type": "tool_call", "toolCallId": "c1", "toolName": "f", "args": args }),
        ),
        (
            "item",
            |args| json!({ "type": "function_call", "call_id": "c1", "name": "f", "arguments": args.to_string() }),
        ),
        (
            "tool_use",
            |args| json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "c1", "name": "f", "input": args }] }),
        ),
        (
            "tool_calls",
            |args| json!({ "role": "assistant", "content": "", "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "f", "arguments": args.to_string() } }] }),
        ),
        (
            "toolCalls",
            |args| json!({ "role": "assistant", "toolCalls": [{ "id": "c1", "name": "f", "args": args }] }),
        ),
        (
            "parts",
            |args| json!({ "role": "assistant", "parts": [{ "type": "tool-f", "toolCallId": "c1", "state": "input-available", "input": args }] }),
        ),
    ];
    let result = json!({ "role": "tool", "tool_call_id": "c1", "content": "r" });
    let go = json!({ "role": "user", "content": "go" });
    for (one, first) in &elements {
        for (two, second) in &elements {
            let begins = ["event", "whole event", "item"].contains(two);
            let behind = (first(&args), second(&json!({})), !begins);
            let before = (first(&json!({})), second(&args), true);
            for (first, second, is_one) in [behind, before] {
                let history = vec![go.clone(), first, second, result.clone()];
                let text = json!(history).to_string();
                for dialect in [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::OpenAiResponses] {
                    let options = HistoryOptions::new(dialect);
                    let normalized = made(&text, &options);
                    assert_eq!(unsettled(&normalized, dialect), None, "{text}");
                    crate::random::grows(&history, &options, &text);
                    let found = arguments(&value(&Json::Array(normalized.messages)));
                    let known = if is_one { &found[..] } else { &found[..1] };
                    assert_eq!(
                        known,
                        std::slice::from_ref(&args),
                        "{one} and {two} {dialect:?}: {text}"
                    );
                }
            }
        }
    }
    // Another call that uses the id again keeps its place.
    let again = json!([go, elements[0].1(&args), result, elements[0].1(&json!({})), result]);
    let again = again.to_string();
    let normalized = made(&again, &HistoryOptions::new(Dialect::OpenAiChat));
    let found = arguments(&value(&Json::Array(normalized.messages)));
    assert_eq!(found, [args, json!({})], "{again}");
}
