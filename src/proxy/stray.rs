//! Calls in places where their API has none, and in what cannot be read.

use std::borrow::Cow;

use super::call::Call;
use super::chat;
use super::foreign::is_member_of_calls;
use super::tree::{joined_text, keep_last, value};
use super::wire::Wire;
use super::{gemini, messages, responses};
use crate::json::Json;

/// No client reads calls that are nested deeper.
///
/// Limit | levels in which calls are looked for | levels | passes unread
const DEEPEST: usize = 32;

/// A name in small letters, with the letters beyond ASCII that stand for some of ASCII in another case.
pub(super) fn folded(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
        return Cow::Borrowed(name);
    }
    let mut small = String::with_capacity(name.len());
    for c in name.chars() {
        let letters = match c {
            '\u{130}' | '\u{131}' => "i",
            '\u{17f}' => "s",
            '\u{212a}' => "k",
            '\u{df}' | '\u{1e9e}' => "ss",
            '\u{fb00}' => "ff",
            '\u{fb01}' => "fi",
            '\u{fb02}' => "fl",
            '\u{fb03}' => "ffi",
            '\u{fb04}' => "ffl",
            '\u{fb05}' | '\u{fb06}' => "st",
            _ => {
                small.push(c.to_ascii_lowercase());
                continue;
            }
        };
        small.push_str(letters);
    }
    Cow::Owned(small)
}

/// Whether a text that is no JSON has a word of calls, for a reader that is less strict.
pub(super) fn mentions(text: &str, wire: Wire) -> bool {
    // UTF-16, as bytes.
    if !text.bytes().any(|byte| matches!(byte, b'\\' | 0)) {
        return wire.names_call(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let code = match rest.as_str().strip_prefix('u') {
            Some(behind) if c == '\\' => {
                behind.get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok())
            }
            _ => None,
        };
        match code {
            Some(code) => {
                plain.extend(char::from_u32(code).filter(|c| *c != '\0'));
                rest.nth(4);
            }
            None if c == '\0' => {}
            None => plain.push(c),
        }
    }
    wire.has_word(&folded(&plain))
}

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Within {
    Item,
    Member(String),
}

/// Where the JSON is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// An event of a stream.
    Event,
    /// A whole response.
    Whole,
}

/// Leaves out the calls that stand where their API has none; returns them, and whether anything is
/// left.
pub(super) fn clean(json: &mut Json<'static>, wire: Wire, from: Source) -> (Vec<Call>, bool) {
    let kind = json.kind().unwrap_or_default().to_owned();
    let mut cleaner = Cleaner { wire, from, kind, path: Vec::new(), strays: Vec::new() };
    let stays = cleaner.stays("", json);
    (cleaner.strays, stays)
}

struct Cleaner {
    wire: Wire,
    from: Source,
    /// The type of the whole.
    kind: String,
    path: Vec<Within>,
    strays: Vec<Call>,
}

impl Cleaner {
    /// Cleans a value; whether it stays.
    fn stays(&mut self, name: &str, value: &mut Json<'static>) -> bool {
        if let Json::String(text) = value {
            let found = self.calls_in_text(name, text);
            let stays = found.is_empty();
            self.strays.extend(found);
            return stays;
        }
        if !matches!(value, Json::Array(_) | Json::Object(_)) {
            return true;
        }
        let read = self.calls(name, value);
        // Some clients read names in any case, of which the API reads one.
        let is_lenient = read.is_empty() && !is_usual(name, value);
        let found =
            if is_lenient { self.calls(&folded(name), &lower(value)) } else { read.clone() };
        if !found.is_empty() {
            if !read.is_empty() && self.is_known(value) {
                return true;
            }
            self.strays.extend(found);
            return false;
        }
        if self.path.len() > DEEPEST || self.wire.is_data(name) {
            return true;
        }
        match value {
            Json::Array(items) => items.retain_mut(|item| self.stays_within(Within::Item, item)),
            Json::Object(members) => members.retain_mut(|(member, value)| {
                self.stays_within(Within::Member(member.to_string()), value)
            }),
            _ => {}
        }
        true
    }

    fn stays_within(&mut self, place: Within, value: &mut Json<'static>) -> bool {
        // Few values hold others.
        let holds_others = match &*value {
            Json::Array(_) | Json::Object(_) => true,
            Json::String(text) => is_json(text),
            _ => false,
        };
        if !holds_others {
            return true;
        }
        let name = match &place {
            Within::Item => "*".to_owned(),
            Within::Member(name) => name.clone(),
        };
        self.path.push(place);
        let stays = self.stays(&name, value);
        self.path.pop();
        stays
    }

    /// The calls in JSON that stands as a text where calls, or what holds them, belong: some clients
    /// read it.
    fn calls_in_text(&self, name: &str, text: &str) -> Vec<Call> {
        if !is_json(text) || !self.holds_calls() {
            return Vec::new();
        }
        let Some(inner) = value(text) else { return Vec::new() };
        let mut last = inner.into_owned();
        let first = last.clone();
        let repeats = keep_last(&mut last);
        // Of two members of one name, clients take the one or the other.
        let readings = [Some(last), Some(first).filter(|_| repeats)];
        let found = readings.into_iter().flatten().map(|mut reading| {
            // It is known in no place.
            let path = [self.path.as_slice(), &[Within::Item]].concat();
            let (wire, from) = (self.wire, self.from);
            let mut cleaner = Self { wire, from, kind: String::new(), path, strays: Vec::new() };
            cleaner.stays(name, &mut reading);
            cleaner.strays
        });
        found.into_iter().find(|strays| !strays.is_empty()).unwrap_or_default()
    }

    /// Whether calls, or what holds them, belong in this place, and not a text.
    fn holds_calls(&self) -> bool {
        let names = self.names();
        let is_list_of =
            |list: &str| matches!(names.as_slice(), [.., Some(name), None] if *name == list);
        match self.wire {
            Wire::Chat => {
                let member = names.iter().rev().find_map(|name| *name).unwrap_or_default();
                is_member_of_calls(&folded(member))
                    || is_list_of("content")
                    || matches!(
                        names.as_slice(),
                        [Some("choices")]
                            | [Some("choices"), None]
                            | [Some("choices"), None, Some("delta" | "message")]
                    )
            }
            Wire::Messages => {
                let is_holder = matches!(names.as_slice(), [Some("content_block" | "message")]);
                is_holder || is_list_of("content")
            }
            Wire::Responses => {
                let is_holder = matches!(names.as_slice(), [Some("item" | "response")]);
                is_holder || is_list_of("output")
            }
            Wire::Gemini => {
                let member = names.iter().rev().find_map(|name| *name).unwrap_or_default();
                is_member_of_calls(&folded(member))
                    || is_list_of("parts")
                    || matches!(
                        names.as_slice(),
                        [Some("candidates")]
                            | [Some("candidates"), None]
                            | [Some("candidates"), None, Some("content")]
                            | [Some("candidates"), None, Some("content"), Some("parts")]
                    )
            }
        }
    }

    /// The names of the members on the path; `None` for an item of a list.
    fn names(&self) -> Vec<Option<&str>> {
        let name = |place| match place {
            &Within::Item => None,
            Within::Member(name) => Some(name.as_str()),
        };
        self.path.iter().map(name).collect()
    }

    /// The calls of a member or an item, where it holds any.
    fn calls(&self, name: &str, value: &Json<'_>) -> Vec<Call> {
        match self.wire {
            Wire::Chat => chat::calls_of(name, value),
            Wire::Gemini => gemini::calls_of(name, value),
            Wire::Messages if messages::is_call(value) => vec![messages::call_of(value)],
            Wire::Responses if responses::is_call(value) => vec![responses::call_of(value)],
            _ => Vec::new(),
        }
    }

    /// Whether the API has calls in this place.
    fn is_known(&self, value: &Json<'_>) -> bool {
        let names = self.names();
        let is_event = self.from == Source::Event;
        match (self.wire, names.as_slice()) {
            (Wire::Chat, [Some("choices"), None, Some(holder), Some(name)]) => {
                let is_list = value.as_array().is_some();
                *holder == if is_event { "delta" } else { "message" }
                    && (*name == "tool_calls" && is_list || *name == "function_call" && !is_list)
            }
            (
                Wire::Gemini,
                [Some("candidates"), None, Some("content"), Some("parts"), None, Some(name)],
            ) => *name == gemini::CALL,
            (Wire::Messages, [Some("content_block")]) => {
                is_event && self.kind == "content_block_start"
            }
            (Wire::Messages, [Some("message"), Some("content"), None]) => {
                is_event && self.kind == "message_start"
            }
            (Wire::Messages, [Some("content"), None])
            | (Wire::Responses, [Some("output"), None]) => !is_event,
            (Wire::Responses, [Some("item")]) => {
                let added = "response.output_item.added";
                is_event && (self.kind == added || self.kind == "response.output_item.done")
            }
            (Wire::Responses, [Some("response"), Some("output"), None]) => {
                is_event && responses::is_final(&self.kind)
            }
            _ => false,
        }
    }
}

/// Whether a text may be that of an object or a list.
fn is_json(text: &str) -> bool {
    matches!(text.trim_start().as_bytes(), [b'{' | b'[', ..])
}

/// Members by which clients find calls, in any of the formats.
const NAMES: [&str; 28] = [
    "type",
    "index",
    "id",
    "name",
    "arguments",
    "input",
    "choices",
    "delta",
    "message",
    "tool_calls",
    "function_call",
    "function",
    "custom",
    "finish_reason",
    "content",
    "content_block",
    "partial_json",
    "stop_reason",
    "response",
    "output",
    "item",
    "call_id",
    "item_id",
    "output_index",
    "action",
    "actions",
    "operation",
    "server_label",
];

/// Whether a client that reads names in any case finds members that other clients do not: a name of
/// calls in another case, or two names that differ in their case alone.
pub(super) fn is_ambiguous(json: &Json<'_>, wire: Wire) -> bool {
    match json {
        Json::Array(items) => items.iter().any(|item| is_ambiguous(item, wire)),
        Json::Object(members) => {
            if !is_usual("", json) && has_ambiguous_names(json, wire) {
                return true;
            }
            members.iter().any(|(name, value)| {
                if name == "type" && is_odd_type(&joined_text(value), wire) {
                    return true;
                }
                let is_data = wire.is_data(name) || matches!(&**name, "arguments" | "input");
                !is_data && is_ambiguous(value, wire)
            })
        }
        _ => false,
    }
}

fn has_ambiguous_names(json: &Json<'_>, wire: Wire) -> bool {
    let mut all = crate::index::Index::default();
    json.members().enumerate().any(|(at, (name, _))| {
        let small = folded(name);
        let is_odd = small != name && NAMES.contains(&&*small)
            || wire == Wire::Gemini
                && GEMINI.iter().any(|own| *own != name && own.to_ascii_lowercase() == small);
        is_odd || all.number(&small) != at
    })
}

/// As [`NAMES`], of Gemini's own.
const GEMINI: [&str; 6] =
    ["candidates", "parts", "functionCall", "args", "partialArgs", "willContinue"];

/// Whether a client that reads types in any case takes one for that of a call.
fn is_odd_type(kind: &str, wire: Wire) -> bool {
    let small = folded(kind);
    small != kind && wire.has_word(&small)
}

/// Whether a name, and those within the value, are in small letters of ASCII, as nearly all are.
fn is_usual(name: &str, value: &Json<'_>) -> bool {
    let is_usual = |name: &str| {
        let is_plain =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'*');
        name.bytes().all(is_plain)
    };
    is_usual(name) && value.members().all(|(member, _)| is_usual(member))
}

/// An object with its names in small letters.
fn lower(value: &Json<'static>) -> Json<'static> {
    let Json::Object(members) = value else { return value.clone() };
    let mut small = Json::Object(
        members
            .iter()
            .map(|(name, value)| (Cow::Owned(folded(name).into_owned()), value.clone()))
            .collect(),
    );
    keep_last(&mut small);
    small
}
