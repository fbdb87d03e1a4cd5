//! Requests that providers took stay as they are.

use std::fs;

use serde_json::Value;
use turnlock::Dialect;
use turnlock::history::{Code, HistoryOptions, diagnose};

use crate::common::data;
use crate::{elements, made, value};

/// A text and a list of one text block are the same content.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(items) => match items.as_slice() {
            [block] if block["type"] == "text" && block.as_object().unwrap().len() == 2 => {
                block["text"].clone()
            }
            items => Value::Array(items.iter().map(plain).collect()),
        },
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}

/// Neighbours of one role, as Anthropic reads them.
fn merged(messages: &Value) -> Value {
    let mut out: Vec<Value> = Vec::new();
    for message in messages.as_array().unwrap() {
        let blocks = |content: &Value| match content {
            Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
            Value::Array(items) => items.clone(),
            _ => Vec::new(),
        };
        let content = blocks(&message["content"]);
        match out.last_mut() {
            Some(last) if last["role"] == message["role"] => {
                last["content"].as_array_mut().unwrap().extend(content);
            }
            _ => out.push(serde_json::json!({ "role": message["role"], "content": content })),
        }
    }
    Value::Array(out)
}

fn stays(messages: &Value, dialect: Dialect, what: &str) {
    let text = messages.to_string();
    let violations = diagnose(elements(&text), dialect).unwrap();
    assert!(violations.is_empty(), "{what}: {violations:?}");
    let normalized = made(&text, &HistoryOptions::new(dialect));
    let got = value(&turnlock::json::Json::Array(normalized.messages));
    let (mut wanted, mut got) = (messages.clone(), got);
    // An id that is used again in a later round is taken, and renamed to be safe.
    for repair in normalized.repairs.iter().filter(|one| one.code == Code::ToolCallIdDuplicate) {
        let (old, new) = (repair.tool_call_id.as_ref().unwrap(), &repair.detail);
        let new = new.rsplit(' ').next().unwrap();
        got = serde_json::from_str(&got.to_string().replace(new, old)).unwrap();
    }
    if dialect == Dialect::Anthropic {
        (wanted, got) = (merged(&wanted), merged(&got));
    }
    let (got, wanted) = (plain(&got), plain(&wanted));
    let (got, wanted) = (got.as_array().unwrap(), wanted.as_array().unwrap());
    // OpenAI takes an assistant message that says nothing; others do not, so it is left out.
    let says = |message: &&Value| message["content"] != "" || message["role"] != "assistant";
    for (got, wanted) in got.iter().zip(wanted.iter().filter(says)) {
        assert_eq!(got, wanted, "{what} {}", dialect.name());
    }
    assert_eq!(got.len(), wanted.iter().filter(says).count(), "{what}");
}

#[test]
fn recorded_requests_stay_as_they_are() {
    let mut seen = 0;
    let index = fs::read_to_string(data("streams-misc/simonw-llm/index.jsonl")).unwrap();
    for line in index.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let (dialect, list) = match entry["api"].as_str().unwrap() {
            "openai-responses" => (Dialect::OpenAiResponses, "input"),
            "openai-chat" => (Dialect::OpenAiChat, "messages"),
            other => panic!("{other}"),
        };
        stays(&entry["request"][list], dialect, entry["file"].as_str().unwrap());
        seen += 1;
    }
    let nock = "streams-misc/anthropic-sdk-typescript/tests/lib/tools/nockFixtures/ToolRunner.json";
    let text = fs::read_to_string(data(nock)).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    for entry in all.as_array().unwrap() {
        if entry["body"]["messages"].is_array() {
            stays(&entry["body"]["messages"], Dialect::Anthropic, "ToolRunner.json");
            seen += 1;
        }
    }
    assert_eq!(seen, 22);
}

#[test]
fn recorded_conversations_stay_as_they_are() {
    let path = data("trajectories-tau-bench/gpt-4o-airline.61.jsonl");
    let mut seen = 0;
    for line in fs::read_to_string(path).unwrap().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        stays(&entry["messages"], Dialect::OpenAiChat, &entry["task_id"].to_string());
        seen += 1;
    }
    assert_eq!(seen, 61);
}

/// An agent's own record of its steps: fields of its own, results that name a list of calls.
#[test]
fn an_agents_trajectory_keeps_every_call_with_its_result() {
    let mut calls = 0;
    for entry in fs::read_dir(data("trajectories-swe-agent")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let all: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let text = all["history"].to_string();
        let normalized = made(&text, &HistoryOptions::new(Dialect::OpenAiChat));
        let messages: Vec<_> = normalized.messages.iter().map(value).collect();
        let given = all["history"].as_array().unwrap();
        assert_eq!(messages.len(), given.len(), "{}", path.display());
        let mut called = Value::Null;
        for (got, given) in messages.iter().zip(given) {
            assert_eq!(got["role"], given["role"]);
            assert_eq!(plain(&got["content"]), plain(&given["content"]));
            if got["role"] == "assistant" {
                called = got["tool_calls"][0]["id"].clone();
            }
            if given["role"] == "tool" {
                assert_eq!(got["tool_call_id"], called);
                calls += 1;
            }
        }
        // One of them uses an id again and again.
        let known = [Code::FieldUnknown, Code::ToolCallIdDuplicate];
        let wrong: Vec<_> =
            normalized.repairs.iter().filter(|repair| !known.contains(&repair.code)).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
    }
    assert_eq!(calls, 27);
}
