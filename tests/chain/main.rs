//! Chains: the vectors, the tables, and random plans under random schedules and faults.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

#[path = "../common/mod.rs"]
mod common;
mod random;
mod sim;

use common::Random;
use serde_json::{Value, json};
use sim::Sim;
use turnlock::chain::{Plan, PlanError, PlanLimits, diminishing};

fn vectors() -> Vec<Value> {
    let path = common::data("stats/given/chain.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().clone()
}

#[test]
fn the_vectors() {
    let mut played = 0;
    for case in vectors() {
        let (input, expected, id) = (&case["input"], &case["expected"], &case["id"]);
        match case["op"].as_str().unwrap() {
            "waves" => {
                let mut input = input.clone();
                for step in input["steps"].as_array_mut().unwrap() {
                    step["type"] = "search".into();
                    step["query"] = step["id"].clone();
                }
                match Plan::parse(&input.to_string(), &PlanLimits::default()) {
                    Ok(plan) => {
                        let shown: Value = serde_json::from_str(&plan.to_json().to_text()).unwrap();
                        let waves = shown["waves"].as_array().unwrap();
                        // The synthesis that was added comes last, by itself.
                        assert_eq!(waves.last().unwrap(), &json!(["synthesis"]), "{id}");
                        let waves = &waves[..waves.len() - 1];
                        assert_eq!(json!(waves), expected["waves"], "{id}");
                        assert_eq!(waves.len(), expected["critical_path"], "{id}");
                        let widest = waves.iter().map(|wave| wave.as_array().unwrap().len()).max();
                        assert_eq!(widest.unwrap(), expected["max_parallel"], "{id}");
                    }
                    Err(error) => {
                        assert_eq!(
                            error.code(),
                            format!("plan.{}", expected["error"].as_str().unwrap()),
                            "{id}"
                        );
                    }
                }
            }
            "diminishing_returns" => {
                let gains = input["gains"].as_array().unwrap().iter();
                let gains: Vec<f64> = gains.map(|gain| gain.as_f64().unwrap()).collect();
                let stop = diminishing(&gains, input["ratio"].as_f64().unwrap());
                assert_eq!(json!(stop), expected["stop"], "{id}");
            }
            other => panic!("{id}: no such operation: {other}"),
        }
        played += 1;
    }
    assert!(played >= 8, "{played}");
}

#[test]
fn the_newest_is_compared_with_the_one_before() {
    assert!(!diminishing(&[3.0, 0.0, 0.0], 0.8));
    assert!(diminishing(&[9.0, 5.0, 3.0], 0.8));
    assert!(!diminishing(&[0.0, 3.0], 0.8));
    assert!(!diminishing(&[5.0, 0.0], 0.0));
    assert!(!diminishing(&[5.0, 4.0], 0.8));
}

#[test]
fn a_plan_in_a_member_is_a_plan_with_and_without_text_around_it() {
    let plan = r#"{"steps":[{"id":1,"query":"q"}]}"#;
    let alone = Plan::parse(plan, &PlanLimits::default()).unwrap();
    for text in [
        format!(r#"{{"plan":{plan}}}"#),
        format!(r#"{{"why":"it is complex","plan":{plan},"confidence":0.9}}"#),
        format!(r#"Sure: {{"plan":{plan}}}"#),
        format!("```json\n{{\"plan\":{plan}}}\n```"),
    ] {
        let found = Plan::parse(&text, &PlanLimits::default());
        assert_eq!(found.unwrap().steps, alone.steps, "{text}");
    }
}

#[test]
fn plans_that_are_none() {
    let step = |id: Value, own: Value| {
        let mut step = json!({ "id": id, "type": "search", "query": "q" });
        step.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        step
    };
    let of = |steps: Vec<Value>| json!({ "pattern": "parallel", "steps": steps }).to_string();
    let none = json!({});
    let many: Vec<Value> = (0..9).map(|id| step(id.into(), none.clone())).collect();
    let cases = [
        ("plan.syntax", String::new()),
        ("plan.syntax", "no plan today {}".to_owned()),
        ("plan.syntax", "<think>{\"steps\":[{\"id\":\"a\",\"query\":\"q\"}]}".to_owned()),
        ("plan.empty", "<think>{\"steps\":[{\"id\":\"a\"}]}</think>{\"steps\":[]}".to_owned()),
        ("plan.syntax", "{\"steps\": 3}".to_owned()),
        ("plan.syntax", "{\"steps\": 3, \"plan\": {\"steps\": [{\"id\": 1}]}}".to_owned()),
        ("plan.syntax", "{\"plan\": {\"steps\": 3}}".to_owned()),
        ("plan.syntax", "{\"plan\": [{\"id\": 1}]}".to_owned()),
        ("plan.syntax", "{\"steps\": [{\"id\": 1".to_owned()),
        ("plan.empty", of(vec![])),
        ("plan.too_many_steps", of(many)),
        ("plan.too_large", format!("{}{}", of(vec![]), " ".repeat(300_000))),
        ("plan.invalid_step", of(vec![json!(3)])),
        ("plan.invalid_step", of(vec![json!({ "id": true, "type": "search", "query": "q" })])),
        ("plan.invalid_step", of(vec![step(1.into(), json!({ "type": "browse" }))])),
        ("plan.invalid_step", of(vec![step(1.into(), json!({ "query": "", "focus": "" }))])),
        ("plan.invalid_step", of(vec![step(1.5.into(), none.clone())])),
        ("plan.invalid_step", of(vec![step(1.into(), json!({ "depends_on": true }))])),
        (
            "plan.duplicate_step",
            of(vec![step(1.into(), none.clone()), step("1".into(), none.clone())]),
        ),
        ("plan.unknown_dependency", of(vec![step(1.into(), json!({ "depends_on": [2] }))])),
        ("plan.cycle", of(vec![step(1.into(), json!({ "depends_on": [1] }))])),
        (
            "plan.cycle",
            of(vec![
                step(1.into(), json!({ "depends_on": [3] })),
                step(2.into(), json!({ "depends_on": [1] })),
                step(3.into(), json!({ "depends_on": [2] })),
            ]),
        ),
        (
            "plan.cycle",
            of(vec![
                step(1.into(), json!({ "query": "of ${2}" })),
                step(2.into(), json!({ "query": "of ${1}" })),
            ]),
        ),
        (
            "plan.invalid_condition",
            of(vec![step(1.into(), none.clone()), step(2.into(), json!({ "when": "$1 >" }))]),
        ),
        ("plan.invalid_condition", of(vec![step(1.into(), json!({ "when": "count($7) > 0" }))])),
        (
            "plan.invalid_condition",
            of(vec![step(
                1.into(),
                json!({ "when": format!("{}true{}", "(".repeat(99), ")".repeat(99)) }),
            )]),
        ),
    ];
    for (code, text) in cases {
        let found = Plan::parse(&text, &PlanLimits::default()).map_err(|error| error.code());
        assert_eq!(found.map(|_| ()), Err(code), "{}", &text[..text.len().min(200)]);
    }
    let limits = PlanLimits::default().max_steps(1);
    let two = of(vec![step(1.into(), none.clone()), step(2.into(), none)]);
    assert_eq!(Plan::parse(&two, &limits), Err(PlanError::TooManySteps { limit: 1 }));
}

#[test]
fn what_is_repaired() {
    let of = |text: Value| {
        let plan = Plan::parse(&text.to_string(), &PlanLimits::default()).unwrap();
        let shown: Value = serde_json::from_str(&plan.to_json().to_text()).unwrap();
        let codes: Vec<&str> = plan.repairs.iter().map(|repair| repair.code.name()).collect();
        (shown, codes.join(" "))
    };
    let (plan, repairs) = of(json!({ "pattern": "parallel", "steps": [
        { "id": 1, "type": "search", "query": "x" }, { "id": 2, "query": "y" },
        { "id": 3, "type": "synthesize" } ] }));
    assert_eq!(repairs, "type_inferred dependency_added");
    assert_eq!(plan["steps"][2]["depends_on"], json!([1, 2]));
    // A synthesis that one step does not lead to is not the last one.
    let (plan, repairs) = of(json!({ "steps": [
        { "id": "a", "type": "search", "query": "x" }, { "id": "b", "type": "search", "focus": "y" },
        { "id": "s", "type": "synthesize", "depends_on": ["a"] } ] }));
    assert_eq!(repairs, "query_inferred synthesis_added pattern_inferred");
    assert_eq!(plan["steps"][3]["depends_on"], json!(["b", "s"]));
    assert_eq!(plan["waves"], json!([["a", "b"], ["s"], ["synthesis"]]));
    // What is mentioned is waited for; amounts are no mention.
    let (plan, repairs) = of(json!({ "pattern": "parallel", "steps": [
        { "id": "1", "type": "search", "query": "about $2" },
        { "id": "2", "type": "search", "query": "after ${1}" } ] }));
    assert_eq!(repairs, "dependency_added synthesis_added");
    assert_eq!(plan["steps"][0]["depends_on"], json!([]));
    assert_eq!(plan["steps"][1]["depends_on"], json!(["1"]));
}

fn tables() -> Vec<Value> {
    let path = common::repo().join("tests/chain/scenarios.json");
    let table: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    table.as_array().unwrap().clone()
}

#[test]
fn the_tables() {
    let table = tables();
    let mut failures = Vec::new();
    for scenario in &table {
        let mut sim = Sim::table(scenario);
        sim.play();
        for failure in sim.compare(&scenario["expect"]) {
            failures.push(format!("{}: {}\n  {failure}", scenario["name"], scenario["why"]));
        }
    }
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
    assert!(table.len() > 40);
}

#[test]
fn random_chains_keep_the_rules() {
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(16_000_u64);
    let mut ends = std::collections::BTreeMap::<String, u32>::new();
    for seed in 1..=seeds {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let scenario = random::scenario(&mut random);
        let played = std::panic::catch_unwind(|| random::play(&scenario, Random(seed)));
        let Ok(end) = played else { panic!("seed {seed}: {scenario}") };
        *ends.entry(end).or_default() += 1;
    }
    println!("{ends:?}");
    // Every reason to stop, and both other ends, were reached, and more than once.
    let wanted = [
        "cancelled",
        "complete",
        "diminishing_returns",
        "fell back",
        "max_cost",
        "max_steps",
        "max_time",
        "plan_finished",
        "failed",
    ];
    for end in wanted {
        assert!(ends.get(end).is_some_and(|count| *count > 20), "{end}: {ends:?}");
    }
}
