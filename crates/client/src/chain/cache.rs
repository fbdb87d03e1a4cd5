//! Results of searches and refinements, by what was asked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Keeps results. Keys and entries are those of the npm package: both may share one database.
///
/// A failure is told to nobody: what is not found, or not kept, is asked again.
pub trait ChainCache {
    /// What is kept under a key. The core looks at its age.
    fn get<'a>(&'a self, key: &'a str) -> LocalBoxFuture<'a, Option<CacheEntry>>;

    /// Keeps a result. It is finished even where the chain ends in the meantime.
    fn set<'a>(&'a self, key: &'a str, entry: CacheEntry) -> LocalBoxFuture<'a, ()>;
}

/// A result that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheEntry {
    /// The result.
    pub value: Value,
    /// Milliseconds since 1970.
    pub stored_at: u64,
}

/// A cache in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryCache(Rc<RefCell<BTreeMap<String, CacheEntry>>>);

impl MemoryCache {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything in it, such as to keep it elsewhere.
    #[must_use]
    pub fn entries(&self) -> BTreeMap<String, CacheEntry> {
        self.0.borrow().clone()
    }
}

impl FromIterator<(String, CacheEntry)> for MemoryCache {
    fn from_iter<I: IntoIterator<Item = (String, CacheEntry)>>(entries: I) -> Self {
        Self(Rc::new(RefCell::new(entries.into_iter().collect())))
    }
}

impl ChainCache for MemoryCache {
    fn get<'a>(&'a self, key: &'a str) -> LocalBoxFuture<'a, Option<CacheEntry>> {
        ready(self.0.borrow().get(key).cloned()).boxed_local()
    }

    fn set<'a>(&'a self, key: &'a str, entry: CacheEntry) -> LocalBoxFuture<'a, ()> {
        self.0.borrow_mut().insert(key.to_owned(), entry);
        ready(()).boxed_local()
    }
}
