//! Walks the table of `src/turn/machine.rs` cell by cell: random hosts send every input in every
//! state. A transition that is not in the table fails, and so does a cell that no host reaches.
//!
//! This file is a part of the crate's unit tests, because states are not public.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::durable::Durable;
use super::machine::Machine;
use super::progress::End;
use super::{
    Approval, Effect, Failure, Input, RestoreOptions, Settled, Turn, TurnOptions, Verdict,
};
use crate::dialect::Dialect;
use crate::json::Json;
use crate::next::Next;
use crate::store::{Commit, CommitResult, StoredOutcome, StoredTurn};
use crate::stream::{Delta, ErrorClass, FinishReason, StreamError, Usage};
use crate::tool::Outcome;

const STATES: [&str; 8] =
    ["Idle", "Asking", "Waiting", "Taking", "Checking", "Running", "Judging", "Over"];
const HOSTS: u64 = 260_000;
/// The seed of the first: from here on, so many reach every cell.
const FIRST: u64 = 700_000;

/// By input and state: the states that follow.
type Table = BTreeMap<(&'static str, &'static str), BTreeSet<&'static str>>;

/// The table of the documentation.
fn documented() -> Table {
    let mut table = Table::new();
    let lines = include_str!("../../src/turn/machine.rs").lines();
    for line in lines.filter_map(|line| line.strip_prefix("//! | `")) {
        let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        for (state, cell) in STATES.iter().zip(&cells[1..]) {
            let next = cell.split(' ').filter(|letter| !letter.is_empty()).map(|letter| {
                let named = STATES.iter().find(|name| name.starts_with(letter));
                if letter == "·" { *state } else { named.expect("a state") }
            });
            let next = next.collect::<BTreeSet<_>>();
            if !next.is_empty() {
                table.insert((cells[0], *state), next);
            }
        }
    }
    table
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }

    fn one(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

fn options(random: &mut Random) -> String {
    let mode = random.pick(&["two_stage", "unified"]);
    let read_mode = random.pick(&["auto", "auto", "first_call", "batch"]);
    let (tools, steps, cycles) = (random.below(4), 1 + random.below(3), 1 + random.below(2));
    let allowed = random.pick(&["", "\"read\"", "\"read\",\"send\""]);
    let pause = random.one(6);
    let reads = random.pick(&["", r#","checks":true"#, r#","reuseMs":1000"#]);
    let sends = random.pick(&["", r#","checks":true"#]);
    let retries = random.below(3);
    let schema = random.pick(&["null", "null", "{}"]);
    format!(
        r#"{{"dialect":"openai-chat","mode":"{mode}","requestId":"r","maxRetries":{retries},
            "answerSchema":{schema},
            "secret":"00112233445566778899aabbccddeeff","messages":[{{"role":"user","content":"go"}}],
            "policy":{{"readMode":"{read_mode}","maxTools":{tools},"maxSteps":{steps},"maxCycles":{cycles},
                "actionTools":[{allowed}],"pauseAfterTools":{pause}}},
            "keep":{{"owner":"0123456789abcdef"}},
            "tools":[{{"name":"read","readOnly":true{reads}}},{{"name":"send"{sends}}}]}}"#
    )
}

/// A host: what it knows of the turn, and the inputs that will follow.
struct Host {
    random: Random,
    now: u64,
    inference: (u32, u32),
    calls: u32,
    coming: VecDeque<Input>,
    /// Its responses have calls, and often no end: the turn is mostly `Taking`.
    busy: bool,
}

impl Host {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let busy = random.one(2);
        Self { random, now: 0, inference: (0, 0), calls: 0, coming: VecDeque::new(), busy }
    }

    fn deltas(&mut self) -> Vec<Delta> {
        let random = &mut self.random;
        let mut deltas = Vec::new();
        if random.one(2) {
            let text = random.pick(&["word ", "1"]);
            deltas.push(Delta::Text(text.to_owned()));
        }
        let calls = if self.busy { [1, 2, 2, 3] } else { [0, 1, 1, 2] };
        for index in 0..u32::try_from(calls[random.below(4)]).unwrap() {
            let name = random.pick(&["read", "read", "send", "ghost"]).to_owned();
            deltas.push(Delta::ToolCallStart { index, id: "c".to_owned(), name });
            let text = random.pick(&["{}", "{\"n\":1}", "{\"n\":"]).to_owned();
            deltas.push(Delta::ToolCallArguments { index, text });
            deltas.push(Delta::ToolCallEnd { index });
        }
        if random.one(8) {
            let (class, message) = (ErrorClass::Overloaded, String::new());
            deltas.push(Delta::Error(StreamError { class, message, raw: "null".to_owned() }));
        }
        if random.one(if self.busy { 6 } else { 2 }) {
            let stop = [FinishReason::Stop, FinishReason::Error][usize::from(random.one(12))];
            deltas.push(Delta::Finish { reason: stop, raw: stop.name().to_owned() });
        }
        deltas
    }

    /// Any input, about the current request and some call.
    fn any(&mut self) -> Input {
        let (inference, attempt) = self.inference;
        let call = u32::try_from(self.random.below(self.calls as usize + 1)).unwrap();
        match self.random.below(18) {
            0 => Input::Start,
            1 => {
                let status = [200, 400, 429][self.random.below(3)];
                let body = self.random.pick(&["", ALTERNATE]).to_owned();
                Input::ResponseHead {
                    inference,
                    attempt,
                    status,
                    retry_after_ms: None,
                    body,
                    hint: None,
                    secrets: Vec::new(),
                }
            }
            2 => {
                let bytes = self.random.pick(&["data: {", TEXT, CALL, ERROR]).into();
                Input::ResponseBytes { inference, attempt, bytes }
            }
            3 => Input::Deltas { inference, attempt, deltas: self.deltas() },
            4 => Input::HeldBack { inference, attempt },
            5 => Input::ResponseEnded { inference, attempt },
            6 => Input::ResponseFailed {
                inference,
                attempt,
                message: "broke".to_owned(),
                thrown: false,
                code: self.random.one(4).then(|| "replay.miss".to_owned()),
            },
            7 => Input::Checked { call, verdict: self.verdict() },
            8 => {
                let found = || StoredOutcome::new(String::new(), 0);
                Input::Recalled { call, found: self.random.one(2).then(found) }
            }
            9 => Input::Stored { revision: 1, attempt: 1, answer: CommitResult::Stored },
            10 => Input::ToolSettled { call, settled: settled() },
            11 => Input::ToolProgress { call, data: Json::Null },
            12 => Input::Verify,
            13 => Input::Pause,
            15 => Input::ToolUsage { call, usage: Usage::default() },
            16 => {
                let (body, mut repairs) = (Json::Null, Vec::new());
                if self.random.one(2) {
                    repairs = crate::history::repair(DIALECT, &mut merged(), ALTERNATE);
                }
                Input::Repaired { inference, attempt, body, repairs }
            }
            14 if self.random.one(4) => Input::Cancel { reason: "user".to_owned() },
            _ => Input::Timer,
        }
    }

    fn verdict(&mut self) -> Verdict {
        match self.random.below(4) {
            0 => Verdict::Invalid { errors: String::new() },
            one => Verdict::Valid { action: None, args: None, approval: one == 1 },
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Fetch { inference, attempt, .. } => {
                self.inference = (inference, attempt);
                let mut deltas = self.deltas();
                let rest = deltas.split_off(self.random.below(deltas.len() + 1));
                self.coming.push_back(Input::Deltas { inference, attempt, deltas });
                self.coming.push_back(Input::Deltas { inference, attempt, deltas: rest });
                self.coming.push_back(Input::ResponseEnded { inference, attempt });
            }
            Effect::Repair { inference, attempt, mut body, refusal, .. } => {
                self.inference = (inference, attempt);
                let mut repairs = crate::history::repair(DIALECT, &mut body, &refusal);
                if self.random.one(2) {
                    repairs = crate::history::repair(DIALECT, &mut merged(), ALTERNATE);
                }
                self.coming.push_back(Input::Repaired { inference, attempt, body, repairs });
            }
            Effect::Check { call, .. } => {
                self.calls = self.calls.max(call);
                let verdict = self.verdict();
                self.coming.push_back(Input::Checked { call, verdict });
            }
            Effect::Recall { call, .. } => {
                self.calls = self.calls.max(call);
                self.coming.push_back(Input::Recalled { call, found: None });
            }
            Effect::RunTool { call, .. } => {
                self.calls = self.calls.max(call);
                self.coming.push_back(Input::ToolSettled { call, settled: settled() });
            }
            _ => {}
        }
    }

    /// Lets some time pass; sometimes until a deadline.
    fn wait(&mut self, deadline: Option<u64>) {
        self.now += self.random.below(3) as u64;
        if self.random.one(if self.busy { 3 } else { 8 }) {
            let late = [0, 0, if self.busy { 0 } else { 400_000 }][self.random.below(3)];
            self.now = self.now.max(deadline.unwrap_or(0)) + late;
        }
    }
}

/// A refusal of a history, and a body that has the fault.
const ALTERNATE: &str = "roles must alternate user/assistant";
const DIALECT: Dialect = Dialect::OpenAiChat;

fn merged() -> Json<'static> {
    let said = r#"{"role":"user","content":"go"}"#;
    Json::parse_str(&format!(r#"{{"messages":[{said},{said}]}}"#)).unwrap().into_owned()
}

/// A text, and the end of a response.
const TEXT: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"1\"},\"finish_reason\":\"stop\"}]}\n\n";
/// A call, and the end of a response.
const CALL: &str = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\
    \"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
/// An error that a later attempt may not have.
const ERROR: &str = "data: {\"error\":{\"message\":\"\",\"code\":529}}\n\n";

fn settled() -> Settled {
    Settled::Ok { text: "1".to_owned(), bytes: 1 }
}

/// The name of an input.
const fn name(input: &Input) -> &'static str {
    match input {
        Input::Start => "Start",
        Input::ResponseHead { .. } => "ResponseHead",
        Input::ResponseBytes { .. } => "ResponseBytes",
        Input::Deltas { .. } => "Deltas",
        Input::HeldBack { .. } => "HeldBack",
        Input::Repaired { .. } => "Repaired",
        Input::ResponseEnded { .. } => "ResponseEnded",
        Input::ResponseFailed { .. } => "ResponseFailed",
        Input::Checked { .. } => "Checked",
        Input::Recalled { .. } => "Recalled",
        Input::Stored { .. } => "Stored",
        Input::ToolSettled { .. } => "ToolSettled",
        Input::ToolProgress { .. } => "ToolProgress",
        Input::ToolUsage { .. } => "ToolUsage",
        Input::Timer => "Timer",
        Input::Pause => "Pause",
        Input::Verify => "Verify",
        Input::Cancel { .. } => "Cancel",
    }
}

struct Walk {
    host: Host,
    machine: Machine,
    cells: Table,
}

impl Walk {
    /// Does something to the machine, and notes the transition.
    fn step(&mut self, input: &'static str, act: impl FnOnce(&mut Machine)) {
        let before = self.machine.state();
        act(&mut self.machine);
        self.cells.entry((input, before)).or_default().insert(self.machine.state());
    }

    fn tell(&mut self, input: Input) {
        self.host.wait(self.machine.deadline());
        self.machine.record_mut().advance(self.host.now);
        // What the time brings is not the input's.
        self.step("Timer", Machine::expire);
        match input {
            Input::Timer => return self.perform(),
            Input::Recalled { call, found } => {
                let found = found.map(|_| (Outcome::returned("1", 1, 9), 0));
                self.step("Recalled", |machine| machine.recall(call, found));
            }
            input => self.step(name(&input), |machine| machine.take(input)),
        }
        self.step("Timer", Machine::expire);
        self.perform();
    }

    fn perform(&mut self) {
        for effect in self.machine.record_mut().drain() {
            self.host.perform(effect);
        }
    }

    fn play(&mut self) {
        for _ in 0..60 {
            if self.host.random.one(60) && !self.machine.is_idle() {
                let end = match self.host.random.below(2) {
                    0 => End::Cancelled("elsewhere".to_owned()),
                    _ => End::Failed(Failure::new("turn.conflict", "")),
                };
                self.step("lose", |machine| drop(machine.lose(end, 0, 0, false)));
            }
            let input = match self.host.random.below(3) {
                0 => self.host.any(),
                _ => self.host.coming.pop_front().unwrap_or_else(|| self.host.any()),
            };
            self.tell(input);
        }
    }
}

/// A stored turn, as it is after some inputs: the options of a turn that resumes it.
fn stored(host: &mut Host) -> RestoreOptions {
    let options = options(&mut host.random);
    let mut turn = TurnOptions::parse(options.as_bytes()).and_then(Turn::new).unwrap();
    let (mut kept, mut events) = (StoredTurn { open: true, ..StoredTurn::default() }, Vec::new());
    let mut write = |commit: &Commit| {
        (kept.revision, kept.open) = (commit.revision, commit.open);
        kept.state = commit.state.clone().unwrap_or_else(|| kept.state.clone());
        kept.records.extend(commit.records.iter().cloned());
        events.extend(commit.events.iter().map(|(_, text)| text.clone()));
    };
    host.coming.push_back(Input::Start);
    for _ in 0..host.random.below(30) {
        let Some(input) = host.coming.pop_front() else { break };
        turn.handle(host.now, input);
        while let Next::Effect(effect) = turn.poll() {
            if let Effect::Commit { attempt, commit } = &effect {
                write(commit);
                let (revision, attempt, answer) = (commit.revision, *attempt, CommitResult::Stored);
                host.coming.push_front(Input::Stored { revision, attempt, answer });
            }
            host.perform(effect);
        }
    }
    host.coming.clear();
    let given = TurnOptions::parse(options.as_bytes()).unwrap();
    let waits = kept.record("batch/1").and_then(|text| Json::parse_str(text).ok());
    let approve = |call: &Json<'_>| {
        let args = call.get("args").unwrap();
        let name = call.get("name").and_then(Json::as_str).unwrap();
        let signature = crate::Signature::new(name, None, args, None);
        let reason = host.now.is_multiple_of(3).then(|| "not now".to_owned());
        Approval::new(signature.as_str(), host.now.is_multiple_of(2)).reason(reason)
    };
    let waits = waits.as_ref().and_then(|batch| batch.get("awaiting")?.as_array());
    let approvals = waits.into_iter().flatten().map(approve).collect();
    let cancel = host.random.one(6).then(|| "user".to_owned());
    let keep = given.keep.unwrap();
    let mut restored =
        RestoreOptions::new(given.request_id, given.secret, keep, Some(kept.clone()));
    restored.resume = restored.resume.events(events).approvals(approvals).cancel(cancel);
    restored.tools(given.tools).max_retries(given.max_retries).trace(given.trace)
}

fn walk(seed: u64, cells: Table) -> Table {
    let mut host = Host::new(seed);
    if host.random.one(2) {
        let options = TurnOptions::parse(options(&mut host.random).as_bytes()).unwrap();
        let mut walk = Walk { host, machine: Machine::new(options).unwrap(), cells };
        walk.play();
        return walk.cells;
    }
    let (machine, entry) = Durable::restore(stored(&mut host)).unwrap().into_parts();
    let mut walk = Walk { host, machine, cells };
    walk.step("resume", |machine| machine.resume(entry.unwrap()));
    for effect in walk.machine.record_mut().drain() {
        walk.host.perform(effect);
    }
    walk.play();
    walk.cells
}

/// A table, as the documentation shows it.
fn text(table: &Table) -> String {
    let inputs: BTreeSet<&str> = table.keys().map(|(input, _)| *input).collect();
    let row = |input: &&str| {
        let cells = STATES.map(|state| {
            let next = table.get(&(*input, state));
            let follows = |to: &str| next.is_some_and(|next| next.contains(to));
            let follow = STATES.iter().filter(|to| follows(to));
            let letters: Vec<&str> = follow.map(|to| to.get(..1).unwrap()).collect();
            let stays = next.is_some_and(|next| next.len() == 1 && next.contains(state));
            if stays { "·".to_owned() } else { letters.join(" ") }
        });
        format!("//! | `{input}` | {} |\n", cells.join(" | "))
    };
    inputs.iter().map(row).collect()
}

#[test]
fn the_table_is_what_happens() {
    let seeds = FIRST..FIRST + HOSTS;
    let walked = seeds.fold(Table::new(), |cells, seed| walk(seed, cells));
    let documented = documented();
    let cells: BTreeSet<_> = walked.keys().chain(documented.keys()).collect();
    let differs = |cell: &&&(&str, &str)| walked.get(**cell) != documented.get(**cell);
    let wrong: Vec<_> = cells.iter().filter(differs).collect();
    assert!(wrong.is_empty(), "{wrong:?} differ; what happens is\n{}", text(&walked));
}
