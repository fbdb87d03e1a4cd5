//! Unicode Normalization Form C ([UAX #15]), with 9 KB of tables.
//!
//! `tests/stats/nfc.mjs` writes the tables and documents their layout. They are unpacked for the first
//! text that contains a character for which a look at its number does not show that NFC keeps it.
//!
//! [UAX #15]: https://www.unicode.org/reports/tr15/

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::order::sort_by;

static PACKED: &[u8] = include_bytes!("nfc.bin");
static TABLES: OnceLock<Tables> = OnceLock::new();

/// Whether NFC changes no text of such characters: none has another form, composes with the one
/// before it, or is a mark. Latin, hyphens to ellipsis, kana, Chinese characters, Hangul syllables.
fn is_settled(c: char) -> bool {
    matches!(c,
        ..'\u{300}'
        | '\u{2010}'..='\u{2027}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30A1}'..='\u{30FA}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7A3}')
}

// Hangul syllables are computed: The Unicode Standard §3.12.
const S: u32 = 0xAC00;
const L: u32 = 0x1100;
const V: u32 = 0x1161;
const T: u32 = 0x11A7;
const V_COUNT: u32 = 21;
const T_COUNT: u32 = 28;
const S_COUNT: u32 = 19 * V_COUNT * T_COUNT;

/// Returns `text` in Unicode Normalization Form C, in which texts are compared; borrowed if it
/// already is.
pub fn nfc(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_settled) {
        return Cow::Borrowed(text);
    }
    let made = TABLES.get_or_init(Tables::unpack).compose(text);
    if made == text { Cow::Borrowed(text) } else { Cow::Owned(made) }
}

/// The unpacked tables. Each list is sorted by the first member of its items.
struct Tables {
    /// Code point from which on characters have this rank; rank 0 means not a mark.
    marks: Vec<(u32, u32)>,
    /// Composite, first half, second half.
    pairs: Vec<(u32, u32, u32)>,
    /// First half, second half, composite.
    composites: Vec<(u32, u32, u32)>,
    /// Characters that decompose and are never composed again, with their decompositions.
    others: Vec<(u32, Vec<u32>)>,
}

impl Tables {
    fn unpack() -> Self {
        let mut packed = Packed { bytes: PACKED.iter(), step: 0 };
        let mut at = 0;
        let marks = packed.list(|packed| {
            at += packed.number();
            (at, packed.number())
        });
        at = 0;
        let seconds = packed.list(|packed| {
            at += packed.number();
            at
        });
        (at, packed.step) = (0, 0);
        let pairs: Vec<_> = packed.list(|packed| {
            at += packed.number();
            let first = packed.toward();
            let second = usize::try_from(packed.number()).unwrap_or(usize::MAX);
            (at, first, seconds.get(second).copied().unwrap_or(0))
        });
        (at, packed.step) = (0, 0);
        let others = packed.list(|packed| {
            at += packed.number();
            (at, packed.list(Packed::toward))
        });
        let mut composites: Vec<_> = pairs.iter().map(|&(whole, a, b)| (a, b, whole)).collect();
        sort_by(&mut composites, Ord::cmp);
        Self { marks, pairs, composites, others }
    }

    fn compose(&self, text: &str) -> String {
        let mut codes: Vec<(u32, u32)> = Vec::with_capacity(text.len());
        text.chars().for_each(|c| self.decompose(u32::from(c), &mut codes));
        // Sorts the marks after a starter by rank; equal ranks keep their order.
        let mut part = 0;
        let mut codes: Vec<(usize, u32, u32)> = codes
            .into_iter()
            .map(|(rank, code)| {
                part += usize::from(rank == 0);
                (part, rank, code)
            })
            .collect();
        sort_by(&mut codes, |a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        let mut made: Vec<u32> = Vec::with_capacity(codes.len());
        let mut starter = None;
        let mut before = None;
        for (_, rank, code) in codes {
            // Blocked if there is a starter, or a mark of an equal or higher rank, in between.
            let open = before.is_none_or(|before| before != 0 && before < rank);
            let place: Option<&mut u32> = starter.and_then(|at: usize| made.get_mut(at));
            if open
                && let Some(first) = place
                && let Some(whole) = self.pair(*first, code)
            {
                *first = whole;
                continue;
            }
            if rank == 0 {
                starter = Some(made.len());
                before = None;
            } else {
                before = Some(rank);
            }
            made.push(code);
        }
        made.into_iter().filter_map(char::from_u32).collect()
    }

    fn decompose(&self, code: u32, out: &mut Vec<(u32, u32)>) {
        if let Some(syllable) = code.checked_sub(S).filter(|syllable| *syllable < S_COUNT) {
            out.push((0, L + syllable / (V_COUNT * T_COUNT)));
            out.push((0, V + syllable / T_COUNT % V_COUNT));
            if !syllable.is_multiple_of(T_COUNT) {
                out.push((0, T + syllable % T_COUNT));
            }
        } else if let Ok(at) = self.pairs.binary_search_by_key(&code, |pair| pair.0) {
            let (_, first, second) = self.pairs.get(at).copied().unwrap_or_default();
            self.decompose(first, out);
            out.push((self.rank(second), second));
        } else if let Ok(at) = self.others.binary_search_by_key(&code, |other| other.0) {
            let whole = self.others.get(at).map_or(&[][..], |(_, whole)| whole);
            out.extend(whole.iter().map(|code| (self.rank(*code), *code)));
        } else {
            out.push((self.rank(code), code));
        }
    }

    fn rank(&self, code: u32) -> u32 {
        let behind = self.marks.partition_point(|(from, _)| *from <= code);
        behind.checked_sub(1).and_then(|at| self.marks.get(at)).map_or(0, |(_, rank)| *rank)
    }

    fn pair(&self, first: u32, second: u32) -> Option<u32> {
        let lead = first.checked_sub(L).filter(|lead| *lead < 19);
        let vowel = second.checked_sub(V).filter(|vowel| *vowel < V_COUNT);
        if let (Some(lead), Some(vowel)) = (lead, vowel) {
            return Some(S + (lead * V_COUNT + vowel) * T_COUNT);
        }
        let open = first.checked_sub(S).is_some_and(|s| s < S_COUNT && s.is_multiple_of(T_COUNT));
        if open && second > T && second < T + T_COUNT {
            return Some(first + (second - T));
        }
        let found = self.composites.binary_search_by_key(&(first, second), |&(a, b, _)| (a, b));
        found.ok().and_then(|at| self.composites.get(at)).map(|&(.., whole)| whole)
    }
}

struct Packed {
    bytes: std::slice::Iter<'static, u8>,
    step: u32,
}

impl Packed {
    fn number(&mut self) -> u32 {
        let mut value = 0;
        for (place, byte) in self.bytes.by_ref().take(5).enumerate() {
            value |= u32::from(byte & 0x7F) << (7 * place);
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn toward(&mut self) -> u32 {
        let zigzag = self.number();
        let half = zigzag.div_ceil(2);
        self.step = match zigzag.is_multiple_of(2) {
            true => self.step.wrapping_add(half),
            false => self.step.wrapping_sub(half),
        };
        self.step
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.number()).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each settled character stays, and composes with no settled one before it.
    #[test]
    fn what_is_settled_needs_no_tables() {
        let tables = TABLES.get_or_init(Tables::unpack);
        let settled: String = ('\0'..='\u{10FFFF}').filter(|c| is_settled(*c)).collect();
        for c in settled.chars() {
            let mut codes = Vec::new();
            tables.decompose(u32::from(c), &mut codes);
            assert_eq!(codes.first().map(|(rank, _)| *rank), Some(0), "{c}: a mark");
            assert_eq!(tables.compose(&c.to_string()), c.to_string(), "{c}");
        }
        let second = |code: u32| char::from_u32(code).is_some_and(is_settled);
        assert!(!tables.composites.iter().any(|(_, code, _)| second(*code)));
        assert!(!('\u{1160}'..='\u{11FF}').any(is_settled), "a final composes with a syllable");
        assert_eq!(tables.compose(&settled), settled);
    }

    #[test]
    fn forms() {
        #[rustfmt::skip]
        let rows = [
            ("plain",                             "abc é",                    "abc é"),
            ("composed",                          "cafe\u{301}",              "caf\u{E9}"),
            ("two marks, wrong order",            "q\u{307}\u{323}",          "q\u{323}\u{307}"),
            ("one of two marks composes",         "e\u{323}\u{301}",          "\u{1EB9}\u{301}"),
            ("a mark of the same class blocks",   "a\u{345}\u{301}\u{345}",   "\u{E1}\u{345}\u{345}"),
            ("singleton",                         "\u{212B}",                 "\u{C5}"),
            ("excluded from composition",         "\u{958}",                  "\u{915}\u{93C}"),
            ("compatibility stays",               "\u{FB01}n",                "\u{FB01}n"),
            ("Hangul",                            "\u{1112}\u{1161}\u{11AB}", "\u{D55C}"),
            ("a syllable takes a final",          "\u{D558}\u{11AB}",         "\u{D55C}"),
            ("two starters compose",              "\u{9C7}\u{9BE}",           "\u{9CB}"),
            ("a starter between blocks",          "e\u{200B}\u{301}",         "e\u{200B}\u{301}"),
            ("a mark without a starter",          "\u{301}e",                 "\u{301}e"),
            ("CJK compatibility ideograph",       "\u{F900}",                 "\u{8C48}"),
        ];
        for (why, text, want) in rows {
            assert_eq!(nfc(text), want, "{why}");
        }
    }
}
