//! Where turns are kept. The records are those of the npm package: a turn that one of the two
//! paused, the other resumes.

pub(crate) mod memory;
mod shelf;
pub(crate) mod watchers;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::platform::{BoxFuture, Dyn, MaybeSend, MaybeSync};
use turnlock::json::write_string;
use turnlock::store::{Commit, CommitResult, StoredTurn};

#[cfg(target_arch = "wasm32")]
pub use crate::platform::web::indexed_db::{IndexedDbStore, IndexedDbStoreOptions};
pub use memory::{MemoryStore, MemoryStoreOptions};

/// Keeps turns. Every method may be called at any time, also while others are under way.
///
/// A future of a store may be dropped before it is ready: when a turn ends, or has waited too long. A
/// commit must then be kept whole, or not at all; one that awaits between two writes goes on in a task
/// of its own.
///
/// A store keeps texts that it does not understand, and answers a commit by one rule,
/// [`judge`](turnlock::store::judge), in the transaction that writes.
pub trait Store: MaybeSend + MaybeSync {
    /// Everything kept for a turn but its events; `None` if it is unknown or has expired.
    ///
    /// # Errors
    /// `store.unavailable` and other codes that begin with `store.`.
    fn read<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>>;

    /// Applies all of a commit, or nothing of it: [`CommitResult::Stored`] or [`CommitResult::Refused`].
    ///
    /// # Errors
    /// `store.record_exists` for a record whose name the turn already has; codes that begin with
    /// `store.` where the store itself fails. The commit may then be repeated as it is.
    fn commit<'a>(
        &'a self,
        turn: &'a str,
        commit: Arc<Commit>,
    ) -> BoxFuture<'a, Result<CommitResult, StoreError>>;

    /// Groups of events with `last > after`, ascending by `last`, at most `most` of them; fewer
    /// only where there are no more.
    ///
    /// # Errors
    /// As for [`Store::read`].
    fn events<'a>(
        &'a self,
        turn: &'a str,
        after: u64,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<EventGroup>, StoreError>>;

    /// A reusable outcome, kept apart from turns, if it has not expired.
    ///
    /// # Errors
    /// As for [`Store::read`].
    fn recall<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredOutcome>, StoreError>>;

    /// The open turns of a tenant, at most `most`, the one that was written last first. Where more
    /// are open: those that were written last, or that began or were taken over last. The names of a
    /// tenant's turns are those of [`turn_key`](turnlock::store::turn_key).
    ///
    /// # Errors
    /// `store.unsupported` for a store that does not list its turns, which is the default; as for
    /// [`Store::read`].
    fn list<'a>(
        &'a self,
        tenant: &'a str,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<ListedTurn>, StoreError>> {
        let _ = (tenant, most);
        let why = "this store does not list its turns";
        Box::pin(async move { Err(StoreError::new("store.unsupported", why)) })
    }

    /// Calls `changed` soon after a commit to the turn was applied, by whomever, until the
    /// [`Watch`] is dropped; `changed` gets who wrote, where the store knows. Calls without a
    /// reason are fine, and so is one call for several commits. `None` where a store cannot tell.
    fn watch(&self, turn: &str, changed: Changed) -> Option<Watch> {
        let _ = (turn, changed);
        None
    }
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn read<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        (**self).read(turn)
    }

    fn commit<'a>(
        &'a self,
        turn: &'a str,
        commit: Arc<Commit>,
    ) -> BoxFuture<'a, Result<CommitResult, StoreError>> {
        (**self).commit(turn, commit)
    }

    fn events<'a>(
        &'a self,
        turn: &'a str,
        after: u64,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<EventGroup>, StoreError>> {
        (**self).events(turn, after, most)
    }

    fn recall<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredOutcome>, StoreError>> {
        (**self).recall(key)
    }

    fn list<'a>(
        &'a self,
        tenant: &'a str,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<ListedTurn>, StoreError>> {
        (**self).list(tenant, most)
    }

    fn watch(&self, turn: &str, changed: Changed) -> Option<Watch> {
        (**self).watch(turn, changed)
    }
}

/// What a [`Store::watch`] calls, with the owner who wrote.
pub type Changed = Arc<Dyn![Fn(Option<&str>)]>;

/// Watches until it is dropped.
pub struct Watch(Option<Box<Dyn![FnOnce()]>>);

impl Watch {
    /// `stop` ends the watching.
    #[must_use]
    pub fn new(stop: impl FnOnce() + MaybeSend + MaybeSync + 'static) -> Self {
        Self(Some(Box::new(stop)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(stop) = self.0.take() {
            stop();
        }
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

/// An open turn in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTurn {
    /// Its name.
    pub turn: String,
    /// The state that was written last.
    pub state: String,
    /// Milliseconds since the last commit; `None` where the store knows that the owner is gone.
    pub idle_ms: Option<u64>,
}

/// How the names of a tenant's turns begin.
pub(crate) fn names_of(tenant: &str) -> String {
    let mut begin = String::from("[");
    write_string(tenant, &mut begin);
    begin.push(',');
    begin
}

/// Events that were written together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventGroup {
    /// `seq` of the last one.
    pub last: u64,
    /// A JSON array of events.
    pub text: String,
}

/// An outcome that another turn may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOutcome {
    /// Its record.
    pub text: String,
    /// Milliseconds since it was written, rounded up.
    pub age_ms: u64,
}

/// Why a store gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError {
    /// Stable code that begins with `store.`.
    pub code: String,
    /// In words.
    pub message: String,
}

impl StoreError {
    /// An error of a code.
    #[must_use]
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }

    /// The failure of a commit that names a record that is there.
    pub(crate) fn record_exists(name: &str) -> Self {
        let mut message = String::from("the turn has a record ");
        write_string(name, &mut message);
        Self::new("store.record_exists", message)
    }
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for StoreError {}

/// The name of a record that comes twice in one list.
pub(crate) fn repeated_name(records: &[(String, String)]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    records.iter().map(|(name, _)| name.as_str()).find(|name| !seen.insert(*name))
}
