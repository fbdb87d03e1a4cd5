//! A bounded number of values, for the store in memory: what makes room, and what expires.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Bound::{Excluded, Unbounded};

use super::memory::milliseconds;

/// How many entries each new one looks at for expired ones: memory stays flat without a scan.
const SWEPT: usize = 4;

/// A bounded number of values by name, each until it expires.
pub(super) struct Shelf<T> {
    most: usize,
    most_bytes: usize,
    pub(super) entries: BTreeMap<String, Entry<T>>,
    pub(super) tenants: BTreeMap<String, Tenant>,
    size: usize,
    /// Numbers the entries that may make room.
    count: u64,
    /// Where the last sweep ended.
    swept: String,
}

/// What one tenant has.
#[derive(Default)]
pub(super) struct Tenant {
    entries: usize,
    size: usize,
    /// Names of entries that may make room, by their rank, the oldest first.
    pub(super) spare: BTreeMap<(u8, u64), String>,
}

pub(super) struct Entry<T> {
    pub(super) value: T,
    tenant: String,
    size: usize,
    pub(super) at: f64,
    pub(super) expires: f64,
    /// Its key in `spare`.
    spare: Option<(u8, u64)>,
}

impl<T> Shelf<T> {
    pub(super) fn new(most: NonZeroUsize, most_bytes: NonZeroUsize) -> Self {
        Self {
            most: most.get(),
            most_bytes: most_bytes.get(),
            entries: BTreeMap::new(),
            tenants: BTreeMap::new(),
            size: 0,
            count: 0,
            swept: String::new(),
        }
    }

    /// The entry, if it has not expired.
    pub(super) fn get(&mut self, name: &str, now: f64) -> Option<&Entry<T>> {
        if self.entries.get(name)?.expires <= now {
            self.remove(name);
        }
        self.entries.get(name)
    }

    /// Adds an entry that is not there. One with a `rank` may make room.
    pub(super) fn put(
        &mut self,
        name: &str,
        (tenant, size): (&str, usize),
        value: T,
        now: f64,
        ttl_ms: u64,
        rank: Option<u8>,
    ) {
        self.count += 1;
        let spare = rank.map(|rank| (rank, self.count));
        let usage = self.tenants.entry(tenant.to_owned()).or_default();
        usage.entries += 1;
        usage.size += size;
        usage.spare.extend(spare.map(|place| (place, name.to_owned())));
        self.size += size;
        let (tenant, expires) = (tenant.to_owned(), now + milliseconds(ttl_ms));
        let entry = Entry { value, tenant, size, at: now, expires, spare };
        self.entries.insert(name.to_owned(), entry);
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        let Entry { value, tenant, size, spare, .. } = self.entries.remove(name)?;
        self.size -= size;
        if let Some(own) = self.tenants.get_mut(&tenant) {
            own.entries -= 1;
            own.size -= size;
            spare.and_then(|place| own.spare.remove(&place));
            if own.entries == 0 {
                self.tenants.remove(&tenant);
            }
        }
        Some(value)
    }

    /// Makes room for one more entry with so many bytes; false if every entry has to stay.
    pub(super) fn make_room(&mut self, now: f64, more: usize) -> bool {
        self.sweep(now, SWEPT);
        let mut swept = false;
        while self.is_full(more) {
            match self.dispensable() {
                // It would drop all others and still not fit.
                _ if more > self.most_bytes => return false,
                Some(name) => drop(self.remove(&name)),
                None if swept => return false,
                None => {
                    self.sweep(now, self.entries.len());
                    swept = true;
                }
            }
        }
        true
    }

    fn is_full(&self, more: usize) -> bool {
        self.entries.len() >= self.most || self.size.saturating_add(more) > self.most_bytes
    }

    /// The entry that is missed least: of the tenant that has the most of what is short.
    fn dispensable(&self) -> Option<String> {
        let by_count = self.entries.len() >= self.most;
        let spare = self.tenants.values().filter(|tenant| !tenant.spare.is_empty());
        let most = spare.max_by_key(|one| if by_count { one.entries } else { one.size })?;
        most.spare.values().next().cloned()
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
