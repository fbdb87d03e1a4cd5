//! What is no response of the provider: typed errors, and what was streamed is kept.

use serde_json::json;
use turnlock::Dialect;
use turnlock::stream::{Delta, ErrorClass, Response};

use crate::recorded::{Form, bodies};
use crate::{common, decode, dialect, frames};

const WIRES: [&str; 7] =
    ["openai-chat", "anthropic", "openai-responses", "gemini", "bedrock", "cohere", "ollama"];

fn malformed(deltas: &[Delta]) -> bool {
    matches!(deltas.last(), Some(Delta::Error(error)) if error.class == ErrorClass::Malformed)
}

/// An event with the text `hello`.
fn hello(wire: &str) -> String {
    let event = match wire {
        "openai-chat" => json!({ "choices": [{ "delta": { "content": "hello" } }] }),
        "anthropic" => {
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "hello" } })
        }
        "openai-responses" => {
            json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "hello" })
        }
        "gemini" => json!({ "candidates": [{ "content": { "parts": [{ "text": "hello" }] } }] }),
        "bedrock" => {
            json!({ "contentBlockDelta": { "contentBlockIndex": 0, "delta": { "text": "hello" } } })
        }
        "cohere" => {
            json!({ "type": "content-delta", "index": 0, "delta": { "message": { "content": { "text": "hello" } } } })
        }
        _ => json!({ "message": { "content": "hello" }, "done": false }),
    };
    event.to_string()
}

#[test]
fn streams_of_another_dialect() {
    let all = bodies();
    for body in all.iter().filter(|body| body.form == Form::Stream && body.events.len() > 2) {
        for wire in WIRES.into_iter().filter(|wire| *wire != body.wire) {
            let deltas = decode(dialect(wire), [&body.bytes[..]]);
            let failed = matches!(deltas.last(), Some(Delta::Error(_)));
            // Errors inside a stream look alike on all wires.
            assert!(failed, "{} as {wire}: {deltas:?}", body.name);
            let said =
                deltas.iter().all(|delta| matches!(delta, Delta::Other { .. } | Delta::Error(_)));
            assert!(said, "{} as {wire}: {deltas:?}", body.name);
        }
    }
}

#[test]
fn pages_compressed_bodies_and_other_texts() {
    let page = format!("<!DOCTYPE html>\n<html>{}</html>", "x".repeat(5000));
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, b'K', b'\n', b'\n'];
    let (server, malformed) = (ErrorClass::Server, ErrorClass::Malformed);
    // A page or a text of a gateway may be gone with the next request, as a status 502.
    let texts: [(ErrorClass, &[u8]); 9] = [
        (server, page.as_bytes()),
        (server, b"  \n<html></html>"),
        (server, b"\xef\xbb\xbf<html></html>\n"),
        (server, b"upstream connect error or disconnect/reset before headers"),
        (server, b"Internal Server Error\n\n"),
        (malformed, &gzip),
        (malformed, b"{\"choices\": nonsense}"),
        (malformed, b"\x00\x00\x00\x10 no frame at all"),
        (malformed, b"[1,2,3]"),
    ];
    for wire in WIRES {
        for (class, bytes) in texts {
            let deltas = decode(dialect(wire), [bytes]);
            let text = String::from_utf8_lossy(bytes);
            let [Delta::Error(error)] = &deltas[..] else { panic!("{wire}: {text}: {deltas:?}") };
            assert_eq!(error.class, class, "{wire}: {text}");
            assert_eq!(decode(dialect(wire), bytes.chunks(1)), deltas, "{wire}: {text}");
        }
    }
}

/// Half an event at the end: an error, unless the response is complete without it.
/// Blank lines before a response, in any number, mean nothing, wherever they are cut.
#[test]
fn blank_lines_before_a_response() {
    for wire in WIRES {
        let event = hello(wire);
        for blank in ["\n", "\r\n", "\r", "\t\n", " \r\n"] {
            // More than what is stored of white space.
            let space = blank.repeat(700);
            for rest in [
                format!("data: {event}\n\n"),
                event.clone(),
                format!("\u{feff}{event}"),
                "\"x".into(),
            ] {
                let text = format!("{space}{rest}");
                let expected = decode(dialect(wire), [rest.as_bytes()]);
                assert_eq!(
                    decode(dialect(wire), [text.as_bytes()]),
                    expected,
                    "{wire}: {blank:?} {rest}"
                );
                for size in [1, 2, 11, 1024] {
                    let cut = decode(dialect(wire), text.as_bytes().chunks(size));
                    assert_eq!(cut, expected, "{wire}: {blank:?} {rest}, in pieces of {size}");
                }
            }
        }
    }
}

#[test]
fn half_an_event_at_the_end() {
    for wire in WIRES {
        let event = hello(wire);
        let half = &event[..event.len() / 2];
        for (between, before) in [("\n\ndata: ", "data: "), ("\n", "")] {
            let wire_text = format!("{before}{event}{between}{half}");
            let deltas = decode(dialect(wire), [wire_text.as_bytes()]);
            assert_eq!(deltas[0], Delta::Text("hello".to_owned()), "{wire}");
            assert!(deltas.len() == 2 && malformed(&deltas), "{wire}: {deltas:?}");
            assert_eq!(decode(dialect(wire), wire_text.as_bytes().chunks(1)), deltas);
        }
        // Cut between two events, the response is not finished, and there is no error.
        let deltas = decode(dialect(wire), [format!("data: {event}\n\n").as_bytes()]);
        assert_eq!(deltas, [Delta::Text("hello".to_owned())], "{wire}");
    }
}

#[test]
fn errors_in_place_of_a_stream() {
    for (wire, body, class) in [
        (
            "gemini",
            r#"{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}"#,
            ErrorClass::RateLimit,
        ),
        (
            "gemini",
            r#"[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]"#,
            ErrorClass::Overloaded,
        ),
        (
            "openai-responses",
            r#"{"error":{"message":"no","type":"invalid_request_error"}}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            "openai-responses",
            r#"{"type":"error","code":"rate_limit_exceeded","message":"slow"}"#,
            ErrorClass::RateLimit,
        ),
        (
            "openai-responses",
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}"#,
            ErrorClass::Server,
        ),
        ("cohere", r#"{"message":"invalid api token","id":"x"}"#, ErrorClass::Server),
        (
            "cohere",
            r#"{"type":"message-end","delta":{"finish_reason":"ERROR","error":"rate limit"}}"#,
            ErrorClass::RateLimit,
        ),
        ("ollama", r#"{"error":"model not_found"}"#, ErrorClass::InvalidRequest),
        ("bedrock", r#"{"message":"Too many requests, please wait"}"#, ErrorClass::RateLimit),
    ] {
        let event = format!("data: {}\n\n", body.trim_matches(['[', ']']));
        for bytes in [body.to_owned(), event] {
            let deltas = decode(dialect(wire), [bytes.as_bytes()]);
            let [Delta::Error(error)] = &deltas[..] else { panic!("{wire} {body}: {deltas:?}") };
            assert_eq!(error.class, class, "{wire} {body}");
        }
    }
}

/// Ten thousand calls at once: those up to the limit, then an error.
#[test]
fn many_calls() {
    type Start = fn(usize) -> String;
    let starts: [(&str, Start); 5] = [
        ("openai-responses", |n| {
            json!({ "type": "response.output_item.added", "output_index": n, "item": { "type": "function_call", "call_id": format!("c{n}"), "name": "f", "arguments": "" } }).to_string()
        }),
        ("gemini", |_| {
            json!({ "candidates": [{ "content": { "parts": [{ "functionCall": { "name": "f", "args": {} } }] } }] }).to_string()
        }),
        ("bedrock", |n| {
            json!({ "contentBlockStart": { "contentBlockIndex": n, "start": { "toolUse": { "toolUseId": "t", "name": "f" } } } }).to_string()
        }),
        ("cohere", |n| {
            json!({ "type": "tool-call-start", "index": n, "delta": { "message": { "tool_calls": { "id": "t", "function": { "name": "f", "arguments": "" } } } } }).to_string()
        }),
        ("ollama", |_| {
            json!({ "message": { "tool_calls": [{ "function": { "name": "f", "arguments": {} } }] }, "done": false }).to_string()
        }),
    ];
    for (wire, start) in starts {
        let stream: String = (0..10_000).map(|n| format!("data: {}\n\n", start(n))).collect();
        let deltas = decode(dialect(wire), [stream.as_bytes()]);
        let mut ids = Vec::new();
        for delta in &deltas {
            if let Delta::ToolCallStart { index, id, .. } = delta {
                assert_eq!(usize::try_from(*index).unwrap(), ids.len());
                ids.push(id.clone());
            }
        }
        assert_eq!(ids.len(), turnlock::limits::STREAM_CALLS, "{wire}");
        assert!(malformed(&deltas), "{wire}");
        if wire == "gemini" || wire == "ollama" {
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), turnlock::limits::STREAM_CALLS, "{wire}: ids of its own");
        }
    }
}

/// A megabyte of arguments in pieces of 16 bytes arrives whole; a name of 10 MB is refused, on every
/// wire.
#[test]
fn long_arguments_and_names() {
    let arguments = json!({ "text": "x".repeat(1 << 20) }).to_string();
    let pieces: Vec<&str> =
        arguments.as_bytes().chunks(16).map(|c| std::str::from_utf8(c).unwrap()).collect();
    let item = |kind: &str, text: &str| json!({ "type": format!("response.output_item.{kind}"), "output_index": 0, "item": { "type": "function_call", "call_id": "c", "name": "f", "arguments": text } });
    let mut responses = vec![item("added", "")];
    responses.extend(pieces.iter().map(|piece| {
        json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": piece })
    }));
    responses.push(item("done", &arguments));
    let mut bedrock = vec![
        json!({ "contentBlockStart": { "contentBlockIndex": 0, "start": { "toolUse": { "toolUseId": "c", "name": "f" } } } }),
    ];
    bedrock.extend(pieces.iter().map(|piece| {
        json!({ "contentBlockDelta": { "contentBlockIndex": 0, "delta": { "toolUse": { "input": piece } } } })
    }));
    bedrock.push(json!({ "contentBlockStop": { "contentBlockIndex": 0 } }));
    let mut cohere = vec![
        json!({ "type": "tool-call-start", "index": 0, "delta": { "message": { "tool_calls": { "id": "c", "function": { "name": "f", "arguments": "" } } } } }),
    ];
    cohere.extend(pieces.iter().map(|piece| {
        json!({ "type": "tool-call-delta", "index": 0, "delta": { "message": { "tool_calls": { "function": { "arguments": piece } } } } })
    }));
    cohere.push(json!({ "type": "tool-call-end", "index": 0 }));
    let call = |call: serde_json::Value| json!({ "candidates": [{ "content": { "parts": [{ "functionCall": call }] } }] });
    let mut gemini = vec![call(json!({ "name": "f", "id": "c", "willContinue": true }))];
    let text = "x".repeat(1 << 20);
    gemini.extend(text.as_bytes().chunks(16).map(|piece| {
        let piece = std::str::from_utf8(piece).unwrap();
        let part = json!({ "jsonPath": "$.text", "stringValue": piece, "willContinue": true });
        call(json!({ "partialArgs": [part], "willContinue": true }))
    }));
    gemini.push(call(json!({})));
    gemini.push(json!({ "candidates": [{ "finishReason": "STOP" }] }));
    for (wire, events) in [
        ("openai-responses", responses),
        ("bedrock", bedrock),
        ("cohere", cohere),
        ("gemini", gemini),
    ] {
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let mut response = Response::default();
        for delta in decode(dialect(wire), stream.as_bytes().chunks(65_536)) {
            response.take(&delta).unwrap();
        }
        let [call] = &response.calls[..] else { panic!("{wire}: {:?}", response.calls.len()) };
        assert!(call.ended && call.id == "c" && call.arguments == arguments, "{wire}");
    }
    let long = "n".repeat(10 << 20);
    let function = json!({ "name": long, "arguments": "{}" });
    for (wire, event) in [
        (
            "openai-chat",
            json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": function }] } }] }),
        ),
        (
            "anthropic",
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "c", "name": long, "input": {} } }),
        ),
        (
            "openai-responses",
            json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "function_call", "call_id": "c", "name": long, "arguments": "" } }),
        ),
        ("gemini", call(json!({ "name": long, "args": {} }))),
        (
            "bedrock",
            json!({ "contentBlockStart": { "contentBlockIndex": 0, "start": { "toolUse": { "toolUseId": "c", "name": long } } } }),
        ),
        (
            "cohere",
            json!({ "type": "tool-call-start", "index": 0, "delta": { "message": { "tool_calls": { "id": "c", "function": function } } } }),
        ),
        (
            "ollama",
            json!({ "message": { "tool_calls": [{ "function": { "name": long } }] }, "done": false }),
        ),
    ] {
        for text in [event.to_string(), format!("data: {event}\n\n")] {
            let deltas = decode(dialect(wire), text.as_bytes().chunks(1 << 16));
            assert!(malformed(&deltas) && deltas.len() == 1, "{wire}");
        }
    }
    assert!(malformed(&decode(
        Dialect::Bedrock,
        frames::event(&"n".repeat(9000), &long).chunks(1 << 16)
    )));
}

/// Broken in any way, or not of the wire at all, bytes decode to something, the same wherever they
/// are cut, and nothing follows an error.
#[test]
fn any_bytes() {
    let mut random = common::Random(0xC0DE);
    let all: Vec<_> = bodies().into_iter().filter(|body| body.bytes.len() < 12_000).collect();
    let decoded: Vec<_> =
        Dialect::ALL.into_iter().filter(|one| *one != Dialect::LangChain).collect();
    for round in 0..4_000 {
        let body = &all[random.below(all.len())];
        let mut bytes = body.bytes.clone();
        if round % 8 == 0 {
            let starts: [&[u8]; 6] = [b"", b"data: {", b"{", b"[{", b"\0\0\0\x20", b"\xef\xbb\xbf"];
            bytes = starts[random.below(starts.len())].to_vec();
            bytes.extend((0..random.below(300)).map(|_| u8::try_from(random.below(256)).unwrap()));
        }
        if round % 5 == 1 {
            bytes = frames::event("contentBlockDelta", &String::from_utf8_lossy(&bytes));
        }
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len().max(1)).min(bytes.len());
            let end = (at + random.below(60)).min(bytes.len());
            match random.below(6) {
                0 if at < bytes.len() => {
                    bytes[at] = [0, b'"', b'\\', b'{', b'\r', b'\n', 0xFF, b']'][random.below(8)];
                }
                1 => drop(bytes.drain(at..end)),
                2 => drop(bytes.splice(at..at, bytes[at..end].to_vec()).collect::<Vec<_>>()),
                3 => bytes.truncate(at),
                4 => drop(bytes.splice(at..at, *b"\\ud83d").collect::<Vec<_>>()),
                _ => drop(bytes.splice(at..at, *b"\n\n").collect::<Vec<_>>()),
            }
        }
        let wire = if random.below(2) == 0 {
            dialect(body.wire)
        } else {
            decoded[random.below(decoded.len())]
        };
        let whole = decode(wire, [&bytes[..]]);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(decode(wire, bytes.chunks(1)), whole, "{wire}: {text}");
        assert_eq!(decode(wire, bytes.chunks(1 + random.below(300))), whole, "{wire}: {text}");
        let failed = |delta: &Delta| matches!(delta, Delta::Error(_));
        assert!(whole.iter().rev().skip(1).all(|delta| !failed(delta)), "{wire}: {text}");
        for delta in &whole {
            let mut json = String::new();
            delta.write_json(&mut json);
            // Half of a surrogate pair is passed on as it is; JSON.parse takes it.
            let read = turnlock::json::Json::parse_lossy(json.as_bytes(), 1 << 30);
            assert!(read.is_ok(), "{wire}: {json}");
        }
    }
}

/// The ids of calls that have ended.
fn ended(wire: &str, events: &[serde_json::Value]) -> usize {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let deltas = decode(dialect(wire), [body.as_bytes()]);
    deltas.iter().filter(|delta| matches!(delta, Delta::ToolCallEnd { .. })).count()
}

#[test]
fn calls_that_the_provider_itself_takes_back_do_not_end() {
    let item = |more: serde_json::Value| {
        let mut item =
            json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" });
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        item
    };
    let added = json!({ "type": "response.output_item.added", "output_index": 0, "item": item(json!({ "arguments": "" })) });
    let done = |more| json!({ "type": "response.output_item.done", "output_index": 0, "item": item(more) });
    let completed = json!({ "type": "response.completed", "response": { "status": "completed", "output": [] } });
    let all = |more| [added.clone(), done(more), completed.clone()];
    assert_eq!(ended("openai-responses", &all(json!({}))), 1);
    assert_eq!(ended("openai-responses", &all(json!({ "status": "incomplete" }))), 0);
    let error = json!({ "code": "x", "message": "x" });
    let failed = json!({ "status": "failed", "error": error, "output": [item(json!({}))] });
    let failed = json!({ "type": "response.failed", "response": failed });
    assert_eq!(ended("openai-responses", &[failed]), 0);

    let call = json!({ "functionCall": { "name": "f", "args": {} } });
    for (reason, ends) in [("STOP", 1), ("MALFORMED_FUNCTION_CALL", 0), ("SAFETY", 0)] {
        let candidate = json!({ "content": { "parts": [call] }, "finishReason": reason });
        assert_eq!(ended("gemini", &[json!({ "candidates": [candidate] })]), ends, "{reason}");
    }
}

#[test]
fn arguments_that_are_no_text_are_the_object_itself() {
    let item =
        json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": { "a": 1 } });
    let done = json!({ "type": "response.output_item.done", "output_index": 0, "item": item });
    let body = format!("data: {done}\n\n");
    let mut response = Response::default();
    for delta in decode(dialect("openai-responses"), [body.as_bytes()]) {
        response.take(&delta).unwrap();
    }
    assert_eq!(response.calls[0].arguments, r#"{"a":1}"#);
}
