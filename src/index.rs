//! Maps texts to numbers.

/// What a list has for a number, from 0: it grows with the numbers, and has the default for a new one.
pub(crate) fn slot<T: Default>(list: &mut Vec<T>, number: usize) -> &mut T {
    if number >= list.len() {
        list.resize_with(number + 1, T::default);
    }
    #[expect(clippy::indexing_slicing, reason = "just made long enough")]
    &mut list[number]
}

/// How many numbers a run holds at most.
const RUN: usize = 256;

/// Assigns every text a number, counted from 0. The numbers are in the order of their texts, in
/// runs that are split when they are full. It is no hash table: ids are untrusted input, and no
/// choice of ids may make it slow.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// By number.
    texts: Vec<Box<[u8]>>,
    /// Numbers in the order of their texts; no run is empty.
    runs: Vec<Vec<usize>>,
}

impl Index {
    /// Returns the number of a text; a new text gets the next number.
    pub fn number(&mut self, text: &str) -> usize {
        self.number_of(text.as_bytes())
    }

    /// As [`Index::number`], for bytes.
    pub(crate) fn number_of(&mut self, text: &[u8]) -> usize {
        let (run, place) = match self.place(text) {
            Ok(number) => return number,
            Err(place) => place,
        };
        let number = self.texts.len();
        self.texts.push(text.into());
        match self.runs.get_mut(run) {
            None => self.runs.push(vec![number]),
            Some(numbers) => {
                numbers.insert(place, number);
                if numbers.len() > RUN {
                    let behind = numbers.split_off(RUN / 2);
                    self.runs.insert(run + 1, behind);
                }
            }
        }
        number
    }

    /// All texts, in the order of their numbers.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| std::str::from_utf8(text).unwrap_or_default())
    }

    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        self.find_bytes(text.as_bytes())
    }

    /// As [`Index::find`], for bytes.
    pub(crate) fn find_bytes(&self, text: &[u8]) -> Option<usize> {
        self.place(text).ok()
    }

    /// The number of a text, or the run and the place in it where its number belongs.
    fn place(&self, text: &[u8]) -> Result<usize, (usize, usize)> {
        let order =
            |number: &usize| self.texts.get(*number).map_or(&[][..], |other| other).cmp(text);
        let starts = self.runs.partition_point(|run| run.first().is_some_and(|n| order(n).is_le()));
        let run = starts.saturating_sub(1);
        let numbers = self.runs.get(run).map_or(&[][..], Vec::as_slice);
        match numbers.binary_search_by(order) {
            Ok(place) => numbers.get(place).copied().ok_or((run, place)),
            Err(place) => Err((run, place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Index;

    #[test]
    fn numbers_count_new_texts() {
        let mut index = Index::default();
        let text = |n: usize| format!("id{}", n * 7919 % 10_007);
        for n in 0..10_007 {
            assert_eq!(index.find(&text(n)), None);
            assert_eq!(index.number(&text(n)), n);
        }
        for n in 0..10_007 {
            assert_eq!(index.find(&text(n)), Some(n));
            assert_eq!(index.number(&text(n)), n);
        }
        assert_eq!(index.find("id10007"), None);
    }
}
