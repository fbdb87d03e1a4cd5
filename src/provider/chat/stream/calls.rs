//! The calls of a response, and the call that each fragment belongs to.
//!
//! Providers differ in which of index, id and name a fragment has. A new id or a name is necessary to
//! start a call, but not sufficient: some repeat the name, or make a new id for each fragment. A
//! fragment with neither belongs to the call of its index, otherwise to the call that started last.
//!
//! The wire format has no mark that ends a call. A call ends when the response ends normally, and
//! only if its arguments cannot be those of another call.

use super::chunk::Fragment;
use super::shape::Shape;
use crate::json::Json;
use crate::limits;
use crate::stream::{Delta, Sum, malformed};

/// The calls so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    certainty: Certainty,
    /// The response was cut: no call ends any more.
    cut: bool,
    /// A finish reason was received.
    finished: bool,
    /// What may be arguments stood in a place that is not read: no call without arguments ends.
    unread: bool,
}

/// How certain it is that each fragment was added to its call. The later value prevails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Certainty {
    #[default]
    Certain,
    /// A call without arguments may lack them: another call has its id.
    Incomplete,
    /// A fragment may belong to a call that it was not added to. If it does, the arguments of one of
    /// the calls are no whole object.
    Doubtful,
    /// A fragment belongs to no call.
    Lost,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Call {
    /// The provider's index: some count from 1, leave gaps, or send 0 for every call.
    index: Option<u64>,
    id: Option<String>,
    name: String,
    /// Arguments that wait for the start of their call.
    waiting: String,
    arguments: Shape,
    /// The checksum of the arguments.
    sum: Sum,
    /// The index in the deltas, once the call has started there.
    started: Option<u32>,
    ready: bool,
    /// It has no arguments at the finish reason.
    waits: bool,
    ended: bool,
    /// Its head repeats that of another call, and it starts only if it has arguments.
    repeats: bool,
    /// Its arguments contradict each other, so it never ends.
    contradictory: bool,
    /// What may be its arguments stood in a place that is not read.
    unread: bool,
    /// Members that go back with the call.
    members: Vec<(&'static str, Json<'static>)>,
}

/// What a fragment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A piece of the call in this place.
    Of(usize),
    /// The beginning of a call.
    New,
    /// The beginning of a call, or a repeated head.
    Repeated,
    /// Nothing: what it says is known, or belongs to no call.
    Nothing,
}

impl Calls {
    /// Whether the response has calls.
    pub(super) fn any(&self) -> bool {
        self.calls.iter().any(|call| call.started.is_some())
    }

    /// Whether a call has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.calls.iter().any(|call| call.ended)
    }

    /// Ends no call from now on, because a fragment could not be read: it may be of any of them.
    pub(super) fn lose(&mut self) {
        self.doubt(Certainty::Lost);
    }

    /// Ends no call without arguments, because they may stand in a place that is not read.
    pub(super) fn doubt_empty(&mut self) {
        self.unread = true;
    }

    /// Adds a fragment.
    pub(super) fn take(&mut self, fragment: Fragment<'_>, out: &mut Vec<Delta>) {
        let at = match self.part(&fragment) {
            Part::Of(at) => at,
            Part::Nothing => {
                self.unread |= fragment.unread;
                return;
            }
            part @ (Part::New | Part::Repeated) => {
                if self.calls.len() >= limits::STREAM_CALLS {
                    out.push(Delta::Error(malformed("the response has too many calls", "")));
                    return;
                }
                let (index, repeats) = (fragment.index, part == Part::Repeated);
                self.calls.push(Call { index, repeats, ..Call::default() });
                self.calls.len() - 1
            }
        };
        let finished = self.finished;
        let Some(call) = self.calls.get_mut(at) else { return };
        call.unread |= fragment.unread;
        // It waits for the end of the response, because a finish reason came before its arguments.
        call.contradictory |= call.waits && finished && !fragment.is_blank();
        if call.ended {
            if !fragment.is_blank() && !fragment.repeats(call) {
                let said = "arguments of a call came after its end";
                out.push(Delta::Error(malformed(said, fragment.text())));
            }
            return;
        }
        // What does not go on with this call may belong to one that is not whole yet.
        let begins = call.arguments == Shape::Blank && fragment.begins();
        let continues = begins || call.is_open() && !call.contradictory;
        if !fragment.is_blank() && !continues {
            call.contradictory = true;
            let open = self.calls.iter_mut().filter(|call| !call.is_whole());
            open.for_each(|call| call.contradictory = true);
        } else if !fragment.text().is_empty() && !continues {
            let open = self.calls.iter_mut().filter(|call| call.arguments.is_in_string());
            open.for_each(|call| call.contradictory = true);
        }
        let Some(call) = self.calls.get_mut(at) else { return };
        call.add(fragment);
        if let Some(index) = call.started
            && !call.members.is_empty()
        {
            out.push(super::members(Some(index), std::mem::take(&mut call.members)));
        }
        if call.repeats && call.arguments != Shape::Blank {
            self.certainty = self.certainty.max(Certainty::Incomplete);
        }
        let waits = call.name.is_empty() || call.repeats && call.arguments == Shape::Blank;
        if !waits {
            self.start(at, out);
        }
    }

    /// Ends the calls that have arguments, because the model finished normally. Some providers send
    /// the reason with the beginning of a call: one without arguments waits for the end of the
    /// response.
    pub(super) fn finish(&mut self, out: &mut Vec<Delta>) {
        self.finished = true;
        self.end_calls(false, out);
    }

    /// Ends the calls, because the response has ended normally.
    pub(super) fn end(&mut self, out: &mut Vec<Delta>) {
        self.end_calls(true, out);
    }

    fn end_calls(&mut self, is_last: bool, out: &mut Vec<Delta>) {
        self.show(out);
        if self.cut {
            return;
        }
        let all_whole = self.calls.iter().all(|call| call.is_whole() || call.started.is_none());
        // Where the heads of the calls differ in form, some of them lost a part on the way.
        let form = |call: &Call| (call.id.is_some(), call.index.is_some());
        let first = self.calls.first().map(form);
        let same_form = self.calls.iter().all(|call| Some(form(call)) == first);
        let (certainty, unread) = (self.certainty, self.unread);
        for call in self.calls.iter_mut().filter(|call| !call.ended) {
            let Some(index) = call.started else { continue };
            let is_empty = call.is_empty();
            call.contradictory |= is_empty && (call.unread || unread);
            call.waits = is_empty && !is_last;
            call.ended = !call.waits;
            let is_certain = match certainty {
                Certainty::Certain => same_form || call.arguments != Shape::Blank,
                Certainty::Incomplete => call.arguments != Shape::Blank,
                Certainty::Doubtful => all_whole,
                Certainty::Lost => false,
            };
            if !is_certain || call.contradictory {
                continue;
            }
            if call.ended {
                out.push(Delta::ToolCallEnd { index });
            } else if !std::mem::replace(&mut call.ready, true) {
                out.push(Delta::ToolCallReady { index });
            }
        }
    }

    /// Ends no call from now on, because the response was cut or has failed.
    pub(super) fn cut(&mut self, out: &mut Vec<Delta>) {
        self.show(out);
        self.cut = true;
    }

    /// Starts the calls that wait for a name or arguments.
    pub(super) fn show(&mut self, out: &mut Vec<Delta>) {
        for at in 0..self.calls.len() {
            let Some(call) = self.calls.get(at).filter(|call| call.started.is_none()) else {
                continue;
            };
            if call.arguments == Shape::Blank && (call.repeats || call.name.is_empty()) {
                continue;
            }
            if call.name.is_empty() {
                self.certainty = Certainty::Lost;
            }
            self.start(at, out);
        }
    }

    /// Passes on what is known of a call.
    fn start(&mut self, at: usize, out: &mut Vec<Delta>) {
        let Some(mut index) = self.calls.get(at).map(|call| call.started) else { return };
        if index.is_none() {
            self.ready(out);
            let started = self.calls.iter().filter(|call| call.started.is_some()).count();
            index = u32::try_from(started).ok();
        }
        let (Some(call), Some(index)) = (self.calls.get_mut(at), index) else { return };
        if call.started.replace(index).is_none() {
            let id = call.id.clone().unwrap_or_else(|| format!("call_{index}"));
            out.push(Delta::ToolCallStart { index, id, name: call.name.clone() });
            if !call.members.is_empty() {
                out.push(super::members(Some(index), std::mem::take(&mut call.members)));
            }
        }
        if !call.waiting.is_empty() {
            let text = std::mem::take(&mut call.waiting);
            out.push(Delta::ToolCallArguments { index, text });
        }
    }

    /// Marks the calls whose arguments are a whole object, because another call starts.
    fn ready(&mut self, out: &mut Vec<Delta>) {
        if self.certainty > Certainty::Incomplete {
            return;
        }
        for call in self.calls.iter_mut().filter(|call| !call.ready && !call.ended) {
            let whole = call.is_whole() && !call.contradictory;
            if let Some(index) = call.started.filter(|_| whole) {
                call.ready = true;
                out.push(Delta::ToolCallReady { index });
            }
        }
    }
}

/// Attribution.
impl Calls {
    fn part(&mut self, fragment: &Fragment<'_>) -> Part {
        let part = self.part_by_head(fragment);
        let Part::Of(at) = part else { return part };
        // An id alone may have begun no call, but stand in each fragment.
        let nameless = |call: &&Call| call.name.is_empty() && fragment.name.is_none();
        let Some(call) = self.calls.get(at).filter(nameless) else { return part };
        let same_index = |before: &Call| !before.name.is_empty() && before.index == call.index;
        let before = self.calls.iter().take(at).rposition(same_index);
        let is_whole = |at: usize| self.calls.get(at).is_none_or(Call::is_whole);
        let before = before.filter(|before| !fragment.is_blank() && !is_whole(*before));
        let Some(before) = before else { return part };
        self.doubt(Certainty::Doubtful);
        Part::Of(before)
    }

    fn part_by_head(&mut self, fragment: &Fragment<'_>) -> Part {
        let last = |test: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(test);
        let at_index = match fragment.index {
            Some(index) => last(&|call| call.index == Some(index)),
            None => self.calls.len().checked_sub(1),
        };
        let with_id = match &fragment.id {
            // Several calls may have one id.
            Some(id) => {
                let has_id = |call: &Call| call.id.as_deref() == Some(id);
                let is_same = |call: &Call| has_id(call) && call.index == fragment.index;
                last(&is_same).or_else(|| last(&has_id))
            }
            None => None,
        };
        match (with_id, &fragment.id, &fragment.name) {
            (Some(at), _, _) => {
                match at_index.filter(|other| self.contradicts(fragment, at, *other)) {
                    Some(other) => {
                        [at, other].into_iter().for_each(|at| self.contradict(at));
                        Part::Nothing
                    }
                    None => self.known_id(at, fragment),
                }
            }
            (None, Some(_), _) => self.new_id(at_index, fragment),
            (None, None, Some(_)) => self.name_only(at_index, fragment),
            (None, None, None) => self.neither(at_index, fragment),
        }
    }

    fn neither(&mut self, at_index: Option<usize>, fragment: &Fragment<'_>) -> Part {
        let at = at_index.or_else(|| self.calls.len().checked_sub(1));
        if !fragment.is_blank() && at_index.is_none() {
            self.doubt(if at.is_none() { Certainty::Lost } else { Certainty::Doubtful });
        }
        if let Some(at) = at.filter(|_| fragment.begins()) {
            self.share(at, fragment);
        }
        at.map_or(Part::Nothing, Part::Of)
    }

    /// Notes that arguments begin under an index that several calls without arguments have: they may
    /// be those of any of them, so that none of them ends.
    fn share(&mut self, at: usize, fragment: &Fragment<'_>) {
        let of = self.calls.get(at).filter(|call| call.arguments == Shape::Blank);
        let Some(index) = of.map(|call| call.index) else { return };
        let is_shared = |call: &&mut Call| {
            call.index == index && call.is_empty() && !fragment.renames(call) && !call.ended
        };
        let mut is_earlier = false;
        for call in self.calls.iter_mut().take(at).filter(is_shared) {
            call.contradictory = true;
            is_earlier = true;
        }
        if is_earlier {
            self.contradict(at);
        }
    }

    /// `at`: the last call with the id of the fragment.
    fn known_id(&mut self, at: usize, fragment: &Fragment<'_>) -> Part {
        let Some(call) = self.calls.get(at) else { return Part::Nothing };
        let has_index = fragment.index.is_some() && call.index.is_some();
        let elsewhere = has_index && fragment.index != call.index;
        let (whole, begins) = (call.is_whole(), fragment.begins());
        if fragment.renames(call) {
            // It is not known which of the two tools the model meant.
            if has_index && !elsewhere && !call.ended {
                self.contradict(at);
                return Part::Nothing;
            }
            if !elsewhere && !whole {
                self.doubt(Certainty::Doubtful);
            }
            return Part::New;
        }
        if fragment.repeats(call) {
            return Part::Nothing;
        }
        match fragment.name.is_some() {
            // Two calls with one id.
            true if whole && begins && (elsewhere || fragment.index.is_none()) => {
                self.expect_whole(at);
                Part::New
            }
            true if elsewhere && fragment.is_blank() => Part::Repeated,
            true if elsewhere && !whole => {
                // Perhaps they are two.
                let restarts = begins && self.calls.get(at).is_some_and(Call::is_open);
                self.doubt(if restarts { Certainty::Lost } else { Certainty::Doubtful });
                Part::Of(at)
            }
            // No call has the index: the id is that of the call.
            false if elsewhere && !fragment.is_blank() => {
                self.doubt(Certainty::Doubtful);
                Part::Of(at)
            }
            _ => Part::Of(at),
        }
    }

    /// `at`: the call with the index of the fragment; without an index, the last one.
    fn new_id(&mut self, at: Option<usize>, fragment: &Fragment<'_>) -> Part {
        let Some((at, call)) = at.and_then(|at| Some((at, self.calls.get(at)?))) else {
            return Part::New;
        };
        // An id that arrives late.
        if call.id.is_none() && fragment.continues(call) {
            return Part::Of(at);
        }
        let same_name = fragment.name.as_ref().is_some_and(|name| *name == call.name);
        let is_open = call.is_open();
        match fragment.name.is_some() {
            true => {
                // Or each fragment has an id of its own.
                if same_name && (is_open || fragment.index.is_some() && !call.is_whole()) {
                    self.doubt(Certainty::Doubtful);
                }
                Part::New
            }
            false if call.name.is_empty() => Part::Of(at),
            // Its name follows.
            false if fragment.is_blank() && !is_open || !fragment.continues(call) => Part::New,
            false => {
                self.doubt(Certainty::Doubtful);
                Part::Of(at)
            }
        }
    }

    /// `at`: the call with the index of the fragment; without an index, the last one.
    fn name_only(&mut self, at: Option<usize>, fragment: &Fragment<'_>) -> Part {
        if let Some((at, call)) = at.and_then(|at| Some((at, self.calls.get(at)?))) {
            if fragment.renames(call) {
                if call.is_open() {
                    self.doubt(Certainty::Doubtful);
                }
            } else if call.id.is_some() && fragment.index.is_some() {
                // The name is repeated in every fragment.
                if fragment.repeats(call) {
                    return Part::Nothing;
                }
                if fragment.begins() {
                    self.share(at, fragment);
                }
                return Part::Of(at);
            } else if fragment.continues(call) {
                return Part::Of(at);
            } else if !fragment.repeats(call) {
                self.expect_whole(at);
            }
        } else {
            // Or the index is another one for each fragment.
            let before = self.calls.last().filter(|call| !fragment.renames(call));
            if before.is_some_and(|call| !call.is_whole()) {
                self.doubt(Certainty::Doubtful);
            }
        }
        // The other calls have ids: it may be a piece of one that is open.
        if self.calls.iter().any(|call| call.id.is_some()) {
            let is_open = self.calls.iter().any(Call::is_open);
            self.doubt(if is_open { Certainty::Lost } else { Certainty::Doubtful });
        }
        Part::New
    }

    fn doubt(&mut self, certainty: Certainty) {
        self.certainty = self.certainty.max(certainty);
    }

    /// Whether arguments have the id of the call at one place, and the index of the call at another.
    fn contradicts(&self, fragment: &Fragment<'_>, at: usize, other: usize) -> bool {
        let index_of = |at: usize| self.calls.get(at).and_then(|call| call.index);
        let is_named = fragment.index.is_some() && index_of(other) == fragment.index;
        let is_elsewhere = index_of(at).is_some() && index_of(at) != fragment.index;
        is_named && is_elsewhere && !fragment.is_blank()
    }

    /// Never ends a call, because its arguments contradict each other.
    fn contradict(&mut self, at: usize) {
        if let Some(call) = self.calls.get_mut(at) {
            call.contradictory = true;
        }
    }

    /// Notes that whole arguments follow those of a call under the same head: an empty object before
    /// them may be a placeholder.
    fn expect_whole(&mut self, at: usize) {
        if self.calls.get(at).is_some_and(|call| call.sum == Sum::of("{}")) {
            self.contradict(at);
        }
    }
}

impl Call {
    /// Whether pieces of its arguments are missing.
    fn is_open(&self) -> bool {
        !matches!(self.arguments, Shape::Blank | Shape::Whole)
    }

    fn is_whole(&self) -> bool {
        self.arguments == Shape::Whole
    }

    fn is_empty(&self) -> bool {
        self.arguments == Shape::Blank || self.sum == Sum::of("{}")
    }

    fn add(&mut self, fragment: Fragment<'_>) {
        let members = fragment.members.into_iter();
        self.members.extend(members.map(|(key, value)| (key, value.into_owned())));
        if let Some(id) = fragment.id {
            self.id.get_or_insert_with(|| id.into_owned());
        }
        if let Some(name) = fragment.name.filter(|_| self.name.is_empty()) {
            self.name = name.into_owned();
        }
        if let Some(arguments) = fragment.arguments {
            self.arguments.take(&arguments);
            self.sum.add(&arguments);
            self.waiting.push_str(&arguments);
        }
    }
}

impl Fragment<'_> {
    fn text(&self) -> &str {
        self.arguments.as_deref().unwrap_or_default()
    }

    /// Whether it has no arguments.
    fn is_blank(&self) -> bool {
        self.text().trim_ascii().is_empty()
    }

    /// Whether its arguments can be the beginning of an object, or of the text of one in a string.
    /// A quote alone may also be a piece of another call.
    fn begins(&self) -> bool {
        let text = self.text().trim_ascii_start();
        text.starts_with('{') || text.starts_with("\"{")
    }

    fn renames(&self, call: &Call) -> bool {
        self.name.as_ref().is_some_and(|name| !call.name.is_empty() && *name != call.name)
    }

    /// Whether it can be a piece of `call`.
    fn continues(&self, call: &Call) -> bool {
        let restarts = self.begins() && call.is_whole();
        !restarts && !self.renames(call)
    }

    /// Whether its arguments are those of `call`, which is whole.
    fn repeats(&self, call: &Call) -> bool {
        call.is_whole() && !self.is_blank() && Sum::of(self.text()) == call.sum
    }
}
