//! Thoughts that a model writes into its text, between `<think>` tags.

use super::delta::Delta;
use crate::json::table::names;
use crate::text::{THINKING, begins_tag, find_tag, strip_tag};

names! {
    /// What becomes of a `<think>` block at the very beginning of a response's text.
    pub enum ThinkTags as "ThinkTags", "auto or off" {
        /// It is reasoning, without its tags.
        Auto "auto",
        /// It is text.
        Off "off",
    }
}

/// Bytes before a block, beyond which a text has none.
const WHITE_SPACE: usize = 4096;

/// Separates the thoughts at the beginning of a response from its text. Servers of local models
/// without a parser of reasoning, and some gateways, send both as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thoughts {
    place: Place,
    /// Text that may be a part of a tag, or the white space before one.
    held: String,
    /// A block was found.
    found: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Only white space and blocks were received so far.
    Before,
    /// In a block that ends with this tag. `shown`: a part of it was emitted.
    Inside { close: &'static str, shown: bool },
    /// Text follows, whatever it contains.
    Past,
}

impl Thoughts {
    /// `separates`: whether blocks are looked for.
    pub(crate) fn new(separates: bool) -> Self {
        let place = if separates { Place::Before } else { Place::Past };
        Self { place, held: String::new(), found: false }
    }

    /// Returns the deltas of a part of a response with its thoughts as reasoning.
    pub(crate) fn separate(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        if self.place == Place::Past {
            return deltas;
        }
        let mut out = Vec::with_capacity(deltas.len());
        for delta in deltas {
            match delta {
                Delta::Text(text) => self.text(&text, &mut out),
                Delta::Reasoning { .. }
                | Delta::Usage(_)
                | Delta::Members { .. }
                | Delta::Other { .. } => out.push(delta),
                // A block that is open when a call or the end follows has no text behind it.
                Delta::ToolCallStart { .. }
                | Delta::ToolCallArguments { .. }
                | Delta::ToolCallReady { .. }
                | Delta::ToolCallEnd { .. }
                | Delta::Finish { .. }
                | Delta::Error(_)
                | Delta::ProviderTool(_) => {
                    self.end(&mut out);
                    out.push(delta);
                }
            }
        }
        out
    }

    /// Emits what is held. Later text is text.
    pub(crate) fn end(&mut self, out: &mut Vec<Delta>) {
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.place, Place::Past) {
            Place::Before if !self.found => emit_text(&held, out),
            Place::Inside { .. } => emit_thought(&held, out),
            Place::Before | Place::Past => {}
        }
    }

    fn text(&mut self, text: &str, out: &mut Vec<Delta>) {
        self.held.push_str(text);
        loop {
            let held = std::mem::take(&mut self.held);
            let (place, rest) = match self.place {
                Place::Before => {
                    let inside = held.trim_start_matches('\u{feff}').trim_start();
                    // White space is read again with each piece, so not without end.
                    if !self.found && held.len() - inside.len() > WHITE_SPACE {
                        (self.place, self.held) = (Place::Past, held);
                        continue;
                    }
                    let may_be = |tag: &&str| begins_tag(inside, tag);
                    if THINKING.iter().flat_map(|(open, close)| [open, close]).any(may_be) {
                        self.held = if self.found { inside.to_owned() } else { held };
                        return;
                    }
                    // The end of a block whose beginning stood in the prompt.
                    let ended = THINKING.iter().find_map(|(_, close)| strip_tag(inside, close));
                    if let Some(rest) = ended {
                        self.found = true;
                        self.held = rest.to_owned();
                        continue;
                    }
                    let opened = THINKING
                        .into_iter()
                        .find_map(|(open, close)| Some((strip_tag(inside, open)?, close)));
                    match opened {
                        Some((inside, close)) => {
                            self.found = true;
                            (Place::Inside { close, shown: false }, inside)
                        }
                        None if self.found => (Place::Past, inside),
                        None => (Place::Past, held.as_str()),
                    }
                }
                Place::Inside { close, shown } => {
                    let inside = if shown { &held } else { held.trim_start() };
                    let Some(at) = find_tag(inside, close) else {
                        let cut = inside.len() - overlap(inside, close);
                        let (thought, kept) = inside.split_at_checked(cut).unwrap_or((inside, ""));
                        emit_thought(thought, out);
                        self.place = Place::Inside { close, shown: shown || !thought.is_empty() };
                        self.held = kept.to_owned();
                        return;
                    };
                    emit_thought(inside.get(..at).unwrap_or_default(), out);
                    (Place::Before, inside.get(at + close.len()..).unwrap_or_default())
                }
                Place::Past => {
                    emit_text(&held, out);
                    return;
                }
            };
            self.place = place;
            self.held = rest.to_owned();
        }
    }
}

/// Returns how many bytes at the end of `text` may be the beginning of `tag`.
fn overlap(text: &str, tag: &str) -> usize {
    let ends = |bytes: &usize| {
        text.len()
            .checked_sub(*bytes)
            .and_then(|at| text.get(at..))
            .is_some_and(|end| begins_tag(end, tag))
    };
    (1..tag.len()).rev().find(ends).unwrap_or(0)
}

fn emit_text(text: &str, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(Delta::Text(text.to_owned()));
    }
}

fn emit_thought(text: &str, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(Delta::Reasoning { text: text.to_owned(), signature: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reasoning and the text of a response, received in pieces of `bytes`.
    fn separated(text: &str, bytes: usize) -> (String, String) {
        let mut thoughts = Thoughts::new(true);
        let chars: Vec<char> = text.chars().collect();
        let mut deltas = Vec::new();
        for piece in chars.chunks(bytes) {
            deltas.extend(thoughts.separate(vec![Delta::Text(piece.iter().collect())]));
        }
        thoughts.end(&mut deltas);
        let (mut reasoning, mut said) = (String::new(), String::new());
        for delta in deltas {
            match delta {
                Delta::Text(text) => said.push_str(&text),
                Delta::Reasoning { text, .. } => reasoning.push_str(&text),
                other => panic!("{other:?}"),
            }
        }
        (reasoning, said)
    }

    #[test]
    fn blocks_at_the_beginning_are_reasoning_however_they_are_cut() {
        let cases = [
            ("<think>plan</think>\n\nHi", "plan", "Hi"),
            ("\n <think>\nplan\n</think> Hi", "plan\n", "Hi"),
            ("<think>\n\n</think>\n\nHi", "", "Hi"),
            ("<thinking>a < b</thinking><think>c</think>Hi", "a < bc", "Hi"),
            ("<think>plan </thin", "plan </thin", ""),
            ("<think>never ends", "never ends", ""),
            ("Hi <think>no</think>", "", "Hi <think>no</think>"),
            ("<thinker>no</thinker>", "", "<thinker>no</thinker>"),
            ("<thi", "", "<thi"),
            ("  \n", "", "  \n"),
            ("", "", ""),
            ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
            ("</think>\n\nHi", "", "Hi"),
            ("Hi </think>", "", "Hi </think>"),
            ("</", "", "</"),
        ];
        for (text, reasoning, said) in cases {
            for bytes in 1..=text.len().max(1) {
                let expected = (reasoning.to_owned(), said.to_owned());
                assert_eq!(separated(text, bytes), expected, "{text:?} in pieces of {bytes}");
            }
        }
    }

    #[test]
    fn white_space_before_a_block_is_bounded() {
        let [few, many] = [WHITE_SPACE - 7, WHITE_SPACE + 1]
            .map(|bytes| [&" ".repeat(bytes), "<think>a</think>b"].concat());
        for bytes in [1, 7, 10_000] {
            assert_eq!(separated(&few, bytes), ("a".to_owned(), "b".to_owned()));
            assert_eq!(separated(&many, bytes), (String::new(), many.clone()));
        }
    }

    #[test]
    fn a_call_ends_a_block() {
        let mut thoughts = Thoughts::new(true);
        let start = Delta::ToolCallStart { index: 0, id: "a".into(), name: "f".into() };
        let deltas =
            vec![Delta::Text("<think>pl".into()), start.clone(), Delta::Text("<think>".into())];
        let thought = Delta::Reasoning { text: "pl".into(), signature: None };
        assert_eq!(thoughts.separate(deltas), [thought, start, Delta::Text("<think>".into())]);
    }

    #[test]
    fn off_changes_nothing() {
        let deltas = vec![Delta::Text("<think>a</think>".into())];
        assert_eq!(Thoughts::new(false).separate(deltas.clone()), deltas);
    }
}
