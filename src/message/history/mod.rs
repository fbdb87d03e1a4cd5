//! A history that grows: what was appended is read once, and only its end is arranged again.

mod append;
mod calls;
mod ingest;
mod output;
mod results;

pub use output::{Normalized, Update};

use super::arrange::Arranger;
use super::dialect;
use super::ids::{IdMap, NameMap};
use super::import::element;
use super::index::Index;
use super::model::{Entry, Marks};
use super::options::Options;
use super::pair::Pairs;
use super::report::Finding;
use super::rules::Rules;
use crate::error::Error;
use crate::json::{Json, Kind, Reader};

/// What is put in the place of a result that never came.
pub(in crate::message) const INTERRUPTED: &str =
    "Tool call was interrupted before it returned a result.";

/// Said of calls that a strategy leaves out.
pub(in crate::message) const OMITTED: &str = "TOOL_CALL_OMITTED";

/// A history in the provider's shape that takes more elements as they come.
///
/// ```
/// use turnlock::json::Json;
/// use turnlock::message::{History, Options};
/// use turnlock::Dialect;
///
/// let mut history = History::new(Options::new(Dialect::OpenAiChat));
/// history.append(vec![Json::parse_str(r#"{"role":"user","content":"hi"}"#)?])?;
/// assert_eq!(history.normalized().messages.len(), 1);
/// # Ok::<(), turnlock::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct History<'a> {
    options: Options,
    rules: &'static Rules,
    /// Elements that were appended.
    elements: usize,
    entries: Vec<Entry<'a>>,
    /// Ids as they were given, and as they are now.
    index: Index,
    pairs: Pairs<'a>,
    ids: IdMap,
    /// What was found while elements were read, in their order.
    read: Vec<Finding>,
    arranger: Arranger<'a>,
    /// How much of it an update has told.
    told: usize,
    /// Where the user spoke last.
    turn: usize,
    /// The entry that made calls last.
    called: Option<usize>,
    /// Where its first call without a result may be.
    open_from: usize,
    /// The first entry whose place or worth depends on who speaks next: reasoning that may have led
    /// to nothing, a system message that may only stand before the assistant.
    undecided: Option<usize>,
    /// Whether an item refers to what the provider keeps.
    references: bool,
    /// By the number of an item's id, whether an item has it.
    items: Vec<bool>,
    names: NameMap,
    /// By the number of a call's id, arguments that came before it, and with which element.
    early_args: Vec<Option<(usize, String)>>,
    /// By the number of a message's id, its entry.
    named: Vec<Option<usize>>,
    /// Whether a call carried a thought signature.
    signed: bool,
    /// The shapes that were seen.
    marks: Marks,
}

impl<'a> History<'a> {
    /// An empty history.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            rules: dialect::rules(options.dialect),
            arranger: Arranger::default(),
            options,
            elements: 0,
            entries: Vec::new(),
            index: Index::default(),
            pairs: Pairs::default(),
            ids: IdMap::default(),
            read: Vec::new(),
            told: 0,
            turn: 0,
            called: None,
            open_from: 0,
            undecided: None,
            references: false,
            items: Vec::new(),
            names: NameMap::default(),
            early_args: Vec::new(),
            named: Vec::new(),
            signed: false,
            marks: Marks::NONE,
        }
    }

    /// Takes the next elements, in any shape.
    ///
    /// # Errors
    /// `message.unknown_shape` with the index of an element that has none. The elements before
    /// it are taken, it and those behind it are not.
    pub fn append(&mut self, elements: impl IntoIterator<Item = Json<'a>>) -> Result<(), Error> {
        for value in elements {
            let index = self.elements;
            let pieces = element(value, index).ok_or(Error::MessageShape { index })?;
            self.take(pieces, index)?;
            self.elements += 1;
        }
        Ok(())
    }

    /// Takes the next elements from the text of a JSON array. Half of a surrogate pair becomes
    /// U+FFFD, and is reported as `UNICODE_LONE_SURROGATE`.
    ///
    /// # Errors
    /// Those of [`History::append`], `json.*` for a text that is no JSON, `options.invalid` for
    /// JSON that is no array.
    pub fn append_text(&mut self, text: &'a str) -> Result<(), Error> {
        each(text, &mut |value, replaced| self.append_one(value, replaced))
    }

    /// One element, and whether half characters of it were replaced.
    pub(crate) fn append_one(&mut self, value: Json<'a>, replaced: bool) -> Result<(), Error> {
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

    /// Takes back the last element, which was one message and no call.
    pub(crate) fn retract(&mut self) {
        self.entries.pop();
        self.elements = self.elements.saturating_sub(1);
        while self.read.last().is_some_and(|last| last.index >= self.elements) {
            self.read.pop();
        }
        self.arranger.rewind(self.entries.len());
    }

    fn replaced(&mut self) {
        let finding = Finding::new("UNICODE_LONE_SURROGATE", "converted", self.elements);
        self.read.push(finding.done("replaced by U+FFFD"));
    }
}

/// Reads the elements of an array, each with whether half characters of it were replaced. The
/// first error ends it.
fn each<'t>(
    text: &'t str,
    take: &mut dyn FnMut(Json<'t>, bool) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut reader = Reader::lossy(text);
    if reader.peek()? != Kind::Array {
        return Err(Error::Options { option: "history".to_owned(), expected: "a list" });
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
