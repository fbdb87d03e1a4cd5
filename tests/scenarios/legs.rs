//! Turns with a store: a run, and the legs behind it, each by a new owner.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use turnlock::store::turn_key;
use turnlock::turn::{RestoreOptions, Turn, TurnOptions};

use crate::common::Random;
use crate::lines::{Group, Reduction};
use crate::sim::{Sim, options};
use crate::store::Store;
use crate::{history, met, unmet};

/// What the legs have in common.
struct Legs<'a> {
    scenario: &'a Value,
    dialect: &'a str,
    seed: Option<u64>,
    pause_at: Option<(u64, bool)>,
    store: Store,
    now: u64,
    asked: usize,
    executed: Vec<String>,
    known: BTreeMap<String, String>,
    /// Calls that wait for an approval: id → signature.
    waits: BTreeMap<String, String>,
    /// The `text` and `reasoning` of all legs that stand: what the events say, and where.
    stands: Vec<(u64, Option<String>)>,
    /// The `seq` of what the legs of each turn showed.
    taken: BTreeSet<(String, u64)>,
    count: u64,
    /// What the legs of the first request showed.
    events: Vec<Value>,
}

/// Plays the first run and every leg of `legs`.
pub fn play(scenario: &Value, dialect: &str, seed: Option<u64>) -> Result<(), String> {
    play_and_pause(scenario, dialect, seed, None)
}

/// As [`play`]; somebody elsewhere asks for a pause of the first run, see `Sim::pause_at`.
pub fn play_and_pause(
    scenario: &Value,
    dialect: &str,
    seed: Option<u64>,
    pause_at: Option<(u64, bool)>,
) -> Result<(), String> {
    let mut legs = Legs {
        pause_at,
        scenario,
        dialect,
        seed,
        store: Store::new(""),
        now: 1_000,
        asked: 0,
        executed: Vec::new(),
        known: BTreeMap::new(),
        waits: BTreeMap::new(),
        stands: Vec::new(),
        taken: BTreeSet::new(),
        count: 0,
        events: Vec::new(),
    };
    let first = json!({ "run": true, "facts": scenario["facts"], "expect": scenario["expect"] });
    legs.leg(&first)?;
    for (at, leg) in scenario["legs"].as_array().into_iter().flatten().enumerate() {
        legs.leg(leg).map_err(|failure| format!("leg {}: {failure}", at + 2))?;
    }
    if seed.is_none() {
        history::reads(scenario, &legs.events)?;
    }
    let scripted = scenario["model"].as_array().unwrap().len();
    if legs.asked != scripted {
        return Err(format!("{scripted} requests scripted, {} made", legs.asked));
    }
    Ok(())
}

impl Legs<'_> {
    /// What the owner of a leg gives to the core, and the name of the turn.
    fn options(&mut self, leg: &Value) -> (Value, String) {
        self.count += 1;
        let tenant = leg["tenant"].as_str().unwrap_or("");
        let request = leg["requestId"].as_str().unwrap_or("request-1");
        let mut all = options(self.scenario, self.dialect);
        let owner = format!("owner-0123456789-{}", self.count);
        all["requestId"] = json!(request);
        all["secret"] = json!(format!("0123456789abcdef0123456789-{:05}", self.count));
        all["keep"] = json!({ "owner": owner, "tenant": tenant });
        let key = turn_key(tenant, request);
        if leg.get("run").is_some() {
            return (all, key);
        }
        for own in [
            "mode",
            "policy",
            "messages",
            "projectId",
            "conversationId",
            "strategy",
            "system",
            "answerSchema",
        ] {
            all.as_object_mut().unwrap().remove(own);
        }
        let mut kept = self.store.read(self.now, &key).unwrap_or_default();
        let mut events = Vec::new();
        if !kept.is_null() {
            let state: Value = serde_json::from_str(kept["state"].as_str().unwrap()).unwrap();
            let seq = state["seq"].as_u64().unwrap();
            events = self.store.events(self.now, &key, seq).into_iter().map(|one| one.1).collect();
            if leg["ownerGone"] == true {
                kept["idleMs"] = Value::Null;
            }
        }
        all["resume"] = json!({ "kept": kept, "events": events });
        if let Some(reason) = leg["cancel"].as_str() {
            all["resume"]["cancel"] = json!(reason);
        } else {
            let wish = &leg["resume"];
            all["resume"]["toolBatchId"] = wish["toolBatchId"].clone();
            let approval = |(id, decision): (&String, &Value)| {
                let mut approval = json!({ "signature": self.waits.get(id).unwrap_or(id) });
                match decision.as_object() {
                    Some(members) => approval.as_object_mut().unwrap().extend(members.clone()),
                    None => approval["approved"] = decision.clone(),
                }
                approval
            };
            // The outcome of a page's call is what its tool returns.
            let given = [&wish["approvals"], &wish["outcomes"]];
            let approvals = given.into_iter().filter_map(Value::as_object).flatten().map(approval);
            all["resume"]["approvals"] = approvals.collect();
            all["resume"]["results"] = wish["results"].clone();
        }
        (all, key)
    }

    fn leg(&mut self, leg: &Value) -> Result<(), String> {
        self.now += leg["later"].as_u64().unwrap_or(0);
        let (options, key) = self.options(leg);
        let mut scenario = self.scenario.clone();
        scenario["facts"] = leg["facts"].clone();
        let text = options.to_string();
        let made = if leg.get("run").is_some() {
            TurnOptions::parse(text.as_bytes()).and_then(Turn::new)
        } else {
            RestoreOptions::parse(text.as_bytes()).and_then(Turn::restore)
        };
        let random = self.seed.map(|seed| Random(seed + self.count));
        let mut sim = Sim::with(made.unwrap(), text, &scenario, self.dialect, random);
        sim.kept = Some((std::mem::replace(&mut self.store, Store::new("")), key.clone()));
        (sim.now, sim.asked) = (self.now, self.asked);
        sim.earlier.clone_from(&self.executed);
        sim.pause_at = self.pause_at.take();
        sim.play();
        sim.replays();
        self.store = sim.kept.take().unwrap().0;
        self.now = sim.now;
        self.asked += sim.requests.len();
        self.executed.extend(sim.executed.iter().cloned());
        let terminal = |event: &Value| {
            ["complete", "paused", "cancelled", "error"].contains(&event["type"].as_str().unwrap())
        };
        let ends = sim.events.iter().filter(|event| terminal(event)).count();
        let last = sim.events.last().is_some_and(terminal);
        if sim.crashed != (ends == 0) || ends > 1 || last == sim.crashed {
            return Err(format!("one terminal event, the last: {:?}", sim.events));
        }
        for event in &sim.events {
            let calls = match event["type"].as_str() {
                Some("approval_required") => &event["toolCalls"],
                Some("paused") => &event["calls"],
                _ => continue,
            };
            for call in calls.as_array().into_iter().flatten() {
                let signature = call["signature"].as_str().unwrap().to_owned();
                self.waits.insert(call["id"].as_str().unwrap().to_owned(), signature);
            }
        }
        for event in &sim.events {
            let seq = event["seq"].as_u64().unwrap();
            let new = self.taken.insert((key.clone(), seq));
            if !new && event["type"] != "error" {
                return Err(format!("two events have its seq: {event}"));
            }
        }
        if key == turn_key("", "request-1") {
            self.events.extend(sim.events.iter().cloned());
        }
        for event in &sim.events {
            let seq = event["seq"].as_u64().unwrap();
            if let Some(from) = event["voidFrom"].as_u64() {
                self.stands.retain(|one| one.0 < from);
            }
            let chunk = event["chunk"].as_str().filter(|_| event["type"] == "text");
            self.stands.push((seq, chunk.map(str::to_owned)));
        }
        if let Some(result) = sim.result.as_ref().filter(|_| leg["requestId"].is_null())
            && (result["status"] == "complete" || result["status"] == "paused")
        {
            let stands: String = self.stands.iter().filter_map(|one| one.1.clone()).collect();
            if result["fullContent"] != stands {
                return unmet("fullContent", &json!(stands), &result["fullContent"]);
            }
            // In unified mode, events have results of refused calls too.
            if key == turn_key("", "request-1") && self.scenario["mode"] != "unified" {
                history::agrees(&self.events, Some(result))?;
            }
        }
        if leg.get("cancel").is_some() {
            return self.stopped(&sim, &key, &leg["expect"]);
        }
        let mut reduction = Reduction {
            scenario: self.scenario,
            known: std::mem::take(&mut self.known),
            lines: Vec::new(),
            group: Group::default(),
        };
        sim.events.iter().for_each(|event| reduction.event(event));
        reduction.flush();
        let lines = reduction.lines;
        self.known = reduction.known;
        if sim.crashed != (leg["expect"]["crashed"] == true) {
            return Err(format!("crashed: {}", sim.crashed));
        }
        met(&sim, &lines, &leg["expect"])
    }

    /// What `cancelTurn` says.
    fn stopped(&self, sim: &Sim<'_>, key: &str, expect: &Value) -> Result<(), String> {
        let last = sim.events.last().unwrap();
        let got = match last["code"].as_str() {
            None => json!({ "status": last["type"] }),
            Some("turn.cancelled") => json!({ "status": "cancelled" }),
            Some("turn.conflict") => {
                let kept = self.store.read(self.now, key).unwrap();
                let state: Value = serde_json::from_str(kept["state"].as_str().unwrap()).unwrap();
                json!({ "status": state["status"] })
            }
            Some(code) => json!({ "code": code }),
        };
        if got == *expect { Ok(()) } else { unmet("cancel", expect, &got) }
    }
}
