//! A history that grows: what was appended is read once, and only its end is arranged again.

use std::borrow::Cow;

use super::arrange::{Arranger, Tail};
use super::dialect;
use super::ids::{IdMap, Reasons};
use super::import::element;
use super::index::Index;
use super::model::{Call, Content, Entry, Marks, Part, Piece, Speaker, Text, ToolResult};
use super::options::{Options, Strategy, ThoughtSignatures};
use super::pair::{Answers, Pairs, Place, by_name};
use super::report::{Finding, Repair, Violation};
use super::rules::{Ids, Results, Rules, System};
use super::thread;
use crate::canon::{Json, Kind, Reader};
use crate::dialect::Dialect;
use crate::error::Error;

/// What is put in the place of a result that never came.
pub(super) const INTERRUPTED: &str = "Tool call was interrupted before it returned a result.";

/// Said of calls that a strategy leaves out.
pub(super) const OMITTED: &str = "TOOL_CALL_OMITTED";

/// A history in the provider's shape that takes more elements as they come.
///
/// ```
/// use turnlock::canon::Json;
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
    /// Whether a call carried a thought signature.
    signed: bool,
    /// The shapes that were seen.
    marks: Marks,
}

/// A history that the provider takes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Normalized<'a> {
    /// The provider's messages.
    pub messages: Vec<Json<'a>>,
    /// The system prompt, where the provider has it beside the messages.
    pub system: Option<Json<'a>>,
    /// Bedrock's tools, where the history needs some and the request declares none.
    pub tool_config: Option<Json<'a>>,
    /// The thread, for that strategy.
    pub thread_id: Option<String>,
    /// Every change that was made, in the order of the elements.
    pub repairs: Vec<Repair>,
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
            self.elements += 1;
            self.take(pieces, index)?;
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
        if replaced {
            self.replaced();
        }
        self.append([value])
    }

    fn replaced(&mut self) {
        let finding = Finding::new("UNICODE_LONE_SURROGATE", "converted", self.elements);
        self.read.push(finding.done("replaced by U+FFFD"));
    }

    fn take(&mut self, pieces: Vec<Piece<'a>>, index: usize) -> Result<(), Error> {
        let foreign = !self.marks.within(self.rules.own);
        for piece in pieces {
            // Whether a call is unanswered or pending depends on what comes behind it.
            self.arranger.rewind(self.entries.len().saturating_sub(1));
            match piece {
                Piece::Say(entry) => self.say(entry),
                Piece::Call { call, marks } => self.call(call, marks),
                Piece::Result { id, result } => self.result(&id, result),
                Piece::ArgsDelta { id, delta } => self.args_delta(&id, &delta),
                Piece::TextDelta { id, delta, speaker } => {
                    self.text_delta(&id, &delta, speaker, index);
                }
                Piece::Replace(elements) => {
                    self.clear();
                    for value in elements {
                        let pieces = element(value, index).ok_or(Error::MessageShape { index })?;
                        self.take(pieces, index)?;
                    }
                }
                Piece::Remove(id) => self.remove(id.as_deref()),
                Piece::Drop { code, id } => {
                    let mut finding = Finding::new(code, "dropped", index);
                    finding.id = id.map(Cow::into_owned);
                    self.read.push(finding);
                }
            }
        }
        if !foreign && !self.marks.within(self.rules.own) {
            // Lists are kept as lists only while all of the history is the dialect's own.
            self.arranger.rewind(0);
        }
        Ok(())
    }

    fn clear(&mut self) {
        let fresh = Self::new(self.options.clone());
        self.arranger.rewind(0);
        let arranger = std::mem::take(&mut self.arranger);
        let read = std::mem::take(&mut self.read);
        *self = Self { elements: self.elements, told: self.told, arranger, read, ..fresh };
    }

    fn remove(&mut self, id: Option<&str>) {
        let Some(id) = id else { return self.clear() };
        let at = self.entries.iter().rposition(|entry| entry.id.as_deref() == Some(id));
        if let Some((at, entry)) = at.and_then(|at| Some((at, self.entries.get_mut(at)?))) {
            entry.gone = true;
            self.arranger.rewind(at);
        }
    }

    fn shape(&mut self, marks: Marks, index: usize) {
        self.marks.add(marks);
        let last = self.read.last().map(|finding| (finding.code, finding.index));
        if !marks.within(self.rules.own) && last != Some(("CONTENT_SHAPE", index)) {
            let finding = Finding::new("CONTENT_SHAPE", "converted", index).spelling();
            self.read.push(finding.more(marks.names()));
        }
    }

    fn say(&mut self, mut entry: Entry<'a>) {
        self.shape(entry.marks, entry.index);
        if let Some(last) = self.entries.last_mut()
            && self.rules.own.meets(Marks::RESPONSES)
            && last.marks.meets(Marks::RESPONSES)
            && entry.speaker == Speaker::Assistant
            && !entry.listed
            && entry.extra.is_empty()
            && last.calls().next().is_some()
            && last.calls().all(|call| call.result.is_none())
            && entry.calls().next().is_none()
        {
            // An item between calls and their outputs.
            last.parts.append(&mut entry.parts);
            return;
        }
        let thinks = |entry: &Entry<'_>| {
            entry.marks.meets(Marks::RESPONSES)
                && !entry.parts.is_empty()
                && entry.parts.iter().all(|part| matches!(part, Part::Reasoning(_)))
        };
        if let Some(last) = self.entries.last_mut()
            && thinks(last)
            && thinks(&entry)
        {
            // Items of reasoning lead to the same item.
            last.parts.append(&mut entry.parts);
            return;
        }
        let at = self.entries.len();
        let index = entry.index;
        let mut early = Vec::new();
        let mut called = false;
        for (part, one) in entry.parts.iter_mut().enumerate() {
            let Part::Call(call) = one else { continue };
            called = true;
            let id = self.name_call(call);
            if call.result.is_some() {
                self.pairs.settled(id, (at, part));
            } else if let Some(result) = self.pairs.call(id, (at, part)) {
                early.push((part, result));
            }
        }
        if called {
            self.called = Some(at);
        }
        let leads = matches!(entry.speaker, Speaker::System | Speaker::Developer);
        let leading = self
            .entries
            .last()
            .is_none_or(|last| matches!(last.speaker, Speaker::System | Speaker::Developer));
        if leads && leading && self.rules.system == System::Apart {
            // It is put beside the messages; one that does not lead is reported by what is done.
            let finding = Finding::new("SYSTEM_POSITION", "moved", index);
            self.read.push(finding.spelling());
        }
        if entry.speaker == Speaker::User {
            // Gemini wants signatures of the current turn only.
            if self.signed {
                self.arranger.rewind(self.turn);
            }
            self.turn = at;
        }
        self.entries.push(entry);
        for (part, result) in early {
            self.early(result, (at, part), index);
        }
    }

    /// A call that is an element of its own joins the calls before it.
    fn call(&mut self, mut call: Call<'a>, marks: Marks) {
        let at = self.entries.len();
        let joins = self.entries.last().is_some_and(|last| {
            last.speaker == Speaker::Assistant
                && (last.open
                    || last.marks.meets(Marks::RESPONSES) && marks.meets(Marks::RESPONSES))
                && last.calls().all(|call| call.result.is_none())
        });
        if !joins {
            let mut entry = Entry::new(Speaker::Assistant, call.index);
            entry.marks = marks;
            entry.open = true;
            entry.parts.push(Part::call(call));
            return self.say(entry);
        }
        self.shape(marks, call.index);
        let id = self.name_call(&mut call);
        let index = call.index;
        let Some(last) = self.entries.last_mut() else { return };
        let place = (at - 1, last.parts.len());
        last.marks.add(marks);
        last.parts.push(Part::call(call));
        self.called = Some(place.0);
        if let Some(result) = self.pairs.call(id, place) {
            self.early(result, place, index);
        }
    }

    fn early(&mut self, result: ToolResult<'a>, place: Place, index: usize) {
        let finding = Finding::new("TOOL_RESULT_BEFORE_CALL", "moved", result.index);
        let id = self.call_at(place).map(|call| call.id.to_string()).unwrap_or_default();
        self.read.push(finding.call(&id).done(format!("moved behind the call of element {index}")));
        if let Some(call) = self.call_at(place) {
            call.result = Some(result);
        }
    }

    /// Gives a call its id; the number of what it is found by: its own id, or its tool.
    fn name_call(&mut self, call: &mut Call<'a>) -> usize {
        let number = self.index.number(&key(call));
        let (wire_id, reasons) = self.ids.assign(&call.id, number, self.rules.ids, &mut self.index);
        let Reasons { missing, duplicate, form } = reasons;
        let length = matches!(self.rules.ids, Ids::Length(_));
        let none = self.rules.ids == Ids::None;
        let within = duplicate && self.twice(call, number);
        for (is, code) in [
            (missing && !self.rules.ids_optional, "TOOL_CALL_ID_MISSING"),
            (duplicate, "TOOL_CALL_ID_DUPLICATE"),
            (form && length, "TOOL_CALL_ID_LENGTH"),
            (form && !length, "TOOL_CALL_ID_FORMAT"),
        ] {
            if is {
                let finding = Finding::new(code, "renamed", call.index).call(&call.id);
                let finding = if none { finding } else { finding.done(format!("now {wire_id}")) };
                // Providers take an id again in a later message; within one none does.
                let taken = code == "TOOL_CALL_ID_DUPLICATE" && !within;
                self.read.push(finding.risk_if(none || taken));
            }
        }
        self.signed |= call.thought_signature.is_some();
        call.wire_id = wire_id;
        number
    }

    /// Whether the id of a call is that of another one of the same element.
    fn twice(&self, call: &Call<'a>, id: usize) -> bool {
        match self.pairs.last_of(id) {
            Some((entry, _)) if entry == self.entries.len() => true,
            Some((entry, _)) => self.entries.get(entry).is_some_and(|e| e.index == call.index),
            None => false,
        }
    }

    fn result(&mut self, id: &str, result: ToolResult<'a>) {
        self.shape(result.marks, result.index);
        if result.behind && self.rules.results == Results::WithUser {
            let finding = Finding::new("TOOL_RESULT_TEXT_FIRST", "moved", result.index);
            self.read.push(finding.call(id).spelling());
        }
        let named;
        let key = if id.is_empty() {
            named = by_name(&result.name);
            &named
        } else {
            id
        };
        let number = self.index.number(key);
        let mut answers = self.pairs.result(number);
        if !matches!(answers, Answers::Call(_))
            && let Some(place) = self.by_place(id, &result.name)
        {
            answers = Answers::Call(place);
        }
        match answers {
            Answers::Call(place) => self.answer(place, result),
            Answers::Again(place) => self.again(place, result),
            Answers::Nothing => self.pairs.wait(number, key, result),
        }
    }

    /// A result without an id belongs to a call of its tool in the last message that has calls,
    /// or else to the first there that has none.
    fn by_place(&mut self, id: &str, name: &str) -> Option<Place> {
        let at = self.called?;
        let open = |call: &&Call<'a>| call.result.is_none();
        let entry = self.entries.get(at)?;
        let found = if id.is_empty() {
            let same = entry.calls().filter(open).find(|call| call.name == name);
            same.or_else(|| entry.calls().find(open))
        } else {
            // The call has no id, and the result that it was given has one.
            entry.calls().filter(open).find(|call| call.id.is_empty() && call.name == name)
        }?;
        let id = self.index.find(&key(found));
        let same = |part: &Part<'a>| matches!(part, Part::Call(call) if std::ptr::eq(call.as_ref(), found));
        let place = (at, entry.parts.iter().position(same)?);
        self.pairs.settled(id?, place);
        Some(place)
    }

    fn answer(&mut self, place: Place, result: ToolResult<'a>) {
        let last = self.entries.len().saturating_sub(1);
        let between = place.0 != last;
        let after = self.entries.get(place.0).is_some_and(|entry| {
            let later = entry.parts.iter().skip(place.1 + 1);
            later.into_iter().any(|part| matches!(part, Part::Call(call) if call.result.is_some()))
        });
        let rules = self.rules;
        for (is, code, free) in [
            (between, "TOOL_RESULT_NOT_ADJACENT", rules.own.meets(Marks::RESPONSES)),
            (after, "TOOL_RESULT_ORDER", rules.ids != Ids::None && !rules.bridge),
        ] {
            if is {
                let id = self.call_at(place).map(|call| call.id.to_string()).unwrap_or_default();
                let finding = Finding::new(code, "moved", result.index).call(&id);
                self.read.push(finding.risk_if(free));
            }
        }
        if let Some(call) = self.call_at(place) {
            call.result = Some(result);
        }
        self.arranger.rewind(place.0);
    }

    /// The last result wins, unless it only says that there was none.
    fn again(&mut self, place: Place, result: ToolResult<'a>) {
        let made_up = |result: &ToolResult<'_>| matches!(&result.content, Content::Text(text) if text.as_str() == Some(INTERRUPTED));
        let mut dropped = result.index;
        let mut id = String::new();
        if let Some(call) = self.call_at(place) {
            id = call.id.to_string();
            match &mut call.result {
                Some(_) if made_up(&result) => {}
                Some(kept) => dropped = std::mem::replace(kept, result).index,
                kept => *kept = Some(result),
            }
        }
        let finding = Finding::new("TOOL_RESULT_DUPLICATE", "dropped", dropped);
        self.read.push(finding.call(&id));
        self.arranger.rewind(place.0);
    }

    fn call_at(&mut self, (entry, part): Place) -> Option<&mut Call<'a>> {
        match self.entries.get_mut(entry)?.parts.get_mut(part)? {
            Part::Call(call) => Some(call),
            _ => None,
        }
    }

    fn args_delta(&mut self, id: &str, delta: &str) {
        use super::model::Args;
        let place = self.index.find(id).and_then(|id| self.pairs.last_of(id));
        let Some(place) = place else { return };
        if let Some(call) = self.call_at(place) {
            match &mut call.args {
                Args::Text(Json::String(text)) => text.to_mut().push_str(delta),
                args => *args = Args::Text(Json::string(delta.to_owned())),
            }
            self.arranger.rewind(place.0);
        }
    }

    fn text_delta(&mut self, id: &str, delta: &str, speaker: Speaker, index: usize) {
        let at = self.entries.iter().rposition(|entry| entry.id.as_deref() == Some(id));
        let known = at.and_then(|at| Some((at, self.entries.get_mut(at)?)));
        if let Some((at, entry)) = known
            && let Some(Part::Text(Text { text: Json::String(text), .. })) = entry.parts.first_mut()
        {
            text.to_mut().push_str(delta);
            return self.arranger.rewind(at);
        }
        let mut entry = Entry::new(speaker, index);
        entry.marks = Marks::EVENT;
        entry.id = Some(Cow::Owned(id.to_owned()));
        entry.open = speaker == Speaker::Assistant;
        entry.parts.push(Part::Text(Text::new(Json::string(delta.to_owned()))));
        self.say(entry);
    }

    /// The history as the provider takes it, so far.
    #[must_use]
    pub fn normalized(&mut self) -> Normalized<'a> {
        let tail = self.arrange();
        let messages = self.arranger.written.clone();
        self.with(messages, self.found(), tail)
    }

    /// The repairs so far.
    pub fn repairs(&mut self) -> Vec<Repair> {
        let tail = self.arrange();
        let found = self.sorted(self.found(), tail.findings);
        found.into_iter().filter(Finding::is_repair).map(Finding::repair).collect()
    }

    /// As [`History::normalized`], of a history that does not grow any more.
    #[must_use]
    pub fn into_normalized(mut self) -> Normalized<'a> {
        let tail = self.arrange();
        let messages = std::mem::take(&mut self.arranger.written);
        let mut found = std::mem::take(&mut self.read);
        found.append(&mut self.arranger.findings);
        self.with(messages, found, tail)
    }

    fn with(
        &self,
        mut messages: Vec<Json<'a>>,
        found: Vec<Finding>,
        tail: Tail<'a>,
    ) -> Normalized<'a> {
        messages.extend(tail.messages);
        let repairs = self.sorted(found, tail.findings).into_iter().filter(Finding::is_repair);
        Normalized {
            messages,
            system: self.system(),
            tool_config: self.tool_config(),
            thread_id: self.thread_id(),
            repairs: repairs.map(Finding::repair).collect(),
        }
    }

    /// As [`History::normalized`], with only what has changed since it was last asked for.
    pub fn update(&mut self) -> Update<'a> {
        let tail = self.arrange();
        let keep = self.arranger.keep();
        let mut messages: Vec<Json<'a>> =
            self.arranger.written.iter().skip(keep).cloned().collect();
        messages.extend(tail.messages);
        let repairs = |all: &[Finding]| -> Vec<Repair> {
            all.iter().filter(|one| one.is_repair()).cloned().map(Finding::repair).collect()
        };
        let mut read = repairs(self.read.get(self.told..).unwrap_or_default());
        if self.options.strategy != Strategy::Reconstruct {
            read.retain(|repair| !repair.code.starts_with("TOOL_"));
        }
        self.told = self.read.len();
        let mut end = repairs(&self.at_end());
        end.extend(repairs(&tail.findings));
        let (system, tool_config) = (self.system(), self.tool_config());
        let (kept, arranged) = self.arranger.found();
        Update {
            keep,
            messages,
            system,
            tool_config,
            read,
            keep_arranged: kept.iter().filter(|one| one.is_repair()).count(),
            arranged: repairs(arranged),
            end,
        }
    }

    /// What the provider would refuse of these messages as they are.
    #[must_use]
    pub fn violations(&mut self) -> Vec<Violation> {
        let tail = self.arrange();
        let found = self.sorted(self.found(), tail.findings);
        found.into_iter().filter(Finding::is_violation).map(Finding::violation).collect()
    }

    fn arrange(&mut self) -> Tail<'a> {
        let signatures = match self.options.thought_signatures {
            ThoughtSignatures::Auto => self.signed,
            ThoughtSignatures::Always => true,
            ThoughtSignatures::Never => false,
        };
        let from = thread::from(&self.options, &self.entries);
        if self.options.strategy == Strategy::Thread {
            self.arranger.rewind(0);
        }
        let context = super::arrange::Context {
            rules: self.rules,
            options: &self.options,
            own: self.marks.within(self.rules.own),
            signatures,
            turn: self.turn,
            from,
            end: self.entries.last().map_or(0, |entry| entry.index),
        };
        self.arranger.arrange(&self.entries, &context);
        self.arranger.tail(&context)
    }

    fn found(&self) -> Vec<Finding> {
        [self.read.as_slice(), &self.arranger.findings].concat()
    }

    /// All that was found, in the order of the elements.
    fn sorted(&self, mut found: Vec<Finding>, tail: Vec<Finding>) -> Vec<Finding> {
        if self.options.strategy != Strategy::Reconstruct {
            // Calls and results are not sent, so nothing is said about them.
            found.retain(|one| !one.code.starts_with("TOOL_") || one.code == OMITTED);
        }
        found.extend(self.at_end());
        found.extend(tail);
        found.sort_by_key(|finding| finding.index);
        found
    }

    /// What is wrong with the history as a whole, so far.
    fn at_end(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        if self.options.strategy == Strategy::Reconstruct {
            all.extend(self.pairs.orphans().map(|(id, result)| {
                let finding = Finding::new("TOOL_RESULT_ORPHAN", "dropped", result.index);
                if id.starts_with('\0') { finding } else { finding.call(id) }
            }));
        }
        if self.tool_config().is_some() {
            let index =
                self.called.and_then(|at| self.entries.get(at)).map_or(0, |entry| entry.index);
            let finding = Finding::new("TOOLS_REQUIRED_BY_HISTORY", "synthesized", index);
            all.push(finding.done("added stub declarations"));
        }
        all
    }

    fn system(&self) -> Option<Json<'a>> {
        let texts = &self.arranger.system;
        (!texts.is_empty()).then(|| (self.rules.write_system)(texts.clone()))
    }

    fn tool_config(&self) -> Option<Json<'a>> {
        (self.options.dialect == Dialect::Bedrock).then(|| self.declared()).flatten()
    }

    /// Bedrock refuses tool blocks without a declaration of tools.
    fn declared(&self) -> Option<Json<'a>> {
        if !self.options.tools.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        let calls = self.entries.iter().flat_map(Entry::calls);
        dialect::stub_tools(calls.map(|call| call.name.as_ref()), self.rules)
    }

    fn thread_id(&self) -> Option<String> {
        let conversation = self.options.conversation_id.as_deref()?;
        (self.options.strategy == Strategy::Thread)
            .then(|| super::thread_id(conversation, None).unwrap_or_default())
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

/// What has changed since the last one.
#[derive(Debug, Clone, PartialEq)]
pub struct Update<'a> {
    /// How many of the messages stay.
    pub keep: usize,
    /// The messages behind them.
    pub messages: Vec<Json<'a>>,
    /// As in [`Normalized`].
    pub system: Option<Json<'a>>,
    /// As in [`Normalized`].
    pub tool_config: Option<Json<'a>>,
    /// New repairs of what was read.
    pub read: Vec<Repair>,
    /// How many repairs of what was arranged stay, and those behind them.
    pub keep_arranged: usize,
    /// The repairs behind them.
    pub arranged: Vec<Repair>,
    /// Repairs at the end, which the next element may undo.
    pub end: Vec<Repair>,
}

/// By what a call is found: its id, or its tool where it has none.
fn key<'k>(call: &'k Call<'_>) -> Cow<'k, str> {
    if call.id.is_empty() { Cow::Owned(by_name(&call.name)) } else { Cow::Borrowed(&call.id) }
}
