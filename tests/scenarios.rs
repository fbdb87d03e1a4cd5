//! The scenario tables, played by a simulated host: no network, no clock, every schedule seeded.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

mod common;

use std::collections::{BTreeMap, VecDeque};

use common::Random;
use serde_json::{Value, json};
use turnlock::Signature;
use turnlock::canon::Json;
use turnlock::turn::{Effect, Input, Settled, Turn, Verdict};

/// A fact on its way to the machine.
#[derive(Debug, Clone)]
enum Fact {
    Head { inference: u32, attempt: u32, status: u16, retry: Option<u64> },
    Bytes { inference: u32, attempt: u32, bytes: Vec<u8> },
    Ended { inference: u32, attempt: u32 },
    Broken { inference: u32, attempt: u32 },
    Checked { call: u32, verdict: Verdict },
    Settled { call: u32, settled: Settled },
    Timer,
    Pause,
    Cancel(String),
}

impl Fact {
    fn input(&self) -> Input<'_> {
        match self {
            Self::Head { inference, attempt, status, retry } => Input::ResponseHead {
                inference: *inference,
                attempt: *attempt,
                status: *status,
                retry_after_ms: *retry,
                body: r#"{"error":{"message":"scripted failure"}}"#,
            },
            Self::Bytes { inference, attempt, bytes } => {
                Input::ResponseBytes { inference: *inference, attempt: *attempt, bytes }
            }
            Self::Ended { inference, attempt } => {
                Input::ResponseEnded { inference: *inference, attempt: *attempt }
            }
            Self::Broken { inference, attempt } => Input::ResponseFailed {
                inference: *inference,
                attempt: *attempt,
                message: "the connection broke",
            },
            Self::Checked { call, verdict } => {
                Input::Checked { call: *call, verdict: verdict.clone() }
            }
            Self::Settled { call, settled } => {
                Input::ToolSettled { call: *call, settled: settled.clone() }
            }
            Self::Timer => Input::Timer,
            Self::Pause => Input::Pause,
            Self::Cancel(reason) => Input::Cancel { reason },
        }
    }
}

/// The host: plays the scenario's model and tools.
struct Sim<'a> {
    scenario: &'a Value,
    dialect: &'a str,
    /// `None`: whole responses, facts in order.
    random: Option<Random>,
    turn: Turn,
    now: u64,
    /// Lanes keep the order of their facts; between lanes any order may happen.
    lanes: Vec<VecDeque<Fact>>,
    /// What the scenario says at this very moment.
    urgent: VecDeque<Fact>,
    requests: Vec<Value>,
    events: Vec<Value>,
    executed: Vec<String>,
    open_tools: BTreeMap<u32, ()>,
    checked_actions: BTreeMap<u32, String>,
    result: Option<Value>,
    /// Everything said to the machine, and everything that it answered.
    tape: Vec<(u64, Fact)>,
    effects: Vec<String>,
}

fn options(scenario: &Value, dialect: &str) -> Value {
    let tools: Vec<Value> = scenario["tools"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, tool)| {
            json!({ "name": name, "description": name, "inputSchema": tool["schema"],
                    "readOnly": tool["readOnly"], "idempotent": tool["idempotent"],
                    "dedupe": tool["dedupe"], "timeoutMs": tool["timeoutMs"],
                    "maxResultBytes": tool["maxResultBytes"], "checks": true })
        })
        .collect();
    let messages = match &scenario["messages"] {
        Value::Null => json!([{ "role": "user", "content": "go" }]),
        messages => messages.clone(),
    };
    json!({ "dialect": dialect, "mode": scenario["mode"], "policy": scenario["policy"],
            "messages": messages, "tools": tools, "requestId": "request-1",
            "projectId": scenario["projectId"], "secret": "00112233445566778899aabbccddeeff",
            "maxRetries": scenario["maxRetries"].as_u64().unwrap_or(0), "trace": true })
}

impl<'a> Sim<'a> {
    fn new(scenario: &'a Value, dialect: &'a str, random: Option<Random>) -> Self {
        let options = options(scenario, dialect).to_string();
        Self {
            scenario,
            dialect,
            random,
            turn: Turn::new(options.as_bytes()).expect("good options"),
            now: 1_000,
            lanes: Vec::new(),
            urgent: VecDeque::new(),
            requests: Vec::new(),
            events: Vec::new(),
            executed: Vec::new(),
            open_tools: BTreeMap::new(),
            checked_actions: BTreeMap::new(),
            result: None,
            tape: Vec::new(),
            effects: Vec::new(),
        }
    }

    fn play(&mut self) {
        self.turn.handle(self.now, Input::Start);
        self.drain();
        // Bounded: a turn that never ends is a failure and not a hang.
        for _ in 0..100_000 {
            if self.result.is_some() {
                return self.after_the_end();
            }
            let fact = self.next_fact();
            self.tell(fact);
        }
        panic!("the turn does not end");
    }

    fn next_fact(&mut self) -> Fact {
        if let Some(fact) = self.urgent.pop_front() {
            return fact;
        }
        self.lanes.retain(|lane| !lane.is_empty());
        if self.lanes.is_empty() {
            self.now = self.turn.next_deadline().expect("a turn that waits has a deadline");
            return Fact::Timer;
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
                    Fact::Bytes { .. } | Fact::Pause | Fact::Cancel(_) | Fact::Ended { .. }
                )
            {
                self.lanes[lane].push_front(fact);
                return old;
            }
        }
        fact
    }

    fn tell(&mut self, fact: Fact) {
        self.turn.handle(self.now, fact.input());
        self.tape.push((self.now, fact));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(effect) = self.turn.poll() {
            assert!(self.result.is_none(), "an effect behind the end: {effect:?}");
            self.effects.push(format!("{effect:?}"));
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Fetch { inference, attempt, body } => self.fetch(inference, attempt, &body),
            Effect::Abort { inference } => {
                let of = |fact: &Fact| match fact {
                    Fact::Bytes { inference, .. }
                    | Fact::Head { inference, .. }
                    | Fact::Ended { inference, .. }
                    | Fact::Broken { inference, .. } => Some(*inference),
                    _ => None,
                };
                self.lanes.retain(|lane| lane.front().and_then(of) != Some(inference));
            }
            Effect::Check { call, name, args } => self.check(call, &name, &args),
            Effect::RunTool { call, name, args, .. } => self.run_tool(call, &name, &args),
            Effect::CancelTool { call, .. } => {
                assert!(self.open_tools.remove(&call).is_some(), "a tool that is not running");
                // It settles all the same, too late.
                let settled = Settled::Ok { text: "\"late\"".to_owned(), bytes: 6 };
                self.lanes.push(VecDeque::from([Fact::Settled { call, settled }]));
            }
            Effect::Emit(event) => self.event(&event),
            Effect::Trace(event) => {
                assert_eq!(event.get("requestId").and_then(Json::as_str), Some("request-1"));
            }
            Effect::Done { result } => {
                self.result = Some(serde_json::from_str(&result.to_text()).unwrap());
            }
        }
    }

    fn fetch(&mut self, inference: u32, attempt: u32, body: &Json<'static>) {
        let entry = self.scenario["model"][self.requests.len()].clone();
        assert!(!entry.is_null(), "an unforeseen request: {}", body.to_text());
        self.requests.push(serde_json::from_str(&body.to_text()).unwrap());
        let mut lane = VecDeque::new();
        if let Some(status) = entry["status"].as_u64() {
            let status = u16::try_from(status).unwrap();
            let retry = entry["retryAfterMs"].as_u64();
            lane.push_back(Fact::Head { inference, attempt, status, retry });
        } else if entry["then"] != "stall_head" {
            lane.push_back(Fact::Head { inference, attempt, status: 200, retry: None });
            for bytes in self.cut(common::render(&entry, self.dialect)) {
                lane.push_back(Fact::Bytes { inference, attempt, bytes });
            }
            match entry["then"].as_str() {
                Some("stall") => {}
                Some("cut") => lane.push_back(Fact::Broken { inference, attempt }),
                _ => lane.push_back(Fact::Ended { inference, attempt }),
            }
        }
        self.lanes.push(lane);
    }

    fn cut(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let Some(random) = &mut self.random else { return vec![bytes] };
        let longest = [1, 7, 64, 400][random.below(4)];
        let mut rest = &bytes[..];
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let (head, tail) = rest.split_at((1 + random.below(longest)).min(rest.len()));
            chunks.push(head.to_vec());
            rest = tail;
        }
        chunks
    }

    fn check(&mut self, call: u32, name: &str, args: &Json<'static>) {
        let tool = &self.scenario["tools"][name];
        let args: Value = serde_json::from_str(&args.to_text()).unwrap();
        let verdict = match misfit(&tool["schema"], &args) {
            Some(errors) => Verdict::Invalid { errors },
            None => {
                let action = tool["action"].as_str().map(|key| match &args[key] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                self.checked_actions.extend(action.clone().map(|action| (call, action)));
                Verdict::Valid { action }
            }
        };
        self.lanes.push(VecDeque::from([Fact::Checked { call, verdict }]));
    }

    fn run_tool(&mut self, call: u32, name: &str, args: &Json<'static>) {
        self.executed.push(format!("{name} {}", args.to_canonical()));
        self.open_tools.insert(call, ());
        let tool = &self.scenario["tools"][name];
        let ok = |text: String| Settled::Ok { bytes: text.len() as u64, text };
        let error = |code: &str, message: &str| Settled::Error {
            code: code.to_owned(),
            message: message.to_owned(),
        };
        let settled = if tool["hangs"] == true {
            return;
        } else if let Some(message) = tool["throws"].as_str() {
            error("tool.threw", message)
        } else if let Some(text) = tool["returnsText"].as_object() {
            let times = usize::try_from(text["times"].as_u64().unwrap()).unwrap();
            ok(Value::from(text["repeat"].as_str().unwrap().repeat(times)).to_string())
        } else {
            match tool["special"].as_str() {
                Some("undefined") => ok("null".to_owned()),
                Some(_) => error("tool.unserializable", "no JSON"),
                None => ok(tool["returns"].to_string()),
            }
        };
        self.lanes.push(VecDeque::from([Fact::Settled { call, settled }]));
    }

    fn event(&mut self, event: &turnlock::trace::Event) {
        let mut text = String::new();
        event.write_json(&mut text);
        let event: Value = serde_json::from_str(&text).unwrap();
        self.events.push(event.clone());
        let count = self.events.iter().filter(|one| one["type"] == event["type"]).count() as u64;
        for fact in self.scenario["facts"].as_array().into_iter().flatten() {
            if fact["after"] == event["type"] && fact["nth"].as_u64().unwrap_or(1) == count {
                let reason = fact["reason"].as_str().unwrap_or("").to_owned();
                let fact = if fact["do"] == "cancel" { Fact::Cancel(reason) } else { Fact::Pause };
                self.urgent.push_back(fact);
            }
        }
    }

    /// Facts that come behind the end change nothing.
    fn after_the_end(&mut self) {
        assert_eq!(self.turn.next_deadline(), None);
        for (_, fact) in self.tape.clone() {
            self.turn.handle(self.now + 1, fact.input());
            assert_eq!(self.turn.poll(), None, "an effect behind the end, after {fact:?}");
        }
    }

    /// The same facts give the same effects, to the byte.
    fn replays(&self) {
        let options = options(self.scenario, self.dialect).to_string();
        let mut turn = Turn::new(options.as_bytes()).unwrap();
        let mut effects = Vec::new();
        let mut drain = |turn: &mut Turn| {
            while let Some(effect) = turn.poll() {
                effects.push(format!("{effect:?}"));
            }
        };
        turn.handle(1_000, Input::Start);
        drain(&mut turn);
        for (now, fact) in &self.tape {
            turn.handle(*now, fact.input());
            drain(&mut turn);
        }
        assert_eq!(effects, self.effects);
    }
}

/// A tiny checker, enough for the tables; hosts bring a real one.
fn misfit(schema: &Value, args: &Value) -> Option<String> {
    for key in schema["required"].as_array().into_iter().flatten() {
        if args.get(key.as_str().unwrap()).is_none() {
            return Some(format!("{key} is missing"));
        }
    }
    for (key, rule) in schema["properties"].as_object().into_iter().flatten() {
        let fits = match (rule["type"].as_str(), args.get(key)) {
            (Some("string"), Some(value)) => value.is_string(),
            (Some("number"), Some(value)) => value.is_number(),
            _ => true,
        };
        if !fits {
            return Some(format!("{key} is of the wrong type"));
        }
    }
    None
}

fn canonical(value: &Value) -> String {
    turnlock::canonicalize(value.to_string().as_bytes()).unwrap()
}

/// Events as lines; see tests/scenarios/README.md.
struct Reduction<'a> {
    scenario: &'a Value,
    /// Signature → the call behind it.
    known: BTreeMap<String, String>,
    lines: Vec<String>,
}

impl Reduction<'_> {
    fn call(&mut self, call: &Value) -> String {
        let name = call["name"].as_str().unwrap();
        let args = canonical(&call["args"]);
        let action = self.scenario["tools"][name]["action"].as_str().and_then(|key| {
            let value = call["args"].get(key)?;
            Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let json = Json::parse_str(&args).unwrap();
        let project = self.scenario["projectId"].as_str();
        let with = Signature::new(name, action.as_deref(), &json, project);
        // A call that was not checked has no action.
        let without = Signature::new(name, None, &json, project);
        let given = call["signature"].as_str().unwrap();
        assert!(given == with.as_str() || given == without.as_str(), "signature of {call}");
        let line = format!("{name} {args}");
        self.known.insert(given.to_owned(), line.clone());
        format!("{} {line}", call["id"].as_str().unwrap())
    }

    fn calls(&mut self, event: &Value) -> String {
        let calls = event["toolCalls"].as_array().unwrap();
        calls.iter().map(|call| self.call(call)).collect::<Vec<_>>().join("; ")
    }

    fn result(&self, result: &Value) -> String {
        assert!(result["durationMs"].is_u64(), "durationMs");
        assert!(self.known.contains_key(result["signature"].as_str().unwrap()));
        let mut line = format!(
            "{} {}",
            result["toolCallId"].as_str().unwrap(),
            result["status"].as_str().unwrap()
        );
        let truncated = result["truncated"] == true;
        if let Some(value) = result.get("result").filter(|_| !truncated) {
            let told = result["status"] == "blocked" || result["status"] == "skipped";
            let text = value.as_str().filter(|_| told);
            let short = text.map(|text| text.split(':').next().unwrap().split(' ').next().unwrap());
            line += &match short {
                Some("DUPLICATE_BLOCKED") => " DUPLICATE_BLOCKED".to_owned(),
                Some(_) => String::new(),
                None => format!(" {}", canonical(value)),
            };
        }
        if let Some(error) = result.get("error") {
            line += &format!(" !{}", error["code"].as_str().unwrap());
        }
        if result["replayed"] == true {
            line += " replayed";
        }
        if truncated {
            line += " truncated";
        }
        line
    }

    fn blocked(&self, event: &Value) -> String {
        let all = event["blockedSignatures"].as_array().unwrap();
        let call = |one: &Value| self.known[one.as_str().unwrap()].clone();
        all.iter().map(call).collect::<Vec<_>>().join("; ")
    }

    fn event(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap();
        let head = format!(
            "{}/{} {kind}",
            event["phase"].as_str().unwrap(),
            event["toolBatchId"].as_u64().unwrap()
        );
        let rest = match kind {
            "text" | "reasoning" => {
                let chunk = event["chunk"].as_str().unwrap();
                if let Some(last) = self.lines.last_mut()
                    && let Some(said) = last.strip_prefix(&format!("{head} "))
                {
                    let said: String = serde_json::from_str(said).unwrap();
                    *last = format!("{head} {}", Value::from(said + chunk));
                    return;
                }
                event["chunk"].to_string()
            }
            "tool_calls" => self.calls(event),
            "tool_results" => {
                let results = event["toolResults"].as_array().unwrap();
                results.iter().map(|one| self.result(one)).collect::<Vec<_>>().join("; ")
            }
            "refused" => {
                let notice = event["notice"].as_str().unwrap();
                assert!(!notice.is_empty());
                let calls = self.calls(event);
                for call in event["toolCalls"].as_array().unwrap() {
                    let args = canonical(&call["args"]);
                    assert!(args == "{}" || !notice.contains(&args), "the notice echoes");
                }
                self.blocked(event);
                format!("{}: {calls}", event["reason"].as_str().unwrap())
            }
            "complete" => {
                let blocked = self.blocked(event);
                let mut rest = event["fullContent"].to_string();
                if !blocked.is_empty() {
                    rest += &format!(" blocked: {blocked}");
                }
                if event["composed"] == true {
                    rest += " composed";
                }
                rest
            }
            "cancelled" => event["reason"].to_string(),
            "error" => {
                let status = event["details"]["status"].as_u64();
                let status = status.map_or_else(String::new, |status| format!(" {status}"));
                format!("{}{status}", event["code"].as_str().unwrap())
            }
            _ => String::new(),
        };
        self.lines.push(format!("{head} {rest}").trim_end().to_owned());
    }
}

fn invariants(sim: &Sim<'_>) {
    let terminal = ["complete", "paused", "cancelled", "error"];
    let order = |phase: &str| match phase {
        "tool_phase" | "unified" => 0,
        "action_phase" => 1,
        _ => 2,
    };
    let mut last = 0;
    let mut cycles = 1;
    for (i, event) in sim.events.iter().enumerate() {
        assert_eq!(event["seq"].as_u64(), Some(i as u64 + 1));
        assert_eq!(event["requestId"], "request-1");
        assert_eq!(event["projectId"], sim.scenario["projectId"]);
        let ends = terminal.contains(&event["type"].as_str().unwrap());
        assert_eq!(ends, i + 1 == sim.events.len(), "one terminal event, the last");
        let phase = order(event["phase"].as_str().unwrap());
        if phase < last {
            assert_eq!(event["type"], "phase_start", "only a cycle goes back");
            cycles += 1;
        }
        last = phase;
    }
    let policy = |key: &str, default| sim.scenario["policy"][key].as_u64().unwrap_or(default);
    assert!(cycles <= policy("maxCycles", 1));
    if sim.scenario["mode"] != "unified" {
        let hybrid = sim.scenario["policy"]["actionTools"].is_array();
        let action = if hybrid { policy("actionMaxTools", 1) } else { 0 };
        let most = (policy("maxTools", 1) + action) * cycles;
        assert!(sim.executed.len() as u64 <= most, "more executions than the budget");
        for pair in sim.events.windows(2) {
            let in_action = pair[1]["type"] == "tool_calls" && pair[1]["phase"] == "action_phase";
            assert!(!in_action || hybrid, "a call in a phase without tools");
        }
    }
}

fn requests(sim: &Sim<'_>, wanted: &Value) {
    for (i, want) in wanted.as_array().into_iter().flatten().enumerate() {
        let Some(got) = sim.requests.get(i) else { panic!("request {} was not made", i + 1) };
        let name = |tool: &Value| tool.get("function").unwrap_or(tool)["name"].clone();
        if let Some(tools) = want.get("tools") {
            let offered: Vec<_> = got["tools"].as_array().into_iter().flatten().map(name).collect();
            assert_eq!(Value::from(offered), *tools, "tools of request {}", i + 1);
        }
        if let Some(choice) = want.get("choice") {
            let said = &got["tool_choice"];
            let said = said.get("type").unwrap_or(said);
            assert_eq!(said, choice, "tool choice of request {}", i + 1);
        }
        let text = got.to_string();
        for part in want["has"].as_array().into_iter().flatten() {
            assert!(
                text.contains(part.as_str().unwrap()),
                "request {} lacks {part}: {text}",
                i + 1
            );
        }
        for part in want["lacks"].as_array().into_iter().flatten() {
            assert!(!text.contains(part.as_str().unwrap()), "request {} has {part}: {text}", i + 1);
        }
    }
}

fn play(scenario: &Value, dialect: &str, seed: Option<u64>) -> Result<(), String> {
    let mut sim = Sim::new(scenario, dialect, seed.map(Random));
    sim.play();
    sim.replays();
    invariants(&sim);
    let mut reduction = Reduction { scenario, known: BTreeMap::new(), lines: Vec::new() };
    sim.events.iter().for_each(|event| reduction.event(event));
    let expect = &scenario["expect"];
    let wanted: Vec<&str> =
        expect["events"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    if reduction.lines != wanted {
        let list =
            |lines: &[String]| lines.iter().map(|l| format!("    {l}\n")).collect::<String>();
        let wanted: Vec<String> = wanted.iter().map(|line| (*line).to_owned()).collect();
        return Err(format!("wanted\n{}  got\n{}", list(&wanted), list(&reduction.lines)));
    }
    let result = sim.result.as_ref().unwrap();
    for key in ["status", "text"] {
        if let Some(want) = expect.get(key)
            && result[key] != *want
        {
            return Err(format!("{key}: wanted {want}, got {}", result[key]));
        }
    }
    if let Some(want) = expect.get("executed")
        && *want != json!(sim.executed)
    {
        return Err(format!("executed: wanted {want}, got {:?}", sim.executed));
    }
    for (key, want) in expect["usage"].as_object().into_iter().flatten() {
        if result["usage"][key] != *want {
            return Err(format!("usage: wanted {want} {key}, got {}", result["usage"]));
        }
    }
    let fetched = scenario["model"].as_array().unwrap().len();
    if sim.requests.len() != fetched {
        return Err(format!("{fetched} requests scripted, {} made", sim.requests.len()));
    }
    requests(&sim, &expect["requests"]);
    Ok(())
}

#[test]
fn tables() {
    let scenarios = common::scenarios();
    assert!(scenarios.len() >= 40, "only {} scenarios", scenarios.len());
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

/// Arguments that parse are not enough: without its end a call may be the half of another.
#[test]
fn a_call_without_its_end_is_never_executed() {
    use turnlock::stream::{Delta, FinishReason};
    let scenario = json!({ "tools": { "list": { "returns": [] } } });
    let options = options(&scenario, "openai-chat").to_string();
    let mut turn = Turn::new(options.as_bytes()).unwrap();
    let (inference, attempt, index) = (1, 1, 0);
    let start = Delta::ToolCallStart { index, id: "c".to_owned(), name: "list".to_owned() };
    let arguments = Delta::ToolCallArguments { index, text: "{}".to_owned() };
    let finish = Delta::Finish { reason: FinishReason::ToolCalls, raw: "tool_calls".to_owned() };
    turn.handle(0, Input::Start);
    turn.handle(0, Input::Deltas { inference, attempt, deltas: vec![start, arguments, finish] });
    turn.handle(0, Input::ResponseEnded { inference, attempt });
    let effects: Vec<_> = std::iter::from_fn(|| turn.poll()).collect();
    let asked = |effect: &Effect| matches!(effect, Effect::Check { .. } | Effect::RunTool { .. });
    assert!(!effects.iter().any(asked), "{effects:?}");
    let refused = effects.iter().any(|effect| format!("{effect:?}").contains("InvalidArguments"));
    assert!(refused, "{effects:?}");
}

/// All calls of a turn share one time: a second batch has what the first one left.
#[test]
fn tools_share_their_time() {
    let scenario = json!({
        "policy": { "maxTools": 2, "toolsTotalMs": 100 },
        "tools": { "slow": { "hangs": true, "timeoutMs": 60 }, "slower": { "hangs": true } },
        "model": [{ "calls": [{ "id": "a", "name": "slow" }] },
                  { "calls": [{ "id": "b", "name": "slower" }] }, { "text": ["ok"] }],
    });
    let mut sim = Sim::new(&scenario, "openai-chat", None);
    sim.play();
    let duration = |n: usize| sim.result.as_ref().unwrap()["toolResults"][n]["durationMs"].as_u64();
    assert_eq!((duration(0), duration(1)), (Some(60), Some(40)));
}

/// A scenario that nobody wrote: any model, any policy, any fault.
fn random_scenario(random: &mut Random) -> Value {
    let pick = |random: &mut Random, all: &[Value]| all[random.below(all.len())].clone();
    let call = |random: &mut Random| {
        let name = ["list", "send", "poll", "boom", "slow", "ghost"][random.below(6)];
        let args = [
            r#"{"n":1}"#,
            r#"{"n":1}"#,
            r#"{ "n" : 1.0 }"#,
            r#"{"n":2}"#,
            "",
            "{",
            "[1]",
            r#"{"n":"x"}"#,
        ];
        json!({ "id": format!("c{}", random.below(4)), "name": name,
                "argsText": args[random.below(args.len())], "fragments": 1 + random.below(3) })
    };
    let entry = |random: &mut Random| {
        if random.below(12) == 0 {
            return json!({ "status": ([400, 429, 500, 503][random.below(4)]), "retryAfterMs": random.below(20) });
        }
        let texts = |random: &mut Random| vec!["word "; random.below(3)];
        let calls: Vec<_> = (0..random.below(4)).map(|_| call(random)).collect();
        let then = match random.below(16) {
            0 => json!("error"),
            1 => json!("malformed"),
            2 => json!("cut"),
            3 => json!("stall"),
            4 => json!("stall_head"),
            _ => Value::Null,
        };
        json!({ "reasoning": texts(random), "text": texts(random), "calls": calls,
                "textAfter": texts(random), "then": then })
    };
    let facts = match random.below(4) {
        0 => {
            let events =
                ["phase_start", "text", "tool_calls", "tool_results", "refused", "phase_end"];
            json!([{ "after": events[random.below(6)], "nth": 1 + random.below(3),
                     "do": (["cancel", "pause"][random.below(2)]), "reason": "fuzz" }])
        }
        _ => json!([]),
    };
    let schema = json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    json!({
        "mode": pick(random, &[json!("two_stage"), json!("two_stage"), json!("unified")]),
        "maxRetries": random.below(3),
        "policy": {
            "maxTools": random.below(4), "actionMaxTools": random.below(3),
            "freeze": (["auto", "first_call", "batch"][random.below(3)]),
            "actionTools": pick(random, &[json!([]), json!(["list"]), json!(["poll", "send"])]),
            "maxCycles": 1 + random.below(2), "maxSteps": 1 + random.below(5),
            "pauseAfterTools": random.below(8) == 0,
            "resultsAs": (["system_box", "native"][random.below(2)]),
            "toolsTotalMs": 1 + random.below(200), "turnMs": 1 + random.below(300_000),
        },
        "tools": {
            "list": { "readOnly": true, "schema": schema, "returns": ["a"] },
            "send": { "schema": schema, "returns": null },
            "poll": { "dedupe": "allow", "returns": 1 },
            "boom": { "throws": "no" },
            "slow": { "hangs": true, "timeoutMs": 50 },
        },
        "model": (0..60).map(|_| entry(random)).collect::<Vec<_>>(),
        "facts": facts,
    })
}

/// Rules that hold in every run, under every fault.
fn rules(sim: &Sim<'_>) {
    let policy = |key: &str| sim.scenario["policy"][key].as_u64().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for call in &sim.executed {
        assert!(call.ends_with('}'), "arguments that are no object: {call}");
        assert!(seen.insert(call) || call.starts_with("poll "), "executed twice: {call}");
    }
    let result = sim.result.as_ref().unwrap();
    let inferences = result["inferences"].as_u64().unwrap();
    let most = if sim.scenario["mode"] == "unified" {
        policy("maxSteps")
    } else {
        (policy("maxTools") + 1 + policy("actionMaxTools") + 2) * policy("maxCycles")
    };
    assert!(inferences <= most, "{inferences} inferences, at most {most}");
    // Every call that was shown got exactly one result, in its batch.
    let ids = |kind: &str, list: &str, id: &str| -> Vec<String> {
        let events = sim.events.iter().filter(|event| event["type"] == kind);
        let of = |event: &Value| -> Vec<String> {
            let batch = event["toolBatchId"].as_u64().unwrap();
            let items = event[list].as_array().unwrap();
            items.iter().map(|item| format!("{batch}/{}", item[id].as_str().unwrap())).collect()
        };
        events.flat_map(of).collect()
    };
    let calls = ids("tool_calls", "toolCalls", "id");
    assert_eq!(calls, ids("tool_results", "toolResults", "toolCallId"));
    let distinct: std::collections::BTreeSet<_> = calls.iter().collect();
    assert_eq!(distinct.len(), calls.len(), "two outcomes under one key");
    // What was shown is what the result holds.
    let said = |event: &Value| {
        event["chunk"].as_str().filter(|_| event["type"] == "text").map(str::to_owned)
    };
    let shown: String = sim.events.iter().filter_map(said).collect();
    assert_eq!(result["fullContent"], shown);
    assert!(result["status"] == "failed" || result["error"].is_null());
    if result["status"] == "complete" && sim.scenario["mode"] == "two_stage" {
        let answered = sim.events.iter().any(|event| event["phase"] == "action_phase");
        assert!(!answered || !result["text"].as_str().unwrap().trim().is_empty(), "no answer");
    }
}

#[test]
fn random_turns_keep_the_rules() {
    let mut statuses: BTreeMap<String, u32> = BTreeMap::new();
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(6_000_u64);
    for seed in 1..=seeds {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let scenario = random_scenario(&mut random);
        let dialect = ["openai-chat", "anthropic", "deepseek"][random.below(3)];
        let played = std::panic::catch_unwind(|| {
            let mut sim = Sim::new(&scenario, dialect, Some(Random(seed)));
            sim.play();
            sim.replays();
            invariants(&sim);
            rules(&sim);
            sim.result.unwrap()["status"].as_str().unwrap().to_owned()
        });
        let Ok(status) = played else { panic!("seed {seed} [{dialect}]: {scenario}") };
        *statuses.entry(status).or_default() += 1;
    }
    // Each end of a turn was reached, and often.
    assert_eq!(statuses.len(), 4, "{statuses:?}");
    assert!(statuses.values().all(|count| *count > 100), "{statuses:?}");
}
