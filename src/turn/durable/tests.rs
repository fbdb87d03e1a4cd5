//! A turn with a store, from its inputs to what is stored, and what a later owner makes of that.

mod lost;

use sha2::{Digest as _, Sha256};

use super::super::{Effect, EventKind, Input, RestoreOptions, Settled, Turn, TurnOptions};
use super::super::{TurnResult, Verdict};
use super::records;
use crate::dialect::Dialect;
use crate::json::Json;
use crate::next::Next;
use crate::signature::{Signature, hex};
use crate::store::{CommitResult, StoredOutcome, StoredTurn};
use crate::stream::{Delta, FinishReason, ProviderTool, ProviderToolStatus};
use crate::tool::Fate;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const TOOLS: &str = r#""tools":[{"name":"read","readOnly":true,"reuseMs":100,"maxResultBytes":8},
    {"name":"send"},{"name":"ask","checks":true}]"#;

/// A turn and its store, which keeps every commit at once.
struct Host {
    turn: Turn,
    kept: StoredTurn,
    events: Vec<String>,
    reusable: Vec<(String, u64)>,
}

impl Host {
    fn new(extra: &str) -> Self {
        Self::of("two_stage", extra)
    }

    fn of(mode: &str, extra: &str) -> Self {
        let text = format!(
            r#"{{"dialect":"openai-chat","mode":"{mode}","requestId":"r","secret":"{SECRET}",{TOOLS},
            "messages":[{{"role":"user","content":"go"}}],"keep":{{"owner":"{SECRET}"{extra}}}}}"#
        );
        let turn = TurnOptions::parse(text.as_bytes()).and_then(Turn::new).unwrap();
        let (events, reusable) = (Vec::new(), Vec::new());
        Self { turn, kept: StoredTurn::default(), events, reusable }
    }

    /// The same turn with another owner, who says this besides.
    fn resumed(&self, resume: &str) -> Self {
        let text = format!(
            r#"{{"requestId":"r","secret":"{SECRET}",{TOOLS},"keep":{{"owner":"x{SECRET}"}},
            "resume":{{{resume}}}}}"#
        );
        let mut options = RestoreOptions::parse(text.as_bytes()).unwrap();
        options.resume.kept = Some(self.kept.clone());
        options.resume.events.clone_from(&self.events);
        let turn = Turn::restore(options).unwrap();
        Self { turn, kept: self.kept.clone(), events: Vec::new(), reusable: Vec::new() }
    }

    /// What follows an input.
    fn tell(&mut self, now: u64, input: Input) -> Vec<Effect> {
        self.turn.handle(now, input);
        let mut effects = Vec::new();
        while let Next::Effect(effect) = self.turn.poll() {
            let Effect::Commit { attempt, commit } = effect else {
                effects.push(effect);
                continue;
            };
            self.kept.owner = Some(commit.owner.clone());
            (self.kept.revision, self.kept.open) = (commit.revision, commit.open);
            self.kept.records.extend(commit.records.iter().cloned());
            self.events.extend(commit.events.iter().map(|(_, text)| text.clone()));
            if let Some(state) = &commit.state {
                self.kept.state.clone_from(state);
                self.events.clear();
            }
            let reusable = commit.reusable.iter().map(|(_, text, ttl)| (text.clone(), *ttl));
            self.reusable.extend(reusable);
            let (revision, answer) = (commit.revision, CommitResult::Stored);
            self.turn.handle(now, Input::Stored { revision, attempt, answer });
        }
        effects
    }

    fn says(&mut self, inference: u32, deltas: Vec<Delta>) -> Vec<Effect> {
        let mut effects = self.tell(1, Input::Deltas { inference, attempt: 1, deltas });
        effects.extend(self.tell(1, Input::ResponseEnded { inference, attempt: 1 }));
        effects
    }

    /// The turn until a call of this tool runs.
    fn calling(extra: &str, name: &str) -> Self {
        let mut host = Self::new(extra);
        host.tell(0, Input::Start);
        let effects = host.says(1, call(name));
        let asks = effects.iter().any(|effect| matches!(effect, Effect::Recall { call: 1, .. }));
        assert_eq!(asks, name == "read", "{effects:?}");
        let started =
            if asks { host.tell(1, Input::Recalled { call: 1, found: None }) } else { effects };
        let runs = |effect: &Effect| matches!(effect, Effect::RunTool { call: 1, .. });
        assert!(started.iter().any(runs), "{started:?}");
        host
    }

    fn settle(&mut self, settled: Settled) -> Vec<Effect> {
        self.tell(2, Input::ToolSettled { call: 1, settled })
    }
}

/// The failure with which a turn ends, and the batch and number of that event.
fn failure(effects: &[Effect]) -> (String, u32, u64) {
    let found = effects.iter().find_map(|effect| match effect {
        Effect::Emit(event) => match &event.kind {
            EventKind::Error { failure, .. } => {
                Some((failure.message.to_string(), event.tool_batch_id, event.seq))
            }
            _ => None,
        },
        _ => None,
    });
    found.expect("a failure")
}

fn call(name: &str) -> Vec<Delta> {
    let start = Delta::ToolCallStart { index: 0, id: "c".to_owned(), name: name.to_owned() };
    let arguments = Delta::ToolCallArguments { index: 0, text: "{}".to_owned() };
    let end = Delta::ToolCallEnd { index: 0 };
    let finish = Delta::Finish { reason: FinishReason::ToolCalls, raw: "tool_calls".to_owned() };
    vec![start, arguments, end, finish]
}

fn answer(text: &str) -> Vec<Delta> {
    let finish = Delta::Finish { reason: FinishReason::Stop, raw: "stop".to_owned() };
    vec![Delta::Text(text.to_owned()), finish]
}

fn ok(text: &str) -> Settled {
    Settled::Ok { text: text.to_owned(), bytes: u64::try_from(text.len()).unwrap() }
}

/// The codes with which a turn ends, or the words of its end.
fn end(effects: &[Effect]) -> String {
    let last = effects.iter().rev().find_map(|effect| match effect {
        Effect::Emit(event) => Some(&event.kind),
        _ => None,
    });
    match last {
        Some(EventKind::Error { failure, .. }) => failure.code.to_string(),
        Some(EventKind::Cancelled { reason, .. }) => format!("cancelled: {reason}"),
        Some(other) => other.name().to_owned(),
        None => "nothing".to_owned(),
    }
}

/// The numbers of the events.
fn seqs(effects: &[Effect]) -> Vec<u64> {
    let seq = |effect: &Effect| match effect {
        Effect::Emit(event) => Some(event.seq),
        _ => None,
    };
    effects.iter().filter_map(seq).collect()
}

#[test]
fn only_a_new_whole_result_is_kept_for_other_turns() {
    let reusable = |name: &str, settled: Settled| {
        let mut host = Host::calling("", name);
        host.settle(settled);
        host.reusable
    };
    let reusables = reusable("read", ok("[1]"));
    assert_eq!(reusables.len(), 1);
    assert_eq!(reusables[0].1, 100);
    assert!(reusables[0].0.contains("[1]"), "{reusables:?}");
    assert!(reusable("read", ok("[1,2,3,4,5]")).is_empty(), "it was cut");
    let failed = Settled::Error { code: "tool.threw".to_owned(), message: "m".to_owned() };
    assert!(reusable("read", failed).is_empty());
    assert!(reusable("send", ok("[1]")).is_empty(), "the tool has no such time");

    let mut host = Host::new("");
    host.tell(0, Input::Start);
    host.says(1, call("read"));
    let found = Some(StoredOutcome::new(reusables[0].0.clone(), 7));
    let effects = host.tell(1, Input::Recalled { call: 1, found });
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Fetch { inference: 2, .. })));
    assert!(host.reusable.is_empty(), "it is that of another turn");
}

#[test]
fn a_turn_is_resumed_when_its_owner_is_silent_for_the_lease() {
    let resumed = |idle_ms: Option<u64>| {
        let mut host = Host::calling(r#","leaseMs":300"#, "send");
        host.kept.idle_ms = idle_ms;
        end(&host.resumed("").tell(0, Input::Start))
    };
    assert_eq!(resumed(Some(299)), "turn.conflict");
    for gone in [Some(300), Some(301), None] {
        assert_ne!(resumed(gone), "turn.conflict", "{gone:?}");
    }
    let mut host = Host::calling("", "send");
    host.kept.idle_ms = Some(0);
    let cancelled = host.resumed(r#""cancel":"why""#).tell(0, Input::Start);
    assert_eq!(end(&cancelled), "cancelled: why");
}

#[test]
fn what_cannot_be_resumed_says_why() {
    let why = |host: &Host, resume: &str| end(&host.resumed(resume).tell(0, Input::Start));
    let host = Host::calling("", "send");
    assert_eq!(why(&host, r#""toolBatchId":0"#), "turn.conflict");
    assert_eq!(why(&host, r#""toolBatchId":2"#), "turn.conflict");
    assert_ne!(why(&host, r#""toolBatchId":1"#), "turn.conflict");
    let approvals = r#""approvals":[{"signature":"s","approved":true}]"#;
    assert_eq!(why(&host, approvals), "tool.no_approval");
    assert_eq!(why(&host, r#""results":[{"toolCallId":"c"}]"#), "tool.no_result", "it runs");

    let with = |change: &dyn Fn(&mut StoredTurn)| {
        let mut host = Host::calling("", "send");
        change(&mut host.kept);
        why(&host, "")
    };
    assert_eq!(with(&|kept| kept.state.clear()), "turn.not_found");
    assert_eq!(with(&|kept| kept.revision = 1 << 53), "store.version");
    assert_eq!(with(&|kept| kept.records.clear()), "store.version");
    assert_eq!(with(&|kept| kept.records.truncate(1)), "store.version", "a batch is missing");
    let newer = |kept: &mut StoredTurn| kept.state = kept.state.replacen("\"v\":1", "\"v\":2", 1);
    assert_eq!(with(&newer), "store.version");
    let batchless = |kept: &mut StoredTurn| {
        kept.state = kept.state.replacen("\"decided\":1", "\"decided\":0", 1);
    };
    assert_eq!(with(&batchless), "store.version", "calls run, and there are none");
    assert_eq!(with(&|kept| drop(kept.records.remove(0))), "store.version", "nothing was given");
    let mut stopped = Host::new("");
    stopped.tell(0, Input::Cancel { reason: "why".to_owned() });
    assert_eq!(why(&stopped, ""), "turn.cancelled", "before it began");

    let mut over = Host::new("");
    over.tell(0, Input::Start);
    assert_eq!(end(&over.says(1, answer("hi"))), "complete");
    assert_eq!(why(&over, ""), "turn.conflict");
}

#[test]
fn no_number_of_an_event_is_used_twice() {
    // Text that was shown is stored, or its events are not counted one by one.
    for (extra, first) in [("", 3), (r#","events":0"#, 1_000_002)] {
        let mut host = Host::new(extra);
        let effects = host.tell(0, Input::Start);
        assert_eq!(seqs(&effects), [1]);
        let text = vec![Delta::Text("hi".to_owned())];
        host.tell(1, Input::Deltas { inference: 1, attempt: 1, deltas: text });
        let effects = host.tell(1_000, Input::Timer);
        assert!(seqs(&effects).len() <= 1, "{effects:?}");
        let mut next = host.resumed("");
        let effects = next.tell(0, Input::Start);
        assert_eq!(seqs(&effects).first(), Some(&first), "{extra}");
    }
}

#[test]
fn a_result_is_revised_once() {
    let mut host = Host::calling("", "send");
    host.settle(ok("[1]"));
    let revise = |results: &str| {
        let mut next = host.resumed(&format!(r#""results":[{results}]"#));
        let effects = next.tell(0, Input::Start);
        let body = effects.iter().find_map(|effect| match effect {
            Effect::Fetch { request, .. } => Some(request.body.to_text()),
            _ => None,
        });
        (end(&effects), body.unwrap_or_default())
    };
    let revision = r#"{"toolCallId":"c","result":[2]}"#;
    let (_, asked) = revise(revision);
    assert!(asked.contains("[2]") && !asked.contains("[1]"), "{asked}");
    let (_, asked) = revise(r#"{"toolCallId":"c","drop":true}"#);
    assert!(!asked.is_empty() && !asked.contains("[1]"), "{asked}");
    assert_eq!(revise(&format!("{revision},{revision}")).0, "tool.no_result");
    assert_eq!(revise(r#"{"toolCallId":"d"}"#).0, "tool.no_result");

    // The next owner is told of it, and so is everyone after.
    let mut next = host.resumed(&format!(r#""results":[{revision}]"#));
    let revised = next.tell(0, Input::Start).into_iter().find_map(|effect| match effect {
        Effect::Emit(event) => match event.kind {
            EventKind::ToolResults { results, .. } => Some(results),
            _ => None,
        },
        _ => None,
    });
    let revised = revised.expect("the revised result");
    assert_eq!(revised.len(), 1);
    assert!(revised[0].outcome.revised);
    next.kept.idle_ms = None;
    let effects_text = format!("{:?}", next.resumed("").tell(0, Input::Start));
    assert!(effects_text.contains("[2]") && !effects_text.contains("[1]"), "{effects_text}");
}

/// How a turn ended.
fn result(effects: &[Effect]) -> &TurnResult {
    let found = effects.iter().find_map(|effect| match effect {
        Effect::Done { result } => Some(result),
        _ => None,
    });
    found.expect("the end")
}

/// The text that was shown, the numbers of the events, and what the turn says to have shown.
fn told(effects: &[Effect]) -> (String, Vec<u64>, String) {
    let chunks = effects.iter().filter_map(|effect| match effect {
        Effect::Emit(event) => event.chunk(),
        _ => None,
    });
    (chunks.collect(), seqs(effects), result(effects).full_content.clone())
}

#[test]
fn a_stopped_turn_keeps_the_text_that_was_shown() {
    let mut host = Host::new("");
    host.tell(0, Input::Start);
    let reasoning = Delta::Reasoning { text: "hm".to_owned(), signature: None };
    let deltas = vec![reasoning, Delta::Text("half".to_owned())];
    host.tell(1, Input::Deltas { inference: 1, attempt: 1, deltas });
    host.tell(1_000, Input::Timer);
    assert_eq!(host.events.len(), 1, "it is stored behind the state");
    let stopped = host.resumed(r#""cancel":"why""#).tell(0, Input::Start);
    assert_eq!(told(&stopped).2, "half");
    assert_eq!(result(&stopped).text, "half");

    // Of the plain loop, the text is that of the last inference.
    let mut host = Host::of("unified", "");
    host.tell(0, Input::Start);
    let text = Delta::Text("let me look ".to_owned());
    host.says(1, std::iter::once(text).chain(call("send")).collect());
    host.settle(ok("[1]"));
    let deltas = vec![Delta::Text("half".to_owned())];
    host.tell(3, Input::Deltas { inference: 2, attempt: 1, deltas });
    host.tell(1_000, Input::Timer);
    let stopped = host.resumed(r#""cancel":"why""#).tell(0, Input::Start);
    assert_eq!(told(&stopped).2, "let me look half");
    assert_eq!(result(&stopped).text, "half");
}

/// Another provider has nothing of a conversation that the first one keeps.
#[test]
fn a_kept_conversation_goes_on_with_another_provider() {
    let text = format!(
        r#"{{"dialect":"openai-responses","strategy":"thread","conversationId":"c","requestId":"r",
        "secret":"{SECRET}","messages":[{{"role":"user","content":"go"}}],
        "keep":{{"owner":"{SECRET}"}}}}"#
    );
    let host = |turn| Host { turn, kept: StoredTurn::default(), events: vec![], reusable: vec![] };
    let mut first = host(TurnOptions::parse(text.as_bytes()).and_then(Turn::new).unwrap());
    first.tell(0, Input::Start);
    let request_text = |dialect: &str| {
        let text = format!(
            r#"{{"dialect":"{dialect}","requestId":"r","secret":"{SECRET}","resume":{{}},
            "keep":{{"owner":"x{SECRET}"}}}}"#
        );
        let mut options = RestoreOptions::parse(text.as_bytes()).unwrap();
        options.resume.kept = Some(first.kept.clone());
        let effects = host(Turn::restore(options).unwrap()).tell(0, Input::Start);
        let found = effects.into_iter().find_map(|effect| match effect {
            Effect::Fetch { request, .. } => Some(request.body),
            _ => None,
        });
        found.expect("a request")
    };
    assert_eq!(request_text("openai-responses").get("store").and_then(Json::as_bool), Some(true));
    let other = request_text("anthropic");
    assert_eq!((other.get("store"), other.get("threadId")), (None, None));
    assert!(other.to_text().contains("go"), "{}", other.to_text());
}

#[test]
fn a_request_that_was_not_sent_is_not_ended() {
    let mut host = Host::calling("", "send");
    host.turn.handle(2, Input::ToolProgress { call: 1, data: Json::Null });
    let Next::Effect(Effect::Commit { attempt, commit }) = host.turn.poll() else {
        panic!("a commit")
    };
    host.turn.handle(3, Input::ToolSettled { call: 1, settled: ok("[1]") });
    let (revision, answer) = (commit.revision, CommitResult::Refused { state: None });
    let effects = host.tell(3, Input::Stored { revision, attempt, answer });
    assert_eq!(end(&effects), "turn.conflict");
    let of_requests =
        |effect: &&Effect| matches!(effect, Effect::Fetch { .. } | Effect::Abort { .. });
    assert_eq!(effects.iter().filter(of_requests).count(), 0, "{effects:?}");
}

#[test]
fn a_turn_that_has_ended_is_not_open() {
    let mut host = Host::calling("", "send");
    assert!(host.kept.open);
    assert_eq!(end(&host.tell(1_000_000, Input::Timer)), "turn.timeout");
    assert!(!host.kept.open, "it failed, and not by the model");
    assert_eq!(end(&host.resumed("").tell(0, Input::Start)), "turn.conflict");

    let mut host = Host::new("");
    host.tell(0, Input::Start);
    host.says(1, answer("hi"));
    assert!(!host.kept.open, "it has answered");
}

#[test]
fn a_turn_that_did_not_begin_is_not_stored() {
    let mut host = Host::new("");
    for input in [Input::Timer, Input::Verify, Input::Pause] {
        assert!(host.tell(0, input).is_empty());
        assert_eq!(host.kept.revision, 0);
    }
}

#[test]
fn what_the_model_said_beside_its_calls_is_sent_again() {
    let mut host = Host::of("unified", "");
    host.tell(0, Input::Start);
    let text = Delta::Text("let me look".to_owned());
    host.says(1, std::iter::once(text).chain(call("send")).collect());
    host.settle(ok("[1]"));
    let effects = host.resumed("").tell(0, Input::Start);
    let body = effects.iter().find_map(|effect| match effect {
        Effect::Fetch { request, .. } => Some(request.body.to_text()),
        _ => None,
    });
    let body = body.expect("a request");
    assert!(body.contains("let me look") && body.contains("[1]"), "{body}");
}

/// The names of records are what hosts read, and each is written once.
#[test]
fn a_tool_is_started_once_its_claim_is_stored() {
    let mut host = Host::new("");
    host.tell(0, Input::Start);
    let claims = |host: &Host| {
        let claims = host.kept.records.iter().filter(|(name, _)| name.starts_with("claim"));
        claims.cloned().collect::<Vec<_>>()
    };
    assert!(claims(&host).is_empty());
    let key = |effects: Vec<Effect>| {
        effects.into_iter().find_map(|effect| match effect {
            Effect::RunTool { idempotency_key, .. } => Some(idempotency_key.to_string()),
            _ => None,
        })
    };
    let first = key(host.says(1, call("read")));
    assert_eq!(first, None, "it is looked for in other turns");
    let first = key(host.tell(1, Input::Recalled { call: 1, found: None })).expect("a key");
    let signature = Signature::new("read", None, &Json::object([]), None);
    let parts = format!(r#"["","r",1,0,"{}"]"#, signature.as_str());
    assert_eq!(first, hex(&Sha256::digest(parts.as_bytes())), "tenant, turn, batch, place, call");
    let record =
        |epoch: u64| (format!("claim/1/{epoch}/c"), format!(r#"{{"v":1,"key":"{first}"}}"#));
    assert_eq!(claims(&host), [record(1)]);

    // It only reads, so the next owner runs it again, with the same key.
    let mut next = host.resumed("");
    assert_eq!(key(next.tell(0, Input::Start)).as_ref(), Some(&first));
    assert_eq!(claims(&next), [record(1), record(2)]);
}

/// What no record has yet is asked for again: here the store is slower than the model.
#[test]
fn a_response_whose_calls_are_not_judged_is_asked_for_again() {
    let mut host = Host::of("unified", "");
    host.tell(0, Input::Start);
    host.says(1, call("send"));
    host.turn.handle(2, Input::ToolProgress { call: 1, data: Json::Null });
    let Next::Effect(Effect::Commit { attempt, commit }) = host.turn.poll() else {
        panic!("a commit")
    };
    host.turn.handle(3, Input::ToolSettled { call: 1, settled: ok("[1]") });
    let asks = |effect: &Effect| matches!(effect, Effect::Fetch { inference: 2, .. });
    assert!(matches!(host.turn.poll(), Next::Effect(effect) if asks(&effect)));
    host.turn.handle(4, Input::Deltas { inference: 2, attempt: 1, deltas: call("ask") });
    host.turn.handle(4, Input::ResponseEnded { inference: 2, attempt: 1 });
    let (revision, answer) = (commit.revision, CommitResult::Stored);
    host.tell(5, Input::Stored { revision, attempt, answer });

    let effects = host.resumed("").tell(0, Input::Start);
    assert!(effects.iter().any(asks), "{effects:?}");
    let again = effects.iter().any(|effect| match effect {
        Effect::Emit(event) => matches!(event.kind, EventKind::ToolResults { .. }),
        _ => false,
    });
    assert!(!again, "the results of the first batch were told: {effects:?}");
}

#[test]
fn a_turn_that_was_stopped_says_why_and_is_not_resumed() {
    let mut next = Host::calling("", "send").resumed(r#""cancel":"why""#);
    next.tell(0, Input::Start);
    assert_eq!(records::stop_reason(&next.kept.state).as_deref(), Some("why"));
    assert_eq!(end(&next.resumed("").tell(0, Input::Start)), "turn.cancelled");

    let mut host = Host::calling("", "send");
    host.tell(1, Input::Pause);
    assert_eq!(end(&host.settle(ok("[1]"))), "paused");
    assert_eq!(end(&host.resumed("").tell(0, Input::Start)), "phase_start");
    host.kept.open = false;
    let (message, ..) = failure(&host.resumed("").tell(0, Input::Start));
    assert_eq!(message, "the turn has ended: read it with `followTurn`");
}

#[test]
fn the_record_of_a_batch_has_what_its_calls_need() {
    let read = |host: &Host, dialect| {
        let text = host.kept.records.iter().find(|(name, _)| name == "batch/1").unwrap();
        records::read_batch(&text.1, dialect).unwrap().0
    };
    let mut host = Host::new("");
    host.tell(0, Input::Start);
    let thought = Delta::Reasoning { text: "hm".to_owned(), signature: None };
    host.says(1, std::iter::once(thought).chain(call("send")).collect());
    assert_eq!(read(&host, Dialect::OpenAiChat).exchange().reasoning.len(), 1);
    assert!(read(&host, Dialect::Anthropic).exchange().reasoning.is_empty(), "another provider's");

    let mut host = Host::new("");
    host.tell(0, Input::Start);
    host.says(1, call("read"));
    let mut other = Host::calling("", "read");
    other.settle(ok("[1]"));
    let found = Some(StoredOutcome::new(other.reusable[0].0.clone(), 7));
    host.tell(1, Input::Recalled { call: 1, found });
    let calling = read(&host, Dialect::OpenAiChat);
    assert_eq!(calling.batch().calls()[0].fate(), Fate::Recall);

    // What was refused is behind what ran.
    let mut host = Host::new("");
    host.tell(0, Input::Start);
    let mut deltas = call("ask");
    let ghost = [
        Delta::ToolCallStart { index: 1, id: "d".to_owned(), name: "ghost".to_owned() },
        Delta::ToolCallArguments { index: 1, text: "{}".to_owned() },
        Delta::ToolCallEnd { index: 1 },
    ];
    deltas.splice(3..3, ghost);
    host.says(1, deltas);
    let verdict = Verdict::Valid { action: None, args: None, approval: false };
    host.tell(1, Input::Checked { call: 1, verdict });
    let calling = read(&host, Dialect::OpenAiChat);
    let calls = calling.batch().calls();
    let fates: Vec<_> = calls.iter().map(|call| (call.view().id.as_str(), call.fate())).collect();
    assert!(matches!(fates[..], [("c", Fate::Run(_)), ("d", Fate::Refused(_))]), "{fates:?}");

    let mut host = Host::new("");
    host.tell(0, Input::Start);
    host.says(1, call("ask"));
    let args = Json::parse_str(r#"{"n":2}"#).unwrap().into_owned();
    let verdict = Verdict::Valid { action: None, args: Some(args), approval: true };
    host.tell(1, Input::Checked { call: 1, verdict });
    let calling = read(&host, Dialect::OpenAiChat);
    let waiting = &calling.batch().calls()[0];
    assert_eq!(waiting.fate(), Fate::Waiting);
    assert_eq!(waiting.raw().map(|(args, _)| args.to_text()).as_deref(), Some("{}"));
    let decides = |signature: &str| {
        let resume = format!(r#""approvals":[{{"signature":"{signature}","approved":true}}]"#);
        end(&host.resumed(&resume).tell(0, Input::Start))
    };
    assert_eq!(decides("another"), "tool.no_approval");
    assert_ne!(decides(&waiting.view().signature), "tool.no_approval");
}

#[test]
fn blocks_of_the_providers_tools_are_kept() {
    let mut host = Host::new("");
    host.tell(0, Input::Start);
    let tool = ProviderTool {
        name: "web_search".to_owned(),
        id: None,
        status: ProviderToolStatus::Done,
        raw: r#"{"type":"searched"}"#.to_owned(),
        kept: true,
    };
    host.says(1, std::iter::once(Delta::ProviderTool(tool)).chain(call("send")).collect());
    let is_stored =
        |host: &Host| host.kept.state.contains(r#""providerTools":[[0,{"type":"searched"}]]"#);
    assert!(is_stored(&host), "{}", host.kept.state);
    let mut next = host.resumed("");
    next.tell(0, Input::Start);
    assert!(is_stored(&next), "{}", next.kept.state);
    let plain = Host::calling("", "send");
    assert!(!plain.kept.state.contains("providerTools"));
}

/// The end of a turn's time is the end of the turn, whether or not its store takes it.
#[test]
fn a_store_that_hangs_does_not_hold_a_turn_beyond_its_time() {
    for (stored, turn_ms) in [(0, 1_000), (1, 1_000), (2, 9_000)] {
        let text = format!(
            r#"{{"dialect":"openai-chat","requestId":"r","secret":"{SECRET}","policy":{{"turnMs":{turn_ms}}},
            "messages":[{{"role":"user","content":"go"}}],"keep":{{"owner":"{SECRET}"}}}}"#
        );
        let turn = TurnOptions::parse(text.as_bytes()).and_then(Turn::new).unwrap();
        let (mut turn, mut now, mut left) = (turn, 0, stored);
        let mut result = None;
        turn.handle(now, Input::Start);
        while result.is_none() {
            match turn.poll() {
                Next::Effect(Effect::Commit { attempt, commit }) if left > 0 => {
                    left -= 1;
                    let revision = commit.revision;
                    turn.handle(
                        now,
                        Input::Stored { revision, attempt, answer: CommitResult::Stored },
                    );
                }
                Next::Effect(Effect::Done { result: done }) => result = Some(done),
                Next::Effect(_) => {}
                Next::Wait { until } => {
                    now = until.expect("it waits for its time");
                    turn.handle(now, Input::Timer);
                }
            }
        }
        assert!((turn_ms..=turn_ms + 1_000).contains(&now), "{stored} stored: ended at {now}");
        let error = result.unwrap().error.unwrap();
        assert_eq!(error.code, "turn.timeout", "{stored} stored");
    }
}

/// A store that answers late, but within its usual time, gets the end of the turn.
#[test]
fn a_store_that_answers_after_the_time_of_a_turn_takes_its_end() {
    let text = format!(
        r#"{{"dialect":"openai-chat","requestId":"r","secret":"{SECRET}","policy":{{"turnMs":1000}},
        "messages":[{{"role":"user","content":"go"}}],"keep":{{"owner":"{SECRET}"}}}}"#
    );
    let mut turn = TurnOptions::parse(text.as_bytes()).and_then(Turn::new).unwrap();
    let (mut now, mut result) = (0, None);
    turn.handle(now, Input::Start);
    while result.is_none() {
        match turn.poll() {
            Next::Effect(Effect::Commit { attempt, commit }) => {
                now += 300;
                let revision = commit.revision;
                turn.handle(now, Input::Stored { revision, attempt, answer: CommitResult::Stored });
            }
            Next::Effect(Effect::Done { result: done }) => result = Some(done),
            Next::Effect(_) => {}
            Next::Wait { until } => {
                now = now.max(until.expect("it waits for its time"));
                turn.handle(now, Input::Timer);
            }
        }
    }
    assert_eq!(result.unwrap().error.unwrap().code, "model.timeout", "the end that is stored");
}
