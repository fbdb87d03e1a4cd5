//! What every store must do: the cases of `storeConformance` (`pkg/src/testing`), for stores in
//! Rust. Cases use names of their own, so they run in any order and over a database that holds
//! other things.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use futures::future::{join, join_all};
use serde_json::Value;
use turnlock::store::{Commit, CommitResult, StoredTurn, turn_key};
use turnlock_client::store::{EventGroup, Store, StoredOutcome};

use crate::platform::{Seen, sleep};

pub type Stores = dyn Fn() -> Arc<dyn Store>;

pub const HOUR: u64 = 3_600_000;
/// How long a case waits for what must happen some time. None demands that anything is fast.
const PATIENCE_MS: u32 = 60_000;

/// Makes a test of each case, over the stores that a function makes.
macro_rules! conformance {
    ($make:expr) => {
        $crate::conformance::conformance!($make; every_store_is_over_the_same_data
            the_table_of_the_rule
            an_unknown_turn_can_only_begin_with_revision_1
            a_turn_reads_back_as_it_was_written
            a_repeated_commit_is_answered_as_applied_and_writes_nothing
            a_revision_may_be_neither_skipped_nor_written_again
            another_owner_writes_only_by_taking_over
            an_owner_that_was_replaced_never_writes_again
            a_turn_that_is_over_stays_as_it_is
            a_record_is_written_once
            of_many_owners_that_begin_a_turn_at_once_exactly_one_wins
            of_many_owners_that_take_a_turn_over_at_once_exactly_one_wins
            the_same_commit_sent_many_times_at_once_is_applied_once
            a_reader_sees_whole_commits_only
            a_list_has_the_open_turns_of_a_tenant
            watch_tells_of_commits_until_it_is_stopped
            every_text_comes_back_as_it_was
            records_come_back_in_the_order_of_writing
            many_records_in_one_turn
            texts_of_5_mb
            tenants_and_ids_that_look_alike_are_kept_apart
            events_of_a_turn_are_its_own
            events_come_in_the_order_of_their_numbers
            forget_drops_groups_up_to_a_number
            a_reusable_outcome_is_found_by_its_key_and_replaced_freely
            a_turn_expires_with_everything_in_it_and_may_then_begin_anew
            the_same_owner_may_begin_an_expired_turn_anew
            a_turn_lives_for_the_ttl_of_its_last_commit
            turns_are_not_forgotten_before_their_time
            a_reusable_outcome_expires_by_itself
            idle_ms_counts_from_the_last_commit
            age_ms_counts_from_the_writing);
    };
    ($make:expr; $($case:ident)*) => {
        $(#[$crate::platform::test]
        async fn $case() {
            $crate::conformance::$case(&$make).await;
        })*
    };
}
pub(crate) use conformance;

pub fn random() -> String {
    let half = || getrandom::u64().unwrap();
    format!("{:016x}{:016x}", half(), half())
}

pub fn new_turn() -> String {
    turn_key("conformance", &random())
}

/// A commit with defaults.
pub fn commit_of(owner: &str, revision: u64) -> Commit {
    Commit {
        owner: owner.to_owned(),
        revision,
        open: true,
        state: (revision == 1).then(|| "state 1".to_owned()),
        ttl_ms: HOUR,
        ..Commit::default()
    }
}

pub fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn events(last: u64, text: &str) -> Option<(u64, String)> {
    Some((last, text.to_owned()))
}

fn reusable(key: &str, text: &str, ttl_ms: u64) -> (String, String, u64) {
    (key.to_owned(), text.to_owned(), ttl_ms)
}

pub fn same<T: PartialEq + Debug>(actual: T, expected: T, what: &str) {
    if actual == expected {
        return;
    }
    let shown = |value: &T| {
        let text = format!("{value:?}");
        let head: String = text.chars().take(2000).collect();
        if head.len() < text.len() { format!("{head}… ({} bytes)", text.len()) } else { text }
    };
    panic!("{what}\n  expected {}\n  got      {}", shown(&expected), shown(&actual));
}

/// Waits until `condition` holds; how long it took proves nothing.
pub async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    const STEP: u32 = 10;
    for _ in 0..=PATIENCE_MS / STEP {
        if condition().await {
            return;
        }
        sleep(STEP).await;
    }
    panic!("{what} (waited {PATIENCE_MS} ms)");
}

async fn answer(store: &dyn Store, turn: &str, commit: Commit) -> CommitResult {
    store.commit(turn, Arc::new(commit)).await.unwrap()
}

/// Commits that must be applied.
pub async fn applied(store: &dyn Store, turn: &str, commit: Commit, what: &str) {
    let answer = answer(store, turn, commit).await;
    same(answer, CommitResult::Stored, &format!("{what} must be applied"));
}

/// Begins a turn; gives its owner.
async fn begin(store: &dyn Store, turn: &str, more: Commit) -> String {
    let owner = random();
    let first = commit_of(&owner, 1);
    let commit = Commit { owner: owner.clone(), state: more.state.clone().or(first.state), ..more };
    applied(store, turn, commit, "revision 1 of an unknown turn").await;
    owner
}

fn first() -> Commit {
    commit_of("", 1)
}

/// Everything of a turn but its idle time.
async fn all(store: &dyn Store, turn: &str) -> (Option<StoredTurn>, Vec<EventGroup>) {
    let kept = read(store, turn).await.map(|kept| StoredTurn { idle_ms: None, ..kept });
    (kept, store.events(turn, 0, 1000).await.unwrap())
}

async fn read(store: &dyn Store, turn: &str) -> Option<StoredTurn> {
    store.read(turn).await.unwrap()
}

async fn recall(store: &dyn Store, key: &str) -> Option<StoredOutcome> {
    store.recall(key).await.unwrap()
}

async fn recalled(store: &dyn Store, key: &str) -> Option<String> {
    recall(store, key).await.map(|found| found.text)
}

async fn lasts(store: &dyn Store, turn: &str, after: u64, most: u32) -> Vec<u64> {
    let groups = store.events(turn, after, most).await.unwrap();
    groups.into_iter().map(|group| group.last).collect()
}

/// A commit that would leave a mark in everything that a store keeps.
fn marking(owner: &str, revision: u64, key: &str) -> Commit {
    Commit {
        state: text("marked"),
        records: pairs(&[("marked", "x")]),
        events: events(50, "[\"x\"]"),
        forget: 10,
        reusable: vec![reusable(key, "marked", HOUR)],
        ..commit_of(owner, revision)
    }
}

/// The commit must be refused, say what stands there, and leave nothing behind.
async fn refused(store: &dyn Store, turn: &str, commit: Commit, what: &str) {
    let before = all(store, turn).await;
    let state = before.0.as_ref().map(|kept| kept.state.clone());
    let keys: Vec<String> = commit.reusable.iter().map(|(key, _, _)| key.clone()).collect();
    let refusal = answer(store, turn, commit).await;
    same(refusal, CommitResult::Refused { state }, &format!("{what} must be refused"));
    same(all(store, turn).await, before, &format!("{what} was refused, and must change nothing"));
    for key in keys {
        same(recalled(store, &key).await, None, &format!("{what} must leave nothing to reuse"));
    }
}

/// All commit at once; one must win, and the others must be told who.
async fn race(
    stores: &[Arc<dyn Store>],
    turn: &str,
    owners: &[String],
    commit: impl Fn(&str) -> Commit,
) {
    let answers = join_all(owners.iter().enumerate().map(|(at, owner)| {
        let commit = commit(owner);
        // The state tells whose commit stands there.
        let commit =
            Commit { state: Some(owner.clone()), records: pairs(&[("claim", owner)]), ..commit };
        stores[at % stores.len()].commit(turn, Arc::new(commit))
    }))
    .await;
    let answers: Vec<CommitResult> = answers.into_iter().map(Result::unwrap).collect();
    let winners: Vec<&String> = (owners.iter().zip(&answers))
        .filter(|(_, answer)| **answer == CommitResult::Stored)
        .map(|(owner, _)| owner)
        .collect();
    same(winners.len(), 1, "how many of the owners were told that they won");
    let winner = winners[0];
    let kept = read(&*stores[0], turn).await.unwrap();
    let written = (kept.state, kept.records);
    let expected = (winner.clone(), pairs(&[("claim", winner)]));
    same(written, expected, "what stands there is the winner's");
    for answer in answers.into_iter().filter(|answer| *answer != CommitResult::Stored) {
        let told = CommitResult::Refused { state: Some(winner.clone()) };
        same(answer, told, "a loser is told who won");
    }
}

// The rule: who may write, and that a commit is whole or nothing.

pub async fn every_store_is_over_the_same_data(make: &Stores) {
    let (one, other) = (make(), make());
    let turn = new_turn();
    begin(&*one, &turn, first()).await;
    assert!(read(&*other, &turn).await.is_some(), "a second store must see what the first wrote");
}

/// The table that the core, the package's own `judge` and the script in Redis keep as well.
pub async fn the_table_of_the_rule(make: &Stores) {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../stores/rule.json")).unwrap();
    assert!(rows.len() >= 19, "only {} rows", rows.len());
    for row in rows {
        let store = make();
        let turn = new_turn();
        let stands = row["stands"].as_array();
        let stands = stands.map(|stands| {
            let owner = stands[0].as_str().unwrap();
            (owner, stands[1].as_u64().unwrap(), stands[2] == "open")
        });
        if let Some((owner, last, open)) = stands {
            for revision in 1..=last {
                let open = open || revision < last;
                let before = Commit { open, state: text("old"), ..commit_of(owner, revision) };
                applied(&*store, &turn, before, &format!("what stands: {row}")).await;
            }
        }
        let revision = row["revision"].as_u64().unwrap();
        let commit = Commit {
            take_over: row["takeOver"] == true,
            replaces: row["replaces"].as_str().map(str::to_owned),
            state: text("new"),
            ..commit_of(row["owner"].as_str().unwrap(), revision)
        };
        let before = stands.map(|(_, revision, open)| (revision, open, "old".to_owned()));
        let (left, told) = match row["judgement"].as_str().unwrap() {
            "apply" => (Some((revision, true, "new".to_owned())), CommitResult::Stored),
            "repeated" => (before, CommitResult::Stored),
            "refuse" => {
                let state = before.as_ref().map(|(.., state)| state.clone());
                (before, CommitResult::Refused { state })
            }
            other => panic!("no judgement: {other}"),
        };
        same(answer(&*store, &turn, commit).await, told, &row.to_string());
        let kept = read(&*store, &turn).await;
        same(kept.map(|kept| (kept.revision, kept.open, kept.state)), left, &row.to_string());
    }
}

pub async fn an_unknown_turn_can_only_begin_with_revision_1(make: &Stores) {
    let store = make();
    let turn = new_turn();
    same(read(&*store, &turn).await, None, "an unknown turn");
    same(lasts(&*store, &turn, 0, 10).await, vec![], "events of an unknown turn");
    for revision in [2, 7] {
        let commit = Commit { take_over: true, ..marking(&random(), revision, &new_turn()) };
        let what = format!("revision {revision} of an unknown turn");
        refused(&*store, &turn, commit, &what).await;
    }
    begin(&*store, &turn, first()).await;
}

pub async fn a_turn_reads_back_as_it_was_written(make: &Stores) {
    let (one, other) = (make(), make());
    let turn = new_turn();
    let with = Commit { state: text("s1"), records: pairs(&[("a", "A")]), ..first() };
    let owner = begin(&*one, &turn, with).await;
    let second = Commit { state: text("s2"), ..commit_of(&owner, 2) };
    applied(&*other, &turn, second, "the next revision").await;
    let third = Commit { records: pairs(&[("b", "B")]), ..commit_of(&owner, 3) };
    applied(&*one, &turn, third, "revision 3").await;
    let expected = StoredTurn {
        owner: Some(owner),
        revision: 3,
        idle_ms: None,
        open: true,
        state: "s2".to_owned(),
        records: pairs(&[("a", "A"), ("b", "B")]),
    };
    let what = "a state of none keeps the state; records add up";
    same(all(&*other, &turn).await.0, Some(expected), what);
}

pub async fn a_repeated_commit_is_answered_as_applied_and_writes_nothing(make: &Stores) {
    let (store, other) = (make(), make());
    let (turn, key, owner) = (new_turn(), new_turn(), random());
    for revision in [1, 2] {
        let commit = Commit {
            state: Some(format!("s{revision}")),
            records: vec![(format!("r{revision}"), "text".to_owned())],
            events: Some((revision * 5, format!("[\"e{revision}\"]"))),
            reusable: vec![reusable(&key, &format!("v{revision}"), HOUR)],
            ..commit_of(&owner, revision)
        };
        applied(&*store, &turn, commit.clone(), "a commit").await;
        let before = all(&*store, &turn).await;
        applied(&*other, &turn, commit.clone(), "the same again (its answer was lost)").await;
        same(all(&*store, &turn).await, before.clone(), "a repeated commit must change nothing");
        let changed = Commit { state: text("other"), records: pairs(&[("other", "x")]), ..commit };
        applied(&*store, &turn, changed, "a commit of the same owner and revision").await;
        same(all(&*store, &turn).await, before, "owner and revision make it a repeated one");
        let kept = recalled(&*store, &key).await;
        same(kept, Some(format!("v{revision}")), "what may be reused");
    }
}

pub async fn a_revision_may_be_neither_skipped_nor_written_again(make: &Stores) {
    let store = make();
    let turn = new_turn();
    let owner = begin(&*store, &turn, first()).await;
    applied(&*store, &turn, commit_of(&owner, 2), "revision 2").await;
    applied(&*store, &turn, commit_of(&owner, 3), "revision 3").await;
    for revision in [1, 2, 5, 0] {
        for take_over in [false, true] {
            let commit = Commit { take_over, ..marking(&owner, revision, &new_turn()) };
            let what = format!("revision {revision} after revision 3");
            refused(&*store, &turn, commit, &what).await;
        }
    }
    applied(&*store, &turn, commit_of(&owner, 4), "the next revision").await;
}

pub async fn another_owner_writes_only_by_taking_over(make: &Stores) {
    let store = make();
    let turn = new_turn();
    let with = Commit { events: events(5, "[\"e\"]"), ..first() };
    let owner = begin(&*store, &turn, with).await;
    let other = random();
    for revision in [1, 2, 3] {
        let commit = marking(&other, revision, &new_turn());
        refused(&*store, &turn, commit, &format!("revision {revision} of another owner")).await;
    }
    for revision in [1, 3] {
        let commit = Commit { take_over: true, ..marking(&other, revision, &new_turn()) };
        let what = format!("a take-over with revision {revision} after 1");
        refused(&*store, &turn, commit, &what).await;
    }
    for replaces in ["", &*other] {
        let commit = Commit {
            take_over: true,
            replaces: Some(replaces.to_owned()),
            ..marking(&other, 2, &new_turn())
        };
        refused(&*store, &turn, commit, "a take-over from somebody else").await;
    }
    let commit = Commit { take_over: true, replaces: Some(owner), ..commit_of(&other, 2) };
    applied(&*store, &turn, commit, "a take-over").await;
    let kept = read(&*store, &turn).await.unwrap();
    let what = "a take-over without a state keeps the state";
    same((kept.revision, kept.state.as_str()), (2, "state 1"), what);
    applied(&*store, &turn, commit_of(&other, 3), "the next commit of who took over").await;
}

pub async fn an_owner_that_was_replaced_never_writes_again(make: &Stores) {
    let (store, stale) = (make(), make());
    let (turn, second) = (new_turn(), random());
    let before = begin(&*store, &turn, first()).await;
    let commit = Commit { take_over: true, ..commit_of(&second, 2) };
    applied(&*store, &turn, commit, "a take-over").await;
    for revision in [1, 2, 3] {
        let commit = marking(&before, revision, &new_turn());
        let what = format!("revision {revision} of the owner that was replaced");
        refused(&*stale, &turn, commit, &what).await;
    }
    applied(&*store, &turn, commit_of(&second, 3), "the new owner").await;
}

pub async fn a_turn_that_is_over_stays_as_it_is(make: &Stores) {
    let store = make();
    let turn = new_turn();
    let owner = begin(&*store, &turn, first()).await;
    let last = Commit { open: false, state: text("over"), ..commit_of(&owner, 2) };
    applied(&*store, &turn, last.clone(), "the closing commit").await;
    same(read(&*store, &turn).await.map(|kept| kept.open), Some(false), "it reads as closed");
    applied(&*store, &turn, last, "the closing commit again").await;
    for who in [owner, random()] {
        for take_over in [false, true] {
            for revision in [1, 3] {
                let commit = Commit { take_over, ..marking(&who, revision, &new_turn()) };
                let what = format!("revision {revision} of a closed turn");
                refused(&*store, &turn, commit, &what).await;
            }
        }
    }
    begin(&*store, &new_turn(), Commit { open: false, ..first() }).await;
}

pub async fn a_record_is_written_once(make: &Stores) {
    let store = make();
    let (turn, key) = (new_turn(), new_turn());
    let with =
        Commit { records: pairs(&[("claim", "first")]), events: events(5, "[\"e\"]"), ..first() };
    let owner = begin(&*store, &turn, with).await;
    let before = all(&*store, &turn).await;
    let torn =
        |records: &[(&str, &str)]| Commit { records: pairs(records), ..marking(&owner, 2, &key) };
    let rows: [(&str, &[(&str, &str)]); 4] = [
        ("an old name behind a new one", &[("new", "x"), ("claim", "second")]),
        ("an old name before a new one", &[("claim", "second"), ("new", "x")]),
        ("an old name with its old text", &[("claim", "first")]),
        ("a name twice in one commit", &[("new", "x"), ("new", "y")]),
    ];
    for (what, records) in rows {
        let error = store.commit(&turn, Arc::new(torn(records))).await.unwrap_err();
        same(error.code.as_str(), "store.record_exists", what);
        let what = format!("{what}: nothing of the commit may be applied");
        same(all(&*store, &turn).await, before.clone(), &what);
        same(recalled(&*store, &key).await, None, &what);
    }
    let fresh = new_turn();
    let twice = Commit { records: pairs(&[("a", "1"), ("a", "2")]), ..commit_of(&random(), 1) };
    let error = store.commit(&fresh, Arc::new(twice)).await.unwrap_err();
    same(error.code.as_str(), "store.record_exists", "a name twice in revision 1");
    same(read(&*store, &fresh).await, None, "a first commit that failed leaves no turn");
    applied(&*store, &turn, torn(&[("new", "x")]), "the same revision with a new name").await;
    same(read(&*store, &turn).await.unwrap().records.len(), 2, "records after that");
}

pub async fn of_many_owners_that_begin_a_turn_at_once_exactly_one_wins(make: &Stores) {
    let stores = [make(), make(), make()];
    for _ in 0..5 {
        let owners: Vec<String> = (0..24).map(|_| random()).collect();
        race(&stores, &new_turn(), &owners, |owner| commit_of(owner, 1)).await;
    }
}

pub async fn of_many_owners_that_take_a_turn_over_at_once_exactly_one_wins(make: &Stores) {
    let stores = [make(), make(), make()];
    for _ in 0..5 {
        let turn = new_turn();
        // The old owner is one of them.
        let mut owners = vec![begin(&*stores[0], &turn, first()).await];
        owners.extend((0..23).map(|_| random()));
        let commit = |owner: &str| Commit { take_over: true, ..commit_of(owner, 2) };
        race(&stores, &turn, &owners, commit).await;
    }
}

pub async fn the_same_commit_sent_many_times_at_once_is_applied_once(make: &Stores) {
    let stores = [make(), make(), make()];
    let (turn, owner) = (new_turn(), random());
    for revision in [1, 2] {
        let commit = Arc::new(Commit {
            records: vec![(format!("r{revision}"), "x".to_owned())],
            events: events(revision, "[]"),
            ..commit_of(&owner, revision)
        });
        let send = |at: usize| stores[at % 3].commit(&turn, Arc::clone(&commit));
        for answer in join_all((0..24).map(send)).await {
            same(answer, Ok(CommitResult::Stored), "each is told that it is kept");
        }
    }
    let (kept, groups) = all(&*stores[0], &turn).await;
    same(kept.unwrap().records, pairs(&[("r1", "x"), ("r2", "x")]), "each record once");
    same(groups.len(), 2, "each group of events once");
}

pub async fn a_reader_sees_whole_commits_only(make: &Stores) {
    let (writer, reader) = (make(), make());
    let turn = new_turn();
    let with = Commit { state: text("1"), records: pairs(&[("r1", "x")]), ..first() };
    let owner = begin(&*writer, &turn, with).await;
    let writing = Seen::new(true);
    let reading = async {
        while writing.get() {
            let kept = read(&*reader, &turn).await.unwrap();
            let seen = (kept.state, kept.records.len() as u64);
            let expected = (kept.revision.to_string(), kept.revision);
            same(seen, expected, "state and records of one revision");
            // A store that answers without waiting would else keep the writer from its turn.
            sleep(0).await;
        }
    };
    let writes = async {
        for revision in 2..=60 {
            let commit = Commit {
                state: Some(revision.to_string()),
                records: vec![(format!("r{revision}"), "x".to_owned())],
                ..commit_of(&owner, revision)
            };
            applied(&*writer, &turn, commit, "a commit").await;
            sleep(0).await;
        }
        writing.set(false);
    };
    join(reading, writes).await;
}

pub async fn a_list_has_the_open_turns_of_a_tenant(make: &Stores) {
    let (store, writer) = (make(), make());
    let tenant = format!("list {}", random());
    let name = |id: &str| turn_key(&tenant, id);
    let (older, newer, over, expired) = (name("a"), name("b"), name("c"), name("d"));
    let stated = |state: &str| Commit { state: Some(state.to_owned()), ..first() };
    let owner = begin(&*writer, &older, stated("older 1")).await;
    sleep(5).await;
    begin(&*writer, &newer, stated("newer")).await;
    let ended = begin(&*writer, &over, first()).await;
    let end = Commit { open: false, ..commit_of(&ended, 2) };
    applied(&*writer, &over, end, "the end").await;
    begin(&*writer, &expired, Commit { ttl_ms: 1, ..first() }).await;
    gone(&*store, &expired).await;
    for other in [format!("{tenant}x"), tenant.replacen('l', "", 1), format!("{tenant}\",\"a")] {
        begin(&*writer, &turn_key(&other, &owner), first()).await;
    }
    let listed = async |most: u32| {
        let all = store.list(&tenant, most).await.unwrap();
        all.into_iter().map(|one| (one.turn, one.state)).collect::<Vec<_>>()
    };
    let one = |turn: &String, state: &str| (turn.clone(), state.to_owned());
    same(listed(9).await, vec![one(&newer, "newer"), one(&older, "older 1")], "the newest first");
    sleep(5).await;
    let again = Commit { state: Some("older 2".to_owned()), ..commit_of(&owner, 2) };
    applied(&*writer, &older, again, "a commit").await;
    same(listed(9).await, vec![one(&older, "older 2"), one(&newer, "newer")], "by the last commit");
    same(listed(1).await.len(), 1, "at most so many");
    same(listed(0).await, vec![], "none at all");
    let nobody = store.list(&format!("{tenant}y"), 9).await.unwrap();
    same(nobody.len(), 0, "a tenant without turns");
}

pub async fn watch_tells_of_commits_until_it_is_stopped(make: &Stores) {
    let (store, writer) = (make(), make());
    let turn = new_turn();
    let owner = begin(&*writer, &turn, first()).await;
    let counter = || Seen::new(0_u32);
    let (stopped, going, others) = (counter(), counter(), counter());
    let count = |calls: &Seen<u32>| -> turnlock_client::store::Changed {
        let (calls, owner) = (calls.clone(), owner.clone());
        Arc::new(move |who: Option<&str>| {
            assert!(who.is_none_or(|who| who == owner), "{who:?} wrote");
            calls.set(calls.get() + 1);
        })
    };
    let stop = store.watch(&turn, count(&stopped)).expect("this store tells");
    let end = store.watch(&turn, count(&going)).unwrap();
    let other = store.watch(&new_turn(), count(&others)).unwrap();
    // A watcher may need a moment to be in place: commits go on until it is.
    let revision = Seen::new(1);
    let told = async |calls: &Seen<u32>| {
        let before = calls.get();
        eventually("a commit to a watched turn must be told", async || {
            revision.set(revision.get() + 1);
            applied(&*writer, &turn, commit_of(&owner, revision.get()), "a commit").await;
            sleep(0).await;
            calls.get() > before
        })
        .await;
    };
    told(&stopped).await;
    told(&going).await;
    drop(stop);
    let before = stopped.get();
    told(&going).await;
    same(stopped.get(), before, "calls after the stop");
    same(others.get(), 0, "calls for a turn that nobody wrote");
    drop((end, other));
}

// What is kept: texts, names, events.

/// Texts that some database changes on the way. A Rust string holds no lone surrogates.
const TEXTS: [(&str, &str); 12] = [
    ("empty", ""),
    ("spaces", "  \t\r\n "),
    ("trailing space", "a "),
    ("NUL", "a\0b\0"),
    ("beyond the BMP", "😀\u{10ffff}"),
    ("composed and decomposed", "é e\u{301}"),
    ("controls and separators", "\u{1}\u{1f}\u{7f}\u{2028}\u{2029}\u{feff}"),
    ("escaped already", "\u{1}\"a\\ud800\""),
    ("a number", "1e3"),
    ("JSON", "{\"a\":[1,\"\\u0000\",null]}"),
    ("null", "null"),
    ("quotes", "'\"`\\%_;--$1?"),
];

/// Ids that a database may take for one another, or for something of its own.
#[rustfmt::skip]
const IDS: [&str; 41] = [
    "", " ", "a", "A", "a ", "á", "a\u{301}", "ａ", "a:b", "a/b", "a.b", "a,b", "a\",\"b", "a\0b",
    "{a}", "{b}", "}", "{", "{}", "*", "a*", "%", "_", "__proto__", "constructor", "toString",
    "[", "]", "\\", "\\ud800", "1", "01", "1.0", "null", "undefined", "z", "10", "9", "-", "$", "?",
];

/// Too long for an index of some databases, and alike up to the end.
fn ids() -> Vec<String> {
    let long = ["1", "2"].map(|end| "k".repeat(900) + end);
    IDS.into_iter().map(str::to_owned).chain(long).collect()
}

/// A turn with a group of events behind each of `ends`.
async fn eventful(store: &dyn Store, turn: &str, ends: &[u64]) -> (String, u64) {
    let owner = begin(store, turn, first()).await;
    let mut revision = 1;
    for last in ends {
        revision += 1;
        let events = events(*last, &format!("[\"up to {last}\"]"));
        applied(store, turn, Commit { events, ..commit_of(&owner, revision) }, "events").await;
    }
    (owner, revision + 1)
}

pub async fn every_text_comes_back_as_it_was(make: &Stores) {
    let (store, other) = (make(), make());
    for (what, one) in TEXTS {
        let (turn, key) = (new_turn(), new_turn());
        let with = Commit {
            state: text(one),
            records: pairs(&[("name", one)]),
            events: events(1, one),
            reusable: vec![reusable(&key, one, HOUR)],
            ..first()
        };
        begin(&*store, &turn, with).await;
        let (kept, groups) = all(&*other, &turn).await;
        let kept = kept.unwrap();
        same(kept.state.as_str(), one, &format!("state: {what}"));
        same(kept.records, pairs(&[("name", one)]), &format!("record: {what}"));
        same(
            groups,
            vec![EventGroup { last: 1, text: one.to_owned() }],
            &format!("events: {what}"),
        );
        same(recalled(&*other, &key).await, text(one), &format!("reusable: {what}"));
        let refusal = answer(&*other, &turn, commit_of("another", 1)).await;
        same(
            refusal,
            CommitResult::Refused { state: text(one) },
            &format!("state of a refusal: {what}"),
        );
    }
}

pub async fn records_come_back_in_the_order_of_writing(make: &Stores) {
    let store = make();
    let turn = new_turn();
    // Neither sorted nor in the order of a hash; names like numbers come first in an object.
    let mut names: Vec<String> = ids();
    names.reverse();
    let records: Vec<(String, String)> =
        names.into_iter().map(|name| (name.clone(), format!("text of {name}"))).collect();
    let (one, two) = records.split_at(records.len() / 2);
    let owner = begin(&*store, &turn, Commit { records: one.to_vec(), ..first() }).await;
    let commit = Commit { records: two.to_vec(), ..commit_of(&owner, 2) };
    applied(&*store, &turn, commit, "the second half").await;
    same(read(&*store, &turn).await.unwrap().records, records, "all records in order");
}

pub async fn many_records_in_one_turn(make: &Stores) {
    let store = make();
    let turn = new_turn();
    let of = |from: u32, to: u32| -> Vec<(String, String)> {
        (from..to).map(|n| (format!("r{n}"), n.to_string())).collect()
    };
    let owner = begin(&*store, &turn, Commit { records: of(0, 300), ..first() }).await;
    let commit = Commit { records: of(300, 600), ..commit_of(&owner, 2) };
    applied(&*store, &turn, commit, "300 more").await;
    same(read(&*store, &turn).await.unwrap().records, of(0, 600), "all 600 in order");
}

pub async fn texts_of_5_mb(make: &Stores) {
    let store = make();
    let (turn, key) = (new_turn(), new_turn());
    // Each has pairs at odd places, and an end that shows.
    let large = |mark: &str| format!("{mark}{}{mark}", "x😀é\n".repeat(660_000));
    let owner = begin(&*store, &turn, Commit { state: Some(large("state")), ..first() }).await;
    let records = vec![("r".to_owned(), large("record"))];
    applied(&*store, &turn, Commit { records, ..commit_of(&owner, 2) }, "a record").await;
    let events = Some((9, large("events")));
    applied(&*store, &turn, Commit { events, ..commit_of(&owner, 3) }, "events").await;
    let reusable = vec![(key.clone(), large("reusable"), HOUR)];
    applied(&*store, &turn, Commit { reusable, ..commit_of(&owner, 4) }, "an outcome").await;
    let kept = read(&*store, &turn).await.unwrap();
    assert!(kept.state == large("state"), "state");
    assert!(kept.records == [("r".to_owned(), large("record"))], "record");
    let groups = store.events(&turn, 0, 1).await.unwrap();
    assert!(groups == [EventGroup { last: 9, text: large("events") }], "events");
    assert!(recalled(&*store, &key).await == Some(large("reusable")), "reusable");
    let short = Commit { state: text("short"), ..commit_of(&owner, 5) };
    applied(&*store, &turn, short, "a short state in place of a long one").await;
    same(read(&*store, &turn).await.unwrap().state.as_str(), "short", "the state");
}

pub async fn tenants_and_ids_that_look_alike_are_kept_apart(make: &Stores) {
    let store = make();
    let run = random();
    let mut alike: Vec<(String, String)> = pairs(&[
        ("a:b", "c"),
        ("a", "b:c"),
        ("a\",\"b", "c"),
        ("a", "b\",\"c"),
        ("a/b", "c"),
        ("a", "b/c"),
        ("", "a"),
        ("a", ""),
    ]);
    alike.extend(ids().into_iter().map(|id| ("t".to_owned(), id)));
    alike.extend(ids().into_iter().map(|tenant| (tenant, "t".to_owned())));
    let turns: BTreeSet<String> =
        alike.iter().map(|(tenant, id)| turn_key(&format!("{run}{tenant}"), id)).collect();
    let write = async |(at, turn): (usize, &String)| {
        let at = at.to_string();
        let with = Commit {
            state: text(&at),
            records: pairs(&[("r", &at)]),
            events: events(1, &at),
            reusable: vec![reusable(turn, &at, HOUR)],
            ..first()
        };
        begin(&*store, turn, with).await;
    };
    join_all(turns.iter().enumerate().map(write)).await;
    for (at, turn) in turns.iter().enumerate() {
        let at = at.to_string();
        let (kept, groups) = all(&*store, turn).await;
        let kept = kept.unwrap();
        let seen = (kept.state, kept.records, groups);
        let expected = vec![EventGroup { last: 1, text: at.clone() }];
        same(seen, (at.clone(), pairs(&[("r", &at)]), expected), &format!("what {turn} keeps"));
        let found = recalled(&*store, turn).await;
        same(found, Some(at), &format!("what {turn} keeps for reuse"));
    }
}

pub async fn events_of_a_turn_are_its_own(make: &Stores) {
    let store = make();
    let (one, other) = (new_turn(), new_turn());
    eventful(&*store, &one, &[3, 5]).await;
    eventful(&*store, &other, &[4]).await;
    same(lasts(&*store, &one, 0, 10).await, vec![3, 5], "groups of one turn");
    same(lasts(&*store, &other, 0, 10).await, vec![4], "groups of the other");
    same(read(&*store, &one).await.unwrap().records, vec![], "records of a turn with events only");
}

pub async fn events_come_in_the_order_of_their_numbers(make: &Stores) {
    let store = make();
    let turn = new_turn();
    let ends = [1, 2, 9, 10, 11, 99, 100, 1000, 1 << 31, 1 << 40];
    eventful(&*store, &turn, &ends).await;
    let groups = ends.map(|last| EventGroup { last, text: format!("[\"up to {last}\"]") });
    let found = store.events(&turn, 0, 100).await.unwrap();
    same(found, groups.to_vec(), "all, by number and not by text");
    for after in [0, 1, 5, 9, 10, 50, 999, 1000, 1 << 31, 1 << 40, 1 << 41] {
        let rest: Vec<u64> = ends.into_iter().filter(|last| *last > after).collect();
        same(lasts(&*store, &turn, after, 100).await, rest.clone(), &format!("after {after}"));
        let two: Vec<u64> = rest.into_iter().take(2).collect();
        same(lasts(&*store, &turn, after, 2).await, two, &format!("two after {after}"));
        same(lasts(&*store, &turn, after, 0).await, vec![], &format!("none after {after}"));
    }
    let mut walked = Vec::new();
    loop {
        let page = lasts(&*store, &turn, walked.last().copied().unwrap_or(0), 3).await;
        if page.is_empty() {
            break;
        }
        walked.extend(page);
    }
    same(walked, ends.to_vec(), "page by page");
}

pub async fn forget_drops_groups_up_to_a_number(make: &Stores) {
    let store = make();
    let (turn, other) = (new_turn(), new_turn());
    let (owner, next) = eventful(&*store, &turn, &[3, 9, 10, 20]).await;
    eventful(&*store, &other, &[3, 9]).await;
    let groups = async || lasts(&*store, &turn, 0, 10).await;
    let commit = Commit { forget: 2, ..commit_of(&owner, next) };
    applied(&*store, &turn, commit, "forget 2").await;
    same(groups().await, vec![3, 9, 10, 20], "forget within a group keeps the group");
    let commit = Commit { forget: 9, events: events(30, "[]"), ..commit_of(&owner, next + 1) };
    applied(&*store, &turn, commit, "forget 9").await;
    same(groups().await, vec![10, 20, 30], "up to 9, with a new group in the same commit");
    applied(&*store, &turn, commit_of(&owner, next + 2), "forget 0").await;
    same(groups().await, vec![10, 20, 30], "forget 0 drops none");
    same(lasts(&*store, &other, 0, 10).await, vec![3, 9], "another turn");
}

pub async fn a_reusable_outcome_is_found_by_its_key_and_replaced_freely(make: &Stores) {
    let (store, other) = (make(), make());
    let (turn, key, second) = (new_turn(), new_turn(), new_turn());
    same(recall(&*store, &key).await, None, "an unknown key");
    let both = vec![reusable(&key, "one", HOUR), reusable(&second, "two", HOUR)];
    let owner = begin(&*store, &turn, Commit { reusable: both, ..first() }).await;
    let found = recall(&*other, &key).await.unwrap();
    same(found.text.as_str(), "one", "text");
    assert!(found.age_ms < HOUR, "{} is milliseconds since it was written", found.age_ms);
    let new = vec![reusable(&key, "new", HOUR)];
    let commit = Commit { reusable: new, open: false, ..commit_of(&owner, 2) };
    applied(&*store, &turn, commit, "the last commit").await;
    same(recalled(&*other, &key).await, text("new"), "replaced by another commit");
    same(recalled(&*other, &second).await, text("two"), "the other key");
    same(recall(&*store, &turn).await, None, "a turn is no key");
    same(read(&*store, &key).await, None, "a key is no turn");
}

// Expiry and idleness. Nothing here demands that anything is fast.

async fn gone(store: &dyn Store, turn: &str) {
    let what = "a turn must be gone when its ttl has passed";
    eventually(what, async || read(store, turn).await.is_none()).await;
}

pub async fn a_turn_expires_with_everything_in_it_and_may_then_begin_anew(make: &Stores) {
    let (store, other) = (make(), make());
    for open in [true, false] {
        let turn = new_turn();
        let old = Commit {
            open,
            state: text("old"),
            records: pairs(&[("r", "old")]),
            events: events(5, "[\"old\"]"),
            ttl_ms: 1,
            ..first()
        };
        begin(&*store, &turn, old).await;
        gone(&*other, &turn).await;
        same(lasts(&*store, &turn, 0, 10).await, vec![], "events of an expired turn");
        let late = Commit { take_over: true, ..commit_of(&random(), 2) };
        let late = answer(&*store, &turn, late).await;
        same(late, CommitResult::Refused { state: None }, "a later revision of an expired turn");
        let new = Commit {
            state: text("new"),
            records: pairs(&[("r", "new")]),
            events: events(1, "[\"new\"]"),
            ..first()
        };
        let owner = begin(&*store, &turn, new).await;
        let kept = StoredTurn {
            owner: Some(owner),
            revision: 1,
            idle_ms: None,
            open: true,
            state: "new".to_owned(),
            records: pairs(&[("r", "new")]),
        };
        let groups = vec![EventGroup { last: 1, text: "[\"new\"]".to_owned() }];
        same(all(&*other, &turn).await, (Some(kept), groups), "nothing of the old turn is left");
    }
}

pub async fn the_same_owner_may_begin_an_expired_turn_anew(make: &Stores) {
    let store = make();
    let (turn, owner) = (new_turn(), random());
    let old = Commit { state: text("old"), ttl_ms: 1, ..commit_of(&owner, 1) };
    applied(&*store, &turn, old, "revision 1").await;
    gone(&*store, &turn).await;
    let new = Commit { state: text("new"), ..commit_of(&owner, 1) };
    applied(&*store, &turn, new, "that is no repeated commit, and").await;
    same(read(&*store, &turn).await.unwrap().state.as_str(), "new", "what stands there");
}

pub async fn a_turn_lives_for_the_ttl_of_its_last_commit(make: &Stores) {
    let store = make();
    // A machine that stalls makes the first commit expire before the second: then once more,
    // with more time.
    let extended = async |ttl_ms: u32| {
        let turn = new_turn();
        let with = Commit {
            ttl_ms: ttl_ms.into(),
            records: pairs(&[("r", "x")]),
            events: events(1, "[]"),
            ..first()
        };
        let owner = begin(&*store, &turn, with).await;
        if answer(&*store, &turn, commit_of(&owner, 2)).await != CommitResult::Stored {
            return false;
        }
        sleep(ttl_ms * 2).await;
        let (kept, groups) = all(&*store, &turn).await;
        let kept = kept.expect("a longer ttl keeps the turn");
        let seen = (kept.revision, kept.records.len(), groups.len());
        same(seen, (2, 1, 1), "a longer ttl keeps all of the turn, and not only the turn itself");
        true
    };
    assert!(
        extended(200).await || extended(2000).await || extended(20_000).await,
        "a commit well within the ttl must find the turn"
    );
    let turn = new_turn();
    let owner = begin(&*store, &turn, first()).await;
    applied(&*store, &turn, Commit { ttl_ms: 1, ..commit_of(&owner, 2) }, "a short ttl").await;
    gone(&*store, &turn).await;
}

pub async fn turns_are_not_forgotten_before_their_time(make: &Stores) {
    let store = make();
    let turns: Vec<String> = (0..40).map(|_| new_turn()).collect();
    for turn in &turns {
        begin(&*store, turn, first()).await;
    }
    // New turns are when stores clear expired ones away.
    for _ in 0..40 {
        begin(&*store, &new_turn(), Commit { ttl_ms: 1, ..first() }).await;
    }
    for turn in &turns {
        assert!(read(&*store, turn).await.is_some(), "a turn with an hour to live is gone");
    }
}

pub async fn a_reusable_outcome_expires_by_itself(make: &Stores) {
    let store = make();
    let (turn, short, long) = (new_turn(), new_turn(), new_turn());
    let both = vec![reusable(&short, "x", 1), reusable(&long, "y", HOUR)];
    begin(&*store, &turn, Commit { ttl_ms: 1, reusable: both, ..first() }).await;
    gone(&*store, &turn).await;
    let what = "a reusable outcome must be gone when its ttl has passed";
    eventually(what, async || recall(&*store, &short).await.is_none()).await;
    same(recalled(&*store, &long).await, text("y"), "one with time left outlives its turn");
    let again = vec![reusable(&short, "z", HOUR)];
    begin(&*store, &new_turn(), Commit { reusable: again, ..first() }).await;
    same(recalled(&*store, &short).await, text("z"), "an expired one written again");
}

pub async fn idle_ms_counts_from_the_last_commit(make: &Stores) {
    let store = make();
    let turn = new_turn();
    let owner = begin(&*store, &turn, first()).await;
    let idle = async || {
        let idle = read(&*store, &turn).await.unwrap().idle_ms.expect("the owner is alive");
        assert!(idle < HOUR, "the owner is alive, but idle_ms is {idle}");
        idle
    };
    // A store may be slow, and a machine may stall between a commit and its reading: then once more,
    // after more idleness.
    let mut least = 100;
    for revision in 2.. {
        eventually("idle_ms must grow", async || idle().await >= least).await;
        applied(&*store, &turn, commit_of(&owner, revision), "a commit").await;
        if idle().await < least {
            break;
        }
        assert!(revision < 12, "a commit must bring idle_ms back to 0");
        least = (least * 2).min(5_000);
    }
}

pub async fn age_ms_counts_from_the_writing(make: &Stores) {
    let store = make();
    let key = new_turn();
    let with = Commit { reusable: vec![reusable(&key, "x", HOUR)], ..first() };
    begin(&*store, &new_turn(), with).await;
    let age = async || recall(&*store, &key).await.unwrap().age_ms;
    eventually("age_ms must grow", async || age().await >= 50).await;
    assert!(age().await < HOUR, "age_ms is in milliseconds");
}
