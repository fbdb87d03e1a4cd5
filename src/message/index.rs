//! Texts as numbers.

use std::collections::BTreeMap;

/// Gives every text a number, counted from 0. A tree, not a hash table: ids are chosen by others,
/// and no choice of theirs may make it slow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index(BTreeMap<String, usize>);

impl Index {
    /// The number of a text, the next one if it is new.
    pub(crate) fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.0.get(text) {
            return *number;
        }
        let number = self.0.len();
        self.0.insert(text.to_owned(), number);
        number
    }

    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        self.0.get(text).copied()
    }
}
