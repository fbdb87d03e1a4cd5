//! Maps texts to numbers.

use std::collections::BTreeMap;

/// Assigns every text a number, counted from 0. It is a tree, not a hash table: ids are untrusted
/// input, and no choice of ids may make it slow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index(BTreeMap<String, usize>);

impl Index {
    /// Returns the number of a text; a new text gets the next number.
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
