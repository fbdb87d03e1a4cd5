//! Calls whose parts contradict each other, or of which the end is not known: they never end, so they
//! never run.

use serde_json::{Value, json};
use turnlock::stream::Response;

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
