//! Random histories, in all shapes and mixed, against what must hold of every one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::history::{History, HistoryOptions, Repair, Update, normalize};
use turnlock::json::Json;

use crate::common::Random;
use crate::{elements, made, unsettled, value};

/// A history, and what is known of it.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) elements: Vec<Value>,
    /// Texts of the user, in order.
    said: Vec<String>,
    /// Whether an id was used twice, so that what answers what is a matter of opinion.
    again: bool,
}

struct Maker {
    random: Random,
    made: Made,
    texts: usize,
    calls: usize,
    ids: Vec<String>,
}

impl Maker {
    fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        let ends = ["", " ", "\n", " ü漢字🎉", " \"quoted\" \\"];
        format!("T{}.{}", self.texts, ends[self.random.below(ends.len())])
    }

    /// An id, new or (rarely) one that was used before.
    fn id(&mut self) -> String {
        if !self.ids.is_empty() && self.one_in(12) {
            self.made.again = true;
            return self.ids[self.random.below(self.ids.len())].clone();
        }
        let n = self.calls;
        let id = match self.random.below(6) {
            0 => format!("call_{n}"),
            1 => format!("functions.f:{n}"),
            2 => format!("a1b2c3{n:03}"),
            3 => format!("toolu_{}_{n}", "x".repeat(self.random.below(80))),
            4 => format!("é{n}"),
            _ => format!("{n}"),
        };
        self.ids.push(id.clone());
        id
    }

    /// A call that says its number: `(id, name, arguments, number)`.
    fn call(&mut self) -> (String, String, Value, usize) {
        self.calls += 1;
        let names = ["search", "read_file", "my.tool", "näme", "f"];
        let name = names[self.random.below(names.len())].to_owned();
        let n = self.calls;
        (self.id(), name, json!({ "n": n }), n)
    }

    fn user(&mut self) {
        let text = self.text();
        self.made.said.push(text.clone());
        let element = match self.random.below(8) {
            0 => json!({ "type": "user_message", "text": text }),
            1 => json!({ "id": "m", "role": "user", "parts": [{ "type": "text", "text": text }] }),
            2 => json!({ "type": "human", "content": text }),
            3 => json!({ "role": "user", "content": [{ "type": "text", "text": text }] }),
            4 => json!({ "role": "user", "parts": [{ "text": text }] }),
            5 => json!({ "role": "user", "content": [{ "text": text }] }),
            6 => json!({ "type": "message", "role": "user",
                         "content": [{ "type": "input_text", "text": text }] }),
            _ => json!({ "role": "user", "content": text }),
        };
        self.made.elements.push(element);
    }

    fn assistant(&mut self) {
        let text = if self.one_in(8) { "  ".to_owned() } else { self.text() };
        let element = match self.random.below(7) {
            0 => json!({ "type": "text", "text": text }),
            1 => {
                json!({ "id": "m", "role": "assistant", "parts": [{ "type": "text", "text": text }] })
            }
            2 => json!({ "type": "ai", "content": text }),
            3 => json!({ "role": "model", "parts": [{ "text": text }] }),
            4 => json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": "t", "signature": "c2ln" },
                { "type": "text", "text": text }] }),
            5 => json!({ "role": "assistant", "content": text, "reasoning_content": "hm" }),
            _ => json!({ "role": "assistant", "content": text }),
        };
        self.made.elements.push(element);
    }

    /// Calls and their results, some late, early, twice or never.
    fn exchange(&mut self) {
        let calls: Vec<_> = (0..1 + self.random.below(3)).map(|_| self.call()).collect();
        let shape = self.random.below(7);
        let mut starts = match shape {
            0 => calls
                .iter()
                .map(|(id, name, args, _)| {
                    json!({ "type": "tool_call_start", "toolCallId": id, "toolName": name, "args": args })
                })
                .collect(),
            1 => vec![json!({ "role": "assistant", "content": "", "toolCalls":
                calls.iter().map(|(id, name, args, _)| json!({ "toolCallId": id, "toolName": name, "args": args })).collect::<Vec<_>>() })],
            2 => vec![json!({ "role": "assistant", "content":
                calls.iter().map(|(id, name, args, _)| json!({ "type": "tool_use", "id": id, "name": name, "input": args })).collect::<Vec<_>>() })],
            3 => vec![json!({ "type": "ai", "content": "", "tool_calls":
                calls.iter().map(|(id, name, args, _)| json!({ "id": id, "name": name, "args": args, "type": "tool_call" })).collect::<Vec<_>>() })],
            4 => calls
                .iter()
                .map(|(id, name, args, _)| {
                    json!({ "type": "function_call", "call_id": id, "name": name, "arguments": args.to_string() })
                })
                .collect(),
            5 => vec![json!({ "role": "assistant", "content":
                calls.iter().map(|(id, name, args, _)| json!({ "type": "tool-call", "toolCallId": id, "toolName": name, "input": args })).collect::<Vec<_>>() })],
            _ => vec![json!({ "role": "assistant", "content": null, "tool_calls":
                calls.iter().map(|(id, name, args, _)| json!({ "id": id, "type": "function",
                    "function": { "name": name, "arguments": args.to_string() } })).collect::<Vec<_>>() })],
        };
        let mut results = Vec::new();
        for (id, name, _, n) in &calls {
            let copies = [1, 1, 1, 1, 0, 2][self.random.below(6)];
            for _ in 0..copies {
                let text = format!("R{n}.");
                let content = match self.random.below(5) {
                    0 => json!({ "r": text }),
                    1 => json!([text]),
                    _ => json!(text),
                };
                results.push(match self.random.below(6) {
                    0 => json!({ "type": "tool_call_result", "toolCallId": id, "toolName": name, "result": content }),
                    1 => json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": text }] }),
                    2 => json!({ "type": "tool", "tool_call_id": id, "content": text }),
                    3 => json!({ "type": "function_call_output", "call_id": id, "output": text }),
                    4 => json!({ "role": "tool", "content": [{ "type": "tool-result", "toolCallId": id, "toolName": name,
                                 "output": { "type": "text", "value": text } }] }),
                    _ => json!({ "role": "tool", "tool_call_id": id, "content": text }),
                });
            }
        }
        if self.one_in(3) {
            results.reverse();
        }
        if self.one_in(8) && !results.is_empty() {
            starts.insert(0, results.remove(0));
        }
        self.made.elements.append(&mut starts);
        for result in results {
            if self.one_in(8) {
                self.user();
            }
            self.made.elements.push(result);
        }
    }

    /// Events of a turn of ours: texts that may be void later, calls and results one by one.
    fn turn(&mut self) {
        let request = format!("r{}", self.random.below(2));
        let mut open = Vec::new();
        for seq in 1..2 + self.random.below(8) {
            let phase = ["tool_phase", "action_phase"][self.random.below(2)];
            let mut event = json!({ "phase": phase, "requestId": request,
                "toolBatchId": self.random.below(2), "seq": seq });
            let own = match self.random.below(6) {
                0 => json!({ "type": "phase_start", "resumed": true,
                    "voidFrom": 1 + self.random.below(seq) }),
                1 => {
                    let (id, name, args, n) = self.call();
                    let call = json!([{ "id": id, "name": name, "args": args }]);
                    open.push((id, name, n));
                    json!({ "type": "tool_calls", "toolCalls": call })
                }
                2 if !open.is_empty() => {
                    let (id, name, n) = open.remove(self.random.below(open.len()));
                    json!({ "type": "tool_results", "toolResults": [{ "toolCallId": id,
                        "name": name, "status": "ok", "result": { "r": format!("R{n}.") } }] })
                }
                3 => json!({ "type": "tool_progress", "toolCallId": "x", "data": 1 }),
                _ => json!({ "type": "text", "chunk": format!("T{}.", self.texts) }),
            };
            event.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
            self.made.elements.push(event);
        }
    }

    fn other(&mut self) {
        let element = match self.random.below(6) {
            0 => json!({ "role": "system", "content": "S" }),
            1 => json!({ "role": "developer", "content": "D" }),
            2 => {
                json!({ "role": "tool", "tool_call_id": format!("orphan{}", self.texts), "content": "R0." })
            }
            3 => json!({ "role": "user", "content": "" }),
            4 => json!({ "id": "m", "role": "assistant", "parts": [{ "type": "step-start" },
                { "type": "tool-f", "toolCallId": format!("p{}", self.texts), "state": "input-streaming", "input": {} }] }),
            _ => json!({ "type": "RUN_STARTED" }),
        };
        self.made.elements.push(element);
    }
}

pub(crate) fn history(seed: u64) -> Made {
    let mut maker = Maker {
        random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        made: Made::default(),
        texts: 0,
        calls: 0,
        ids: Vec::new(),
    };
    for _ in 0..maker.random.below(12) {
        match maker.random.below(9) {
            0..=2 => maker.user(),
            3 => maker.assistant(),
            6 => maker.turn(),
            4 | 5 => maker.exchange(),
            _ => maker.other(),
        }
    }
    maker.made
}

/// What a request says, whatever its wire: texts by role, and calls and results in their order.
#[derive(Debug, PartialEq)]
enum Said {
    Text(&'static str, String),
    Call(String, String),
    Result(String, String),
}

fn read(message: &Value, out: &mut Vec<Said>) {
    let string = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let role = match message["role"].as_str().or_else(|| message["type"].as_str()).unwrap_or("") {
        "user" | "human" => "user",
        "assistant" | "ai" | "model" => "assistant",
        "function_call" => {
            out.push(Said::Call(string(&message["call_id"]), string(&message["arguments"])));
            return;
        }
        "function_call_output" => {
            out.push(Said::Result(string(&message["call_id"]), string(&message["output"])));
            return;
        }
        "tool" => {
            out.push(Said::Result(string(&message["tool_call_id"]), string(&message["content"])));
            return;
        }
        _ => "system",
    };
    let content = if message["parts"].is_array() { &message["parts"] } else { &message["content"] };
    match content {
        Value::String(text) if !text.is_empty() => out.push(Said::Text(role, text.clone())),
        Value::Array(blocks) => {
            for block in blocks {
                let call =
                    [&block["toolUse"], &block["functionCall"]].into_iter().find(|v| v.is_object());
                let result = [&block["toolResult"], &block["functionResponse"]]
                    .into_iter()
                    .find(|v| v.is_object());
                if block["type"] == "tool_use" {
                    out.push(Said::Call(string(&block["id"]), block["input"].to_string()));
                } else if block["type"] == "tool_result" {
                    out.push(Said::Result(
                        string(&block["tool_use_id"]),
                        string(&block["content"]),
                    ));
                } else if let Some(call) = call {
                    let args =
                        if call["input"].is_object() { &call["input"] } else { &call["args"] };
                    out.push(Said::Call(string(&call["toolUseId"]), args.to_string()));
                } else if let Some(result) = result {
                    let content = if result["content"].is_array() {
                        &result["content"]
                    } else {
                        &result["response"]
                    };
                    out.push(Said::Result(string(&result["toolUseId"]), content.to_string()));
                } else if let Some(text) = block["text"].as_str() {
                    out.push(Said::Text(role, text.to_owned()));
                }
            }
        }
        _ => {}
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let args = if call["function"].is_object() {
            &call["function"]["arguments"]
        } else {
            &call["args"]
        };
        out.push(Said::Call(string(&call["id"]), string(args)));
    }
}

fn check(made: &Made, dialect: Dialect) {
    let text = Value::Array(made.elements.clone()).to_string();
    let normalized = self::made(&text, &HistoryOptions::new(dialect));
    let name = dialect.name();
    let shown =
        || format!("{name}: {text}\n{}", Json::Array(normalized.messages.clone()).to_text());
    assert_eq!(unsettled(&normalized, dialect), None, "{}", shown());

    let mut said = Vec::new();
    normalized.messages.iter().for_each(|message| read(&value(message), &mut said));

    // What the user said is there, in order.
    let all: Vec<&str> = said
        .iter()
        .filter_map(|one| match one {
            Said::Text("user", text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let all = all.join("\n");
    let mut rest = all.as_str();
    for text in &made.said {
        let (_, behind) =
            rest.split_once(text.as_str()).unwrap_or_else(|| panic!("lost {text}: {}", shown()));
        rest = behind;
    }

    // Every call has one result, directly behind the calls of its message, in their order.
    let mut waiting: Vec<(String, String)> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut answering = false;
    for one in &said {
        match one {
            Said::Call(id, args) => {
                assert!(!answering || waiting.is_empty(), "{}", shown());
                answering = false;
                assert!(
                    dialect == Dialect::Gemini || ids.insert(id.clone()),
                    "{id} twice: {}",
                    shown()
                );
                waiting.push((id.clone(), args.clone()));
            }
            // A Responses input may go on from calls that only the provider knows.
            Said::Result(..)
                if dialect == Dialect::OpenAiResponses && ids.is_empty() && waiting.is_empty() => {}
            Said::Result(id, content) => {
                answering = true;
                assert!(!waiting.is_empty(), "a result too many: {}", shown());
                let (call, args) = waiting.remove(0);
                assert_eq!(*id, call, "{}", shown());
                let number: Value = serde_json::from_str(&args).unwrap();
                let own = format!("R{}.", number["n"]);
                let interrupted = content.contains("interrupted");
                assert!(
                    made.again || interrupted || content.contains(&own),
                    "{own} {content}: {}",
                    shown()
                );
            }
            // Responses lets an item stand between calls and outputs.
            Said::Text(role, _) => {
                let between = *role == "assistant" && !answering;
                assert!(waiting.is_empty() || between, "unanswered: {}", shown());
            }
        }
    }
    assert!(waiting.is_empty(), "unanswered at the end: {}", shown());
}

pub(crate) fn seeds() -> u64 {
    std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1500)
}

#[test]
fn every_random_history_is_repaired() {
    for seed in 1..=seeds() {
        let made = history(seed);
        for dialect in Dialect::ALL {
            check(&made, dialect);
        }
    }
}

fn counted(repairs: &[Repair]) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for repair in repairs {
        *all.entry(format!("{repair:?}")).or_default() += 1;
    }
    all
}

/// Takes the messages of an update.
fn apply(messages: &mut Vec<Json<'static>>, update: &Update<'static>) {
    let before = messages.get(update.keep).cloned();
    messages.truncate(update.keep);
    messages.extend(update.messages.iter().cloned());
    let Some(list) = &update.grows else { return };
    let Json::Object(members) = &mut messages[update.keep] else {
        panic!("a message is an object")
    };
    let now = &mut members.iter_mut().find(|(key, _)| key == list).unwrap().1;
    *now = behind(before.unwrap().get(list).unwrap(), now);
}

/// A list or a text, and what was added to it.
fn behind(before: &Json<'static>, added: &Json<'static>) -> Json<'static> {
    match (before, added) {
        (Json::Array(before), Json::Array(added)) => {
            Json::Array([before.as_slice(), added.as_slice()].concat())
        }
        (Json::String(before), Json::String(added)) => format!("{before}{added}").into(),
        _ => panic!("{before:?} became {added:?}"),
    }
}

/// Changes a system prompt as the update says.
fn instruct(system: &mut Option<Json<'static>>, update: &Update<'static>) {
    let before = std::mem::replace(system, update.system.clone());
    let list = |all: &Json<'static>| all.get("parts").unwrap_or(all).as_array().unwrap().to_vec();
    let Some(before) = before.filter(|_| update.keep_system > 0) else { return };
    let mut all = list(&before);
    all.truncate(update.keep_system);
    all.extend(system.as_ref().map(list).unwrap_or_default());
    *system = Some(match before {
        Json::Array(_) => Json::Array(all),
        _ => Json::Object(vec![("parts".into(), Json::Array(all))]),
    });
}

/// What crosses to a host that asks for a request after each element grows as the history does, also
/// where all elements become one message.
#[test]
fn what_a_growing_history_tells_is_linear() {
    let elements: [fn(usize) -> Value; 9] = [
        |at| json!({ "role": "user", "content": format!("question {at}") }),
        |at| json!({ "role": "assistant", "content": format!("answer {at}") }),
        |at| json!({ "type": "text", "id": at.to_string(), "text": format!("piece {at}") }),
        |at| {
            json!({ "role": "user", "content": [
            { "type": "image_url", "image_url": { "url": format!("https://example.com/{at}") } },
        ] })
        },
        |at| json!({ "role": "system", "content": format!("rule {at}") }),
        |at| match at % 4 {
            0 => json!({ "role": "user", "content": [
                { "type": "image_url", "image_url": { "url": format!("https://example.com/{at}") } },
            ] }),
            _ => json!({ "role": "user", "content": format!("question {at}") }),
        },
        |at| match at % 2 {
            0 => json!({ "type": "function_call", "call_id": format!("c{at}"), "name": "f" }),
            _ => json!({ "role": "tool", "tool_call_id": format!("c{}", at - 1), "content": "r" }),
        },
        |at| match at % 3 {
            0 => json!({ "role": "user", "content": format!("question {at}") }),
            1 => json!({ "type": "reasoning", "id": format!("rs_{at}"), "summary": [] }),
            _ => json!({ "type": "message", "role": "assistant", "id": format!("msg_{at}"),
                "content": [{ "type": "output_text", "text": format!("answer {at}") }] }),
        },
        // What says nothing, behind what does.
        |at| json!([{ "role": "user", "content": format!("question {at}") }, { "type": "status" }]),
    ];
    for dialect in Dialect::ALL {
        for (kind, element) in elements.iter().enumerate() {
            let told = |count: usize| {
                let mut growing = History::new(HistoryOptions::new(dialect));
                let (mut messages, mut system) = (Vec::new(), None);
                let mut told = 0;
                for at in 0..count {
                    let text = match element(at) {
                        list @ Value::Array(_) => list.to_string(),
                        one => json!([one]).to_string(),
                    };
                    growing
                        .append(self::elements(&text).into_iter().map(Json::into_owned))
                        .unwrap();
                    let update = growing.update();
                    told += Json::Array(update.messages.clone()).to_text().len();
                    told += update.system.as_ref().map_or(0, |system| system.to_text().len());
                    apply(&mut messages, &update);
                    instruct(&mut system, &update);
                }
                let whole = growing.normalized();
                assert_eq!((messages, system), (whole.messages, whole.system));
                told
            };
            let (few, many) = (told(100), told(400));
            assert!(many < few * 5, "{} {kind}: {few}, then {many}", dialect.name());
        }
    }
}

/// One element at a time gives what all at once gives, after every one of them.
pub(crate) fn grows(given: &[Value], options: &HistoryOptions, name: &str) {
    let mut growing = History::new(options.clone());
    let (mut messages, mut system) = (Vec::new(), None);
    let (mut read, mut arranged) = (Vec::new(), Vec::new());
    for (at, element) in given.iter().enumerate() {
        let text = json!([element]).to_string();
        growing.append(elements(&text).into_iter().map(Json::into_owned)).unwrap();
        let update = growing.update();
        apply(&mut messages, &update);
        instruct(&mut system, &update);
        read.extend(update.read);
        arranged.truncate(update.keep_arranged);
        arranged.extend(update.arranged);
        let told: Vec<_> = read.iter().chain(&arranged).chain(&update.end).cloned().collect();
        let so_far = Value::Array(given[..=at].to_vec()).to_string();
        let fresh = made(&so_far, options);
        let (got, wanted) = (Json::Array(messages.clone()), Json::Array(fresh.messages));
        assert_eq!(got.to_text(), wanted.to_text(), "{name} {at}: {so_far}");
        assert_eq!(system, fresh.system, "{name} {at}: {so_far}");
        assert_eq!(update.tool_config, fresh.tool_config, "{name} {at}: {so_far}");
        assert_eq!(counted(&told), counted(&fresh.repairs), "{name} {at}: {so_far}");
    }
}

#[test]
fn a_growing_history_is_what_it_would_be_at_once() {
    for seed in 1..=seeds() / 4 {
        let elements = history(seed).elements;
        for dialect in Dialect::ALL {
            let name = format!("{seed} {}", dialect.name());
            grows(&elements, &HistoryOptions::new(dialect), &name);
        }
    }
}

/// Elements with members that are missing, wrong or strange: a typed error or a valid request.
#[test]
fn nothing_that_is_broken_ends_it() {
    let strange = strange();
    let mut random = Random(7);
    let (mut taken, mut refused) = (0, 0);
    for seed in 1..=seeds() {
        let mut elements = history(seed).elements;
        if elements.is_empty() {
            elements.push(strange[random.below(strange.len())].clone());
        }
        for _ in 0..1 + random.below(3) {
            let at = random.below(elements.len());
            spoil(&mut elements[at], &mut random, &strange);
        }
        let text = Value::Array(elements).to_string();
        for dialect in Dialect::ALL {
            match normalize(crate::elements(&text), &HistoryOptions::new(dialect)) {
                Ok(normalized) => {
                    taken += 1;
                    assert_eq!(unsettled(&normalized, dialect), None, "{text}");
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.code(), "message.unknown_shape", "{text}");
                }
            }
        }
    }
    assert!(taken > 1000 && refused > 1000, "{taken} {refused}");
}

pub(crate) fn strange() -> [Value; 12] {
    [
        json!(null),
        json!(true),
        json!(-1.5),
        json!(""),
        json!("x"),
        json!([]),
        json!([null]),
        json!({}),
        json!({ "type": 1 }),
        json!({ "type": "tool_use" }),
        json!([[["deep"]]]),
        json!({ "text": {} }),
    ]
}

pub(crate) fn spoil(value: &mut Value, random: &mut Random, strange: &[Value]) {
    match value {
        Value::Object(members) if !members.is_empty() && random.below(5) > 0 => {
            let at = random.below(members.len());
            let key = members.keys().nth(at).unwrap().clone();
            if random.below(6) == 0 {
                members.remove(&key);
            } else {
                spoil(members.get_mut(&key).unwrap(), random, strange);
            }
        }
        Value::Array(items) if !items.is_empty() && random.below(5) > 0 => {
            let at = random.below(items.len());
            spoil(&mut items[at], random, strange);
        }
        value => *value = strange[random.below(strange.len())].clone(),
    }
}

#[test]
fn as_many_calls_as_a_message_takes_stay_in_it() {
    let started = (0..128).map(|at| {
        json!({ "type": "tool_call_start", "toolCallId": format!("call_{at}"), "toolName": "f", "args": {} })
    });
    let answers = (0..128)
        .map(|at| json!({ "role": "tool", "tool_call_id": format!("call_{at}"), "content": "r" }));
    let asked = [json!({ "role": "user", "content": "Go." })];
    let text = json!(asked.into_iter().chain(started).chain(answers).collect::<Vec<_>>());
    let text = text.to_string();
    let whole = made(&text, &HistoryOptions::new(Dialect::OpenAiChat));
    assert!(whole.repairs.is_empty(), "{:?}", whole.repairs);
    assert_eq!(value(&whole.messages[1])["tool_calls"].as_array().unwrap().len(), 128);
}

/// A message with more calls than its provider takes becomes several, at once or as it grows.
#[test]
fn calls_that_are_too_many_for_a_message_are_in_messages_behind_it() {
    const COUNT: usize = 300;
    let calls: Vec<Value> = (0..COUNT)
        .map(|at| {
            let function = json!({ "name": "f", "arguments": "{}" });
            json!({ "id": format!("call_{at}"), "type": "function", "function": function })
        })
        .collect();
    let events = (0..COUNT).map(
        |at| json!({ "type": "tool_call_start", "toolCallId": format!("call_{at}"), "toolName": "f", "args": {} }),
    );
    let answers: Vec<Value> = (0..COUNT)
        .map(|at| json!({ "role": "tool", "tool_call_id": format!("call_{at}"), "content": at.to_string() }))
        .collect();
    let asked = vec![json!({ "role": "user", "content": "Go on." })];
    let one = json!({ "role": "assistant", "content": "I look.", "tool_calls": calls });
    let inputs = [
        [asked.clone(), vec![one], answers.clone()].concat(),
        [asked, events.collect(), answers].concat(),
    ];
    for dialect in Dialect::ALL {
        let limited =
            !["anthropic", "bedrock", "gemini", "openai-responses"].contains(&dialect.name());
        for input in &inputs {
            let text = json!(input).to_string();
            let whole = made(&text, &HistoryOptions::new(dialect));
            assert_eq!(unsettled(&whole, dialect), None);
            let codes: Vec<_> = whole.repairs.iter().map(|repair| repair.code.name()).collect();
            assert_eq!(codes.contains(&"TOOL_CALLS_TOO_MANY"), limited, "{dialect:?}");
            assert!(!codes.iter().any(|code| code.starts_with("TOOL_RESULT_ORPHAN")));
            if limited {
                let messages: Vec<_> = whole.messages.iter().map(value).collect();
                let calls: Vec<_> = messages
                    .iter()
                    .filter_map(|one| Some(one["tool_calls"].as_array()?.len()))
                    .collect();
                assert_eq!(calls, [128, 128, 44], "{dialect:?}");
                let results = messages
                    .iter()
                    .filter(|one| [&one["role"], &one["type"]].contains(&&json!("tool")));
                let results: Vec<_> = results
                    .map(|one| one["content"].as_str().unwrap().parse::<usize>().unwrap())
                    .collect();
                assert_eq!(results, (0..COUNT).collect::<Vec<_>>(), "{dialect:?}");
            }
            let mut growing = History::new(HistoryOptions::new(dialect));
            let mut messages = Vec::new();
            for element in input {
                let text = json!([element]).to_string();
                growing.append(elements(&text).into_iter().map(Json::into_owned)).unwrap();
                apply(&mut messages, &growing.update());
            }
            assert_eq!(messages, whole.messages, "{dialect:?}, element by element");
        }
    }
}

/// The end of a history that a provider has stored the beginning of: nothing in it lacks a partner.
#[test]
fn the_end_of_a_history_is_a_partial_one() {
    for seed in 1..=seeds() / 5 {
        let whole = Value::Array(history(seed).elements).to_string();
        for dialect in Dialect::ALL {
            let whole = self::made(&whole, &HistoryOptions::new(dialect)).messages;
            let options = HistoryOptions::new(dialect).partial(true);
            for from in 0..whole.len() {
                let end = Json::Array(whole[from..].to_vec());
                let text = end.to_text();
                let made = self::made(&text, &options);
                let name = dialect.name();
                let shown =
                    || format!("seed {seed} {name} from {from}: {text}\n{:?}", made.repairs);
                let items = |all: &[Json<'_>]| {
                    let mut all: Vec<_> = all.iter().map(Json::to_text).collect();
                    if dialect == Dialect::OpenAiResponses {
                        // Outputs may stand in any order, and the calls of one response were parted.
                        all.sort_unstable();
                    }
                    all
                };
                assert_eq!(items(&made.messages), items(&whole[from..]), "{}", shown());
                let mut given = History::new(options.clone());
                given.append(elements(&text)).unwrap();
                assert_eq!(given.violations(), [], "{}", shown());
            }
        }
    }
}
