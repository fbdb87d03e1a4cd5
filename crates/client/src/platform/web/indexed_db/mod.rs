//! Turns in the browser's IndexedDB: they survive a reload, a closed tab and a crash.

mod channel;
mod commit;
mod connection;
mod expiry;
mod failure;
mod listener;
mod locks;
mod rows;
mod transaction;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use futures::future::{LocalBoxFuture, join};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{EventTarget, PageTransitionEvent};

use self::channel::{Channel, News};
use self::connection::{Connection, Mode};
use self::expiry::{Found, clock_at, clock_row, find};
use self::listener::Listener;
use self::locks::OwnerLocks;
use self::rows::{EventRow, RecordRow, Reusable, Row, Turn};
use crate::clock::{self, whole_ms};
use crate::store::watchers::Watchers;
use crate::store::{
    Changed, EventGroup, ListedTurn, Store, StoreError, StoredOutcome, Watch, names_of,
};
use turnlock::store::{Commit, CommitResult, Judgement, StoredTurn};

/// How many expired turns, and outcomes, are cleared away at a time.
const SWEPT: u32 = 100;

/// Where an [`IndexedDbStore`] keeps its turns.
#[derive(Debug, Clone)]
pub struct IndexedDbStoreOptions {
    /// The database; one for each user where several share a browser. `turnlock` by default.
    pub name: String,
    /// How long to wait for a database that another page holds back; then `store.blocked`. 10 s
    /// by default.
    pub open_timeout: Duration,
}

impl Default for IndexedDbStoreOptions {
    fn default() -> Self {
        Self { name: "turnlock".to_owned(), open_timeout: Duration::from_secs(10) }
    }
}

/// Keeps turns in IndexedDB, for all pages and workers of the origin, in the database of the npm
/// package's `indexedDbStore`: both may use it at once. Clones are one store.
///
/// A commit is one transaction. Those that write records or state are `durability: "strict"`: they
/// are on the disk before they count. Those with events only are relaxed. Once it is polled, an
/// operation goes on to its end, also where its future is dropped.
///
/// The owner of a running turn holds a Web Lock, so that another page sees at once that the tab was
/// closed or crashed ([`StoredTurn::idle_ms`] is `None`). A page that goes into the back/forward cache
/// lets its locks go, and asks for them again when it comes back; what it then writes is judged by
/// the rule like anything else. The last clone that is dropped lets them go as well. Of a page that
/// is frozen, and wherever there are no Web Locks, time alone tells.
///
/// Its failures: `store.denied` (no storage for this page: sandboxed, storage blocked by the user),
/// `store.quota`, `store.blocked` (another page holds the database back), `store.version` (a newer
/// version has upgraded it), `store.closed` (taken away in the middle of an operation, as when the
/// user clears the site's data), `store.unavailable`. A connection that was closed is opened again
/// by the next operation.
///
/// A Rust string holds no lone surrogate: one that a JavaScript host wrote reads as U+FFFD, here as
/// in the core. The core itself writes none.
#[derive(Clone)]
pub struct IndexedDbStore(Rc<Inner>);

struct Inner {
    name: String,
    connection: Connection,
    locks: OwnerLocks,
    watchers: Watchers,
    channel: RefCell<Option<Channel>>,
    sweeping: Cell<bool>,
    /// Hear when the page goes to sleep and comes back.
    _page: Option<[Listener; 2]>,
    this: Weak<Self>,
}

impl IndexedDbStore {
    /// A store in the database `turnlock`.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(IndexedDbStoreOptions::default())
    }

    /// A store. Nothing is opened yet, so nothing fails.
    #[must_use]
    pub fn with_options(options: IndexedDbStoreOptions) -> Self {
        let IndexedDbStoreOptions { name, open_timeout } = options;
        Self(Rc::new_cyclic(|this: &Weak<Inner>| {
            let page: Result<EventTarget, _> = js_sys::global().dyn_into();
            let page = page.ok().map(|page| {
                ["pagehide", "pageshow"].map(|kind| {
                    let store_ref = Weak::clone(this);
                    Listener::new(&page, kind, move |event| {
                        if let Some(store) = store_ref.upgrade() {
                            store.page_event(event.unchecked_ref());
                        }
                    })
                })
            });
            Inner {
                connection: Connection::new(&name, open_timeout),
                locks: OwnerLocks::new(&format!("turnlock:{name}:")),
                watchers: Watchers::default(),
                channel: RefCell::default(),
                sweeping: Cell::new(false),
                _page: page,
                this: Weak::clone(this),
                name,
            }
        }))
    }

    /// Runs `work` to its end, whoever waits for it: a future that is dropped halfway would leave
    /// handlers without their closures, and locks without a commit.
    fn run<'a, T, F>(
        &'a self,
        work: impl FnOnce(Rc<Inner>) -> F + 'a,
    ) -> LocalBoxFuture<'a, Result<T, StoreError>>
    where
        T: 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        Box::pin(async move {
            let (tell, told) = oneshot::channel();
            let work = work(Rc::clone(&self.0));
            spawn_local(async move {
                // Nobody waits any more: that is theirs to know.
                let _ = tell.send(work.await);
            });
            told.await.unwrap_or_else(|_| Err(failure::closed()))
        })
    }
}

impl Default for IndexedDbStore {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for IndexedDbStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexedDbStore").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl Store for IndexedDbStore {
    fn read<'a>(
        &'a self,
        turn: &'a str,
    ) -> LocalBoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        let turn = turn.to_owned();
        self.run(|store| async move { store.read(&turn).await })
    }

    fn commit<'a>(
        &'a self,
        turn: &'a str,
        commit: Arc<Commit>,
    ) -> LocalBoxFuture<'a, Result<CommitResult, StoreError>> {
        let turn = turn.to_owned();
        self.run(|store| async move { store.commit(&turn, &commit).await })
    }

    fn events<'a>(
        &'a self,
        turn: &'a str,
        after: u64,
        most: u32,
    ) -> LocalBoxFuture<'a, Result<Vec<EventGroup>, StoreError>> {
        let turn = turn.to_owned();
        self.run(move |store| async move { store.events(&turn, after, most).await })
    }

    fn recall<'a>(
        &'a self,
        key: &'a str,
    ) -> LocalBoxFuture<'a, Result<Option<StoredOutcome>, StoreError>> {
        let key = key.to_owned();
        self.run(|store| async move { store.recall(&key).await })
    }

    fn list<'a>(
        &'a self,
        tenant: &'a str,
        most: u32,
    ) -> LocalBoxFuture<'a, Result<Vec<ListedTurn>, StoreError>> {
        let begin = names_of(tenant);
        self.run(move |store| async move { store.list(&begin, most).await })
    }

    fn watch(&self, turn: &str, changed: Changed) -> Option<Watch> {
        self.0.listen();
        Some(self.0.watchers.add(turn, changed))
    }
}

impl Inner {
    async fn read(&self, turn: &str) -> Result<Option<StoredTurn>, StoreError> {
        let tx = self.connection.transaction(Mode::Read).await?;
        // Both are waited for, whatever becomes of the first: each has its handlers.
        let rows = tx.all::<RecordRow>(rows::under(turn, None)?, 0);
        let (found, rows) = join(find(&tx, turn), rows).await;
        let (Some(found), rows) = (found?, rows?) else { return Ok(None) };
        let Some(kept) = found.current(&self.locks).await else { return Ok(None) };
        // Asked after reading: an owner that came since is not taken for gone.
        let is_abandoned = kept.open && kept.locked && !self.locks.is_held(&kept.owner).await;
        Ok(Some(StoredTurn {
            owner: Some(kept.owner),
            revision: kept.revision,
            idle_ms: (!is_abandoned).then(|| whole_ms(clock::unix_ms() - kept.at)),
            open: kept.open,
            state: kept.state,
            records: rows.into_iter().map(|row| (row.name, row.text)).collect(),
        }))
    }

    async fn commit(&self, turn: &str, commit: &Commit) -> Result<CommitResult, StoreError> {
        let owner = &commit.owner;
        // Held before the first commit can be seen.
        let fresh = commit.open && self.locks.acquire(turn, owner).await;
        let written = commit::commit(&self.connection, &self.locks, turn, commit).await;
        if fresh && written.is_err() {
            self.locks.release(owner);
        }
        match written? {
            (Judgement::Apply, _) => {}
            (Judgement::Repeated, _) => return Ok(CommitResult::Stored),
            (Judgement::Refuse, stands) => {
                if stands.as_ref().is_none_or(|stands| stands.owner != *owner) {
                    self.locks.release(owner);
                }
                return Ok(CommitResult::Refused { state: stands.map(|stands| stands.state) });
            }
        }
        let news = News { turn: turn.to_owned(), owner: owner.clone(), open: commit.open };
        self.apply_news(&news);
        self.listen();
        if let Some(channel) = self.channel.borrow().as_ref() {
            channel.post(&news);
        }
        if commit.revision == 1
            && let Some(this) = self.this.upgrade()
        {
            spawn_local(async move { this.sweep().await });
        }
        Ok(CommitResult::Stored)
    }

    async fn events(
        &self,
        turn: &str,
        after: u64,
        most: u32,
    ) -> Result<Vec<EventGroup>, StoreError> {
        // To IndexedDB, 0 is no limit.
        if most == 0 {
            return Ok(Vec::new());
        }
        let tx = self.connection.transaction(Mode::Read).await?;
        let rows = tx.all::<EventRow>(rows::under(turn, Some(after))?, most);
        let (found, rows) = join(find(&tx, turn), rows).await;
        let (Some(found), rows) = (found?, rows?) else { return Ok(Vec::new()) };
        if found.current(&self.locks).await.is_none() {
            return Ok(Vec::new());
        }
        Ok(rows.into_iter().map(|row| EventGroup { last: row.last, text: row.text }).collect())
    }

    async fn recall(&self, key: &str) -> Result<Option<StoredOutcome>, StoreError> {
        let tx = self.connection.transaction(Mode::Read).await?;
        let stored: Option<Reusable> = tx.get(key).await?;
        let now = clock::unix_ms();
        let found = stored.filter(|stored| stored.expires > now);
        Ok(found.map(|stored| StoredOutcome {
            text: stored.text,
            age_ms: whole_ms((now - stored.at).ceil()),
        }))
    }

    async fn list(&self, begin: &str, most: u32) -> Result<Vec<ListedTurn>, StoreError> {
        let tx = self.connection.transaction(Mode::Read).await?;
        let (open, clock) = join(tx.readable::<Turn>(rows::named(begin)?), clock_row(&tx)).await;
        let clock = clock?;
        let mut rows = Vec::new();
        for row in open?.into_iter().filter(|row| row.open) {
            rows.extend(Found::new(row, clock.as_ref()).current(&self.locks).await);
        }
        let now = clock::unix_ms();
        rows.sort_by(|one, other| other.at.total_cmp(&one.at));
        rows.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let mut listed = Vec::with_capacity(rows.len());
        for Turn { turn, owner, state, locked, at, .. } in rows {
            let is_abandoned = locked && !self.locks.is_held(&owner).await;
            listed.push(ListedTurn {
                turn,
                state,
                idle_ms: (!is_abandoned).then(|| whole_ms(now - at)),
            });
        }
        // Those whose owners are gone are last.
        listed.sort_by_key(|one| one.idle_ms.unwrap_or(u64::MAX));
        Ok(listed)
    }

    /// Clears away what has expired; nobody waits for it, and its failure is nobody's.
    async fn sweep(&self) {
        if self.sweeping.replace(true) {
            return;
        }
        // The next one tries again.
        let _ = self.clear_expired().await;
        self.sweeping.set(false);
    }

    async fn clear_expired(&self) -> Result<(), StoreError> {
        let tx = self.connection.transaction(Mode::Relaxed).await?;
        let clock = clock_at(clock::unix_ms(), clock_row(&tx).await?);
        tx.put(&clock)?;
        let turns = tx.expired(Turn::STORE, clock.at, SWEPT);
        let outcomes = tx.expired(Reusable::STORE, clock.at, SWEPT);
        let (turns, outcomes) = join(turns, outcomes).await;
        for turn in turns? {
            tx.drop_turn(&turn)?;
        }
        for key in outcomes? {
            tx.delete(Reusable::STORE, JsValue::from(key))?;
        }
        tx.finish().await
    }

    /// `owner` wrote to a turn.
    fn apply_news(&self, news: &News) {
        self.locks.release_others(&news.turn, news.open.then_some(news.owner.as_str()));
        self.watchers.tell(&news.turn, Some(&news.owner));
    }

    /// Hears other pages and workers from now on, where that is possible.
    fn listen(&self) {
        let mut channel = self.channel.borrow_mut();
        if channel.is_some() {
            return;
        }
        let this = Weak::clone(&self.this);
        *channel = Channel::open(&format!("turnlock:{}", self.name), move |news| {
            if let Some(this) = this.upgrade() {
                this.apply_news(&news);
            }
        });
    }

    /// The back/forward cache, which a page enters and leaves whole.
    fn page_event(&self, event: &PageTransitionEvent) {
        if event.type_() == "pagehide" {
            // A page with locks or an open channel may be kept out of the cache.
            self.locks.suspend();
            self.channel.take();
        } else if event.persisted() {
            self.locks.resume();
            self.listen();
            // What happened meanwhile was not heard.
            self.watchers.tell_all();
        }
    }
}
