//! Turns in memory: for one process, page or worker, and for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use futures::future::lazy;

use super::watchers::Watchers;
use super::{Changed, EventGroup, Recalled, Store, StoreError, Watch, repeated_name};
use crate::clock::{self, whole};
use crate::lock::Lock;
use crate::platform::{BoxFuture, Dyn, MaybeSend};
use turnlock::store::{Answer, Commit, Judgement, Kept as StoredTurn, Standing, judge};

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
    kept: Lock<Kept>,
    watchers: Watchers,
}

struct Kept {
    /// Those that are over may make room.
    turns: Shelf<Turn>,
    /// Texts of reusable outcomes, of which each may make room.
    reusable: Shelf<String>,
}

#[derive(Default)]
struct Turn {
    standing: Standing,
    state: String,
    records: Vec<(String, String)>,
    names: BTreeSet<String>,
    groups: Vec<EventGroup>,
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
        let turns = Shelf::new(options.max_turns);
        let kept = Lock::new(Kept { turns, reusable: Shelf::new(options.max_reusable) });
        Self(Arc::new(Inner { now: options.now, kept, watchers: Watchers::default() }))
    }

    /// Does `work` at the store's time, when it is polled.
    fn with<'a, R>(
        &'a self,
        work: impl FnOnce(&mut Kept, f64) -> R + MaybeSend + 'a,
    ) -> BoxFuture<'a, R> {
        Box::pin(lazy(move |_| {
            let now = (self.0.now)();
            work(&mut self.0.kept.lock(), now)
        }))
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
    fn read<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        self.with(move |kept, now| {
            Ok(kept.turns.get(turn, now).map(|Entry { value, at, .. }| StoredTurn {
                revision: value.standing.revision,
                idle_ms: Some(whole((now - at).floor())),
                open: value.standing.open,
                state: value.state.clone(),
                records: value.records.clone(),
            }))
        })
    }

    fn commit<'a>(
        &'a self,
        turn: &'a str,
        commit: Arc<Commit>,
    ) -> BoxFuture<'a, Result<Answer, StoreError>> {
        Box::pin(async move {
            let written = self.with(|kept, now| kept.write(turn, &commit, now));
            let (answer, applied) = written.await?;
            if applied {
                self.0.watchers.tell(turn, Some(&commit.owner));
            }
            Ok(answer)
        })
    }

    fn events<'a>(
        &'a self,
        turn: &'a str,
        after: u64,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<EventGroup>, StoreError>> {
        self.with(move |kept, now| {
            let groups = kept.turns.get(turn, now).map(|kept| &kept.value.groups);
            let behind = groups.into_iter().flatten().filter(|group| group.last > after);
            Ok(behind.take(usize::try_from(most).unwrap_or(usize::MAX)).cloned().collect())
        })
    }

    fn recall<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Recalled>, StoreError>> {
        self.with(move |kept, now| {
            let found = kept.reusable.get(key, now);
            let age_ms = |at: f64| whole((now - at).ceil());
            Ok(found.map(|one| Recalled { text: one.value.clone(), age_ms: age_ms(one.at) }))
        })
    }

    fn watch(&self, turn: &str, changed: Changed) -> Option<Watch> {
        Some(self.0.watchers.add(turn, changed))
    }
}

impl Kept {
    /// Beside the answer, whether something was written.
    fn write(
        &mut self,
        turn: &str,
        commit: &Commit,
        now: f64,
    ) -> Result<(Answer, bool), StoreError> {
        let before = self.turns.get(turn, now).map(|kept| &kept.value);
        match judge(before.map(|kept| &kept.standing), commit) {
            Judgement::Apply => {}
            Judgement::Repeated => return Ok((Answer::Kept, false)),
            Judgement::Refuse => {
                let state = before.map(|kept| kept.state.clone());
                return Ok((Answer::Refused { state }, false));
            }
        }
        let is_there = |name: &&str| before.is_some_and(|kept| kept.names.contains(*name));
        let mut names = commit.records.iter().map(|(name, _)| name.as_str());
        if let Some(name) = repeated_name(&commit.records).or_else(|| names.find(is_there)) {
            return Err(StoreError::record_exists(name));
        }
        if before.is_none() && !self.turns.make_room(now) {
            let message = format!("{} turns are open; see max_turns", self.turns.most);
            return Err(StoreError::new("store.full", message));
        }
        // Nothing fails from here on.
        let mut kept = self.turns.remove(turn).unwrap_or_default();
        kept.write(commit);
        self.turns.put(turn, kept, now, commit.ttl_ms, !commit.open);
        for (key, text, ttl_ms) in &commit.reusable {
            self.reusable.remove(key);
            self.reusable.make_room(now);
            self.reusable.put(key, text.clone(), now, *ttl_ms, true);
        }
        Ok((Answer::Kept, true))
    }
}

impl Turn {
    fn write(&mut self, commit: &Commit) {
        let Commit { owner, revision, open, .. } = commit;
        self.standing = Standing { owner: owner.clone(), revision: *revision, open: *open };
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

/// A bounded number of values by name, each until it expires.
struct Shelf<T> {
    most: usize,
    entries: BTreeMap<String, Entry<T>>,
    /// Names of entries that may make room, the oldest first.
    spare: BTreeMap<u64, String>,
    /// Numbers the entries of `spare`.
    count: u64,
    /// Where the last sweep ended.
    swept: String,
}

struct Entry<T> {
    value: T,
    at: f64,
    expires: f64,
    /// Its key in `spare`.
    spare: Option<u64>,
}

impl<T> Shelf<T> {
    fn new(most: NonZeroUsize) -> Self {
        let (entries, spare) = (BTreeMap::new(), BTreeMap::new());
        Self { most: most.get(), entries, spare, count: 0, swept: String::new() }
    }

    /// The entry, if it has not expired.
    fn get(&mut self, name: &str, now: f64) -> Option<&Entry<T>> {
        if self.entries.get(name)?.expires <= now {
            self.remove(name);
        }
        self.entries.get(name)
    }

    /// Adds an entry that is not there.
    fn put(&mut self, name: &str, value: T, now: f64, ttl_ms: u64, is_spare: bool) {
        self.count += 1;
        let spare = is_spare.then_some(self.count);
        self.spare.extend(spare.map(|number| (number, name.to_owned())));
        let entry = Entry { value, at: now, expires: now + milliseconds(ttl_ms), spare };
        self.entries.insert(name.to_owned(), entry);
    }

    fn remove(&mut self, name: &str) -> Option<T> {
        let Entry { value, spare, .. } = self.entries.remove(name)?;
        spare.and_then(|number| self.spare.remove(&number));
        Some(value)
    }

    /// Makes room for one more entry; false if every entry has to stay.
    fn make_room(&mut self, now: f64) -> bool {
        self.sweep(now, SWEPT);
        if self.entries.len() < self.most {
            return true;
        }
        match self.spare.values().next().cloned() {
            Some(oldest) => drop(self.remove(&oldest)),
            None => self.sweep(now, self.entries.len()),
        }
        self.entries.len() < self.most
    }

    /// Removes what has expired among the next `most` entries, going round.
    fn sweep(&mut self, now: f64, most: usize) {
        for _ in 0..most.min(self.entries.len()) {
            let behind = (Excluded(self.swept.as_str()), Unbounded);
            let next = self.entries.range::<str, _>(behind).next();
            let Some((name, entry)) = next.or_else(|| self.entries.first_key_value()) else {
                break;
            };
            let expired = entry.expires <= now;
            self.swept.clone_from(name);
            if expired {
                self.remove(&self.swept.clone());
            }
        }
    }
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

    #[test]
    fn memory_is_flat() {
        let time = Arc::new(Lock::new(0.0));
        let clock = Arc::clone(&time);
        let most = 200.try_into().unwrap();
        let now = Arc::new(move || *clock.lock());
        let store = MemoryStore::with_options(MemoryStoreOptions {
            max_turns: most,
            max_reusable: most,
            now,
        });
        for n in 0..20_000_u32 {
            *time.lock() = f64::from(n);
            let ttl_ms = if n % 3 == 0 { 30 } else { 90 };
            let turn = format!("t{n}");
            let reusable = vec![(format!("k{n}"), "x".to_owned(), ttl_ms)];
            let first = Commit { revision: 1, open: true, ttl_ms, ..Commit::default() };
            let second = Commit { revision: 2, reusable, open: n % 5 == 0, ..first.clone() };
            for commit in [first, second] {
                let answer = store.commit(&turn, Arc::new(commit)).now_or_never();
                assert_eq!(answer, Some(Ok(Answer::Kept)));
            }
            let kept = store.0.kept.lock();
            let (turns, reusable) = (&kept.turns, &kept.reusable);
            assert!(turns.entries.len() <= 200 && reusable.entries.len() <= 200);
            let over = turns.entries.values().filter(|turn| !turn.value.standing.open).count();
            assert_eq!((turns.spare.len(), reusable.spare.len()), (over, reusable.entries.len()));
        }
    }
}
