//! Turns in memory: for one process, page or worker, and for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use super::watchers::Watchers;
use super::{Changed, EventGroup, Recalled, Store, StoreError, Watch, repeated_name};
use crate::clock::{self, whole};
use crate::lock::Lock;
use crate::platform::{BoxFuture, Dyn};
use turnlock::store::{Answer, Commit, Judgement, Kept, Standing, judge};

/// How many entries each new one looks at for expired ones: memory stays flat without a scan.
const SWEPT: usize = 4;

/// Bounds of a [`MemoryStore`], and its clock.
#[derive(Clone)]
pub struct MemoryStoreOptions {
    /// Turns kept at once; 10 000 by default. When they are used up, the turn that has been over
    /// for longest makes room; where all are open, a new one fails with `store.full`.
    pub max_turns: NonZeroUsize,
    /// Reusable outcomes kept at once; 10 000 by default. The oldest makes room.
    pub max_reusable: NonZeroUsize,
    /// Milliseconds that never run backwards; the driver's clock by default.
    pub now: Arc<Dyn![Fn() -> f64]>,
}

impl Default for MemoryStoreOptions {
    fn default() -> Self {
        Self { max_turns: MOST, max_reusable: MOST, now: Arc::new(clock::now) }
    }
}

impl std::fmt::Debug for MemoryStoreOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStoreOptions")
            .field("max_turns", &self.max_turns)
            .field("max_reusable", &self.max_reusable)
            .finish_non_exhaustive()
    }
}

/// Keeps turns in memory, where they end with the last clone of it. For tests, and for pages that
/// need no resume after a reload. Clones are one store.
///
/// Memory is bounded by [`MemoryStoreOptions::max_turns`], and by what one turn keeps. A closed
/// turn that made room is forgotten: its request id would run again.
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    now: Arc<Dyn![Fn() -> f64]>,
    kept: Lock<Shelves>,
    watchers: Watchers,
}

struct Shelves {
    max_turns: usize,
    max_reusable: usize,
    turns: BTreeMap<String, Turn>,
    /// In the order in which they were closed.
    closed: BTreeMap<u64, String>,
    reusable: BTreeMap<String, Outcome>,
    /// The oldest first.
    ages: BTreeMap<u64, String>,
    /// Numbers what is closed or written.
    count: u64,
    /// Where the last sweep ended.
    swept_turn: String,
    swept_outcome: String,
}

struct Turn {
    standing: Standing,
    state: String,
    at: f64,
    expires: f64,
    records: Vec<(String, String)>,
    names: BTreeSet<String>,
    groups: Vec<EventGroup>,
    closed: Option<u64>,
}

struct Outcome {
    text: String,
    at: f64,
    expires: f64,
    age: u64,
}

impl MemoryStore {
    /// An empty store with the default bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(MemoryStoreOptions::default())
    }

    /// An empty store.
    #[must_use]
    pub fn with_options(options: MemoryStoreOptions) -> Self {
        let kept = Shelves {
            max_turns: options.max_turns.get(),
            max_reusable: options.max_reusable.get(),
            turns: BTreeMap::new(),
            closed: BTreeMap::new(),
            reusable: BTreeMap::new(),
            ages: BTreeMap::new(),
            count: 0,
            swept_turn: String::new(),
            swept_outcome: String::new(),
        };
        let kept = Lock::new(kept);
        Self(Arc::new(Inner { now: options.now, kept, watchers: Watchers::default() }))
    }

    fn write(&self, turn: &str, commit: &Commit) -> Result<Answer, StoreError> {
        let now = (self.0.now)();
        let answer = self.0.kept.lock().write(turn, commit, now)?;
        if answer == Written::Applied {
            self.0.watchers.tell(turn, Some(&commit.owner));
        }
        Ok(match answer {
            Written::Applied | Written::Before => Answer::Kept,
            Written::Refused { state } => Answer::Refused { state },
        })
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn read<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Option<Kept>, StoreError>> {
        Box::pin(async move {
            let now = (self.0.now)();
            Ok(self.0.kept.lock().current(turn, now).map(|kept| kept.read(now)))
        })
    }

    fn commit<'a>(
        &'a self,
        turn: &'a str,
        commit: Arc<Commit>,
    ) -> BoxFuture<'a, Result<Answer, StoreError>> {
        Box::pin(async move { self.write(turn, &commit) })
    }

    fn events<'a>(
        &'a self,
        turn: &'a str,
        after: u64,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<EventGroup>, StoreError>> {
        Box::pin(async move {
            let now = (self.0.now)();
            let mut kept = self.0.kept.lock();
            let Some(kept) = kept.current(turn, now) else { return Ok(Vec::new()) };
            let behind = kept.groups.iter().filter(|group| group.last > after);
            Ok(behind.take(usize::try_from(most).unwrap_or(usize::MAX)).cloned().collect())
        })
    }

    fn recall<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Recalled>, StoreError>> {
        Box::pin(async move {
            let now = (self.0.now)();
            let kept = self.0.kept.lock();
            let found = kept.reusable.get(key).filter(|outcome| outcome.expires > now);
            Ok(found.map(|outcome| Recalled {
                text: outcome.text.clone(),
                age_ms: whole((now - outcome.at).ceil()),
            }))
        })
    }

    fn watch(&self, turn: &str, changed: Changed) -> Option<Watch> {
        Some(self.0.watchers.add(turn, changed))
    }
}

/// What came of a commit.
#[derive(PartialEq)]
enum Written {
    Applied,
    /// It was applied before.
    Before,
    Refused {
        state: Option<String>,
    },
}

impl Shelves {
    /// The turn, if it has not expired.
    fn current(&mut self, turn: &str, now: f64) -> Option<&mut Turn> {
        if self.turns.get(turn)?.expires <= now {
            self.drop_turn(turn);
            return None;
        }
        self.turns.get_mut(turn)
    }

    fn write(&mut self, turn: &str, commit: &Commit, now: f64) -> Result<Written, StoreError> {
        let before = self.current(turn, now);
        match judge(before.as_deref().map(|kept| &kept.standing), commit) {
            Judgement::Apply => {}
            Judgement::Repeated => return Ok(Written::Before),
            Judgement::Refuse => {
                let state = before.map(|kept| kept.state.clone());
                return Ok(Written::Refused { state });
            }
        }
        let is_there = |name: &&str| before.as_ref().is_some_and(|kept| kept.names.contains(*name));
        let names = || commit.records.iter().map(|(name, _)| name.as_str());
        if let Some(name) = repeated_name(&commit.records).or_else(|| names().find(is_there)) {
            return Err(StoreError::record_exists(name));
        }
        if before.is_none() {
            self.make_room(now)?;
            self.turns.insert(turn.to_owned(), Turn::new());
        }

        // Nothing fails from here on.
        let closed = (!commit.open).then(|| self.number());
        if let Some(kept) = self.turns.get_mut(turn) {
            kept.write(commit, now);
            kept.closed = closed;
        }
        if let Some(number) = closed {
            self.closed.insert(number, turn.to_owned());
        }
        for (key, text, ttl_ms) in &commit.reusable {
            self.keep_reusable(key, text, *ttl_ms, now);
        }
        Ok(Written::Applied)
    }

    fn make_room(&mut self, now: f64) -> Result<(), StoreError> {
        self.sweep_turns(now, SWEPT);
        if self.turns.len() < self.max_turns {
            return Ok(());
        }
        if let Some(oldest) = self.closed.values().next().cloned() {
            self.drop_turn(&oldest);
            return Ok(());
        }
        self.sweep_turns(now, self.turns.len());
        if self.turns.len() < self.max_turns {
            return Ok(());
        }
        let message = format!("{} turns are open; see max_turns", self.max_turns);
        Err(StoreError::new("store.full", message))
    }

    fn keep_reusable(&mut self, key: &str, text: &str, ttl_ms: u64, now: f64) {
        self.sweep_reusable(now, SWEPT);
        self.drop_outcome(key);
        if self.reusable.len() >= self.max_reusable
            && let Some(oldest) = self.ages.values().next().cloned()
        {
            self.drop_outcome(&oldest);
        }
        let age = self.number();
        self.ages.insert(age, key.to_owned());
        let expires = now + milliseconds(ttl_ms);
        self.reusable
            .insert(key.to_owned(), Outcome { text: text.to_owned(), at: now, expires, age });
    }

    fn sweep_turns(&mut self, now: f64, most: usize) {
        let expired = |turn: &Turn| turn.expires <= now;
        for turn in sweep(&self.turns, &mut self.swept_turn, most, expired) {
            self.drop_turn(&turn);
        }
    }

    fn sweep_reusable(&mut self, now: f64, most: usize) {
        let expired = |outcome: &Outcome| outcome.expires <= now;
        for key in sweep(&self.reusable, &mut self.swept_outcome, most, expired) {
            self.drop_outcome(&key);
        }
    }

    fn drop_turn(&mut self, turn: &str) {
        let closed = self.turns.remove(turn).and_then(|dropped| dropped.closed);
        if let Some(number) = closed {
            self.closed.remove(&number);
        }
    }

    fn drop_outcome(&mut self, key: &str) {
        if let Some(dropped) = self.reusable.remove(key) {
            self.ages.remove(&dropped.age);
        }
    }

    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

impl Turn {
    fn new() -> Self {
        Self {
            standing: Standing::default(),
            state: String::new(),
            at: 0.0,
            expires: 0.0,
            records: Vec::new(),
            names: BTreeSet::new(),
            groups: Vec::new(),
            closed: None,
        }
    }

    fn read(&self, now: f64) -> Kept {
        Kept {
            revision: self.standing.revision,
            idle_ms: Some(whole((now - self.at).floor())),
            open: self.standing.open,
            state: self.state.clone(),
            records: self.records.clone(),
        }
    }

    fn write(&mut self, commit: &Commit, now: f64) {
        let Commit { owner, revision, open, .. } = commit;
        self.standing = Standing { owner: owner.clone(), revision: *revision, open: *open };
        self.at = now;
        self.expires = now + milliseconds(commit.ttl_ms);
        if let Some(state) = &commit.state {
            self.state.clone_from(state);
        }
        self.names.extend(commit.records.iter().map(|(name, _)| name.clone()));
        self.records.extend(commit.records.iter().cloned());
        if let Some((last, text)) = &commit.events {
            self.groups.push(EventGroup { last: *last, text: text.clone() });
        }
        if commit.forget > 0 {
            self.groups.retain(|group| group.last > commit.forget);
        }
    }
}

/// Goes on round `map` behind `cursor`, `most` entries at most; gives the keys that have expired.
fn sweep<T>(
    map: &BTreeMap<String, T>,
    cursor: &mut String,
    most: usize,
    expired: impl Fn(&T) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..most.min(map.len()) {
        let behind = map.range::<str, _>((Excluded(cursor.as_str()), Unbounded)).next();
        let Some((key, value)) = behind.or_else(|| map.first_key_value()) else { break };
        if expired(value) {
            found.push(key.clone());
        }
        cursor.clone_from(key);
    }
    found
}

/// A time to live. Beyond 2^53 ms a little is lost of it, which is 285 000 years.
#[expect(clippy::cast_precision_loss, reason = "see above")]
pub(crate) fn milliseconds(ms: u64) -> f64 {
    ms as f64
}

const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const HOUR: u64 = 3_600_000;

    fn commit_of(revision: u64) -> Commit {
        Commit {
            owner: "o".to_owned(),
            revision,
            open: true,
            state: Some("state".to_owned()),
            ttl_ms: HOUR,
            ..Commit::default()
        }
    }

    fn store(max_turns: usize, max_reusable: usize) -> (MemoryStore, Arc<Lock<f64>>) {
        let time = Arc::new(Lock::new(0.0));
        let clock = Arc::clone(&time);
        let options = MemoryStoreOptions {
            max_turns: max_turns.try_into().unwrap(),
            max_reusable: max_reusable.try_into().unwrap(),
            now: Arc::new(move || *clock.lock()),
        };
        (MemoryStore::with_options(options), time)
    }

    fn commit(store: &MemoryStore, turn: &str, commit: Commit) -> Result<Answer, StoreError> {
        store.commit(turn, Arc::new(commit)).now_or_never().unwrap()
    }

    fn read(store: &MemoryStore, turn: &str) -> Option<Kept> {
        store.read(turn).now_or_never().unwrap().unwrap()
    }

    fn recall(store: &MemoryStore, key: &str) -> Option<Recalled> {
        store.recall(key).now_or_never().unwrap().unwrap()
    }

    fn full(answer: Result<Answer, StoreError>) {
        assert_eq!(answer.unwrap_err().code, "store.full");
    }

    #[test]
    fn what_was_over_first_makes_room() {
        let (store, _) = store(3, 9);
        for turn in ["a", "b", "c"] {
            assert_eq!(commit(&store, turn, commit_of(1)), Ok(Answer::Kept));
        }
        full(commit(&store, "d", commit_of(1)));
        assert_eq!(read(&store, "d"), None);
        for turn in ["c", "b"] {
            let over = Commit { open: false, ..commit_of(2) };
            assert_eq!(commit(&store, turn, over), Ok(Answer::Kept));
        }
        assert_eq!(commit(&store, "d", commit_of(1)), Ok(Answer::Kept));
        assert_eq!(read(&store, "c"), None);
        assert!(!read(&store, "b").unwrap().open);
        assert_eq!(commit(&store, "e", commit_of(1)), Ok(Answer::Kept));
        assert_eq!(read(&store, "b"), None);
        for turn in ["a", "d", "e"] {
            assert!(read(&store, turn).unwrap().open, "{turn}");
        }
        full(commit(&store, "f", commit_of(1)));
    }

    #[test]
    fn what_has_expired_makes_room_wherever_it_is() {
        let (store, time) = store(100, 9);
        for n in 0..100 {
            let ttl_ms = if n == 77 { 10 } else { HOUR };
            commit(&store, &format!("t{n}"), Commit { ttl_ms, ..commit_of(1) }).unwrap();
        }
        full(commit(&store, "new", commit_of(1)));
        *time.lock() = 9.7;
        assert_eq!(read(&store, "t77").unwrap().idle_ms, Some(9));
        full(commit(&store, "new", commit_of(1)));
        *time.lock() = 10.0;
        assert_eq!(commit(&store, "new", commit_of(1)), Ok(Answer::Kept));
        assert_eq!(read(&store, "t77"), None);
    }

    #[test]
    fn the_oldest_outcome_makes_room() {
        let (store, time) = store(9, 2);
        let reusable = |keys: [&str; 2]| {
            keys.map(|key| (key.to_owned(), key.to_owned(), HOUR)).into_iter().collect()
        };
        let with = |revision, keys| Commit { reusable: reusable(keys), ..commit_of(revision) };
        commit(&store, "t", with(1, ["a", "b"])).unwrap();
        commit(&store, "t", with(2, ["a", "c"])).unwrap();
        assert_eq!(recall(&store, "b"), None);
        *time.lock() = 1.2;
        assert_eq!(recall(&store, "a").unwrap(), Recalled { text: "a".to_owned(), age_ms: 2 });
        assert_eq!(recall(&store, "c").unwrap().text, "c");
    }

    #[test]
    fn memory_is_flat() {
        let (store, time) = store(200, 200);
        for n in 0..20_000_u32 {
            *time.lock() = f64::from(n);
            let ttl_ms = if n % 3 == 0 { 30 } else { 90 };
            let turn = format!("t{n}");
            commit(&store, &turn, Commit { ttl_ms, ..commit_of(1) }).unwrap();
            let reusable = vec![(format!("k{n}"), "x".to_owned(), ttl_ms)];
            let open = n % 5 == 0;
            commit(&store, &turn, Commit { ttl_ms, reusable, open, ..commit_of(2) }).unwrap();
            let kept = store.0.kept.lock();
            assert!(kept.turns.len() <= 200 && kept.reusable.len() <= 200);
            let closed = kept.turns.values().filter(|turn| turn.closed.is_some()).count();
            assert_eq!((kept.closed.len(), kept.ages.len()), (closed, kept.reusable.len()));
        }
        assert!(!read(&store, "t19999").unwrap().open);
    }

    #[test]
    fn clones_are_one_store() {
        let (store, _) = store(9, 9);
        commit(&store.clone(), "t", commit_of(1)).unwrap();
        assert_eq!(read(&store, "t").unwrap().revision, 1);
        assert_eq!(format!("{store:?}"), "MemoryStore { .. }");
    }
}
