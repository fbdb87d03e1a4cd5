//! A pull reader of JSON text (RFC 8259), which borrows strings that need no unescaping.
//!
//! The caller reads the values that it needs and skips the rest, so that a provider event
//! needs no tree. The depth, and therefore the use of the stack, is limited.

use std::borrow::Cow;

use super::{Json, JsonError, number};
use crate::limits;

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// Reads one JSON text from front to back.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// The levels that may be.
    most: u32,
    /// Lone surrogates become U+FFFD instead of errors, because providers split surrogate
    /// pairs across deltas, and text for people should be shown rather than refused.
    lossy: bool,
    /// Numbers keep their text and duplicate keys stay, so that a provider's arguments are passed on
    /// as they were given.
    verbatim: bool,
    /// Of duplicate keys with equal values, a strict reader keeps one.
    merges: bool,
    /// Refuses integers whose digits a double does not keep.
    exact: bool,
    replaced: usize,
}

impl<'a> Reader<'a> {
    /// Makes a reader that applies the rules of I-JSON to `text`.
    ///
    /// # Errors
    /// `json.syntax` when `text` is not UTF-8.
    pub(crate) fn strict(text: &'a [u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(text)
            .map_err(|error| JsonError::Syntax { offset: error.valid_up_to() })?;
        Ok(Self::text(text))
    }

    /// As [`Reader::strict`], for a text.
    pub(crate) fn text(text: &'a str) -> Self {
        Self { lossy: false, ..Self::lossy(text) }
    }

    /// As [`Reader::strict`], but a key may occur again with an equal value.
    pub(crate) fn merging(text: &'a str) -> Self {
        Self { lossy: false, merges: true, ..Self::lossy(text) }
    }

    /// As [`Reader::strict`], for JSON that a model wrote: integers whose digits a double does not keep
    /// are refused, because hosts would read another integer (RFC 8259 §6, RFC 7493 §2.2).
    pub(crate) fn exact(text: &'a str) -> Self {
        Self { exact: true, ..Self::text(text) }
    }

    /// Makes a reader for a provider's or a host's `text`: lone surrogates become U+FFFD.
    pub(crate) fn lossy(text: &'a str) -> Self {
        let most = limits::JSON_DEPTH;
        let (lossy, verbatim, merges, exact) = (true, false, false, false);
        Self { text, at: 0, depth: 0, most, lossy, verbatim, merges, exact, replaced: 0 }
    }

    /// As [`Reader::lossy`], for what a host writes about values of others: it may be deeper by
    /// [`HOST_LEVELS`](limits::HOST_LEVELS).
    pub(crate) fn host(text: &'a str) -> Self {
        Self { most: limits::JSON_DEPTH + limits::HOST_LEVELS, ..Self::lossy(text) }
    }

    /// As [`Reader::lossy`], for a provider's event: numbers keep their text, and of duplicate keys
    /// all are kept.
    pub(crate) fn verbatim(text: &'a str) -> Self {
        Self { verbatim: true, ..Self::lossy(text) }
    }

    /// As [`Reader::verbatim`], for a whole event or response that a proxy passes on: it may be as deep
    /// as what a host writes, since its arguments may have all levels of their own.
    pub(crate) fn response(text: &'a str) -> Self {
        Self { verbatim: true, ..Self::host(text) }
    }

    /// Returns the number of bytes read so far.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Returns the kind of the next value. Consumes white space only.
    ///
    /// # Errors
    /// `json.syntax` if no value starts here.
    pub(crate) fn peek(&mut self) -> Result<Kind, JsonError> {
        self.space();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            _ => Err(self.syntax()),
        }
    }

    /// Reads an object and calls `member` with each key. `member` must read or skip exactly the
    /// value of that key. The caller must detect duplicate keys.
    ///
    /// # Errors
    /// Those of the text and of `member`.
    #[expect(clippy::type_complexity, reason = "one callback; a name would hide its shape")]
    pub(crate) fn object(
        &mut self,
        member: &mut dyn FnMut(Cow<'a, str>, &mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.open(b'{')?;
        if self.take_if(b'}') {
            return self.close();
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            self.take(b':')?;
            member(key, self)?;
            self.space();
            if self.take_if(b'}') {
                return self.close();
            }
            self.take(b',')?;
        }
    }

    /// Reads an array and calls `item` at each value. `item` must read or skip exactly that value.
    ///
    /// # Errors
    /// Those of the text and of `item`.
    pub(crate) fn array(
        &mut self,
        item: &mut dyn FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.open(b'[')?;
        if self.take_if(b']') {
            return self.close();
        }
        loop {
            item(self)?;
            self.space();
            if self.take_if(b']') {
                return self.close();
            }
            self.take(b',')?;
        }
    }

    /// Reads `null`.
    ///
    /// # Errors
    /// `json.syntax` if the next value is not `null`.
    pub(crate) fn null(&mut self) -> Result<(), JsonError> {
        self.space();
        self.word("null")
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// `json.syntax` if the next value is not a boolean.
    pub(crate) fn bool(&mut self) -> Result<bool, JsonError> {
        self.space();
        if self.byte() == Some(b't') {
            self.word("true").map(|()| true)
        } else {
            self.word("false").map(|()| false)
        }
    }

    /// Reads a number and returns its canonical text; a verbatim reader returns the text as it is.
    ///
    /// # Errors
    /// `json.syntax` if the next value is not a number; `json.number_range` if it is not a plain
    /// integer and is too large for a double, or if an exact reader cannot keep its digits.
    pub(crate) fn number(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.space();
        let start = self.at;
        self.number_literal()?;
        if self.verbatim {
            return Ok(Cow::Borrowed(self.since(start)));
        }
        if self.exact && number::is_rounded(self.since(start)) {
            return Err(JsonError::NumberRange { offset: start });
        }
        number::canonical(self.since(start)).ok_or(JsonError::NumberRange { offset: start })
    }

    /// Reads a string. It is borrowed if it contains no escape.
    ///
    /// # Errors
    /// `json.syntax` if the next value is not a string; `json.lone_surrogate` unless the reader is
    /// lossy.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.space();
        self.take(b'"')?;
        let start = self.at;
        self.plain();
        if self.take_if(b'"') {
            let text = self.since(start);
            return Ok(Cow::Borrowed(text.strip_suffix('"').unwrap_or(text)));
        }
        let mut text = self.since(start).to_owned();
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.syntax()),
            }
            let start = self.at;
            self.plain();
            text.push_str(self.since(start));
        }
    }

    /// Reads the next value as a tree. A strict reader refuses duplicate keys; a lossy reader uses
    /// the last one.
    ///
    /// # Errors
    /// Those of the text.
    pub(crate) fn value(&mut self) -> Result<Json<'a>, JsonError> {
        Json::read(self)
    }

    /// Skips the next value. Duplicate keys and the range of numbers are not checked.
    ///
    /// # Errors
    /// Those of the text.
    pub(crate) fn skip(&mut self) -> Result<(), JsonError> {
        match self.peek()? {
            Kind::Null => self.null(),
            Kind::Bool => self.bool().map(drop),
            Kind::Number => self.number_literal(),
            Kind::String => self.string().map(drop),
            Kind::Array => self.array(&mut Self::skip),
            Kind::Object => self.object(&mut |_, reader| reader.skip()),
        }
    }

    /// Skips the next value and returns its unchanged text.
    ///
    /// # Errors
    /// Those of the text.
    pub(crate) fn raw(&mut self) -> Result<&'a str, JsonError> {
        self.space();
        let start = self.at;
        self.skip()?;
        Ok(self.since(start))
    }

    /// Whether this reader accepts lone surrogates and duplicate keys, as hosts do.
    pub(crate) fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// Whether of duplicate keys with equal values one is kept.
    pub(crate) fn merges_equal(&self) -> bool {
        self.merges
    }

    /// Whether duplicate keys stay as they are.
    pub(crate) fn is_verbatim(&self) -> bool {
        self.verbatim
    }

    /// Returns the number of lone surrogates that a lossy reader has replaced.
    pub(crate) fn replaced(&self) -> usize {
        self.replaced
    }

    /// Checks that only white space is left.
    ///
    /// # Errors
    /// `json.syntax` if anything else is left.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        self.space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.syntax()) }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn since(&self, start: usize) -> &'a str {
        // The reader stops only next to an ASCII byte or at the end of the text, so the slice never
        // splits a character.
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn syntax(&self) -> JsonError {
        JsonError::Syntax { offset: self.at }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    fn take_if(&mut self, byte: u8) -> bool {
        let there = self.byte() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn take(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take_if(byte) { Ok(()) } else { Err(self.syntax()) }
    }

    fn word(&mut self, word: &str) -> Result<(), JsonError> {
        if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.syntax())
        }
    }

    fn open(&mut self, bracket: u8) -> Result<(), JsonError> {
        self.space();
        self.take(bracket)?;
        self.depth += 1;
        if self.depth > self.most {
            return Err(JsonError::TooDeep { limit: self.most });
        }
        self.space();
        Ok(())
    }

    fn close(&mut self) -> Result<(), JsonError> {
        self.depth -= 1;
        Ok(())
    }

    /// Moves to the next byte that ends a run of plain text in a string.
    fn plain(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let plain = rest.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\');
        self.at += plain.unwrap_or(rest.len());
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        self.take(b'\\')?;
        let escaped = self.byte().ok_or_else(|| self.syntax())?;
        let plain = match escaped {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode(start);
            }
            _ => return Err(self.syntax()),
        };
        self.at += 1;
        Ok(plain)
    }

    /// Reads the rest of `\uXXXX`, and a second escape if the first is a high surrogate.
    fn unicode(&mut self, start: usize) -> Result<char, JsonError> {
        let first = self.hex()?;
        if let Some(plain) = char::from_u32(first) {
            return Ok(plain);
        }
        let mark = self.at;
        if first < 0xDC00 && self.take_if(b'\\') && self.take_if(b'u') {
            let second = self.hex()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return char::from_u32(code).ok_or(JsonError::LoneSurrogate { offset: start });
            }
        }
        if !self.lossy {
            return Err(JsonError::LoneSurrogate { offset: start });
        }
        self.at = mark;
        self.replaced += 1;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|b| char::from(b).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.syntax())?;
            self.at += 1;
        }
        Ok(code)
    }

    /// RFC 8259 §6: `[ minus ] int [ frac ] [ exp ]`.
    fn number_literal(&mut self) -> Result<(), JsonError> {
        self.take_if(b'-');
        if !self.take_if(b'0') {
            self.digits()?;
        }
        if self.take_if(b'.') {
            self.digits()?;
        }
        if self.take_if(b'e') || self.take_if(b'E') {
            let _ = self.take_if(b'+') || self.take_if(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.byte().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.syntax());
        }
        while self.byte().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }
}
