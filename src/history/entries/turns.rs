//! Which elements stand and fall together: the turns of a history.

use super::super::model::{Entry, Speaker};
use super::History;
use crate::provider::Marks;

impl History<'_> {
    /// The unit of each element that was appended, from 0; `None` for instructions, which belong to
    /// none. A unit is one turn: what the user said and everything up to the user's next words. What
    /// stands before the first words of the user is a unit too. Turns that share a call and its
    /// result, or the pieces of one text, are one unit with all between them.
    #[must_use]
    #[inline(never)]
    pub fn turns(&self) -> Vec<Option<usize>> {
        let mut begins = vec![false; self.elements];
        let mut instructs: Vec<Option<bool>> = vec![None; self.elements];
        for entry in self.entries.iter().filter(|entry| !entry.gone) {
            let system = matches!(entry.speaker, Speaker::System | Speaker::Developer);
            if let Some(only) = instructs.get_mut(entry.index) {
                *only = Some(only.unwrap_or(true) && system);
            }
            if let Some(begin) = begins.get_mut(entry.index)
                && entry.speaker == Speaker::User
                && entry.says(false, Marks::NONE)
            {
                *begin = true;
            }
        }
        // Where a unit begins that goes on behind an element, the elements up to it begin none.
        let results = self.entries.iter().flat_map(Entry::calls);
        let pairs = results.filter_map(|call| Some((call.index, call.result.as_ref()?.index)));
        for (a, b) in pairs.chain(self.links.iter().copied()) {
            let (from, to) = (a.min(b), a.max(b));
            for begin in begins.iter_mut().take(to + 1).skip(from + 1) {
                *begin = false;
            }
        }
        let mut unit = 0;
        let mut seen = false;
        let units = begins.into_iter().zip(instructs).map(|(begin, instructs)| {
            if instructs == Some(true) {
                return None;
            }
            if begin && seen {
                unit += 1;
            }
            seen = true;
            Some(unit)
        });
        units.collect()
    }

    /// Notes that what an element adds belongs to an element of an earlier turn.
    pub(super) fn link(&mut self, entry: usize, index: usize) {
        if entry < self.turn
            && let Some(of) = self.entries.get(entry)
        {
            self.links.push((of.index, index));
        }
    }
}
