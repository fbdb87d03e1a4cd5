//! Model servers that send what is no response (`tests/client/hostile.mjs`), and stores that lie.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::Value;
use turnlock::store::{Commit, CommitResult, StoredTurn};
use turnlock::turn::Policy;
use turnlock_client::store::{EventGroup, MemoryStore, Store, StoreError, StoredOutcome};
use turnlock_client::{
    BoxFuture, Model, ResumeOptions, Tool, TurnOptions, TurnStatus, cancel_turn, pause_turn,
    resume_turn, run_turn,
};

use crate::callbacks::{any, calls_once, go};
use crate::platform::{test, url};
use crate::site::get;

/// The status, the error's code and the text of a turn whose model does this deed.
async fn asked(deed: &str) -> (TurnStatus, String, String) {
    let address = format!("{}/hostile/{deed}/v1", url());
    let model = Model::openai_chat(address, "m").api_key("sk-secret").max_retries(0);
    let options = TurnOptions::new(model, go()).policy(Policy::default().turn_ms(20_000));
    let result = run_turn(options).unwrap().result().await;
    let (code, message) =
        result.error.map_or_else(Default::default, |error| (error.code.to_string(), error.message));
    assert!(!message.contains("sk-secret") && message.len() < 2_000, "{message}");
    (result.status, code, result.text)
}

#[test]
async fn no_redirect_is_followed() {
    let count = async || get("/hostile/elsewhere").await["asked"].as_u64().unwrap();
    let before = count().await;
    for status in [300, 301, 302, 303, 304, 305, 307, 308, 399] {
        let (_, code, _) = asked(&format!("moved-{status}")).await;
        assert_eq!(code, "model.redirected", "{status}");
    }
    assert_eq!(count().await, before);
    // What would notice it.
    asked("elsewhere").await;
    assert_eq!(count().await, before + 1);
}

#[test]
async fn a_key_that_a_stream_repeats_is_not_shown() {
    let address = format!("{}/hostile/key/v1", url());
    let model = Model::openai_chat(address, "m").api_key("sk-secret").max_retries(0);
    let result = run_turn(TurnOptions::new(model, go())).unwrap().result().await;
    let message = result.error.unwrap().message;
    assert!(message.contains("Incorrect: [key] of [key]"), "{message}");
}

#[test]
async fn what_has_no_end_is_read_to_a_bound() {
    // Chromium reads ahead of the page.
    const MOST: u64 = if cfg!(target_arch = "wasm32") { 192 << 20 } else { 48 << 20 };
    for (deed, expected) in [
        ("endless-failure", "model.status"),
        ("endless-line", "model.stream"),
        ("endless-arguments", "model.stream"),
    ] {
        let (status, code, _) = asked(deed).await;
        assert_eq!((status, code.as_str()), (TurnStatus::Failed, expected), "{deed}");
        let written = get(&format!("/hostile/{deed}")).await["written"].as_u64().unwrap();
        assert!(written < MOST, "{deed}: {written} bytes");
    }
}

#[test]
async fn whatever_a_model_server_sends_a_turn_ends() {
    for deed in [
        "nothing",
        "no-http",
        "status-of-letters",
        "huge-header",
        "many-headers",
        "half-a-body",
        "negative-length",
        "chunk-of-letters",
        "chunk-without-end",
        "gzip-that-is-none",
        "page",
        "bytes",
        "deep-json",
        "half-characters",
        "wrong-types",
        "numbers-without-end",
    ] {
        let (status, code, _) = asked(deed).await;
        assert_eq!(status, TurnStatus::Failed, "{deed}");
        assert!(code.starts_with("model."), "{deed}: {code}");
    }
}

#[test]
async fn a_flood_of_events_arrives_whole() {
    let (status, code, text) = asked("flood").await;
    assert_eq!((status, code.as_str(), text.len()), (TurnStatus::Complete, "", 200_000));
}

/// What a store does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    State(&'static str),
    Revision(u64),
    Records(&'static str),
    Shut,
    Gone,
    Fails,
    #[cfg(not(target_arch = "wasm32"))]
    Hangs,
    /// In a page, a panic is a trap.
    #[cfg(not(target_arch = "wasm32"))]
    Panics,
    Refuses,
    Forgets,
    Events(&'static str),
}

const LIES: &[Lie] = &[
    Lie::State(""),
    Lie::State("x"),
    Lie::State("[1"),
    Lie::State("{\"v\":99}"),
    Lie::State("null"),
    Lie::Revision(0),
    Lie::Revision(1 << 53),
    Lie::Revision(u64::MAX),
    Lie::Records("x"),
    Lie::Records("{\"v\":99}"),
    Lie::Records("[[[["),
    Lie::Shut,
    Lie::Gone,
    Lie::Fails,
    // Natively, no time passes; here, each limit would be waited for.
    #[cfg(not(target_arch = "wasm32"))]
    Lie::Hangs,
    #[cfg(not(target_arch = "wasm32"))]
    Lie::Panics,
    Lie::Refuses,
    Lie::Forgets,
    Lie::Events("[]"),
    Lie::Events("x"),
    Lie::Events("[7,null,{\"seq\":-1}]"),
];

/// A store that tells the truth until it is told to lie.
#[derive(Clone)]
struct Liar(MemoryStore, Lie);

impl Liar {
    async fn before(&self) -> Result<(), StoreError> {
        match self.1 {
            Lie::Fails => Err(StoreError::new("store.unavailable", "no")),
            #[cfg(not(target_arch = "wasm32"))]
            Lie::Hangs => std::future::pending().await,
            #[cfg(not(target_arch = "wasm32"))]
            Lie::Panics => panic!("a store that panics"),
            _ => Ok(()),
        }
    }
}

impl Store for Liar {
    fn read<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move {
            self.before().await?;
            let mut kept = self.0.read(turn).await?;
            if let Some(kept) = &mut kept {
                match self.1 {
                    Lie::State(text) => kept.state = text.to_owned(),
                    Lie::Revision(number) => kept.revision = number,
                    Lie::Records(text) => {
                        kept.records.iter_mut().for_each(|one| one.1 = text.to_owned())
                    }
                    Lie::Shut => kept.open = !kept.open,
                    Lie::Gone => kept.idle_ms = None,
                    _ => {}
                }
            }
            Ok(kept)
        })
    }

    fn commit<'a>(
        &'a self,
        turn: &'a str,
        commit: Arc<Commit>,
    ) -> BoxFuture<'a, Result<CommitResult, StoreError>> {
        Box::pin(async move {
            self.before().await?;
            match self.1 {
                Lie::Refuses => Ok(CommitResult::Refused { state: Some("x".to_owned()) }),
                Lie::Forgets => Ok(CommitResult::Stored),
                _ => self.0.commit(turn, commit).await,
            }
        })
    }

    fn events<'a>(
        &'a self,
        turn: &'a str,
        after: u64,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<EventGroup>, StoreError>> {
        Box::pin(async move {
            self.before().await?;
            let Lie::Events(text) = self.1 else { return self.0.events(turn, after, most).await };
            let group = EventGroup { last: after, text: text.to_owned() };
            Ok(vec![group; most.min(2_000) as usize])
        })
    }

    fn recall<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredOutcome>, StoreError>> {
        Box::pin(async move {
            self.before().await?;
            self.0.recall(key).await
        })
    }
}

// Natively, time passes where nothing else is left to do: a store that hangs is not waited for.
#[cfg_attr(not(target_arch = "wasm32"), tokio::test(start_paused = true))]
#[cfg_attr(target_arch = "wasm32", test)]
async fn whatever_a_store_answers_every_turn_ends() {
    let tool = || Tool::new("tool", "", any(), |_: Value, _| async { Ok::<_, String>(1) });
    let each = LIES.iter().map(|lie| async move {
        let store = MemoryStore::new();
        let policy = Policy::default().pause_after_tools(true);
        let first = TurnOptions::new(calls_once("tool"), go()).tool(tool()).request_id("r");
        let first = run_turn(first.policy(policy).store(store.clone())).unwrap().result().await;
        assert_eq!(first.status, TurnStatus::Paused);
        let liar = Liar(store, *lie);
        let options = ResumeOptions::new("r", liar.clone(), calls_once("tool")).tools([tool()]);
        let resumed = resume_turn(options).unwrap().result().await;
        let typed = |code: &str| code.contains('.');
        assert!(resumed.error.is_none_or(|error| typed(&error.code)), "{lie:?}");
        let asked = pause_turn("r", liar.clone(), "").await;
        assert!(asked.err().is_none_or(|error| typed(&error.code)), "{lie:?}");
        let ended = cancel_turn("r", liar.clone(), "", "enough").await;
        assert!(ended.err().is_none_or(|error| typed(&error.code)), "{lie:?}");
        let fresh = TurnOptions::new(calls_once("tool"), go()).tool(tool()).request_id("other");
        let fresh = run_turn(fresh.store(liar)).unwrap().result().await;
        assert!(fresh.error.is_none_or(|error| typed(&error.code)), "{lie:?}");
    });
    join_all(each).await;
}
