//! The call that each fragment of a chat stream belongs to.

use serde_json::{Value, json};
use turnlock::stream::{Delta, Response};

use crate::common::Random;
use crate::{decode, dialect};

/// A call of the model: its id, its tool, and its arguments.
type Sent = (String, &'static str, String);

/// What differs among providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    Counted,
    FromOne,
    AlwaysZero,
    Missing,
    /// Each fragment without id and name has a new one.
    Drifting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeats {
    Never,
    Empty,
    Null,
    Name,
    Id,
    Both,
    NewId,
}

const INDICES: [Index; 5] =
    [Index::Counted, Index::FromOne, Index::AlwaysZero, Index::Missing, Index::Drifting];
const REPEATS: [Repeats; 7] = [
    Repeats::Never,
    Repeats::Empty,
    Repeats::Null,
    Repeats::Name,
    Repeats::Id,
    Repeats::Both,
    Repeats::NewId,
];

fn arguments(random: &mut Random) -> String {
    let texts = ["tmp.txt", "}", "{\"a\":1}", "\\\" {", "", "ä 🌊"];
    let mut members = serde_json::Map::new();
    for key in ["path", "only", "{}"].iter().take(1 + random.below(3)) {
        let text = texts[random.below(texts.len())];
        let value = match random.below(3) {
            0 => json!(text),
            1 => json!({ "deep": [text, {}] }),
            _ => json!(random.below(100)),
        };
        members.insert((*key).to_owned(), value);
    }
    Value::Object(members).to_string()
}

fn calls(random: &mut Random) -> Vec<Sent> {
    let names = ["deleteFiles", "readFile"];
    (0..=random.below(3))
        .map(|at| (format!("id-{at}"), names[random.below(2)], arguments(random)))
        .collect()
}

/// Random pieces of a text; some are empty.
fn pieces(random: &mut Random, text: &str) -> Vec<String> {
    let mut rest: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let count = random.below(rest.len() + 1);
        pieces.push(rest.drain(..count).collect());
    }
    pieces
}

/// The fragments of each call. `tail`: of another call than the first in the response.
fn fragments(
    random: &mut Random,
    sent: &[Sent],
    index: Index,
    repeats: Repeats,
) -> Vec<Vec<Value>> {
    let mut drift = 100;
    let mut all = Vec::new();
    for (at, (id, name, arguments)) in sent.iter().enumerate() {
        let number = match index {
            Index::Counted | Index::Drifting => Some(at),
            Index::FromOne => Some(at + 1),
            Index::AlwaysZero => Some(0),
            Index::Missing => None,
        };
        let mut fragment = |random: &mut Random, head: bool, piece: &str| {
            let mut function = json!({ "arguments": piece });
            let mut whole = json!({});
            let mut set = |id: Value, name: Value| {
                whole["id"] = id;
                function["name"] = name;
            };
            match repeats {
                _ if head => set(json!(id), json!(name)),
                Repeats::Empty => set(json!(""), json!("")),
                Repeats::Null => set(Value::Null, Value::Null),
                Repeats::Both => set(json!(id), json!(name)),
                Repeats::Name => function["name"] = json!(name),
                Repeats::Id => whole["id"] = json!(id),
                Repeats::NewId => whole["id"] = json!(format!("new-{}", random.below(1 << 40))),
                Repeats::Never => {}
            }
            whole["function"] = function;
            if index == Index::Drifting && !head {
                drift += 1;
                whole["index"] = json!(drift);
            } else if let Some(number) = number {
                whole["index"] = json!(number);
            }
            whole
        };
        let mut pieces = pieces(random, arguments);
        let first = if random.below(2) == 0 { String::new() } else { pieces.remove(0) };
        let mut own = vec![fragment(random, true, &first)];
        own.extend(pieces.iter().map(|piece| fragment(random, false, piece)));
        if random.below(4) == 0 && index != Index::Missing {
            // Arguments that are complete, with id and name once more.
            own.push(fragment(random, true, arguments));
        }
        all.push(own);
    }
    all
}

/// Fragments of several calls in one order; those of each call stay in theirs.
fn interleaved(random: &mut Random, mut all: Vec<Vec<Value>>) -> Vec<Value> {
    let mut out = Vec::new();
    // Calls begin in order.
    let mut begun = 0;
    while all.iter().any(|own| !own.is_empty()) {
        let at = random.below((begun + 1).min(all.len()));
        if !all[at].is_empty() {
            begun = begun.max(at + 1);
            out.push(all[at].remove(0));
        }
    }
    out
}

fn body(fragments: &[Value], finish: Option<&str>, done: bool) -> String {
    let event = |delta: Value, finish: Value| {
        let event = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        format!("data: {event}\n\n")
    };
    let mut body: String = fragments
        .iter()
        .map(|fragment| event(json!({ "tool_calls": [fragment] }), Value::Null))
        .collect();
    if let Some(reason) = finish {
        body.push_str(&event(json!({}), json!(reason)));
    }
    if done {
        body.push_str("data: [DONE]\n\n");
    }
    body
}

fn read(body: &str) -> Response {
    let mut response = Response::default();
    for delta in decode(dialect("openai-chat"), [body.as_bytes()]) {
        assert!(!matches!(delta, Delta::Error(_)), "{body}");
        response.take(&delta).unwrap();
    }
    response
}

/// Id, name and arguments of the calls that have ended.
fn ended(body: &str) -> Vec<(String, String, String)> {
    let calls = read(body).calls.into_iter().filter(|call| call.ended);
    calls.map(|call| (call.id, call.name, call.arguments)).collect()
}

/// Whether fragments of several calls can be told apart where they alternate.
fn alternates(index: Index, repeats: Repeats) -> bool {
    let by_index = matches!(index, Index::Counted | Index::FromOne);
    // Those by a name alone begin another call at the same index.
    by_index || matches!(repeats, Repeats::Id)
}

/// Whether a fragment can be told to continue its call. Without a place of its own, a new id begins
/// another call; so does a name where nothing else says which call is meant.
fn is_attributable(index: Index, repeats: Repeats) -> bool {
    match index {
        Index::Counted | Index::FromOne => true,
        Index::AlwaysZero => true,
        Index::Missing => repeats != Repeats::NewId,
        Index::Drifting => !matches!(repeats, Repeats::NewId | Repeats::Name | Repeats::Both),
    }
}

#[test]
fn fragments_in_any_convention_give_the_same_calls() {
    let random = &mut Random(56);
    for round in 0..6_000 {
        let index = INDICES[round % INDICES.len()];
        let repeats = REPEATS[random.below(REPEATS.len())];
        if !is_attributable(index, repeats) {
            continue;
        }
        let sent = calls(random);
        let fragments = fragments(random, &sent, index, repeats);
        let fragments = match alternates(index, repeats) {
            true => interleaved(random, fragments),
            false => fragments.concat(),
        };
        let (finish, done) = [
            (Some("tool_calls"), true),
            (Some("stop"), false),
            (Some("function_call"), true),
            (None, true),
        ][random.below(4)];
        let body = body(&fragments, finish, done);
        let want: Vec<_> =
            sent.into_iter().map(|(id, name, args)| (id, name.to_owned(), args)).collect();
        assert_eq!(ended(&body), want, "{index:?} {repeats:?}\n{body}");
    }
}

#[test]
fn a_response_that_does_not_end_normally_ends_no_call() {
    let random = &mut Random(57);
    for _ in 0..500 {
        let sent = calls(random);
        let index = INDICES[random.below(2)];
        let fragments = fragments(random, &sent, index, Repeats::Never).concat();
        for (finish, done) in [
            (Some("length"), true),
            (Some("content_filter"), false),
            (Some("error"), true),
            (Some("insufficient_system_resource"), true),
            (None, false),
            (Some("unheard_of"), false),
        ] {
            let body = body(&fragments, finish, done);
            assert_eq!(ended(&body), [], "{body}");
        }
        // The first call is ready where another one follows, and a read-only tool may start.
        let whole = read(&body(&fragments, Some("length"), true));
        assert!(whole.calls.iter().rev().skip(1).all(|call| call.ready));
    }
}

/// Fragments that lose members, or have a wrong index: whatever ends is a call of the model.
#[test]
fn a_call_that_ends_is_one_that_the_model_sent() {
    let random = &mut Random(58);
    let mut some = 0;
    for _ in 0..6_000 {
        let sent = calls(random);
        let index = INDICES[random.below(INDICES.len())];
        let repeats = REPEATS[random.below(REPEATS.len())];
        let mut fragments = fragments(random, &sent, index, repeats).concat();
        for _ in 0..=random.below(3) {
            let at = random.below(fragments.len());
            let whole = fragments[at].as_object_mut().unwrap();
            match random.below(4) {
                0 => drop(whole.remove("id")),
                1 => drop(whole.remove("index")),
                2 => drop(whole.insert("index".to_owned(), json!(random.below(4)))),
                _ => drop(whole["function"].as_object_mut().unwrap().remove("name")),
            }
        }
        let body = body(&fragments, Some("tool_calls"), true);
        for (_, name, args) in ended(&body) {
            let is_sent = sent.iter().any(|sent| sent.1 == name && sent.2 == args.trim());
            // What is no object is refused.
            let is_object = args.trim().is_empty()
                || serde_json::from_str::<Value>(&args).is_ok_and(|args| args.is_object());
            assert!(is_sent || !is_object, "{name} {args}\n{index:?} {repeats:?}\n{body}");
            some += usize::from(is_sent);
        }
    }
    assert!(some > 1_000, "{some}");
}

/// Rows of public reports.
#[test]
fn fragments_as_providers_were_seen_to_send_them() {
    let head = |index: usize, id: &str, args: &str| json!({ "index": index, "id": id, "function": { "name": "f", "arguments": args } });
    let bare =
        |index: usize, args: &str| json!({ "index": index, "function": { "arguments": args } });
    let without = |args: &str| json!({ "function": { "arguments": args } });
    type Row<'a> = (&'a str, Vec<Value>, &'a [&'a str]);
    let rows: [Row<'_>; 14] = [
        (
            "null in continuations (sgl-project/sglang#35542, 2026-08-19)",
            vec![
                head(0, "a", ""),
                json!({ "index": 0, "id": null, "type": null, "function": { "name": null, "arguments": "{\"a\":1}" } }),
            ],
            &["{\"a\":1}"],
        ),
        (
            "the first name is empty (vercel/ai#16507, 2026-06-30)",
            vec![
                json!({ "index": 0, "id": "a", "function": { "name": "", "arguments": "" } }),
                json!({ "index": 0, "function": { "name": "f" } }),
                bare(0, "{\"a\":1}"),
            ],
            &["{\"a\":1}"],
        ),
        (
            "another index in each fragment (dirac-run/dirac#215, 2026-09-03)",
            vec![head(0, "a", ""), bare(1, "{\"a\":"), bare(2, "1}")],
            &["{\"a\":1}"],
        ),
        (
            "an empty object first (ogx-ai/ogx#5462, 2026-04-07)",
            vec![head(0, "a", "{}"), bare(0, "{\"a\":1}")],
            &[],
        ),
        ("an empty object first, no index", vec![head(0, "a", "{}"), without("{\"a\":1}")], &[]),
        (
            "an empty object first, the name in each fragment",
            vec![
                head(0, "a", "{}"),
                json!({ "index": 0, "function": { "name": "f", "arguments": "{\"a\":1}" } }),
            ],
            &[],
        ),
        (
            "complete arguments again (elizaOS/eliza#9766, 2026-06-26)",
            vec![head(0, "a", ""), bare(0, "{\"a\":"), bare(0, "1}"), head(0, "a", "{\"a\": 1}")],
            &["{\"a\":1}"],
        ),
        (
            "index 0 for all (ollama/ollama#16212, 2026-05-18)",
            vec![head(0, "a", "{\"a\":1}"), head(0, "b", "{\"a\":2}")],
            &["{\"a\":1}", "{\"a\":2}"],
        ),
        (
            "the name in each fragment (1CatAI/1Cat-vLLM#240, 2026-08-19)",
            vec![
                head(0, "a", ""),
                json!({ "index": 0, "function": { "name": "f", "arguments": "{\"a\":1}" } }),
                json!({ "index": 0, "function": { "name": "f", "arguments": "" } }),
            ],
            &["{\"a\":1}"],
        ),
        ("arguments before any call", vec![bare(0, "{\"a\":1}"), head(0, "a", "")], &[]),
        (
            "an unknown index where two calls lack arguments",
            vec![head(0, "a", ""), head(1, "b", ""), bare(2, "{\"a\":1}")],
            &[],
        ),
        (
            "arguments of a call that never gets a name",
            vec![
                head(0, "a", ""),
                json!({ "index": 1, "id": "b", "function": { "arguments": "{\"a\":1}" } }),
            ],
            &[],
        ),
        (
            "another id and the name in each fragment",
            vec![
                head(0, "a", ""),
                head(0, "b", "{\"a\":"),
                head(0, "c", "{\"b\":1}"),
                head(0, "d", "}"),
            ],
            &[],
        ),
        ("a call without arguments", vec![head(0, "a", "")], &[""]),
    ];
    for (why, fragments, want) in rows {
        let got = ended(&body(&fragments, Some("tool_calls"), true));
        let got: Vec<_> = got.iter().map(|(_, _, args)| args.as_str()).collect();
        assert_eq!(got, want, "{why}");
    }
}

/// The arguments of the calls that have ended, on wires whose calls have an end mark.
#[test]
fn wires_with_end_marks_attribute_by_index_too() {
    let anthropic = |index: Option<u64>, kind: &str, own: Value| {
        let mut event = json!({ "type": format!("content_block_{kind}") });
        if let Some(index) = index {
            event["index"] = json!(index);
        }
        let member = if kind == "start" { "content_block" } else { "delta" };
        event[member] = own;
        event
    };
    let tool = |name: &str| json!({ "type": "tool_use", "id": name, "name": name, "input": {} });
    let json_delta = |text: &str| json!({ "type": "input_json_delta", "partial_json": text });
    let stop =
        |reason: &str| json!({ "type": "message_delta", "delta": { "stop_reason": reason } });
    let bedrock = |index: u64, kind: &str, key: &str, own: Value| json!({ format!("contentBlock{kind}"): { "contentBlockIndex": index, key: own } });
    let cohere = |index: u64, kind: &str, function: Value| json!({ "type": format!("tool-call-{kind}"), "index": index, "delta": { "message": { "tool_calls": { "id": "c", "function": function } } } });
    let responses = |index: u64, kind: &str, key: &str, own: Value| json!({ "type": format!("response.{kind}"), "output_index": index, key: own });
    let item = |args: &str| json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": args });
    let completed = json!({ "type": "response.completed", "response": { "status": "completed" } });
    let rows: Vec<(&str, &str, Vec<Value>, Vec<&str>)> = vec![
        (
            "anthropic",
            "a piece under an unknown index belongs to the open call",
            vec![
                anthropic(Some(0), "start", tool("f")),
                anthropic(Some(1), "delta", json_delta("{\"a\":1}")),
                anthropic(Some(0), "stop", json!({})),
                stop("tool_use"),
            ],
            vec!["{\"a\":1}"],
        ),
        (
            "anthropic",
            "a piece without an index, and one of a text block",
            vec![
                anthropic(Some(0), "start", json!({ "type": "text", "text": "" })),
                anthropic(Some(1), "start", tool("f")),
                anthropic(None, "delta", json_delta("{\"a\":")),
                anthropic(Some(0), "delta", json_delta("1}")),
                anthropic(Some(1), "stop", json!({})),
                stop("tool_use"),
            ],
            vec!["{\"a\":1}"],
        ),
        (
            "anthropic",
            "a piece behind the end of its call is not another call's, and that call never ends",
            vec![
                anthropic(Some(0), "start", tool("f")),
                anthropic(Some(0), "stop", json!({})),
                anthropic(Some(0), "delta", json_delta("{\"a\":1}")),
                stop("tool_use"),
            ],
            vec![],
        ),
        (
            "anthropic",
            "a late piece of an ended call",
            vec![
                anthropic(Some(0), "start", tool("f")),
                anthropic(Some(0), "delta", json_delta("{\"a\":1}")),
                anthropic(Some(0), "stop", json!({})),
                anthropic(Some(1), "start", tool("g")),
                anthropic(Some(0), "delta", json_delta("{\"b\":1}")),
                anthropic(Some(1), "stop", json!({})),
                stop("tool_use"),
            ],
            vec!["{\"a\":1}", ""],
        ),
        (
            "anthropic",
            "cut before the first argument",
            vec![
                anthropic(Some(0), "start", tool("f")),
                anthropic(Some(0), "stop", json!({})),
                stop("max_tokens"),
                json!({ "type": "message_stop" }),
            ],
            vec![],
        ),
        (
            "bedrock",
            "a piece under an unknown index belongs to the open call",
            vec![
                bedrock(
                    0,
                    "Start",
                    "start",
                    json!({ "toolUse": { "toolUseId": "c", "name": "f" } }),
                ),
                bedrock(1, "Delta", "delta", json!({ "toolUse": { "input": "{\"a\":1}" } })),
                bedrock(0, "Stop", "x", json!({})),
                json!({ "messageStop": { "stopReason": "tool_use" } }),
            ],
            vec!["{\"a\":1}"],
        ),
        (
            "bedrock",
            "cut before the first argument",
            vec![
                bedrock(
                    0,
                    "Start",
                    "start",
                    json!({ "toolUse": { "toolUseId": "c", "name": "f" } }),
                ),
                bedrock(0, "Stop", "x", json!({})),
                json!({ "messageStop": { "stopReason": "max_tokens" } }),
            ],
            vec![],
        ),
        (
            "cohere",
            "a piece under an unknown index belongs to the open call",
            vec![
                cohere(0, "start", json!({ "name": "f", "arguments": "" })),
                cohere(1, "delta", json!({ "arguments": "{\"a\":1}" })),
                cohere(0, "end", json!({})),
                json!({ "type": "message-end", "delta": { "finish_reason": "TOOL_CALL" } }),
            ],
            vec!["{\"a\":1}"],
        ),
        (
            "cohere",
            "a piece behind the end of the only call",
            vec![
                cohere(0, "start", json!({ "name": "f", "arguments": "" })),
                cohere(0, "end", json!({})),
                cohere(1, "delta", json!({ "arguments": "{\"a\":1}" })),
                json!({ "type": "message-end", "delta": { "finish_reason": "TOOL_CALL" } }),
            ],
            vec![],
        ),
        (
            "cohere",
            "a call without arguments",
            vec![
                cohere(0, "start", json!({ "name": "f", "arguments": "null" })),
                cohere(0, "end", json!({})),
                json!({ "type": "message-end", "delta": { "finish_reason": "TOOL_CALL" } }),
            ],
            vec![""],
        ),
        (
            "openai-responses",
            "a piece under an unknown index belongs to the open call",
            vec![
                responses(0, "output_item.added", "item", item("")),
                responses(3, "function_call_arguments.delta", "delta", json!("{\"a\":1}")),
                responses(0, "output_item.done", "item", item("{\"a\":1}")),
                completed.clone(),
            ],
            vec!["{\"a\":1}"],
        ),
        (
            "openai-responses",
            "an item that ends under another index is one call",
            vec![
                responses(0, "output_item.added", "item", item("")),
                responses(1, "output_item.done", "item", item("{\"a\":1}")),
                completed.clone(),
            ],
            vec!["{\"a\":1}"],
        ),
        (
            "openai-responses",
            "an item that never ends has no arguments",
            vec![responses(0, "output_item.added", "item", item("")), completed],
            vec![],
        ),
    ];
    for (wire, why, events, want) in rows {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let mut response = Response::default();
        for delta in decode(dialect(wire), [body.as_bytes()]) {
            response.take(&delta).unwrap();
        }
        let calls = response.calls.iter().filter(|call| call.ended);
        let got: Vec<_> = calls.map(|call| call.arguments.as_str()).collect();
        assert_eq!(got, want, "{wire}: {why}");
    }
}
