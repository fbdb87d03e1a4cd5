//! Random plans under random schedules and faults, and the rules that hold in all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use turnlock::chain::{CallKind, Input};

use crate::common::Random;
use crate::sim::{Asked, Sim};

/// Options and a plan; what each call does is drawn while it is played.
pub fn scenario(random: &mut Random) -> Value {
    let count = 1 + random.below(10);
    let ids: Vec<String> = (0..count).map(|at| format!("s{at}")).collect();
    let mut steps = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let depends_on: Vec<&String> = ids[..at].iter().filter(|_| random.below(3) == 0).collect();
        let kind = ["search", "search", "search", "refine", "synthesize"][random.below(5)];
        let mut step =
            json!({ "id": id, "type": kind, "query": format!("q {id}"), "depends_on": depends_on });
        if let Some(other) = depends_on.first() {
            match random.below(8) {
                0 => step["when"] = format!("count(${other}) > 1").into(),
                1 => step["when"] = format!("failed(${other})").into(),
                2 => step["query"] = format!("about ${other}").into(),
                _ => {}
            }
        }
        steps.push(step);
    }
    // Out of order, so that the list says nothing.
    for at in (1..steps.len()).rev() {
        steps.swap(at, random.below(at + 1));
    }
    let costs = random.below(3) == 0;
    let mut options = json!({
        "limits": {
            "maxSteps": 1 + random.below(12), "maxParallel": 1 + random.below(4),
            "maxRetries": random.below(3), "retryMs": random.below(20),
            "stepMs": 20 + random.below(200), "planMs": 100, "totalMs": 50 + random.below(2_000),
            "answerMs": 500, "diminishing": if random.below(2) == 0 { 0.0 } else { 0.8 },
        },
    });
    if costs {
        options["costs"] = json!({ "plan": 0.2, "search": 0.3, "refine": 0.1, "synthesize": 0.4,
            "answer": 0.3, "assess": 0.1 });
        options["limits"]["maxCost"] = (random.below(40) as f64 / 10.0 + 0.4).into();
    }
    let mut scenario = json!({ "options": options });
    scenario["plan"] = match random.below(20) {
        0 => json!("I have no plan"),
        1 => json!({ "steps": [{ "id": 1, "type": "search", "query": "x", "depends_on": [1] }] }),
        _ => json!({ "pattern": "parallel", "steps": steps }),
    };
    for hook in ["assess", "replan", "cache"] {
        if random.below(3) == 0 {
            scenario[hook] = json!([]);
        }
    }
    for hook in ["quality", "short", "enhance"] {
        if random.below(2) == 0 {
            scenario[hook] = json!({});
        }
    }
    scenario["refine"] = json!(random.below(4) > 0);
    scenario["kind"] = ["calm", "faulty"][random.below(2)].into();
    scenario["cancelAt"] =
        if random.below(12) == 0 { json!(random.below(25)) } else { Value::Null };
    scenario
}

/// Plays it; how it ended.
pub fn play(scenario: &Value, mut random: Random) -> String {
    let mut sim = Sim::new(scenario);
    let mut watch = Watch::new(scenario);
    sim.tell(Input::Start);
    let mut told = 0;
    while sim.result.is_none() {
        watch.look(&sim);
        told += 1;
        assert!(told < 5_000, "the chain does not end");
        if scenario["cancelAt"] == told {
            sim.tell(Input::Cancel { reason: "as drawn".into() });
            continue;
        }
        let faulty = scenario["kind"] == "faulty";
        // A late or unknown fact now and then.
        if random.below(10) == 0 {
            let call = 1 + u32::try_from(random.below(30)).unwrap();
            if !sim.open.iter().any(|asked| asked.call == call) {
                sim.tell(Input::returned(call, "[\"late\"]", Some(100.0)));
                continue;
            }
        }
        let waits = sim.open.is_empty() || faulty && random.below(6) == 0;
        if waits {
            let due = sim.until.expect("nothing to wait for");
            assert!(due > sim.now, "a deadline that has passed: {due} at {}", sim.now);
            sim.now = due;
            sim.tell(Input::Timer);
            continue;
        }
        sim.now += u64::try_from(random.below(20)).unwrap();
        let at = random.below(sim.open.len());
        let asked = sim.open.remove(at).unwrap();
        watch.settles(&asked);
        answer(&mut sim, &asked, faulty, &mut random);
    }
    watch.look(&sim);
    // Nothing moves any more.
    let events = sim.events.len();
    for call in 0..60 {
        sim.now += 10;
        sim.tell(Input::returned(call, "1", Some(5.0)));
        sim.tell(Input::Cancel { reason: "again".into() });
        sim.tell(Input::Timer);
    }
    assert_eq!((sim.events.len(), sim.done, sim.until), (events, 1, None));
    watch.end(&sim)
}

fn answer(sim: &mut Sim, asked: &Asked, faulty: bool, random: &mut Random) {
    let call = asked.call;
    if faulty && random.below(4) == 0 {
        let retryable = random.below(3) != 0;
        return sim.tell(failed(call, "y", retryable));
    }
    let value = match asked.kind {
        CallKind::Classify => json!("complex"),
        CallKind::Plan => plan_of(sim),
        CallKind::Assess => json!(random.below(100) as f64 / 100.0),
        CallKind::Condition => json!(true),
        CallKind::Recall if random.below(4) == 0 => json!({ "value": ["kept"], "ageMs": 5 }),
        CallKind::Recall => Value::Null,
        CallKind::Replan => match random.below(4) {
            0 => json!([]),
            1 => {
                let id = format!("n{}", random.below(1000));
                let after = asked.body["plan"]["steps"][0]["id"].clone();
                json!([{ "id": id, "type": "search", "query": format!("new {id}"), "depends_on": [] },
                       { "id": format!("{id}b"), "type": "refine", "depends_on": [id] },
                       { "id": after, "type": "search", "query": "changed" }])
            }
            2 => json!([{ "id": "bad", "type": "search", "query": "x", "depends_on": ["nobody"] }]),
            _ => Value::Null,
        },
        CallKind::Enhance => [json!("better"), json!(7)][random.below(2)].clone(),
        CallKind::Quality => json!(random.below(10)),
        CallKind::SummarizeResult => json!("short"),
        CallKind::Search | CallKind::Refine => {
            let items: Vec<usize> = (0..random.below(5)).map(|_| random.below(40)).collect();
            json!(items)
        }
        CallKind::Answer | CallKind::Synthesize => {
            sim.tell(Input::Chunk { call, text: "text ".into() });
            if faulty && random.below(6) == 0 {
                return sim.tell(failed(call, "cut off", true));
            }
            Value::Null
        }
    };
    sim.returned(call, &value);
}

fn failed(call: u32, message: &str, retryable: bool) -> Input {
    Input::Failed { call, code: "x".into(), message: message.to_owned(), retryable, cost: None }
}

fn plan_of(sim: &Sim) -> Value {
    sim.scenario()["plan"].clone()
}

/// The rules.
struct Watch {
    max_cost: f64,
    parallel: u64,
    max_steps: usize,
    events: usize,
    /// Steps that are done, so that their results are there.
    done: BTreeSet<String>,
    settled: BTreeSet<String>,
    started: BTreeMap<String, u32>,
    /// Step → what it waits for, by the plan of the moment.
    needs: BTreeMap<String, Vec<String>>,
    seq: u64,
    stopped: u32,
    succeeded: BTreeMap<String, u32>,
}

impl Watch {
    fn new(scenario: &Value) -> Self {
        let limits = &scenario["options"]["limits"];
        Self {
            max_cost: limits["maxCost"].as_f64().unwrap_or(f64::INFINITY),
            parallel: limits["maxParallel"].as_u64().unwrap(),
            max_steps: usize::try_from(limits["maxSteps"].as_u64().unwrap()).unwrap(),
            events: 0,
            done: BTreeSet::new(),
            settled: BTreeSet::new(),
            started: BTreeMap::new(),
            needs: BTreeMap::new(),
            seq: 0,
            stopped: 0,
            succeeded: BTreeMap::new(),
        }
    }

    /// A step that is executed was announced.
    fn settles(&self, asked: &Asked) {
        let runs = [CallKind::Search, CallKind::Refine, CallKind::Synthesize];
        if runs.contains(&asked.kind) {
            assert!(self.started.contains_key(&asked.id()), "{} was not announced", asked.id());
            assert!(!self.settled.contains(&asked.id()), "{} runs again", asked.id());
        }
    }

    fn look(&mut self, sim: &Sim) {
        let running = [CallKind::Search, CallKind::Refine, CallKind::Synthesize, CallKind::Recall];
        let flying = sim.open.iter().filter(|asked| running.contains(&asked.kind)).count();
        assert!(flying as u64 <= self.parallel, "{flying} steps at a time");
        let steps: BTreeSet<String> = sim
            .open
            .iter()
            .filter(|one| running.contains(&one.kind) && !one.body["id"].is_null())
            .map(Asked::id)
            .collect();
        let named = sim
            .open
            .iter()
            .filter(|one| running.contains(&one.kind) && !one.body["id"].is_null())
            .count();
        assert_eq!(steps.len(), named, "a step is in flight twice");
        for event in &sim.events[self.events..] {
            assert_eq!(event["seq"], self.seq + 1, "{event}");
            self.seq += 1;
            if let Some(spent) = event["spent"]
                .as_f64()
                .or_else(|| event["cost"].as_f64().filter(|_| event["type"] == "complete"))
            {
                assert!(
                    spent <= self.max_cost + 1e-9,
                    "{spent} of {} spent: {event}",
                    self.max_cost
                );
            }
            let id = event["id"].as_str().unwrap_or_default().to_owned();
            match event["type"].as_str().unwrap() {
                "plan_ready" | "plan_refined" => {
                    self.needs.clear();
                    for step in event["plan"]["steps"].as_array().unwrap() {
                        let needs = step["depends_on"].as_array().unwrap().iter();
                        let needs = needs.map(|id| id.as_str().unwrap().to_owned()).collect();
                        self.needs.insert(step["id"].as_str().unwrap().to_owned(), needs);
                    }
                    // What has started is still there.
                    for id in self.started.keys() {
                        assert!(self.needs.contains_key(id), "{id} is gone");
                    }
                }
                "step_started" => {
                    *self.started.entry(id.clone()).or_default() += 1;
                    assert_eq!(self.started[&id], 1, "{id} was started twice");
                    let last = self.stopped > 0;
                    let needs = &self.needs[&id];
                    assert!(
                        last || needs.iter().all(|need| self.settled.contains(need)),
                        "{id} before its dependencies"
                    );
                    assert!(last || self.started.len() <= self.max_steps, "too many steps");
                }
                "step_done" => {
                    assert!(self.settled.insert(id.clone()), "{id} is done twice");
                    if event["status"] == "done" {
                        assert!(self.started.contains_key(&id), "{id} is done and was not started");
                        *self.succeeded.entry(id.clone()).or_default() += 1;
                        self.done.insert(id);
                    }
                }
                "chain_stopped" => self.stopped += 1,
                "complete" => {
                    assert_eq!(self.events + 1, sim.events.len(), "{event} is not the last")
                }
                _ => {}
            }
            self.events += 1;
        }
    }

    fn end(&self, sim: &Sim) -> String {
        let terminal = sim.events.iter().filter(|event| event["type"] == "complete").count();
        assert_eq!(terminal, 1, "one terminal event");
        assert!(self.stopped <= 1, "stopped twice");
        assert!(self.succeeded.values().all(|count| *count == 1));
        // What was announced has ended, whatever happened.
        for id in self.started.keys() {
            assert!(self.settled.contains(id), "{id} was started and never ended");
        }
        let result = sim.result.as_ref().unwrap();
        let coverage = result["coverage"].as_f64();
        assert!(coverage.is_none_or(|share| (0.0..=1.0).contains(&share)), "{coverage:?}");
        assert_eq!(coverage.is_none(), result["plan"].is_null());
        let shown: String = sim.events.iter().filter_map(|event| event["chunk"].as_str()).collect();
        assert_eq!(result["text"], shown);
        assert!(result["cost"].as_f64().unwrap() <= self.max_cost + 1e-9);
        if result["status"] == "failed" {
            return "failed".to_owned();
        }
        if result["status"] != "cancelled" {
            assert!(!shown.is_empty(), "an answer");
        }
        if !result["fellBack"].is_null() {
            assert_eq!(result["path"], "simple");
            return "fell back".to_owned();
        }
        result["stopped"].as_str().unwrap().to_owned()
    }
}
