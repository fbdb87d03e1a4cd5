//! A store that stops answering in the moment in which the model says something.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use turnlock::Next;
use turnlock::store::CommitResult;
use turnlock::turn::{Effect, Input, Turn, TurnOptions};

/// A turn of its own, its effects, and the clock.
struct Host {
    turn: Turn,
    now: u64,
    shown: String,
    seen: BTreeMap<&'static str, u32>,
    /// The commit in flight.
    commit: (u64, u32),
    result: Option<Value>,
}

impl Host {
    fn new() -> Self {
        let options = json!({
            "dialect": "openai-chat", "requestId": "r", "secret": "00112233445566778899aabbccddeeff",
            "messages": [{ "role": "user", "content": "go" }],
            "tools": [{ "name": "list", "description": "Lists.", "readOnly": true }],
            "keep": { "owner": "0123456789abcdef", "tenant": "t", "gatherMs": 0 },
        });
        let options = TurnOptions::parse(options.to_string().as_bytes()).unwrap();
        let turn = Turn::new(options).unwrap();
        let (shown, seen) = (String::new(), BTreeMap::new());
        Self { turn, now: 0, shown, seen, commit: (0, 0), result: None }
    }

    fn tell(&mut self, input: Input) {
        self.turn.handle(self.now, input);
        while let Next::Effect(effect) = self.turn.poll() {
            let name = match effect {
                Effect::Fetch { .. } => "fetch",
                Effect::Abort { .. } => "abort",
                Effect::RunTool { .. } => "run",
                Effect::CancelTool { .. } => "cancel",
                Effect::Commit { attempt, commit } => {
                    self.commit = (commit.revision, attempt);
                    continue;
                }
                Effect::Emit(event) => {
                    self.shown.push_str(event.chunk().unwrap_or_default());
                    continue;
                }
                Effect::Done { result } => {
                    self.result = Some(serde_json::from_str(&result.to_json().to_text()).unwrap());
                    continue;
                }
                _ => continue,
            };
            *self.seen.entry(name).or_default() += 1;
        }
    }

    fn store(&mut self) {
        let (revision, attempt) = self.commit;
        self.tell(Input::Stored { revision, attempt, answer: CommitResult::Stored });
    }

    fn says(&mut self, delta: Value) {
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta }] });
        let bytes = format!("data: {chunk}\n\n").into_bytes();
        self.tell(Input::ResponseBytes { inference: 1, attempt: 1, bytes });
    }

    /// The model has said something, and the store does not answer: just before it is given up.
    fn at_the_brink() -> Self {
        let mut host = Self::new();
        host.tell(Input::Start);
        host.store();
        host.tell(Input::ResponseHead {
            inference: 1,
            attempt: 1,
            status: 200,
            retry_after_ms: None,
            body: String::new(),
            hint: None,
            secrets: Vec::new(),
        });
        host.says(json!({ "content": "kept " }));
        host.store();
        host.says(json!({ "content": "waits " }));
        while host.commit.1 < 4 {
            let Next::Wait { until } = host.turn.poll() else { panic!("drained") };
            host.now = until.expect("a deadline");
            host.tell(Input::Timer);
        }
        host.now += 5_000;
        host
    }

    fn status_and_text(&self) -> (&str, &str) {
        let result = self.result.as_ref().expect("the turn is over");
        (result["status"].as_str().unwrap(), result["text"].as_str().unwrap())
    }
}

#[test]
fn text_in_that_moment_is_not_in_the_result() {
    let mut host = Host::at_the_brink();
    host.says(json!({ "content": "late " }));
    assert_eq!(host.status_and_text(), ("failed", "kept "));
    assert_eq!(host.shown, "kept ");
    assert_eq!(host.seen["abort"], 1);
}

#[test]
fn a_tool_in_that_moment_is_neither_started_nor_cancelled() {
    let mut host = Host::at_the_brink();
    let call = |index: u32| {
        let function = json!({ "name": "list", "arguments": "{}" });
        json!({ "index": index, "id": format!("c{index}"), "function": function })
    };
    // The second call completes the first, which starts at once.
    host.says(json!({ "tool_calls": [call(0), call(1)] }));
    assert_eq!(host.status_and_text(), ("failed", "kept "));
    assert_eq!((host.seen.get("run"), host.seen.get("cancel")), (None, None));
}
