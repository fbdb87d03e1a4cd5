//! JSON in a model's reply: the one reader of answers, plans and tool requests.
//!
//! ```
//! use turnlock::reply::{Dropped, Reply};
//!
//! let reply = Reply::read("<think>{\"a\":2}?</think> Sure:\n```json\n{\"a\":1}\n```");
//! let value = reply.only(|json| json.get("a").is_some())?;
//! assert_eq!(value.text, "{\"a\":1}");
//! assert_eq!(reply.dropped_around(value), [Dropped::Thinking, Dropped::Fence, Dropped::Words]);
//!
//! let why = Reply::read("{\"a\":1,}").only(|_| true).unwrap_err();
//! assert_eq!(why.to_string(), "not JSON at byte 7: a trailing comma");
//! # Ok::<(), turnlock::reply::Fault>(())
//! ```
//!
//! Models think before the JSON, put it into a fence, or write about it. [`Reply`] drops a byte order
//! mark and a leading `<think>` block (or everything before a lone `</think>`, unless that is the
//! answer and nothing follows), and finds the objects and arrays in the rest, with words and fences
//! around them. A reply that is one value may be any JSON. Each value is read strictly: nothing is repaired inside it, and a value inside an
//! unreadable one is never taken. An integer whose digits a double does not keep, such as an id of 19
//! digits, is `json.number_range`: RFC 8259 §6 and RFC 7493 §2.2 do not promise that a receiver reads
//! the same integer, and JavaScript reads another one. A model has to write it as a string. The caller decides which value fits; two that fit are
//! [`Fault::Ambiguous`]. Every step reads the text once.

mod fault;

pub use fault::Fault;

use crate::json::table::names;
use crate::json::{Json, JsonError, Reader};
use crate::text::{THINKING, find_tag, strip_tag, unfenced};
use fault::cause;

names! {
    /// What was dropped around the JSON of a reply.
    pub enum Dropped as "ReplyRepair", "a repair of a reply", non_exhaustive {
        /// A byte order mark at its start.
        ByteOrderMark "byte_order_mark_dropped",
        /// A leading `<think>` block, or everything before a lone `</think>`.
        Thinking "thinking_dropped",
        /// A code fence around the JSON.
        Fence "fence_dropped",
        /// Words around the JSON, or other values.
        Words "words_dropped",
    }
}

/// A value in a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Value<'a> {
    /// Its text, as the model wrote it.
    pub text: &'a str,
    /// The value.
    pub json: Json<'a>,
}

/// The values in a reply, outside of one another.
#[derive(Debug, Clone)]
pub struct Reply<'a> {
    values: Vec<Value<'a>>,
    /// The whole reply.
    reply: &'a str,
    /// The reply after the thinking.
    rest: &'a str,
    /// What was dropped before it.
    dropped: Vec<Dropped>,
    /// Why the text has a value that cannot be read, or none.
    fault: Option<Fault>,
}

/// Distinct values that are compared with a schema; more of them are ambiguous.
///
/// Limit | different JSON values in a reply that a schema chooses among | values | the reply is ambiguous: `answer.invalid`, `plan.invalid`, `json.syntax`
const CANDIDATES: usize = 16;

impl<'a> Reply<'a> {
    /// Reads the values of a reply.
    #[must_use]
    pub fn read(reply: &'a str) -> Self {
        let mut dropped = Vec::new();
        let mut rest = reply.trim();
        if let Some(bare) = rest.strip_prefix('\u{feff}') {
            dropped.push(Dropped::ByteOrderMark);
            rest = bare.trim();
        }
        let mut made = Self { values: Vec::new(), reply, rest, dropped, fault: None };
        if made.whole(rest) {
            return made;
        }
        let Some(spoken) = spoken(rest) else {
            (made.rest, made.fault) = ("", Some(Fault::Thinking));
            return made;
        };
        if spoken.len() < rest.len() {
            made.dropped.push(Dropped::Thinking);
        }
        made.rest = spoken;
        if !made.whole(spoken) && !unfenced(spoken).is_some_and(|inside| made.whole(inside)) {
            let scan = Scan::new(spoken);
            made.values = scan.values;
            made.fault = scan.fault.map(|fault| fault.moved(offset_in(reply, spoken)));
        }
        made
    }

    /// Reads a text that is one value. Returns whether it is.
    fn whole(&mut self, text: &'a str) -> bool {
        let mut reader = Reader::exact(text);
        match reader.value().and_then(|json| reader.end().map(|()| json)) {
            Ok(json) => self.values.push(Value { text, json }),
            Err(error @ JsonError::NumberRange { .. }) if Json::parse_str(text).is_ok() => {
                let fault = Fault::Invalid { error, cause: cause(text, error) };
                self.fault = Some(fault.moved(offset_in(self.reply, text)));
            }
            Err(_) => return false,
        }
        true
    }

    /// Whether the model wrote nothing, or nothing after it thought.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty() && self.fault.is_none()
    }

    /// The reply without thinking and byte order mark.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.rest
    }

    /// The values that differ from one another, in their order.
    ///
    /// # Errors
    /// The fault of the reply if it has no value or is cut; `Ambiguous` for more than 16 values.
    pub fn distinct(&self) -> Result<Vec<&Value<'a>>, Fault> {
        let mut found: Vec<(String, &Value<'a>)> = Vec::new();
        for value in self.readable()? {
            let canonical = value.json.to_canonical();
            if found.iter().all(|(other, _)| *other != canonical) {
                if found.len() == CANDIDATES {
                    return Err(Fault::Ambiguous);
                }
                found.push((canonical, value));
            }
        }
        Ok(found.into_iter().map(|(_, value)| value).collect())
    }

    /// The only value that `fits`; equal ones count as one.
    ///
    /// # Errors
    /// Why there is none: the fault of the reply, or `Missing`; `Ambiguous` if two differ.
    pub fn only(&self, fits: impl Fn(&Json<'_>) -> bool) -> Result<&Value<'a>, Fault> {
        let mut fitting = self.readable()?.iter().filter(|value| fits(&value.json));
        let first = fitting.next().ok_or_else(|| self.fault.unwrap_or(Fault::Missing))?;
        let mut canonical = None;
        for other in fitting {
            let first = canonical.get_or_insert_with(|| first.json.to_canonical());
            if other.json.to_canonical() != *first {
                return Err(Fault::Ambiguous);
            }
        }
        Ok(first)
    }

    fn readable(&self) -> Result<&[Value<'a>], Fault> {
        match self.fault {
            Some(fault) if self.values.is_empty() || fault.is_cut() => Err(fault),
            None if self.values.is_empty() => Err(Fault::Missing),
            _ => Ok(&self.values),
        }
    }

    /// What was dropped around a value of this reply, in the order of [`Dropped`].
    #[must_use]
    pub fn dropped_around(&self, value: &Value<'a>) -> Vec<Dropped> {
        let at = offset_in(self.rest, value.text);
        let before = self.rest.get(..at).unwrap_or_default().trim();
        let after = self.rest.get(at + value.text.len()..).unwrap_or_default().trim();
        let line = before.bytes().rposition(|byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = before.get(line..).unwrap_or_default().trim();
        let language = line.trim_start_matches('`');
        let opened = line.len() - language.len() >= 3 && !language.as_bytes().contains(&b'`');
        let mut dropped = self.dropped.clone();
        let (mut before, mut after) = (before, after);
        if opened {
            dropped.push(Dropped::Fence);
            before = before.strip_suffix(line).unwrap_or(before);
            after = after.trim_start_matches('`');
        }
        if !before.is_empty() || !after.is_empty() {
            dropped.push(Dropped::Words);
        }
        dropped
    }
}

/// The place of `part`, which is a part of `text`.
fn offset_in(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

/// Returns the text after the thinking: without the blocks at its start, and without everything
/// before a lone end of such a block, unless that is one JSON value and nothing follows the end.
/// `None` if a block does not end.
pub(crate) fn spoken(text: &str) -> Option<&str> {
    let rest = after_blocks(text)?;
    let Some(at) = lone_end(rest) else { return Some(rest) };
    let after = after_blocks(rest.get(at..)?)?;
    let before = without_ends(rest);
    Some(if after.is_empty() && is_value(before) { before } else { after })
}

/// The text without the ends of blocks behind it.
fn without_ends(text: &str) -> &str {
    let end = |rest: &str| {
        THINKING.into_iter().find_map(|(_, close)| {
            let at = rest.len().checked_sub(close.len())?;
            strip_tag(rest.get(at..)?, close).map(|_| at)
        })
    };
    let mut rest = text.trim();
    while let Some(before) = end(rest).and_then(|at| rest.get(..at)) {
        rest = before.trim();
    }
    rest
}

/// Whether the text is one JSON value, in a fence or not.
fn is_value(text: &str) -> bool {
    let reads = |text| {
        let mut reader = Reader::exact(text);
        reader.value().and_then(|_| reader.end()).is_ok()
    };
    reads(text) || unfenced(text).is_some_and(reads)
}

fn after_blocks(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches('\u{feff}').trim();
    loop {
        let inside = |(open, close)| Some((strip_tag(rest, open)?, close));
        let Some((inside, close)) = THINKING.into_iter().find_map(inside) else {
            return Some(rest);
        };
        let end = find_tag(inside, close)? + close.len();
        rest = inside.get(end..)?.trim();
    }
}

/// The place after the last end of a block that no block begins before, outside of values.
fn lone_end(text: &str) -> Option<usize> {
    if !THINKING.iter().any(|(_, close)| find_tag(text, close).is_some()) {
        return None;
    }
    let opens = THINKING.iter().filter_map(|(open, _)| find_tag(text, open)).min();
    let values = Scan::new(text).values;
    let inside = |at: usize| {
        values.iter().any(|value| {
            let from = offset_in(text, value.text);
            (from..from + value.text.len()).contains(&at)
        })
    };
    let mut last = None;
    for (_, close) in THINKING {
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| find_tag(rest, close)) {
            let at = from + at;
            from = at + close.len();
            if opens.is_none_or(|open| at < open) && !inside(at) {
                last = last.max(Some(from));
            }
        }
    }
    last
}

/// The objects and arrays of a text, outside of one another.
struct Scan<'a> {
    values: Vec<Value<'a>>,
    /// Why the first one cannot be read, unless the text ends inside of one.
    fault: Option<Fault>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        let mut scan = Self { values: Vec::new(), fault: None };
        let mut at = 0;
        while let Some(start) = next_open(text, at) {
            let tail = text.get(start..).unwrap_or_default();
            let mut reader = Reader::exact(tail);
            match reader.value() {
                Ok(json) => {
                    at = start + reader.offset();
                    let text = text.get(start..at).unwrap_or_default();
                    scan.values.push(Value { text, json });
                }
                Err(error) if is_meant(tail, reader.offset()) => {
                    let cut = is_cut(tail, error);
                    let fault = match cut {
                        true => Fault::Cut { offset: tail.len() },
                        false => Fault::Invalid { error, cause: cause(tail, error) },
                    };
                    // Nothing inside is a value of its own.
                    at = closed(tail).map_or(text.len(), |end| start + end);
                    if scan.fault.is_none() || cut {
                        scan.fault = Some(fault.moved(start));
                    }
                }
                Err(_) => at = start + 1,
            }
        }
        scan
    }
}

/// Whether the text ends inside of a value.
fn is_cut(text: &str, error: JsonError) -> bool {
    let JsonError::Syntax { offset } = error else { return false };
    let rest = text.get(offset..).unwrap_or_default();
    rest.is_empty() || ["true", "false", "null"].iter().any(|word| word.starts_with(rest))
}

/// The next brace or bracket that opens.
fn next_open(text: &str, from: usize) -> Option<usize> {
    let opens = |byte: &u8| matches!(byte, b'{' | b'[');
    text.as_bytes().get(from..)?.iter().position(opens).map(|at| from + at)
}

/// Whether an unreadable text after a bracket was meant as JSON: more than the bracket was read, or
/// what follows is a usual mistake. Other brackets belong to the prose.
fn is_meant(text: &str, read: usize) -> bool {
    let inside = text.get(1..read).unwrap_or_default();
    !inside.trim().is_empty()
        || read >= text.len()
        || cause(text, JsonError::Syntax { offset: read }).is_some()
}

/// The place after the bracket that closes the first one. Those in strings do not count, and neither
/// do those that close nothing.
fn closed(text: &str) -> Option<usize> {
    let (mut open, mut quoted, mut escaped) = (Vec::new(), false, false);
    let closes = text.bytes().position(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => open.push(b'}'),
            b'[' if !quoted => open.push(b']'),
            byte if !quoted && open.last() == Some(&byte) => drop(open.pop()),
            _ => {}
        }
        open.is_empty()
    });
    closes.map(|at| at + 1)
}

#[cfg(test)]
mod tests;
