//! A pull reader of JSON text (RFC 8259), borrowing what needs no unescaping.
//!
//! The caller asks for what it wants and skips the rest, so a provider event costs
//! no tree. Depth is bounded, and with it the stack.
//!
//! ```
//! use turnlock::json::{JsonError, Reader};
//!
//! let mut name = String::new();
//! let mut reader = Reader::strict(br#"{"id":7,"name":"read_file"}"#)?;
//! reader.object(&mut |key, reader| match &*key {
//!     "name" => {
//!         name = reader.string()?.into_owned();
//!         Ok(())
//!     }
//!     _ => reader.skip(),
//! })?;
//! reader.end()?;
//! assert_eq!(name, "read_file");
//! # Ok::<(), JsonError>(())
//! ```

use std::borrow::Cow;

use super::{Json, JsonError, number};
use crate::limits;

/// What the next value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// Half of a surrogate pair becomes U+FFFD instead of an error: providers cut
    /// pairs across deltas, and text for people is better shown than refused.
    lossy: bool,
    replaced: usize,
}

impl<'a> Reader<'a> {
    /// Reads `text` by I-JSON's rules.
    ///
    /// # Errors
    /// `json.syntax` when `text` is not UTF-8.
    pub fn strict(text: &'a [u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(text)
            .map_err(|error| JsonError::Syntax { offset: error.valid_up_to() })?;
        Ok(Self { text, at: 0, depth: 0, lossy: false, replaced: 0 })
    }

    /// Reads a provider's `text`: lone surrogates become U+FFFD.
    #[must_use]
    pub fn lossy(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0, lossy: true, replaced: 0 }
    }

    /// Bytes read so far.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The kind of the next value. Consumes white space only.
    ///
    /// # Errors
    /// `json.syntax` where no value starts.
    pub fn peek(&mut self) -> Result<Kind, JsonError> {
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

    /// Reads an object, calling `member` at each value with its key. `member` must read
    /// or skip exactly that value. Duplicate keys are the caller's to find.
    ///
    /// # Errors
    /// Those of the text, and those of `member`.
    #[expect(clippy::type_complexity, reason = "one callback; a name would hide its shape")]
    pub fn object(
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

    /// Reads an array, calling `item` at each value. `item` must read or skip exactly it.
    ///
    /// # Errors
    /// Those of the text, and those of `item`.
    pub fn array(
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
    /// `json.syntax` where there is none.
    pub fn null(&mut self) -> Result<(), JsonError> {
        self.space();
        self.word("null")
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// `json.syntax` where there is neither.
    pub fn bool(&mut self) -> Result<bool, JsonError> {
        self.space();
        if self.byte() == Some(b't') {
            self.word("true").map(|()| true)
        } else {
            self.word("false").map(|()| false)
        }
    }

    /// Reads a number; gives its canonical text.
    ///
    /// # Errors
    /// `json.syntax` where there is none, `json.number_range` where no double holds it.
    pub fn number(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.space();
        let start = self.at;
        self.number_literal()?;
        number::canonical(self.since(start)).ok_or(JsonError::NumberRange { offset: start })
    }

    /// Reads a string, borrowing it when nothing in it is escaped.
    ///
    /// # Errors
    /// `json.syntax` where there is none; `json.lone_surrogate` unless the reader is lossy.
    pub fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
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

    /// Reads the next value as a tree. Duplicate keys are refused.
    ///
    /// # Errors
    /// Those of the text.
    pub fn value(&mut self) -> Result<Json<'a>, JsonError> {
        Json::read(self)
    }

    /// Reads over the next value, with every check but that for duplicate keys.
    ///
    /// # Errors
    /// Those of the text.
    pub fn skip(&mut self) -> Result<(), JsonError> {
        match self.peek()? {
            Kind::Null => self.null(),
            Kind::Bool => self.bool().map(drop),
            Kind::Number => self.number_literal(),
            Kind::String => self.string().map(drop),
            Kind::Array => self.array(&mut Self::skip),
            Kind::Object => self.object(&mut |_, reader| reader.skip()),
        }
    }

    /// Reads over the next value; gives its text as it stands.
    ///
    /// # Errors
    /// Those of the text.
    pub fn raw(&mut self) -> Result<&'a str, JsonError> {
        self.space();
        let start = self.at;
        self.skip()?;
        Ok(self.since(start))
    }

    /// Whether this reader takes what a strict one refuses but every host reads.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// How many halves of surrogate pairs a lossy reader has replaced.
    #[must_use]
    pub fn replaced(&self) -> usize {
        self.replaced
    }

    /// Checks that nothing but white space is left.
    ///
    /// # Errors
    /// `json.syntax` where something is.
    pub fn end(&mut self) -> Result<(), JsonError> {
        self.space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.syntax()) }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn since(&self, start: usize) -> &'a str {
        // Every stop of the reader is behind an ASCII byte, so the slice never splits a character.
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
        if self.depth > limits::JSON_DEPTH {
            return Err(JsonError::TooDeep { limit: limits::JSON_DEPTH });
        }
        self.space();
        Ok(())
    }

    fn close(&mut self) -> Result<(), JsonError> {
        self.depth -= 1;
        Ok(())
    }

    /// Moves to the next byte of a string that is not plain text.
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

    /// The rest of `\uXXXX`, and of a second one where the first is a high surrogate.
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
