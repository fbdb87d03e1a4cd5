//! A growing history: each element is read once, and only the end is arranged again.

mod append;
mod cached;
mod calls;
mod documents;
mod hosted;
mod ingest;
mod items;
mod output;
mod results;
mod thoughts;
mod turns;

pub(in crate::history) use cached::{CacheMark, is_mark, is_marked, unmarked};
pub use output::{Normalized, Update};

use super::arrange::Arranger;
use super::code::Code;
use super::ids::{IdMap, NameMap};
use super::model::{Entry, Part, Speaker, Text};
use super::options::HistoryOptions;
use super::pair::{Pairs, Place};
use super::refused::adapted;
use super::report::{Action, Finding};
use crate::error::Error;
use crate::index::Index;
use crate::json::{Json, Kind, Reader};
use crate::provider::{Marks, Rules};
use ingest::Size;
use thoughts::Thoughts;

/// The content of a synthesized result, for a call that has none.
pub(in crate::history) const INTERRUPTED: &str =
    "Tool call was interrupted before it returned a result.";

/// What becomes of the other arguments of a call.
pub(in crate::history) const CONFLICT: &str = "the others are left out";

/// The code for calls that a strategy omits.
pub(in crate::history) const OMITTED: Code = Code::ToolCallOmitted;

/// A history in the provider's shape, to which elements are appended as they arrive.
///
/// ```
/// use turnlock::json::Json;
/// use turnlock::history::{History, HistoryOptions};
/// use turnlock::Dialect;
///
/// let mut history = History::new(HistoryOptions::new(Dialect::OpenAiChat));
/// history.append(vec![Json::parse_str(r#"{"role":"user","content":"hi"}"#)?])?;
/// assert_eq!(history.normalized().messages.len(), 1);
/// # Ok::<(), turnlock::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct History<'a> {
    options: HistoryOptions,
    rules: Rules,
    /// The number of appended elements.
    elements: usize,
    entries: Vec<Entry<'a>>,
    size: Size,
    /// The numbers of ids, both given and assigned ones.
    index: Index,
    pairs: Pairs<'a>,
    ids: IdMap,
    /// Findings from reading the elements, in order.
    read: Vec<Finding>,
    arranger: Arranger<'a>,
    /// The number of findings in `read` that updates have reported.
    told: usize,
    /// The index of the last user entry.
    turn: usize,
    /// The index of the last entry in which the assistant said something.
    answered: usize,
    /// The last entry that has calls.
    called: Option<usize>,
    /// The first part of that entry that may be a call without a result.
    open_from: usize,
    /// The first entry whose treatment depends on the next speaker: reasoning that no item may
    /// follow, or a system message that is accepted only before the assistant.
    undecided: Option<usize>,
    /// Whether an item refers to data that the provider stores.
    references: bool,
    /// By the number of a key: how many documents had a name, 1 if an item has an id, and the entry of
    /// a message, plus one.
    noted: Vec<usize>,
    names: NameMap,
    /// Arguments that arrived before their call, with their element, by the number of the call's
    /// id.
    early_args: Vec<Option<(usize, String)>>,
    /// The texts that a turn of ours showed, in order, and the number of the turn's id.
    shown: Vec<Shown>,
    shown_by: Option<usize>,
    /// The batches of calls of turns of ours, by their numbers, and the entries that have them.
    batches: Vec<(usize, usize)>,
    /// Elements that belong to an earlier turn, and an element of that turn.
    links: Vec<(usize, usize)>,
    cache: cached::Cached,
    /// OpenAI Responses: whether the last reasoning has no id, so that what it led to may have none.
    loose: bool,
    /// The ids of the calls that the user was asked about, by the number of the question.
    asked: Vec<String>,
    /// Calls of tools that the provider runs, by the number of their ids.
    hosted: Vec<hosted::Hosted<'a>>,
    /// The first entry that has one without a result when it was read.
    awaits_from: Option<usize>,
    /// The last place where something was said, as it was arranged.
    settled: Option<Place>,
    /// Whether a call carried a thought signature.
    signed: bool,
    /// Whether a message with calls carried `reasoning_content`.
    thinks: bool,
    /// The last message with calls in the shape of another provider.
    foreign: Option<usize>,
    thoughts: Thoughts<'a>,
    /// The shapes seen so far.
    marks: Marks,
}

/// A piece of text that a turn showed.
#[derive(Debug, Clone, Copy)]
struct Shown {
    /// The number of the event.
    seq: u64,
    /// The entry that has the text, and the length of its text before.
    at: usize,
    from: usize,
}

impl<'a> History<'a> {
    /// An empty history.
    #[must_use]
    pub fn new(options: HistoryOptions) -> Self {
        let (rules, options) = adapted(&options);
        Self {
            rules,
            arranger: Arranger::default(),
            options,
            elements: 0,
            entries: Vec::new(),
            size: Size::default(),
            index: Index::default(),
            pairs: Pairs::default(),
            ids: IdMap::default(),
            read: Vec::new(),
            told: 0,
            turn: 0,
            answered: 0,
            called: None,
            open_from: 0,
            undecided: None,
            references: false,
            noted: Vec::new(),
            names: NameMap::default(),
            early_args: Vec::new(),
            shown: Vec::new(),
            shown_by: None,
            batches: Vec::new(),
            links: Vec::new(),
            cache: cached::Cached::default(),
            loose: false,
            asked: Vec::new(),
            hosted: Vec::new(),
            awaits_from: None,
            settled: None,
            signed: false,
            thinks: false,
            foreign: None,
            thoughts: Thoughts::default(),
            marks: Marks::NONE,
        }
    }

    /// Appends the next elements, in any shape.
    ///
    /// # Errors
    /// `message.unknown_shape` with the index of an element whose shape is unknown, and
    /// `message.too_many_parts` with that of the one behind which the history has more than
    /// [`HISTORY_PARTS`](crate::limits::HISTORY_PARTS), or more for its size than
    /// [`HISTORY_PART_BYTES`](crate::limits::HISTORY_PART_BYTES) says. The elements before it are appended; it and
    /// the later ones are not.
    pub fn append(&mut self, elements: impl IntoIterator<Item = Json<'a>>) -> Result<(), Error> {
        for value in elements {
            let index = self.elements;
            let mut size = self.size;
            let pieces = self.pieces(value, index, &mut size)?;
            self.take(pieces, index, size)?;
            self.elements += 1;
        }
        Ok(())
    }

    /// Appends the next elements from the text of a JSON array. A lone surrogate becomes U+FFFD and
    /// is reported as `UNICODE_LONE_SURROGATE`.
    ///
    /// # Errors
    /// Those of [`History::append`], `json.*` for invalid JSON, `options.invalid` for JSON that is
    /// not an array.
    pub fn append_text(&mut self, text: &'a str) -> Result<(), Error> {
        each(text, &mut |value, replaced| self.append_one(value, replaced))
    }

    /// Appends one element. `replaced`: the reader of its text replaced lone surrogates, which is
    /// then reported as `UNICODE_LONE_SURROGATE`.
    ///
    /// # Errors
    /// Those of [`History::append`].
    pub fn append_one(&mut self, value: Json<'a>, replaced: bool) -> Result<(), Error> {
        let before = self.read.len();
        if replaced {
            self.replaced();
        }
        let taken = self.append([value]);
        if taken.is_err() {
            self.read.truncate(before);
        }
        taken
    }

    /// Counts anew from here on: what a turn adds is not limited by what it was given.
    pub(crate) fn counted(&mut self) {
        self.size = Size::default();
    }

    /// The number of appended elements.
    pub(crate) fn elements(&self) -> usize {
        self.elements
    }

    /// Thread strategy: the thread has the first elements.
    pub(crate) fn has(&mut self, elements: usize) {
        self.options.seen = Some(elements);
    }

    /// Appends a plain text.
    pub(in crate::history) fn tell(&mut self, speaker: Speaker, text: String) {
        let mut entry = Entry::new(speaker, self.elements);
        entry.marks = Marks::PLAIN;
        entry.parts.push(Part::Text(Text::new(text.into())));
        self.say(entry);
        self.elements += 1;
    }

    /// Removes the last element, which must be one message without calls.
    pub(crate) fn retract(&mut self) {
        self.entries.pop();
        self.elements = self.elements.saturating_sub(1);
        while self.read.last().is_some_and(|last| last.index >= self.elements) {
            self.read.pop();
        }
        self.arranger.rewind(self.entries.len());
    }

    fn replaced(&mut self) {
        let finding = Finding::new(Code::UnicodeLoneSurrogate, Action::Converted, self.elements);
        self.read.push(finding.done("replaced by U+FFFD"));
    }
}

/// Passes each element of an array to `take`, and whether lone surrogates in it were replaced.
/// After an error from `take`, the rest is only checked for valid JSON.
fn each<'t>(
    text: &'t str,
    take: &mut dyn FnMut(Json<'t>, bool) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut reader = Reader::host(text);
    if reader.peek()? != Kind::Array {
        return Err(Error::option("history", "a list"));
    }
    let mut taken = Ok(());
    reader.array(&mut |reader| {
        let before = reader.replaced();
        let value = reader.value()?;
        if taken.is_ok() {
            taken = take(value, reader.replaced() > before);
        }
        Ok(())
    })?;
    reader.end()?;
    taken
}

#[cfg(test)]
mod tests {
    use super::{History, HistoryOptions, Speaker};
    use crate::Dialect;
    use crate::error::Error;
    use crate::json::Json;

    fn open(given: &str) -> History<'_> {
        let mut history = History::new(HistoryOptions::new(Dialect::OpenAiChat));
        history.append_text(given).unwrap();
        history
    }

    /// What a turn adds to a long history is counted by itself.
    #[test]
    fn what_is_counted_anew_is_not_limited_by_what_was_before() {
        let tiny = |count: usize| {
            let texts = vec![r#""""#; count].join(",");
            Json::parse_str(&format!(r#"{{"role":"user","content":[{texts}]}}"#))
                .unwrap()
                .into_owned()
        };
        let mut history = open("[]");
        history.append([tiny(4000)]).unwrap();
        assert!(history.append([tiny(1000)]).is_err());
        history.counted();
        history.append([tiny(4000)]).unwrap();
    }

    #[test]
    fn what_is_told_is_an_element() {
        let mut history = open("[]");
        history.tell(Speaker::System, "s".to_owned());
        history.tell(Speaker::User, "u".to_owned());
        assert_eq!((history.elements(), history.messages().0.len()), (2, 2));
        let refused = history.append_text("[1]").unwrap_err();
        assert_eq!(refused, Error::MessageShape { index: 2 });
    }

    /// An instruction for one request is as if it had never been there.
    #[test]
    fn what_is_retracted_leaves_nothing() {
        let given = r#"[{"type":"status"},{"role":"user","content":"u"}]"#;
        let mut history = open(given);
        let before = (history.messages(), history.repairs(), history.elements());
        assert_eq!(before.1.len(), 1);
        history.append_text(r#"[{"role":"narrator","content":"once"}]"#).unwrap_err();
        history.append_text(r#"[{"type":"system_message","text":"\ud83d"}]"#).unwrap();
        assert_eq!(history.elements(), 3);
        assert_eq!((history.messages().0.len(), history.repairs().len()), (2, 2));
        history.retract();
        assert_eq!((history.messages(), history.repairs(), history.elements()), before);
    }
}
