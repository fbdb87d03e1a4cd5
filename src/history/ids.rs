//! Ids and names that the provider accepts.

use std::borrow::Cow;

use crate::index::{Index, slot};
use crate::provider::{Ids, Names};

/// Assigns every call a valid and unique id: its own where possible.
///
/// The id depends only on earlier calls, so the ids of a growing history are stable and the
/// provider's prompt cache stays valid.
#[derive(Debug, Clone, Default)]
pub(super) struct IdMap {
    /// Whether a call came with an id, and whether it is in use now, by the number of the id.
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
    /// `number` is the number of `id`; it is ignored if `id` is empty.
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
            let (given, used) = slot(&mut self.seen, number);
            reasons.duplicate = std::mem::replace(given, true);
            reasons.form = !valid(id, rule);
            if !reasons.duplicate && !reasons.form && !*used {
                *used = true;
                return (id.clone(), reasons);
            }
        }
        self.made += 1;
        if missing && rule == Ids::None {
            // Not sent, so it cannot meet an id that is given.
            return (Cow::Borrowed(""), reasons);
        }
        let mut salt = if reasons.duplicate || missing { self.made } else { 0 };
        loop {
            let made = make(id, salt, rule);
            // An id that came with a call, and has a form like this one, is in use.
            let (_, used) = slot(&mut self.seen, index.number(&made));
            if !*used {
                *used = true;
                return (Cow::Owned(made), reasons);
            }
            // Ids are untrusted input: no choice of ids may cause many collisions.
            salt = if salt == 0 { self.made } else { salt.wrapping_add(1 << 24) };
        }
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

/// FNV-1a, 64 bits: an even spread is needed, secrecy is not. `IdMap::assign` checks for
/// collisions.
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The high bits are better distributed, so they are mixed into the low ones.
    hash ^ (hash >> 29)
}

/// Assigns every tool a valid name, and never the same name to two tools.
#[derive(Debug, Clone, Default)]
pub(super) struct NameMap {
    index: Index,
    /// The number of the given name that owns a used name, by the number of the used name.
    owners: Vec<Option<usize>>,
}

impl NameMap {
    /// Returns the name that the provider accepts; `None` if the given name is already valid.
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
        *slot(&mut self.owners, name).get_or_insert(from) == from
    }
}

/// Returns the name that the provider accepts; `None` if the given name is already valid.
pub(super) fn name<'a>(given: &Cow<'a, str>, rule: Names) -> Option<Cow<'a, str>> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let (fits, most) = match rule {
        Names::Word(most) => (given.chars().all(word), most),
        Names::Dotted => {
            let all = given.chars().all(|c| word(c) || c == '.' || c == ':');
            (all && given.chars().next().is_some_and(first), 64)
        }
    };
    if fits && given.len() <= most {
        return None;
    }
    let mut made: String = given.chars().map(|c| if word(c) { c } else { '_' }).collect();
    if rule == Names::Dotted && !made.chars().next().is_some_and(first) {
        made.insert(0, '_');
    }
    made.truncate(most);
    Some(Cow::Owned(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(ids: &[&str], rule: Ids) -> Vec<String> {
        let (mut map, mut index) = (IdMap::default(), Index::default());
        let one = |id: &&str| {
            let number = index.number(id);
            map.assign(&Cow::Borrowed(*id), number, rule, &mut index).0.into_owned()
        };
        ids.iter().map(one).collect()
    }

    #[test]
    fn ids_have_the_form_of_the_provider() {
        let (forty, more) = ("é".repeat(40), "é".repeat(41));
        for (rule, id, wanted) in [
            // OpenAI counts characters.
            (Ids::Length(40), forty.as_str(), true),
            (Ids::Length(40), more.as_str(), false),
            (Ids::Length(2), "ab", true),
            (Ids::Length(2), "abc", false),
            (Ids::Word(3), "a_-", true),
            (Ids::Word(3), "abcd", false),
            (Ids::Word(3), "a.b", false),
            (Ids::Nine, "abcdefgh1", true),
            (Ids::Nine, "abcdefgh-", false),
            (Ids::Nine, "abcdefgh", false),
            (Ids::Nine, "abcdefgh12", false),
            (Ids::None, "any one", true),
        ] {
            assert_eq!(valid(id, rule), wanted, "{rule:?} {id}");
            assert_eq!(assigned(&[id], rule)[0] == id, wanted, "{rule:?} {id}");
        }
    }

    /// Two ids of one FNV-1a hash, found by others, give one id; a history may also have the next one.
    #[test]
    fn ids_that_are_made_of_one_hash_differ() {
        let (one, other) = ("8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ");
        assert_eq!(make(one, 0, Ids::Nine), make(other, 0, Ids::Nine));
        let wanted = [make(one, 0, Ids::Nine), make(other, 2, Ids::Nine)];
        assert_eq!(assigned(&[one, other], Ids::Nine), wanted);
        let taken = wanted[1].as_str();
        let all = assigned(&[taken, one, other], Ids::Nine);
        assert_eq!(all[..2], [taken, &wanted[0]]);
        assert!(!all[..2].contains(&all[2]) && valid(&all[2], Ids::Nine), "{all:?}");
    }

    #[test]
    fn names_have_the_form_of_the_provider() {
        let long = "n".repeat(65);
        for (rule, given, wanted) in [
            (Names::Word(64), "a_B-9", None),
            (Names::Word(64), "9a", None),
            (Names::Word(64), "9.a:b c", Some("9_a_b_c")),
            (Names::Word(64), long.as_str(), long.get(..64)),
            (Names::Word(128), long.as_str(), None),
            (Names::Dotted, "a.b:c-d_9", None),
            (Names::Dotted, "_a", None),
            (Names::Dotted, "a b.c", Some("a_b_c")),
            // It begins with a letter or `_`.
            (Names::Dotted, "9a", Some("_9a")),
            (Names::Dotted, "-a", Some("_-a")),
            (Names::Dotted, "a é", Some("a__")),
            (Names::Dotted, long.as_str(), long.get(..64)),
        ] {
            assert_eq!(name(&Cow::Borrowed(given), rule).as_deref(), wanted, "{rule:?} {given}");
        }
    }
}
