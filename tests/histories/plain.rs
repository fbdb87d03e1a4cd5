//! Plain histories: what the small reader takes is what the whole reader makes of it, without a
//! repair; and a turn with it goes on alike.

use std::fs;

use serde_json::{Value, json};
use turnlock::history::{HistoryOptions, normalize};
use turnlock::json::Json;
use turnlock::stream::{Delta, FinishReason};
use turnlock::tool::{Registry, ToolSpec};
use turnlock::turn::shell::Unkept;
use turnlock::turn::{Effect, Input, Mode, Policy, ResultsAs, Settled, Turn, TurnOptions, Verdict};
use turnlock::{Dialect, Next};

use crate::common::{Random, repo};
use crate::elements;
use crate::random::{seeds, spoil, strange};

fn options(history: &Value, dialect: Dialect) -> TurnOptions {
    let text = history.to_string();
    let messages = elements(&text).into_iter().map(Json::into_owned).collect();
    TurnOptions::new(dialect, "r", "0123456789abcdef0123456789abcdef", messages)
}

/// The small turn with this history, if it takes it; its first request is then compared.
fn taken(history: &Value, dialect: Dialect) -> bool {
    let Ok(Some(mut turn)) = Unkept::new(options(history, dialect)) else { return false };
    turn.handle(0, Input::Start);
    let sent = loop {
        match turn.poll() {
            Next::Effect(Effect::Fetch { request, .. }) => break request.body,
            Next::Effect(_) => {}
            Next::Wait { .. } => panic!("no request: {history}"),
        }
    };
    let text = history.to_string();
    let normalized = normalize(elements(&text), &HistoryOptions::new(dialect)).unwrap();
    let name = dialect.name();
    assert_eq!(normalized.repairs, [], "{name}: {history}");
    let wanted = Json::Array(normalized.messages).to_text();
    assert_eq!(sent.get("messages").unwrap().to_text(), wanted, "{name}: {history}");
    true
}

fn text(random: &mut Random) -> String {
    let texts = ["hi", " x\n", "ü漢字🎉 \"quoted\"", "{}", "\u{a0}y"];
    let blank = ["", " \n"];
    match random.below(25) {
        0 => blank[random.below(blank.len())].to_owned(),
        _ => texts[random.below(texts.len())].to_owned(),
    }
}

fn content(random: &mut Random) -> Value {
    let text = text(random);
    match random.below(12) {
        0 => json!([{ "type": "text", "text": text }]),
        1 => json!([{ "type": "text", "text": text }, { "text": "two", "type": "text" }]),
        2 => json!([]),
        _ => json!(text),
    }
}

/// Messages with a role, most of them well-formed; members in any order.
fn history(random: &mut Random) -> Vec<Value> {
    let mut all = Vec::new();
    // Hosts keep one form, but a history may be mixed.
    let mixed = random.below(6) == 0;
    let camel = random.below(2) == 0;
    let mut calls = 0;
    for _ in 0..1 + random.below(5) {
        match random.below(8) {
            0 => all.push(json!({ "content": content(random), "role": "system" })),
            1 => all.push(json!({ "role": "developer", "content": content(random) })),
            2..=4 => all.push(json!({ "role": "user", "content": content(random) })),
            5 => all.push(json!({ "role": "assistant", "content": content(random) })),
            _ => {
                let camel = if mixed { random.below(2) == 0 } else { camel };
                let made: Vec<(String, Value)> = (0..1 + random.below(3))
                    .map(|_| {
                        calls += usize::from(random.below(15) > 0);
                        call(random, calls, camel)
                    })
                    .collect();
                let mut said = json!({ "role": "assistant" });
                if random.below(4) > 0 {
                    said["content"] = content(random);
                } else if random.below(2) == 0 {
                    said["content"] = Value::Null;
                }
                let listed: Vec<Value> = made.iter().map(|(_, call)| call.clone()).collect();
                said[if camel { "toolCalls" } else { "tool_calls" }] = json!(listed);
                match random.below(24) {
                    0 | 1 => said["reasoning_content"] = json!("hm"),
                    2 => said["reasoning_content"] = json!(""),
                    3 => {
                        said["reasoning"] = json!({ "dialect": "deepseek", "model": "m",
                            "members": { "reasoning_content": "hm", "role": "system" } });
                    }
                    4 => {
                        said["reasoning"] = json!({ "members": { "reasoning": "hm" },
                            "calls": { made[0].0.clone(): { "extra_content": { "x": 1 } } } });
                    }
                    5 => said["reasoning"] = json!("hm"),
                    _ => {}
                }
                all.push(said);
                let key = if camel { "toolCallId" } else { "tool_call_id" };
                for (id, _) in made {
                    if random.below(30) > 0 {
                        let content = content(random);
                        let mut result = json!({ "role": "tool", key: id, "content": content });
                        if random.below(if camel { 2 } else { 12 }) == 0 {
                            result["name"] = json!("f");
                        }
                        if random.below(if camel { 4 } else { 20 }) == 0 {
                            let flags =
                                [json!(true), json!("true"), json!(1), json!(0), json!("no")];
                            result["isError"] = flags[random.below(flags.len())].clone();
                        }
                        if random.below(8) == 0 {
                            // A result of MCP, as a client stores it.
                            let block = json!({ "type": "text", "text": text(random) });
                            let failed =
                                json!({ "content": [block], "isError": random.below(3) > 0 });
                            result["content"] = json!(failed.to_string());
                        }
                        all.push(result);
                    }
                }
            }
        }
        if random.below(40) == 0 && all.len() > 1 {
            let at = random.below(all.len() - 1);
            all.swap(at, at + 1);
        }
    }
    all
}

fn call(random: &mut Random, n: usize, camel: bool) -> (String, Value) {
    let id = match random.below(20) {
        0 => String::new(),
        1 => "x".repeat(39 + random.below(3)),
        2 => format!("é:{n}"),
        _ => format!("call_{n}"),
    };
    let names = ["search", "read_file", "f", "search", "my.tool", ""];
    let most = if random.below(6) == 0 { names.len() } else { 4 };
    let name = names[random.below(most)];
    let value = if random.below(15) == 0 { json!([1]) } else { json!({ "n": n, "x": 1.50 }) };
    let arguments = match random.below(12) {
        0 => value,
        1 => json!(""),
        2 => json!("{\"n\": "),
        3 => json!("{\"a\":1,\"a\":2}"),
        _ if camel && random.below(2) == 0 => value,
        _ => json!(format!(" {value}")),
    };
    let made = if camel {
        let key = if random.below(2) == 0 { "args" } else { "arguments" };
        json!({ "id": id, "name": name, key: arguments })
    } else {
        json!({ "function": { "arguments": arguments, "name": name }, "type": "function", "id": id })
    };
    (id, made)
}

#[test]
fn what_is_taken_is_what_the_whole_reader_makes_of_it() {
    let (mut all, mut plain) = (0, 0);
    for seed in 1..=4 * seeds() {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut history = history(&mut random);
        if random.below(4) == 0 {
            let at = random.below(history.len());
            spoil(&mut history[at], &mut random, &strange());
        }
        let history = Value::Array(history);
        for dialect in Dialect::ALL {
            let was = taken(&history, dialect);
            assert!(!was || Unkept::is_plain(dialect), "{}", dialect.name());
            all += usize::from(Unkept::is_plain(dialect));
            plain += usize::from(was);
        }
    }
    assert!(plain > all / 6 && plain < all * 3 / 4, "{plain} of {all}");
}

/// Providers with neighbours to mind, and those whose responses are not decoded, are not among them.
#[test]
fn providers_that_take_plain_histories() {
    let is_plain = |name| Unkept::is_plain(Dialect::parse(name).unwrap());
    assert!(["openai-chat", "deepseek", "groq", "xai"].into_iter().all(is_plain));
    let others = ["anthropic", "mistral", "chat-template", "ollama", "cohere", "openai-responses"];
    assert!(!others.into_iter().any(is_plain));
}

/// What only looks like a text or a call of the wire is left to the whole reader.
#[test]
fn blocks_and_calls_of_another_type_are_not_taken() {
    let asked = json!({ "role": "user", "content": "u" });
    let ours = json!({ "id": "a", "name": "f", "args": {} });
    let call = json!({ "id": "a", "type": "mine", "function": { "name": "f", "arguments": "{}" } });
    for history in [
        json!([{ "role": "user", "content": [{ "type": "mine", "text": "u" }] }]),
        json!([{ "role": "user", "content": { "text": "u" } }]),
        json!([asked, { "role": "assistant", "content": 7 }, asked]),
        // Nothing need be said beside a call, but what is said has to be read.
        json!([asked, { "role": "assistant", "content": 7, "toolCalls": [ours] },
            { "role": "tool", "toolCallId": "a", "content": "r" }, asked]),
        json!([asked, { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "a", "content": "r" }, asked]),
    ] {
        assert!(!taken(&history, Dialect::OpenAiChat), "{history}");
    }
}

/// A first message, what a turn added, and the next message: none of it may cost a page more.
#[test]
fn common_histories_are_taken() {
    let asked = json!({ "role": "user", "content": "cats?" });
    let system = json!({ "role": "system", "content": "Be brief." });
    let said = json!({ "role": "assistant", "content": "Two." });
    let function = json!({ "name": "search", "arguments": "{\"q\":\"cats\"}" });
    let chat = json!({ "role": "assistant", "content": null,
        "tool_calls": [{ "id": "a", "type": "function", "function": function }] });
    let mut thought = chat.clone();
    thought["reasoning_content"] = json!("hm");
    let camel = json!({ "role": "assistant", "content": "",
        "toolCalls": [{ "id": "a", "name": "search", "args": { "q": "cats" } }] });
    let mut recorded = camel.clone();
    recorded["reasoning"] = json!({ "dialect": "deepseek", "model": "m",
        "members": { "reasoning_content": "hm" } });
    let result = json!({ "role": "tool", "tool_call_id": "a", "content": "[]" });
    let ours = json!({ "role": "tool", "content": "[]", "toolCallId": "a", "name": "search",
        "isError": true });
    for history in [
        json!([asked]),
        json!([system, asked]),
        json!([asked, said, asked]),
        json!([asked, chat, result, said, asked]),
        json!([asked, thought, result, said, asked]),
        json!([system, asked, camel, ours, said, asked]),
        json!([system, asked, recorded, ours, said, asked]),
    ] {
        let thinks = history.to_string().contains("reasoning_content");
        let calls = history.to_string().contains("tool_calls");
        for name in ["openai-chat", "deepseek", "groq", "xai"] {
            // DeepSeek wants reasoning beside a call, no other one takes it in this form.
            let wanted = !calls || thinks == (name == "deepseek");
            let is_taken = taken(&history, Dialect::parse(name).unwrap());
            assert_eq!(is_taken, wanted, "{name}: {history}");
        }
    }
    // Of a provider that knows the role; others are told it as the system's.
    let told = json!([{ "role": "developer", "content": "Be brief." }, asked]);
    assert!(taken(&told, Dialect::OpenAiChat) && !taken(&told, Dialect::DeepSeek));
    let listed = json!([{ "role": "user", "content": [{ "type": "text", "text": "cats?" }] }]);
    assert!(taken(&listed, Dialect::OpenAiChat));
}

/// Every list of messages with a role in the recorded data.
#[test]
fn recorded_histories() {
    let mut found = Vec::new();
    collect(&repo().join("tests/data"), &mut found);
    collect(&repo().join("tests/scenarios"), &mut found);
    let mut plain = 0;
    for history in &found {
        for dialect in Dialect::ALL {
            plain += usize::from(taken(history, dialect));
        }
    }
    assert!(found.len() > 100 && plain > 60, "{plain} of {}", found.len());
}

fn collect(path: &std::path::Path, found: &mut Vec<Value>) {
    if path.is_dir() {
        let inner = fs::read_dir(path).unwrap();
        inner.for_each(|entry| collect(&entry.unwrap().path(), found));
        return;
    }
    let Ok(text) = fs::read_to_string(path) else { return };
    match path.extension().and_then(|end| end.to_str()) {
        Some("json") => serde_json::from_str(&text).iter().for_each(|value| lists(value, found)),
        Some("jsonl") => {
            let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            lines.for_each(|value: Value| lists(&value, found));
        }
        _ => {}
    }
}

fn lists(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Array(items) => {
            if !items.is_empty() && items.iter().all(|item| item["role"].is_string()) {
                found.push(value.clone());
            }
            items.iter().for_each(|item| lists(item, found));
        }
        Value::Object(members) => members.values().for_each(|value| lists(value, found)),
        _ => {}
    }
}

/// Ids and names that the model repeats or makes up are sent alike, as are calls without a result.
#[test]
fn turns_with_it_go_on_alike() {
    let mut compared = 0;
    for seed in 1..=seeds() {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let history = Value::Array(history(&mut random));
        let dialect = Dialect::ALL[random.below(Dialect::ALL.len())];
        let mut policy = Policy::default().max_tools(3);
        policy = policy.results_as([ResultsAs::Native, ResultsAs::Box][random.below(2)]);
        let tools = ["search", "f"].map(|name| ToolSpec::new(name).read_only(true));
        let options = options(&history, dialect)
            .policy(policy)
            .mode([Mode::TwoStage, Mode::Unified][random.below(2)])
            .tools(Registry::new(tools.to_vec()).unwrap());
        let Ok(Some(mut small)) = Unkept::new(options.clone()) else { continue };
        let mut whole = Turn::new(options).unwrap();
        compared += 1;
        let mut facts = vec![Input::Start];
        while let Some(fact) = facts.pop() {
            small.handle(1, fact.clone());
            whole.handle(1, fact);
            loop {
                let (one, other) = (small.poll(), whole.poll());
                assert_eq!(format!("{one:?}"), format!("{other:?}"), "{history}");
                match one {
                    Next::Wait { .. } => break,
                    Next::Effect(Effect::Fetch { inference, attempt, .. }) => {
                        let deltas = response(&mut random);
                        facts.insert(0, Input::Deltas { inference, attempt, deltas });
                        facts.insert(0, Input::ResponseEnded { inference, attempt });
                    }
                    Next::Effect(Effect::Check { call, .. }) => {
                        let verdict = Verdict::Valid { args: None, action: None, approval: false };
                        facts.insert(0, Input::Checked { call, verdict });
                    }
                    Next::Effect(Effect::RunTool { call, .. }) => {
                        let settled = Settled::Ok { text: "[]".to_owned(), bytes: 2 };
                        facts.insert(0, Input::ToolSettled { call, settled });
                    }
                    Next::Effect(_) => {}
                }
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

fn response(random: &mut Random) -> Vec<Delta> {
    let mut deltas = Vec::new();
    if random.below(3) == 0 {
        deltas.push(Delta::Reasoning { text: "hm".to_owned(), signature: None });
    }
    if random.below(2) == 0 {
        deltas.push(Delta::Text(text(random)));
    }
    let calls = random.below(3);
    for index in 0..calls {
        let ids = ["call_1", "call_2", "", "same", "new"];
        let id = match random.below(6) {
            0 => "y".repeat(50),
            n => ids[n - 1].to_owned(),
        };
        let names = ["search", "f", "f", "my.tool", ""];
        let (name, args) = (names[random.below(5)].to_owned(), ["{}", "{\"n\":1}", "{"]);
        let text = args[random.below(3)].to_owned();
        let index = u32::try_from(index).unwrap();
        deltas.push(Delta::ToolCallStart { index, id, name });
        deltas.push(Delta::ToolCallArguments { index, text });
        deltas.push(Delta::ToolCallEnd { index });
    }
    let reason = if calls > 0 { FinishReason::ToolCalls } else { FinishReason::Stop };
    deltas.push(Delta::Finish { reason, raw: String::new() });
    deltas
}
