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
#[allow(dead_code)]
#[path = "scenarios/sim.rs"]
mod scenarios_sim;
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
        "rejected": lines::rejected(&result["rejected"]), "trace": lines::trace(&sim.traces),
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
    let mut failures = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for scenario in &scenarios {
        let name = scenario["name"].as_str().unwrap();
        assert!(names.insert(name), "`{name}` stands twice");
        let dialects = match scenario["dialect"].as_str() {
            Some(dialect) => vec![dialect],
            None => vec!["openai-chat", "anthropic"],
        };
        for dialect in dialects {
            // Whole, and under twenty seeded schedules.
            for seed in std::iter::once(None).chain((1..=20).map(|n| Some(n * 7_919))) {
                let played = std::panic::catch_unwind(|| play(scenario, dialect, seed));
                let failure = match played {
                    Ok(Ok(())) => continue,
                    Ok(Err(failure)) => failure,
                    Err(_) => "panicked, see above".to_owned(),
                };
                failures.push(format!("{name} [{dialect}, seed {seed:?}]\n  {failure}"));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "\n\n{}\n{} failed", failures.join("\n\n"), failures.len());
}
