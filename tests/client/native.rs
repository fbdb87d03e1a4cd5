//! What there is natively alone: threads, runtimes, clients of reqwest, a clock that tests may pause.

use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use turnlock::tool::Status;
use turnlock_client::{Model, Tool, TurnOptions, TurnStatus, run_turn};

use crate::callbacks::{any, go, hangs, in_tool, outcome, returned};
use crate::platform::{Seen, test};
use crate::{chains, requests, site, turns};

/// The tables once more, drivers and readers on different threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tables_on_threads() {
    turns::play_tables("threads-turns").await;
    requests::play_tables("threads-requests").await;
    chains::play_tables().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_moves_between_threads() {
    let session = "rust-threads";
    let turn = TurnOptions::new(site::model(session, "one-call", "openai-chat"), go());
    let list = Tool::new("list_files", "", any(), |_: Value, _| async {
        // A tool that computes takes a thread of its own.
        tokio::task::spawn_blocking(|| ["a.txt"]).await
    });
    let mut turn = run_turn(turn.tool(list)).unwrap();
    let read = tokio::spawn(async move {
        while turn.next().await.is_some() {}
        turn.result().await
    });
    let result = read.await.unwrap();
    assert_eq!(result.status, TurnStatus::Complete);
    assert_eq!(returned(&result), json!(["a.txt"]));
}

#[test]
async fn a_host_may_bring_its_client() {
    let session = "rust-client";
    let builder = reqwest::Client::builder().user_agent("of the host");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let model = site::model(session, "answer", "openai-chat").client(builder.build().unwrap());
    let result = run_turn(TurnOptions::new(model, go())).unwrap().result().await;
    assert_eq!(result.status, TurnStatus::Complete);
    let request = &site::requests(session).await[0];
    assert_eq!(request["headers"]["user-agent"], "of the host");
    assert_eq!(request["headers"]["content-type"], "application/json");
}

#[test]
async fn no_key_reaches_an_error() {
    // Nobody listens there; and what is no header is sent nowhere.
    let nowhere = "http://ann:sk-secret@127.0.0.1:1/v1?key=sk-secret";
    let nowhere = Model::openai_chat(nowhere, "m").max_retries(0);
    let broken = Model::openai_chat(crate::platform::url(), "m").header("x-key", "sk-secret\n");
    for model in [nowhere, broken.max_retries(0)] {
        let error = run_turn(TurnOptions::new(model, go())).unwrap().result().await.error.unwrap();
        assert_eq!(error.code, "model.unreachable");
        assert!(!error.message.contains("secret"), "{error:?}");
        assert!(error.message.contains("http://127.0.0.1"), "{error:?}");
    }
    let relative = Model::openai_chat("/v1", "m").max_retries(0);
    let error = run_turn(TurnOptions::new(relative, go())).unwrap().result().await.error.unwrap();
    assert!(error.message.contains("needs a page: /v1"), "{error:?}");
    let wrong = Model::openai_chat("api.openai.com/v1", "m");
    assert_eq!(run_turn(TurnOptions::new(wrong, go())).err().unwrap().code, "options.invalid");
}

#[tokio::test(start_paused = true)]
async fn time_limits_are_those_of_tokios_clock() {
    let began = tokio::time::Instant::now();
    let (started, gone) = (Seen::new(false), Seen::new(false));
    let result = outcome(hangs(&started, &gone).timeout_ms(25_000)).await;
    assert_eq!(result.tool_results[0].outcome.status, Status::Timeout);
    assert!(gone.get());
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(25) && took < Duration::from_secs(26), "{took:?}");
}

#[std::prelude::v1::test]
fn a_runtime_that_ends_ends_its_turns() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (started, gone) = (Seen::new(false), Seen::new(false));
    let (mut turn, other) = runtime.block_on(async {
        let turn = in_tool(hangs(&started, &gone), &started).await;
        (turn, in_tool(hangs(&started, &gone), &started).await)
    });
    drop(runtime);
    assert!(gone.get());
    futures::executor::block_on(async {
        while turn.next().await.is_some() {}
        assert_eq!(other.result().await.error.unwrap().code, "core.fault");
    });
    // Outside of every runtime.
    drop(turn);
}
