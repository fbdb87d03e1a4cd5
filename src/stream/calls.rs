//! The calls of a response, for wire formats that send an end mark of each call, or whole calls.

use super::classify::malformed;
use super::delta::Delta;
use crate::json::Json;
use crate::limits;

/// The key of a call that started without an index.
pub(crate) const NO_INDEX: u64 = u64::MAX - 1;
/// The key of a call that arrives whole. No piece has this key.
const WHOLE: u64 = u64::MAX;

/// The calls of a response, by the provider's key of each. Keys mostly rise, so that a call is
/// found and added in little time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Calls {
    /// By key.
    calls: Vec<Started>,
    /// The key of the call that started last.
    last: u64,
    started: u32,
    /// Calls without an end mark, and calls that ended without arguments: the output limit may have
    /// cut one before them, or a later event has them. They end if the response ends normally.
    waiting: Vec<u32>,
    /// The response was cut, or a piece belongs to no call and may be of any: no call ends any more.
    lost: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Started {
    key: u64,
    index: u32,
    id: String,
    name: String,
    /// A piece of its arguments was received.
    said: bool,
    sum: Sum,
    /// The whole arguments, if a part of the response has them.
    whole: Option<String>,
    /// Its arguments contradict each other, or some of them may be missing: it never ends.
    doubtful: bool,
    /// What may be its arguments stood in a member that is not read: without others, it never ends.
    unread: bool,
    ended: bool,
}

/// A checksum of JSON text, of which the white space between values is no part: gateways write
/// arguments anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sum {
    hash: u64,
    in_string: bool,
    escaped: bool,
}

impl Sum {
    /// Returns the checksum of a whole text.
    pub(crate) fn of(text: &str) -> Self {
        let mut sum = Self::default();
        sum.add(text);
        sum
    }

    /// Adds the next piece of the text.
    pub(crate) fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                self.in_string = self.escaped || byte != b'"';
                self.escaped = !self.escaped && byte == b'\\';
            } else if byte.is_ascii_whitespace() {
                continue;
            } else {
                self.in_string = byte == b'"';
            }
            // FNV-1a.
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

/// Whether arguments are missing, or an empty object.
fn is_empty(sum: Sum) -> bool {
    sum == Sum::default() || sum == Sum::of("{}")
}

/// Whether a member that is none of `known` is a text, an object or an array with content: then it may
/// hold arguments.
pub(crate) fn has_unread(value: &Json<'_>, known: &[&str]) -> bool {
    let has_content = |value: &Json<'_>| match value {
        Json::String(text) => !text.trim().is_empty(),
        value => value.members().len() > 0 || value.items().len() > 0,
    };
    value.members().any(|(key, value)| has_content(value) && !known.contains(&key))
}

impl Calls {
    /// Whether the response has calls.
    pub(crate) fn any(&self) -> bool {
        self.started > 0
    }

    /// Starts a call. One without an id gets one made of its index.
    pub(crate) fn start(&mut self, key: u64, id: &str, name: &str, out: &mut Vec<Delta>) {
        if usize::try_from(self.started).is_ok_and(|started| started >= limits::STREAM_CALLS) {
            out.push(Delta::Error(malformed("the response has too many calls", "")));
            return;
        }
        let index = self.started;
        self.started += 1;
        self.last = key;
        let id = if id.is_empty() { format!("call_{index}") } else { id.to_owned() };
        out.push(Delta::ToolCallStart { index, id: id.clone(), name: name.to_owned() });
        // A call with this key that the provider did not end before this one never ends.
        let (name, doubtful) = (name.to_owned(), self.lost);
        self.set(Started { key, index, id, name, doubtful, ..Started::default() });
    }

    /// Notes that pieces with this key belong to no call that was started.
    pub(crate) fn skip(&mut self, key: u64) {
        self.set(Started { key, index: u32::MAX, ended: true, ..Started::default() });
    }

    /// The key of the open call with this id. `likely`: the key of the call, if it has the id.
    pub(crate) fn key(&self, id: &str, likely: u64) -> Option<u64> {
        let is_open = |call: &&Started| !call.ended && call.id == id;
        let likely = self.place(likely).ok().and_then(|place| self.calls.get(place));
        likely.filter(is_open).or_else(|| self.calls.iter().find(is_open)).map(|call| call.key)
    }

    /// Whether a call had this key.
    pub(crate) fn has(&self, key: u64) -> bool {
        self.place(key).is_ok()
    }

    /// Compares the name of an open call with a later one. If they differ, it is not known which the
    /// model meant.
    pub(crate) fn compare_name(&mut self, key: u64, name: &str) {
        let call = self.open_or_waiting(key);
        let Some(call) = call.filter(|call| !name.is_empty() && call.name != name) else { return };
        call.doubtful = true;
        let index = call.index;
        self.waiting.retain(|waiting| *waiting != index);
    }

    /// A call that has not ended, or that ended and waits for the end of the response.
    fn open_or_waiting(&mut self, key: u64) -> Option<&mut Started> {
        let place = self.place(key).ok()?;
        let waiting = &self.waiting;
        let is_open = |call: &&mut Started| !call.ended || waiting.contains(&call.index);
        self.calls.get_mut(place).filter(is_open)
    }

    /// Takes a call as the end of the response describes it. The arguments count for a call with this
    /// id that is open and has none, and contradict others.
    pub(crate) fn confirm(&mut self, id: &str, name: &str, whole: &str, out: &mut Vec<Delta>) {
        let is_known = |call: &&Started| !id.is_empty() && call.id == id;
        let keys: Vec<u64> = self.calls.iter().filter(is_known).map(|call| call.key).collect();
        if keys.is_empty() {
            return self.add_missing(id, name, whole, out);
        }
        for key in keys {
            self.compare_name(key, name);
            self.expect(key, whole);
        }
    }

    /// Adds a call that stands only at the end of the response. A call without arguments may be the
    /// same one under another id: then none of them ends.
    fn add_missing(&mut self, id: &str, name: &str, whole: &str, out: &mut Vec<Delta>) {
        let sum = Sum::of(whole);
        let is_same = |call: &Started| {
            let same_arguments = call.sum == sum || is_empty(call.sum) && is_empty(sum);
            call.name == name && same_arguments
        };
        if name.is_empty() || self.calls.iter().any(is_same) {
            return;
        }
        let waiting = &self.waiting;
        let lacks = |call: &&Started| {
            let is_open = !call.ended || waiting.contains(&call.index);
            is_open && call.whole.is_none() && is_empty(call.sum)
        };
        let lacking: Vec<u64> = self.calls.iter().filter(lacks).map(|call| call.key).collect();
        if lacking.is_empty() {
            self.whole(id, name, whole, out);
        }
        lacking.into_iter().for_each(|key| self.doubt(key));
    }

    /// Notes that what may be arguments of the call stood in a member that is not read.
    pub(crate) fn unread(&mut self, key: u64) {
        let place = self.place(key).ok();
        if let Some(call) = place.and_then(|place| self.calls.get_mut(place)) {
            call.unread = true;
            let index = call.index;
            if is_empty(call.sum) {
                self.waiting.retain(|waiting| *waiting != index);
            }
        }
    }

    /// Whether a call is open; `Some(true)` if a piece of its arguments was received.
    pub(crate) fn said(&self, key: u64) -> Option<bool> {
        let call = self.calls.get(self.place(key).ok()?)?;
        (!call.ended).then_some(call.said)
    }

    /// Adds a piece of the arguments to the call with this key; if no call had this key, to the call
    /// that started last. `false` if that call is not open: then a call that lacks this piece never
    /// ends.
    pub(crate) fn arguments(&mut self, key: u64, text: &str, out: &mut Vec<Delta>) -> bool {
        let known = self.place(key).ok();
        let place = known.or_else(|| self.place(self.last).ok());
        let call = place.and_then(|place| self.calls.get_mut(place));
        if let Some(call) = call.filter(|call| !call.ended) {
            if !text.is_empty() {
                call.said |= !text.trim().is_empty();
                call.sum.add(text);
                out.push(Delta::ToolCallArguments { index: call.index, text: text.to_owned() });
            }
            return true;
        }
        if !text.trim().is_empty() {
            let of = known.and_then(|place| self.calls.get(place)).map(|call| call.index);
            self.waiting.retain(|waiting| of.is_some_and(|index| index != *waiting));
            if of.is_none() {
                self.calls.iter_mut().for_each(|call| call.doubtful = true);
            }
        }
        false
    }

    /// Notes the whole arguments of an open call. They count if no piece of them is received. If they
    /// differ from the pieces, or were others before, it is not known which the model meant.
    pub(crate) fn expect(&mut self, key: u64, whole: &str) {
        let call = self.open_or_waiting(key).filter(|_| !whole.trim().is_empty());
        let Some(call) = call else { return };
        let sum = Sum::of(whole);
        if call.ended {
            let both_empty = is_empty(call.sum) && is_empty(sum);
            if !both_empty && call.sum != sum {
                self.doubt(key);
            }
            return;
        }
        let before = call.whole.get_or_insert_with(|| whole.to_owned());
        call.doubtful |= Sum::of(before) != sum;
    }

    /// Ends a call; `false` if there is no such call. `whole`: as for [`Calls::expect`]. A call whose
    /// arguments contradict each other does not end.
    pub(crate) fn end(&mut self, key: u64, whole: &str, out: &mut Vec<Delta>) -> bool {
        let Some(call) = self.close(key, whole, out) else { return false };
        let (index, is_empty) = (call.index, is_empty(call.sum));
        // The end of the response may have its arguments, so that it may not start before.
        let is_blank = call.sum == Sum::default();
        if call.doubtful {
            return true;
        }
        if is_empty {
            self.waiting.push(index);
            if !is_blank {
                out.push(Delta::ToolCallReady { index });
            }
        } else {
            out.push(Delta::ToolCallEnd { index });
        }
        true
    }

    /// As [`Calls::end`], for a wire format without an end mark: the call ends with the response.
    pub(crate) fn end_later(&mut self, key: u64, whole: &str, out: &mut Vec<Delta>) {
        let call = self.close(key, whole, out).filter(|call| !call.doubtful);
        if let Some(index) = call.map(|call| call.index) {
            self.waiting.push(index);
            out.push(Delta::ToolCallReady { index });
        }
    }

    /// Closes an open call.
    fn close(&mut self, key: u64, whole: &str, out: &mut Vec<Delta>) -> Option<&Started> {
        let said = self.said(key)?;
        self.expect(key, whole);
        let place = self.place(key).ok()?;
        let whole = self.calls.get_mut(place)?.whole.take();
        if let Some(whole) = whole.as_deref().filter(|_| !said) {
            self.arguments(key, whole, out);
        }
        let call = self.calls.get_mut(place)?;
        call.doubtful |= whole.is_some_and(|whole| Sum::of(&whole) != call.sum);
        call.doubtful |= call.unread && is_empty(call.sum);
        call.ended = true;
        Some(call)
    }

    /// Ends no call from now on, because a piece belongs to none or the response was cut.
    pub(crate) fn lose(&mut self) {
        self.lost = true;
        self.calls.iter_mut().for_each(|call| call.doubtful = true);
        self.waiting.clear();
    }

    /// Notes that the call with this key may lack a piece, or have one of another call.
    pub(crate) fn doubt(&mut self, key: u64) {
        let place = self.place(key).ok();
        let Some(call) = place.and_then(|place| self.calls.get_mut(place)) else { return };
        call.doubtful = true;
        let index = call.index;
        self.waiting.retain(|waiting| *waiting != index);
    }

    /// Forgets an open call, which then never ends.
    pub(crate) fn forget(&mut self, key: u64) {
        self.skip(key);
    }

    /// Takes a call that arrives whole. A piece is no end mark, so the call ends with the response.
    pub(crate) fn whole(&mut self, id: &str, name: &str, arguments: &str, out: &mut Vec<Delta>) {
        self.start(WHOLE, id, name, out);
        self.end_later(WHOLE, arguments, out);
    }

    /// As [`Calls::whole`], of a call with a member that is not read and may hold its arguments.
    pub(crate) fn whole_unread(
        &mut self,
        (id, name): (&str, &str),
        arguments: &str,
        out: &mut Vec<Delta>,
    ) {
        self.start(WHOLE, id, name, out);
        self.unread(WHOLE);
        self.end_later(WHOLE, arguments, out);
    }

    /// Ends the calls that wait for the normal end of the response.
    pub(crate) fn complete(&mut self, out: &mut Vec<Delta>) {
        out.extend(self.waiting.drain(..).map(|index| Delta::ToolCallEnd { index }));
    }

    /// Ends all calls of which arguments were received.
    pub(crate) fn end_all(&mut self, out: &mut Vec<Delta>) {
        let open = |call: &&Started| !call.ended && (call.said || call.whole.is_some());
        let keys: Vec<u64> = self.calls.iter().filter(open).map(|call| call.key).collect();
        for key in keys {
            self.end(key, "", out);
        }
        self.complete(out);
    }

    fn set(&mut self, call: Started) {
        match self.place(call.key) {
            Ok(place) => {
                if let Some(before) = self.calls.get_mut(place) {
                    *before = call;
                }
            }
            Err(place) => self.calls.insert(place, call),
        }
    }

    fn place(&self, key: u64) -> Result<usize, usize> {
        self.calls.binary_search_by_key(&key, |call| call.key)
    }
}
