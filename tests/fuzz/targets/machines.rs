//! The machines: options of any text, and inputs in any order.

use std::collections::VecDeque;

use turnlock::chain::{self, Chain, ChainOptions};
use turnlock::evidence::{self, Bundle, BundleOptions, Outcome};
use turnlock::history::HistoryOptions;
use turnlock::json::Json;
use turnlock::planning::PassOptions;
use turnlock::store::CommitResult;
use turnlock::turn::{
    Effect, EventKind, Input, PhaseName, RestoreOptions, Settled, Turn, TurnOptions, Verdict,
};
use turnlock::{Dialect, Next};

use super::Bytes;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const STATUSES: [u16; 6] = [200, 400, 404, 429, 500, 529];
/// Inputs of a run: what a machine does with more of them, it has done before.
const STEPS: usize = 400;

/// Options are read or refused, never more.
pub(super) fn options(data: &[u8]) {
    let _ = TurnOptions::parse(data).and_then(Turn::new);
    let _ = RestoreOptions::parse(data).and_then(Turn::restore);
    let _ = BundleOptions::parse(data).and_then(Bundle::new);
    let _ = ChainOptions::parse(data).and_then(Chain::new);
    let _ = PassOptions::parse(data);
    let _ = HistoryOptions::parse(data);
}

fn tools() -> &'static str {
    r#"[{"name":"list","description":"d","inputSchema":{"type":"object"},"readOnly":true},
        {"name":"send","description":"d","inputSchema":{"type":"object"}},
        {"name":"pay","description":"d","inputSchema":{"type":"object"},"idempotent":true}]"#
}

/// What the host of a turn has to answer, and what the turn has promised.
#[derive(Default)]
struct Host {
    facts: VecDeque<Input>,
    asked: Option<(u32, u32)>,
    running: Vec<u32>,
    runs: u64,
    budget: u64,
    seq: u64,
    ended: bool,
    over: bool,
    approves: bool,
    stores: bool,
}

impl Host {
    fn perform(&mut self, effect: Effect) {
        assert!(!self.over, "an effect behind the end: {effect:?}");
        match effect {
            Effect::Fetch { inference, attempt, .. } => self.asked = Some((inference, attempt)),
            Effect::Abort { .. } => self.asked = None,
            Effect::Check { call, .. } => {
                let verdict = Verdict::Valid { action: None, args: None, approval: self.approves };
                self.facts.push_back(Input::Checked { call, verdict });
            }
            Effect::Recall { call, .. } => {
                self.facts.push_back(Input::Recalled { call, found: None });
            }
            Effect::Commit { attempt, commit } => {
                let code = "store.unavailable".to_owned();
                let failed = CommitResult::Failed { code, message: String::new() };
                let answer = if self.stores { CommitResult::Stored } else { failed };
                let revision = commit.revision;
                self.facts.push_back(Input::Stored { revision, attempt, answer });
            }
            Effect::RunTool { call, .. } => {
                self.runs += 1;
                assert!(self.runs <= self.budget, "run {} of {}", self.runs, self.budget);
                self.running.push(call);
            }
            Effect::Reconcile { call, .. } => self.running.push(call),
            Effect::CancelTool { call, .. } => self.running.retain(|one| *one != call),
            Effect::Emit(event) => {
                assert!(!self.ended, "an event behind the last one: {event:?}");
                // Failures to read a turn are not stored, and have the number of the last event.
                let again = matches!(event.kind, EventKind::Error { .. }) && event.seq == self.seq;
                assert!(event.seq > self.seq || again, "{event:?} behind {}", self.seq);
                self.seq = event.seq;
                self.ended = matches!(
                    event.kind,
                    EventKind::Complete { .. }
                        | EventKind::Cancelled { .. }
                        | EventKind::Error { .. }
                        | EventKind::Paused { .. }
                );
                let late = event.phase == PhaseName::Action
                    && matches!(event.kind, EventKind::ToolCalls { .. });
                assert!(!late, "a call in the action phase: {event:?}");
            }
            Effect::Done { .. } => self.over = true,
            _ => {}
        }
    }

    /// Drains the turn, and answers what it asks at once.
    fn drain(&mut self, turn: &mut Turn, now: u64) {
        loop {
            while let Next::Effect(effect) = turn.poll() {
                self.perform(effect);
            }
            let Some(fact) = self.facts.pop_front() else { return };
            turn.handle(now, fact);
        }
    }

    /// What may happen next, as the input says.
    fn fact(&self, bytes: &mut Bytes<'_>, now: &mut u64) -> Input {
        let asked = self.asked.unwrap_or((0, 1));
        let (inference, attempt) = match bytes.below(16) {
            0 => (u32::from(bytes.byte()), u32::from(bytes.byte())),
            _ => asked,
        };
        let call = match self.running.len() {
            0 => u32::from(bytes.byte()),
            running => self.running[bytes.below(running)],
        };
        match bytes.below(16) {
            0 | 1 => Input::ResponseHead {
                inference,
                attempt,
                status: STATUSES[bytes.below(STATUSES.len())],
                retry_after_ms: None,
                body: bytes.text(),
                hint: None,
                secrets: Vec::new(),
            },
            2..=5 => Input::ResponseBytes { inference, attempt, bytes: bytes.piece().to_vec() },
            6 | 7 => Input::ResponseEnded { inference, attempt },
            8 => Input::ResponseFailed {
                inference,
                attempt,
                message: bytes.text(),
                thrown: bytes.below(2) == 0,
                code: (bytes.below(4) == 0).then(|| bytes.text()),
            },
            9 | 10 => {
                let text = bytes.text();
                let settled = Settled::Ok { bytes: text.len() as u64, text };
                Input::ToolSettled { call, settled }
            }
            11 => Input::ToolSettled {
                call,
                settled: Settled::Error { code: "tool.threw".to_owned(), message: bytes.text() },
            },
            12 => {
                *now += u64::from(bytes.byte()) * 500;
                Input::Timer
            }
            13 => Input::ToolProgress { call, data: Json::Null },
            14 => Input::Pause,
            _ => Input::Cancel { reason: bytes.text() },
        }
    }

    fn play(&mut self, turn: &mut Turn, bytes: &mut Bytes<'_>) {
        let mut now = 0;
        turn.handle(now, Input::Start);
        self.drain(turn, now);
        for _ in 0..STEPS {
            if bytes.is_empty() || self.over {
                break;
            }
            let fact = self.fact(bytes, &mut now);
            turn.handle(now, fact);
            self.drain(turn, now);
        }
        // Whatever has happened: it ends when it is told to.
        if self.stores && !self.over {
            turn.handle(now, Input::Cancel { reason: "enough".to_owned() });
            self.drain(turn, now);
            for _ in 0..64 {
                if self.over {
                    break;
                }
                now += 600_000;
                turn.handle(now, Input::Timer);
                self.drain(turn, now);
            }
            assert!(self.over, "a turn that does not end");
        }
        assert!(!self.over || self.ended, "a result without a last event");
    }
}

fn turn_options(bytes: &mut Bytes<'_>) -> Option<(String, Host)> {
    let dialect = Dialect::ALL[bytes.below(Dialect::ALL.len())].name();
    let flags = bytes.byte();
    let max_tools = u64::from(flags & 3);
    let has = |bit: u8| flags & (1 << bit) != 0;
    let unified = has(2);
    let keep = if has(3) { format!(r#","keep":{{"owner":"{SECRET}"}}"#) } else { String::new() };
    let mode = if unified { "unified" } else { "two_stage" };
    let schema = if has(4) { r#","answerSchema":{"type":"object"}"# } else { "" };
    let read_mode = ["auto", "first_call", "batch"][bytes.below(3)];
    let text = format!(
        r#"{{"dialect":"{dialect}","mode":"{mode}","requestId":"r","secret":"{SECRET}","maxRetries":1,
            "messages":[{{"role":"user","content":"go"}}],"tools":{},
            "policy":{{"maxTools":{max_tools},"readMode":"{read_mode}"}}{schema}{keep}}}"#,
        tools()
    );
    // In unified mode the budget is another one; it is not looked at here.
    let budget = if unified { u64::MAX } else { max_tools };
    let host = Host { budget, stores: !has(5), approves: has(6), ..Host::default() };
    Some((text, host))
}

/// A turn whose world does anything: its budget holds, its events are in order, it ends once.
pub(super) fn turn(data: &[u8]) {
    let mut bytes = Bytes(data);
    let Some((text, mut host)) = turn_options(&mut bytes) else { return };
    let Ok(mut turn) = TurnOptions::parse(text.as_bytes()).and_then(Turn::new) else { return };
    host.play(&mut turn, &mut bytes);
}

/// A turn from what a store says, which anybody may have written.
pub(super) fn restore(data: &[u8]) {
    let mut bytes = Bytes(data);
    let stored = bytes.piece();
    let Ok(json) = Json::parse_lossy(stored, 1 << 20) else { return };
    let options = format!(
        r#"{{"dialect":"openai-chat","requestId":"r","secret":"{SECRET}","tools":{},
            "keep":{{"owner":"{SECRET}"}},"resume":{}}}"#,
        tools(),
        json.to_text()
    );
    let made = RestoreOptions::parse(options.as_bytes()).and_then(Turn::restore);
    let Ok(mut turn) = made else { return };
    // What stands in the store decides how many tools may run.
    let mut host = Host { budget: u64::MAX, stores: true, ..Host::default() };
    host.play(&mut turn, &mut bytes);
}

/// A bundle of any outcomes in any order.
pub(super) fn bundle(data: &[u8]) {
    let mut bytes = Bytes(data);
    let k = 1 + bytes.below(8);
    let retries = bytes.below(3);
    let stop = ["agreement", "never", "majority"][bytes.below(3)];
    let text = format!(r#"{{"task":"t","k":{k},"retries":{retries},"stop":"{stop}"}}"#);
    let made = BundleOptions::parse(text.as_bytes())
        .or_else(|_| BundleOptions::parse(format!(r#"{{"task":"t","k":{k}}}"#).as_bytes()))
        .and_then(Bundle::new);
    let Ok(mut bundle) = made else { return };
    let (mut open, mut over, mut now) = (Vec::new(), false, 0);
    let mut input = Some(evidence::Input::Start);
    for _ in 0..STEPS {
        let Some(given) = input.take() else { break };
        bundle.handle(now, given);
        while let Next::Effect(effect) = bundle.poll() {
            assert!(!over, "an effect behind the end: {effect:?}");
            match effect {
                evidence::Effect::Run { replicate, attempt, .. } => {
                    assert!(replicate < k);
                    open.push((replicate, attempt));
                }
                evidence::Effect::Done => over = true,
                _ => {}
            }
        }
        if bytes.is_empty() || over {
            break;
        }
        let (replicate, attempt) = match open.len() {
            0 => (bytes.below(16), u32::from(bytes.byte())),
            running => open[bytes.below(running)],
        };
        let settled = |outcome| evidence::Input::Settled {
            replicate,
            attempt,
            outcome,
            tokens: None,
            model: None,
            seed_unsent: false,
            repairs: Vec::new(),
        };
        input = Some(match bytes.below(8) {
            0..=4 => {
                let errors = if bytes.below(4) == 0 { vec![bytes.text()] } else { Vec::new() };
                settled(Outcome::Data { json: bytes.piece().to_vec(), errors })
            }
            5 => settled(Outcome::Failed { message: bytes.text() }),
            6 => {
                now += u64::from(bytes.byte()) * 100;
                evidence::Input::Timer
            }
            _ => evidence::Input::Cancel { reason: bytes.text() },
        });
    }
}

/// A chain whose calls return anything.
pub(super) fn chain(data: &[u8]) {
    let mut bytes = Bytes(data);
    let query = bytes.text();
    let Ok(mut chain) = Chain::new(ChainOptions::new(query)) else { return };
    let (mut open, mut over, mut now) = (Vec::new(), false, 0);
    let mut input = Some(chain::Input::Start);
    for _ in 0..STEPS {
        let Some(given) = input.take() else { break };
        chain.handle(now, given);
        while let Next::Effect(effect) = chain.poll() {
            assert!(!over, "an effect behind the end: {effect:?}");
            match effect {
                chain::Effect::Call { call, .. } => open.push(call),
                chain::Effect::Done(_) => over = true,
                _ => {}
            }
        }
        if bytes.is_empty() || over {
            break;
        }
        let call = match open.len() {
            0 => u32::from(bytes.byte()),
            running => open[bytes.below(running)],
        };
        input = Some(match bytes.below(8) {
            0..=3 => chain::Input::returned(call, &bytes.text(), None),
            4 => chain::Input::Chunk { call, text: bytes.text() },
            5 => chain::Input::Failed {
                call,
                code: "own.failure".to_owned(),
                message: bytes.text(),
                retryable: bytes.below(2) == 0,
                cost: None,
            },
            6 => {
                now += u64::from(bytes.byte()) * 500;
                chain::Input::Timer
            }
            _ => chain::Input::Cancel { reason: bytes.text() },
        });
    }
}

/// A plan with a condition of any text over results of any JSON: its step runs or is skipped, and the
/// chain ends.
pub(super) fn condition(data: &[u8]) {
    let mut bytes = Bytes(data);
    let when = Json::from(bytes.text()).to_canonical();
    let fails = bytes.below(4) == 0;
    let results = [bytes.piece(), bytes.piece(), bytes.0];
    let plan = format!(
        r#"{{"reasoning":"r","pattern":"conditional","steps":[
            {{"id":"a","type":"search","query":"x"}},
            {{"id":"b","type":"search","query":"y"}},
            {{"id":"c","type":"search","query":"z $a","dependencies":["a","b"],"when":{when}}}]}}"#
    );
    let options = br#"{"query":"Compare Ohio and Texas.","hooks":{"classify":true}}"#;
    let Ok(mut chain) = ChainOptions::parse(options).and_then(Chain::new) else { return };
    let mut inputs = VecDeque::from([chain::Input::Start]);
    let (mut searches, mut over, mut now) = (0, false, 0);
    for _ in 0..STEPS {
        let waits = inputs.is_empty();
        now += if waits { 60_000 } else { 0 };
        chain.handle(now, inputs.pop_front().unwrap_or(chain::Input::Timer));
        while let Next::Effect(effect) = chain.poll() {
            assert!(!over, "an effect behind the end: {effect:?}");
            match effect {
                chain::Effect::Call { call, body } => {
                    let text = match body.kind() {
                        chain::CallKind::Classify => br#""complex""#.as_slice(),
                        chain::CallKind::Plan => plan.as_bytes(),
                        chain::CallKind::Search if fails && searches == 0 => {
                            searches += 1;
                            let (code, message) = ("own.failure".to_owned(), String::new());
                            let (retryable, cost) = (false, None);
                            inputs.push_back(chain::Input::Failed {
                                call,
                                code,
                                message,
                                retryable,
                                cost,
                            });
                            continue;
                        }
                        chain::CallKind::Search => {
                            searches += 1;
                            results[(searches - 1) % results.len()]
                        }
                        _ => br#""text""#,
                    };
                    let text = String::from_utf8_lossy(text);
                    inputs.push_back(chain::Input::returned(call, &text, None));
                }
                chain::Effect::Done(_) => over = true,
                _ => {}
            }
        }
    }
    assert!(over, "the chain does not end");
}
