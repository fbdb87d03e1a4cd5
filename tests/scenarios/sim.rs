//! A simulated host: plays a scenario's model and tools, with a clock of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};
use turnlock::Next;
use turnlock::json::Json;
use turnlock::store::{Commit, CommitResult, StoredOutcome};
use turnlock::stream::Usage;
use turnlock::turn::shell::Unkept;
use turnlock::turn::{Effect, Input, RestoreOptions, Settled, Turn, TurnOptions, Verdict};

use crate::common::Random;
use crate::common::facts::{self, accepted, cut, late, misfit, response, settled};
use crate::store::Store;

/// What a turn that is over returns.
const END: Next<Effect> = Next::Wait { until: None };

/// What `complete` and the result both say.
const SHARED: [&str; 10] = [
    "text",
    "object",
    "fullContent",
    "blockedSignatures",
    "repeats",
    "usage",
    "composed",
    "finishReason",
    "rawFinishReason",
    "model",
];

/// The host: plays the scenario's model and tools.
pub struct Sim<'a> {
    pub scenario: &'a Value,
    pub dialect: &'a str,
    /// `None`: whole responses, facts in order.
    pub random: Option<Random>,
    pub turn: Turn,
    /// Until when the turn waits.
    pub until: Option<u64>,
    pub now: u64,
    pub began: u64,
    /// Lanes keep the order of their facts; between lanes any order may happen.
    pub lanes: Vec<VecDeque<Input>>,
    /// What the scenario says at this very moment.
    pub urgent: VecDeque<Input>,
    pub requests: Vec<Value>,
    /// The wire of each request.
    pub wires: Vec<String>,
    pub events: Vec<Value>,
    pub traces: Vec<Value>,
    /// The inferences that were asked for.
    pub inferences: BTreeSet<u32>,
    pub executed: Vec<String>,
    pub open_tools: BTreeMap<u32, ()>,
    pub checked_actions: BTreeMap<u32, String>,
    pub result: Option<Value>,
    /// What was given to the machine.
    pub options: String,
    /// With a store: the store, and the name of the turn in it.
    pub kept: Option<(Store, String)>,
    /// Entries of the model that earlier legs have used, and executions of theirs.
    pub asked: usize,
    pub earlier: Vec<String>,
    /// At this commit, somebody elsewhere asks for a pause: before it, or behind it, and then its
    /// answer is lost.
    pub pause_at: Option<(u64, bool)>,
    /// The process died.
    pub crashed: bool,
    /// Everything said to the machine, and everything that it answered.
    pub tape: Vec<(u64, Input)>,
    pub effects: Vec<String>,
}

pub fn options(scenario: &Value, dialect: &str) -> Value {
    let tools: Vec<Value> = scenario["tools"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, tool)| {
            json!({ "name": name, "description": name, "inputSchema": tool["schema"],
                    "readOnly": tool["readOnly"], "idempotent": tool["idempotent"],
                    "dedupe": tool["dedupe"], "timeoutMs": tool["timeoutMs"],
                    "maxResultBytes": tool["maxResultBytes"], "untrusted": tool["untrusted"], "reuseMs": tool["reuseMs"], "maxCalls": tool["maxCalls"],
                    "reconciles": tool["reconciles"].is_object() || tool["reconciles"].is_string(),
                    "page": tool["page"] == true, "checks": true })
        })
        .collect();
    let messages = match &scenario["messages"] {
        Value::Null => json!([{ "role": "user", "content": "go" }]),
        messages => messages.clone(),
    };
    let retries = scenario["maxRetries"].as_u64().unwrap_or(0);
    let fallback = |(place, wire): (usize, &Value)| {
        let name = format!("fallback-{}", place + 1);
        json!({ "dialect": wire, "model": name, "maxRetries": retries })
    };
    let fallbacks = scenario["fallbacks"].as_array().into_iter().flatten().enumerate();
    let fallbacks: Vec<_> = fallbacks.map(fallback).collect();
    json!({ "dialect": dialect, "fallbacks": fallbacks, "mode": scenario["mode"], "policy": scenario["policy"],
            "messages": messages, "tools": tools, "requestId": "request-1",
            "projectId": scenario["projectId"], "conversationId": scenario["conversationId"],
            "strategy": scenario["strategy"], "system": scenario["system"],
            "answerSchema": scenario["answerSchema"], "secret": "00112233445566778899aabbccddeeff",
            "maxRetries": retries, "repairOnError": scenario["repairOnError"], "trace": true })
}

/// What `pauseTurn` does.
fn ask_for_pause(store: &mut Store, now: u64, key: &str) {
    let Some(kept) = store.read(now, key) else { return };
    let mut state: Value = serde_json::from_str(kept["state"].as_str().unwrap()).unwrap();
    if state["status"] != "running" || state["pause"].is_u64() {
        return;
    }
    let revision = kept["revision"].as_u64().unwrap() + 1;
    state["pause"] = json!(revision);
    state["pausedBy"] = json!("somebody-elsewhere");
    let commit = Commit {
        owner: "somebody-elsewhere".to_owned(),
        revision,
        take_over: true,
        replaces: kept["owner"].as_str().map(str::to_owned),
        open: true,
        state: Some(state.to_string()),
        ttl_ms: state["ttlMs"].as_u64().unwrap(),
        ..Commit::default()
    };
    assert_eq!(store.commit(now, key, &commit).1, CommitResult::Stored);
}

impl<'a> Sim<'a> {
    pub fn new(scenario: &'a Value, dialect: &'a str, random: Option<Random>) -> Self {
        let options = options(scenario, dialect).to_string();
        let turn =
            TurnOptions::parse(options.as_bytes()).and_then(Turn::new).expect("good options");
        Self::with(turn, options, scenario, dialect, random)
    }

    pub fn with(
        turn: Turn,
        options: String,
        scenario: &'a Value,
        dialect: &'a str,
        random: Option<Random>,
    ) -> Self {
        Self {
            scenario,
            dialect,
            random,
            options,
            kept: None,
            asked: 0,
            earlier: Vec::new(),
            pause_at: None,
            crashed: false,
            turn,
            until: None,
            now: 1_000,
            began: 1_000,
            lanes: Vec::new(),
            urgent: VecDeque::new(),
            requests: Vec::new(),
            wires: Vec::new(),
            events: Vec::new(),
            traces: Vec::new(),
            inferences: BTreeSet::new(),
            executed: Vec::new(),
            open_tools: BTreeMap::new(),
            checked_actions: BTreeMap::new(),
            result: None,
            tape: Vec::new(),
            effects: Vec::new(),
        }
    }

    pub fn play(&mut self) {
        self.began = self.now;
        self.turn.handle(self.now, Input::Start);
        self.drain();
        // Bounded: a turn that never ends is a failure and not a hang.
        for _ in 0..100_000 {
            if self.crashed {
                return;
            }
            if self.result.is_some() {
                return self.after_the_end();
            }
            let fact = self.next_fact();
            self.tell(fact);
        }
        panic!("the turn does not end");
    }

    pub fn next_fact(&mut self) -> Input {
        if let Some(fact) = self.urgent.pop_front() {
            return fact;
        }
        self.lanes.retain(|lane| !lane.is_empty());
        if self.lanes.is_empty() {
            self.now = self.until.expect("a turn that waits has a deadline");
            return Input::Timer;
        }
        let lane = match &mut self.random {
            Some(random) => random.below(self.lanes.len()),
            None => 0,
        };
        let fact = self.lanes[lane].pop_front().unwrap();
        if let Some(random) = &mut self.random {
            // Late and repeated facts must change nothing.
            if random.below(8) == 0
                && let Some((_, old)) = self.tape.get(random.below(self.tape.len() + 1)).cloned()
                && !matches!(
                    old,
                    Input::ResponseBytes { .. }
                        | Input::Pause
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

    pub fn tell(&mut self, fact: Input) {
        self.turn.handle(self.now, fact.clone());
        self.tape.push((self.now, fact));
        self.drain();
    }

    pub fn drain(&mut self) {
        loop {
            let effect = match self.turn.poll() {
                Next::Effect(effect) => effect,
                Next::Wait { until } => {
                    self.until = until;
                    return;
                }
            };
            assert!(self.result.is_none(), "an effect behind the end: {effect:?}");
            self.effects.push(format!("{effect:?}"));
            self.perform(effect);
            if self.crashed {
                return;
            }
        }
    }

    pub fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Fetch { inference, attempt, model, request } => {
                self.inferences.insert(inference);
                self.fetch(self.wire(model), (inference, attempt), &request.body)
            }
            Effect::Repair { inference, attempt, model, mut body, refusal } => {
                let dialect = turnlock::Dialect::parse(self.wire(model)).unwrap();
                let repairs = turnlock::history::repair(dialect, &mut body, &refusal);
                let repaired = Input::Repaired { inference, attempt, body, repairs };
                self.lanes.push(VecDeque::from([repaired]));
            }
            Effect::Abort { inference } => {
                let of = |lane: &VecDeque<Input>| lane.front().and_then(facts::inference);
                self.lanes.retain(|lane| of(lane) != Some(inference));
            }
            Effect::Check { call, name, args } => self.check(call, &name, &args),
            Effect::RunTool { call, name, args, signed, .. } => {
                self.run_tool(call, &name, signed.as_ref().unwrap_or(&args));
            }
            Effect::Reconcile { call, about, .. } => self.reconcile(call, &about.name),
            Effect::CancelTool { call, .. } => {
                assert!(self.open_tools.remove(&call).is_some(), "a tool that is not running");
                self.lanes.push(VecDeque::from([late(call)]));
            }
            Effect::Commit { attempt, commit } => {
                let (store, key) = self.kept.as_mut().expect("a turn without a store");
                let pause = self.pause_at.filter(|(at, _)| *at == commit.revision && attempt == 1);
                if pause.is_some_and(|(_, behind)| !behind) {
                    self.pause_at = None;
                    ask_for_pause(store, self.now, key);
                }
                let (_, answer) = store.commit(self.now, key, &commit);
                if pause.is_some_and(|(_, behind)| behind) {
                    self.pause_at = None;
                    ask_for_pause(store, self.now, key);
                    return;
                }
                let revision = commit.revision;
                self.lanes.push(VecDeque::from([Input::Stored { revision, attempt, answer }]));
            }
            Effect::Recall { call, key } => {
                let (store, _) = self.kept.as_mut().expect("a turn without a store");
                let found = store.recall(self.now, &key);
                let found = found.map(|(text, age_ms)| StoredOutcome::new(text, age_ms));
                self.lanes.push(VecDeque::from([Input::Recalled { call, found }]));
            }
            Effect::Emit(event) => self.event(&event),
            Effect::Trace(event) => {
                let request = &event.request_id;
                assert!(self.options.contains(&format!("\"requestId\":\"{request}\"")));
                self.traces.push(serde_json::from_str(&event.to_json().to_text()).unwrap());
            }
            Effect::Done { result } => {
                let result: Value = serde_json::from_str(&result.to_json().to_text()).unwrap();
                if let Some(last) = self.events.last().filter(|_| result["status"] == "complete") {
                    for name in SHARED {
                        assert_eq!(
                            last[name], result[name],
                            "{name} of complete and of the result"
                        );
                    }
                }
                self.result = Some(result);
            }
        }
    }

    /// The wire of a model.
    fn wire(&self, model: u32) -> &'a str {
        match model {
            0 => self.dialect,
            place => self.scenario["fallbacks"][place as usize - 1].as_str().unwrap(),
        }
    }

    pub fn fetch(&mut self, wire: &str, of: (u32, u32), body: &Json<'static>) {
        let entry = self.scenario["model"][self.asked + self.requests.len()].clone();
        assert!(!entry.is_null(), "an unforeseen request: {}", body.to_text());
        self.requests.push(serde_json::from_str(&body.to_text()).unwrap());
        self.wires.push(wire.to_owned());
        accepted(body, wire);
        let cut = |bytes| cut(&mut self.random, bytes);
        self.lanes.push(response(&entry, wire, of, cut));
    }

    pub fn check(&mut self, call: u32, name: &str, args: &Json<'static>) {
        let tool = &self.scenario["tools"][name];
        let schema = if call == 0 { &self.scenario["answerSchema"] } else { &tool["schema"] };
        let args: Value = serde_json::from_str(&args.to_text()).unwrap();
        let verdict = match misfit(schema, &args) {
            Some(errors) => Verdict::Invalid { errors },
            None => {
                let action = tool["action"].as_str().map(|key| match &args[key] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                self.checked_actions.extend(action.clone().map(|action| (call, action)));
                let args = tool["fills"].as_object().map(|fills| {
                    let mut filled = fills.clone();
                    filled.extend(args.as_object().unwrap().clone());
                    Json::parse_str(&Value::Object(filled).to_string()).unwrap().into_owned()
                });
                let approval = tool["needsApproval"] == true || tool["page"] == true;
                match tool["denies"].as_str() {
                    Some(reason) => Verdict::Denied { action, args, reason: reason.to_owned() },
                    None => Verdict::Valid { action, args, approval },
                }
            }
        };
        self.lanes.push(VecDeque::from([Input::Checked { call, verdict }]));
    }

    pub fn run_tool(&mut self, call: u32, name: &str, args: &Json<'static>) {
        self.executed.push(format!("{name} {}", args.to_canonical()));
        self.open_tools.insert(call, ());
        let tool = &self.scenario["tools"][name];
        let starts = self.earlier.iter().chain(&self.executed);
        let starts = starts.filter(|one| one.split(' ').next() == Some(name)).count() as u64;
        if tool["crashes"].as_u64().is_some_and(|times| starts <= times) {
            self.crashed = true;
            return;
        }
        let Some(settled) = settled(tool) else { return };
        let spent = tool["spends"].as_object().map(|usage| {
            let tokens = |name: &str| usage.get(name).and_then(Value::as_u64);
            let usage = Usage {
                input_tokens: tokens("inputTokens"),
                output_tokens: tokens("outputTokens"),
                ..Usage::default()
            };
            Input::ToolUsage { call, usage }
        });
        let settled = Input::ToolSettled { call, settled };
        self.lanes.push(spent.into_iter().chain([settled]).collect());
    }

    /// Says what became of a call that may have run.
    fn reconcile(&mut self, call: u32, name: &str) {
        self.open_tools.insert(call, ());
        let answer = &self.scenario["tools"][name]["reconciles"];
        if answer == "hangs" {
            return;
        }
        let settled = if let Some(result) = answer.get("result") {
            let text = result.to_string();
            Settled::Ok { bytes: text.len() as u64, text }
        } else if let Some(message) = answer["error"].as_str() {
            Settled::Error { code: "tool.threw".to_owned(), message: message.to_owned() }
        } else {
            let why = answer["throws"].as_str().unwrap_or_default().to_owned();
            Settled::Unknown { why }
        };
        self.lanes.push(VecDeque::from([Input::ToolSettled { call, settled }]));
    }

    pub fn event(&mut self, event: &turnlock::turn::Event) {
        let mut text = String::new();
        event.write_json(&mut text);
        let event: Value = serde_json::from_str(&text).unwrap();
        self.events.push(event.clone());
        let count = self.events.iter().filter(|one| one["type"] == event["type"]).count() as u64;
        for fact in self.scenario["facts"].as_array().into_iter().flatten() {
            if fact["after"] == event["type"] && fact["nth"].as_u64().unwrap_or(1) == count {
                let reason = fact["reason"].as_str().unwrap_or("").to_owned();
                let fact =
                    if fact["do"] == "cancel" { Input::Cancel { reason } } else { Input::Pause };
                self.urgent.push_back(fact);
            }
        }
    }

    /// Facts that come behind the end change nothing.
    pub fn after_the_end(&mut self) {
        assert_eq!(self.turn.poll(), END);
        for (_, fact) in self.tape.clone() {
            self.turn.handle(self.now + 1, fact.clone());
            assert_eq!(self.turn.poll(), END, "an effect behind the end, after {fact:?}");
        }
    }

    /// The same facts give the same effects, to the byte.
    pub fn replays(&self) {
        let bytes = self.options.as_bytes();
        let restored = self.options.contains("\"resume\":{");
        let mut turn = if restored {
            RestoreOptions::parse(bytes).and_then(Turn::restore)
        } else {
            TurnOptions::parse(bytes).and_then(Turn::new)
        }
        .unwrap();
        let mut effects = Vec::new();
        let mut drain = |turn: &mut Turn| {
            while let Next::Effect(effect) = turn.poll() {
                effects.push(format!("{effect:?}"));
            }
        };
        turn.handle(self.began, Input::Start);
        drain(&mut turn);
        for (now, fact) in &self.tape {
            turn.handle(*now, fact.clone());
            drain(&mut turn);
        }
        if self.crashed {
            // Nothing was polled behind the effect that killed the process.
            effects.truncate(self.effects.len());
        }
        assert_eq!(effects, self.effects);
        self.small();
    }

    /// So does the turn of the small core, where it takes the history.
    fn small(&self) {
        let parsed = TurnOptions::parse(self.options.as_bytes());
        let Ok(Some(mut turn)) = parsed.and_then(Unkept::new) else { return };
        let mut effects = Vec::new();
        let start = (self.began, Input::Start);
        for (now, fact) in std::iter::once(&start).chain(&self.tape) {
            turn.handle(*now, fact.clone());
            while let Next::Effect(effect) = turn.poll() {
                effects.push(format!("{effect:?}"));
            }
        }
        assert_eq!(effects, self.effects);
    }
}
