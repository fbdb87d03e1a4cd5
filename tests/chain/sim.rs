//! A host without I/O: it plays a table, or answers as a schedule says.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};
use turnlock::Next;
use turnlock::chain::{CallKind, Chain, ChainOptions, Effect, Input};

#[derive(Debug, Clone)]
pub struct Asked {
    pub call: u32,
    pub kind: CallKind,
    pub body: Value,
}

impl Asked {
    pub fn id(&self) -> String {
        shown(&self.body["id"])
    }
}

#[derive(Debug)]
pub struct Sim {
    scenario: Value,
    pub chain: Chain,
    pub now: u64,
    /// Until when the chain waits.
    pub until: Option<u64>,
    pub open: VecDeque<Asked>,
    pub events: Vec<Value>,
    pub result: Option<Value>,
    asked: BTreeMap<String, u64>,
    tries: BTreeMap<String, u64>,
    settled: Vec<String>,
    cache: Vec<(String, Value, u64)>,
    pub done: u32,
}

pub fn options(scenario: &Value) -> Value {
    let query = scenario.get("query").cloned();
    let mut options = scenario.get("options").cloned().unwrap_or_else(|| json!({}));
    options["query"] =
        query.unwrap_or_else(|| "Compare the two, and say which one came first.".into());
    let has = |key: &str| scenario.get(key).is_some();
    options["hooks"] = json!({
        "classify": scenario.get("classify").is_none_or(|classify| !classify.is_null()),
        "assess": has("assess"), "replan": has("replan"), "condition": has("condition"),
        "cache": has("cache"), "quality": has("quality"), "summarizeResult": has("short"),
        "enhance": has("enhance"),
        "refine": scenario["refine"] != false,
    });
    options
}

impl Sim {
    pub fn new(scenario: &Value) -> Self {
        let options = ChainOptions::parse(options(scenario).to_string().as_bytes());
        let chain = options.and_then(Chain::new);
        Self {
            scenario: scenario.clone(),
            chain: chain.unwrap_or_else(|error| panic!("{error}")),
            now: 0,
            until: None,
            open: VecDeque::new(),
            events: Vec::new(),
            result: None,
            asked: BTreeMap::new(),
            tries: BTreeMap::new(),
            settled: Vec::new(),
            cache: Vec::new(),
            done: 0,
        }
    }

    pub fn table(scenario: &Value) -> Self {
        let mut sim = Self::new(scenario);
        for entry in scenario["cache"].as_array().into_iter().flatten() {
            let key = turnlock::canonicalize(entry["key"].to_string().as_bytes()).unwrap();
            sim.cache.push((key, entry["value"].clone(), entry["ageMs"].as_u64().unwrap()));
        }
        sim
    }

    pub fn scenario(&self) -> &Value {
        &self.scenario
    }

    /// Tells a fact, and takes what follows from it.
    pub fn tell(&mut self, input: Input) {
        self.chain.handle(self.now, input);
        self.drain();
    }

    fn drain(&mut self) {
        loop {
            let effect = match self.chain.poll() {
                Next::Effect(effect) => effect,
                Next::Wait { until } => {
                    self.until = until;
                    return;
                }
            };
            match effect {
                Effect::Call { call, body } => {
                    let kind = body.kind();
                    let body = serde_json::from_str(&body.to_json().to_text()).unwrap();
                    if kind != CallKind::Recall {
                        *self.asked.entry(kind.name().to_owned()).or_default() += 1;
                    }
                    self.open.push_back(Asked { call, kind, body });
                }
                Effect::Abort { call, .. } => self.open.retain(|asked| asked.call != call),
                Effect::Remember { key, value } => {
                    self.cache.push((key, serde_json::from_str(&value.to_text()).unwrap(), 0));
                }
                Effect::Emit(event) => {
                    let event: Value = serde_json::from_str(&event.to_json().to_text()).unwrap();
                    self.events.push(event);
                }
                Effect::Done(result) => {
                    self.done += 1;
                    self.result = Some(serde_json::from_str(&result.to_json().to_text()).unwrap());
                }
            }
        }
    }

    /// Plays a table: calls settle in order, those that wait for others behind them.
    pub fn play(&mut self) {
        self.tell(Input::Start);
        let mut seen = 0;
        for _ in 0..10_000 {
            let on = self.scenario["cancelOn"].as_str().map(str::to_owned);
            while let Some(event) = self.events.get(seen) {
                seen += 1;
                if on.as_deref() == Some(&name(event)) {
                    self.tell(Input::Cancel { reason: "as scripted".into() });
                }
            }
            if self.result.is_some() {
                return;
            }
            let ready = self.open.iter().position(|asked| self.settles(asked));
            if let Some(at) = ready {
                let asked = self.open.remove(at).unwrap();
                self.answer(&asked);
            } else {
                self.now = self.until.expect("nothing to wait for");
                self.tell(Input::Timer);
            }
        }
        panic!("the chain does not end");
    }

    fn script(&self, asked: &Asked) -> Value {
        let missing = Value::Null;
        let script = match asked.kind {
            CallKind::Plan => &self.scenario["plan"],
            CallKind::Answer => &self.scenario["answer"],
            CallKind::Synthesize if asked.body["final"] == true => &self.scenario["synthesize"],
            CallKind::Search | CallKind::Refine | CallKind::Synthesize => {
                &self.scenario["calls"][&asked.id()]
            }
            _ => &missing,
        };
        script.clone()
    }

    fn settles(&self, asked: &Asked) -> bool {
        let script = self.script(asked);
        let after = script["after"].as_array().into_iter().flatten();
        let waits = after.filter(|id| !self.settled.iter().any(|done| *done == **id)).count();
        script["hangs"] != true && waits == 0
    }

    fn answer(&mut self, asked: &Asked) {
        let kind = asked.kind.name();
        let mut script = self.script(asked);
        if asked.kind == CallKind::Plan
            && let Some(plans) = self.scenario["plans"].as_array()
        {
            let at = asked.body["attempt"].as_u64().unwrap() - 1;
            script = plans[usize::try_from(at).unwrap()].clone();
        }
        let n = self.asked.get(kind).map_or(0, |n| n - 1);
        let id = format!("{kind} {}", asked.id());
        let tries = self.tries.entry(id).or_default();
        *tries += 1;
        let tries = *tries;
        self.settled.push(asked.id());
        if let Some(message) = script["fails"].as_str()
            && tries <= script["times"].as_u64().unwrap_or(u64::MAX)
        {
            let retryable = script["retryable"] != false;
            let (call, code, message) = (asked.call, "threw".into(), message.to_owned());
            let cost = self.spends(asked);
            return self.tell(Input::Failed { call, code, message, retryable, cost });
        }
        let streams = asked.kind == CallKind::Answer || asked.body["final"] == true;
        if streams {
            let pieces = match script.as_array() {
                Some(pieces) => {
                    pieces.iter().map(|piece| piece.as_str().unwrap().to_owned()).collect()
                }
                None => vec![written(&asked.body)],
            };
            for text in pieces {
                let before = self.events.len();
                self.tell(Input::Chunk { call: asked.call, text });
                if self.scenario["cancelOn"] == "text" && self.events.len() > before {
                    return self.tell(Input::Cancel { reason: "as scripted".into() });
                }
            }
            let cost = self.spends(asked);
            return self.tell(Input::returned(asked.call, "null", cost));
        }
        let nth = |list: &Value, last: bool| {
            let list = list.as_array().cloned().unwrap_or_default();
            let at = usize::try_from(n).unwrap();
            let at = if last { at.min(list.len().saturating_sub(1)) } else { at };
            list.get(at).cloned().unwrap_or_default()
        };
        let value = match asked.kind {
            CallKind::Plan => script,
            CallKind::Classify => {
                self.scenario.get("classify").cloned().unwrap_or_else(|| "complex".into())
            }
            CallKind::Assess => nth(&self.scenario["assess"], true),
            CallKind::Enhance => {
                self.scenario["enhance"][&shown(&asked.body["step"]["id"])].clone()
            }
            CallKind::Quality => self.scenario["quality"][&asked.id()].clone(),
            CallKind::SummarizeResult => self.scenario["short"][&asked.id()].clone(),
            CallKind::Replan => nth(&self.scenario["replan"], false),
            CallKind::Condition => self.scenario["condition"][&asked.id()].clone(),
            CallKind::Recall => {
                let key = asked.body["key"].as_str().unwrap();
                let found = self.cache.iter().find(|(known, ..)| known == key);
                found.map_or(Value::Null, |(_, value, age)| json!({ "value": value, "ageMs": age }))
            }
            _ => script.get("returns").cloned().unwrap_or_else(|| {
                let said = asked.body["query"].as_str().unwrap_or_default();
                let said = asked.body["task"].as_str().unwrap_or(said);
                json!([format!("{}: {said}", asked.id())])
            }),
        };
        let cost = self.spends(asked);
        self.tell(Input::returned(asked.call, &value.to_string(), cost));
    }

    /// What a call reports with `spend`.
    fn spends(&self, asked: &Asked) -> Option<f64> {
        let plan = asked.kind == CallKind::Plan;
        let id = if plan { "plan".to_owned() } else { asked.id() };
        self.scenario["spends"][id].as_f64()
    }

    pub fn returned(&mut self, call: u32, value: &Value) {
        self.tell(Input::returned(call, &value.to_string(), None));
    }

    /// What is expected and is not so.
    pub fn compare(&self, expected: &Value) -> Vec<String> {
        let result = self.result.as_ref().unwrap();
        let mut wrong = Vec::new();
        let mut same = |key: &str, want: &Value, got: Value| {
            if *want != got {
                wrong.push(format!("{key}: expected {want}, found {got}"));
            }
        };
        let step = |id: &str| {
            let of = |step: &&Value| shown(&step["id"]) == id;
            result["steps"].as_array().unwrap().iter().find(of).cloned().unwrap_or_default()
        };
        for (key, want) in expected.as_object().unwrap() {
            match key.as_str() {
                "events" => {
                    let mut names: Vec<String> = self.events.iter().map(name).collect();
                    names.dedup_by(|a, b| a == "text" && b == "text");
                    same(key, want, json!(names));
                }
                "asked" => same(key, want, json!(self.asked)),
                "fellBack" => same(key, want, result["fellBack"]["code"].clone()),
                "cost" => same(key, &json!(want.as_f64()), json!(result["cost"].as_f64())),
                "steps" => {
                    for (id, want) in want.as_object().unwrap() {
                        let step = step(id);
                        let status = step["status"].as_str().unwrap_or("none");
                        let got = match step["reason"].as_str() {
                            Some(reason) => format!("{status}:{reason}"),
                            None if step["cached"] == true => format!("{status}:cached"),
                            None => status.to_owned(),
                        };
                        same(id, want, got.into());
                    }
                }
                "costs" => {
                    for (id, want) in want.as_object().unwrap() {
                        same(id, &json!(want.as_f64()), json!(step(id)["cost"].as_f64()));
                    }
                }
                "queries" => {
                    for (id, want) in want.as_object().unwrap() {
                        same(id, want, step(id)["query"].clone());
                    }
                }
                key => same(key, want, result[key].clone()),
            }
        }
        for key in self.scenario["kept"].as_array().into_iter().flatten() {
            let key = turnlock::canonicalize(key.to_string().as_bytes()).unwrap();
            if !self.cache.iter().any(|(known, ..)| *known == key) {
                wrong.push(format!("not kept: {key}"));
            }
        }
        wrong
    }
}

fn written(body: &Value) -> String {
    let ids = |key: &str| {
        let list = body[key].as_array().into_iter().flatten();
        list.map(|one| shown(&one["id"])).collect::<Vec<_>>().join(",")
    };
    match ids("missing") {
        missing if missing.is_empty() => format!("from {}", ids("results")),
        missing => format!("from {} without {missing}", ids("results")),
    }
}

pub fn name(event: &Value) -> String {
    let id = shown(&event["id"]);
    let text = |key: &str| event[key].as_str().unwrap().to_owned();
    match event["type"].as_str().unwrap() {
        "step_done" => format!("step_done {id} {}", text("status")),
        "step_started" => format!("step_started {id}"),
        "chain_stopped" => format!("chain_stopped {}", text("reason")),
        "complete" => format!("complete {}", text("status")),
        other => other.to_owned(),
    }
}

/// An id as text.
fn shown(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}
