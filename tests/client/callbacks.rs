//! What a host's callbacks may do wrong, and what it means to leave.

use futures::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use turnlock::json::Json;
use turnlock::stream::Delta;
use turnlock::tool::Status;
use turnlock::turn::EventKind;
use turnlock::turn::Policy;
use turnlock_client::store::{MemoryStore, Store};
use turnlock_client::{
    Approval, Model, ResumeOptions, RunningTurn, Tool, ToolContext, TurnOptions, TurnResult,
    TurnStatus, pause_turn, resume_turn, run_plain_turn, run_turn,
};

use crate::platform::{Seen, say, sleep, spawn, test};
use crate::site;

pub fn go() -> Value {
    json!([{ "role": "user", "content": "go" }])
}

pub fn any() -> Value {
    json!({ "type": "object" })
}

/// A model that calls `name` once and then says "done".
pub fn calls_once(name: &'static str) -> Model {
    Model::custom(move |request| {
        let text = request.to_text();
        let answered = text.contains("TOOL RESULT") || text.contains(" did not run");
        let deltas = if answered {
            vec![Delta::Text("done".to_owned())]
        } else {
            vec![
                Delta::ToolCallStart { index: 0, id: "c1".to_owned(), name: name.to_owned() },
                Delta::ToolCallArguments { index: 0, text: "{\"n\":1}".to_owned() },
                Delta::ToolCallEnd { index: 0 },
            ]
        };
        stream::iter(deltas.into_iter().map(Ok))
    })
}

pub async fn outcome(tool: Tool) -> TurnResult {
    let turn = run_turn(TurnOptions::new(calls_once("tool"), go()).tool(tool)).unwrap();
    turn.result().await
}

/// What comes of a tool that is started and goes beyond its limit. A machine that is too busy to
/// start it within the limit has longer.
pub async fn late(tool: impl Fn() -> Tool, started: impl Fn() -> bool) -> TurnResult {
    let mut limit = 1000;
    loop {
        let result = outcome(tool().timeout_ms(limit)).await;
        if started() {
            return result;
        }
        limit *= 2;
    }
}

/// What the only call returned.
pub fn returned(result: &TurnResult) -> Value {
    serde_json::to_value(&result.tool_results[0].outcome.result).unwrap()
}

pub fn assert_error(result: &TurnResult, code: &str, words: &str) {
    assert_eq!((result.status, result.text.as_str()), (TurnStatus::Complete, "done"));
    let [only] = result.tool_results.as_slice() else { panic!("{result:?}") };
    let error = only.outcome.error.as_ref().unwrap();
    assert_eq!(error.code, code);
    assert!(error.message.contains(words), "{error:?}");
}

/// Panics that are wanted take a line each, not a screen.
fn quiet() {
    // Behind the first one that was caught the hook cannot be changed.
    if !std::thread::panicking() {
        std::panic::set_hook(Box::new(|info| say!("{info}")));
    }
}

#[test]
async fn a_panic_in_a_tool_is_a_tool_error() {
    quiet();
    // At once, behind an await, while its future is made, deep in the stack, and again and again.
    for depth in 0..5_u32 {
        fn deep(depth: u32) -> u32 {
            assert!(depth != 0, "the bottom");
            deep(std::hint::black_box(depth - 1)) + 1
        }
        let at_once = Tool::new("tool", "", any(), |_: Value, _| async {
            let none: Option<u32> = std::hint::black_box(None);
            none.expect("nothing here");
            Ok::<_, String>(1)
        });
        assert_error(&outcome(at_once).await, "tool.threw", "panicked");
        let later = Tool::new("tool", "", any(), move |_: Value, _| async move {
            sleep(0).await;
            Ok::<_, String>(deep(depth))
        });
        assert_error(&outcome(later).await, "tool.threw", "panicked");
        let making = Tool::new("tool", "", any(), |_: Value, _| {
            let list: Vec<u32> = Vec::new();
            let first = list[std::hint::black_box(0)];
            async move { Ok::<_, String>(first) }
        });
        assert_error(&outcome(making).await, "tool.threw", "panicked");
    }
}

#[test]
async fn panics_elsewhere_end_there() {
    quiet();
    let fine = || Tool::new("tool", "", any(), |_: Value, _| async { Ok::<_, String>(1) });
    let checked = fine().check(|args: Value| {
        assert_eq!(args["n"], 2, "no such n");
        Ok(())
    });
    let turn = TurnOptions::new(calls_once("tool"), go()).tool(checked);
    let result = run_turn(turn).unwrap().result().await;
    assert_eq!((result.status, result.tool_results.len()), (TurnStatus::Complete, 0));
    assert_eq!(result.blocked_signatures.len(), 1);

    let traced = TurnOptions::new(calls_once("tool"), go()).tool(fine());
    let result = run_turn(traced.on_trace(|_| panic!("a sink"))).unwrap().result().await;
    assert_eq!((result.status, result.tool_results.len()), (TurnStatus::Complete, 1));

    let model = Model::custom(|_| stream::once(async { panic!("a model") }));
    let result = run_turn(TurnOptions::new(model, go())).unwrap().result().await;
    assert_eq!(result.error.unwrap().code, "model.failed");

    struct Grenade;
    impl Drop for Grenade {
        fn drop(&mut self) {
            assert_eq!(std::hint::black_box(1), 2, "a destructor");
        }
    }
    let started = Seen::new(false);
    let dropped = || {
        let started = started.clone();
        Tool::new("tool", "", any(), move |_: Value, _| {
            let started = started.clone();
            async move {
                let grenade = Grenade;
                started.set(true);
                futures::future::pending::<()>().await;
                drop(grenade);
                Ok::<_, String>(1)
            }
        })
    };
    let result = late(dropped, || started.get()).await;
    assert_eq!(result.tool_results[0].outcome.status, Status::Timeout);
}

#[test]
async fn errors_of_tools_are_told() {
    let words = Tool::new("tool", "", any(), |_: Value, _| async { Err::<u8, _>("disk on fire") });
    assert_error(&outcome(words).await, "tool.threw", "disk on fire");
    let null = Tool::new("tool", "", any(), |_: Value, _| async { Ok::<_, String>(()) });
    let null = outcome(null).await;
    assert_eq!(null.tool_results[0].outcome.result, Some(Json::Null));
    assert_eq!(
        serde_json::to_value(&null).unwrap()["toolResults"][0].get("result"),
        Some(&Value::Null)
    );
    let told = Tool::new("tool", "", any(), |_: Value, context: ToolContext| async move {
        let ToolContext { request_id, tool_batch_id, tool_call_id, project_id, .. } = context;
        let key = context.idempotency_key;
        Ok::<_, String>(json!([
            &*request_id,
            tool_batch_id,
            tool_call_id,
            project_id.is_none(),
            key.len() > 20
        ]))
    });
    let result = outcome(told).await;
    let said = returned(&result);
    assert_eq!(said, json!([&*result.request_id, 1, "c1", true, true]));
}

#[test]
async fn a_pause_from_elsewhere() {
    let store = MemoryStore::new();
    let kept = store.clone();
    let tool = Tool::new("tool", "", any(), move |_: Value, _| {
        let kept = kept.clone();
        async move {
            let asked = pause_turn("r", kept.clone(), "").await.map_err(|error| error.to_string());
            // The owner has heard of it when it has written its state again.
            while kept.read("[\"\",\"r\"]").await.unwrap().unwrap().state.contains("\"pause\":") {
                sleep(1).await;
            }
            asked
        }
    });
    let options = TurnOptions::new(calls_once("tool"), go()).tool(tool.clone()).request_id("r");
    let result = run_turn(options.store(store.clone())).unwrap().result().await;
    assert_eq!(result.status, TurnStatus::Paused);
    assert_eq!(returned(&result), "running");
    assert_eq!(pause_turn("r", store.clone(), "").await.unwrap(), "paused");
    let options = ResumeOptions::new("r", store.clone(), calls_once("tool")).tools([tool]);
    let result = resume_turn(options).unwrap().result().await;
    assert_eq!((result.status, result.text.as_str()), (TurnStatus::Complete, "done"));
    assert_eq!(pause_turn("other", store, "").await.unwrap_err().code, "turn.not_found");
}

#[test]
async fn tools_say_how_far_they_are() {
    progresses(Tool::new("tool", "", any(), |_: Value, context: ToolContext| async move {
        context.report(&json!({ "done": 1 }));
        sleep(1).await;
        context.report(&"x".repeat(70_000));
        Ok::<_, String>(2)
    }))
    .await;
}

/// A tool that is done with one half, says nothing else that is shown, and returns 2.
pub async fn progresses(tool: Tool) {
    let mut turn = run_turn(TurnOptions::new(calls_once("tool"), go()).tool(tool)).unwrap();
    let said: Vec<_> = turn
        .by_ref()
        .filter_map(|event| async move {
            match event.kind {
                EventKind::ToolProgress { data, .. } => Some(data.to_text()),
                _ => None,
            }
        })
        .collect()
        .await;
    assert_eq!(said, ["{\"done\":1}"]);
    assert_eq!(returned(&turn.result().await), 2);
}

/// Sets its flag when it is dropped.
struct Dropped(Seen<bool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// A tool that hangs; its flags are set when it starts, and when it is dropped.
pub fn hangs(started: &Seen<bool>, gone: &Seen<bool>) -> Tool {
    let (started, gone) = (started.clone(), gone.clone());
    Tool::new("tool", "", any(), move |_: Value, _| {
        let dropped = Dropped(gone.clone());
        started.set(true);
        async move {
            futures::future::pending::<()>().await;
            drop(dropped);
            Ok::<_, String>(1)
        }
    })
}

#[test]
async fn leaving_cancels_what_is_under_way() {
    // A response that never ends.
    let session = "rust-left-response";
    let mut turn =
        run_turn(TurnOptions::new(site::model(session, "stall", "openai-chat"), go())).unwrap();
    while let Some(event) = turn.next().await {
        if event.chunk().is_some() {
            break;
        }
    }
    assert_eq!(site::requests(session).await[0]["closedEarly"], false);
    drop(turn);
    site::closes(session).await;

    // A tool.
    let (started, gone) = (Seen::new(false), Seen::new(false));
    drop(in_tool(hangs(&started, &gone), &started).await);
    site::until("the tool's future is dropped", async || gone.get()).await;
}

/// A turn whose tool runs.
pub async fn in_tool(tool: Tool, started: &Seen<bool>) -> RunningTurn {
    let mut turn = run_turn(TurnOptions::new(calls_once("tool"), go()).tool(tool)).unwrap();
    while let Some(event) = turn.next().await {
        if matches!(event.kind, EventKind::ToolCalls { .. }) {
            site::until("the tool runs", async || started.get()).await;
            return turn;
        }
    }
    panic!("the tool did not run");
}

#[test]
async fn whoever_waits_for_the_result_alone_gets_it() {
    let turn =
        run_turn(TurnOptions::new(site::model("rust-result", "one-call", "anthropic"), go()).tool(
            Tool::new("list_files", "", any(), |_: Value, _| async { Ok::<_, String>(["a.txt"]) }),
        ))
        .unwrap();
    let result = turn.result().await;
    assert_eq!(result.status, TurnStatus::Complete);
    assert_eq!(returned(&result), json!(["a.txt"]));
    assert!(result.text.contains("a.txt"), "{}", result.text);
    // And dropping that wait cancels.
    let session = "rust-left-result";
    let turn =
        run_turn(TurnOptions::new(site::model(session, "stall", "openai-chat"), go())).unwrap();
    let mut waiting = Box::pin(turn.result());
    site::until("the request is there", async || {
        assert!((&mut waiting).now_or_never().is_none());
        !site::requests(session).await.is_empty()
    })
    .await;
    drop(waiting);
    site::closes(session).await;
}

#[test]
async fn a_slow_reader_holds_the_model_back() {
    let made = Seen::new(0_u32);
    let count = made.clone();
    let model = Model::custom(move |_| {
        let count = count.clone();
        stream::iter(0..10_000).then(move |n| {
            count.set(n + 1);
            async move { Ok(Delta::Text(format!("{n} "))) }
        })
    });
    let mut turn = run_turn(TurnOptions::new(model, go())).unwrap();
    // Reads a little, and then nothing for a while.
    for _ in 0..3 {
        turn.next().await.unwrap();
    }
    site::until("it goes some way", async || made.get() >= 200).await;
    // And no further, however long nobody reads.
    sleep(50).await;
    let behind = made.get();
    assert!(behind < 400, "{behind}");
    let rest =
        turn.by_ref().filter(|event| futures::future::ready(event.chunk().is_some())).count();
    assert!(rest.await >= 9_990);
    assert_eq!(turn.result().await.status, TurnStatus::Complete);
}

#[test]
async fn a_model_that_is_always_ready_can_be_stopped() {
    let endless = || Model::custom(|_| stream::repeat_with(|| Ok(Delta::Text("x".to_owned()))));
    let policy = Policy::default().turn_ms(100);
    let result = run_turn(TurnOptions::new(endless(), go()).policy(policy)).unwrap().result().await;
    assert_eq!(result.error.unwrap().code, "model.timeout");
    let turn = run_turn(TurnOptions::new(endless(), go())).unwrap();
    let control = turn.control();
    spawn(async move { control.cancel("enough") });
    assert_eq!(turn.result().await.status, TurnStatus::Cancelled);
    struct Grenade;
    impl Drop for Grenade {
        fn drop(&mut self) {
            assert_eq!(std::hint::black_box(1), 2, "a destructor");
        }
    }
    quiet();
    let model = Model::custom(|_| {
        let grenade = Grenade;
        stream::iter([Ok(Delta::Text("x".to_owned()))]).map(move |delta| {
            let _ = &grenade;
            delta
        })
    });
    let result = run_turn(TurnOptions::new(model, go())).unwrap().result().await;
    assert_eq!((result.status, result.text.as_str()), (TurnStatus::Complete, "x"));
}

#[test]
async fn a_plain_turn_is_without_a_store_and_has_a_plain_history() {
    let answers = || calls_once("tool");
    let refused = |options: TurnOptions, option: &str| {
        let error = run_plain_turn(options).unwrap_err();
        let named = error.message.starts_with(&format!("`{option}`"));
        assert!(error.code == "options.invalid" && named, "{error}");
    };
    refused(TurnOptions::new(answers(), go()).store(MemoryStore::new()), "store");
    refused(TurnOptions::new(Model::anthropic("m"), go()), "model");
    let events = json!([{ "role": "user", "parts": [{ "text": "go" }] }]);
    refused(TurnOptions::new(answers(), events), "messages");
    refused(TurnOptions::new(answers(), json!([])), "messages");
    let tool = Tool::new("tool", "", any(), |_: Value, _| async { Ok::<_, String>(1) });
    let said = json!([
        { "role": "system", "content": "Be brief." }, { "role": "user", "content": "hi" },
        { "role": "assistant", "content": "hello" }, { "role": "user", "content": "go" },
    ]);
    let turn = run_plain_turn(TurnOptions::new(answers(), said).tool(tool)).unwrap();
    let result = turn.result().await;
    assert_eq!((result.status, result.tool_results.len()), (TurnStatus::Complete, 1));
}

// openai/openai-agents-js#1418, 2026-06-23: a resume evaluated the callback again.
#[test]
async fn a_resume_does_not_evaluate_needs_approval_if_again() {
    let (store, asked) = (MemoryStore::new(), Seen::new(0));
    let tool = || {
        let asked = asked.clone();
        Tool::new("tool", "", any(), |_: Value, _| async { Ok::<_, String>("acted") })
            .needs_approval_if(move |_: Value| {
                *asked.lock() += 1;
                assert_eq!(*asked.lock(), 1, "it panics when it is evaluated again");
                true
            })
    };
    let options = TurnOptions::new(calls_once("tool"), go()).tool(tool());
    let mut turn = run_turn(options.store(store.clone()).request_id("r")).unwrap();
    let mut approvals = Vec::new();
    while let Some(event) = turn.next().await {
        if let EventKind::ApprovalRequired { calls, .. } = event.kind {
            approvals.extend(calls.into_iter().map(|call| Approval::new(call.signature, true)));
        }
    }
    assert_eq!(approvals.len(), 1);
    let options = ResumeOptions::new("r", store, calls_once("tool")).tool(tool());
    let result = resume_turn(options.approvals(approvals)).unwrap().result().await;
    assert_eq!((result.status, result.text.as_str()), (TurnStatus::Complete, "done"));
    assert_eq!((returned(&result), *asked.lock()), (json!("acted"), 1));
}

#[test]
async fn misuse_is_told_at_once() {
    let fine = || calls_once("tool");
    let tool = |name: &str| Tool::new(name, "", any(), |_: Value, _| async { Ok::<_, String>(1) });
    let code = |options: TurnOptions| run_turn(options).unwrap_err().code;
    assert_eq!(code(TurnOptions::new(fine(), json!([]))), "options.invalid");
    assert_eq!(code(TurnOptions::new(fine(), json!("hello"))), "options.invalid");
    assert_eq!(code(TurnOptions::new(fine(), json!([{ "what": 1 }]))), "message.unknown_shape");
    assert_eq!(code(TurnOptions::new(fine(), go()).request_id("")), "options.invalid");
    assert_eq!(code(TurnOptions::new(fine(), go()).tool(tool("a b"))), "tool.invalid_name");
    let twice = TurnOptions::new(fine(), go()).tools([tool("a"), tool("A")]);
    assert_eq!(code(twice), "tool.invalid_name");
    let of_schema =
        |schema: Value| Tool::new("a", "", schema, |_: Value, _| async { Ok::<_, String>(1) });
    let schema = of_schema(json!(7));
    assert_eq!(code(TurnOptions::new(fine(), go()).tool(schema)), "tool.invalid_schema");
    let schema = of_schema(json!({ "type": "strng" }));
    assert_eq!(code(TurnOptions::new(fine(), go()).tool(schema)), "tool.invalid_schema");
    let resume = |options: ResumeOptions| resume_turn(options).unwrap_err().code;
    let kept = || ResumeOptions::new("r", MemoryStore::new(), fine());
    let wrong = Approval::new("c1", true);
    assert_eq!(resume(kept().approvals([wrong])), "options.invalid");
    assert_eq!(resume(kept().tools([tool("a"), tool("A")])), "tool.invalid_name");
    assert_eq!(resume(ResumeOptions::new("", MemoryStore::new(), fine())), "options.invalid");
    let asks = TurnOptions::new(fine(), go()).tool(tool("a").needs_approval());
    assert_eq!(code(asks), "options.invalid");
    let none = Model::openai_chat("", "m");
    assert_eq!(code(TurnOptions::new(none, go())), "options.invalid");
    let keys = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert_eq!(code(TurnOptions::new(fine(), [keys])), "json.not_serializable");
}
