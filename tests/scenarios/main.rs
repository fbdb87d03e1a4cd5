//! The scenario tables, played by a simulated host: no network, no clock, every schedule seeded.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

#[path = "../common/mod.rs"]
mod common;
mod history;
mod legs;
mod lines;
mod prefix;
mod rules;
mod sim;
// The store of the simulated world; its failures are not needed here.
#[allow(dead_code)]
#[path = "../durable/store.rs"]
mod store;

use std::collections::BTreeMap;

use common::Random;
use lines::{Group, Reduction};
use rules::{continues, invariants, random_scenario, requests, rules, traced};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sim::{Sim, options};
use turnlock::Next;
use turnlock::turn::{Effect, Input, Turn, TurnOptions};

fn unmet(what: &str, wanted: &Value, got: &Value) -> Result<(), String> {
    Err(format!("{what}: wanted {wanted}, got {got}"))
}

fn play(scenario: &Value, dialect: &str, seed: Option<u64>) -> Result<(), String> {
    if scenario["store"] == true {
        return legs::play(scenario, dialect, seed);
    }
    let mut sim = Sim::new(scenario, dialect, seed.map(Random));
    sim.play();
    sim.replays();
    invariants(&sim);
    let mut reduction =
        Reduction { scenario, known: BTreeMap::new(), lines: Vec::new(), group: Group::default() };
    sim.events.iter().for_each(|event| reduction.event(event));
    reduction.flush();
    if seed.is_none() {
        history::reads(scenario, &sim.events)?;
        // In unified mode, events have results of refused calls too, which messages do not keep.
        let result = sim.result.as_ref().filter(|_| scenario["mode"] != "unified");
        history::agrees(&sim.events, result)?;
    }
    let fetched = scenario["model"].as_array().unwrap().len();
    if sim.requests.len() != fetched {
        return Err(format!("{fetched} requests scripted, {} made", sim.requests.len()));
    }
    met(&sim, &reduction.lines, &scenario["expect"])
}

/// Whether what happened is what was wanted.
fn met(sim: &Sim<'_>, lines: &[String], expect: &Value) -> Result<(), String> {
    let wanted: Vec<&str> =
        expect["events"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    if lines != wanted {
        let list =
            |lines: &[String]| lines.iter().map(|l| format!("    {l}\n")).collect::<String>();
        let wanted: Vec<String> = wanted.iter().map(|line| (*line).to_owned()).collect();
        return Err(format!("wanted\n{}  got\n{}", list(&wanted), list(lines)));
    }
    if let Some(want) = expect.get("executed")
        && *want != json!(sim.executed)
    {
        return unmet("executed", want, &json!(sim.executed));
    }
    requests(sim, &expect["requests"]);
    let Some(result) = &sim.result else { return Ok(()) };
    continues(sim.scenario, result)?;
    traced(sim)?;
    for key in ["status", "text", "fullContent", "messages", "model", "finishReason", "object"] {
        if let Some(want) = expect.get(key)
            && result[key] != *want
        {
            return unmet(key, want, &result[key]);
        }
    }
    for all in ["usage", "totalUsage"] {
        for (key, want) in expect[all].as_object().into_iter().flatten() {
            if result[all][key] != *want {
                return unmet(key, want, &result[all]);
            }
        }
    }
    if let Some(want) = expect.get("repairs") {
        let codes = result["repairs"].as_array().unwrap().iter().map(|one| one["code"].clone());
        let codes = Value::Array(codes.collect());
        if *want != codes {
            return unmet("repairs", want, &codes);
        }
    }
    Ok(())
}

#[test]
fn tables() {
    let scenarios = common::scenarios();
    assert!(scenarios.len() >= 40, "only {} scenarios", scenarios.len());
    common::play_tables(&scenarios, play);
}

/// The bounds of a turn whose model repeats refused calls, never stops calling, or fails within a
/// response. Without schedules, so that `tests/planted` can play it once for each bug.
#[test]
fn bounds_of_a_model_that_goes_wrong() {
    let tables = ["refusals: ", "unified: ", "model errors: "];
    let is_bound = |one: &Value| {
        let name = one["name"].as_str().unwrap();
        tables.iter().any(|table| name.starts_with(table))
    };
    let scenarios: Vec<_> = common::scenarios().into_iter().filter(is_bound).collect();
    for scenario in &scenarios {
        for dialect in ["openai-chat", "anthropic"] {
            if scenario["dialect"].as_str().is_some_and(|one| one != dialect) {
                continue;
            }
            if let Err(why) = play(scenario, dialect, None) {
                panic!("{} [{dialect}]: {why}", scenario["name"]);
            }
        }
    }
}

/// Whatever the wires of a kept turn and of its fallback are, a resume asks the model that the turn
/// had come to.
#[test]
fn a_resume_goes_on_with_a_fallback_of_either_wire() {
    let wires = ["openai-chat", "anthropic"];
    let kept = |one: &Value| one["store"] == true && one["fallbacks"].is_array();
    let scenarios: Vec<_> = common::scenarios().into_iter().filter(kept).collect();
    assert!(scenarios.len() >= 2, "only {} scenarios", scenarios.len());
    for mut scenario in scenarios {
        for dialect in wires {
            for fallback in wires {
                scenario["fallbacks"] = json!([fallback]);
                if let Err(why) = play(&scenario, dialect, None) {
                    panic!("{} [{dialect}, {fallback}]: {why}", scenario["name"]);
                }
            }
        }
    }
}

#[test]
fn debug_shows_no_secret() {
    let options = options(&json!({}), "openai-chat");
    let turn = TurnOptions::parse(options.to_string().as_bytes()).and_then(Turn::new).unwrap();
    assert!(!format!("{turn:?}").contains(options["secret"].as_str().unwrap()));
}

/// Arguments that parse are not enough: without its end a call may be the half of another.
#[test]
fn a_call_without_its_end_is_never_executed() {
    use turnlock::stream::{Delta, FinishReason};
    let scenario = json!({ "tools": { "list": { "returns": [] } } });
    let options = options(&scenario, "openai-chat").to_string();
    let mut turn = TurnOptions::parse(options.as_bytes()).and_then(Turn::new).unwrap();
    let (inference, attempt, index) = (1, 1, 0);
    let start = Delta::ToolCallStart { index, id: "c".to_owned(), name: "list".to_owned() };
    let arguments = Delta::ToolCallArguments { index, text: "{}".to_owned() };
    let finish = Delta::Finish { reason: FinishReason::ToolCalls, raw: "tool_calls".to_owned() };
    turn.handle(0, Input::Start);
    turn.handle(0, Input::Deltas { inference, attempt, deltas: vec![start, arguments, finish] });
    turn.handle(0, Input::ResponseEnded { inference, attempt });
    let next = || match turn.poll() {
        Next::Effect(effect) => Some(effect),
        Next::Wait { .. } => None,
    };
    let effects: Vec<_> = std::iter::from_fn(next).collect();
    let asked = |effect: &Effect| matches!(effect, Effect::Check { .. } | Effect::RunTool { .. });
    assert!(!effects.iter().any(asked), "{effects:?}");
    let refused = effects.iter().any(|effect| format!("{effect:?}").contains("InvalidArguments"));
    assert!(refused, "{effects:?}");
}

/// A turn whose first call has spent its budget while the response goes on, and what it does.
fn spent() -> (Turn, Vec<Effect>) {
    let scenario = json!({ "tools": { "list": { "returns": [] } } });
    let mut options = options(&scenario, "openai-chat");
    options["tools"][0]["checks"] = json!(false);
    let mut turn = TurnOptions::parse(options.to_string().as_bytes()).and_then(Turn::new).unwrap();
    turn.handle(0, Input::Start);
    drop(effects(&mut turn));
    turn.handle(0, deltas(call(0)));
    let done = effects(&mut turn);
    (turn, done)
}

fn call(index: u32) -> Vec<turnlock::stream::Delta> {
    use turnlock::stream::Delta;
    let start = Delta::ToolCallStart { index, id: format!("c{index}"), name: "list".to_owned() };
    let arguments = Delta::ToolCallArguments { index, text: format!("{{\"n\":{index}}}") };
    vec![start, arguments, Delta::ToolCallEnd { index }]
}

fn deltas(deltas: Vec<turnlock::stream::Delta>) -> Input {
    Input::Deltas { inference: 1, attempt: 1, deltas }
}

fn effects(turn: &mut Turn) -> Vec<Effect> {
    let next = || match turn.poll() {
        Next::Effect(effect) => Some(effect),
        Next::Wait { .. } => None,
    };
    std::iter::from_fn(next).collect()
}

fn aborts(turn: &mut Turn) -> bool {
    effects(turn).iter().any(|effect| matches!(effect, Effect::Abort { .. }))
}

#[test]
fn a_call_starts_before_its_response_ends() {
    let (_, done) = spent();
    assert!(done.iter().any(|effect| matches!(effect, Effect::RunTool { .. })), "{done:?}");
    assert!(!done.iter().any(|effect| matches!(effect, Effect::Abort { .. })), "{done:?}");
}

/// The rest of a response is read within bounds: bytes, calls, and time behind the last tool.
#[test]
fn a_spent_budget_bounds_the_reading() {
    use turnlock::stream::Delta;
    use turnlock::turn::Settled;
    let text = |bytes: usize| deltas(vec![Delta::Text("x".repeat(bytes))]);
    let (mut turn, _) = spent();
    turn.handle(1, text(16 * 1024 - 1));
    assert!(!aborts(&mut turn));
    turn.handle(2, text(1));
    assert!(aborts(&mut turn), "16 KiB");

    let (mut turn, _) = spent();
    for index in 1..=7 {
        turn.handle(1, deltas(call(index)));
        assert!(!aborts(&mut turn), "call {index}");
    }
    turn.handle(1, deltas(call(8)));
    assert!(aborts(&mut turn), "eight further calls");

    let (mut turn, _) = spent();
    turn.handle(100, Input::Timer);
    assert!(!aborts(&mut turn), "the tool runs");
    let settled = Settled::Ok { text: "[]".to_owned(), bytes: 2 };
    turn.handle(1_000, Input::ToolSettled { call: 1, settled });
    assert!(!aborts(&mut turn));
    assert_eq!(turn.poll(), Next::Wait { until: Some(1_250) });
    turn.handle(1_249, Input::Timer);
    assert!(!aborts(&mut turn));
    turn.handle(1_250, Input::Timer);
    assert!(aborts(&mut turn), "250 ms behind the last tool");

    let (mut turn, _) = spent();
    turn.handle(1, Input::Pause);
    assert!(aborts(&mut turn), "a pause");
}

#[test]
fn a_budget_that_is_left_bounds_no_reading() {
    use turnlock::stream::Delta;
    use turnlock::turn::Settled;
    let scenario = json!({ "tools": { "list": { "returns": [] } }, "policy": { "maxTools": 20 } });
    let mut options = options(&scenario, "openai-chat");
    options["tools"][0]["checks"] = json!(false);
    let mut turn = TurnOptions::parse(options.to_string().as_bytes()).and_then(Turn::new).unwrap();
    turn.handle(0, Input::Start);
    turn.handle(0, deltas(call(0)));
    let settled = Settled::Ok { text: "[]".to_owned(), bytes: 2 };
    turn.handle(1_000, Input::ToolSettled { call: 1, settled });
    drop(effects(&mut turn));
    // Nothing is due before the model has been silent for a minute.
    assert_eq!(turn.poll(), Next::Wait { until: Some(60_000) });
    turn.handle(2_000, deltas(vec![Delta::Text("x".repeat(20_000))]));
    (1..=10).for_each(|index| turn.handle(2_000, deltas(call(index))));
    let done = effects(&mut turn);
    let count = |of: fn(&Effect) -> bool| done.iter().filter(|effect| of(effect)).count();
    assert_eq!(count(|effect| matches!(effect, Effect::RunTool { .. })), 10);
    assert_eq!(count(|effect| matches!(effect, Effect::Abort { .. })), 0);
}

/// All calls of a turn share one time: a second batch has what the first one left.
#[test]
fn tools_share_their_time() {
    let scenario = json!({
        "policy": { "maxTools": 2, "toolsTotalMs": 100 },
        "tools": { "slow": { "hangs": true, "timeoutMs": 60 }, "slower": { "hangs": true } },
        "model": [{ "calls": [{ "id": "a", "name": "slow" }] },
                  { "calls": [{ "id": "b", "name": "slower" }] }, { "text": ["ok"] }],
    });
    let mut sim = Sim::new(&scenario, "openai-chat", None);
    sim.play();
    let duration = |n: usize| sim.result.as_ref().unwrap()["toolResults"][n]["durationMs"].as_u64();
    assert_eq!((duration(0), duration(1)), (Some(60), Some(40)));
}

/// The tables do not have it, because a history without an answer needs a repair.
#[test]
fn a_first_response_that_the_provider_withheld_is_the_answer() {
    let withheld = json!([{ "text": [], "finish": "content_filter" }]);
    for dialect in ["openai-chat", "anthropic"] {
        let tools = json!({ "list": { "returns": [] } });
        let scenario = json!({ "maxRetries": 2, "tools": tools, "model": withheld });
        let mut sim = Sim::new(&scenario, dialect, None);
        sim.play();
        let result = sim.result.as_ref().unwrap();
        assert_eq!((&result["status"], &result["text"]), (&json!("complete"), &json!("")));
        assert_eq!(result["finishReason"], "content_filter");
        assert_eq!((sim.requests.len(), &result["composed"]), (1, &Value::Null));
    }
}

/// What the provider ran itself is a response, with or without text.
#[test]
fn a_first_response_of_the_provider_s_own_tools_is_not_empty() {
    let block = json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": {} });
    let model = json!([{ "blocks": [block], "finish": "pause_turn" }, { "text": ["Done."] }]);
    let scenario = json!({ "model": model, "maxRetries": 2 });
    let mut sim = Sim::new(&scenario, "anthropic", None);
    sim.play();
    assert_eq!(sim.result.as_ref().unwrap()["status"], "complete");
}

/// The lines of the tables leave out this limit, which ends most tool phases.
#[test]
fn a_tool_phase_says_that_its_calls_are_used_up() {
    let ended = |policy: Value, then: &[&str]| {
        let calls = json!({ "calls": [{ "id": "a", "name": "list", "args": {} }] });
        let texts = then.iter().map(|text| json!({ "text": [text] }));
        let model: Vec<_> = std::iter::once(calls).chain(texts).collect();
        let scenario = json!({
            "policy": policy, "model": model, "tools": { "list": { "returns": [] } },
        });
        let mut sim = Sim::new(&scenario, "openai-chat", None);
        sim.play();
        sim.events.iter().find(|event| event["type"] == "phase_end").unwrap()["ended"].clone()
    };
    assert_eq!(ended(json!({}), &["ok"]), "max_tools");
    assert_eq!(ended(json!({ "maxTools": 2 }), &["through", "ok"]), Value::Null);
}

#[test]
fn a_turn_has_its_time_from_its_start() {
    let scenario = json!({ "tools": { "list": {} } });
    let text = options(&scenario, "openai-chat").to_string();
    let mut turn = TurnOptions::parse(text.as_bytes()).and_then(Turn::new).unwrap();
    turn.handle(1_000_000, Input::Start);
    let done = effects(&mut turn);
    assert!(matches!(done.last(), Some(Effect::Fetch { inference: 1, .. })), "{done:?}");
    let Some(Effect::Trace(first)) = done.first() else { panic!("{done:?}") };
    let first: Value = serde_json::from_str(&first.to_json().to_text()).unwrap();
    assert_eq!((&first["type"], &first["atMs"]), (&json!("tool_registration"), &json!(0)));
    assert_eq!(first["tools"], json!(["list"]));
}

/// A trace names the turn's own instruction by its id and hash, and what else a request had.
#[test]
fn traces_say_what_a_request_had() {
    let scenario = json!({
        "policy": { "readMode": "batch" }, "tools": { "list": { "returns": [] } },
        "model": [{ "calls": [{ "id": "a", "name": "list", "args": {} },
                              { "id": "b", "name": "list", "args": { "n": 1 } }] },
                  { "text": ["ok"] }],
    });
    let mut sim = Sim::new(&scenario, "openai-chat", None);
    sim.play();
    let asked: Vec<_> = sim.traces.iter().filter(|one| one["type"] == "llm_call").collect();
    let had = |at: usize| (&asked[at]["context_flags"], &asked[at]["tool_call_count"]);
    assert_eq!(had(0), (&json!(["tools_offered"]), &json!(2)));
    assert_eq!(had(1), (&json!(["tool_results", "refusal_notice"]), &json!(0)));
    assert_eq!(asked[0]["prompt_template_id"], Value::Null);
    assert_eq!(asked[1]["prompt_template_id"], "turnlock.action.strict.v1");
    let told = sim.requests[1]["messages"].as_array().unwrap().last().unwrap();
    let hash = Sha256::digest(told["content"].as_str().unwrap().as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(asked[1]["prompt_template_hash"], hash);

    let mut scenario = scenario.clone();
    scenario["model"][0]["calls"].as_array_mut().unwrap().pop();
    let mut sim = Sim::new(&scenario, "openai-chat", None);
    sim.play();
    let last = sim.traces.iter().rfind(|one| one["type"] == "llm_call").unwrap();
    assert_eq!(last["context_flags"], json!(["tool_results"]));
}

/// A refused call that ran before is a duplicate, too; a refusal as a duplicate is nothing else.
#[test]
fn traces_tell_repeated_calls_from_refused_ones() {
    let call = |id: &str, name: &str| json!({ "id": id, "name": name, "args": {} });
    let scenario = json!({
        "policy": { "readMode": "batch" }, "tools": { "send": { "returns": "sent" } },
        "model": [{ "calls": [call("a", "send"), call("b", "send"), call("c", "ghost")] },
                  { "calls": [call("d", "send")] }, { "text": ["ok"] }],
    });
    let mut sim = Sim::new(&scenario, "openai-chat", None);
    sim.play();
    let kinds = ["duplicate_tool_call", "tool_refused"];
    let traced = sim.traces.iter().filter(|one| kinds.iter().any(|kind| one["type"] == *kind));
    let traced = traced.map(|one| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        (text("type"), text("tool_call_id"), text("reason"))
    });
    let traced: Vec<_> = traced.collect();
    let wanted = [
        ("duplicate_tool_call", "b", ""),
        ("tool_refused", "c", "unknown_tool"),
        ("duplicate_tool_call", "d", ""),
        ("tool_refused", "d", "tools_disabled"),
    ];
    let wanted = wanted.map(|(kind, id, why)| (kind.to_owned(), id.to_owned(), why.to_owned()));
    assert_eq!(traced, wanted);
}

/// Somebody elsewhere asks for a pause at any commit of the owner, whose answer may be lost. The turn
/// pauses behind its tools or completes, and loses and repeats nothing.
#[test]
fn a_pause_from_elsewhere() {
    let pauses = |at: u64, behind: bool, seed: Option<u64>, paused: bool| {
        let first = if paused { "tool_phase/1 paused" } else { "" };
        let mut scenario = json!({
            "store": true, "tools": { "send": { "returns": "sent" } },
            "model": [{ "text": ["Sending."], "calls": [{ "id": "c1", "name": "send", "args": {} }] },
                      { "text": ["Sent."] }],
            "expect": { "status": "paused", "executed": ["send {}"], "events": [
                "tool_phase/0 phase_start", "tool_phase/0 text \"Sending.\"",
                "tool_phase/1 tool_calls c1 send {}", "tool_phase/1 tool_results c1 ok \"sent\"",
                "tool_phase/1 phase_end", first] },
            "legs": [{ "resume": {}, "expect": { "status": "complete", "executed": [], "events": [
                "action_phase/1 phase_start", "action_phase/1 text \"Sent.\"",
                "action_phase/1 phase_end", "complete/1 complete \"Sending.Sent.\""] } }],
        });
        if !paused {
            let behind = scenario["legs"][0]["expect"]["events"].take();
            scenario["legs"] = json!([]);
            scenario["expect"]["status"] = json!("complete");
            let events = scenario["expect"]["events"].as_array_mut().unwrap();
            events.pop();
            events.extend(behind.as_array().unwrap().iter().cloned());
        }
        legs::play_and_pause(&scenario, "openai-chat", seed, Some((at, behind)))
    };
    let mut paused = 0;
    for seed in (0..200).map(|seed| (seed > 0).then_some(seed)) {
        for at in 2..9 {
            for behind in [false, true] {
                let early = pauses(at, behind, seed, true);
                let late = || pauses(at, behind, seed, false);
                paused += u32::from(early.is_ok());
                if let Err(early) = early {
                    late().unwrap_or_else(|late| panic!("{at} {behind} {seed:?}: {early}\n{late}"));
                }
            }
        }
    }
    assert!(paused > 200, "{paused}");
}

#[test]
fn random_turns_keep_the_rules() {
    let mut statuses: BTreeMap<String, u32> = BTreeMap::new();
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(6_000_u64);
    for seed in 1..=seeds {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let scenario = random_scenario(&mut random);
        let dialect = ["openai-chat", "anthropic", "deepseek"][random.below(3)];
        let played = std::panic::catch_unwind(|| {
            let mut sim = Sim::new(&scenario, dialect, Some(Random(seed)));
            sim.play();
            sim.replays();
            invariants(&sim);
            rules(&sim);
            sim.result.unwrap()["status"].as_str().unwrap().to_owned()
        });
        let Ok(status) = played else { panic!("seed {seed} [{dialect}]: {scenario}") };
        *statuses.entry(status).or_default() += 1;
    }
    // Each end of a turn was reached, and often.
    assert_eq!(statuses.len(), 4, "{statuses:?}");
    assert!(statuses.values().all(|count| *count > 100), "{statuses:?}");
}
