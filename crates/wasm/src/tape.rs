//! Values across the boundary without JSON text: a tape of numbers, one text that holds all short
//! strings, and numbers in place of what stays with the host. `pkg/src/history/tape.ts` is
//! the other side.
//!
//! A value is one number, tag and length, and what follows:
//!
//! | tag | value | length |
//! |---|---|---|
//! | 0, 1, 2 | null, true, false | |
//! | 3, 4 | number, string | UTF-16 units of the text, up to a NUL |
//! | 5, 6 | text, object of the host | its number |
//! | 7, 8 | array, object | items; a key of an object is its number, counted from 0 |
//! | 9 | text made of pieces | pieces: 4, 5, or 6 for the JSON text of a value |

use std::borrow::Cow;

use turnlock::json::Json;
use turnlock::json::shell::{Host, Index, Piece};
use turnlock::limits;

const TAG: u32 = 16;

/// Reads a tape.
#[derive(Debug)]
pub(super) struct TapeReader<'t> {
    tape: &'t [u32],
    at: usize,
    text: &'t str,
    keys: Vec<&'t str>,
}

impl<'t> TapeReader<'t> {
    /// The first number counts the keys; their lengths follow, and their texts come first.
    pub(super) fn new(tape: &'t [u32], text: &'t str) -> Option<Self> {
        let mut reader = Self { tape, at: 0, text, keys: Vec::new() };
        for _ in 0..reader.next()? {
            let units = reader.next()?;
            let key = reader.cut(units)?;
            reader.keys.push(key);
        }
        Some(reader)
    }

    pub(super) fn next(&mut self) -> Option<u32> {
        let number = self.tape.get(self.at).copied();
        self.at += 1;
        number
    }

    /// The next so many UTF-16 units of the text, and the NUL behind them.
    fn cut(&mut self, units: u32) -> Option<&'t str> {
        let units = usize::try_from(units).ok()?;
        let ascii = self.text.as_bytes().get(..units).is_some_and(<[u8]>::is_ascii);
        let bytes = if ascii {
            units
        } else {
            let mut left = units;
            let end = self.text.char_indices().find(|(_, c)| {
                let done = left == 0;
                left = left.saturating_sub(c.len_utf16());
                done
            });
            end.map_or(self.text.len(), |(at, _)| at)
        };
        let (cut, rest) = self.text.split_at_checked(bytes)?;
        self.text = rest.strip_prefix('\0')?;
        Some(cut)
    }

    /// The next value; `None` if the tape is not one.
    pub(super) fn value(&mut self, depth: u32) -> Option<Json<'t>> {
        let token = self.next()?;
        let count = token / TAG;
        let length = usize::try_from(count).ok()?;
        Some(match token % TAG {
            0 => Json::Null,
            1 => Json::Bool(true),
            2 => Json::Bool(false),
            3 => Json::Number(Cow::Borrowed(self.cut(count)?)),
            4 => Json::String(Cow::Borrowed(self.cut(count)?)),
            5 => Json::Host(Host::Text(count)),
            6 => Json::Host(Host::Object(count)),
            7 if depth < limits::JSON_DEPTH + limits::HOST_LEVELS => {
                let mut items = Vec::with_capacity(length.min(self.tape.len()));
                for _ in 0..length {
                    items.push(self.value(depth + 1)?);
                }
                Json::Array(items)
            }
            8 if depth < limits::JSON_DEPTH + limits::HOST_LEVELS => {
                let mut members = Vec::with_capacity(length.min(self.tape.len()));
                for _ in 0..length {
                    let key = usize::try_from(self.next()?).ok()?;
                    let key = Cow::Borrowed(*self.keys.get(key)?);
                    members.push((key, self.value(depth + 1)?));
                }
                Json::Object(members)
            }
            _ => return None,
        })
    }
}

/// Writes a tape.
#[derive(Debug, Default)]
pub(super) struct TapeWriter {
    tape: Vec<u32>,
    text: String,
    keys: Vec<String>,
    /// The numbers of the keys.
    index: Index,
    /// By a hash of the key, its number and one more.
    known: Vec<u32>,
}

impl TapeWriter {
    pub(super) fn value(&mut self, value: &Json<'_>) {
        match value {
            Json::Null => self.tape.push(0),
            Json::Bool(true) => self.tape.push(1),
            Json::Bool(false) => self.tape.push(2),
            Json::Number(text) => self.string(3, text),
            Json::String(text) => self.string(4, text),
            Json::Host(Host::Text(number)) => self.tape.push(number * TAG + 5),
            Json::Host(Host::Object(number)) => self.tape.push(number * TAG + 6),
            Json::Host(Host::Made(pieces)) => {
                self.count(9, pieces.len());
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => self.string(4, text),
                        Piece::Kept(number) => self.tape.push(number * TAG + 5),
                        Piece::Json(number) => self.tape.push(number * TAG + 6),
                    }
                }
            }
            Json::Array(items) => self.list(items),
            Json::Object(members) => {
                self.count(8, members.len());
                for (key, value) in members {
                    let key = self.key(key);
                    self.tape.push(key);
                    self.value(value);
                }
            }
        }
    }

    pub(super) fn list(&mut self, items: &[Json<'_>]) {
        self.count(7, items.len());
        for item in items {
            self.value(item);
        }
    }

    fn count(&mut self, tag: u32, count: usize) {
        self.tape.push(u32::try_from(count).unwrap_or_default() * TAG + tag);
    }

    fn string(&mut self, tag: u32, text: &str) {
        let units = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
        self.count(tag, units);
        self.text.push_str(text);
    }

    fn key(&mut self, key: &str) -> u32 {
        if self.known.is_empty() {
            self.known.resize(256, 0);
        }
        let first = key.bytes().next().map_or(0, usize::from);
        let last = key.bytes().next_back().map_or(0, usize::from);
        let slot = (first * 31 + last * 7 + key.len()) % 256;
        let guess = self.known.get(slot).copied().unwrap_or_default();
        let number = |at: usize| u32::try_from(at).unwrap_or_default();
        if guess > 0 {
            let at = usize::try_from(guess - 1).unwrap_or_default();
            if self.keys.get(at).is_some_and(|known| known == key) {
                return guess - 1;
            }
        }
        let at = self.index.number(key);
        if at == self.keys.len() {
            self.keys.push(key.to_owned());
        }
        if let Some(known) = self.known.get_mut(slot) {
            *known = number(at) + 1;
        }
        number(at)
    }

    /// One run of bytes: how many numbers follow, the tape, how many keys, their lengths, then all
    /// texts, those of the keys first.
    pub(super) fn finish(self) -> Vec<u8> {
        let units = |text: &String| text.encode_utf16().count();
        let mut numbers = Vec::with_capacity(self.keys.len() + 1);
        numbers.push(self.keys.len());
        numbers.extend(self.keys.iter().map(units));
        let length = self.tape.len() + numbers.len();
        let mut out = Vec::with_capacity(length * 4 + 4 + self.text.len() + self.keys.len() * 16);
        out.extend(u32::try_from(length).unwrap_or_default().to_le_bytes());
        for number in numbers {
            out.extend(u32::try_from(number).unwrap_or_default().to_le_bytes());
        }
        for number in self.tape {
            out.extend(number.to_le_bytes());
        }
        for key in &self.keys {
            out.extend(key.as_bytes());
        }
        out.extend(self.text.as_bytes());
        out
    }
}
