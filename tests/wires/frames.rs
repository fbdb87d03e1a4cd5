//! Bedrock's binary frames, written without the crate.

use serde_json::Value;
use turnlock::Dialect;
use turnlock::stream::{Delta, ErrorClass};

use crate::recorded::{Form, as_sse, bodies};
use crate::{any_cut, common, decode, said};

pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
        }
    }
    !crc
}

pub(crate) fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let mut head = Vec::new();
    // A header of each other type, which says nothing.
    for (kind, size) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (8, 8), (9, 16)] {
        head.extend([1, b'x', kind]);
        head.extend(vec![0; size]);
    }
    head.extend([1, b'y', 6, 0, 3, 1, 2, 3]);
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap());
        head.extend(name.bytes());
        head.push(7);
        head.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        head.extend(value.bytes());
    }
    let total = u32::try_from(16 + head.len() + payload.len()).unwrap();
    let mut out = total.to_be_bytes().to_vec();
    out.extend(u32::try_from(head.len()).unwrap().to_be_bytes());
    out.extend(crc32(&out).to_be_bytes());
    out.extend(head);
    out.extend(payload.bytes());
    out.extend(crc32(&out).to_be_bytes());
    out
}

pub(crate) fn event(kind: &str, payload: &str) -> Vec<u8> {
    let headers =
        [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    frame(&headers, payload)
}

fn converse(events: &[Value]) -> Vec<u8> {
    let one = |event: &Value| {
        let (kind, payload) = event.as_object().unwrap().iter().next().unwrap();
        let mut payload = payload.clone();
        payload["p"] = "abcdefghijklm".into();
        self::event(kind, &payload.to_string())
    };
    events.iter().flat_map(one).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let all = three.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for at in 0..4 {
            let digit = DIGITS[(all >> (18 - 6 * at) & 63) as usize] as char;
            out.push(if at <= three.len() { digit } else { '=' });
        }
    }
    out
}

/// As frames, as server-sent events and as lines, a stream says the same.
#[test]
fn framings_say_the_same() {
    let mut random = common::Random(3);
    let mut count = 0;
    for body in bodies().iter().filter(|body| body.wire == "bedrock" && body.form == Form::Stream) {
        let want = decode(Dialect::Bedrock, [&body.bytes[..]]);
        let binary = any_cut(Dialect::Bedrock, &converse(&body.events), &body.name, &mut random);
        assert_eq!(said(&binary), said(&want), "{}", body.name);
        let lines: String = body.events.iter().map(|event| format!("{event}\n")).collect();
        assert_eq!(any_cut(Dialect::Bedrock, lines.as_bytes(), &body.name, &mut random), want);
        count += 1;
    }
    assert!(count >= 12);
    // Gemini answers with an array, if it is not asked for events.
    for body in bodies().iter().filter(|body| body.wire == "gemini" && body.form == Form::Stream) {
        let events: Vec<String> = body.events.iter().map(Value::to_string).collect();
        let array = format!("[{}\r\n]\r\n", events.join("\r\n,\r\n"));
        let want = decode(Dialect::Gemini, [&as_sse(&body.events)[..]]);
        assert_eq!(any_cut(Dialect::Gemini, array.as_bytes(), &body.name, &mut random), want);
    }
}

/// `InvokeModelWithResponseStream`: Anthropic's events inside frames, for either dialect.
#[test]
fn frames_hold_events_of_anthropic() {
    let mut random = common::Random(4);
    let mut count = 0;
    for body in bodies().iter().filter(|body| body.wire == "anthropic" && body.form == Form::Stream)
    {
        let want = decode(Dialect::Anthropic, [&as_sse(&body.events)[..]]);
        let chunk = |event: &Value| {
            let bytes = base64(event.to_string().as_bytes());
            event_chunk(&bytes)
        };
        let frames: Vec<u8> = body.events.iter().flat_map(chunk).collect();
        if frames.len() > 40_000 {
            continue;
        }
        for dialect in [Dialect::Anthropic, Dialect::Bedrock] {
            assert_eq!(any_cut(dialect, &frames, &body.name, &mut random), want, "{}", body.name);
        }
        count += 1;
    }
    assert!(count >= 20, "only {count}");
}

fn event_chunk(bytes: &str) -> Vec<u8> {
    event("chunk", &format!(r#"{{"bytes":"{bytes}","p":"abc"}}"#))
}

const HELLO: &str = r#"{"contentBlockIndex":0,"delta":{"text":"hello"}}"#;

fn error(deltas: &[Delta]) -> Option<(ErrorClass, &str)> {
    match deltas.last() {
        Some(Delta::Error(error)) => Some((error.class, &error.message)),
        _ => None,
    }
}

#[test]
fn failures_inside_frames() {
    let hello = event("contentBlockDelta", HELLO);
    for (kind, message, class) in [
        ("throttlingException", "slow down", ErrorClass::RateLimit),
        ("validationException", "no", ErrorClass::InvalidRequest),
        ("modelStreamErrorException", "no", ErrorClass::Server),
        ("internalServerException", "no", ErrorClass::Server),
        ("modelTimeoutException", "no", ErrorClass::Timeout),
        ("serviceUnavailableException", "no", ErrorClass::Overloaded),
        ("accessDeniedException", "no", ErrorClass::Auth),
    ] {
        let payload = format!(r#"{{"message":"{message}"}}"#);
        let headers = [(":exception-type", kind), (":message-type", "exception")];
        let bytes = [hello.clone(), frame(&headers, &payload), hello.clone()].concat();
        let deltas = any_cut(Dialect::Bedrock, &bytes, kind, &mut common::Random(1));
        assert_eq!(deltas[0], Delta::Text("hello".to_owned()));
        assert_eq!((deltas.len(), error(&deltas)), (2, Some((class, message))), "{kind}");
        // As a line, too.
        let line = format!(r#"{{"{kind}":{payload}}}"#);
        let deltas = decode(Dialect::Bedrock, [line.as_bytes()]);
        assert_eq!(error(&deltas), Some((class, message)), "{kind}");
    }
    let headers =
        [(":message-type", "error"), (":error-code", "X"), (":error-message", "it broke")];
    let deltas = decode(Dialect::Bedrock, [&frame(&headers, "")[..]]);
    assert_eq!(error(&deltas), Some((ErrorClass::Server, "it broke")));
}

/// One wrong bit anywhere in a frame is noticed, and what came before it is kept.
#[test]
fn damaged_frames() {
    let hello = event("contentBlockDelta", HELLO);
    for at in 0..hello.len() {
        let mut bad = hello.clone();
        bad[at] ^= 0x10;
        let bytes = [hello.clone(), bad].concat();
        let deltas = decode(Dialect::Bedrock, [&bytes[..]]);
        assert_eq!(deltas[0], Delta::Text("hello".to_owned()));
        assert_eq!(deltas.len(), 2, "byte {at}");
        assert_eq!(error(&deltas).map(|(class, _)| class), Some(ErrorClass::Malformed));
        assert_eq!(decode(Dialect::Bedrock, bytes.chunks(1)), deltas, "byte {at}");
    }
    // A frame that is cut: what came before is kept, and the response is not finished.
    for cut in 1..hello.len() {
        let bytes = [&hello[..], &hello[..cut]].concat();
        let deltas = decode(Dialect::Bedrock, [&bytes[..]]);
        let want = Some((ErrorClass::Malformed, "the response ends inside an event"));
        assert_eq!((deltas.len(), error(&deltas)), (2, want));
    }
}

/// Lengths at the limits: the largest frame is read, and one byte more, too few bytes, or headers
/// that are longer than their frame are refused. What came before is kept.
#[test]
fn lengths_at_the_limits() {
    let most = turnlock::limits::SSE_EVENT_BYTES;
    let sized = |size: usize| {
        let text = |fill: usize| {
            let fill = "x".repeat(fill);
            format!(r#"{{"contentBlockIndex":0,"delta":{{"text":"hello"}},"p":"{fill}"}}"#)
        };
        let rest = event("contentBlockDelta", &text(0)).len();
        event("contentBlockDelta", &text(size - rest))
    };
    let hello = Delta::Text("hello".to_owned());
    let largest = sized(most);
    assert_eq!(largest.len(), most);
    assert_eq!(decode(Dialect::Bedrock, largest.chunks(1 << 16)), std::slice::from_ref(&hello));

    // Lengths of a frame and its headers, with checksums that fit.
    let with = |total: usize, headers: usize| {
        let mut bytes = u32::try_from(total).unwrap().to_be_bytes().to_vec();
        bytes.extend(u32::try_from(headers).unwrap().to_be_bytes());
        bytes.extend(crc32(&bytes).to_be_bytes());
        bytes.resize(total.clamp(12, 64).max(16) - 4, 0);
        bytes.extend(crc32(&bytes).to_be_bytes());
        bytes
    };
    for (bad, why) in [
        (sized(most + 1), "a frame is too large"),
        (with(u32::MAX as usize, 0), "a frame is too large"),
        (with(15, 0), "a frame is too short"),
        (with(0, 0), "a frame is too short"),
        (with(32, 17), "the headers of a frame are longer than the frame"),
        (with(32, u32::MAX as usize), "the headers of a frame are longer than the frame"),
    ] {
        let bytes = [event("contentBlockDelta", HELLO), bad].concat();
        let deltas = decode(Dialect::Bedrock, bytes.chunks(1 << 16));
        assert_eq!(deltas[0], hello, "{why}");
        assert_eq!(error(&deltas), Some((ErrorClass::Malformed, why)));
        assert_eq!(deltas.len(), 2, "{why}");
    }
    // A frame of no headers and no payload says nothing.
    assert_eq!(decode(Dialect::Bedrock, [&with(16, 0)[..]]), []);
}
