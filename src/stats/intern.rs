//! Equal things get equal numbers, so that comparing them again costs nothing.

use std::collections::BTreeMap;

/// Numbers for texts, in the order in which they were first seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Interner(BTreeMap<Box<str>, u32>);

impl Interner {
    pub(super) fn id(&mut self, text: &str) -> u32 {
        if let Some(id) = self.0.get(text) {
            return *id;
        }
        let id = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.insert(text.into(), id);
        id
    }

    /// The number of a list of numbers; `mark` tells kinds of lists apart.
    pub(super) fn list(&mut self, mark: char, ids: impl Iterator<Item = u32>) -> u32 {
        let mut text = String::from(mark);
        for id in ids {
            // Base 64 in characters that sort; any unambiguous form will do.
            let mut rest = id;
            loop {
                let digit = u8::try_from(rest % 64).unwrap_or(0);
                rest /= 64;
                text.push(char::from(if rest == 0 { 32 + digit } else { 32 + 64 + digit }));
                if rest == 0 {
                    break;
                }
            }
        }
        self.id(&text)
    }
}

/// FNV-1a of 64 bits: an order that depends on content alone, not on who came first.
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
