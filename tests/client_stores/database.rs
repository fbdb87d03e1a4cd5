//! What is IndexedDB's own: connections, locks, expiry, failures. What takes several pages, or
//! a browser that fails, is in `tests/stores/database.mjs`.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use futures::poll;
use idb::{Database, Factory, TransactionMode};
use turnlock::store::{Commit, CommitResult};
use turnlock_client::store::{IndexedDbStore, IndexedDbStoreOptions, Store};

use crate::conformance::{applied, commit_of, eventually, pairs, random, same};
use crate::platform::test;

pub fn store(name: &str) -> IndexedDbStore {
    let name = name.to_owned();
    IndexedDbStore::with_options(IndexedDbStoreOptions { name, ..IndexedDbStoreOptions::default() })
}

/// A database of its own for each test.
fn fresh() -> String {
    format!("database {}", random())
}

/// Opens a database as another page would, which closes it for nobody.
async fn open_beside(name: &str, version: Option<u32>) -> Database {
    Factory::new().unwrap().open(name, version).unwrap().await.unwrap()
}

async fn counts(name: &str) -> [u32; 4] {
    let stores = ["turns", "records", "events", "reusable"];
    let db = open_beside(name, None).await;
    let tx = db.transaction(&stores, TransactionMode::ReadOnly).unwrap();
    let mut all = [0; 4];
    for (count, store) in all.iter_mut().zip(stores) {
        *count = tx.object_store(store).unwrap().count(None).unwrap().await.unwrap();
    }
    db.close();
    all
}

async fn code(store: &IndexedDbStore, turn: &str) -> Option<String> {
    store.read(turn).await.err().map(|error| error.code)
}

#[test]
async fn two_connections_race_for_each_commit_of_a_turn() {
    let name = fresh();
    let stores = [store(&name), store(&name)];
    for revision in 1..=40_u64 {
        let owners = [0, 1].map(|at| format!("store {at} revision {revision}"));
        let answers = join_all(stores.iter().zip(&owners).map(|(store, owner)| {
            let commit = Commit {
                take_over: true,
                records: vec![(format!("claim {revision}"), owner.clone())],
                state: Some(owner.clone()),
                ..commit_of(owner, revision)
            };
            store.commit("t", Arc::new(commit))
        }))
        .await;
        let won: Vec<bool> = answers.iter().map(|one| *one == Ok(CommitResult::Stored)).collect();
        assert!(won[0] != won[1], "{answers:?}");
        let (winner, loser) = if won[0] { (0, 1) } else { (1, 0) };
        let state = Some(owners[winner].clone());
        same(answers[loser].clone(), Ok(CommitResult::Refused { state }), "what the loser is told");
        let kept = stores[loser].read("t").await.unwrap().unwrap();
        same(kept.records.len() as u64, revision, "one claim each");
        same(kept.records.last().unwrap().1.as_str(), &owners[winner], "the winner's");
    }
}

#[test]
async fn what_has_expired_leaves_the_database() {
    let name = fresh();
    let store = store(&name);
    for n in 0..5 {
        let commit = Commit {
            ttl_ms: 1,
            records: pairs(&[("r", "x")]),
            events: Some((1, "[]".to_owned())),
            reusable: vec![(format!("k{n}"), "x".to_owned(), 1)],
            ..commit_of("o", 1)
        };
        applied(&store, &format!("t{n}"), commit, "a short one").await;
    }
    // Each new turn clears the expired ones away.
    let number = Cell::new(0);
    eventually("expired rows must go", async || {
        number.set(number.get() + 1);
        let commit = Commit { ttl_ms: 1, ..commit_of("o", 1) };
        applied(&store, &format!("new{}", number.get()), commit, "a new one").await;
        matches!(counts(&name).await, [0 | 1, 0, 0, 0])
    })
    .await;
}

#[test]
async fn a_database_that_is_deleted_is_let_go_and_opened_again() {
    let name = fresh();
    let store = store(&name);
    for _ in 0..3 {
        applied(&store, "t", commit_of("o", 1), "revision 1").await;
        // It waits for every connection that stays open.
        Factory::new().unwrap().delete(&name).unwrap().await.unwrap();
        same(store.read("t").await, Ok(None), "what a new database keeps");
    }
}

#[test]
async fn a_newer_version_takes_the_database_over() {
    let name = fresh();
    let store = store(&name);
    applied(&store, "t", commit_of("o", 1), "revision 1").await;
    let newer = open_beside(&name, Some(99)).await;
    same(code(&store, "t").await.as_deref(), Some("store.version"), "read");
    let commit = store.commit("t", Arc::new(commit_of("o", 2))).await;
    same(commit.unwrap_err().code.as_str(), "store.version", "commit");
    newer.close();
}

#[test]
async fn a_page_that_holds_the_database_back_is_told_of_and_it_goes_on_when_it_is_free() {
    let name = fresh();
    let holder = open_beside(&name, Some(1)).await;
    // It does not listen, so a deletion waits for it, and everybody else behind the deletion.
    let deletion = Factory::new().unwrap().delete(&name).unwrap();
    let store = IndexedDbStore::with_options(IndexedDbStoreOptions {
        name: name.clone(),
        open_timeout: Duration::from_secs(1),
    });
    for _ in 0..2 {
        same(code(&store, "t").await.as_deref(), Some("store.blocked"), "while it is held");
    }
    holder.close();
    deletion.await.unwrap();
    eventually("it must open when it is free", async || {
        let answer = store.commit("t", Arc::new(commit_of("o", 1))).await;
        answer.map_err(|error| same(error.code.as_str(), "store.blocked", "till then")).is_ok()
    })
    .await;
    same(store.read("t").await.unwrap().unwrap().revision, 1, "what was kept");
    // What was asked for while it was held did not stay open.
    drop(store);
    Factory::new().unwrap().delete(&name).unwrap().await.unwrap();
}

#[test]
async fn an_operation_goes_on_where_nobody_waits_for_it() {
    let name = fresh();
    let (store, other) = (store(&name), store(&name));
    {
        let mut commit = store.commit("t", Arc::new(commit_of("o", 1)));
        assert!(poll!(&mut commit).is_pending());
        let mut read = store.read("t");
        assert!(poll!(&mut read).is_pending());
        // Never polled: it does not even begin.
        drop(store.commit("never", Arc::new(commit_of("o", 1))));
    }
    // Nor does it need the store.
    drop(store);
    eventually("it must be kept", async || other.read("t").await.unwrap().is_some()).await;
    same(other.read("never").await, Ok(None), "what was never polled");
}

#[test]
async fn who_drops_the_last_clone_is_gone() {
    let name = fresh();
    let (owner, other) = (store(&name), store(&name));
    applied(&owner, "t", commit_of("o", 1), "revision 1").await;
    let clone = owner.clone();
    drop(owner);
    assert!(other.read("t").await.unwrap().unwrap().idle_ms.is_some(), "a clone is left");
    drop(clone);
    eventually("its lock must be let go", async || {
        other.read("t").await.unwrap().unwrap().idle_ms.is_none()
    })
    .await;
    let commit = Commit { take_over: true, ..commit_of("new", 2) };
    applied(&other, "t", commit, "a take-over").await;
    assert!(other.read("t").await.unwrap().unwrap().idle_ms.is_some(), "the new owner is alive");
}

#[test]
async fn watchers_may_watch_and_stop_each_other() {
    let name = fresh();
    let (store, writer) = (store(&name), store(&name));
    let calls = Rc::new(Cell::new(0));
    let second = Rc::new(Cell::new(None));
    let held = Rc::clone(&second);
    let again = store.clone();
    let first = store.watch(
        "t",
        Arc::new(move |_| {
            // Stops the other one, which is about to be called, and begins a new one.
            held.set(again.watch("t", Arc::new(|_| ())));
        }),
    );
    let count = Rc::clone(&calls);
    second.set(store.watch("t", Arc::new(move |_| count.set(count.get() + 1))));
    let told = Rc::new(Cell::new(false));
    let tell = Rc::clone(&told);
    let last = store.watch("t", Arc::new(move |_| tell.set(true)));
    applied(&writer, "t", commit_of("o", 1), "revision 1").await;
    eventually("the last one must be told", async || told.get()).await;
    same(calls.get(), 0, "calls after the stop");
    second.take();
    drop((first, last));
}

#[test]
async fn databases_are_named() {
    let (one, other) = (store(&fresh()), store(&fresh()));
    applied(&one, "t", commit_of("o", 1), "revision 1").await;
    same(other.read("t").await, Ok(None), "what another database keeps");
    let default = IndexedDbStoreOptions::default();
    same((default.name.as_str(), default.open_timeout.as_secs()), ("turnlock", 10), "defaults");
}
