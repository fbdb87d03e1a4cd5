//! The calls of a response, for wire formats that say when a call ends.

use super::classify::malformed;
use super::delta::Delta;
use crate::limits;

/// The calls of a response, by the provider's key of each. Keys mostly rise, so that a call is
/// found and added in little time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Calls {
    /// Those whose end was not received, by key.
    open: Vec<Open>,
    started: u32,
}

#[derive(Debug, Clone, PartialEq)]
struct Open {
    key: u64,
    index: u32,
    /// A piece of its arguments was received.
    said: bool,
    sum: Sum,
    /// Its arguments came again and were others: it never ends.
    doubtful: bool,
}

/// A checksum of JSON text, of which the white space between values is no part: gateways write
/// arguments anew.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sum {
    hash: u64,
    in_string: bool,
    escaped: bool,
}

impl Sum {
    fn add(&mut self, text: &str) {
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
        let index = self.started;
        self.started += 1;
        let id = if id.is_empty() { format!("call_{index}") } else { id.to_owned() };
        out.push(Delta::ToolCallStart { index, id, name: name.to_owned() });
        let open = Open { key, index, said: false, sum: Sum::default(), doubtful: false };
        match self.place(key) {
            // The provider did not end the call before this one: it stays open.
            Ok(place) => {
                if let Some(before) = self.open.get_mut(place) {
                    *before = open;
                }
            }
            Err(place) => self.open.insert(place, open),
        }
    }

    /// Whether a call is open; `Some(true)` if a piece of its arguments was received.
    pub(crate) fn said(&self, key: u64) -> Option<bool> {
        self.open.get(self.place(key).ok()?).map(|open| open.said)
    }

    /// Adds a piece of the arguments; `false` if there is no such call.
    pub(crate) fn arguments(&mut self, key: u64, text: &str, out: &mut Vec<Delta>) -> bool {
        let place = self.place(key).ok();
        let Some(open) = place.and_then(|place| self.open.get_mut(place)) else { return false };
        if !text.is_empty() {
            open.said = true;
            open.sum.add(text);
            out.push(Delta::ToolCallArguments { index: open.index, text: text.to_owned() });
        }
        true
    }

    /// Compares the arguments of a call with the pieces that were received. If they differ, it is not
    /// known which the model meant.
    pub(crate) fn compare(&mut self, key: u64, whole: &str) {
        let place = self.place(key).ok();
        let Some(open) = place.and_then(|place| self.open.get_mut(place)) else { return };
        let mut sum = Sum::default();
        sum.add(whole);
        open.doubtful |= open.said && !whole.is_empty() && sum.hash != open.sum.hash;
    }

    /// Ends a call; `false` if there is no such call. `whole`: the arguments, which count if no
    /// piece of them was received. A call does not end if they contradict its pieces.
    pub(crate) fn end(&mut self, key: u64, whole: &str, out: &mut Vec<Delta>) -> bool {
        let Ok(place) = self.place(key) else { return false };
        if self.said(key) == Some(false) {
            self.arguments(key, whole, out);
        }
        self.compare(key, whole);
        let open = self.open.remove(place);
        if !open.doubtful {
            out.push(Delta::ToolCallEnd { index: open.index });
        }
        true
    }

    /// Forgets an open call, which then never ends.
    pub(crate) fn forget(&mut self, key: u64) {
        if let Ok(place) = self.place(key) {
            self.open.remove(place);
        }
    }

    /// Takes a call that arrives whole.
    pub(crate) fn whole(&mut self, id: &str, name: &str, arguments: &str, out: &mut Vec<Delta>) {
        // No open call has this key.
        self.start(u64::MAX, id, name, out);
        self.end(u64::MAX, arguments, out);
    }

    /// Ends all calls.
    pub(crate) fn end_all(&mut self, out: &mut Vec<Delta>) {
        for open in std::mem::take(&mut self.open).into_iter().filter(|open| !open.doubtful) {
            out.push(Delta::ToolCallEnd { index: open.index });
        }
    }

    fn place(&self, key: u64) -> Result<usize, usize> {
        self.open.binary_search_by_key(&key, |open| open.key)
    }
}
