//! Interning: equal texts and lists get equal numbers, so that later comparisons are cheap.

use crate::index::Index;

/// Numbers for texts and lists, in the order in which they were first seen.
///
/// A hash table with bounded probing. Texts that find no free slot near their hash go into an
/// index, so no choice of texts makes it slow. Equality is decided by the bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Interner {
    /// All texts, concatenated.
    bytes: Vec<u8>,
    /// Hash, start and end of each text.
    known: Vec<(u64, usize, usize)>,
    /// Numbers plus one, by hash; 0 is a free slot. The length is a power of two; at most half
    /// of the slots are used.
    slots: Vec<u32>,
    crowded: Index,
    /// The numbers of the texts that are crowded out.
    crowded_ids: Vec<u32>,
    scratch: Vec<u8>,
}

/// Slots that are probed for one text.
const PROBES: usize = 16;

impl Interner {
    /// The number of a text; `mark` distinguishes kinds of texts.
    pub(super) fn text(&mut self, mark: u8, text: &str) -> u32 {
        self.scratch.clear();
        self.scratch.push(mark);
        self.scratch.extend_from_slice(text.as_bytes());
        self.id()
    }

    /// The number of a list of numbers; `mark` distinguishes kinds of lists.
    pub(super) fn list(&mut self, mark: u8, ids: impl Iterator<Item = u32>) -> u32 {
        self.scratch.clear();
        self.scratch.push(mark);
        ids.for_each(|id| self.scratch.extend_from_slice(&id.to_le_bytes()));
        self.id()
    }

    fn id(&mut self) -> u32 {
        if self.slots.len() <= 2 * self.known.len() {
            self.grow();
        }
        let hash = Hash::EMPTY.bytes(&self.scratch).0;
        let mut free = None;
        for place in self.places(hash) {
            let Some(slot) = self.slots.get(place) else { break };
            let Some(id) = slot.checked_sub(1) else {
                free = Some(place);
                break;
            };
            if self.is(id, hash) {
                return id;
            }
        }
        if free.is_none()
            && let Some(at) = self.crowded.find_bytes(&self.scratch)
            && let Some(id) = self.crowded_ids.get(at)
        {
            return *id;
        }
        let id = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&self.scratch);
        self.known.push((hash, start, self.bytes.len()));
        self.put(id, hash);
        id
    }

    fn places(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        // FNV mixes only towards the high bits.
        let first = usize::try_from((hash ^ (hash >> 32)) & 0xFFFF_FFFF).unwrap_or(0);
        (0..PROBES).map(move |step| first.wrapping_add(step) & mask)
    }

    fn is(&self, id: u32, hash: u64) -> bool {
        let known = usize::try_from(id).ok().and_then(|id| self.known.get(id));
        known.is_some_and(|(own, start, end)| {
            *own == hash && self.bytes.get(*start..*end) == Some(&self.scratch)
        })
    }

    fn put(&mut self, id: u32, hash: u64) {
        for place in self.places(hash) {
            if let Some(slot) = self.slots.get_mut(place).filter(|slot| **slot == 0) {
                *slot = id.saturating_add(1);
                return;
            }
        }
        let span = usize::try_from(id).ok().and_then(|id| self.known.get(id));
        let text = span.and_then(|(_, start, end)| self.bytes.get(*start..*end));
        self.crowded.number_of(text.unwrap_or_default());
        self.crowded_ids.push(id);
    }

    fn grow(&mut self) {
        self.slots = vec![0; (4 * self.known.len()).next_power_of_two().max(64)];
        self.crowded = Index::default();
        self.crowded_ids.clear();
        for (id, hash) in self.known.iter().map(|(hash, ..)| *hash).enumerate().collect::<Vec<_>>()
        {
            self.put(u32::try_from(id).unwrap_or(u32::MAX), hash);
        }
    }
}

/// 64-bit FNV-1a. It gives an order that depends only on content, not on the order of interning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(pub(super) u64);

impl Hash {
    pub(super) const EMPTY: Self = Self(0xCBF2_9CE4_8422_2325);

    pub(super) fn bytes(self, bytes: &[u8]) -> Self {
        let step =
            |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        Self(bytes.iter().fold(self.0, step))
    }

    pub(super) fn with(self, other: u64) -> Self {
        self.bytes(&other.to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn equal_texts_and_no_others_share_a_number() {
        let mut interner = Interner::default();
        let mut seen: BTreeMap<(u8, String), u32> = BTreeMap::new();
        for round in 0..40_000_u32 {
            let key =
                (b'a' + u8::try_from(round % 2).unwrap(), format!("{}", round * 7_919 % 9_973));
            let id = interner.text(key.0, &key.1);
            assert_eq!(*seen.entry(key).or_insert(id), id);
        }
        let mut ids: Vec<u32> = seen.values().copied().collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), seen.len());
        assert_ne!(
            interner.list(b'[', [1, 2].into_iter()),
            interner.list(b'[', [2, 1].into_iter())
        );
    }

    /// A table without free slots.
    #[test]
    fn what_finds_no_place_is_found_all_the_same() {
        let mut interner = Interner::default();
        let first = interner.text(b'x', "first");
        interner.slots = vec![first + 1; 8_192];
        let ids: Vec<u32> = (0..2_000).map(|n| interner.text(b'x', &n.to_string())).collect();
        assert_eq!(interner.crowded_ids.len(), 2_000);
        let again: Vec<u32> = (0..2_000).map(|n| interner.text(b'x', &n.to_string())).collect();
        assert_eq!(again, ids);
        assert_eq!(interner.text(b'x', "first"), first);
    }
}
