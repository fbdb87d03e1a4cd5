//! The arguments of a call, which come in pieces, as each kind of client puts them together.

use super::tree::value;
use crate::json::Json;

/// The arguments of a call. A reading is there from where it differs from `arguments` on.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    arguments: String,
    /// Without the pieces whose index is of no call.
    known: Option<String>,
    /// With what came last with an id or a name, in place of what came before.
    replaced: Option<String>,
    /// With a piece that begins with all that came before in place of that.
    restated: Option<String>,
    /// With the pieces of later calls of the same index.
    merged: Option<String>,
    brackets: Brackets,
}

impl Pieces {
    /// `is_drifting`: the index of the piece is missing, or of no call.
    pub(super) fn add(&mut self, piece: &str, is_drifting: bool) {
        if piece.is_empty() {
            return;
        }
        if is_drifting {
            self.known.get_or_insert_with(|| self.arguments.clone());
        } else if let Some(known) = &mut self.known {
            known.push_str(piece);
        }
        for reading in [&mut self.replaced, &mut self.merged].into_iter().flatten() {
            reading.push_str(piece);
        }
        let before = self.restated.as_ref().unwrap_or(&self.arguments);
        if !before.is_empty() && piece.starts_with(before.as_str()) {
            self.restated = Some(piece.to_owned());
        } else if let Some(restated) = &mut self.restated {
            restated.push_str(piece);
        }
        self.arguments.push_str(piece);
        self.brackets.feed(piece);
    }

    /// The piece that was added came with an id or a name, again.
    pub(super) fn repeat(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.replaced = Some(piece.to_owned());
        }
    }

    /// Adds a piece of a later call of the same index.
    pub(super) fn merge(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.merged.get_or_insert_with(|| self.arguments.clone()).push_str(piece);
        }
    }

    pub(super) fn arguments(&self) -> &str {
        &self.arguments
    }

    pub(super) fn merged(&self) -> &str {
        self.merged.as_ref().unwrap_or(&self.arguments)
    }

    /// What other clients read.
    pub(super) fn others(&self) -> impl Iterator<Item = &String> {
        let all = [&self.known, &self.replaced, &self.restated, &self.merged];
        all.into_iter().flatten().filter(|reading| **reading != self.arguments)
    }

    /// Whether the arguments are an object or an array.
    pub(super) fn is_whole(&mut self) -> bool {
        self.brackets.is_json(&self.arguments)
    }
}

/// Tells when arguments are whole, and parses them once: they arrive in many pieces.
#[derive(Debug, Clone, Default)]
struct Brackets {
    depth: i64,
    in_string: bool,
    escapes: bool,
    state: State,
    is_json: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Open,
    Closed,
    Spoiled,
}

impl Brackets {
    fn feed(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if byte <= b' ' && !self.in_string {
                continue;
            }
            if self.state == State::Closed {
                self.state = State::Spoiled;
            }
            match byte {
                _ if self.escapes => self.escapes = false,
                b'\\' if self.in_string => self.escapes = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.state = State::Closed;
                    }
                }
                _ => {}
            }
        }
    }

    fn is_json(&mut self, arguments: &str) -> bool {
        if self.state != State::Closed {
            return false;
        }
        let parses =
            || matches!(value(arguments), Some(Json::Object(_) | Json::Array(_) | Json::Null));
        *self.is_json.get_or_insert_with(parses)
    }
}

#[cfg(test)]
mod tests {
    use super::Pieces;

    #[test]
    fn each_kind_of_client_has_its_reading() {
        let mut pieces = Pieces::default();
        pieces.add("{\"a\":", false);
        assert_eq!(pieces.others().count(), 0);
        pieces.add("{\"a\":1}", false);
        assert_eq!(pieces.others().collect::<Vec<_>>(), ["{\"a\":1}"]);
        pieces.add("x", true);
        pieces.repeat("y");
        pieces.merge("z");
        assert_eq!(pieces.arguments(), "{\"a\":{\"a\":1}x");
        assert_eq!(
            pieces.others().collect::<Vec<_>>(),
            ["{\"a\":{\"a\":1}", "y", "{\"a\":1}x", "{\"a\":{\"a\":1}xz"]
        );
    }

    #[test]
    fn arguments_are_whole_at_their_last_bracket() {
        let mut pieces = Pieces::default();
        for (piece, whole) in
            [("{\"a", false), ("}\":[]", false), ("}", true), (" ", true), ("x", false)]
        {
            pieces.add(piece, false);
            assert_eq!(pieces.is_whole(), whole, "{}", pieces.arguments());
        }
    }
}
