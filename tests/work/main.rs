//! The work of one call into the core, counted and bounded: what a stranger sends costs at most so
//! much for each byte, and twice the input costs about twice as much.
//!
//! The unit is a byte that the core allocates, and 16 more for each allocation. What the core writes is
//! allocated, so a path that copies again what it has grows in the square here as it does in time. A
//! loop that only looks does not: `TIMES=1 cargo test --test work -- --nocapture` prints how the time
//! grows where the input is eight times as long.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::type_complexity)]
// `TIMES` asks for times, which nothing is asserted of.
#![allow(clippy::disallowed_methods)]

mod decisions;
mod texts;
mod turns;

use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use turnlock::Dialect;
use turnlock::history::{History, HistoryOptions};
use turnlock::json::{Json, canonicalize};
use turnlock::stream::{Decoder, Response};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Units for each byte of the input: a part of a history of 20 bytes is some 400 bytes of values, which
/// are read, arranged and written.
const PER_BYTE: usize = 200;
/// Units that are free: what does not depend on the input, and the parts of a history that may have any
/// size, however few bytes they are.
const FREE: usize = 1 << 21;
/// Units that are free where there are no such parts.
const ROUGH: usize = 1 << 16;

/// Whatever else allocates at the same time would be counted too: one test runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The units of work of `call`.
fn work<T>(call: impl FnOnce() -> T) -> usize {
    let region = Region::new(COUNTED);
    drop(call());
    let done = region.change();
    done.bytes_allocated + 16 * (done.allocations + done.reallocations)
}

/// The shortest time of three calls.
fn time<T>(call: impl Fn() -> T) -> Duration {
    let timed = |_| {
        let started = Instant::now();
        drop(call());
        started.elapsed()
    };
    (0..3).map(timed).min().unwrap_or_default()
}

/// Checks that the work of `call` on `make(count)` is bounded and linear.
fn linear(
    name: &str,
    make: &dyn Fn(usize) -> String,
    call: &dyn Fn(&str),
    broken: &mut Vec<String>,
) {
    let measured = |count: usize| {
        let input = make(count);
        (work(|| call(&input)), input.len())
    };
    if std::env::var_os("TIMES").is_some() {
        let [few, many] = [make(4_000), make(32_000)].map(|input| time(|| call(&input)));
        eprintln!("{:5.1} {many:10.1?} {name}", many.as_secs_f64() / few.as_secs_f64());
    }
    let ((few, _), (many, bytes)) = (measured(500), measured(2_000));
    if many > FREE + PER_BYTE * bytes || many > 4 * ROUGH + 5 * few {
        broken.push(format!(
            "{name}: {few} units, then {many} for {bytes} bytes, four times as many"
        ));
    }
}

/// What a machine was given and has told, in bytes, and its units of work.
#[derive(Debug, Default)]
struct Counted {
    done: usize,
    given: usize,
    told: usize,
}

/// Checks that the work that is `measured` for `count` pieces, and for four times as many, is bounded
/// and linear.
fn bounded(
    name: &str,
    per_byte: usize,
    measured: &dyn Fn(usize) -> Counted,
    count: usize,
    broken: &mut Vec<String>,
) {
    let (few, many) = (measured(count), measured(4 * count));
    let bytes = many.given + many.told;
    if std::env::var_os("TIMES").is_some() {
        let [few, more] = [count, 8 * count].map(|count| time(|| measured(count)));
        let ratio = more.as_secs_f64() / few.as_secs_f64();
        let (units, told) = (many.done / bytes.max(1), many.told / many.given.max(1));
        eprintln!("{ratio:5.1} {more:10.1?} {units:4} units, {told:3} told: {name}");
    }
    // What is given need not be four times as long.
    let likewise = few.done * many.given / few.given.max(1);
    if many.done > ROUGH + per_byte * bytes || many.done > ROUGH + 5 * likewise / 4 {
        broken.push(format!(
            "{name}: {few:?}, then {many:?}, {} units for a byte",
            many.done / bytes.max(1)
        ));
    }
}

fn list(count: usize, one: impl Fn(usize) -> Value) -> Value {
    (0..count).map(one).collect()
}

fn user(content: Value) -> Value {
    json!([{ "role": "user", "content": "go" }, { "role": "user", "content": content }])
}

type Shape = (&'static str, fn(usize) -> Value);

/// Histories of many small pieces.
const HISTORIES: &[Shape] = &[
    ("texts", |n| user(list(n, |_| json!({ "type": "text", "text": "a" })))),
    ("objects", |n| user(list(n, |_| json!({})))),
    ("images", |n| user(list(n, |_| json!({ "type": "image_url", "image_url": "a" })))),
    ("results", |n| {
        user(list(n, |at| json!({ "type": "tool_result", "tool_use_id": format!("a{at}") })))
    }),
    ("messages", |n| list(n, |_| json!({ "role": "user", "content": "a" }))),
    ("messages in turn", |n| {
        let role = |at| if at % 2 == 0 { "user" } else { "assistant" };
        list(n, |at| json!({ "role": role(at), "content": "a" }))
    }),
    ("instructions", |n| list(n, |_| json!({ "role": "system", "content": "a" }))),
    ("instructions in between", |n| {
        let role = |at| if at % 2 == 0 { "user" } else { "system" };
        list(n, |at| json!({ "role": role(at), "content": "a" }))
    }),
    ("thoughts", |n| {
        let thought = |_| json!({ "type": "thinking", "thinking": "a", "signature": "b" });
        json!([{ "role": "user", "content": "go" }, { "role": "assistant", "content": list(n, thought) }])
    }),
    ("calls of one message", |n| {
        let call =
            |at| json!({ "id": format!("c{at}"), "function": { "name": "f", "arguments": "{}" } });
        json!([{ "role": "assistant", "tool_calls": list(n, call) }])
    }),
    ("calls of many messages", |n| {
        list(n, |at| {
            let call =
                json!({ "id": format!("c{at}"), "function": { "name": "f", "arguments": "{}" } });
            json!({ "role": "assistant", "tool_calls": [call] })
        })
    }),
    ("calls of one id", |n| {
        let call = |_| json!({ "id": "c", "function": { "name": "f", "arguments": "{}" } });
        json!([{ "role": "assistant", "tool_calls": list(n, call) }])
    }),
    ("results alone", |n| {
        list(n, |at| json!({ "role": "tool", "tool_call_id": at.to_string(), "content": "a" }))
    }),
    ("pieces of one text", |n| list(n, |_| json!({ "type": "text", "chunk": "a" }))),
    ("reasoning that nothing follows", |n| {
        list(n, |at| json!({ "type": "reasoning", "id": format!("rs_{at}"), "summary": [] }))
    }),
    ("thoughts and blank messages", |n| {
        let thought = json!({ "type": "thinking", "thinking": "a", "signature": "b" });
        list(n, |at| match at % 2 {
            0 => json!({ "role": "assistant", "content": [thought] }),
            _ => json!({ "role": "user", "content": " " }),
        })
    }),
    ("instructions and blank messages", |n| {
        list(n, |at| match at % 2 {
            0 => json!({ "role": "system", "content": "a" }),
            _ => json!({ "role": "user", "content": " " }),
        })
    }),
    ("blank messages", |n| list(n, |_| json!({ "role": "assistant", "content": "" }))),
    ("unknown events", |n| list(n, |_| json!({ "type": "x" }))),
    ("members", |n| {
        let members = (0..n).map(|at| (format!("k{at}"), json!(0))).collect();
        json!([{ "role": "user", "content": [{ "type": "text", "text": "a" }, Value::Object(members)] }])
    }),
];

/// The element at a place of a history that grows; whether all that is told of it is linear, too.
type Growth = (&'static str, fn(usize) -> Value, bool);

/// Histories that are asked for a request after each of their elements.
const GROWTH: &[Growth] = &[
    ("messages of the user", |at| json!({ "role": "user", "content": format!("a{at}") }), true),
    ("answers", |at| json!({ "role": "assistant", "content": format!("a{at}") }), true),
    ("instructions", |at| json!({ "role": "system", "content": format!("a{at}") }), true),
    (
        "instructions behind the user",
        |at| json!({ "role": if at == 0 { "user" } else { "system" }, "content": format!("a{at}") }),
        true,
    ),
    (
        "messages in turn",
        |at| json!({ "role": if at % 2 == 0 { "user" } else { "assistant" }, "content": "a" }),
        true,
    ),
    ("events of texts", |at| json!({ "type": "text", "id": at.to_string(), "text": "a" }), true),
    (
        "texts and images",
        |at| match at % 3 {
            0 => {
                json!({ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "https://a.b/c" } }] })
            }
            _ => json!({ "role": "user", "content": "a" }),
        },
        true,
    ),
    (
        "calls and their results",
        |at| {
            let id = format!("c{}", at / 2);
            if at % 2 == 0 {
                let call = json!({ "id": id, "function": { "name": "f", "arguments": "{}" } });
                return json!({ "role": "assistant", "tool_calls": [call] });
            }
            json!({ "role": "tool", "tool_call_id": id, "content": "a" })
        },
        true,
    ),
    (
        "results of no call",
        |at| json!({ "role": "tool", "tool_call_id": at.to_string(), "content": "a" }),
        false,
    ),
    (
        "calls of one message",
        |at| json!({ "type": "tool_call_start", "id": format!("c{at}"), "name": "f", "args": {} }),
        false,
    ),
    (
        "calls of one message, then their results",
        |at| match at % 20 {
            call @ 0..10 => {
                json!({ "type": "tool_call_start", "id": format!("c{}.{call}", at / 20), "name": "f", "args": {} })
            }
            result => {
                json!({ "type": "tool_call_result", "id": format!("c{}.{}", at / 20, result - 10), "result": "a" })
            }
        },
        true,
    ),
    (
        "messages with a call each",
        |at| {
            let call =
                json!({ "id": format!("c{at}"), "function": { "name": "f", "arguments": "{}" } });
            json!({ "role": "assistant", "tool_calls": [call] })
        },
        false,
    ),
    (
        "thoughts",
        |at| json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": format!("a{at}"), "signature": "b" }] }),
        false,
    ),
    ("pieces of one text", |_| json!({ "type": "text", "chunk": "a" }), false),
    (
        "pieces of one call's arguments",
        |at| match at {
            0 => json!({ "type": "tool_call_start", "id": "c", "name": "f" }),
            _ => json!({ "type": "tool_call_args", "id": "c", "delta": "1" }),
        },
        false,
    ),
];

/// Checks that a history that grows costs no more than it is told and tells; where `always`, that
/// what it tells is linear. Without requests, its growth is linear always.
fn grows(
    name: &str,
    dialect: Dialect,
    element: fn(usize) -> Value,
    always: bool,
    broken: &mut Vec<String>,
) {
    let measured = |count: usize, asked: bool| {
        let mut history = History::new(HistoryOptions::new(dialect));
        let (mut done, mut given, mut told) = (0, 0, 0);
        for at in 0..count {
            let text = element(at).to_string();
            given += text.len();
            let element = Json::parse_str(&text).unwrap().into_owned();
            let mut update = None;
            done += work(|| {
                history.append([element]).unwrap();
                update = asked.then(|| history.update());
            });
            told += update.map_or(0, |update| update.into_json().to_text().len());
        }
        (done, given, told)
    };
    let (few, given, told) = measured(100, true);
    let (many, more, all) = measured(400, true);
    for (done, bytes) in [(few, given + told), (many, more + all)] {
        if done > ROUGH + PER_BYTE * bytes {
            broken.push(format!("{name}: {done} units for {bytes} bytes"));
        }
    }
    if always && (all > 5 * told || many > ROUGH + 5 * few) {
        broken.push(format!("{name}: {told} bytes, then {all}; {few} units, then {many}"));
    }
    let ((few, ..), (many, ..)) = (measured(100, false), measured(400, false));
    if many > ROUGH + 5 * few {
        broken.push(format!("{name}, without requests: {few} units, then {many}"));
    }
}

fn sse(events: impl Iterator<Item = Value>) -> String {
    events.map(|event| format!("data: {event}\n\n")).collect()
}

/// A stream: `first`, then `count` of `next`.
fn stream(first: Value, count: usize, next: impl Fn(usize) -> Value) -> String {
    sse(std::iter::once(first).chain((0..count).map(next)))
}

type Wire = (&'static str, Dialect, fn(usize) -> String);

/// Responses that make a decoder keep, and look again at, what it has.
const STREAMS: &[Wire] = &[
    ("fragments of one call", Dialect::OpenAiChat, |n| {
        let call = |id: Value, name: Value| {
            let function = json!({ "name": name, "arguments": "{ \"a" });
            json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": id, "function": function }] } }] })
        };
        stream(call(json!("c"), json!("f")), n, |_| call(Value::Null, Value::Null))
    }),
    ("calls of one event", Dialect::OpenAiChat, |n| {
        let call = |at| json!({ "index": at, "id": format!("c{at}"), "function": { "name": "f", "arguments": "{}" } });
        sse([json!({ "choices": [{ "delta": { "tool_calls": list(n.min(1000), call) } }] })]
            .into_iter())
    }),
    ("texts of many templates behind arguments that wait", Dialect::OpenAiChat, |n| {
        let waits = json!({ "index": 0, "function": { "arguments": "x".repeat(20 * n) } });
        stream(
            json!({ "choices": [{ "delta": { "tool_calls": [waits] } }] }),
            n,
            |at| json!({ "id": at / 2, "choices": [{ "delta": { "content": format!("t{}", at % 2) } }] }),
        )
    }),
    ("details", Dialect::OpenAiChat, |n| {
        let details = list(n, |_| json!({ "text": "a", "signature": "b" }));
        sse([json!({ "choices": [{ "delta": { "reasoning_details": details } }] })].into_iter())
    }),
    ("fragments of one block", Dialect::Anthropic, |n| {
        let block = json!({ "type": "tool_use", "id": "c", "name": "f", "input": {} });
        let start = json!({ "type": "content_block_start", "index": 0, "content_block": block });
        stream(start, n, |_| {
            let delta = json!({ "type": "input_json_delta", "partial_json": "{\"a" });
            json!({ "type": "content_block_delta", "index": 0, "delta": delta })
        })
    }),
    ("texts of many templates behind a whole input", Dialect::Anthropic, |n| {
        let input = json!({ "a": "x".repeat(20 * n) });
        let block = json!({ "type": "tool_use", "id": "c", "name": "f", "input": input });
        let start = json!({ "type": "content_block_start", "index": 0, "content_block": block });
        stream(start, n, |at| {
            let delta = json!({ "type": "text_delta", "text": format!("t{}", at % 2) });
            json!({ "type": "content_block_delta", "index": 1 + at / 2, "delta": delta })
        })
    }),
    ("blocks of one message", Dialect::Anthropic, |n| {
        let block = |at| json!({ "type": "tool_use", "id": format!("c{at}"), "name": "f", "input": { "a": 1 } });
        let message = json!({ "type": "message", "id": "m", "content": list(n, block) });
        message.to_string()
    }),
    ("open blocks", Dialect::Anthropic, |n| {
        stream(
            json!({ "type": "ping" }),
            n,
            |at| json!({ "type": "content_block_start", "index": at, "content_block": { "type": "text", "text": "" } }),
        )
    }),
    ("fragments of one item", Dialect::OpenAiResponses, |n| {
        let item = json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "" });
        let start =
            json!({ "type": "response.output_item.added", "output_index": 0, "item": item });
        stream(
            start,
            n,
            |_| json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"a" }),
        )
    }),
    ("items", Dialect::OpenAiResponses, |n| {
        let item = |at| json!({ "type": "function_call", "call_id": format!("c{at}"), "name": "f", "arguments": "{}" });
        sse([json!({ "type": "response.completed", "response": { "output": list(n, item) } })]
            .into_iter())
    }),
    ("parts", Dialect::Gemini, |n| {
        let part = |_| json!({ "functionCall": { "name": "f", "args": { "a": 1 } } });
        sse([json!({ "candidates": [{ "content": { "parts": list(n, part) } }] })].into_iter())
    }),
    ("arguments by path", Dialect::Gemini, |n| {
        let call = |call: Value| json!({ "candidates": [{ "content": { "parts": [{ "functionCall": call }] } }] });
        stream(call(json!({ "name": "f", "willContinue": true })), n, |at| {
            let path = format!("$.a[{at}].b");
            call(
                json!({ "partialArgs": [{ "jsonPath": path, "stringValue": "x" }], "willContinue": true }),
            )
        })
    }),
    ("one argument by path", Dialect::Gemini, |n| {
        let call = |call: Value| json!({ "candidates": [{ "content": { "parts": [{ "functionCall": call }] } }] });
        stream(call(json!({ "name": "f", "willContinue": true })), n, |_| {
            let one = json!({ "jsonPath": "$.a", "stringValue": "x", "willContinue": true });
            call(json!({ "partialArgs": [one], "willContinue": true }))
        })
    }),
    ("fragments of one block of Bedrock", Dialect::Bedrock, |n| {
        let tool = json!({ "toolUse": { "toolUseId": "c", "name": "f" } });
        stream(json!({ "contentBlockStart": { "contentBlockIndex": 0, "start": tool } }), n, |_| {
            let delta = json!({ "toolUse": { "input": "{\"a" } });
            json!({ "contentBlockDelta": { "contentBlockIndex": 0, "delta": delta } })
        })
    }),
    ("fragments of Cohere", Dialect::Cohere, |n| {
        let function = |name: Value| json!({ "name": name, "arguments": "{\"a" });
        let event = |kind: &str, id: Value, name: Value| {
            let calls = json!({ "id": id, "function": function(name) });
            json!({ "type": kind, "index": 0, "delta": { "message": { "tool_calls": calls } } })
        };
        stream(event("tool-call-start", json!("c"), json!("f")), n, |_| {
            event("tool-call-delta", Value::Null, Value::Null)
        })
    }),
    ("calls of Ollama", Dialect::Ollama, |n| {
        let call = |_| json!({ "function": { "name": "f", "arguments": { "a": 1 } } });
        json!({ "message": { "content": "", "tool_calls": list(n, call) }, "done": true })
            .to_string()
    }),
    ("no wire at all", Dialect::Cohere, |n| stream(json!({}), n, |at| json!({ "x": at }))),
    ("lines of one event", Dialect::OpenAiChat, |n| "data: {\"choices\":[]}\n".repeat(n)),
    ("an event without end", Dialect::OpenAiChat, |n| format!("data: {}", "\\".repeat(50 * n))),
];

#[test]
fn the_work_of_a_call_is_bounded_and_linear() {
    let _alone = alone();
    let mut broken = Vec::new();
    for (name, make) in HISTORIES {
        let make = |count| make(count).to_string();
        for dialect in Dialect::ALL {
            let name = format!("{name} for {}", dialect.name());
            linear(
                &name,
                &make,
                &|text| {
                    let mut history = History::new(HistoryOptions::new(dialect));
                    if history.append_text(text).is_ok() {
                        drop(history.into_normalized());
                    }
                },
                &mut broken,
            );
        }
        linear(
            &format!("{name}, canonical"),
            &make,
            &|text| {
                drop(canonicalize(text.as_bytes()).unwrap());
            },
            &mut broken,
        );
    }
    for dialect in Dialect::ALL {
        for (name, element, always) in GROWTH {
            grows(
                &format!("{name}, one by one for {}", dialect.name()),
                dialect,
                *element,
                *always,
                &mut broken,
            );
        }
    }
    for (name, dialect, make) in STREAMS {
        for chunk in [usize::MAX, 64] {
            linear(
                &format!("{name}, in pieces of {chunk}"),
                make,
                &|text| {
                    let mut decoder = Decoder::new(*dialect).unwrap();
                    let mut response = Response::default();
                    let mut deltas = Vec::new();
                    for piece in text.as_bytes().chunks(chunk) {
                        decoder.feed(piece, &mut deltas);
                        for delta in deltas.drain(..) {
                            drop(response.take(&delta));
                        }
                    }
                    decoder.end(&mut deltas);
                },
                &mut broken,
            );
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
