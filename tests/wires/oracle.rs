//! What the deltas mean, judged by what the recordings themselves say.

use std::fs;

use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::stream::{Delta, FinishReason, REDACTED, Response};

use crate::recorded::{Body, Form, bodies};
use crate::{common, decode, dialect};

/// What a response says.
#[derive(Debug, Default, PartialEq)]
struct Said {
    text: String,
    reasoning: String,
    /// Name and arguments.
    calls: Vec<(String, Value)>,
}

fn response(body: &Body) -> Response {
    let mut response = Response::default();
    for delta in decode(dialect(body.wire), [&body.bytes[..]]) {
        response.take(&delta).unwrap();
    }
    response
}

fn arguments(text: &str) -> Value {
    if text.is_empty() { json!({}) } else { serde_json::from_str(text).unwrap() }
}

fn said(response: &Response) -> Said {
    Said {
        text: response.text.clone(),
        reasoning: response.reasoning.iter().map(|block| block.text.as_str()).collect(),
        calls: response
            .calls
            .iter()
            .map(|call| (call.name.clone(), arguments(&call.arguments)))
            .collect(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The calls that a follow-up request showed, as another project extracted them.
#[test]
fn calls_of_follow_up_requests() {
    let all = bodies();
    let path = common::data("streams-misc/simonw-llm/expected-tool-calls.jsonl");
    let mut count = 0;
    for line in fs::read_to_string(path).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let name = format!("streams-misc/simonw-llm/{}", text(&row["file"]));
        let body = all.iter().find(|body| body.name == name).unwrap();
        assert_eq!(body.wire, text(&row["api"]));
        let got: Vec<Value> = response(body)
            .calls
            .iter()
            .map(|call| {
                assert!(call.ended, "{name}");
                let arguments = arguments(&call.arguments);
                json!({ "id": call.id, "name": call.name, "arguments": arguments })
            })
            .collect();
        let mut want = row["expected_tool_calls"].clone();
        if row["ids_echoed_unchanged"] == false {
            want[0]["id"] = got[0]["id"].clone();
        }
        assert_eq!(Value::Array(got), want, "{name}");
        count += 1;
    }
    assert_eq!(count, 6);
}

/// The Responses API repeats the whole response with its last event.
fn read_responses(events: &[Value]) -> Option<Said> {
    // Some recordings hold the responses of a whole conversation.
    if events.iter().filter(|event| event["type"] == "response.completed").count() > 1 {
        return None;
    }
    let whole = &events.last()?["response"];
    let mut said = Said::default();
    let mut any = false;
    for item in items(&whole["output"]) {
        any = true;
        match text(&item["type"]) {
            "message" => {
                for part in items(&item["content"]) {
                    said.text += text(&part["text"]);
                    said.text += text(&part["refusal"]);
                }
            }
            "reasoning" => {
                for part in items(&item["summary"]).chain(items(&item["content"])) {
                    said.reasoning += text(&part["text"]);
                }
            }
            "function_call" => {
                said.calls.push((text(&item["name"]).into(), arguments(text(&item["arguments"]))));
            }
            "custom_tool_call" => {
                said.calls.push((text(&item["name"]).into(), json!({ "input": item["input"] })));
            }
            _ => {}
        }
    }
    any.then_some(said)
}

fn read_gemini(events: &[Value]) -> Option<Said> {
    let mut said = Said::default();
    for part in events.iter().flat_map(|event| items(&event["candidates"][0]["content"]["parts"])) {
        let call = &part["functionCall"];
        if !call["partialArgs"].is_null() || !call["willContinue"].is_null() {
            return None;
        }
        let to = if part["thought"] == true { &mut said.reasoning } else { &mut said.text };
        *to += text(&part["text"]);
        if let Some(name) = call["name"].as_str() {
            let args = if call["args"].is_null() { json!({}) } else { call["args"].clone() };
            said.calls.push((name.to_owned(), args));
        }
    }
    Some(said)
}

fn read_ollama(events: &[Value]) -> Option<Said> {
    let mut said = Said::default();
    for message in events.iter().map(|event| &event["message"]) {
        said.text += text(&message["content"]);
        said.reasoning += text(&message["thinking"]);
        for call in items(&message["tool_calls"]).map(|call| &call["function"]) {
            said.calls.push((text(&call["name"]).to_owned(), call["arguments"].clone()));
        }
    }
    Some(said)
}

fn read_bedrock(events: &[Value]) -> Option<Said> {
    let mut said = Said::default();
    let mut texts = Vec::new();
    for event in events {
        let call = &event["contentBlockStart"]["start"]["toolUse"];
        if call.is_object() {
            texts.push((text(&call["name"]).to_owned(), String::new()));
        }
        let delta = &event["contentBlockDelta"]["delta"];
        said.text += text(&delta["text"]);
        said.reasoning += text(&delta["reasoningContent"]["text"]);
        if let Some((_, arguments)) = texts.last_mut() {
            *arguments += text(&delta["toolUse"]["input"]);
        }
    }
    said.calls = texts.into_iter().map(|(name, text)| (name, arguments(&text))).collect();
    Some(said)
}

fn read_cohere(events: &[Value]) -> Option<Said> {
    let mut said = Said::default();
    let mut texts: Vec<(String, String)> = Vec::new();
    for message in events.iter().map(|event| &event["delta"]["message"]) {
        said.text += text(&message["content"]["text"]);
        said.reasoning += text(&message["content"]["thinking"]);
        said.reasoning += text(&message["tool_plan"]);
        let function = &message["tool_calls"]["function"];
        if let Some(name) = function["name"].as_str() {
            texts.push((name.to_owned(), String::new()));
        }
        if let Some((_, arguments)) = texts.last_mut() {
            *arguments += text(&function["arguments"]);
        }
    }
    said.calls = texts.into_iter().map(|(name, text)| (name, arguments(&text))).collect();
    Some(said)
}

#[test]
fn streams_say_what_their_events_say() {
    type Read = fn(&[Value]) -> Option<Said>;
    let readers: [(&str, Read, usize); 5] = [
        ("openai-responses", read_responses, 55),
        ("gemini", read_gemini, 100),
        ("bedrock", read_bedrock, 12),
        ("cohere", read_cohere, 4),
        ("ollama", read_ollama, 11),
    ];
    let all = bodies();
    for (wire, read, least) in readers {
        let mut count = 0;
        for body in all.iter().filter(|body| body.wire == wire) {
            // Whole responses of the wires that have a form of their own for them are read in
            // `every_recorded_body_is_read`.
            let own = body.form == Form::Whole && !matches!(wire, "gemini" | "ollama");
            // Cut or written by the project that keeps it.
            let cut =
                ["openai-phase", "shell-container.1"].iter().any(|cut| body.name.contains(cut));
            let Some(want) = read(&body.events).filter(|_| !own && !cut) else { continue };
            assert_eq!(said(&response(body)), want, "{}", body.name);
            count += 1;
        }
        assert!(count >= least, "{wire}: only {count}");
    }
}

/// Arguments by path: what the pieces say, in the order of the recording.
#[test]
fn arguments_by_path() {
    let all = bodies();
    let find = |name: &str| all.iter().find(|body| body.name.contains(name)).unwrap();
    let calls = said(&response(find("google-stream-tool-call-arguments."))).calls;
    let weather = |city: &str| ("getWeather".to_owned(), json!({ "location": city }));
    assert_eq!(calls, [weather("Boston"), weather("San Francisco")]);
    let body = find("missing-terminal-function-call");
    let item = |id: &str, text: &str, price: f64| json!({ "action": "add", "description": text, "itemid": id, "price": price });
    let operations =
        [item("apple_001", "Fresh red apple", 0.5), item("banana_001", "Ripe yellow banana", 0.3)];
    let want = vec![("writeItems".to_owned(), json!({ "operations": operations }))];
    let response = response(body);
    assert_eq!(said(&response).calls, want);
    assert!(response.calls.iter().all(|call| call.ended));
    // Cut by the limit of tokens, the call has not ended, however whole it looks.
    let text = String::from_utf8(body.bytes.clone()).unwrap();
    let cut = text.replace(r#"0.3}]}}]"#, r#"0.3}],"willContinue":true}}]"#);
    assert_ne!(cut, text);
    for (reason, ended) in [("STOP", true), ("MAX_TOKENS", false)] {
        let cut = cut.replace("STOP", reason);
        let mut response = Response::default();
        for delta in decode(Dialect::Gemini, [cut.as_bytes()]) {
            response.take(&delta).unwrap();
        }
        assert_eq!(response.calls[0].ended, ended, "{reason}");
    }
}

fn deltas(wire: &str, events: &[Value]) -> Vec<Delta> {
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    decode(dialect(wire), [stream.as_bytes()])
}

fn reasoning(text: &str, signature: Option<&str>) -> Delta {
    Delta::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

/// What providers want back unchanged is a signature.
#[test]
fn signatures() {
    let redacted = format!("{REDACTED}b64");
    let redacted = reasoning("", Some(&redacted));
    let got = deltas(
        "anthropic",
        &[
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "redacted_thinking", "data": "b64" } }),
        ],
    );
    assert_eq!(got, std::slice::from_ref(&redacted));
    let got = deltas(
        "bedrock",
        &[
            json!({ "contentBlockDelta": { "contentBlockIndex": 0, "delta": { "reasoningContent": { "redactedContent": "b64" } } } }),
        ],
    );
    assert_eq!(got, [redacted]);
    let details = json!([
        { "type": "reasoning.text", "text": "a", "signature": "s" },
        { "type": "reasoning.encrypted", "data": "d" },
    ]);
    for body in [
        json!({ "choices": [{ "delta": { "content": "b", "reasoning": "a", "reasoning_details": details } }] }),
        json!({ "choices": [{ "message": { "content": "b", "reasoning_details": details } }] }),
    ] {
        // What goes back with calls is recorded beside it (`tests/core/carried.rs`).
        let mut got = deltas("openai-chat", &[body]);
        got.retain(|delta| !matches!(delta, Delta::Members { .. }));
        let want = [
            reasoning("a", None),
            reasoning("", Some("s")),
            reasoning("", Some("d")),
            Delta::Text("b".to_owned()),
        ];
        assert_eq!(got, want);
    }
    let parts = json!([
        { "text": "a", "thought": true, "thoughtSignature": "s" },
        { "text": "", "thoughtSignature": "t" },
        { "functionCall": { "name": "f", "args": { "x": 1.0, "y": 9_007_199_254_740_993_u64 } }, "thoughtSignature": "u" },
    ]);
    let got = deltas("gemini", &[json!({ "candidates": [{ "content": { "parts": parts } }] })]);
    let call = [
        Delta::ToolCallStart { index: 0, id: "call_0".to_owned(), name: "f".to_owned() },
        // Numbers as they were given.
        Delta::ToolCallArguments { index: 0, text: r#"{"x":1.0,"y":9007199254740993}"#.to_owned() },
        Delta::ToolCallReady { index: 0 },
    ];
    let mut want =
        vec![reasoning("a", Some("s")), reasoning("", Some("t")), reasoning("", Some("u"))];
    want.extend(call);
    assert_eq!(got, want);
}

#[test]
fn reasons_to_finish() {
    let finish = |wire: &str, events: &[Value]| -> Vec<(FinishReason, String)> {
        let finish = deltas(wire, events).into_iter().filter_map(|delta| match delta {
            Delta::Finish { reason, raw } => Some((reason, raw)),
            _ => None,
        });
        finish.collect()
    };
    let gemini = |parts: Value, raw: &str| json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": raw }] });
    let text = || json!([{ "text": "a" }]);
    let call = || json!([{ "functionCall": { "name": "f" } }]);
    let stop = || (FinishReason::Stop, "STOP".to_owned());
    let calls = || (FinishReason::ToolCalls, "STOP".to_owned());
    assert_eq!(finish("gemini", &[gemini(text(), "STOP"), gemini(text(), "STOP")]), [stop()]);
    assert_eq!(
        finish("gemini", &[gemini(text(), "STOP"), gemini(call(), "STOP")]),
        [stop(), calls()]
    );
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    assert_eq!(finish("gemini", &[blocked]), [(FinishReason::ContentFilter, "SAFETY".to_owned())]);
    let incomplete = json!({ "type": "response.incomplete", "response": { "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" }, "output": [{ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\":", "status": "incomplete" }] } });
    let got = deltas("openai-responses", &[incomplete]);
    assert!(!got.iter().any(|delta| matches!(delta, Delta::ToolCallEnd { .. })));
    assert_eq!(
        got.last(),
        Some(&Delta::Finish { reason: FinishReason::Length, raw: "max_output_tokens".to_owned() })
    );
    // A response in the background has not finished.
    assert_eq!(
        finish(
            "openai-responses",
            &[json!({ "object": "response", "status": "queued", "output": [] })]
        ),
        []
    );
}
