//! Calls whose parts contradict each other, or of which the end is not known: they never end, so they
//! never run.

use serde_json::{Value, json};
use turnlock::stream::{Delta, ErrorClass, FinishReason, Response};

use crate::common::Random;
use crate::{decode, dialect};

/// Names and arguments of the calls that have ended, and how many have not.
fn read(wire: &str, events: &[Value]) -> (Vec<(String, String)>, usize) {
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let mut response = Response::default();
    for delta in decode(dialect(wire), [stream.as_bytes()]) {
        response.take(&delta).unwrap();
    }
    let (ended, open): (Vec<_>, Vec<_>) = response.calls.into_iter().partition(|call| call.ended);
    (ended.into_iter().map(|call| (call.name, call.arguments)).collect(), open.len())
}

fn chat(fragments: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "tool_calls": fragments } }] })
}

fn chat_end() -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })
}

fn anthropic(input: &Value, pieces: &[String]) -> Vec<Value> {
    let block = json!({ "type": "tool_use", "id": "a", "name": "remove", "input": input });
    let mut events =
        vec![json!({ "type": "content_block_start", "index": 0, "content_block": block })];
    events.extend(pieces.iter().map(|piece| {
        let delta = json!({ "type": "input_json_delta", "partial_json": piece });
        json!({ "type": "content_block_delta", "index": 0, "delta": delta })
    }));
    events.push(json!({ "type": "content_block_stop", "index": 0 }));
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
    events
}

fn responses(kind: &str, index: Option<u64>, own: Value) -> Value {
    let mut event = json!({ "type": format!("response.{kind}") });
    event.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    if let Some(index) = index {
        event["output_index"] = json!(index);
    }
    event
}

fn item(id: &str, name: &str, arguments: &str) -> Value {
    let (kind, call) = ("function_call", format!("call-{id}"));
    json!({ "item": { "type": kind, "id": id, "call_id": call, "name": name, "arguments": arguments } })
}

fn responses_end() -> Value {
    json!({ "type": "response.completed", "response": { "status": "completed", "output": [] } })
}

/// The same arguments come at the start of a call, in pieces, or in both; or others do. Gateways send
/// the whole input at the start (inflaborg/ccrelay#119, 2026-08-03), also as a text
/// (nielspeter/claude-code-proxy#13, 2026-04-22).
#[test]
fn input_at_the_start_is_the_arguments_unless_pieces_contradict_it() {
    let random = &mut Random(561);
    let inputs = [r#"{"only":"tmp.txt"}"#, r#"{"all":true}"#, r#"{"n":[1,{"k":"} {"}]}"#, "{}", ""];
    for round in 0..600 {
        let (at_start, in_pieces) = (inputs[random.below(5)], inputs[random.below(5)]);
        let start = match round % 3 {
            0 => json!(at_start),
            1 => json!(at_start.replace(':', " : ")),
            _ => serde_json::from_str(at_start).unwrap_or(Value::Null),
        };
        let mut pieces = Vec::new();
        let mut rest = in_pieces;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(1 + random.below(rest.len()));
            pieces.push(piece.to_owned());
            rest = tail;
        }
        let is_empty = |text: &str| text.is_empty() || text == "{}";
        let want = match (is_empty(at_start), is_empty(in_pieces)) {
            (true, _) => Some(in_pieces),
            (false, true) if in_pieces.is_empty() => Some(at_start),
            (false, _) => Some(at_start).filter(|_| at_start == in_pieces),
        };
        let bedrock_start =
            json!({ "toolUse": { "toolUseId": "a", "name": "remove", "input": start } });
        let mut bedrock = vec![
            json!({ "contentBlockStart": { "contentBlockIndex": 0, "start": bedrock_start } }),
        ];
        bedrock.extend(pieces.iter().map(|piece| {
            let delta = json!({ "toolUse": { "input": piece } });
            json!({ "contentBlockDelta": { "contentBlockIndex": 0, "delta": delta } })
        }));
        bedrock.push(json!({ "contentBlockStop": { "contentBlockIndex": 0 } }));
        bedrock.push(json!({ "messageStop": { "stopReason": "tool_use" } }));
        let mut added = item("i", "remove", "");
        added["item"]["arguments"] = start.clone();
        let mut items = vec![responses("output_item.added", Some(0), added)];
        items.extend(pieces.iter().map(|piece| {
            responses("function_call_arguments.delta", Some(0), json!({ "delta": piece }))
        }));
        items.push(responses("output_item.done", Some(0), item("i", "remove", "")));
        items.push(responses_end());
        for (wire, events) in [
            ("anthropic", anthropic(&start, &pieces)),
            ("bedrock", bedrock),
            ("openai-responses", items),
        ] {
            let (ended, open) = read(wire, &events);
            let plain = |text: &str| text.replace(" : ", ":");
            let got: Vec<_> = ended.iter().map(|(_, arguments)| plain(arguments)).collect();
            let want: Vec<_> = want.into_iter().map(str::to_owned).collect();
            assert_eq!(got, want, "{wire} {events:#?}");
            assert_eq!(ended.len() + open, 1, "{wire}: not dropped");
        }
    }
}

/// Arguments in a form that no wire format has: they are not an empty object.
#[test]
fn arguments_of_another_type_are_not_dropped() {
    let object = json!({ "only": "tmp.txt" });
    for (value, text) in [(object, r#"{"only":"tmp.txt"}"#), (json!(["tmp"]), r#"["tmp"]"#)] {
        let function = json!({ "name": "remove", "arguments": value });
        let cohere = json!({ "id": "a", "function": function });
        let whole = json!({ "function": function });
        let rows = [
            ("anthropic", anthropic(&value, &[])),
            (
                "anthropic",
                vec![
                    json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "a", "name": "remove", "input": {} } }),
                    json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": value } }),
                    json!({ "type": "content_block_stop", "index": 0 }),
                    json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
                ],
            ),
            (
                "bedrock",
                vec![
                    json!({ "contentBlockStart": { "contentBlockIndex": 0, "start": { "toolUse": { "toolUseId": "a", "name": "remove" } } } }),
                    json!({ "contentBlockDelta": { "contentBlockIndex": 0, "delta": { "toolUse": { "input": value } } } }),
                    json!({ "contentBlockStop": { "contentBlockIndex": 0 } }),
                    json!({ "messageStop": { "stopReason": "tool_use" } }),
                ],
            ),
            (
                "cohere",
                vec![
                    json!({ "type": "tool-call-start", "index": 0, "delta": { "message": { "tool_calls": cohere } } }),
                    json!({ "type": "tool-call-end", "index": 0 }),
                    json!({ "type": "message-end", "delta": { "finish_reason": "TOOL_CALL" } }),
                ],
            ),
            ("ollama", vec![json!({ "message": { "tool_calls": [whole] }, "done": true })]),
            (
                "openai-responses",
                vec![
                    responses("output_item.added", Some(0), item("i", "remove", "")),
                    responses("function_call_arguments.delta", Some(0), json!({ "delta": value })),
                    responses("output_item.done", Some(0), item("i", "remove", "")),
                    responses_end(),
                ],
            ),
        ];
        for (wire, events) in rows {
            let want = (vec![("remove".to_owned(), text.to_owned())], 0);
            assert_eq!(read(wire, &events), want, "{wire}");
        }
    }
}

#[test]
fn a_call_with_contradictory_parts_does_not_end() {
    let head = |index: u64, id: &str| json!({ "index": index, "id": id, "function": { "name": id, "arguments": "" } });
    let of = |index: u64, id: &str, arguments: &str| json!({ "index": index, "id": id, "function": { "arguments": arguments } });
    let added =
        |index: u64, id: &str| responses("output_item.added", Some(index), item(id, id, ""));
    let delta = |index: Option<u64>, id: &str, text: &str| {
        responses("function_call_arguments.delta", index, json!({ "item_id": id, "delta": text }))
    };
    let done = |index: u64, id: &str, name: &str, arguments: &str| {
        responses("output_item.done", Some(index), item(id, name, arguments))
    };
    let arguments = r#"{"only":"tmp.txt"}"#;
    let gemini = |call: Value| json!({ "candidates": [{ "content": { "parts": [{ "functionCall": call }] } }] });
    let gemini_end = || json!({ "candidates": [{ "finishReason": "STOP" }] });
    let ollama = |calls: Value| json!({ "message": { "tool_calls": calls }, "done": false });
    let ollama_end = || json!({ "message": {}, "done": true, "done_reason": "stop" });
    let function = |name: &str, arguments: Value| json!({ "function": { "name": name, "arguments": arguments } });
    type Row<'a> = (&'a str, &'a str, Vec<Value>, &'a [(&'a str, &'a str)]);
    let rows: [Row<'_>; 16] = [
        (
            "openai-chat",
            "the id of one call and the index of another",
            vec![
                chat(json!([head(0, "a"), head(1, "b")])),
                chat(json!([of(1, "a", arguments)])),
                chat_end(),
            ],
            &[],
        ),
        (
            "openai-chat",
            "the same, and a third call that is not concerned",
            vec![
                chat(json!([head(0, "a"), head(1, "b"), head(2, "c")])),
                chat(json!([of(2, "c", "{}"), of(1, "a", arguments), of(1, "b", "{}")])),
                chat_end(),
            ],
            &[("c", "{}")],
        ),
        (
            "openai-chat",
            "the same with the name",
            vec![
                chat(json!([head(0, "a"), head(1, "b"), of(1, "b", "{}")])),
                chat(
                    json!([{ "index": 1, "id": "a", "function": { "name": "a", "arguments": arguments } }]),
                ),
                chat_end(),
            ],
            &[],
        ),
        (
            "openai-chat",
            "an index that no call has",
            vec![chat(json!([head(0, "a")])), chat(json!([of(5, "a", arguments)])), chat_end()],
            &[("a", arguments)],
        ),
        (
            "openai-chat",
            "several calls with one id are told apart by their index",
            vec![
                chat(
                    json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{}" } }]),
                ),
                chat(
                    json!([{ "index": 1, "id": "a", "function": { "name": "g", "arguments": "" } }]),
                ),
                chat(json!([of(1, "a", arguments)])),
                chat_end(),
            ],
            &[("f", "{}"), ("g", arguments)],
        ),
        (
            "openai-responses",
            "another name at the end of the item",
            vec![
                added(0, "a"),
                delta(Some(0), "a", arguments),
                done(0, "a", "b", arguments),
                responses_end(),
            ],
            &[],
        ),
        (
            "openai-responses",
            "another name at the end of the arguments",
            vec![
                added(0, "a"),
                responses(
                    "function_call_arguments.done",
                    Some(0),
                    json!({ "name": "b", "arguments": arguments }),
                ),
                done(0, "a", "a", arguments),
                responses_end(),
            ],
            &[],
        ),
        (
            "openai-responses",
            "the id of one item and the index of another",
            vec![
                added(0, "a"),
                added(1, "b"),
                delta(Some(1), "a", arguments),
                done(0, "a", "a", ""),
                done(1, "b", "b", ""),
                responses_end(),
            ],
            &[],
        ),
        (
            "openai-responses",
            "an item that ends as another one",
            vec![added(0, "a"), added(1, "b"), done(1, "a", "a", arguments), responses_end()],
            &[],
        ),
        (
            "openai-responses",
            "an id that no item has, as gateways send them",
            vec![
                added(0, "a"),
                added(1, "b"),
                delta(Some(0), "x", arguments),
                delta(Some(1), "y", "{}"),
                responses(
                    "output_item.done",
                    Some(0),
                    json!({ "item": { "type": "function_call", "id": "z", "call_id": "call-a", "name": "a", "arguments": arguments } }),
                ),
                done(1, "b", "b", "{}"),
                responses_end(),
            ],
            &[("a", arguments), ("b", "{}")],
        ),
        (
            "openai-responses",
            "no index: the id is that of the item (Soju06/codex-lb#542, 2026-05-03)",
            vec![
                added(0, "a"),
                added(1, "b"),
                delta(None, "a", arguments),
                delta(None, "b", "{}"),
                done(0, "a", "a", arguments),
                done(1, "b", "b", "{}"),
                responses_end(),
            ],
            &[("a", arguments), ("b", "{}")],
        ),
        (
            "openai-responses",
            "the text of a custom tool differs from its pieces",
            vec![
                responses(
                    "output_item.added",
                    Some(0),
                    json!({ "item": { "type": "custom_tool_call", "id": "a", "call_id": "a", "name": "a", "input": "" } }),
                ),
                responses("custom_tool_call_input.delta", Some(0), json!({ "delta": "rm tmp" })),
                responses(
                    "output_item.done",
                    Some(0),
                    json!({ "item": { "type": "custom_tool_call", "id": "a", "call_id": "a", "name": "a", "input": "rm all" } }),
                ),
                responses_end(),
            ],
            &[],
        ),
        (
            "ollama",
            "arguments without a name, after a call",
            vec![
                ollama(json!([function("a", json!({}))])),
                ollama(json!([function("", json!({ "only": "tmp.txt" }))])),
                ollama_end(),
            ],
            &[],
        ),
        (
            "ollama",
            "arguments without a name, before a call",
            vec![
                ollama(
                    json!([{ "function": { "arguments": { "only": "tmp.txt" } } }, function("a", json!({}))]),
                ),
                ollama_end(),
            ],
            &[],
        ),
        (
            "gemini",
            "arguments without a name, after a call",
            vec![
                gemini(json!({ "name": "a", "args": {} })),
                gemini(json!({ "args": { "only": "tmp.txt" } })),
                gemini_end(),
            ],
            &[],
        ),
        (
            "gemini",
            "whole arguments after others by path",
            vec![
                gemini(
                    json!({ "name": "a", "partialArgs": [{ "jsonPath": "$.all", "boolValue": true }], "willContinue": true }),
                ),
                gemini(json!({ "args": { "only": "tmp.txt" } })),
                gemini_end(),
            ],
            &[],
        ),
    ];
    for (wire, why, events, want) in rows {
        let (ended, open) = read(wire, &events);
        let got: Vec<_> = ended.iter().map(|(name, args)| (name.as_str(), args.as_str())).collect();
        assert_eq!(got, want, "{wire}: {why}");
        assert!(open + ended.len() > 0, "{wire}: {why}: dropped");
    }
}

/// A piece that is a whole call is no end mark: the call ends if the response ends normally. Other
/// readers took every end of Ollama (tetsuo-ai/agenc-core#2105, 2026-09-04) and of a response of
/// Gemini that is not streamed (Pasta-Devs/Marinara-Engine#3033, 2026-06-29) for a normal one.
#[test]
fn a_whole_call_ends_with_its_response() {
    let gemini = |reason: Value| {
        let call = json!([{ "functionCall": { "name": "f", "args": { "n": 1 } } }]);
        vec![
            json!({ "candidates": [{ "content": { "parts": call } }] }),
            json!({ "candidates": [{ "content": { "parts": [] }, "finishReason": reason }] }),
        ]
    };
    let by_path = |reason: Value| {
        let part = json!({ "jsonPath": "$.n", "numberValue": 1 });
        let call = json!([{ "functionCall": { "name": "f", "partialArgs": [part] } }]);
        vec![
            json!({ "candidates": [{ "content": { "parts": call } }] }),
            json!({ "candidates": [{ "content": { "parts": [] }, "finishReason": reason }] }),
        ]
    };
    let at_once = |reason: Value| {
        let call = json!([{ "functionCall": { "name": "f", "args": { "n": 1 } } }]);
        vec![json!({ "candidates": [{ "content": { "parts": call }, "finishReason": reason }] })]
    };
    let function = json!({ "name": "f", "arguments": { "n": 1 } });
    let ollama = |reason: Value| {
        let call = json!([{ "function": function }]);
        vec![
            json!({ "message": { "tool_calls": call }, "done": false }),
            json!({ "message": {}, "done": !reason.is_null() || reason == "", "done_reason": reason }),
        ]
    };
    let cohere = |reason: Value| {
        let call = json!([{ "id": "c", "function": function }]);
        vec![json!({ "message": { "tool_calls": call }, "finish_reason": reason })]
    };
    let bedrock = |reason: Value| {
        let call = json!([{ "toolUse": { "toolUseId": "c", "name": "f", "input": { "n": 1 } } }]);
        vec![json!({ "output": { "message": { "content": call } }, "stopReason": reason })]
    };
    let anthropic = |reason: Value| {
        let call = json!([{ "type": "tool_use", "id": "c", "name": "f", "input": { "n": 1 } }]);
        vec![json!({ "type": "message", "id": "m", "content": call, "stop_reason": reason })]
    };
    type Make<'a> = &'a dyn Fn(Value) -> Vec<Value>;
    type Row<'a> = (&'a str, Make<'a>, &'a [&'a str], &'a [&'a str]);
    let gemini_cut = [
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "PROHIBITED_CONTENT",
        "MALFORMED_FUNCTION_CALL",
        "OTHER",
        "LANGUAGE",
        "FINISH_REASON_UNSPECIFIED",
        "",
    ];
    let rows: [Row<'_>; 7] = [
        ("gemini", &gemini, &["STOP"], &gemini_cut),
        ("gemini", &by_path, &["STOP"], &gemini_cut),
        ("gemini", &at_once, &["STOP"], &gemini_cut),
        ("ollama", &ollama, &["stop", ""], &["length", "load", "unload", "error"]),
        ("cohere", &cohere, &["TOOL_CALL", "COMPLETE"], &["MAX_TOKENS", "ERROR_TOXIC", "TIMEOUT"]),
        ("bedrock", &bedrock, &["tool_use", "end_turn"], &["max_tokens", "guardrail_intervened"]),
        (
            "anthropic",
            &anthropic,
            &["tool_use", "end_turn"],
            &["max_tokens", "refusal", "pause_turn"],
        ),
    ];
    for (wire, body, normal, cut) in rows {
        let call = ("f".to_owned(), r#"{"n":1}"#.to_owned());
        for reason in normal {
            let got = read(wire, &body(json!(reason)));
            assert_eq!(got, (vec![call.clone()], 0), "{wire} {reason}");
        }
        for reason in cut {
            assert_eq!(read(wire, &body(json!(reason))), (vec![], 1), "{wire} {reason}");
        }
        let mut unfinished = body(json!(normal[0]));
        if unfinished.len() > 1 {
            unfinished.pop();
            assert_eq!(read(wire, &unfinished), (vec![], 1), "{wire}: no mark");
        }
    }
    // Older models of Gemini repeat the reason: the first normal one ends what came before it.
    let mut twice = gemini(json!("MAX_TOKENS"));
    twice.push(json!({ "candidates": [{ "finishReason": "STOP" }] }));
    assert_eq!(read("gemini", &twice), (vec![], 1), "a normal reason after another one");
}

fn head(id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    json!({ "index": 0, "id": id, "type": "function", "function": function })
}

fn finished(mut chunk: Value, reason: Value) -> Value {
    chunk["choices"][0]["finish_reason"] = reason;
    chunk
}

const GOOD: &str = r#"{"only":"tmp.txt"}"#;

/// Gateways send the finish reason with each chunk, or before the arguments. A call without arguments
/// waits for the end of the response; others end as before.
#[test]
fn a_call_without_arguments_waits_for_the_end_of_the_response() {
    let more = || chat(json!([{ "index": 0, "function": { "arguments": GOOD } }]));
    for arguments in ["", "{}", " { } "] {
        for reason in ["tool_calls", "stop", "function_call", "STOP", " stop "] {
            let first = || finished(chat(json!([head("a", "remove", arguments)])), json!(reason));
            let (ended, open) = read("openai-chat", &[first()]);
            let want = vec![("remove".to_owned(), arguments.to_owned())];
            assert_eq!((ended, open), (want, 0), "{reason}: the end of the body");
            for late in [more(), finished(more(), json!(reason))] {
                let got = read("openai-chat", &[first(), late]);
                assert_eq!(got, (vec![], 1), "{arguments:?}, {reason}");
            }
            let mut deltas = Vec::new();
            let mut decoder = turnlock::stream::Decoder::new(dialect("openai-chat")).unwrap();
            decoder.feed(format!("data: {}\n\n", first()).as_bytes(), &mut deltas);
            let is_end = |delta: &turnlock::stream::Delta| {
                matches!(delta, turnlock::stream::Delta::ToolCallEnd { .. })
            };
            assert!(!deltas.iter().any(is_end), "{reason}: before the end of the response");
            decoder.feed(b"data: [DONE]\n\n", &mut deltas);
            assert!(deltas.iter().any(is_end), "{reason}: at the end mark");
        }
    }
    let whole = finished(chat(json!([head("a", "remove", GOOD)])), json!("tool_calls"));
    assert_eq!(read("openai-chat", &[whole]).1, 0);
}

/// A finish reason that is none of the normal ones, with the end mark behind it.
#[test]
fn an_end_mark_does_not_override_a_finish_reason() {
    let reasons = [
        json!("aborted"),
        json!("cancelled"),
        json!("refusal"),
        json!("token_limit"),
        json!("repetition_truncation"),
        json!("engine_overloaded"),
        json!("a word of tomorrow"),
        json!(" length "),
        json!("Length"),
        json!(1),
        json!(true),
        json!(["length"]),
        json!({ "type": "length" }),
    ];
    for reason in reasons {
        for arguments in ["", "{}", GOOD] {
            for in_delta in [false, true] {
                let mut end = finished(chat(json!([])), reason.clone());
                if in_delta {
                    end["choices"][0] = json!({ "index": 0, "delta": { "finish_reason": reason } });
                }
                let call = chat(json!([head("a", "remove", arguments)]));
                let stream = format!("data: {call}\n\ndata: {end}\n\ndata: [DONE]\n\n");
                let mut response = Response::default();
                for delta in decode(dialect("openai-chat"), [stream.as_bytes()]) {
                    response.take(&delta).unwrap();
                }
                assert_eq!(response.calls.len(), 1, "{reason}: dropped");
                assert!(response.calls.iter().all(|call| !call.ended), "{reason} {arguments}");
            }
        }
    }
}

/// Arguments in a member that no reader of the wire format knows are not an empty object.
#[test]
fn arguments_in_a_place_that_is_not_read_are_not_dropped() {
    let object = || json!({ "only": "tmp.txt" });
    let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let piece = || json!([{ "index": 0, "function": { "arguments": GOOD } }]);
    let mut chat_rows = vec![
        chat(json!([{ "index": 0, "function": [{ "arguments": GOOD }] }])),
        json!({ "choices": [{ "index": 0, "tool_calls": piece(), "delta": {} }] }),
        json!({ "choices": [{ "index": 0, "delta": [{ "tool_calls": piece() }] }] }),
        json!({ "choices": { "index": 0, "delta": { "tool_calls": piece() } } }),
        json!({ "choices": [[{ "index": 0, "delta": { "tool_calls": piece() } }]] }),
        json!({ "data": { "choices": [{ "index": 0, "delta": { "tool_calls": piece() } }] } }),
        json!({ "delta": { "tool_calls": piece() } }),
        json!({ "tool_calls": piece() }),
        delta(json!({ "content": [{ "type": "tool_use", "input": object() }] })),
        delta(json!({ "tool_calls": piece().to_string() })),
    ];
    for value in [json!(GOOD), object(), json!([GOOD])] {
        for key in ["parameters", "input", "args", "partial_json", "arguments_delta", "later"] {
            chat_rows.push(chat(json!([{ "index": 0, "function": { key: value } }])));
            chat_rows.push(chat(json!([{ "index": 0, key: value }])));
        }
        for key in ["toolCalls", "tool_call", "input", "args", "parameters", "partial_json"] {
            chat_rows.push(delta(json!({ key: value })));
            chat_rows.push(json!({ "choices": [{ "index": 0, "delta": {}, key: value }] }));
        }
    }
    for arguments in ["", "{}"] {
        for row in &chat_rows {
            let call = chat(json!([head("a", "remove", arguments)]));
            for events in [[call.clone(), row.clone()], [row.clone(), call]] {
                let [first, second] = events;
                let (ended, _) = read("openai-chat", &[first, second, chat_end()]);
                assert_eq!(ended, [], "{row}");
            }
        }
    }
    // What providers send beside a call does not concern it.
    let mut beside = head("a", "remove", "{}");
    beside["extra_content"] = json!({ "google": { "thought_signature": "x" } });
    beside["later"] = json!({});
    let (ended, _) = read("openai-chat", &[chat(json!([beside])), chat_end()]);
    assert_eq!(ended.len(), 1);
    // Nor does an unknown member hide arguments that were read.
    let mut both = head("a", "remove", GOOD);
    both["function"]["parameters"] = object();
    assert_eq!(read("openai-chat", &[chat(json!([both])), chat_end()]).0.len(), 1);

    let ollama = |call: Value| {
        vec![json!({ "message": { "tool_calls": [call] }, "done": true, "done_reason": "stop" })]
    };
    let gemini = |parts: Value| json!({ "candidates": [{ "content": { "parts": parts } }] });
    let gemini_end = || json!({ "candidates": [{ "finishReason": "STOP" }] });
    let cohere = |start: Value, piece: Value| {
        vec![
            json!({ "type": "tool-call-start", "index": 0, "delta": { "message": { "tool_calls": start } } }),
            json!({ "type": "tool-call-delta", "index": 0, "delta": { "message": { "tool_calls": piece } } }),
            json!({ "type": "tool-call-end", "index": 0 }),
            json!({ "type": "message-end", "delta": { "finish_reason": "TOOL_CALL" } }),
        ]
    };
    let cohere_start = json!({ "id": "a", "function": { "name": "remove", "arguments": "" } });
    let with_delta = |delta: Value| {
        let mut events = anthropic(&json!({}), &[]);
        events.insert(1, json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
        events
    };
    let bedrock = |piece: Value| {
        let start = json!({ "toolUse": { "toolUseId": "a", "name": "remove" } });
        let delta = json!({ "toolUse": piece });
        vec![
            json!({ "contentBlockStart": { "contentBlockIndex": 0, "start": start } }),
            json!({ "contentBlockDelta": { "contentBlockIndex": 0, "delta": delta } }),
            json!({ "contentBlockStop": { "contentBlockIndex": 0 } }),
            json!({ "messageStop": { "stopReason": "tool_use" } }),
        ]
    };
    let by_path = |value: Value| {
        let mut piece = value;
        piece["jsonPath"] = json!("$.only");
        vec![
            gemini(json!([{ "functionCall": { "name": "remove", "willContinue": true } }])),
            gemini(json!([{ "functionCall": { "partialArgs": [piece], "willContinue": true } }])),
            gemini(json!([{ "functionCall": {} }])),
            gemini_end(),
        ]
    };
    let rows = [
        ("ollama", ollama(json!({ "function": { "name": "remove", "parameters": object() } }))),
        (
            "ollama",
            ollama(json!({ "function": { "name": "remove", "arguments": {}, "input": GOOD } })),
        ),
        ("ollama", ollama(json!({ "function": { "name": "remove" }, "args": object() }))),
        ("cohere", cohere(cohere_start.clone(), json!([{ "function": { "arguments": GOOD } }]))),
        ("cohere", cohere(cohere_start.clone(), json!({ "function": { "parameters": object() } }))),
        ("cohere", cohere(cohere_start, json!({ "parameters": object() }))),
        ("anthropic", with_delta(json!({ "type": "input_json_delta", "input": GOOD }))),
        ("anthropic", with_delta(json!({ "type": "input_json_delta", "input": object() }))),
        ("anthropic", with_delta(json!({ "type": "text_delta", "text": GOOD }))),
        ("anthropic", with_delta(json!({ "type": "input_delta", "partial_json": GOOD }))),
        ("bedrock", bedrock(json!({ "partialInput": GOOD }))),
        (
            "gemini",
            vec![
                gemini(json!([{ "functionCall": { "name": "remove", "arguments": object() } }])),
                gemini_end(),
            ],
        ),
        (
            "gemini",
            vec![
                gemini(json!([{ "functionCall": { "name": "remove" } }])),
                gemini(json!([{ "function_call": { "args": object() } }])),
                gemini_end(),
            ],
        ),
        // A call that is to go on, and does not.
        (
            "gemini",
            vec![
                gemini(json!([{ "functionCall": { "name": "remove", "willContinue": true } }])),
                gemini_end(),
            ],
        ),
        ("gemini", by_path(json!({ "listValue": ["tmp.txt"] }))),
        ("gemini", by_path(json!({ "intValue": 5 }))),
    ];
    for (wire, events) in rows {
        let (ended, open) = read(wire, &events);
        assert_eq!((ended, open), (vec![], 1), "{wire} {events:#?}");
    }
}

/// What the end of a response says of a call that had no arguments before.
#[test]
fn the_end_of_a_response_contradicts_a_call_without_arguments() {
    let completed = |name: &str, arguments: &str| {
        let mut output = item("a", name, arguments);
        output["item"]["status"] = json!("completed");
        json!({ "type": "response.completed", "response": { "status": "completed", "output": [output["item"]] } })
    };
    let arguments_done = || {
        responses(
            "function_call_arguments.done",
            Some(0),
            json!({ "item_id": "a", "arguments": GOOD }),
        )
    };
    for arguments in ["", "{}"] {
        for has_start in [false, true] {
            let begin = || {
                let mut events =
                    vec![responses("output_item.done", Some(0), item("a", "remove", arguments))];
                if has_start {
                    events.insert(
                        0,
                        responses("output_item.added", Some(0), item("a", "remove", "")),
                    );
                }
                events
            };
            let with = |more: Vec<Value>| [begin(), more].concat();
            let next = || responses("output_item.added", Some(1), item("b", "list", ""));
            for (why, events) in [
                ("other arguments", with(vec![completed("remove", GOOD)])),
                ("another name", with(vec![completed("list", arguments)])),
                ("arguments after the item", with(vec![arguments_done(), responses_end()])),
                ("another call between", with(vec![next(), completed("remove", GOOD)])),
            ] {
                let (ended, _) = read("openai-responses", &events);
                assert_eq!(ended, [], "{why}: {arguments:?} {has_start}");
            }
            for events in [with(vec![responses_end()]), with(vec![completed("remove", "{}")])] {
                assert_eq!(read("openai-responses", &events).0.len(), 1, "{arguments:?}");
            }
        }
    }
}

#[test]
fn two_names_under_one_id_and_index_are_a_contradiction() {
    for (first, second) in [("{}", GOOD), ("", GOOD), (GOOD, "{}"), ("{", "}"), (GOOD, GOOD)] {
        let heads = [head("a", "remove", first), head("a", "list", second)];
        let at_once = vec![chat(json!(heads)), chat_end()];
        let apart = vec![chat(json!([heads[0]])), chat(json!([heads[1]])), chat_end()];
        for events in [at_once, apart] {
            let (ended, open) = read("openai-chat", &events);
            assert_eq!((ended, open > 0), (vec![], true), "{first} {second}");
        }
    }
}

/// Gateways send several calls under one index (apache/maka#1976, 2026-08-03; LibreChat-AI/agents#260,
/// 2026-06-22), mostly each with its arguments, or followed by them
/// (oracle/langchain-oracle#253, 2026-07-06).
#[test]
fn arguments_under_an_index_of_two_calls_are_those_of_neither() {
    let index = |index: &Value, mut call: Value| {
        match index {
            Value::Null => drop(call.as_object_mut().unwrap().remove("index")),
            index => call["index"] = index.clone(),
        }
        chat(json!([call]))
    };
    let ended = |events: Vec<Value>| {
        let (ended, _) = read("openai-chat", &[events, vec![chat_end()]].concat());
        ended.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    for at in [json!(0), json!(7), Value::Null] {
        let head = |id: &str, name: &str, arguments: &str| index(&at, head(id, name, arguments));
        let piece = |arguments: &str| index(&at, json!({ "function": { "arguments": arguments } }));
        let named =
            |name: &str| index(&at, json!({ "function": { "name": name, "arguments": GOOD } }));
        let (front, back) = GOOD.split_at(5);
        for (name, first) in [("list", ""), ("remove", ""), ("list", "{}"), ("list", " ")] {
            let heads = || vec![head("a", "remove", first), head("b", name, "")];
            for pieces in
                [vec![piece(GOOD)], vec![piece(front), piece(back)], vec![piece(" "), piece(GOOD)]]
            {
                assert_eq!(ended([heads(), pieces].concat()), none, "{at} {name} {first:?}");
            }
        }
        let three = vec![head("a", "remove", ""), head("b", "list", ""), head("c", "list", "")];
        assert_eq!(ended([three, vec![piece(GOOD)]].concat()), none);
        // What follows its own head is told apart.
        let own = vec![head("a", "remove", ""), piece(GOOD), head("b", "list", ""), piece(GOOD)];
        assert_eq!(ended(own), ["remove", "list"], "{at}");
        let whole = vec![head("a", "remove", GOOD), head("b", "list", GOOD)];
        assert_eq!(ended(whole), ["remove", "list"], "{at}");
        // The name tells which call is meant; the other one may lack its arguments.
        let by_name = vec![head("a", "remove", GOOD), head("b", "list", ""), named("list")];
        assert_eq!(ended(by_name).first().map(String::as_str), Some("remove"), "{at}");
    }
}

/// Readers differ in which of two members they take, and some providers' events are written by hand.
#[test]
fn a_member_of_a_call_that_stands_twice_with_two_values_breaks_the_response() {
    /// The text of an event with a second member behind each one of this name.
    fn twice(event: &Value, key: &str, other: &Value) -> String {
        let text = |key: &str, value: String| format!("{}:{value}", json!(key));
        match event {
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    let own = text(name, twice(value, key, other));
                    if name == key {
                        format!("{own},{}", text(name, other.to_string()))
                    } else {
                        own
                    }
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| twice(item, key, other));
                format!("[{}]", items.collect::<Vec<_>>().join(","))
            }
            value => value.to_string(),
        }
    }
    let gemini = |parts: Value| json!({ "candidates": [{ "content": { "parts": parts } }] });
    let gemini_end = || json!({ "candidates": [{ "finishReason": "STOP" }] });
    let call = json!({ "id": "a", "type": "function", "function": { "name": "remove", "arguments": GOOD } });
    let mut streamed = call.clone();
    streamed["index"] = json!(0);
    let events = [
        (
            "openai-chat",
            vec![chat(json!([streamed])), chat_end()],
            vec!["index", "id", "name", "arguments", "function", "tool_calls", "delta"],
        ),
        (
            "anthropic",
            anthropic(&json!({}), &[GOOD.to_owned()]),
            vec!["index", "id", "name", "partial_json", "type", "content_block"],
        ),
        (
            "openai-responses",
            vec![
                responses("output_item.done", Some(0), item("a", "remove", GOOD)),
                responses_end(),
            ],
            vec!["output_index", "id", "call_id", "name", "arguments", "item"],
        ),
        (
            "gemini",
            vec![
                gemini(
                    json!([{ "functionCall": { "name": "remove", "args": { "only": "tmp.txt" } } }]),
                ),
                gemini_end(),
            ],
            vec!["name", "args", "functionCall", "parts"],
        ),
        (
            "ollama",
            vec![
                json!({ "message": { "role": "assistant", "content": "", "tool_calls": [call] }, "done": true, "done_reason": "stop" }),
            ],
            vec!["name", "arguments", "tool_calls", "message"],
        ),
        (
            "cohere",
            vec![
                json!({ "type": "tool-call-start", "index": 0, "delta": { "message": { "tool_calls": call } } }),
                json!({ "type": "tool-call-end", "index": 0 }),
                json!({ "type": "message-end", "delta": { "finish_reason": "TOOL_CALL" } }),
            ],
            vec!["index", "id", "name", "arguments", "tool_calls"],
        ),
    ];
    let play = |wire: &str, events: &[String]| {
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        decode(dialect(wire), [stream.as_bytes()])
    };
    let ends = |deltas: &[Delta]| {
        deltas.iter().filter(|delta| matches!(delta, Delta::ToolCallEnd { .. })).count()
    };
    for (wire, events, keys) in events {
        let plain: Vec<String> = events.iter().map(Value::to_string).collect();
        assert_eq!(ends(&play(wire, &plain)), 1, "{wire}");
        for key in keys {
            for other in [json!("other"), json!(null), json!({ "x": 1 }), json!([7])] {
                let texts: Vec<String> =
                    events.iter().map(|event| twice(event, key, &other)).collect();
                let deltas = play(wire, &texts);
                let broken = matches!(deltas.last(), Some(Delta::Error(error)) if error.class == ErrorClass::Malformed);
                assert!(broken && ends(&deltas) == 0, "{wire} {key} {other}: {deltas:?}");
            }
        }
        // The same value again is harmless, and so is a member that says nothing of a call.
        let again = |event: &Value| {
            let text = event.to_string();
            text.replacen('{', "{\"extra\":1,\"extra\":2,\"usage\":null,", 1)
        };
        let texts: Vec<String> = events.iter().map(again).collect();
        assert_eq!(ends(&play(wire, &texts)), 1, "{wire}");
    }
}

/// A gateway's reason is normal, the model's own reason is not: OpenRouter's
/// `native_finish_reason` (NousResearch/hermes-agent#83886, 2026-08-11; BerriAI/litellm#23366,
/// 2026-03-11; agentgateway/agentgateway#2182, 2026-06-12).
#[test]
fn the_models_own_reason_to_finish_is_not_overridden_by_a_normal_one() {
    let call = chat(json!([head("a", "remove", GOOD)]));
    let text = json!({ "choices": [{ "index": 0, "delta": { "content": "I will" } }] });
    let finish = |reason: &Value, native: &str, inside: bool| {
        let mut choice = json!({ "index": 0, "delta": {}, "finish_reason": reason });
        match inside {
            true => choice["provider_specific_fields"] = json!({ "native_finish_reason": native }),
            false => choice["native_finish_reason"] = json!(native),
        }
        json!({ "choices": [choice] })
    };
    let play = |events: &[&Value]| {
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let deltas =
            decode(dialect("openai-chat"), [format!("{stream}data: [DONE]\n\n").as_bytes()]);
        let ended = deltas.iter().any(|delta| matches!(delta, Delta::ToolCallEnd { .. }));
        let reason = deltas.iter().find_map(|delta| match delta {
            Delta::Finish { reason, .. } => Some(*reason),
            _ => None,
        });
        (reason.unwrap(), ended)
    };
    use FinishReason::{ContentFilter, Error, Length, Other, Stop, ToolCalls};
    for inside in [false, true] {
        for reason in [json!("stop"), json!("tool_calls"), json!(null)] {
            for (native, want) in [
                ("MALFORMED_FUNCTION_CALL", Error),
                ("UNEXPECTED_TOOL_CALL", Error),
                ("TOO_MANY_TOOL_CALLS", Error),
                ("MISSING_THOUGHT_SIGNATURE", Error),
                ("MALFORMED_RESPONSE", Error),
                ("SAFETY", ContentFilter),
                ("PROHIBITED_CONTENT", ContentFilter),
                ("MAX_TOKENS", Length),
            ] {
                let end = finish(&reason, native, inside);
                assert_eq!(play(&[&text, &end]), (want, false), "{native}");
                assert_eq!(play(&[&text, &call, &end]), (want, false), "{native}");
            }
        }
        for native in ["STOP", "end_turn", "completed", "later"] {
            let end = finish(&json!("stop"), native, inside);
            assert_eq!(play(&[&text, &end]), (Stop, false), "{native}");
            assert_eq!(play(&[&call, &end]), (ToolCalls, true), "{native}");
        }
        // What the gateway says of a failure counts.
        assert_eq!(play(&[&text, &finish(&json!("error"), "STOP", inside)]).0, Error);
        assert_eq!(play(&[&text, &finish(&json!("later"), "STOP", inside)]).0, Other);
    }
}

/// A block whose end was not sent, when another block starts or the message ends.
#[test]
fn a_block_without_its_end_runs_nothing() {
    let block = |at: u64, id: &str| {
        let block = json!({ "type": "tool_use", "id": id, "name": "remove", "input": {} });
        json!({ "type": "content_block_start", "index": at, "content_block": block })
    };
    let text = json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "x" } });
    let stop = |at: u64| json!({ "type": "content_block_stop", "index": at });
    let end = |reason: &str| {
        vec![
            json!({ "type": "message_delta", "delta": { "stop_reason": reason } }),
            json!({ "type": "message_stop" }),
        ]
    };
    for next in
        [vec![], vec![text.clone()], vec![text, stop(1)], vec![block(0, "b")], vec![block(1, "b")]]
    {
        for close in [end("tool_use"), end("max_tokens"), vec![]] {
            let events = [vec![block(0, "a")], next.clone(), close].concat();
            assert_eq!(read("anthropic", &events).0, [], "{events:?}");
        }
    }
    let sound = [vec![block(0, "a"), stop(0)], end("tool_use")].concat();
    assert_eq!(read("anthropic", &sound).0, [("remove".to_owned(), String::new())]);
}

/// Arguments, or a whole call, that stand only in the response at the end of the stream
/// (NVIDIA-NeMo/Switchyard#777; Wei-Shaw/sub2api#6629, 2026-09-05; lidge-jun/opencodex#4652).
#[test]
fn a_call_at_the_end_of_the_response_is_not_lost() {
    let begun = || responses("output_item.added", Some(0), item("a", "remove", ""));
    let said = || {
        responses(
            "output_item.done",
            Some(1),
            json!({ "item": { "type": "message", "content": [{ "type": "output_text", "text": "ok" }] } }),
        )
    };
    let completed = |output: &[Value]| {
        let output: Vec<_> = output.iter().map(|item| item["item"].clone()).collect();
        json!({ "type": "response.completed", "response": { "status": "completed", "output": output } })
    };
    let whole = || vec![("remove".to_owned(), GOOD.to_owned())];
    for (why, events) in [
        ("nothing but the response", vec![completed(&[item("a", "remove", GOOD)])]),
        ("a call that had begun", vec![begun(), completed(&[item("a", "remove", GOOD)])]),
        (
            "arguments in an event of their own",
            vec![
                begun(),
                responses(
                    "function_call_arguments.done",
                    Some(0),
                    json!({ "item_id": "a", "arguments": GOOD }),
                ),
                responses("output_item.done", Some(0), item("a", "remove", "")),
                completed(&[]),
            ],
        ),
        ("beside another item", vec![begun(), said(), completed(&[item("a", "remove", GOOD)])]),
        ("a call that had not begun", vec![said(), completed(&[item("a", "remove", GOOD)])]),
        (
            "twice, under another id",
            vec![
                responses("output_item.done", Some(0), item("a", "remove", GOOD)),
                completed(&[item("b", "remove", GOOD)]),
            ],
        ),
    ] {
        assert_eq!(read("openai-responses", &events), (whole(), 0), "{why}");
    }
    for (why, output) in [
        ("another id", item("b", "remove", GOOD)),
        ("another id and name", item("b", "list", GOOD)),
    ] {
        for arguments in ["", "{}"] {
            let done = responses("output_item.done", Some(0), item("a", "remove", arguments));
            let events = [begun(), done, completed(std::slice::from_ref(&output))];
            assert_eq!(read("openai-responses", &events).0, [], "{why} {arguments:?}");
        }
    }
    let mut anonymous = item("a", "remove", GOOD);
    anonymous["item"].as_object_mut().unwrap().remove("call_id");
    let done = responses("output_item.done", Some(0), item("a", "remove", ""));
    assert_eq!(read("openai-responses", &[begun(), done, completed(&[anonymous])]).0, []);
    // A call that the response did not finish is none.
    let mut cut = item("a", "remove", GOOD);
    cut["item"]["status"] = json!("incomplete");
    assert_eq!(read("openai-responses", &[said(), completed(&[cut])]).0, []);
}

/// A message beside a delta, which repeats what was said or has what the deltas lack.
#[test]
fn a_message_beside_a_delta_may_have_the_arguments() {
    for (message, runs) in [
        (json!({ "content": "so far" }), true),
        (json!({ "tool_calls": [head("a", "remove", GOOD)] }), false),
        (json!({ "tool_calls": null }), true),
    ] {
        for message_first in [false, true] {
            let delta = r#""delta":{},"finish_reason":"tool_calls""#;
            let (first, second) = match message_first {
                true => (format!("\"message\":{message}"), delta.to_owned()),
                false => (delta.to_owned(), format!("\"message\":{message}")),
            };
            let end = format!("{{\"choices\":[{{\"index\":0,{first},{second}}}]}}");
            let stream = format!(
                "data: {}\n\ndata: {end}\n\ndata: [DONE]\n\n",
                chat(json!([head("a", "remove", "")]))
            );
            let deltas = decode(dialect("openai-chat"), [stream.as_bytes()]);
            let ended = deltas.iter().any(|delta| matches!(delta, Delta::ToolCallEnd { .. }));
            assert_eq!(ended, runs, "{end}: {deltas:?}");
        }
    }
}
