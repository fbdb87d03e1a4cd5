//! The tables of chains: see tests/chain/README.md. Played as tests/chain/play.mjs does.

mod ends;
mod host;
mod search;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use serde_json::{Value, json};
use turnlock_client::chain::{ChainResult, run_chain};

use crate::lines::canonical;
use crate::platform::test;
use crate::site;
use host::Host;

#[test]
async fn tables() {
    play_tables().await;
}

pub async fn play_tables() {
    let scenarios = site::tables("chains").await;
    assert!(scenarios.len() > 40);
    site::play_all(scenarios.into_iter().map(|scenario| async move {
        let scenario = Arc::new(scenario);
        let wrong = play(scenario.clone()).await;
        if wrong.is_empty() {
            return Ok(());
        }
        Err(format!("{}: {}\n  {}", scenario["name"], scenario["why"], wrong.join("\n  ")))
    }))
    .await;
}

async fn play(scenario: Arc<Value>) -> Vec<String> {
    let host = Host::new(scenario.clone());
    let mut chain = match run_chain(host.options(), host.callbacks()) {
        Ok(chain) => chain,
        Err(error) => return vec![error.to_string()],
    };
    let (mut names, mut events) = (Vec::<String>::new(), Vec::new());
    while let Some(event) = chain.next().await {
        let event = serde_json::to_value(&event).unwrap();
        let name = name(&event);
        if scenario["cancelOn"] == name {
            chain.cancel("as scripted");
        }
        if name != "text" || names.last().is_none_or(|last| last != "text") {
            names.push(name);
        }
        events.push(event);
    }
    let result = chain.result().await;
    let mut wrong = invariants(&events, &result);
    wrong.extend(compare(&scenario["expect"], &seen(&names, &result, &host.asked.lock())));
    wrong.extend(host.forgotten());
    wrong
}

/// An event as the tables name it.
fn name(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap();
    let id = event["id"].as_str().map_or_else(|| event["id"].to_string(), str::to_owned);
    let text = |key: &str| event[key].as_str().unwrap().to_owned();
    match kind {
        "step_done" => format!("{kind} {id} {}", text("status")),
        "step_started" => format!("{kind} {id}"),
        "chain_stopped" => format!("{kind} {}", text("reason")),
        "complete" => format!("{kind} {}", text("status")),
        _ => kind.to_owned(),
    }
}

/// What holds for every chain.
pub fn invariants(events: &[Value], result: &ChainResult) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let is_last = at + 1 == events.len();
        if event["seq"].as_u64() != Some(at as u64 + 1) || (event["type"] == "complete") != is_last
        {
            wrong.push(format!("event {at} is {event}"));
        }
    }
    let text: String = events.iter().filter_map(|event| event["chunk"].as_str()).collect();
    if text != result.outcome.text {
        wrong.push(format!("streamed `{text}`, but the text is `{}`", result.outcome.text));
    }
    wrong
}

fn seen(names: &[String], result: &ChainResult, asked: &BTreeMap<&'static str, usize>) -> Value {
    let json = serde_json::to_value(result).unwrap();
    let mut steps = BTreeMap::new();
    let (mut queries, mut costs) = (BTreeMap::new(), BTreeMap::new());
    for (step, shown) in result.steps.iter().zip(json["steps"].as_array().unwrap()) {
        let status = shown["status"].as_str().unwrap();
        let status = match shown["reason"].as_str() {
            Some(reason) => format!("{status}:{reason}"),
            None if step.cached => format!("{status}:cached"),
            None => status.to_owned(),
        };
        steps.insert(step.id.to_string(), status);
        queries.insert(step.id.to_string(), step.query.clone());
        costs.insert(step.id.to_string(), step.cost);
    }
    json!({
        "events": names, "asked": asked, "steps": steps, "queries": queries, "costs": costs,
        "status": json["status"], "path": json["path"], "stopped": json["stopped"],
        "text": json["text"], "cost": json["cost"], "coverage": json["coverage"],
        "fellBack": result.outcome.fell_back.as_ref().map(|why| &why.code),
    })
}

/// What is expected and is not so. Of steps, queries and costs only those that are named are compared.
fn compare(expected: &Value, found: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for (key, want) in expected.as_object().unwrap() {
        let mut got = found[key].clone();
        if let ("steps" | "queries" | "costs", Some(got), Some(want)) =
            (key.as_str(), got.as_object_mut(), want.as_object())
        {
            got.retain(|id, _| want.contains_key(id));
        }
        let same = match (want.as_f64(), got.as_f64()) {
            (Some(want), Some(got)) => (want - got).abs() < 1e-9,
            _ => canonical(want) == canonical(&got),
        };
        if !same {
            wrong.push(format!("{key}: expected {want}, found {got}"));
        }
    }
    wrong
}
