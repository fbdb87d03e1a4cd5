//! Placeholders: a step's query may contain results of earlier steps.
//!
//! `$id` or `${id}` is a short text of the result of the step `id`; `${id/0/title}` is a part of the
//! result, named by a JSON Pointer (RFC 6901). If no id is a number, a number is the position of the step, from 1. A
//! dollar sign before anything else stays a dollar sign: `$1,000` and `$2.50` are amounts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::plan::PlanStep;
use crate::json::{Json, unescaped};
use crate::limits;

/// A placeholder in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place<'a> {
    from: usize,
    to: usize,
    step: usize,
    /// A JSON Pointer with its leading slash, or empty.
    pointer: &'a str,
}

/// The steps that `text` mentions, each once, in order.
pub(crate) fn mentioned(text: &str, steps: &[PlanStep]) -> Vec<usize> {
    let mut found = Vec::new();
    for place in places(text, steps) {
        if !found.contains(&place.step) {
            found.push(place.step);
        }
    }
    found
}

/// Fills in the placeholders in `text` whose steps have a `result`. A result becomes the `short` text
/// of it, or its title, or its first [`limits::PLACEHOLDER_CHARS`] characters; a list those of its
/// items, joined with `; `. A text that a pointer names is cut to [`limits::PLACEHOLDER_BYTES`].
pub(crate) fn fill<'r>(
    text: &str,
    steps: &[PlanStep],
    result: &dyn Fn(usize) -> Option<&'r Json<'static>>,
    short: &dyn Fn(usize) -> Option<&'r str>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    // A text is made of a part once, however often it is mentioned: the part may be large.
    let mut made: BTreeMap<(usize, &str), Cow<'_, str>> = BTreeMap::new();
    for place in places(text, steps) {
        let Some(value) = result(place.step) else { continue };
        out.push_str(text.get(at..place.from).unwrap_or(""));
        let whole = place.pointer.is_empty();
        let make = || match pointed(value, place.pointer) {
            Some(Json::String(text)) if !whole => Cow::Borrowed(cut(text)),
            part => match short(place.step).filter(|_| whole) {
                Some(text) => Cow::Borrowed(cut(text)),
                None => Cow::Owned(shown(part.unwrap_or(&Json::Null))),
            },
        };
        out.push_str(made.entry((place.step, place.pointer)).or_insert_with(make));
        at = place.to;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    out
}

fn places<'a>(text: &'a str, steps: &[PlanStep]) -> Vec<Place<'a>> {
    let mut found = Vec::new();
    // The next closing brace: many opening ones may stand before the same one, or before none.
    let mut closing = Some(0);
    for (from, _) in text.match_indices('$') {
        let Some(tail) = text.get(from + 1..) else { continue };
        let (name, pointer, length) = if let Some(inside) = tail.strip_prefix('{') {
            let start = from + 2;
            if closing.is_some_and(|at| at < start) {
                closing = inside.find('}').map(|end| start + end);
            }
            let Some(end) = closing.map(|at| at - start) else { continue };
            let whole = inside.get(..end).unwrap_or("");
            let slash = whole.find('/').unwrap_or(whole.len());
            let (name, pointer) = whole.split_at_checked(slash).unwrap_or((whole, ""));
            (name.trim(), pointer, end + 2)
        } else {
            let name = name_of(tail);
            let behind = tail.get(name.len()..).unwrap_or("");
            let mut next = behind.chars();
            let amount = matches!(next.next(), Some('.' | ','))
                && next.next().is_some_and(|c| c.is_ascii_digit());
            if amount {
                continue;
            }
            (name, "", name.len())
        };
        if let Some(step) = resolve(name, steps) {
            found.push(Place { from, to: from + 1 + length, step, pointer });
        }
    }
    found
}

/// The longest run at the start of `text` that can be an id.
fn name_of(text: &str) -> &str {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let end = text.find(|c: char| !inside(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or("").trim_end_matches('-')
}

/// The step that `name` refers to: by id, or by position if no id is a number.
pub(super) fn resolve(name: &str, steps: &[PlanStep]) -> Option<usize> {
    if let Some(at) = steps.iter().position(|step| step.id.as_str() == name) {
        return Some(at);
    }
    if steps.iter().any(|step| step.id.as_str().parse::<u64>().is_ok()) {
        return None;
    }
    let place: usize = name.parse().ok()?;
    place.checked_sub(1).filter(|at| *at < steps.len())
}

/// The part of `value` that a JSON Pointer names.
fn pointed<'v>(value: &'v Json<'static>, pointer: &str) -> Option<&'v Json<'static>> {
    let mut value = value;
    for part in pointer.split('/').skip(1) {
        let part = unescaped(part);
        value = match value {
            Json::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            other => other.get(&part)?,
        };
    }
    Some(value)
}

/// A short text of a value: never JSON.
fn shown(value: &Json<'_>) -> String {
    let join = |items: &mut dyn Iterator<Item = &Json<'_>>, between: &str| {
        let mut out = String::new();
        for text in items.map(shown).filter(|text| !text.is_empty()) {
            out.push_str(if out.is_empty() { "" } else { between });
            out.push_str(&text);
        }
        out
    };
    let text = match value {
        Json::Null => String::new(),
        Json::String(text) => text.to_string(),
        Json::Array(items) => join(&mut items.iter(), "; "),
        Json::Object(members) => {
            let title = ["title", "name"].iter().find_map(|name| value.get(name)?.as_str());
            let list = ["items", "results"].iter().find_map(|name| value.get(name)?.as_array());
            match (title, list) {
                (Some(title), _) => title.to_owned(),
                (None, Some(items)) => join(&mut items.iter(), "; "),
                (None, None) => join(&mut members.iter().map(|(_, value)| value), " "),
            }
        }
        other => other.to_text(),
    };
    let mut out = String::new();
    for word in text.split_whitespace() {
        out.push_str(if out.is_empty() { "" } else { " " });
        out.push_str(word);
    }
    if let Some((end, _)) = out.char_indices().nth(limits::PLACEHOLDER_CHARS) {
        out.truncate(end);
    }
    out
}

fn cut(text: &str) -> &str {
    let most = limits::PLACEHOLDER_BYTES.min(text.len());
    (0..=most).rev().find_map(|end| text.get(..end)).unwrap_or("")
}
