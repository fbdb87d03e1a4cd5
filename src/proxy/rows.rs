//! Calls by a name, in their order.

use crate::index::Index;

/// Calls by names that several may have. A response has each of them once.
#[derive(Debug, Default)]
pub(super) struct Rows {
    names: Index,
    /// The keys of each name, in their order.
    rows: Vec<Vec<usize>>,
}

/// How many of each name were taken.
#[derive(Debug, Default)]
pub(super) struct Taken(Vec<usize>);

impl Rows {
    pub(super) fn add(&mut self, name: &str, key: usize) {
        let row = crate::index::slot(&mut self.rows, self.names.number(name));
        if let Err(at) = row.binary_search(&key) {
            row.insert(at, key);
        }
    }

    pub(super) fn delete(&mut self, name: &str, key: usize) {
        let Some(number) = self.names.find(name) else { return };
        let Some(row) = self.rows.get_mut(number) else { return };
        if let Ok(at) = row.binary_search(&key) {
            row.remove(at);
        }
    }

    /// The next of a name; `taken` is what a response has had.
    pub(super) fn next(&self, name: &str, taken: &mut Taken) -> Option<usize> {
        let number = self.names.find(name)?;
        let count = crate::index::slot(&mut taken.0, number);
        let key = self.rows.get(number)?.get(*count)?;
        *count += 1;
        Some(*key)
    }

    pub(super) fn take_all(&mut self) -> Vec<usize> {
        std::mem::take(self).rows.into_iter().flatten().collect()
    }
}
