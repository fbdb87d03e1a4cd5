//! Turns in memory: for one process, page or worker, and for tests.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use futures::future::lazy;

use super::shelf::{Entry, Shelf};
use super::watchers::Watchers;
use super::{
    Changed, EventGroup, ListedTurn, Store, StoreError, StoredOutcome, Watch, names_of,
    repeated_name,
};
use crate::clock::{self, whole_ms};
use crate::lock::Lock;
use crate::platform::{BoxFuture, Dyn, MaybeSend};
use turnlock::json::Json;
use turnlock::store::{Commit, CommitResult, Judgement, StoredTurn, TurnHead, judge};

/// Bounds of a [`MemoryStore`], and its clock.
#[derive(Clone)]
pub struct MemoryStoreOptions {
    /// Turns kept at once; 10 000 by default. When they are used up, the tenant that has the most
    /// makes room: by the turn that has been over for longest, else by the one that has failed or
    /// paused for longest. Where all are running, a new one fails with `store.full`.
    pub max_turns: NonZeroUsize,
    /// Bytes of all turns; 128 MiB by default. When they are used up, room is made as above.
    pub max_bytes: NonZeroUsize,
    /// Reusable outcomes kept at once; 10 000 by default. The oldest makes room.
    pub max_reusable: NonZeroUsize,
    /// Milliseconds that never run backwards; the driver's clock by default.
    pub now: Arc<Dyn![Fn() -> f64]>,
}

impl Default for MemoryStoreOptions {
    fn default() -> Self {
        let now = Arc::new(clock::now);
        Self { max_turns: MOST, max_bytes: MOST_BYTES, max_reusable: MOST, now }
    }
}

impl std::fmt::Debug for MemoryStoreOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStoreOptions")
            .field("max_turns", &self.max_turns)
            .field("max_bytes", &self.max_bytes)
            .field("max_reusable", &self.max_reusable)
            .finish_non_exhaustive()
    }
}

/// Keeps turns in memory, where they end with the last clone of it. For tests, and for pages that
/// need no resume after a reload. Clones are one store.
///
/// Memory is bounded by [`MemoryStoreOptions::max_turns`] and [`MemoryStoreOptions::max_bytes`], so
/// that no tenant fills the store for the others. A turn that made room is forgotten: its request id
/// would run again.
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    now: Arc<Dyn![Fn() -> f64]>,
    kept: Lock<Kept>,
    watchers: Watchers,
}

struct Kept {
    /// Those that are over may make room, then those that have failed or paused.
    turns: Shelf<Turn>,
    /// Texts of reusable outcomes, of which each may make room.
    reusable: Shelf<String>,
}

#[derive(Default)]
struct Turn {
    standing: TurnHead,
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
        let turns = Shelf::new(options.max_turns, options.max_bytes);
        let reusable = Shelf::new(options.max_reusable, NonZeroUsize::MAX);
        let kept = Lock::new(Kept { turns, reusable });
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
                owner: Some(value.standing.owner.clone()),
                revision: value.standing.revision,
                idle_ms: Some(whole_ms((now - at).floor())),
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
    ) -> BoxFuture<'a, Result<CommitResult, StoreError>> {
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

    fn recall<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredOutcome>, StoreError>> {
        self.with(move |kept, now| {
            let found = kept.reusable.get(key, now);
            let age_ms = |at: f64| whole_ms((now - at).ceil());
            Ok(found.map(|one| StoredOutcome { text: one.value.clone(), age_ms: age_ms(one.at) }))
        })
    }

    fn list<'a>(
        &'a self,
        tenant: &'a str,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<ListedTurn>, StoreError>> {
        self.with(move |kept, now| {
            let begin = names_of(tenant);
            let all = kept.turns.entries.range(begin.clone()..);
            let matching = all.take_while(|(turn, _)| turn.starts_with(&begin));
            let open = matching.filter(|(_, one)| one.value.standing.open && one.expires > now);
            let mut listed: Vec<_> = open
                .map(|(turn, one)| ListedTurn {
                    turn: turn.clone(),
                    state: one.value.state.clone(),
                    idle_ms: Some(whole_ms((now - one.at).floor())),
                })
                .collect();
            listed.sort_by_key(|one| one.idle_ms);
            listed.truncate(usize::try_from(most).unwrap_or(usize::MAX));
            Ok(listed)
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
    ) -> Result<(CommitResult, bool), StoreError> {
        let before = self.turns.get(turn, now).map(|kept| &kept.value);
        match judge(before.map(|kept| &kept.standing), commit) {
            Judgement::Apply => {}
            Judgement::Repeated => return Ok((CommitResult::Stored, false)),
            Judgement::Refuse => {
                let state = before.map(|kept| kept.state.clone());
                return Ok((CommitResult::Refused { state }, false));
            }
        }
        let is_there = |name: &&str| before.is_some_and(|kept| kept.names.contains(*name));
        let mut names = commit.records.iter().map(|(name, _)| name.as_str());
        if let Some(name) = repeated_name(&commit.records).or_else(|| names.find(is_there)) {
            return Err(StoreError::record_exists(name));
        }
        if before.is_none() && !self.turns.make_room(now, size_of_commit(commit)) {
            let message = "all turns are running; see max_turns and max_bytes";
            return Err(StoreError::new("store.full", message));
        }
        // Nothing fails from here on.
        let mut kept = self.turns.remove(turn).unwrap_or_default();
        kept.write(commit);
        let rank = match (kept.standing.open, kept.rests()) {
            (false, _) => Some(OVER),
            (true, true) => Some(RESTING),
            (true, false) => None,
        };
        let size = kept.size();
        self.turns.put(turn, (&tenant_of(turn), size), kept, now, commit.ttl_ms, rank);
        for (key, text, ttl_ms) in &commit.reusable {
            self.reusable.remove(key);
            self.reusable.make_room(now, 0);
            self.reusable.put(key, ("", text.len()), text.clone(), now, *ttl_ms, Some(OVER));
        }
        Ok((CommitResult::Stored, true))
    }
}

/// The bytes that a commit adds to its turn.
fn size_of_commit(commit: &Commit) -> usize {
    let records = commit.records.iter().map(|(name, text)| name.len() + text.len());
    let state = commit.state.as_ref().map_or(0, String::len);
    let events = commit.events.as_ref().map_or(0, |(_, text)| text.len());
    records.fold(state + events, |all, one| all + one)
}

/// Our own names of turns have their tenant.
fn tenant_of(turn: &str) -> String {
    let parts = Json::parse_str(turn).ok();
    let tenant = parts.as_ref().and_then(|parts| parts.at(0)).and_then(Json::as_str);
    tenant.unwrap_or_default().to_owned()
}

impl Turn {
    /// Whether it has failed or is paused: nobody runs it, and it may never be resumed.
    fn rests(&self) -> bool {
        let head = self.state.get(..self.state.floor_char_boundary(40)).unwrap_or_default();
        ["paused", "failed"].iter().any(|one| head.contains(&format!("\"status\":\"{one}\"")))
    }

    fn size(&self) -> usize {
        let records = self.records.iter().map(|(name, text)| name.len() + text.len());
        let groups = self.groups.iter().map(|group| group.text.len());
        records.chain(groups).fold(self.state.len(), |all, one| all + one)
    }

    fn write(&mut self, commit: &Commit) {
        let Commit { owner, revision, open, .. } = commit;
        self.standing = TurnHead { owner: owner.clone(), revision: *revision, open: *open };
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

/// The rank of what makes room: first what is over, then what has failed or is paused.
const OVER: u8 = 0;
const RESTING: u8 = 1;

/// A time to live. Beyond 2^53 ms a little is lost of it, which is 285 000 years.
#[expect(clippy::cast_precision_loss, reason = "see above")]
pub(crate) fn milliseconds(ms: u64) -> f64 {
    ms as f64
}

const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);
const MOST_BYTES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(128 * 1024 * 1024 - 1);

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use futures::FutureExt;

    use super::super::shelf::Tenant;
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
            ..MemoryStoreOptions::default()
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
                assert_eq!(answer, Some(Ok(CommitResult::Stored)));
            }
            let shelves = store.0.kept.lock();
            let (turns, reusable) = (&shelves.turns, &shelves.reusable);
            assert!(turns.entries.len() <= 200 && reusable.entries.len() <= 200);
            let over = turns.entries.values().filter(|turn| !turn.value.standing.open).count();
            let spare = |tenants: &BTreeMap<String, Tenant>| {
                tenants.values().map(|tenant| tenant.spare.len()).sum::<usize>()
            };
            let spare = (spare(&turns.tenants), spare(&reusable.tenants));
            assert_eq!(spare, (over, reusable.entries.len()));
        }
    }

    /// Writes the first commit of a turn; whether it was kept.
    fn write(store: &MemoryStore, tenant: &str, turn: u32, status: &str, bytes: usize) -> bool {
        let state = format!(r#"{{"v":1,"status":"{status}"}}"#);
        let open = status != "complete";
        let records = vec![("turn".to_owned(), "x".repeat(bytes))];
        let first = Commit { revision: 1, open, ttl_ms: 60_000, records, ..Commit::default() };
        let commit = Commit { state: Some(state), ..first };
        let name = format!(r#"["{tenant}","{turn}"]"#);
        store.commit(&name, Arc::new(commit)).now_or_never().unwrap().is_ok()
    }

    fn has(store: &MemoryStore, tenant: &str, turn: u32) -> bool {
        let name = format!(r#"["{tenant}","{turn}"]"#);
        store.read(&name).now_or_never().unwrap().unwrap().is_some()
    }

    #[test]
    fn a_tenant_that_fills_the_store_makes_room_itself() {
        let (max_turns, max_bytes) = (10.try_into().unwrap(), 1000.try_into().unwrap());
        let options = MemoryStoreOptions { max_turns, max_bytes, ..MemoryStoreOptions::default() };
        let store = MemoryStore::with_options(options);
        assert!(write(&store, "small", 0, "paused", 1) && write(&store, "small", 1, "complete", 1));
        assert!((0..50).all(|turn| write(&store, "large", turn, "failed", 1)));
        assert!(has(&store, "small", 0) && has(&store, "small", 1), "the other one has more");
        assert!(!has(&store, "large", 41) && has(&store, "large", 42), "the oldest goes first");
        // What is over goes before what can be resumed; bytes count as well.
        assert!(
            write(&store, "large", 50, "complete", 1) && write(&store, "large", 51, "failed", 1)
        );
        assert!(!has(&store, "large", 50) && has(&store, "large", 44));
        assert!(write(&store, "large", 52, "failed", 800));
        assert!(has(&store, "small", 0) && !has(&store, "large", 47));
        assert!(!write(&store, "large", 53, "failed", 1001), "it fits nowhere");
        let full = MemoryStore::with_options(MemoryStoreOptions {
            max_turns: 2.try_into().unwrap(),
            ..MemoryStoreOptions::default()
        });
        assert!(write(&full, "a", 0, "running", 1) && write(&full, "a", 1, "running", 1));
        assert!(!write(&full, "b", 0, "running", 1), "those that run stay");
    }
}
