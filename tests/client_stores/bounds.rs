//! The bounds of a store in memory.

use std::sync::Arc;

use futures::FutureExt;
use turnlock::store::{Commit, CommitResult, StoredTurn};
use turnlock_client::store::{MemoryStore, MemoryStoreOptions, Store, StoreError, StoredOutcome};

use crate::conformance::{HOUR, commit_of};
use crate::platform::{Seen, test};

fn store(max_turns: usize, max_reusable: usize) -> (MemoryStore, Seen<f64>) {
    let time = Seen::new(0.0);
    let clock = time.clone();
    let options = MemoryStoreOptions {
        max_turns: max_turns.try_into().unwrap(),
        max_reusable: max_reusable.try_into().unwrap(),
        now: Arc::new(move || clock.get()),
        ..MemoryStoreOptions::default()
    };
    (MemoryStore::with_options(options), time)
}

fn commit(store: &MemoryStore, turn: &str, commit: Commit) -> Result<CommitResult, StoreError> {
    store.commit(turn, Arc::new(commit)).now_or_never().unwrap()
}

fn read(store: &MemoryStore, turn: &str) -> Option<StoredTurn> {
    store.read(turn).now_or_never().unwrap().unwrap()
}

fn recall(store: &MemoryStore, key: &str) -> Option<StoredOutcome> {
    store.recall(key).now_or_never().unwrap().unwrap()
}

fn full(answer: Result<CommitResult, StoreError>) {
    assert_eq!(answer.unwrap_err().code, "store.full");
}

#[test]
async fn what_was_over_first_makes_room() {
    let (store, _) = store(3, 9);
    for turn in ["a", "b", "c"] {
        assert_eq!(commit(&store, turn, commit_of("o", 1)), Ok(CommitResult::Stored));
    }
    full(commit(&store, "d", commit_of("o", 1)));
    assert_eq!(read(&store, "d"), None);
    for turn in ["c", "b"] {
        let over = Commit { open: false, ..commit_of("o", 2) };
        assert_eq!(commit(&store, turn, over), Ok(CommitResult::Stored));
    }
    assert_eq!(commit(&store, "d", commit_of("o", 1)), Ok(CommitResult::Stored));
    assert_eq!(read(&store, "c"), None);
    assert!(!read(&store, "b").unwrap().open);
    assert_eq!(commit(&store, "e", commit_of("o", 1)), Ok(CommitResult::Stored));
    assert_eq!(read(&store, "b"), None);
    for turn in ["a", "d", "e"] {
        assert!(read(&store, turn).unwrap().open, "{turn}");
    }
    full(commit(&store, "f", commit_of("o", 1)));
}

#[test]
async fn what_has_expired_makes_room_wherever_it_is() {
    let (store, time) = store(100, 9);
    for n in 0..100 {
        let ttl_ms = if n == 77 { 10 } else { HOUR };
        commit(&store, &format!("t{n}"), Commit { ttl_ms, ..commit_of("o", 1) }).unwrap();
    }
    full(commit(&store, "new", commit_of("o", 1)));
    time.set(9.7);
    assert_eq!(read(&store, "t77").unwrap().idle_ms, Some(9));
    full(commit(&store, "new", commit_of("o", 1)));
    time.set(10.0);
    assert_eq!(commit(&store, "new", commit_of("o", 1)), Ok(CommitResult::Stored));
    assert_eq!(read(&store, "t77"), None);
}

#[test]
async fn the_oldest_outcome_makes_room() {
    let (store, time) = store(9, 2);
    let reusable = |keys: [&str; 2]| {
        keys.map(|key| (key.to_owned(), key.to_owned(), HOUR)).into_iter().collect()
    };
    let with = |revision, keys| Commit { reusable: reusable(keys), ..commit_of("o", revision) };
    commit(&store, "t", with(1, ["a", "b"])).unwrap();
    commit(&store, "t", with(2, ["a", "c"])).unwrap();
    assert_eq!(recall(&store, "b"), None);
    time.set(1.2);
    assert_eq!(recall(&store, "a").unwrap(), StoredOutcome { text: "a".to_owned(), age_ms: 2 });
    assert_eq!(recall(&store, "c").unwrap().text, "c");
}

#[test]
async fn clones_are_one_store() {
    let (store, _) = store(9, 9);
    commit(&store.clone(), "t", commit_of("o", 1)).unwrap();
    assert_eq!(read(&store, "t").unwrap().revision, 1);
    assert_eq!(format!("{store:?}"), "MemoryStore { .. }");
}
