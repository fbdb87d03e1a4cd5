//! The tables of the tool-request pass, played by a simulated host, and what holds in every pass.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

mod common;
#[path = "requests/lines.rs"]
mod lines;
#[path = "requests/parse.rs"]
mod parse;
#[path = "requests/random.rs"]
mod random;
#[path = "requests/sim.rs"]
mod sim;

use common::Random;
use serde_json::{Value, json};
use sim::Sim;

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
