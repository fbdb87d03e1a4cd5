//! What holds in every run, and scenarios that nobody wrote.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::common::Random;
use crate::sim::Sim;
use turnlock::Dialect;
use turnlock::history::{History, HistoryOptions};

pub fn invariants(sim: &Sim<'_>) {
    let terminal = ["complete", "paused", "cancelled", "error"];
    let order = |phase: &str| match phase {
        "tool_phase" | "unified" => 0,
        "action_phase" => 1,
        _ => 2,
    };
    let mut last = 0;
    let mut cycles = 1;
    for (i, event) in sim.events.iter().enumerate() {
        assert_eq!(event["seq"].as_u64(), Some(i as u64 + 1));
        assert_eq!(event["requestId"], "request-1");
        assert_eq!(event["projectId"], sim.scenario["projectId"]);
        assert_eq!(event["conversationId"], sim.scenario["conversationId"]);
        let ends = terminal.contains(&event["type"].as_str().unwrap());
        assert_eq!(ends, i + 1 == sim.events.len(), "one terminal event, the last");
        assert_ne!(event["chunk"], "", "an event that says nothing");
        let phase = order(event["phase"].as_str().unwrap());
        if phase < last {
            assert_eq!(event["type"], "phase_start", "only a cycle goes back");
            cycles += 1;
        }
        last = phase;
    }
    for event in sim.events.iter().filter(|event| event["ended"] == "max_tools") {
        assert_eq!(event["type"], "phase_end");
        assert_eq!(event["phase"], "tool_phase");
    }
    let policy = |key: &str, default| sim.scenario["policy"][key].as_u64().unwrap_or(default);
    for event in sim.events.iter().filter(|event| event["type"] == "phase_start") {
        let wanted = match event["phase"].as_str().unwrap() {
            "tool_phase" => json!(policy("maxTools", 1)),
            "action_phase" if has_action_tools(sim) => json!(policy("actionMaxTools", 1)),
            "action_phase" => json!(0),
            _ => Value::Null,
        };
        assert_eq!(event["maxTools"], wanted, "what may still run: {event}");
    }
    assert!(cycles <= policy("maxCycles", 1));
    if sim.scenario["mode"] != "unified" {
        let hybrid = has_action_tools(sim);
        let action = if hybrid { policy("actionMaxTools", 1) } else { 0 };
        let most = (policy("maxTools", 1) + action) * cycles;
        assert!(sim.executed.len() as u64 <= most, "more executions than the budget");
        for pair in sim.events.windows(2) {
            let in_action = pair[1]["type"] == "tool_calls" && pair[1]["phase"] == "action_phase";
            assert!(!in_action || hybrid, "a call in a phase without tools");
        }
    }
}

fn has_action_tools(sim: &Sim<'_>) -> bool {
    match &sim.scenario["policy"]["actionTools"] {
        Value::Array(names) => !names.is_empty(),
        other => other.is_string(),
    }
}

pub fn requests(sim: &Sim<'_>, wanted: &Value) {
    for (i, want) in wanted.as_array().into_iter().flatten().enumerate() {
        let Some(got) = sim.requests.get(i) else { panic!("request {} was not made", i + 1) };
        let name = |tool: &Value| tool.get("function").unwrap_or(tool)["name"].clone();
        if let Some(tools) = want.get("tools") {
            let offered: Vec<_> = got["tools"].as_array().into_iter().flatten().map(name).collect();
            assert_eq!(Value::from(offered), *tools, "tools of request {}", i + 1);
        }
        if let Some(choice) = want.get("choice") {
            let said = &got["tool_choice"];
            let said = said.get("type").unwrap_or(said);
            assert_eq!(said, choice, "tool choice of request {}", i + 1);
        }
        let text = got.to_string();
        if let Some(structured) = want["structured"].as_bool() {
            let format = [&got["response_format"], &got["text"]["format"], &got["format"]];
            let said = format.iter().any(|one| one.is_object())
                || got["generationConfig"]["responseJsonSchema"].is_object();
            let takes = structured && !["anthropic", "bedrock"].contains(&&*sim.wires[i]);
            assert_eq!(said, takes, "structured output of request {}", i + 1);
        }
        let parts = want["ordered"].as_array().into_iter().flatten();
        let at = |part: &Value| text.find(part.as_str().unwrap()).expect("a part in order");
        assert!(parts.map(at).is_sorted(), "request {} has another order: {text}", i + 1);
        for part in want["has"].as_array().into_iter().flatten() {
            assert!(
                text.contains(part.as_str().unwrap()),
                "request {} lacks {part}: {text}",
                i + 1
            );
        }
        for part in want["lacks"].as_array().into_iter().flatten() {
            assert!(!text.contains(part.as_str().unwrap()), "request {} has {part}: {text}", i + 1);
        }
    }
}

/// A scenario that nobody wrote: any model, any policy, any fault.
pub fn random_scenario(random: &mut Random) -> Value {
    let pick = |random: &mut Random, all: &[Value]| all[random.below(all.len())].clone();
    let call = |random: &mut Random| {
        let name = ["list", "send", "poll", "boom", "slow", "ghost"][random.below(6)];
        let args = [
            r#"{"n":1}"#,
            r#"{"n":1}"#,
            r#"{ "n" : 1.0 }"#,
            r#"{"n":2}"#,
            "",
            "{",
            "[1]",
            r#"{"n":"x"}"#,
        ];
        json!({ "id": format!("c{}", random.below(4)), "name": name,
                "argsText": args[random.below(args.len())], "fragments": 1 + random.below(3) })
    };
    let entry = |random: &mut Random| {
        if random.below(12) == 0 {
            return json!({ "status": ([400, 429, 500, 503][random.below(4)]), "retryAfterMs": random.below(20) });
        }
        let texts = |random: &mut Random| vec!["word "; random.below(3)];
        let calls: Vec<_> = (0..random.below(4)).map(|_| call(random)).collect();
        let then = match random.below(16) {
            0 => json!("error"),
            1 => json!("malformed"),
            2 => json!("cut"),
            3 => json!("stall"),
            4 => json!("stall_head"),
            _ => Value::Null,
        };
        json!({ "reasoning": texts(random), "text": texts(random), "calls": calls,
                "textAfter": texts(random), "then": then })
    };
    let facts = match random.below(4) {
        0 => {
            let events =
                ["phase_start", "text", "tool_calls", "tool_results", "refused", "phase_end"];
            json!([{ "after": events[random.below(6)], "nth": 1 + random.below(3),
                     "do": (["cancel", "pause"][random.below(2)]), "reason": "fuzz" }])
        }
        _ => json!([]),
    };
    let schema = json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    json!({
        "mode": pick(random, &[json!("two_stage"), json!("two_stage"), json!("unified")]),
        "maxRetries": random.below(3),
        "policy": {
            "maxTools": random.below(4), "actionMaxTools": random.below(3),
            "readMode": (["auto", "first_call", "batch"][random.below(3)]),
            "actionTools": pick(random, &[json!([]), json!(["list"]), json!(["poll", "send"]), json!("readOnly"), json!("*")]),
            "maxCycles": 1 + random.below(2), "maxSteps": 1 + random.below(5),
            "resultsAs": (["box", "native"][random.below(2)]),
            "toolsTotalMs": 1 + random.below(200), "turnMs": 1 + random.below(300_000),
        },
        "tools": {
            "list": { "readOnly": true, "schema": schema, "returns": ["a"] },
            "send": { "schema": schema, "returns": null },
            "poll": { "dedupe": "allow", "returns": 1 },
            "boom": { "throws": "no" },
            "slow": { "hangs": true, "timeoutMs": 50 },
        },
        "model": (0..60).map(|_| entry(random)).collect::<Vec<_>>(),
        "facts": facts,
    })
}

/// The trace is whole: phases and inferences that start also end, once, and every refusal is in it.
pub fn traced(sim: &Sim<'_>) -> Result<(), String> {
    let count = |kind: &str| sim.traces.iter().filter(|event| event["type"] == kind).count();
    let of = |kind: &str, list: &str, id: &str| -> BTreeSet<String> {
        let events = sim.events.iter().filter(|event| event["type"] == kind);
        let listed = events.flat_map(|event| event[list].as_array().unwrap().clone());
        listed.map(|one| one[id].as_str().unwrap().to_owned()).collect()
    };
    let phases = (count("orchestration_phase_start"), count("orchestration_phase_end"));
    if phases.0 != phases.1 {
        return Err(format!("{phases:?} phases begin and end: {:?}", sim.traces));
    }
    // A request that was not sent yet when its turn was lost has begun all the same.
    if count("llm_call") < sim.inferences.len() {
        return Err(format!("{:?} were asked: {:?}", sim.inferences, sim.traces));
    }
    let alone = sim.scenario["store"] != true && sim.scenario["fallbacks"].is_null();
    if alone && count("llm_call") != sim.inferences.len() {
        return Err(format!("{:?} were asked, and traced twice: {:?}", sim.inferences, sim.traces));
    }
    let ran = sim.traces.iter().filter(|event| event["type"] == "tool_result");
    let ran: Vec<_> = ran.map(|event| (&event["tool_call_id"], &event["status"])).collect();
    let results = sim.events.iter().filter(|event| event["type"] == "tool_results");
    let results = results.flat_map(|event| event["toolResults"].as_array().unwrap());
    let results = results.map(|one| (&one["toolCallId"], &one["status"]));
    let results: Vec<_> =
        results.filter(|(_, status)| *status != "blocked" && *status != "skipped").collect();
    if alone && (ran != results || count("tool_call") != sim.executed.len()) {
        return Err(format!("{results:?}, and traced {ran:?}"));
    }
    let refused = sim
        .traces
        .iter()
        .filter(|event| event["type"] == "tool_refused" || event["type"] == "duplicate_tool_call");
    let refused: BTreeSet<_> =
        refused.map(|event| event["signature"].as_str().unwrap().to_owned()).collect();
    let told = of("refused", "toolCalls", "signature");
    if !told.is_subset(&refused) {
        return Err(format!("{told:?} were refused, and traced {refused:?}"));
    }
    let ends = |kind: &str| sim.traces.iter().rfind(|event| event["type"] == kind);
    let status = &sim.result.as_ref().unwrap()["status"];
    match ends("orchestration_phase_end") {
        Some(last) if last["status"] != *status => Err(format!("{status}, and traced {last}")),
        _ => Ok(()),
    }
}

/// What the turn adds to the history, and a next question behind it, need no repair in any dialect.
pub fn continues(scenario: &Value, result: &Value) -> Result<(), String> {
    let repairs = |history: &[Value], dialect| {
        let text = Value::from(history).to_string();
        let mut read = History::new(HistoryOptions::new(dialect));
        read.append_text(&text).unwrap();
        let mut codes: Vec<_> = read.repairs().iter().map(|one| one.code.to_string()).collect();
        codes.sort();
        codes
    };
    let ask = json!({ "role": "user", "content": "go" });
    let given = match &scenario["messages"] {
        Value::Null => vec![ask.clone()],
        messages => messages.as_array().unwrap().clone(),
    };
    let added = result["messages"].as_array().unwrap();
    let Some(last) = added.last() else { return Ok(()) };
    // A turn that was stopped has calls and no answer, which some templates cannot say.
    let answered = last["role"] == "assistant";
    let next = if answered { vec![ask] } else { Vec::new() };
    let history = [given.as_slice(), added.as_slice(), next.as_slice()].concat();
    for dialect in Dialect::ALL {
        let before = repairs(&given, dialect);
        let behind = repairs(&history, dialect);
        // A history that is repaired itself is not the turn's.
        if before.is_empty() && !behind.is_empty() {
            return Err(format!("{}: {behind:?} of {}", dialect.name(), json!(history)));
        }
    }
    Ok(())
}

/// Rules that hold in every run, under every fault.
pub fn rules(sim: &Sim<'_>) {
    let policy = |key: &str| sim.scenario["policy"][key].as_u64().unwrap();
    let mut seen = BTreeSet::new();
    for call in &sim.executed {
        assert!(call.ends_with('}'), "arguments that are no object: {call}");
        assert!(seen.insert(call) || call.starts_with("poll "), "executed twice: {call}");
    }
    let result = sim.result.as_ref().unwrap();
    let inferences = result["inferences"].as_u64().unwrap();
    let most = if sim.scenario["mode"] == "unified" {
        policy("maxSteps")
    } else {
        (policy("maxTools") + 1 + policy("actionMaxTools") + 2) * policy("maxCycles")
    };
    assert!(inferences <= most, "{inferences} inferences, at most {most}");
    // Every call that was shown got exactly one result, in its batch.
    let ids = |kind: &str, list: &str, id: &str| -> Vec<String> {
        let events = sim.events.iter().filter(|event| event["type"] == kind);
        let of = |event: &Value| -> Vec<String> {
            let batch = event["toolBatchId"].as_u64().unwrap();
            let items = event[list].as_array().unwrap();
            items.iter().map(|item| format!("{batch}/{}", item[id].as_str().unwrap())).collect()
        };
        events.flat_map(of).collect()
    };
    let calls = ids("tool_calls", "toolCalls", "id");
    let results = ids("tool_results", "toolResults", "toolCallId");
    let distinct: BTreeSet<_> = calls.iter().collect();
    assert_eq!(distinct, results.iter().collect());
    assert_eq!(calls.len(), results.len(), "a call with two outcomes");
    told_one_by_one(sim);
    assert_eq!(distinct.len(), calls.len(), "two outcomes under one key");
    continues(sim.scenario, result).unwrap();
    traced(sim).unwrap();
    // What was shown is what the result holds.
    let said = |event: &Value| {
        event["chunk"].as_str().filter(|_| event["type"] == "text").map(str::to_owned)
    };
    let shown: String = sim.events.iter().filter_map(said).collect();
    assert_eq!(result["fullContent"], shown);
    assert!(result["status"] == "failed" || result["error"].is_null());
    if result["status"] == "complete" && sim.scenario["mode"] == "two_stage" {
        let answered = sim.events.iter().any(|event| event["phase"] == "action_phase");
        assert!(!answered || !result["text"].as_str().unwrap().trim().is_empty(), "no answer");
    }
}

/// Each call and each result is an event, and a call comes before its result.
fn told_one_by_one(sim: &Sim<'_>) {
    let mut open = BTreeSet::new();
    for event in &sim.events {
        let one = |list: &str, id: &str| {
            let [one] = &event[list].as_array().unwrap()[..] else { panic!("{event}") };
            format!("{}/{}", event["toolBatchId"], one[id])
        };
        match event["type"].as_str().unwrap() {
            "tool_calls" => assert!(open.insert(one("toolCalls", "id"))),
            "tool_results" => assert!(open.remove(&one("toolResults", "toolCallId"))),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?} have no result");
}
