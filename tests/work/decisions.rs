//! The work of what is decided of other answers than a turn's: bundles, chains, requests of data.

use serde_json::{Value, json};
use turnlock::Next;
use turnlock::chain::classify::{ClassifierOptions, classify};
use turnlock::chain::{self, Chain, ChainOptions, Plan, PlanLimits};
use turnlock::evidence::{self, Bundle, BundleOptions, Evidence, Outcome, SummaryOptions};
use turnlock::guard::PolicyGuard;
use turnlock::json::Json;
use turnlock::planning::{Pass, PassEffect, PassOptions, Policy, lint_prompt, parse_tool_request};
use turnlock::tool::Settled;
use turnlock::turn::{Effect, Input};

use super::{Counted, bounded, list, work};

/// Units for each byte that is given or told.
const PER_BYTE: usize = 160;
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn members(n: usize, value: impl Fn(usize) -> Value) -> Value {
    Value::Object((0..n).map(|at| (format!("k{at}"), value(at))).collect())
}

type Data = (&'static str, fn(usize, usize) -> Value);

/// The data of a replicate.
const DATA: &[Data] = &[
    ("fields that agree", |_, n| members(n, |at| json!(at))),
    ("fields that differ", |one, n| members(n, |at| json!(format!("{one} {at}")))),
    ("numbers that differ", |one, n| members(n, |at| json!((one * 7 + at) as f64 / 8.0))),
    ("fields of their own", |one, n| {
        Value::Object((0..n).map(|at| (format!("k{one}.{at}"), json!(at))).collect())
    }),
    ("items", |one, n| json!({ "a": list(n, |at| json!(at + one)) })),
    ("objects", |one, n| json!({ "a": list(n, |at| json!({ "id": at, "b": one })) })),
    ("objects of lists", |one, n| members(n / 8, |at| list(8, |item| json!([item + at, one])))),
    ("a long text", |one, n| json!({ "a": format!("{one}{}", "ab ".repeat(8 * n)) })),
    (
        "a long number",
        |one, n| json!({ "a": one, "b": list(n, |_| json!(0.123_456_789_012_345_67)) }),
    ),
];

/// Plays a bundle of `k` replicates with this data.
fn bundled(k: usize, stop: &str, data: &dyn Fn(usize) -> Value) -> Counted {
    let options = json!({ "task": "t", "k": k, "stop": stop, "seeds": list(k, |at| json!(at)) });
    let mut bundle =
        BundleOptions::parse(options.to_string().as_bytes()).and_then(Bundle::new).unwrap();
    let mut counted = Counted::default();
    let mut inputs = std::collections::VecDeque::from([evidence::Input::Start]);
    while let Some(input) = inputs.pop_front() {
        counted.given += input.data().map_or(64, <[u8]>::len);
        let mut effects = Vec::with_capacity(256);
        counted.done += work(|| {
            bundle.handle(0, input);
            while let Next::Effect(effect) = bundle.poll() {
                effects.push(effect);
            }
        });
        for effect in effects {
            match effect {
                evidence::Effect::Run { replicate, attempt, .. } => {
                    let json = data(replicate).to_string().into_bytes();
                    let outcome = Outcome::Data { json, errors: Vec::new() };
                    let (tokens, model, seed_unsent, repairs) = (None, None, false, Vec::new());
                    inputs.push_back(evidence::Input::Settled {
                        replicate,
                        attempt,
                        outcome,
                        tokens,
                        model,
                        seed_unsent,
                        repairs,
                    });
                }
                evidence::Effect::Emit(event) => counted.told += event.to_text().len(),
                _ => {}
            }
        }
    }
    counted
}

fn parsed(value: &Value) -> Json<'static> {
    Json::parse_str(&value.to_string()).unwrap().into_owned()
}

/// Evidence without a machine, and what is told of it.
fn summarized(k: usize, data: &dyn Fn(usize) -> Value) -> Counted {
    let mut counted = Counted::default();
    let mut evidence = Evidence::new(SummaryOptions::default()).unwrap();
    for replicate in 0..k {
        let value = data(replicate);
        counted.given += value.to_string().len();
        let value = parsed(&value);
        counted.done += work(|| {
            let place = evidence.open();
            evidence.set(place, Some(value), true, Vec::new());
        });
    }
    let mut summary = None;
    counted.done += work(|| summary = Some(evidence.summary()));
    counted.told += summary.map_or(0, |summary| summary.read().unwrap().to_json().to_text().len());
    counted
}

fn differing(one: &Value, other: &Value) -> Counted {
    let given = one.to_string().len() + other.to_string().len();
    let (one, other) = (parsed(one), parsed(other));
    let mut patch = Json::Null;
    let done =
        work(|| patch = evidence::diff(&one, &other)) + work(|| evidence::apply(&one, &patch));
    Counted { done, given, told: patch.to_text().len() }
}

#[test]
fn the_work_of_a_bundle_is_bounded_and_linear() {
    let _alone = super::alone();
    let mut broken = Vec::new();
    for (name, data) in DATA {
        for stop in ["agreement", "never"] {
            let name = format!("a bundle of {name}, {stop}");
            let measured = |n: usize| bundled(3, stop, &|one| data(one, n));
            bounded(&name, PER_BYTE, &measured, 150, &mut broken);
        }
        let measured = |n: usize| summarized(3, &|one| data(one, n));
        bounded(&format!("a summary of {name}"), PER_BYTE, &measured, 150, &mut broken);
        // The distances of all pairs are a square by themselves.
        let measured = |n: usize| {
            let counted = summarized(n, &|one| data(one, 200));
            Counted { given: counted.given * (n - 1), ..counted }
        };
        bounded(&format!("replicates of {name}"), PER_BYTE, &measured, 5, &mut broken);
        let measured = |n: usize| differing(&data(1, n), &data(2, n));
        bounded(&format!("a difference of {name}"), PER_BYTE, &measured, 300, &mut broken);
    }
    type Cited = (&'static str, fn(usize) -> (String, Vec<String>));
    let cited: [Cited; 3] = [
        ("known", |n| {
            let fields: Vec<_> = (0..n).map(|at| format!("/a/{at}b")).collect();
            (fields.join(" "), fields)
        }),
        ("unknown", |n| ((0..n).map(|at| format!(" /a{at}")).collect(), Vec::new())),
        ("slashes", |n| ("/a".repeat(8 * n), vec!["/a".to_owned(), "/a/a".to_owned()])),
    ];
    for (name, make) in cited {
        let measured = |n: usize| {
            let (text, fields) = make(n);
            let given = text.len() + fields.iter().map(|field| field.len() + 24).sum::<usize>();
            Counted { done: work(|| evidence::cite(&text, &fields)), given, told: 0 }
        };
        bounded(&format!("citations, {name}"), PER_BYTE, &measured, 1000, &mut broken);
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Texts that a model may write in place of a plan or a request.
const SAID: &[(&str, fn(usize) -> String)] = &[
    ("braces", |n| "{".repeat(10 * n)),
    ("closed braces", |n| "{} ".repeat(4 * n)),
    ("quotes", |n| "{\"".repeat(5 * n)),
    ("fences", |n| "```json\n{}\n```\n".repeat(n)),
    ("thoughts", |n| format!("<think>{}", "</think><think>".repeat(n))),
    ("prose", |n| "Ohio and \"Texas\", or Utah? ".repeat(n)),
    ("lists", |n| format!("{{\"steps\":[{}]}}", "[],".repeat(4 * n))),
    ("members", |n| members(n, |at| json!(at)).to_string()),
    ("a plan without an end", |n| {
        format!("{{\"steps\":[{}", "{\"id\":1,\"query\":\"q\"},".repeat(n))
    }),
    ("requests", |n| {
        let call = |at| json!({ "tool_name": "f", "params": { "a": at }, "reason": "because" });
        json!({ "tool_calls": list(n, call) }).to_string()
    }),
    ("requests of nothing", |n| {
        json!({ "tool_calls": list(n, |at| json!({ "x": at, "tool_name": "g", "params": {} })) })
            .to_string()
    }),
    ("a long reason", |n| {
        let call = json!({ "tool_name": "f", "params": {}, "reason": "ab ".repeat(8 * n) });
        json!({ "tool_calls": [call] }).to_string()
    }),
    ("a long argument", |n| {
        let call = json!({ "tool_name": "f", "params": { "a": list(8 * n, |at| json!(at)) } });
        json!({ "tool_calls": [call] }).to_string()
    }),
];

/// Plans whose steps, or what these have, are many.
const PLANS: &[(&str, fn(usize) -> String)] = &[
    ("steps", |n| {
        json!({ "steps": list(n / 16, |at| json!({ "id": at, "query": "q" })) }).to_string()
    }),
    ("dependencies", |n| {
        let all = |at: usize| list(at, |one| json!(one));
        let step = |at| json!({ "id": at, "query": "q", "depends_on": all(at) });
        json!({ "steps": list(n / 16, step) }).to_string()
    }),
    ("the same dependency", |n| {
        let steps = json!([{ "id": 1, "query": "q" },
            { "id": 2, "query": "q", "depends_on": list(8 * n, |_| json!(1)) }]);
        json!({ "steps": steps }).to_string()
    }),
    ("unknown dependencies", |n| {
        let steps = json!([{ "id": 1, "query": "q", "depends_on": list(n, |at| json!(at)) }]);
        json!({ "steps": steps }).to_string()
    }),
    ("a long query", |n| {
        json!({ "steps": [{ "id": 1, "query": "ab ".repeat(8 * n) }, { "id": 2, "query": "q" }] })
            .to_string()
    }),
    ("mentions", |n| {
        json!({ "steps": [{ "id": 1, "query": "q" }, { "id": 2, "query": "$1 ".repeat(n) }] })
            .to_string()
    }),
    ("mentions without an end", |n| {
        json!({ "steps": [{ "id": 1, "query": "q" }, { "id": 2, "query": "${1 ".repeat(8 * n) }] })
            .to_string()
    }),
    ("conditions", |n| {
        let when = vec!["count($1) > 0"; n / 16].join(" and ");
        json!({ "steps": [{ "id": 1, "query": "q" }, { "id": 2, "query": "q", "when": when }] })
            .to_string()
    }),
];

/// Plays a chain: its planner says `plan`, and each search finds `found`.
fn chained(plan: &str, found: &str) -> Counted {
    let options = br#"{"query":"Compare Ohio and Texas.","hooks":{"classify":true}}"#;
    let mut chain = ChainOptions::parse(options).and_then(Chain::new).unwrap();
    let mut counted = Counted::default();
    let mut inputs = std::collections::VecDeque::from([chain::Input::Start]);
    while let Some(input) = inputs.pop_front() {
        let mut effects = Vec::with_capacity(256);
        counted.done += work(|| {
            chain.handle(0, input);
            while let Next::Effect(effect) = chain.poll() {
                effects.push(effect);
            }
        });
        for effect in effects {
            match effect {
                chain::Effect::Call { call, body } => {
                    counted.told += body.to_json().to_text().len();
                    let text = match body.kind() {
                        chain::CallKind::Classify => "\"complex\"".to_owned(),
                        chain::CallKind::Plan => json!(plan).to_string(),
                        chain::CallKind::Search => found.to_owned(),
                        _ => "\"text\"".to_owned(),
                    };
                    counted.given += text.len();
                    inputs.push_back(chain::Input::returned(call, &text, None));
                }
                chain::Effect::Emit(event) => counted.told += event.to_json().to_text().len(),
                chain::Effect::Done(result) => counted.told += result.to_json().to_text().len(),
                _ => {}
            }
        }
    }
    counted
}

/// What a search finds.
const FOUND: &[(&str, fn(usize) -> String)] = &[
    ("a text", |n| json!("ab ".repeat(8 * n)).to_string()),
    ("items", |n| list(n, |at| json!({ "title": format!("t{at}"), "text": "b" })).to_string()),
    ("lists", |n| format!("[{}[]]", "[],".repeat(8 * n))),
    ("members", |n| members(n, |at| json!(at)).to_string()),
    ("no JSON", |n| "[{".repeat(10 * n)),
];

/// Plans that look at what was found.
const LOOKING: &[(&str, &str)] = &[
    ("nothing", r#"{"steps":[{"id":"a","query":"q"},{"id":"b","query":"r"}]}"#),
    ("a mention", r#"{"steps":[{"id":"a","query":"q"},{"id":"b","query":"of $a"}]}"#),
    ("an item", r#"{"steps":[{"id":"a","query":"q"},{"id":"b","query":"of ${a/7/title}"}]}"#),
    (
        "a condition",
        r#"{"pattern":"conditional","steps":[{"id":"a","query":"q"},{"id":"b","query":"r","depends_on":["a"],"when":"count($a) > 3"}]}"#,
    ),
];

#[test]
fn the_work_of_a_chain_is_bounded_and_linear() {
    let _alone = super::alone();
    let mut broken = Vec::new();
    let queries: [(&str, fn(usize) -> String); 5] = [
        ("words", |n| "compare ".repeat(n)),
        ("names", |n| "Ohio and Texas versus Utah ".repeat(n)),
        ("signs", |n| "?!,;\"(".repeat(n)),
        ("letters", |n| "a".repeat(8 * n)),
        ("other scripts", |n| "日本と中国".repeat(n)),
    ];
    for (name, make) in queries {
        let measured = |n: usize| {
            let text = make(n);
            let options = ClassifierOptions::default();
            Counted { done: work(|| classify(&text, &options)), given: text.len(), told: 0 }
        };
        bounded(&format!("classified, {name}"), PER_BYTE, &measured, 120, &mut broken);
    }
    for (name, make) in SAID.iter().chain(PLANS) {
        let measured = |n: usize| {
            let text = make(n);
            let limits = PlanLimits::default().max_steps(64);
            Counted { done: work(|| Plan::parse(&text, &limits)), given: text.len(), told: 0 }
        };
        bounded(&format!("a plan: {name}"), PER_BYTE, &measured, 250, &mut broken);
        let measured = |n: usize| chained(&make(n), "[1]");
        bounded(&format!("a chain with a plan: {name}"), PER_BYTE, &measured, 250, &mut broken);
    }
    for (what, found) in FOUND {
        for (name, plan) in LOOKING {
            let measured = |n: usize| chained(plan, &found(n));
            let name = format!("a chain that finds {what} and looks at {name}");
            bounded(&name, PER_BYTE, &measured, 500, &mut broken);
        }
        let plan = |n: usize| {
            json!({ "steps": [{ "id": 1, "query": "q" }, { "id": 2, "query": "$1 ".repeat(n) }] })
                .to_string()
        };
        let measured = |n: usize| chained(&plan(n), &found(n));
        bounded(&format!("mentions of {what}"), PER_BYTE, &measured, 200, &mut broken);
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Plays a pass: the model says `said`, and each tool returns `found`.
fn passed(said: &str, found: &str) -> Counted {
    let tool = json!({ "name": "f", "inputSchema": { "type": "object" }, "readOnly": true });
    let options = json!({
        "dialect": "openai-chat", "input": {}, "planId": "p", "runId": "r", "secret": SECRET,
        "tools": [tool], "trace": true,
        "policy": { "maxToolCalls": 100, "maxToolResultBytes": 1 << 26 },
    });
    let mut pass = PassOptions::parse(options.to_string().as_bytes()).and_then(Pass::new).unwrap();
    let mut counted = Counted::default();
    let mut inputs = std::collections::VecDeque::from([Input::Start]);
    while let Some(input) = inputs.pop_front() {
        let mut effects: Vec<PassEffect> = Vec::with_capacity(1024);
        counted.done += work(|| {
            pass.handle(0, input);
            while let Next::Effect(effect) = pass.poll() {
                effects.push(effect);
            }
        });
        for effect in effects {
            match effect {
                Effect::Fetch { inference, attempt, request, .. } => {
                    counted.told += request.body.to_text().len();
                    let text = if inference == 1 { said } else { "{\"plan\":1}" };
                    counted.given += text.len();
                    let deltas = vec![turnlock::stream::Delta::Text(text.to_owned())];
                    inputs.push_back(Input::Deltas { inference, attempt, deltas });
                    inputs.push_back(Input::ResponseEnded { inference, attempt });
                }
                Effect::RunTool { call, .. } => {
                    counted.given += found.len();
                    let settled = Settled::Ok { text: found.to_owned(), bytes: found.len() as u64 };
                    inputs.push_back(Input::ToolSettled { call, settled });
                }
                Effect::Trace(event) => counted.told += event.to_json().to_text().len(),
                Effect::Done { result } => counted.told += result.to_json().to_text().len(),
                _ => {}
            }
        }
    }
    counted
}

#[test]
fn the_work_of_a_pass_is_bounded_and_linear() {
    let _alone = super::alone();
    let mut broken = Vec::new();
    let policy = Policy::default().allow(Some(vec!["f".to_owned()])).max_tool_calls(100);
    for (name, make) in SAID {
        let measured = |n: usize| {
            let text = make(n);
            let done = work(|| parse_tool_request(&text, &policy));
            Counted { done, given: text.len(), told: 0 }
        };
        bounded(&format!("a request: {name}"), PER_BYTE, &measured, 200, &mut broken);
        let measured = |n: usize| passed(&make(n), "[1]");
        bounded(&format!("a pass with a request: {name}"), PER_BYTE, &measured, 200, &mut broken);
        let measured = |n: usize| {
            let text = make(n);
            Counted { done: work(|| lint_prompt(&text)), given: text.len(), told: 0 }
        };
        bounded(&format!("a prompt: {name}"), PER_BYTE, &measured, 500, &mut broken);
    }
    let asks = r#"{"tool_calls":[{"tool_name":"f","params":{},"reason":"r"}]}"#;
    for (name, found) in FOUND {
        let measured = |n: usize| passed(asks, &found(n));
        bounded(&format!("a pass that finds {name}"), PER_BYTE, &measured, 500, &mut broken);
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// A history of calls, then as many calls that are judged.
fn guarded(n: usize, call: &dyn Fn(usize) -> (String, String)) -> Counted {
    let options = json!({ "repeatBy": "result", "maxCalls": n + n / 2 }).to_string();
    let past = list(n, |at| {
        let (name, signature) = call(at);
        json!({ "name": name, "signatures": [signature], "result": (at % 3).to_string() })
    });
    let next: Vec<_> = (0..n)
        .map(|at| {
            let (name, signature) = call(at);
            json!({ "name": name, "signatures": [signature], "clear": at % 4 > 0 }).to_string()
        })
        .collect();
    let past = past.to_string();
    let mut counted = Counted {
        given: past.len() + next.iter().map(String::len).sum::<usize>(),
        ..Counted::default()
    };
    let mut guard = PolicyGuard::new(&Json::parse_str(&options).unwrap()).unwrap();
    counted.done += work(|| guard.record(Json::parse_str(&past).unwrap()).unwrap());
    for call in &next {
        let mut text = String::new();
        counted.done += work(|| {
            let verdict = guard.judge(Json::parse_str(call).unwrap()).unwrap();
            text = verdict.to_json().to_text();
        });
        counted.told += text.len();
    }
    counted
}

#[test]
fn the_work_of_a_guard_is_bounded_and_linear() {
    let _alone = super::alone();
    let mut broken = Vec::new();
    let shapes: [(&str, &dyn Fn(usize) -> (String, String)); 3] = [
        ("calls of many tools", &|at| (format!("tool{at}"), format!("s{at}"))),
        ("calls of one tool", &|at| ("tool".to_owned(), format!("s{at}"))),
        ("equal calls", &|_| ("tool".to_owned(), "s".to_owned())),
    ];
    for (name, call) in shapes {
        bounded(name, PER_BYTE, &|n| guarded(n, call), 500, &mut broken);
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
