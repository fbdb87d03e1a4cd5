//! Values that stay with the host, so that a long history is passed to the core without its long
//! texts.

use super::Json;

/// A value that the host holds, or a text that the host must assemble. Only the wasm bindings make
/// these values. They use them for objects that are plain JSON, and for texts that are long,
/// well-formed, not blank and without trailing white space.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A text, by its number.
    Text(u32),
    /// An object, by its number.
    Object(u32),
    /// A text that consists of pieces.
    Made(Vec<Piece>),
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    /// Literal text.
    Text(String),
    /// A text that the host holds.
    Kept(u32),
    /// The JSON text of a value that the host holds.
    Json(u32),
}

impl<'a> Json<'a> {
    /// Whether this is a text, held by the core or by the host.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::String(_) | Self::Host(Host::Text(_) | Host::Made(_)))
    }

    /// Whether this is a text that consists only of white space, or is not a text.
    pub(crate) fn is_blank(&self) -> bool {
        match self {
            Self::String(text) => text.chars().all(is_space),
            other => !other.is_text(),
        }
    }

    /// Whether this is a text that begins so, as far as the core has it.
    pub(crate) fn starts_with(&self, start: &str) -> bool {
        match self {
            Self::String(text) => text.starts_with(start),
            Self::Host(Host::Made(pieces)) => {
                matches!(pieces.first(), Some(Piece::Text(text)) if text.starts_with(start))
            }
            _ => false,
        }
    }

    /// Whether this is a text that ends so, as far as the core has it.
    pub(crate) fn ends_with(&self, end: &str) -> bool {
        match self {
            Self::String(text) => text.ends_with(end),
            Self::Host(Host::Made(pieces)) => {
                matches!(pieces.last(), Some(Piece::Text(text)) if text.ends_with(end))
            }
            _ => false,
        }
    }

    /// Converts this value to its JSON text.
    pub(crate) fn into_text(self) -> Self {
        let text = self.to_text();
        if !text.as_bytes().contains(&0) {
            return text.into();
        }
        // JSON text has no raw NUL. The writer puts the number of a host value between two NULs.
        let mut made = Joined::default();
        for (at, piece) in text.split('\0').enumerate() {
            match piece.parse() {
                Ok(number) if at % 2 == 1 => made.pieces.push(Piece::Json(number)),
                _ => made.text(piece),
            }
        }
        made.into_json()
    }
}

/// Whether ECMAScript treats a character as white space (`\\s`), so that both sides of a boundary
/// agree.
#[must_use]
pub fn is_space(c: char) -> bool {
    c == '\u{FEFF}' || c != '\u{85}' && c.is_whitespace()
}

/// A text that is joined from pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Joined {
    pieces: Vec<Piece>,
}

impl Joined {
    /// Two texts, each on a line.
    #[inline(never)]
    pub(crate) fn lines(one: &Json<'_>, other: &Json<'_>) -> Json<'static> {
        let mut both = Self::default();
        both.value(one);
        both.text("\n");
        both.value(other);
        both.into_json()
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// Adds a value that is a text. Other values are ignored.
    pub(crate) fn value(&mut self, value: &Json<'_>) {
        match value {
            Json::String(text) => self.text(text),
            Json::Host(Host::Text(number)) => self.pieces.push(Piece::Kept(*number)),
            Json::Host(Host::Made(pieces)) => self.pieces.extend(pieces.iter().cloned()),
            _ => {}
        }
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the joined text.
    pub(crate) fn into_json(mut self) -> Json<'static> {
        match self.pieces.as_mut_slice() {
            [] => "".into(),
            [Piece::Text(text)] => std::mem::take(text).into(),
            [Piece::Kept(number)] => Json::Host(Host::Text(*number)),
            _ => Json::Host(Host::Made(self.pieces)),
        }
    }
}
