//! Ids and names that the provider takes.

use std::borrow::Cow;

use super::index::Index;
use super::rules::{Ids, Names};

/// Gives every call an id that is valid and unlike all others: its own where it can be.
///
/// What a call gets depends only on the calls before it, so the ids of a growing history stay,
/// and with them the provider's prompt cache.
#[derive(Debug, Clone, Default)]
pub(super) struct IdMap {
    /// Of each id, by its number: whether a call was given it, and whether one has it now.
    seen: Vec<(bool, bool)>,
    made: u32,
}

/// Why an id was replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reasons {
    pub(super) missing: bool,
    pub(super) duplicate: bool,
    pub(super) form: bool,
}

impl IdMap {
    /// `number` is that of the id, unless it is empty.
    pub(super) fn assign<'a>(
        &mut self,
        id: &Cow<'a, str>,
        number: usize,
        rule: Ids,
        index: &mut Index,
    ) -> (Cow<'a, str>, Reasons) {
        let missing = id.is_empty();
        let mut reasons = Reasons { missing, ..Reasons::default() };
        if !missing {
            let (given, used) = self.seen(number);
            reasons.duplicate = std::mem::replace(given, true);
            reasons.form = !valid(id, rule);
            if !reasons.duplicate && !reasons.form && !*used {
                *used = true;
                return (id.clone(), reasons);
            }
        }
        self.made += 1;
        let mut salt = if reasons.duplicate || missing { self.made } else { 0 };
        loop {
            let made = make(id, salt, rule);
            let (given, used) = self.seen(index.number(&made));
            if !*given && !*used {
                *used = true;
                return (Cow::Owned(made), reasons);
            }
            // Ids are chosen by others: no choice of theirs may make many tries collide.
            salt = if salt == 0 { self.made } else { salt.wrapping_add(1 << 24) };
        }
    }

    fn seen(&mut self, at: usize) -> (&mut bool, &mut bool) {
        if at >= self.seen.len() {
            self.seen.resize(at + 1, (false, false));
        }
        #[expect(clippy::indexing_slicing, reason = "just made long enough")]
        let (given, used) = &mut self.seen[at];
        (given, used)
    }
}

fn valid(id: &str, rule: Ids) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    match rule {
        Ids::Length(most) => id.len() <= most || id.chars().count() <= most,
        Ids::Word(most) => id.len() <= most && id.bytes().all(word),
        Ids::Nine => id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()),
        Ids::None => true,
    }
}

fn make(id: &str, salt: u32, rule: Ids) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut hash = fnv(id.bytes().chain(salt.to_le_bytes()));
    let (mut made, digits) =
        if rule == Ids::Nine { (String::new(), 9) } else { (String::from("call_"), 12) };
    for _ in 0..digits {
        let digit = usize::try_from(hash % 36).unwrap_or_default();
        made.push(DIGITS.get(digit).copied().map_or('0', char::from));
        hash /= 36;
    }
    made
}

/// FNV-1a, 64 bits: spread, not secrecy, is wanted, and every collision is looked for.
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Its high bits are the better ones.
    hash ^ (hash >> 29)
}

/// Gives every tool a name that is valid, and two tools never the same one.
#[derive(Debug, Clone, Default)]
pub(super) struct NameMap {
    index: Index,
    /// By the number of a name that is used, the number of the one that was given.
    owners: Vec<Option<usize>>,
}

impl NameMap {
    /// The name as the provider takes it; `None` if it is that already.
    pub(super) fn assign<'a>(&mut self, given: &Cow<'a, str>, rule: Names) -> Option<Cow<'a, str>> {
        if given.is_empty() {
            return None;
        }
        let from = self.index.number(given);
        let Some(mut made) = name(given, rule) else {
            self.own(from, from);
            return None;
        };
        let name = self.index.number(&made);
        if !self.own(name, from) {
            let mark = fnv(given.bytes());
            let kept: String = made.chars().take(55).collect();
            made = Cow::Owned(format!("{kept}_{:08x}", mark & 0xFFFF_FFFF));
        }
        Some(made)
    }

    fn own(&mut self, name: usize, from: usize) -> bool {
        if name >= self.owners.len() {
            self.owners.resize(name + 1, None);
        }
        match self.owners.get_mut(name) {
            Some(owner @ None) => {
                *owner = Some(from);
                true
            }
            Some(Some(owner)) => *owner == from,
            None => false,
        }
    }
}

/// The name as the provider takes it, and whether it had to be changed.
pub(super) fn name<'a>(given: &Cow<'a, str>, rule: Names) -> Option<Cow<'a, str>> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let (fits, most) = match rule {
        Names::Word(most) => (given.chars().all(word), most),
        Names::Gemini => {
            let all = given.chars().all(|c| word(c) || c == '.' || c == ':');
            (all && given.chars().next().is_some_and(first), 64)
        }
    };
    if fits && given.len() <= most {
        return None;
    }
    let mut made: String = given.chars().map(|c| if word(c) { c } else { '_' }).collect();
    if rule == Names::Gemini && !made.chars().next().is_some_and(first) {
        made.insert(0, '_');
    }
    made.truncate(most);
    Some(Cow::Owned(made))
}
