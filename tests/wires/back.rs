//! What a response says comes back to its provider as it came: reasoning, signatures, their places.

use serde_json::{Value, json};
use turnlock::stream::{Delta, PART, Response};
use turnlock::turn::{Effect, Input, Settled, Turn, TurnOptions};
use turnlock::{Dialect, Next};

use super::{decode, dialect};

fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// The body of the request behind a response with calls, which all return `"ok"`.
fn next(wire: &str, events: &[Value]) -> Value {
    let tools: Vec<_> = ["f", "g"].map(|name| json!({ "name": name, "dedupe": "allow" })).into();
    let options = json!({
        "dialect": wire, "messages": [{ "role": "user", "content": "go" }], "tools": tools,
        "requestId": "r", "secret": "00112233445566778899aabbccddeeff", "mode": "unified",
    });
    let mut turn = TurnOptions::parse(options.to_string().as_bytes()).and_then(Turn::new).unwrap();
    let mut facts = vec![Input::Start];
    let mut asked = 0;
    while !facts.is_empty() {
        facts.drain(..).for_each(|fact| turn.handle(0, fact));
        while let Next::Effect(effect) = turn.poll() {
            match effect {
                Effect::Fetch { inference, attempt, request, .. } => {
                    asked += 1;
                    if asked == 2 {
                        return serde_json::from_str(&request.body.to_text()).unwrap();
                    }
                    let deltas = decode(dialect(wire), [sse(events).as_bytes()]);
                    facts.push(Input::Deltas { inference, attempt, deltas });
                    facts.push(Input::ResponseEnded { inference, attempt });
                }
                Effect::RunTool { call, .. } => {
                    let settled = Settled::Ok { bytes: 4, text: r#""ok""#.to_owned() };
                    facts.push(Input::ToolSettled { call, settled });
                }
                Effect::Done { result } => panic!("{}", result.to_json().to_text()),
                _ => {}
            }
        }
    }
    panic!("no second request");
}

/// Reasoning items stand between the calls that they led to, with the parts of their summaries.
#[test]
fn reasoning_of_responses() {
    let call = |id: &str, name: &str| json!({ "type": "function_call", "call_id": id, "name": name, "arguments": "{}", "status": "completed" });
    let thought = |parts: &[&str], data: &str| {
        let parts: Vec<_> =
            parts.iter().map(|text| json!({ "type": "summary_text", "text": text })).collect();
        json!({ "type": "reasoning", "summary": parts, "encrypted_content": data })
    };
    let items = [
        thought(&["One.", "Two."], "E1"),
        call("a", "f"),
        thought(&[], "E2"),
        thought(&["Three."], "E3"),
        call("b", "g"),
    ];
    let end = json!({ "type": "response.completed", "response": { "status": "completed" } });
    let mut whole = Vec::new();
    let mut pieces = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let done = json!({ "type": "response.output_item.done", "output_index": at, "item": item });
        for (part, text) in item["summary"].as_array().into_iter().flatten().enumerate() {
            pieces
                .push(json!({ "type": "response.reasoning_summary_text.delta", "output_index": at,
                "summary_index": part, "delta": text["text"] }));
        }
        whole.push(done.clone());
        pieces.push(done);
    }
    for mut events in [whole, pieces] {
        events.push(end.clone());
        let body = next("openai-responses", &events);
        let sent = body["input"].as_array().unwrap();
        assert_eq!(sent.len(), 8, "{body}");
        for (got, want) in sent[1..].iter().zip(&items) {
            for (key, value) in want.as_object().unwrap().iter().filter(|(key, _)| *key != "status")
            {
                assert_eq!(got[key], *value, "{got}");
            }
        }
    }
}

/// Thinking and the plan before calls are told apart.
#[test]
fn thinking_of_cohere() {
    let content = |text: Value| json!({ "type": "content-delta", "index": 0, "delta": { "message": { "content": text } } });
    let call =
        json!({ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let events = [
        content(json!({ "thinking": "Hm" })),
        content(json!({ "thinking": "m." })),
        json!({ "type": "content-end", "index": 0 }),
        content(json!({ "text": "I look." })),
        json!({ "type": "content-end", "index": 1 }),
        json!({ "type": "tool-plan-delta", "delta": { "message": { "tool_plan": "Look." } } }),
        json!({ "type": "tool-call-start", "index": 0, "delta": { "message": { "tool_calls": call } } }),
        json!({ "type": "tool-call-end", "index": 0 }),
        json!({ "type": "message-end", "delta": { "finish_reason": "TOOL_CALL" } }),
    ];
    let body = next("cohere", &events);
    let said = &body["messages"][1];
    assert_eq!(said["tool_plan"], "Look.", "{said}");
    let parts =
        json!([{ "type": "thinking", "thinking": "Hmm." }, { "type": "text", "text": "I look." }]);
    assert_eq!(said["content"], parts, "{said}");
}

/// Each signature returns on the part that it came with.
#[test]
fn signatures_of_gemini() {
    let call = |name: &str| json!({ "name": name, "args": {} });
    let parts = json!([
        { "text": "Hm.", "thought": true },
        { "text": "I look.", "thoughtSignature": "S0" },
        { "functionCall": call("f"), "thoughtSignature": "S1" },
        { "functionCall": call("g"), "thoughtSignature": "S2" },
    ]);
    let event =
        json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }] });
    let body = next("gemini", &[event]);
    let mut wanted = parts;
    wanted.as_array_mut().unwrap().remove(0);
    assert_eq!(body["contents"][1]["parts"], wanted, "{body}");
}

/// Signed thinking stays between the calls.
#[test]
fn thinking_of_anthropic_and_bedrock() {
    let start = |at: usize, block: Value| json!({ "type": "content_block_start", "index": at, "content_block": block });
    let stop = |at: usize| json!({ "type": "content_block_stop", "index": at });
    let blocks = [
        json!({ "type": "thinking", "thinking": "One.", "signature": "S1" }),
        json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} }),
        json!({ "type": "thinking", "thinking": "Two.", "signature": "S2" }),
        json!({ "type": "tool_use", "id": "b", "name": "g", "input": {} }),
    ];
    let mut events = vec![json!({ "type": "message_start", "message": { "id": "m" } })];
    for (at, block) in blocks.iter().enumerate() {
        events.extend([start(at, block.clone()), stop(at)]);
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
    events.push(json!({ "type": "message_stop" }));
    let body = next("anthropic", &events);
    assert_eq!(body["messages"][1]["content"], json!(blocks), "{body}");

    let delta = |at: usize, delta: Value| json!({ "contentBlockDelta": { "contentBlockIndex": at, "delta": { "reasoningContent": delta } } });
    let call = |at: usize, name: &str| json!({ "contentBlockStart": { "contentBlockIndex": at, "start": { "toolUse": { "toolUseId": name, "name": name } } } });
    let stop = |at: usize| json!({ "contentBlockStop": { "contentBlockIndex": at } });
    let events = [
        delta(0, json!({ "text": "One." })),
        delta(0, json!({ "signature": "S1" })),
        stop(0),
        call(1, "f"),
        stop(1),
        delta(2, json!({ "text": "Two." })),
        delta(2, json!({ "signature": "S2" })),
        stop(2),
        call(3, "g"),
        stop(3),
        json!({ "messageStop": { "stopReason": "tool_use" } }),
    ];
    let body = next("bedrock", &events);
    let sent = body["messages"][1]["content"].as_array().unwrap();
    let signature = |at: usize| &sent[at]["reasoningContent"]["reasoningText"]["signature"];
    assert_eq!((signature(0), signature(2)), (&json!("S1"), &json!("S2")), "{body}");
    assert_eq!(
        (&sent[1]["toolUse"]["name"], &sent[3]["toolUse"]["name"]),
        (&json!("f"), &json!("g"))
    );
}

/// Arguments that come again and are others: the call does not end, so it is never executed. White
/// space is no difference.
#[test]
fn contradictory_arguments() {
    let item = |kind: &str, text: &str| {
        let item =
            json!({ "type": "function_call", "call_id": "a", "name": "f", "arguments": text });
        json!({ "type": format!("response.output_item.{kind}"), "output_index": 0, "item": item })
    };
    let piece = |text: &str| json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": text });
    let done = |text: &str| json!({ "type": "response.function_call_arguments.done", "output_index": 0, "arguments": text });
    let end = json!({ "type": "response.completed", "response": { "status": "completed" } });
    let pieces = [item("added", ""), piece(r#"{"to":"#), piece(r#""a b"}"#)];
    for (last, ends) in [
        (vec![item("done", r#"{"to":"a b"}"#)], true),
        (vec![done(r#"{"to":"a b"}"#), item("done", r#"{ "to": "a b" }"#)], true),
        (vec![item("done", "")], true),
        (vec![item("done", r#"{"to":"ab"}"#)], false),
        (vec![done(r#"{"to":"c"}"#), item("done", r#"{"to":"a b"}"#)], false),
        (vec![done(r#"{"to":"c"}"#)], false),
    ] {
        let mut events = pieces.to_vec();
        events.extend(last);
        events.push(end.clone());
        let deltas = decode(Dialect::OpenAiResponses, [sse(&events).as_bytes()]);
        let mut response = Response::default();
        deltas.iter().for_each(|delta| response.take(delta).unwrap());
        let [call] = &response.calls[..] else { panic!("{deltas:?}") };
        assert_eq!(call.ended, ends, "{events:?}");
        assert_eq!(call.arguments, r#"{"to":"a b"}"#, "what was streamed stays");
    }
}

/// An error that is the last event of a stream counts, with or without a blank line behind it.
#[test]
fn an_error_without_a_blank_line() {
    for (wire, event) in [
        ("openai-chat", json!({ "error": { "message": "no", "type": "server_error" } })),
        ("openai-responses", json!({ "type": "error", "code": "server_error", "message": "no" })),
        (
            "anthropic",
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "no" } }),
        ),
        ("gemini", json!({ "error": { "code": 503, "message": "no" } })),
        ("bedrock", json!({ "internalServerException": { "message": "no" } })),
        ("cohere", json!({ "message": "no" })),
        ("ollama", json!({ "error": "no" })),
    ] {
        for end in ["", "\n", "\n\n"] {
            let text = format!(": open\n\ndata: {event}{end}");
            let deltas = decode(dialect(wire), [text.as_bytes()]);
            let [Delta::Error(error)] = &deltas[..] else { panic!("{wire} {end:?}: {deltas:?}") };
            assert_eq!(error.message, "no", "{wire}");
            assert_eq!(decode(dialect(wire), text.as_bytes().chunks(1)), deltas, "{wire}");
        }
    }
    assert!(PART.ends_with(':'), "no base64");
}
