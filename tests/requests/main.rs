//! The tables of the tool-request pass, played by a simulated host, and what holds in every pass.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

#[path = "../common/mod.rs"]
mod common;
mod lines;
mod parse;
mod random;
mod sim;

use common::Random;
use serde_json::{Value, json};
use sim::Sim;
use turnlock::Next;
use turnlock::planning::{Pass, PassOptions};
use turnlock::turn::{Effect, Input};

fn play(scenario: &Value, dialect: &str, seed: Option<u64>) -> Result<(), String> {
    let mut sim = Sim::new(scenario, dialect, seed.map(Random));
    let result = sim.play().clone();
    sim.replays();
    random::rules(&sim);
    let expect = &scenario["expect"];
    let mut got = json!({
        "fellBack": result["fellBack"], "calls": lines::calls(&result),
        "results": lines::results(&result), "executed": sim.executed,
        "rejected": lines::rejected(&result["rejected"]),
        "notes": lines::rejected(&result["notes"]), "trace": lines::trace(&sim.traces),
        "recorded": lines::recorded(&result["recorded"]),
        "plan": result["plan"], "error": result["error"]["code"], "usage": result["usage"],
    });
    if seed.is_some() {
        // Tools that run together start in the model's order, whatever happens then.
        got["trace"] = lines::trace(&sim.traces).into();
    }
    for (key, want) in expect.as_object().unwrap().iter().filter(|(key, _)| *key != "requests") {
        if got[key] != *want {
            return Err(format!("{key}: wanted\n    {want:#}\n  got\n    {:#}", got[key]));
        }
    }
    let scripted = scenario["model"].as_array().unwrap().len();
    if sim.requests.len() != scripted && expect["error"] != "request.cancelled" {
        return Err(format!("{scripted} requests scripted, {} made", sim.requests.len()));
    }
    for (at, want) in expect["requests"].as_array().into_iter().flatten().enumerate() {
        request(&sim.requests[at], want, at + 1);
    }
    Ok(())
}

fn request(got: &Value, want: &Value, number: usize) {
    let name = |tool: &Value| tool.get("function").unwrap_or(tool)["name"].clone();
    if let Some(tools) = want.get("tools") {
        let offered: Vec<_> = got["tools"].as_array().into_iter().flatten().map(name).collect();
        assert_eq!(Value::from(offered), *tools, "tools of request {number}");
    }
    // What the model reads, whatever its wire is.
    let read = format!("{}\n{}", said(&got["system"]), said(&got["messages"]));
    for part in want["has"].as_array().into_iter().flatten() {
        let part = part.as_str().unwrap();
        assert!(read.contains(part), "request {number} lacks {part}: {read}");
    }
    for part in want["lacks"].as_array().into_iter().flatten() {
        let part = part.as_str().unwrap();
        assert!(!read.contains(part), "request {number} has {part}: {read}");
    }
}

/// All text of a part of a request.
pub fn said(part: &Value) -> String {
    match part {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(said).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => {
            let texts = ["content", "text"].iter().filter_map(|key| members.get(*key));
            texts.map(said).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[test]
fn tables() {
    let scenarios = common::tables("tests/requests");
    assert!(scenarios.len() >= 30, "only {} scenarios", scenarios.len());
    common::play_tables(&scenarios, play);
}

#[test]
fn debug_shows_no_secret() {
    let scenario = json!({});
    let secret = sim::options(&scenario, "openai-chat")["secret"].clone();
    let pass = Sim::new(&scenario, "openai-chat", None).pass;
    assert!(!format!("{pass:?}").contains(secret.as_str().unwrap()));
}

/// Missing ids are made from the input, when recording as when replaying.
#[test]
fn missing_ids_are_made_from_the_input() {
    let options = |input: Value, own: Value| {
        let mut options = json!({ "dialect": "openai-chat", "input": input });
        options.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        options.to_string()
    };
    let run = |input: Value, own: Value| {
        let options = PassOptions::parse(options(input, own).as_bytes())?;
        Ok::<_, turnlock::Error>(Pass::new(options)?.run_id().to_owned())
    };
    let secret = json!({ "secret": "00112233445566778899aabbccddeeff" });
    let live = run(json!({ "bar": 1, "a": 2 }), secret.clone()).unwrap();
    assert_eq!(live, run(json!({ "a": 2, "bar": 1.0 }), json!({ "replay": [] })).unwrap());
    assert_ne!(live, run(json!({ "bar": 2, "a": 2 }), secret.clone()).unwrap());
    let named = json!({ "runId": "r", "secret": secret["secret"] });
    assert_eq!(run(json!({}), named).unwrap(), "r");
    // Only a replay has no randomness of its own.
    assert_eq!(run(json!({}), json!({})).unwrap_err().code(), "options.invalid");
}

#[test]
fn the_allowlist_names_tools() {
    let new = |allow: Value| {
        let mut options =
            sim::options(&json!({ "tools": { "quote": { "readOnly": true } } }), "openai-chat");
        options["policy"] = json!({ "allow": allow });
        PassOptions::parse(options.to_string().as_bytes()).and_then(Pass::new)
    };
    for allow in [Value::Null, json!([]), json!(["quote"])] {
        assert!(new(allow).is_ok());
    }
    for allow in [json!(["quotes"]), json!(["quote", "Quote"])] {
        let error = new(allow).unwrap_err();
        assert_eq!(error.code(), "options.invalid");
        assert!(error.to_string().contains("policy.allow"), "{error}");
    }
}

/// A recorded model that does not have a request fails it with a code of its own, and only once.
#[test]
fn a_request_that_was_not_recorded_ends_a_strict_pass() {
    for (strict, wanted) in [(true, "replay.miss"), (false, "asks for the plan")] {
        let mut options = sim::options(&json!({ "maxRetries": 2 }), "openai-chat");
        options["strict"] = strict.into();
        let options = PassOptions::parse(options.to_string().as_bytes()).unwrap();
        let mut pass = Pass::new(options).unwrap();
        let mut effects = |now, input| {
            pass.handle(now, input);
            let mut all = Vec::new();
            while let Next::Effect(effect) = pass.poll() {
                all.push(effect);
            }
            all
        };
        effects(0, Input::Start);
        let failed = Input::ResponseFailed {
            inference: 1,
            attempt: 1,
            message: "not on the tape".to_owned(),
            thrown: false,
            code: Some("replay.miss".to_owned()),
        };
        let ended = effects(1, failed).into_iter().find_map(|effect| match effect {
            Effect::Done { result } => Some(result.error.unwrap().code.into_owned()),
            Effect::Fetch { inference: 2, attempt: 1, .. } => Some("asks for the plan".to_owned()),
            _ => None,
        });
        assert_eq!(ended.as_deref(), Some(wanted));
    }
}

/// A duration is the time that the call took, and all calls of a pass share one time: a second
/// request has what the first one left.
#[test]
fn calls_share_their_time() {
    let call = |name: &str| json!({ "says": { "tool_calls": [{ "tool_name": name, "params": {}, "reason": "r" }] } });
    let scenario = json!({
        "policy": { "maxIterations": 2, "totalToolMs": 100 },
        "tools": { "slow": { "readOnly": true, "hangs": true, "timeoutMs": 60 },
                   "slower": { "readOnly": true, "hangs": true } },
        "model": [call("slow"), call("slower"), { "says": { "plan": "hold" } }],
    });
    let mut sim = Sim::new(&scenario, "openai-chat", None);
    let result = sim.play().clone();
    let duration = |n: usize| result["toolResults"][n]["duration_ms"].as_u64();
    assert_eq!((duration(0), duration(1)), (Some(60), Some(40)));
    let at: Vec<_> = sim.traces.iter().map(|event| event["atMs"].as_u64().unwrap()).collect();
    assert_eq!(at, [0, 0, 60, 60, 60, 100, 100]);
}

/// The shorter of both limits counts; the defaults are those of the contract.
#[test]
fn a_call_has_its_time() {
    for (policy, own, wanted) in [
        (json!({}), Value::Null, 2_000),
        (json!({}), json!(60_000), 2_000),
        (json!({ "toolTimeoutMs": 30 }), json!(1_000), 30),
        (json!({ "toolTimeoutMs": 30 }), json!(20), 20),
        (json!({ "toolTimeoutMs": 60_000 }), Value::Null, 5_000),
    ] {
        let call = json!({ "tool_name": "slow", "params": {}, "reason": "r" });
        let scenario = json!({
            "policy": policy,
            "tools": { "slow": { "readOnly": true, "hangs": true, "timeoutMs": own } },
            "model": [{ "says": { "tool_calls": [call] } }, { "says": { "plan": "hold" } }],
        });
        let mut sim = Sim::new(&scenario, "openai-chat", None);
        let result = sim.play();
        assert_eq!(result["toolResults"][0]["duration_ms"], wanted, "{policy} {own}");
        // What ended it is said, and the end of all calls is no record of the tool.
        let cut = wanted == 5_000;
        let end = if cut { ", when `totalToolMs` was over" } else { "" };
        let message = format!("no result within {wanted} ms{end}");
        assert_eq!(result["toolResults"][0]["error"]["message"], *message);
        assert_eq!(result["recorded"].as_array().unwrap().is_empty(), cut);
    }
}

/// A host that redacts texts has them whole, and cuts them behind that. What it then shows is what
/// the pass would have cut itself, but for summaries, which are cut as they are.
#[test]
fn what_is_cut_later_is_what_is_cut_at_once() {
    let long = |text: &str| text.repeat(400);
    let call = |name: &str| json!({ "tool_name": name, "params": { "q": long("params ") }, "reason": long("reason ") });
    let mut odd = call("quote");
    odd[long("member")] = 1.into();
    let request = json!({ "tool_calls": [call("quote"), call("ghost"), odd, call(&long("name"))],
                          (long("other")): 1 });
    let direct = |name: &str, args: Value| json!({ "id": "c", "name": name, "args": args });
    let own = |entry: Value| {
        json!({ "tools": { "quote": { "readOnly": true, "returns": { (long("key")): 1 } } },
                "model": [entry, { "says": { "plan": "hold" } }] })
    };
    let mut scenarios = common::tables("tests/requests");
    scenarios.push(own(json!({ "says": request })));
    scenarios.push(own(json!({ "calls": [direct("request_tools", request)] })));
    let calls = [direct(&long("name"), json!({})), direct(&long("other"), json!([]))];
    scenarios.push(own(json!({ "calls": calls })));
    for mut scenario in scenarios {
        let dialect = scenario["dialect"].as_str().unwrap_or("openai-chat").to_owned();
        let play = |scenario: &Value| {
            let mut sim = Sim::new(scenario, &dialect, None);
            let result = sim.play().clone();
            (result, sim.traces)
        };
        let (result, mut traces) = play(&scenario);
        scenario["whole"] = true.into();
        let (later, mut cut) = play(&scenario);
        assert_eq!(later, result, "{}", scenario["name"]);
        for event in traces.iter_mut().chain(&mut cut) {
            let summary = event["result_summary"].take();
            assert!(summary.as_str().unwrap_or_default().len() <= 512, "{summary}");
        }
        assert_eq!(cut, traces, "{}", scenario["name"]);
    }
}

#[test]
fn each_call_has_its_reason() {
    let call =
        |name: &str, reason: &str| json!({ "tool_name": name, "params": {}, "reason": reason });
    let says = |calls: &[Value]| json!({ "says": { "tool_calls": calls } });
    let scenario = json!({
        "policy": { "maxIterations": 2, "maxToolCalls": 3 },
        "tools": { "quote": { "readOnly": true, "returns": 1 },
                   "search": { "readOnly": true, "returns": 2 } },
        "model": [says(&[call("quote", "first"), call("ghost", "second")]),
                  says(&[call("search", "third")]), { "says": { "plan": "hold" } }],
    });
    let mut sim = Sim::new(&scenario, "openai-chat", None);
    let result = sim.play().clone();
    let told = |calls: &Value| -> Vec<String> {
        let one =
            |call: &Value| format!("{} {}", call["tool_name"], call["reason"]).replace('"', "");
        calls.as_array().into_iter().flatten().map(one).collect()
    };
    let wanted = ["quote first", "ghost second", "search third"];
    assert_eq!(told(&result["calls"]), wanted);
    assert_eq!(
        sim.traces.iter().flat_map(|one| told(&one["tool_calls"])).collect::<Vec<_>>(),
        wanted
    );
}

/// Calls that are refused anyway do not make room for more than are read.
#[test]
fn calls_of_a_request_are_limited() {
    for (before, wanted) in [(127, "ok"), (128, "blocked")] {
        let call = |name: &str| json!({ "tool_name": name, "params": {}, "reason": "r" });
        let mut calls = vec![call("ghost"); before];
        calls.push(call("quote"));
        let scenario = json!({
            "tools": { "quote": { "readOnly": true, "returns": 1 } },
            "model": [{ "says": { "tool_calls": calls } }, { "says": { "plan": "hold" } }],
        });
        let mut sim = Sim::new(&scenario, "openai-chat", None);
        let result = sim.play();
        let last = &result["calls"][before];
        assert_eq!(last["status"], wanted);
        assert_eq!(last["refusal"] == "budget", wanted == "blocked");
    }
}

/// The schema of a request, as the contract has it: on the tool-call channel and where the provider
/// constrains an answer.
#[test]
fn the_provider_has_the_schema() {
    let typed = |kind: &str| json!({ "type": kind });
    let call = json!({
        "type": "object", "additionalProperties": false,
        "properties": { "tool_name": typed("string"), "params": typed("object"), "reason": typed("string") },
        "required": ["tool_name", "params", "reason"],
    });
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": { "tool_calls": { "type": "array", "items": call } },
        "required": ["tool_calls"],
    });
    let request = |channel: &str, dialect: &str| {
        let scenario = json!({
            "policy": { "channel": channel },
            "model": [{ "says": { "tool_calls": [] } }, { "says": { "plan": "hold" } }],
        });
        let mut sim = Sim::new(&scenario, dialect, None);
        sim.play();
        sim.requests.swap_remove(0)
    };
    let tool = request("tool_call", "openai-chat")["tools"][0]["function"].clone();
    assert_eq!((&tool["name"], &tool["parameters"]), (&json!("request_tools"), &schema));
    assert!(tool["description"].as_str().unwrap().contains("read-only data"), "{tool}");
    let given = &request("structured", "openai-chat")["response_format"]["json_schema"];
    assert_eq!((&given["name"], &given["schema"]), (&json!("request_tools"), &schema));
    // Where no member asks for JSON, the model has to call a tool.
    let asked = request("structured", "anthropic");
    let tool = &asked["tools"][0];
    assert_eq!((&tool["name"], &tool["input_schema"]), (&json!("request_tools"), &schema));
    assert_eq!(asked["tool_choice"], json!({ "type": "tool", "name": "request_tools" }));
    let config = &request("structured", "bedrock")["toolConfig"];
    let tool = &config["tools"][0]["toolSpec"];
    assert_eq!((&tool["name"], &tool["inputSchema"]["json"]), (&json!("request_tools"), &schema));
    assert_eq!(config["toolChoice"], json!({ "tool": { "name": "request_tools" } }));
}

/// A response that breaks is closed, unless it has ended by itself.
#[test]
fn what_has_ended_is_not_aborted() {
    let error = r#"{"error":{"message":"overloaded","type":"overloaded_error","code":529}}"#;
    for (bytes, aborts) in [(format!("data: {error}\n\n"), 1), ("<html>busy</html>".to_owned(), 0)]
    {
        let options = sim::options(&json!({}), "openai-chat").to_string();
        let mut pass = PassOptions::parse(options.as_bytes()).and_then(Pass::new).unwrap();
        let (inference, attempt) = (1, 1);
        let inputs = [
            Input::Start,
            common::facts::head(inference, attempt, 200, None),
            Input::ResponseBytes { inference, attempt, bytes: bytes.clone().into_bytes() },
            Input::ResponseEnded { inference, attempt },
        ];
        let mut effects = Vec::new();
        for input in inputs {
            pass.handle(0, input);
            while let Next::Effect(effect) = pass.poll() {
                effects.push(effect);
            }
        }
        let aborted = effects.iter().filter(|one| matches!(one, Effect::Abort { .. })).count();
        assert_eq!(aborted, aborts, "{bytes}: {effects:?}");
        let asked = effects.iter().filter(|one| matches!(one, Effect::Fetch { .. })).count();
        assert_eq!(asked, 2, "the plan is made without a request: {effects:?}");
    }
}

/// What a summary says of a result: its shape and size, and at most eight names.
#[test]
fn a_summary_names_eight_members() {
    for (members, names) in
        [(1, "a0"), (8, "a0, a1, a2, a3, a4, a5, a6, a7"), (9, "a0, a1, a2, a3, a4, a5, a6, a7, …")]
    {
        let result: serde_json::Map<_, _> =
            (0..members).map(|n| (format!("a{n}"), 1.into())).collect();
        let call = json!({ "tool_name": "quote", "params": {}, "reason": "r" });
        let bytes = Value::from(result.clone()).to_string().len();
        let scenario = json!({
            "tools": { "quote": { "readOnly": true, "returns": result } },
            "model": [{ "says": { "tool_calls": [call] } }, { "says": { "plan": "hold" } }],
        });
        let mut sim = Sim::new(&scenario, "openai-chat", None);
        sim.play();
        let s = if members == 1 { "" } else { "s" };
        let wanted = format!("object of {members} member{s} ({names}), {bytes} bytes");
        let told = sim.traces.iter().find(|event| event["type"] == "strategist_tool_result");
        assert_eq!(told.unwrap()["result_summary"], wanted);
    }
}
