//! Every place at which a process can die, in twelve turns and more: the turn is resumed, and
//! goes on as if nothing had been, but for what may not run twice.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::leg::Leg;
use crate::plan::{Plan, Wanted, tools};
use crate::world::{Blow, World};

/// Name, mode, policy, the model's answers; what else differs is told by the name.
type Row = (&'static str, &'static str, Value, Vec<Value>);

fn call(id: &str, name: &str) -> Value {
    json!({ "id": id, "name": name, "args": { "n": 1 } })
}

fn says(calls: &[Value]) -> Value {
    json!({ "text": ["Let me ", "look."], "calls": calls })
}

fn rows() -> Vec<Row> {
    let two = "two_stage";
    let answer = || json!({ "text": ["An ", "answer."] });
    let list = || says(&[call("c1", "list")]);
    vec![
        ("one call", two, json!({}), vec![list(), answer()]),
        (
            "list, then send",
            two,
            json!({ "maxTools": 2 }),
            vec![list(), says(&[call("c2", "send")]), answer()],
        ),
        (
            "three at once",
            two,
            json!({ "maxTools": 3 }),
            vec![says(&[call("c1", "list"), call("c2", "send"), call("c3", "put")]), answer()],
        ),
        (
            "hybrid",
            two,
            json!({ "actionTools": ["send"] }),
            vec![list(), says(&[call("c2", "send")]), answer()],
        ),
        (
            "two cycles",
            two,
            json!({ "maxCycles": 2 }),
            vec![
                list(),
                json!({ "calls": [call("c2", "put")] }),
                says(&[call("c3", "put")]),
                answer(),
            ],
        ),
        ("unified", "unified", json!({}), vec![list(), says(&[call("c2", "send")]), answer()]),
        (
            "native results",
            two,
            json!({ "maxTools": 2, "resultsAs": "native" }),
            vec![list(), says(&[call("c1", "put")]), answer()],
        ),
        ("a replay", two, json!({ "maxTools": 2 }), vec![list(), list(), answer()]),
        (
            "approval",
            two,
            json!({ "maxTools": 2, "readMode": "batch" }),
            vec![says(&[call("c1", "list"), call("c2", "pay")]), answer()],
        ),
        ("approval, denied", two, json!({}), vec![says(&[call("c1", "pay")]), answer()]),
        (
            "approval, unified",
            "unified",
            json!({}),
            vec![says(&[call("c1", "put"), call("c2", "pay")]), answer()],
        ),
        ("pause", two, json!({ "pauseAfterTools": true }), vec![list(), answer()]),
        ("reuse", two, json!({}), vec![list(), answer()]),
        ("timeout", two, json!({}), vec![says(&[call("c1", "slow")]), answer()]),
    ]
}

fn plan(row: &Row, dialect: &'static str) -> Plan {
    let (name, mode, policy, model) = row;
    let turn = |request: &str, at| Wanted {
        tenant: "TENANT-0".to_owned(),
        request: request.to_owned(),
        at,
    };
    let mut turns = vec![turn("request", 0)];
    if *name == "reuse" {
        turns.push(turn("request-2", 200));
    }
    let mut tools = tools(*name == "reuse");
    tools["slow"]["timeoutMs"] = json!(30);
    Plan {
        seed: 1,
        bug: "",
        faults: Vec::new(),
        dialect,
        mode: json!(mode),
        policy: policy.clone(),
        tools,
        keep: json!({ "leaseMs": 1_000, "gatherMs": 0 }),
        max_retries: 0,
        turns,
        model: Some(model.clone()),
        exact: true,
        denied: if name.contains("denied") { vec!["pay".to_owned()] } else { Vec::new() },
        one_secret: true,
        listed: Default::default(),
    }
}

fn world(plan: &Plan, blow: Blow, at: &[u64]) -> World {
    let mut world = World::new(plan.clone());
    world.blow = blow;
    world.deaths = at.iter().copied().collect();
    world
}

fn play(plan: &Plan, blow: Blow, at: &[u64]) -> World {
    let mut played = world(plan, blow, at);
    if let Err(failure) = played.play() {
        let mut again = world(plan, blow, at);
        again.trace = Some(String::new());
        let _ = again.play();
        let place = |at: &u64| again.boundaries.get(usize::try_from(*at).ok()? - 1);
        let places: Vec<&String> = at.iter().filter_map(place).collect();
        let trace = again.trace.clone().unwrap_or_default();
        panic!("{trace}\n{failure}\n{blow:?} at {places:?}");
    }
    for life in played.truth.lives.iter().flatten() {
        let over = life.status == "complete" || blow == Blow::Stop && life.status == "cancelled";
        assert!(over, "{} behind {blow:?} at {at:?}: {:?}", life.status, played.boundaries);
    }
    played
}

/// What happened in many worlds, so that none of it can be missing.
#[derive(Debug, Default)]
struct Seen {
    unknown: usize,
    started_again: usize,
    lost_a_race: usize,
    stopped: usize,
    answered_all_the_same: usize,
}

impl Seen {
    fn look(&mut self, world: &World) {
        for life in world.truth.lives.iter().flatten() {
            let results = life.log.iter().filter(|one| one.event["type"] == "tool_results");
            self.unknown += results.filter(|one| one.raw.contains("\"unknown\"")).count();
            self.started_again += life.starts.values().filter(|all| all.len() > 1).count();
            self.stopped += usize::from(life.status == "cancelled");
            self.answered_all_the_same += usize::from(life.status == "complete");
        }
        let lost = |leg: &&Leg| {
            leg.terminal.as_ref().is_some_and(|(event, _)| event["code"] == "turn.conflict")
        };
        self.lost_a_race += world.legs.iter().filter(lost).count();
    }
}

/// What was asked last.
fn last(world: &World, turn: usize) -> Option<String> {
    let legs = world.legs.iter().filter(|leg| leg.turn == turn);
    legs.flat_map(|leg| &leg.requests).last().map(|(_, request)| request.to_string())
}

/// What was asked, by inference; who asks again asks the same.
fn asked(world: &World, turn: usize) -> BTreeMap<u32, String> {
    let mut all: BTreeMap<u32, String> = BTreeMap::new();
    for leg in world.legs.iter().filter(|leg| leg.turn == turn) {
        for (inference, request) in &leg.requests {
            let text = request.to_string();
            let before = all.insert(*inference, text.clone());
            assert!(before.is_none_or(|before| before == text), "asked otherwise");
        }
    }
    all
}

/// Whether every tool of a plan may run again, so that a death leaves no trace.
fn leaves_no_trace(name: &str) -> bool {
    ["one call", "two cycles", "native results", "a replay", "pause"].contains(&name)
}

#[test]
fn every_death() {
    let (mut points, mut pairs, mut seen) = (0_u64, 0_u64, Seen::default());
    for (at, row) in rows().iter().enumerate() {
        for dialect in ["openai-chat", "anthropic"] {
            let plan = plan(row, dialect);
            let whole = play(&plan, Blow::Death, &[]);
            let boundaries = whole.boundaries.len() as u64;
            assert!(boundaries > 10, "{}: {:?}", row.0, whole.boundaries);
            for first in 1..=boundaries {
                let world = play(&plan, Blow::Death, &[first, u64::MAX]);
                seen.look(&world);
                points += 1;
                let end = world.boundaries.len() as u64;
                if leaves_no_trace(row.0) {
                    for turn in 0..plan.turns.len() {
                        assert_eq!(
                            asked(&world, turn),
                            asked(&whole, turn),
                            "{} at {first}",
                            row.0
                        );
                    }
                }
                if row.0 == "reuse" {
                    // A call that finds the outcome of another turn costs no budget, so that the
                    // model is asked once more. The answer is made from the same.
                    for turn in 0..plan.turns.len() {
                        assert_eq!(last(&world, turn), last(&whole, turn), "reuse at {first}");
                    }
                }
                // All pairs of the shorter turns, in one dialect.
                let short = dialect == "openai-chat" && (boundaries < 45 || at == 8);
                for second in first + 1..=end {
                    if short {
                        seen.look(&play(&plan, Blow::Death, &[first, second, u64::MAX]));
                        pairs += 1;
                    }
                }
            }
        }
    }
    println!("{points} deaths and {pairs} pairs of deaths, 0 violations; {seen:?}");
    assert!(seen.unknown > 100 && seen.started_again > 100, "{seen:?}");
    assert!(points > 500 && pairs > 2_000, "{points} {pairs}");
}

/// Behind every death two processes want to go on: one does.
#[test]
fn every_race() {
    let (mut points, mut seen) = (0, Seen::default());
    for row in &rows() {
        let plan = plan(row, "openai-chat");
        let boundaries = play(&plan, Blow::Race, &[]).boundaries.len() as u64;
        for at in 1..=boundaries {
            seen.look(&play(&plan, Blow::Race, &[at]));
            points += 1;
        }
    }
    println!("{points} races, 0 violations; {seen:?}");
    assert!(points > 500 && seen.lost_a_race > 500, "{seen:?}");
}

/// At every boundary another process stops the turn: it is over, and what ran was told.
#[test]
fn every_stop() {
    let (mut points, mut seen) = (0, Seen::default());
    for row in &rows() {
        for dialect in ["openai-chat", "anthropic"] {
            let plan = plan(row, dialect);
            let boundaries = play(&plan, Blow::Death, &[]).boundaries.len() as u64;
            for at in 1..=boundaries {
                seen.look(&play(&plan, Blow::Stop, &[at]));
                points += 1;
            }
        }
    }
    println!("{points} stops, 0 violations; {seen:?}");
    assert!(seen.stopped > 500 && seen.answered_all_the_same > 50, "{seen:?}");
}

/// A turn that paused asks what one that did not asks.
#[test]
fn a_pause_changes_nothing() {
    let find = |name: &str| rows().into_iter().find(|row| row.0 == name).unwrap();
    for dialect in ["openai-chat", "anthropic", "deepseek"] {
        for name in ["pause", "approval", "approval, unified"] {
            let row = find(name);
            let mut pausing = plan(&row, dialect);
            let mut whole = pausing.clone();
            whole.policy["pauseAfterTools"] = json!(false);
            whole.tools["pay"]["needsApproval"] = json!(false);
            for results in ["box", "native"] {
                pausing.policy["resultsAs"] = json!(results);
                whole.policy["resultsAs"] = json!(results);
                let (paused, twin) =
                    (play(&pausing, Blow::Death, &[]), play(&whole, Blow::Death, &[]));
                assert_eq!((paused.legs.len(), twin.legs.len()), (2, 1), "{name}");
                assert_eq!(asked(&paused, 0), asked(&twin, 0), "{name} [{dialect}, {results}]");
            }
        }
    }
}
