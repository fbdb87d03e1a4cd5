//! The work of a turn: what models, tools and stores send it, and what it is restored from.

use serde_json::{Value, json};
use turnlock::json::Json;
use turnlock::store::{Commit, CommitResult, StoredOutcome, StoredTurn};
use turnlock::stream::{Delta, FinishReason};
use turnlock::tool::{Settled, Verdict};
use turnlock::turn::{Effect, Input, RestoreOptions, Turn, TurnOptions};
use turnlock::{Dialect, Next};

use super::{Counted, bounded, work};

/// Units for each byte that a turn is given or tells. A delta is given as a value of its own, so its
/// bytes are counted as the 64 that it takes.
const PER_BYTE: usize = 80;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn options(dialect: Dialect, own: &Value) -> Vec<u8> {
    let tool = |name: &str, own: &Value| {
        let mut tool =
            json!({ "name": name, "inputSchema": { "type": "object" }, "readOnly": true });
        tool.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        tool
    };
    let mut all = json!({
        "dialect": dialect.name(), "requestId": "r", "secret": SECRET,
        "messages": [{ "role": "user", "content": "go" }],
        "tools": [tool("f", &json!({})), tool("g", &json!({ "checks": true, "reuseMs": 1000 }))],
        "policy": { "maxTools": 1000, "maxToolResultBytes": 1 << 26 },
    });
    all.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    all.to_string().into_bytes()
}

/// A turn with a host that stores and checks at once.
struct Played {
    turn: Turn,
    now: u64,
    counted: Counted,
    /// The request in flight.
    asked: (u32, u32),
    /// The calls that run.
    running: Vec<u32>,
    /// The calls whose earlier outcome is asked for.
    recalled: Vec<u32>,
    /// What the store has of it: the last state, all records, and the groups of events.
    kept: StoredTurn,
    events: Vec<String>,
    /// The answer to the commits.
    answer: CommitResult,
    /// The answer to the checks.
    verdict: Verdict,
}

impl Played {
    fn new(options: &[u8]) -> Self {
        let turn = TurnOptions::parse(options).and_then(Turn::new).unwrap();
        Self::of(turn)
    }

    fn of(turn: Turn) -> Self {
        Self {
            turn,
            now: 0,
            counted: Counted::default(),
            asked: (0, 0),
            running: Vec::new(),
            recalled: Vec::new(),
            kept: StoredTurn::default(),
            events: Vec::new(),
            answer: CommitResult::Stored,
            verdict: Verdict::Valid { action: None, args: None, approval: false },
        }
    }

    /// A turn that has asked a model.
    fn asking(dialect: Dialect, own: &Value) -> Self {
        let mut played = Self::new(&options(dialect, own));
        played.tell(Input::Start, 0);
        played
    }

    /// A turn with a running call of the tool.
    fn calling(dialect: Dialect, name: &str, own: &Value) -> Self {
        let mut played = Self::asking(dialect, own);
        played.calls(name, 1, "{}");
        played
    }

    /// Passes an input of this many bytes, and all that follows of it.
    fn tell(&mut self, input: Input, bytes: usize) {
        self.counted.given += bytes;
        let mut inputs = std::collections::VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let mut effects = Vec::with_capacity(4096);
            self.counted.done += work(|| {
                self.turn.handle(self.now, input);
                while let Next::Effect(effect) = self.turn.poll() {
                    effects.push(effect);
                }
            });
            inputs.extend(effects.into_iter().filter_map(|effect| self.perform(effect)));
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Input> {
        let mut text = String::new();
        let mut answer = None;
        match effect {
            Effect::Fetch { inference, attempt, request, .. } => {
                self.asked = (inference, attempt);
                request.body.write(&mut text);
            }
            Effect::Emit(event) => event.write_json(&mut text),
            Effect::Commit { attempt, commit } => {
                commit.write_json(&mut text);
                let revision = commit.revision;
                answer = Some(Input::Stored { revision, attempt, answer: self.answer.clone() });
                self.store(&commit);
            }
            Effect::Check { call, args, .. } => {
                args.write(&mut text);
                answer = Some(Input::Checked { call, verdict: self.verdict.clone() });
            }
            Effect::Recall { call, .. } => self.recalled.push(call),
            Effect::RunTool { call, args, .. } => {
                args.write(&mut text);
                self.running.push(call);
            }
            Effect::Done { result } => result.to_json().write(&mut text),
            _ => {}
        }
        self.counted.told += text.len();
        answer
    }

    fn store(&mut self, commit: &Commit) {
        self.kept.owner = Some(commit.owner.clone());
        (self.kept.revision, self.kept.open) = (commit.revision, commit.open);
        self.kept.state = commit.state.clone().unwrap_or_else(|| self.kept.state.clone());
        self.kept.records.extend(commit.records.iter().cloned());
        self.events.extend(commit.events.iter().map(|(_, text)| text.clone()));
    }

    fn deltas(&mut self, deltas: Vec<Delta>, bytes: usize) {
        let bytes = bytes + 64 * deltas.len();
        let (inference, attempt) = self.asked;
        self.tell(Input::Deltas { inference, attempt, deltas }, bytes);
    }

    fn end(&mut self) {
        let (inference, attempt) = self.asked;
        self.tell(Input::ResponseEnded { inference, attempt }, 0);
    }

    /// A response with calls of other arguments each, unless they are `{}`.
    fn calls(&mut self, name: &str, count: u32, arguments: &str) {
        let of = |index: u32| {
            let (id, name) = (format!("c{index}"), name.to_owned());
            let text = arguments.replace('#', &index.to_string());
            [
                Delta::ToolCallStart { index, id, name },
                Delta::ToolCallArguments { index, text },
                Delta::ToolCallEnd { index },
            ]
        };
        let bytes = usize::try_from(count).unwrap() * arguments.len();
        self.deltas((0..count).flat_map(of).collect(), bytes);
        self.end();
    }

    fn settle(&mut self, text: &str) {
        for call in std::mem::take(&mut self.running) {
            let settled = Settled::Ok { text: text.to_owned(), bytes: text.len() as u64 };
            self.tell(Input::ToolSettled { call, settled }, text.len());
        }
    }

    fn answered(mut self) -> Counted {
        self.deltas(vec![Delta::Finish { reason: FinishReason::Stop, raw: "stop".into() }], 0);
        self.end();
        self.counted
    }
}

fn kept() -> Value {
    json!({ "keep": { "owner": SECRET } })
}

fn plain() -> Value {
    json!({})
}

/// A JSON text of many small values, another text, or one that is none.
const TEXTS: &[(&str, fn(usize) -> String)] = &[
    ("a text", |n| format!("\"{}\"", "ab ".repeat(8 * n))),
    ("escapes", |n| format!("\"{}\"", "\\n\\u0001".repeat(3 * n))),
    ("empty lists", |n| format!("[{}[]]", "[],".repeat(8 * n))),
    ("numbers", |n| format!("[{}1]", "1.5e3,".repeat(4 * n))),
    ("objects", |n| format!("[{}{{}}]", r#"{"a":[1,"b"]},"#.repeat(2 * n))),
    ("members", |n| {
        json!((0..n).map(|at| (format!("k{at}"), at)).collect::<std::collections::BTreeMap<_, _>>())
            .to_string()
    }),
    ("no JSON", |n| "x<y&\"]}".repeat(3 * n)),
    ("brackets", |n| "[".repeat(20 * n)),
];

type Given = (&'static str, fn(Dialect, &Value, &str) -> Counted);

/// What is given as one text.
const GIVEN: &[Given] = &[
    ("a result", |dialect, own, text| {
        let mut played = Played::calling(dialect, "f", own);
        played.settle(text);
        played.answered()
    }),
    ("a result that is cut", |dialect, own, text| {
        let mut own = own.clone();
        own["policy"] = json!({ "maxTools": 1000, "maxToolResultBytes": 100 });
        let mut played = Played::calling(dialect, "f", &own);
        played.settle(text);
        played.answered()
    }),
    ("a failure of a tool", |dialect, own, text| {
        let mut played = Played::calling(dialect, "f", own);
        let settled = Settled::Error { code: "tool.threw".into(), message: text.into() };
        let call = played.running.pop().unwrap();
        played.tell(Input::ToolSettled { call, settled }, text.len());
        played.answered()
    }),
    ("progress", |dialect, own, text| {
        let mut played = Played::calling(dialect, "f", own);
        let data = Json::parse_str(text).map_or_else(|_| text.to_owned().into(), Json::into_owned);
        let call = played.running.pop().unwrap();
        played.tell(Input::ToolProgress { call, data }, text.len());
        played.counted
    }),
    ("arguments", |dialect, own, text| {
        let mut played = Played::asking(dialect, own);
        played.calls("f", 1, &format!("{{\"a\":{text}}}"));
        played.settle("1");
        played.answered()
    }),
    ("errors of arguments", |dialect, own, text| {
        let mut played = Played::asking(dialect, own);
        played.verdict = Verdict::Invalid { errors: text.to_owned() };
        played.counted.given += text.len();
        played.calls("g", 1, "{}");
        played.answered()
    }),
    ("changed arguments", |dialect, own, text| {
        let mut played = Played::asking(dialect, own);
        let args = Json::parse_str(text).map_or_else(|_| text.to_owned().into(), Json::into_owned);
        let args = Json::object([("a", args)]);
        played.verdict =
            Verdict::Valid { action: Some(text.into()), args: Some(args), approval: false };
        played.counted.given += 2 * text.len();
        played.calls("g", 1, "{}");
        played.answered()
    }),
    ("a refusal of the model", |dialect, own, text| {
        let mut played = Played::asking(dialect, own);
        let (inference, attempt) = played.asked;
        let head = Input::ResponseHead {
            inference,
            attempt,
            status: 400,
            retry_after_ms: None,
            body: text.to_owned(),
            hint: None,
            secrets: vec!["key-of-a-host".into(), "ab ab ab".into()],
        };
        played.tell(head, text.len());
        played.counted
    }),
    ("a connection that fails", |dialect, own, text| {
        let mut played = Played::asking(dialect, own);
        let (inference, attempt) = played.asked;
        let message = text.to_owned();
        played.tell(
            Input::ResponseFailed { inference, attempt, message, thrown: true, code: None },
            text.len(),
        );
        played.counted
    }),
    ("an answer as bytes", |dialect, own, text| {
        let mut played = Played::asking(dialect, own);
        let (inference, attempt) = played.asked;
        let said = json!({ "choices": [{ "delta": { "content": text } }] });
        for piece in format!("data: {said}\n\n").as_bytes().chunks(64) {
            let bytes = piece.to_vec();
            played.tell(Input::ResponseBytes { inference, attempt, bytes }, piece.len());
        }
        played.end();
        played.counted
    }),
];

/// What only a turn with a store is given.
const STORED: &[Given] = &[
    ("an earlier outcome", |dialect, own, text| {
        let mut played = Played::asking(dialect, own);
        played.calls("g", 1, "{}");
        let outcome = json!({ "v": 1, "outcome": { "status": "ok", "result": serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!(text)), "truncated": false } });
        for call in std::mem::take(&mut played.recalled) {
            let outcome = outcome.to_string();
            let bytes = outcome.len();
            played
                .tell(Input::Recalled { call, found: Some(StoredOutcome::new(outcome, 1)) }, bytes);
        }
        played.answered()
    }),
    ("a refused commit", |dialect, own, text| {
        let mut played = Played::new(&options(dialect, own));
        played.answer = CommitResult::Refused { state: Some(text.to_owned()) };
        played.tell(Input::Start, text.len());
        played.counted
    }),
    ("a failed commit", |dialect, own, text| {
        let mut played = Played::new(&options(dialect, own));
        let (code, message) = ("store.unavailable".to_owned(), text.to_owned());
        played.answer = CommitResult::Failed { code, message };
        played.tell(Input::Start, text.len());
        played.counted
    }),
    ("a stored state", |_, _, text| {
        restored(
            &StoredTurn {
                state: text.to_owned(),
                revision: 3,
                open: true,
                ..StoredTurn::default()
            },
            &[],
        )
    }),
    ("a stored record", |_, _, text| {
        let records = vec![("turn".to_owned(), text.to_owned())];
        restored(&StoredTurn { records, revision: 3, open: true, ..StoredTurn::default() }, &[])
    }),
    ("stored events", |_, own, text| {
        let mut played = Played::asking(Dialect::OpenAiChat, own);
        played.deltas(vec![Delta::Text("a".into())], 1);
        restored(&played.kept, &[text.to_owned()])
    }),
];

type Repeated = (&'static str, fn(Dialect, &Value, usize) -> Counted);

/// What comes in many pieces.
const REPEATED: &[Repeated] = &[
    ("texts", |dialect, own, n| {
        let mut played = Played::asking(dialect, own);
        (0..n).for_each(|_| played.deltas(vec![Delta::Text("ab ".into())], 3));
        played.answered()
    }),
    ("texts, slowly", |dialect, own, n| {
        let mut played = Played::asking(dialect, own);
        for _ in 0..n {
            played.now += 26;
            played.deltas(vec![Delta::Text("ab ".into())], 3);
        }
        played.answered()
    }),
    ("texts at once", |dialect, own, n| {
        let mut played = Played::asking(dialect, own);
        played.deltas((0..n).map(|_| Delta::Text("ab ".into())).collect(), 3 * n);
        played.answered()
    }),
    ("thoughts", |dialect, own, n| {
        let mut played = Played::asking(dialect, own);
        let thought = |_| Delta::Reasoning { text: "ab ".into(), signature: Some("s".into()) };
        (0..n).for_each(|at| played.deltas(vec![thought(at)], 4));
        played.answered()
    }),
    ("arguments in pieces", |dialect, own, n| {
        let mut played = Played::asking(dialect, own);
        let (id, name) = ("c".to_owned(), "f".to_owned());
        played.deltas(vec![Delta::ToolCallStart { index: 0, id, name }], 2);
        let piece = |text: &str| vec![Delta::ToolCallArguments { index: 0, text: text.into() }];
        played.deltas(piece("{\"a\":\""), 6);
        (0..n).for_each(|_| played.deltas(piece("ab "), 3));
        played.deltas(piece("\"}"), 2);
        played.deltas(vec![Delta::ToolCallEnd { index: 0 }], 0);
        played.end();
        played.settle("1");
        played.answered()
    }),
    ("unknown deltas", |dialect, own, n| {
        let mut played = Played::asking(dialect, own);
        (0..n).for_each(|_| played.deltas(vec![Delta::Other { raw: "{}".into() }], 2));
        played.answered()
    }),
    ("calls and results", |dialect, own, n| {
        let mut played = Played::asking(dialect, own);
        played.calls("f", u32::try_from(n / 12).unwrap(), "{\"a\":#}");
        played.settle("[1]");
        played.answered()
    }),
    ("calls that are checked", |dialect, own, n| {
        let mut played = Played::asking(dialect, own);
        played.calls("g", u32::try_from(n / 12).unwrap(), "{\"a\":#}");
        played.settle("[1]");
        played.answered()
    }),
    ("calls of no tool", |dialect, own, n| {
        let mut played = Played::asking(dialect, own);
        played.calls("h", u32::try_from(n / 12).unwrap(), "{\"a\":#}");
        played.answered()
    }),
    ("progress of one call", |dialect, own, n| {
        let mut played = Played::calling(dialect, "f", own);
        let call = played.running.pop().unwrap();
        (0..n).for_each(|_| played.tell(Input::ToolProgress { call, data: Json::Null }, 64));
        played.counted
    }),
    ("inputs of nobody", |dialect, own, n| {
        let mut played = Played::calling(dialect, "f", own);
        for at in 0..n {
            let settled = Settled::Ok { text: "1".into(), bytes: 1 };
            played.tell(Input::ToolSettled { call: 7 + at as u32, settled }, 64);
        }
        played.counted
    }),
];

/// What is stored by a turn, and read by the next owner.
const RESTORED: &[(&str, fn(usize) -> Counted)] = &[
    ("a turn with a text", |n| {
        let mut played = Played::asking(Dialect::OpenAiChat, &kept());
        for _ in 0..n {
            played.now += 26;
            played.deltas(vec![Delta::Text("ab ".into())], 3);
        }
        restored(&played.kept, &played.events)
    }),
    ("a turn with calls", |n| {
        let mut played = Played::asking(Dialect::OpenAiChat, &kept());
        played.calls("f", u32::try_from(n / 12).unwrap(), "{\"a\":#}");
        played.settle("[1]");
        restored(&played.kept, &played.events)
    }),
    ("a turn with a long result", |n| {
        let mut played = Played::calling(Dialect::OpenAiChat, "f", &kept());
        played.settle(&format!("[{}1]", "1,".repeat(16 * n)));
        restored(&played.kept, &played.events)
    }),
    ("a turn with a history", |n| {
        let mut own = kept();
        own["messages"] = super::list(n, |_| json!({ "role": "user", "content": "a" }));
        let mut played = Played::asking(Dialect::Anthropic, &own);
        played.deltas(vec![Delta::Text("a".into())], 1);
        restored(&played.kept, &played.events)
    }),
    ("records of nobody", |n| {
        let mut played = Played::calling(Dialect::OpenAiChat, "f", &kept());
        let own = (0..n).map(|at| (format!("x{at}"), "{}".to_owned()));
        played.kept.records.extend(own);
        restored(&played.kept, &played.events)
    }),
    ("batches that nobody wrote", |n| {
        let mut played = Played::calling(Dialect::OpenAiChat, "f", &kept());
        let (name, text) = played.kept.records.last().cloned().unwrap();
        let own = (0..n).map(|at| (format!("{name}{at}"), text.clone()));
        played.kept.records.extend(own);
        restored(&played.kept, &played.events)
    }),
    ("decisions on no call", |n| {
        let played = Played::calling(Dialect::OpenAiChat, "f", &kept());
        let approval = |at| json!({ "signature": format!("s{at}"), "approved": true });
        let result = |at| json!({ "toolCallId": format!("c{at}"), "result": [1] });
        let own =
            json!({ "approvals": super::list(n, approval), "results": super::list(n, result) });
        restored_with(&played.kept, &played.events, own)
    }),
];

fn restored(kept: &StoredTurn, events: &[String]) -> Counted {
    restored_with(kept, events, json!({}))
}

/// Restores a turn and starts it: its options are read, it takes the turn over and asks the model.
fn restored_with(kept: &StoredTurn, events: &[String], own: Value) -> Counted {
    let mut resume = json!({ "events": events });
    resume["kept"] = serde_json::from_str(&kept.to_json().to_text()).unwrap();
    resume.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    let text = json!({
        "requestId": "r", "secret": SECRET, "keep": { "owner": "another-owner-of-the-turn" },
        "tools": [{ "name": "f", "inputSchema": { "type": "object" }, "readOnly": true }],
        "resume": resume,
    })
    .to_string();
    let mut turn = None;
    let done = work(|| turn = RestoreOptions::parse(text.as_bytes()).and_then(Turn::restore).ok());
    let mut counted = Counted { done, given: text.len(), told: 0 };
    if let Some(turn) = turn {
        let mut played = Played::of(turn);
        played.tell(Input::Start, 0);
        counted.done += played.counted.done;
        counted.told += played.counted.told;
    }
    counted
}

#[test]
fn the_work_of_a_turn_is_bounded_and_linear() {
    let _alone = super::alone();
    let mut broken = Vec::new();
    let wires = [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::Gemini];
    for (kind, own) in [("", plain()), (", with a store", kept())] {
        for (at, dialect) in wires.into_iter().enumerate() {
            let on = dialect.name();
            let stored = if own == plain() { &[][..] } else { STORED };
            for (name, play) in GIVEN.iter().chain(stored) {
                // The others differ in what they write of the same values.
                for (what, text) in TEXTS.iter().take(if at == 0 { TEXTS.len() } else { 1 }) {
                    let name = format!("{name}: {what} on {on}{kind}");
                    let measured = |n| play(dialect, &own, &text(n));
                    bounded(&name, PER_BYTE, &measured, 500, &mut broken);
                }
            }
            for (name, play) in REPEATED {
                let name = format!("{name} on {on}{kind}");
                let measured = |n| play(dialect, &own, n);
                bounded(&name, PER_BYTE, &measured, 300, &mut broken);
            }
        }
    }
    for (name, play) in RESTORED {
        bounded(&format!("{name}, restored"), PER_BYTE, play, 300, &mut broken);
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
