//! The shell in a real browser: conversions and error codes only. What it delegates to is
//! tested natively, and through the package.
#![cfg(target_arch = "wasm32")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use turnlock_wasm as wasm;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

const OPTIONS: &str = r#"{"dialect":"openai-chat","requestId":"r","secret":"00112233445566778899aabbccddeeff","messages":[{"role":"user","content":"go"}],"tools":[{"name":"list","checks":true}]"#;

fn turn(extra: &str) -> u32 {
    let made = wasm::turn::turn_new(format!("{OPTIONS}{extra}}}").as_bytes());
    made.parse().expect(&made)
}

fn handle(turn: u32, now: f64, input: &str) -> String {
    wasm::driven::turn_handle(turn, now, input.as_bytes())
}

#[wasm_bindgen_test]
fn texts_carry_their_mark() {
    assert_eq!(wasm::signature::canonicalize(b"{ \"b\": 1.0 }"), "={\"b\":1}");
    assert_eq!(wasm::signature::canonicalize(b"\"!\""), "=\"!\"");
    let signature = wasm::signature::signature(br#"{"tool":"t","args":{}}"#);
    assert_eq!(signature.len(), 64);
}

#[wasm_bindgen_test]
fn errors_are_codes() {
    let code = |text: String| {
        let json = text.strip_prefix('!').expect(&text).to_owned();
        json.split('"').nth(3).unwrap().to_owned()
    };
    assert_eq!(code(wasm::signature::canonicalize(b"[1,]")), "json.syntax");
    assert_eq!(code(wasm::signature::canonicalize(b"\xff")), "json.syntax");
    assert_eq!(code(wasm::signature::canonicalize(br#"{"a":1,"a":1}"#)), "json.duplicate_key");
    assert_eq!(code(wasm::signature::canonicalize(br#""\ud800""#)), "json.lone_surrogate");
    assert_eq!(code(wasm::signature::canonicalize(&[b'['; 129])), "json.too_deep");
    assert_eq!(code(wasm::signature::canonicalize(b"1e999")), "json.number_range");
    assert_eq!(code(wasm::signature::signature(b"{}")), "options.invalid");
    assert_eq!(code(wasm::stream::stream_new("esperanto")), "dialect.unknown");
    assert_eq!(code(wasm::stream::stream_new("langchain")), "dialect.no_stream");
    assert_eq!(code(wasm::stream::stream_feed(4_000_000, b"")), "core.stale_handle");
    assert_eq!(code(wasm::turn::turn_new(b"{}")), "options.invalid");
    assert_eq!(code(handle(4_000_000, 0.0, r#"{"type":"start"}"#)), "core.stale_handle");
    let shape = OPTIONS.replace(r#"{"role":"user","content":"go"}"#, r#"{"what":1}"#);
    assert_eq!(
        code(wasm::turn::turn_new(format!("{shape}}}").as_bytes())),
        "message.unknown_shape"
    );
    let names = OPTIONS.replace("\"list\"", "\"a b\"");
    assert_eq!(code(wasm::turn::turn_new(format!("{names}}}").as_bytes())), "tool.invalid_name");
}

#[wasm_bindgen_test]
fn inputs_that_are_none_change_nothing() {
    let turn = turn("");
    for input in [
        "",
        "{}",
        r#"{"type":"levitate"}"#,
        r#"{"type":"cancel"}"#,
        r#"{"type":"response_head","inference":-1,"attempt":1,"status":200,"body":"","secrets":[]}"#,
        r#"{"type":"response_head","inference":1,"attempt":1,"status":99999,"body":"","secrets":[]}"#,
        r#"{"type":"checked","call":1}"#,
        r#"{"type":"checked","call":1,"verdict":{"type":"perhaps"}}"#,
        r#"{"type":"tool_settled","call":1,"settled":{"type":"ok"}}"#,
    ] {
        assert!(handle(turn, 0.0, input).starts_with("!{\"code\":"), "{input}");
    }
    assert!(wasm::driven::turn_deadline(turn).is_nan());
    wasm::driven::turn_free(turn);
}

#[wasm_bindgen_test]
fn deltas_are_bare_texts_and_objects() {
    let stream: u32 = wasm::stream::stream_new("openai-chat").parse().unwrap();
    let feed =
        |data: &str| wasm::stream::stream_feed(stream, format!("data: {data}\n\n").as_bytes());
    assert_eq!(feed(r#"{"choices":[{"delta":{"content":"a\"é"}}]}"#), r#"["a\"é"]"#);
    assert_eq!(
        feed(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#),
        r#"[{"type":"finish","reason":"stop","raw":"stop"}]"#
    );
    assert_eq!(wasm::stream::stream_feed(stream, b": nothing\n\n"), "");
    assert_eq!(wasm::stream::stream_end(stream), "");
    wasm::stream::stream_free(stream);
}

#[wasm_bindgen_test]
fn effects_and_inputs_of_a_turn() {
    let before = wasm::live_handles();
    let turn = turn("");
    assert_eq!(wasm::live_handles(), before + 1);
    let started = handle(turn, 1.5, r#"{"type":"start"}"#);
    assert!(
        started
            .starts_with(r#"[{"type":"emit","event":{"type":"phase_start","phase":"tool_phase","#)
    );
    let fetch = r#"{"type":"fetch","inference":1,"attempt":1,"model":0,"request":{"path":"/chat/completions""#;
    assert!(started.contains(fetch), "{started}");
    assert!(started.contains(r#","body":{"messages":["#), "{started}");
    assert!((wasm::driven::turn_deadline(turn) - 60_001.0).abs() < 1.0);

    let deltas = r#"{"type":"deltas","inference":1,"attempt":1,"deltas":[
        {"type":"tool_call_start","index":0,"id":"c","name":"list"},
        {"type":"tool_call_arguments","index":0,"text":"{\"n\":1}"},
        {"type":"tool_call_end","index":0}]}"#;
    let request = handle(turn, 2.0, deltas);
    assert!(
        request.contains(r#"{"type":"check","call":1,"name":"list","args":{"n":1}}"#),
        "{request}"
    );
    let valid = r#"{"type":"valid","action":null,"approval":false}"#;
    let ran = handle(turn, 3.0, &format!(r#"{{"type":"checked","call":1,"verdict":{valid}}}"#));
    assert!(
        ran.contains(
            r#""type":"run_tool","call":1,"name":"list","toolCallId":"c","toolBatchId":1"#
        )
    );
    // Not JSON by the letter, but what JSON.stringify writes for half of a pair.
    let settled = r#"{"type":"tool_settled","call":1,"settled":{"type":"ok","text":"\"\\ud83d\"","bytes":8}}"#;
    let next = handle(turn, 4.0, settled);
    assert!(next.contains("\"result\":\"\u{fffd}\""), "{next}");
    let over = handle(turn, 5.0, r#"{"type":"cancel","reason":"done \ud83d"}"#);
    // The rest of the response was read beside the tool.
    assert!(over.contains(r#"{"type":"abort","inference":1}"#), "{over}");
    assert!(
        over.contains(r#""type":"cancelled""#) && over.contains(r#"{"type":"done","result":{"#)
    );
    assert_eq!(handle(turn, 6.0, r#"{"type":"timer"}"#), "");
    wasm::driven::turn_free(turn);
    assert_eq!(wasm::live_handles(), before);
}

#[wasm_bindgen_test]
fn bytes_of_a_response() {
    let turn = turn("");
    let _ = handle(turn, 0.0, r#"{"type":"start"}"#);
    let data = b"data: {\"choices\":[{\"delta\":{\"content\":\"h\xc3\xa9\"}}]}\n\n";
    let (head, tail) = data.split_at(data.len() - 8);
    assert_eq!(wasm::driven::turn_bytes(turn, 1.0, 1, 1, head.to_vec()), "");
    assert!(
        wasm::driven::turn_bytes(turn, 1.0, 1, 1, tail.to_vec())
            .contains(r#"["tool_phase",0,2,"hé"]"#)
    );
    // An attempt that was given up.
    assert_eq!(wasm::driven::turn_bytes(turn, 1.0, 1, 2, data.to_vec()), "");
    wasm::driven::turn_free(turn);
}
