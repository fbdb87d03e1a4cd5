//! The shape of arguments that arrive in pieces.

/// Whether arguments that arrive in pieces are a whole object, by their brackets, or the text of one
/// in a string: to read them again with each piece would take quadratic time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shape {
    #[default]
    Blank,
    Open {
        depth: u32,
        in_string: bool,
        escaped: bool,
    },
    Whole,
    Other,
}

impl Shape {
    /// Whether white space that follows is a part of a text.
    pub(super) fn is_in_string(self) -> bool {
        matches!(self, Self::Open { in_string: true, .. })
    }

    pub(super) fn take(&mut self, text: &str) {
        for byte in text.bytes() {
            *self = match (*self, byte) {
                (Self::Other, _) => return,
                (shape @ (Self::Blank | Self::Whole), byte) if byte.is_ascii_whitespace() => shape,
                (Self::Blank, b'{') => Self::Open { depth: 1, in_string: false, escaped: false },
                // JSON in a JSON string, which is unwrapped (quarkus-langchain4j#2642, 2026-06-29).
                (Self::Blank, b'"') => Self::Open { depth: 0, in_string: true, escaped: false },
                (Self::Blank | Self::Whole, _) => Self::Other,
                (Self::Open { depth: 0, escaped: false, .. }, b'"') => Self::Whole,
                (Self::Open { depth, in_string: true, escaped }, byte) => Self::Open {
                    depth,
                    in_string: escaped || byte != b'"',
                    escaped: !escaped && byte == b'\\',
                },
                (Self::Open { depth: 1, .. }, b'}' | b']') => Self::Whole,
                (Self::Open { depth, .. }, byte) => Self::Open {
                    depth: match byte {
                        b'{' | b'[' => depth.saturating_add(1),
                        b'}' | b']' => depth - 1,
                        _ => depth,
                    },
                    in_string: byte == b'"',
                    escaped: false,
                },
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_tell_whether_an_object_is_whole() {
        let rows = [
            ("", Shape::Blank),
            (" {\"a\": [1, {}]} \n", Shape::Whole),
            (r#"{"a":"}\\\"]"}"#, Shape::Whole),
            (r#" "{\"a\": \"}\"}" "#, Shape::Whole),
            (r#""a":1}"#, Shape::Other),
            (r#""{}"{}"#, Shape::Other),
            ("{} x", Shape::Other),
            ("[1]", Shape::Other),
            ("{}{", Shape::Other),
        ];
        for (text, want) in rows {
            let mut whole = Shape::default();
            whole.take(text);
            let mut pieces = Shape::default();
            text.split_inclusive(|_| true).for_each(|piece| pieces.take(piece));
            assert_eq!((whole, pieces), (want, want), "{text}");
        }
        let mut open = Shape::default();
        open.take(r#"{"a":"}"#);
        assert!(matches!(open, Shape::Open { depth: 1, in_string: true, .. }));
        let mut text = Shape::default();
        text.take(r#""{\"a\""#);
        assert!(matches!(text, Shape::Open { depth: 0, in_string: true, .. }));
    }
}
