//! The calls of a response, for wire formats that say when a call ends.

use super::classify::malformed;
use super::delta::Delta;
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
    /// A call that ended without arguments. The output limit may have cut it before them, so its end
    /// counts once another call starts or the response ends normally.
    blank: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Started {
    key: u64,
    index: u32,
    id: String,
    /// A piece of its arguments was received.
    said: bool,
    sum: Sum,
    /// Its arguments contradict each other, or some of them may be missing: it never ends.
    doubtful: bool,
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
        self.end_blank(out);
        let index = self.started;
        self.started += 1;
        self.last = key;
        let id = if id.is_empty() { format!("call_{index}") } else { id.to_owned() };
        out.push(Delta::ToolCallStart { index, id: id.clone(), name: name.to_owned() });
        // A call with this key that the provider did not end before this one never ends.
        self.set(Started { key, index, id, ..Started::default() });
    }

    /// Notes that pieces with this key belong to no call that was started.
    pub(crate) fn skip(&mut self, key: u64) {
        self.set(Started { key, index: u32::MAX, ended: true, ..Started::default() });
    }

    /// The key of the open call with this id.
    pub(crate) fn key(&self, id: &str) -> Option<u64> {
        let open = |call: &&Started| !call.ended && call.id == id;
        self.calls.iter().find(open).map(|call| call.key)
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
                call.said = true;
                call.sum.add(text);
                out.push(Delta::ToolCallArguments { index: call.index, text: text.to_owned() });
            }
            return true;
        }
        if !text.trim().is_empty() {
            let of = known.and_then(|place| self.calls.get(place)).map(|call| call.index);
            self.blank.take_if(|blank| of.is_none_or(|index| index == *blank));
            if of.is_none() {
                self.calls.iter_mut().for_each(|call| call.doubtful = true);
            }
        }
        false
    }

    /// Compares the arguments of a call with the pieces that were received. If they differ, it is not
    /// known which the model meant.
    pub(crate) fn compare(&mut self, key: u64, whole: &str) {
        let place = self.place(key).ok();
        let call = place.and_then(|place| self.calls.get_mut(place)).filter(|call| !call.ended);
        let Some(call) = call else { return };
        call.doubtful |= call.said && !whole.is_empty() && Sum::of(whole) != call.sum;
    }

    /// Ends a call; `false` if there is no such call. `whole`: the arguments, which count if no
    /// piece of them was received. A call does not end if they contradict its pieces.
    pub(crate) fn end(&mut self, key: u64, whole: &str, out: &mut Vec<Delta>) -> bool {
        let Some(said) = self.said(key) else { return false };
        if !said {
            self.arguments(key, whole, out);
        }
        self.compare(key, whole);
        let place = self.place(key).ok();
        let Some(call) = place.and_then(|place| self.calls.get_mut(place)) else { return false };
        call.ended = true;
        if call.doubtful {
            return true;
        }
        let index = call.index;
        if call.said || key == WHOLE {
            out.push(Delta::ToolCallEnd { index });
        } else {
            self.blank = Some(index);
            out.push(Delta::ToolCallReady { index });
        }
        true
    }

    /// Forgets an open call, which then never ends.
    pub(crate) fn forget(&mut self, key: u64) {
        self.skip(key);
    }

    /// Takes a call that arrives whole.
    pub(crate) fn whole(&mut self, id: &str, name: &str, arguments: &str, out: &mut Vec<Delta>) {
        self.start(WHOLE, id, name, out);
        self.end(WHOLE, arguments, out);
    }

    /// Ends the call that ended without arguments, because it was not cut.
    pub(crate) fn end_blank(&mut self, out: &mut Vec<Delta>) {
        if let Some(index) = self.blank.take() {
            out.push(Delta::ToolCallEnd { index });
        }
    }

    /// Ends all calls of which arguments were received.
    pub(crate) fn end_all(&mut self, out: &mut Vec<Delta>) {
        self.end_blank(out);
        for call in self.calls.iter_mut().filter(|call| !call.ended && call.said) {
            call.ended = true;
            if !call.doubtful {
                out.push(Delta::ToolCallEnd { index: call.index });
            }
        }
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
