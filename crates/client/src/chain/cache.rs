//! Results of searches and refinements, by what was asked.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lock::Lock;
use crate::platform::{BoxFuture, MaybeSend, MaybeSync};

/// Keeps results. Keys and entries are those of the npm package: both may share one database.
///
/// A failure is told to nobody: what is not found, or not kept, is asked again.
pub trait ChainCache: MaybeSend + MaybeSync {
    /// What is kept under a key. The core looks at its age.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<CacheEntry>>;

    /// Keeps a result. It is finished even where the chain ends in the meantime.
    fn set<'a>(&'a self, key: &'a str, entry: CacheEntry) -> BoxFuture<'a, ()>;
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
pub struct MemoryCache(Arc<Lock<BTreeMap<String, CacheEntry>>>);

impl MemoryCache {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything in it, such as to keep it elsewhere.
    #[must_use]
    pub fn entries(&self) -> BTreeMap<String, CacheEntry> {
        self.0.lock().clone()
    }
}

impl FromIterator<(String, CacheEntry)> for MemoryCache {
    fn from_iter<I: IntoIterator<Item = (String, CacheEntry)>>(entries: I) -> Self {
        Self(Arc::new(Lock::new(entries.into_iter().collect())))
    }
}

impl ChainCache for MemoryCache {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<CacheEntry>> {
        Box::pin(ready(self.0.lock().get(key).cloned()))
    }

    fn set<'a>(&'a self, key: &'a str, entry: CacheEntry) -> BoxFuture<'a, ()> {
        self.0.lock().insert(key.to_owned(), entry);
        Box::pin(ready(()))
    }
}
