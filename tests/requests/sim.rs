//! A simulated host of a pass: plays a scenario's model and tools, with a clock of its own.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};
use turnlock::Next;
use turnlock::json::Json;
use turnlock::planning::{Pass, PassEffect, PassEvent, PassOptions};
use turnlock::signature::Signature;
use turnlock::turn::{Effect, Input, Verdict};

use crate::common::Random;
use crate::common::facts::{self, accepted, cut, late, misfit, response, settled};

/// The default of `maxReasonChars`.
const REASON: u64 = 200;
/// What a pass returns before its start and after its end.
const END: Next<PassEffect> = Next::Wait { until: None };

pub struct Sim<'a> {
    pub scenario: &'a Value,
    pub dialect: &'a str,
    /// `None`: whole responses, facts in order.
    pub random: Option<Random>,
    pub pass: Pass,
    /// Until when the pass waits.
    until: Option<u64>,
    pub now: u64,
    lanes: Vec<VecDeque<Input>>,
    urgent: VecDeque<Input>,
    pub requests: Vec<Value>,
    pub traces: Vec<Value>,
    pub executed: Vec<String>,
    open_tools: BTreeSet<u32>,
    pub result: Option<Value>,
    tape: Vec<(u64, Input)>,
    pub effects: Vec<String>,
}

pub fn options(scenario: &Value, dialect: &str) -> Value {
    let tools: Vec<Value> = scenario["tools"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, tool)| {
            json!({ "name": name, "description": name, "inputSchema": tool["schema"],
                    "readOnly": tool["readOnly"], "timeoutMs": tool["timeoutMs"],
                    "maxResultBytes": tool["maxResultBytes"], "checks": true })
        })
        .collect();
    let input = match &scenario["input"] {
        Value::Null => json!({ "symbol": "BTC", "global_context": { "regime": "calm" } }),
        input => input.clone(),
    };
    let mut options = json!({
        "dialect": dialect, "input": input, "tools": tools, "policy": scenario["policy"],
        "maxRetries": scenario["maxRetries"].as_u64().unwrap_or(0), "trace": true,
        "replay": replay(&scenario["replay"]), "strict": scenario["strict"], "startedAt": 5_000,
        "whole": scenario["whole"],
    });
    for (pass, option) in [("request", "requestPrompt"), ("plan", "planPrompt")] {
        if let Some(text) = scenario["prompts"][pass].as_str() {
            options[option] = json!({ "id": "custom", "text": text });
        }
    }
    if scenario["replay"].is_null() {
        options["planId"] = "plan-1".into();
        options["runId"] = "run-1".into();
        options["secret"] = "00112233445566778899aabbccddeeff".into();
    }
    options
}

/// A recording as a table writes it, with signatures instead of calls.
fn replay(entries: &Value) -> Value {
    let entry = |entry: &Value| {
        let params = entry["params"].to_string();
        let tool = entry["tool_name"].as_str().unwrap();
        let signature = Signature::of_text(tool, None, params.as_bytes(), None).unwrap();
        let mut entry = entry.clone();
        entry["signature"] = signature.as_str().into();
        entry
    };
    entries.as_array().map_or(Value::Null, |all| all.iter().map(entry).collect())
}

impl<'a> Sim<'a> {
    pub fn new(scenario: &'a Value, dialect: &'a str, random: Option<Random>) -> Self {
        let options = options(scenario, dialect).to_string();
        Self {
            scenario,
            dialect,
            random,
            pass: PassOptions::parse(options.as_bytes()).and_then(Pass::new).expect("good options"),
            until: None,
            now: 1_000,
            lanes: Vec::new(),
            urgent: VecDeque::new(),
            requests: Vec::new(),
            traces: Vec::new(),
            executed: Vec::new(),
            open_tools: BTreeSet::new(),
            result: None,
            tape: Vec::new(),
            effects: Vec::new(),
        }
    }

    pub fn play(&mut self) -> &Value {
        assert_eq!(self.pass.poll(), END, "nothing is due before the start");
        self.pass.handle(self.now, Input::Start);
        self.drain();
        // Bounded: a pass that never ends is a failure and not a hang.
        for _ in 0..100_000 {
            if self.result.is_some() {
                self.after_the_end();
                return self.result.as_ref().unwrap();
            }
            let fact = self.next_fact();
            self.pass.handle(self.now, fact.clone());
            self.tape.push((self.now, fact));
            self.drain();
        }
        panic!("the pass does not end");
    }

    fn next_fact(&mut self) -> Input {
        if let Some(fact) = self.urgent.pop_front() {
            return fact;
        }
        self.lanes.retain(|lane| !lane.is_empty());
        if self.lanes.is_empty() {
            self.now = self.until.expect("a pass that waits has a deadline");
            return Input::Timer;
        }
        let lane = match &mut self.random {
            Some(random) => random.below(self.lanes.len()),
            None => 0,
        };
        let fact = self.lanes[lane].pop_front().unwrap();
        if let Some(random) = &mut self.random {
            self.now += random.below(3) as u64;
            // Late and repeated facts must change nothing.
            if random.below(8) == 0
                && let Some((_, old)) = self.tape.get(random.below(self.tape.len() + 1)).cloned()
                && !matches!(
                    old,
                    Input::ResponseBytes { .. }
                        | Input::Cancel { .. }
                        | Input::ResponseEnded { .. }
                )
            {
                self.lanes[lane].push_front(fact);
                return old;
            }
        }
        fact
    }

    fn drain(&mut self) {
        loop {
            let effect = match self.pass.poll() {
                Next::Effect(effect) => effect,
                Next::Wait { until } => {
                    self.until = until;
                    return;
                }
            };
            assert!(self.result.is_none(), "an effect behind the end: {effect:?}");
            self.effects.push(format!("{effect:?}"));
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: PassEffect) {
        match effect {
            Effect::Fetch { inference, attempt, request, .. } => {
                self.fetch(inference, attempt, &request.body)
            }
            Effect::Abort { inference } => {
                let of = |lane: &VecDeque<Input>| lane.front().and_then(facts::inference);
                self.lanes.retain(|lane| of(lane) != Some(inference));
            }
            Effect::Check { call, name, args } => {
                let args: Value = serde_json::from_str(&args.to_text()).unwrap();
                let tool = &self.scenario["tools"][&name];
                let verdict = match misfit(&tool["schema"], &args) {
                    Some(errors) => Verdict::Invalid { errors },
                    None => {
                        let approval = tool["needsApproval"] == true;
                        Verdict::Valid { action: None, args: None, approval }
                    }
                };
                self.lanes.push(VecDeque::from([Input::Checked { call, verdict }]));
            }
            Effect::RunTool { call, name, args, .. } => self.run_tool(call, &name, &args),
            Effect::CancelTool { call, .. } => {
                assert!(self.open_tools.remove(&call), "a tool that is not running");
                self.lanes.push(VecDeque::from([late(call)]));
            }
            Effect::Trace(event) => self.trace(event),
            Effect::Done { mut result } => {
                if self.scenario["whole"] == true {
                    result.cut(REASON);
                }
                self.result = Some(serde_json::from_str(&result.to_json().to_text()).unwrap());
            }
            _ => panic!("not an effect of a pass: {effect:?}"),
        }
    }

    fn fetch(&mut self, inference: u32, attempt: u32, body: &Json<'static>) {
        let mut entry = self.scenario["model"][self.requests.len()].clone();
        assert!(!entry.is_null(), "an unforeseen request: {}", body.to_text());
        if let Some(says) = entry.get("says") {
            entry["text"] = json!([says.to_string()]);
        }
        self.requests.push(serde_json::from_str(&body.to_text()).unwrap());
        accepted(body, self.dialect);
        let cut = |bytes| cut(&mut self.random, bytes);
        self.lanes.push(response(&entry, self.dialect, (inference, attempt), cut));
    }

    fn run_tool(&mut self, call: u32, name: &str, args: &Json<'static>) {
        self.executed.push(format!("{name} {}", args.to_canonical()));
        assert!(self.open_tools.insert(call), "started twice");
        let tool = &self.scenario["tools"][name];
        let Some(settled) = settled(tool) else { return };
        self.lanes.push(VecDeque::from([Input::ToolSettled { call, settled }]));
    }

    fn trace(&mut self, mut event: PassEvent) {
        assert_eq!(PassEvent::from_json(event.to_json()).as_ref(), Ok(&event));
        if self.scenario["whole"] == true {
            event.cut(REASON);
        }
        let event: Value = serde_json::from_str(&event.to_json().to_text()).unwrap();
        if self.scenario["cancel"] == event["type"] {
            self.urgent.push_back(Input::Cancel { reason: "user".to_owned() });
        }
        self.traces.push(event);
    }

    /// Facts that come behind the end change nothing.
    fn after_the_end(&mut self) {
        assert_eq!(self.pass.poll(), END);
        for (_, fact) in self.tape.clone() {
            self.pass.handle(self.now + 1, fact.clone());
            assert_eq!(self.pass.poll(), END, "an effect behind the end, after {fact:?}");
        }
    }

    /// The same facts give the same effects, to the byte.
    pub fn replays(&self) {
        let options = options(self.scenario, self.dialect).to_string();
        let mut pass = PassOptions::parse(options.as_bytes()).and_then(Pass::new).unwrap();
        let mut effects = Vec::new();
        let mut drain = |pass: &mut Pass| {
            while let Next::Effect(effect) = pass.poll() {
                effects.push(format!("{effect:?}"));
            }
        };
        pass.handle(1_000, Input::Start);
        drain(&mut pass);
        for (now, fact) in &self.tape {
            pass.handle(*now, fact.clone());
            drain(&mut pass);
        }
        assert_eq!(effects, self.effects);
    }
}
