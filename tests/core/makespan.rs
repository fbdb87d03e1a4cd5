//! How long chains take, in simulated time: against the critical path, which nothing can beat,
//! and against running them wave by wave. `cargo test --test core makespan -- --nocapture`
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

use crate::common;
use std::collections::BTreeMap;

use common::Random;
use serde_json::{Value, json};
use turnlock::Next;
use turnlock::chain::{CallBody, Chain, ChainOptions, Effect, Hooks, Input, Limits};
use turnlock::json::Json;

/// Milliseconds of each step, in the order of a plan's list.
struct Case {
    plan: Value,
    takes: Vec<u64>,
}

/// What a search, or a small model, takes: from 200 ms, most of them short, some ten times that.
fn latency(random: &mut Random) -> u64 {
    let share = random.below(1000) as f64 / 1000.0;
    200 + (2_800.0 * share * share * share) as u64
}

fn random_case(random: &mut Random) -> Case {
    let count = 5 + random.below(16);
    let mut steps = Vec::new();
    for at in 0..count {
        // Two inputs on the average, from the steps just before: a graph with width and depth.
        let from = at.saturating_sub(5);
        let depends_on: Vec<usize> = (from..at).filter(|_| random.below(10) < 4).collect();
        steps.push(json!({ "id": at, "type": "search", "query": format!("q{at}"), "depends_on": depends_on }));
    }
    let takes = (0..count).map(|_| latency(random)).collect();
    Case { plan: json!({ "pattern": "parallel", "steps": steps }), takes }
}

/// As ParallelQA's questions are built: for each branch a search and a calculation on its result,
/// then one over all of them.
fn branched_case(branches: usize, random: &mut Random) -> Case {
    let mut steps = Vec::new();
    for branch in 0..branches {
        steps.push(json!({ "id": 2 * branch, "type": "search", "query": format!("q{branch}"), "depends_on": [] }));
        steps.push(json!({ "id": 2 * branch + 1, "type": "refine", "query": "q", "focus": "x", "depends_on": [2 * branch] }));
    }
    let ends: Vec<usize> = (0..branches).map(|branch| 2 * branch + 1).collect();
    steps.push(json!({ "id": 2 * branches, "type": "refine", "query": "q", "focus": "x", "depends_on": ends }));
    let takes = steps.iter().map(|_| latency(random)).collect();
    Case { plan: json!({ "pattern": "parallel", "steps": steps }), takes }
}

fn needs(case: &Case) -> Vec<Vec<usize>> {
    let of = |step: &Value| {
        step["depends_on"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_u64().unwrap() as usize)
            .collect()
    };
    case.plan["steps"].as_array().unwrap().iter().map(of).collect()
}

fn critical_path(case: &Case) -> u64 {
    let mut ends: Vec<u64> = Vec::new();
    for (needs, takes) in needs(case).iter().zip(&case.takes) {
        ends.push(needs.iter().map(|need| ends[*need]).max().unwrap_or(0) + takes);
    }
    ends.into_iter().max().unwrap()
}

/// Each wave begins when the one before it is over; within it, as many steps as allowed at a time.
fn by_waves(case: &Case, parallel: usize) -> u64 {
    let mut level: Vec<usize> = Vec::new();
    for needs in needs(case) {
        level.push(needs.iter().map(|need| level[*need] + 1).max().unwrap_or(0));
    }
    let mut all = 0;
    for wave in 0..=*level.iter().max().unwrap() {
        let mut lanes = vec![0_u64; parallel];
        for (takes, _) in case.takes.iter().zip(&level).filter(|(_, level)| **level == wave) {
            let lane = lanes.iter_mut().min().unwrap();
            *lane += takes;
        }
        all += lanes.into_iter().max().unwrap();
    }
    all
}

/// When the machine has its last result, if nothing but the steps takes time.
fn makespan(case: &Case, parallel: usize) -> u64 {
    let limits = Limits::default().max_steps(64).max_parallel(parallel).diminishing(0.0);
    let options = ChainOptions::new("q")
        .hooks(Hooks::default().classify(true))
        .limits(limits.total_ms(86_400_000));
    let mut chain = Chain::new(options).unwrap();
    let plan = case.plan.to_string();
    let plan = Json::parse_str(&plan).unwrap().into_owned();
    let (mut now, mut due) = (0, BTreeMap::<(u64, u32), usize>::new());
    chain.handle(now, Input::Start);
    loop {
        while let Next::Effect(effect) = chain.poll() {
            let Effect::Call { call, body } = effect else { continue };
            let mut at_once = |value| {
                chain.handle(now, Input::Returned { call, value, cost: None });
            };
            match body {
                CallBody::Classify(_) => at_once(Json::string("complex")),
                CallBody::Plan(_) => at_once(plan.clone()),
                CallBody::Search(told) | CallBody::Refine(told) => {
                    let step: usize = told.id.as_str().parse().unwrap();
                    due.insert((now + case.takes[step], call), step);
                }
                CallBody::Synthesize(_) => return now,
                other => panic!("{other:?}"),
            }
        }
        let ((at, call), step) = due.pop_first().expect("nothing to wait for");
        now = at;
        let value = Json::Array(vec![format!("r{step}").into()]);
        chain.handle(now, Input::Returned { call, value, cost: None });
    }
}

fn report(name: &str, cases: &[Case]) {
    println!("{name}: {} plans", cases.len());
    let sum = |of: &dyn Fn(&Case) -> u64| cases.iter().map(of).sum::<u64>() as f64;
    let path = sum(&critical_path);
    let one_by_one = sum(&|case| case.takes.iter().sum()) / path;
    println!("  one by one: {one_by_one:.2} of the critical path");
    for parallel in [64, 4, 2] {
        let ours = sum(&|case| makespan(case, parallel)) / path;
        let waves = sum(&|case| by_waves(case, parallel)) / path;
        println!("  {parallel} at a time: {ours:.3} of the critical path, by waves {waves:.3}");
    }
}

#[test]
fn a_chain_takes_as_long_as_its_longest_path() {
    let mut random = Random(0x5EED);
    let cases: Vec<Case> = (0..1000).map(|_| random_case(&mut random)).collect();
    for case in &cases {
        let ours = makespan(case, 64);
        assert_eq!(ours, critical_path(case), "{}", case.plan);
        assert!(ours <= by_waves(case, 64));
        assert_eq!(makespan(case, 1), case.takes.iter().sum::<u64>());
    }
    report("random", &cases);
}

#[test]
fn branches_side_by_side() {
    let path = common::data("complexity/given/questions.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let mut random = Random(0xB5A7);
    let branches = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["branches"].as_u64());
    let cases: Vec<Case> =
        branches.map(|branches| branched_case(branches as usize, &mut random)).collect();
    assert!(cases.len() > 50);
    for case in &cases {
        assert_eq!(makespan(case, 64), critical_path(case), "{}", case.plan);
    }
    report("ParallelQA's branches", &cases);
}
