//! Placeholders: a step's query may contain results of earlier steps.
//!
//! `${id}` is a short text of the result of the step `id`; `${id/0/title}` is a part of the result, named
//! by a JSON Pointer (RFC 6901). If no id is a number, a number is the position of the step, from 1.
//!
//! A dollar sign without braces is a reference only if it can be nothing else. `$name` names the step
//! with that id. `$1` names a step in `depends_on`, and is an amount after a letter (`US$1`), before a
//! digit, a letter or a fraction (`$1M`, `$1,000`, `$2.50`), before a word for a number
//! (`$1 trillion`), and in a range (`$1-$2`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::plan::{PlanStep, StepId, bare};
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
    /// Whether it has braces.
    braced: bool,
}

/// The steps that the query of `step` mentions, each once, in order, and whether with braces.
pub(crate) fn mentioned(step: &PlanStep, steps: &[PlanStep]) -> Vec<(usize, bool)> {
    let mut found: Vec<(usize, bool)> = Vec::new();
    for place in places(&step.query, steps, Some(&step.depends_on)) {
        match found.iter_mut().find(|(at, _)| *at == place.step) {
            Some((_, braced)) => *braced |= place.braced,
            None => found.push((place.step, place.braced)),
        }
    }
    found
}

/// The steps that the condition `when` mentions, in order.
pub(crate) fn mentioned_in_condition(when: &str, steps: &[PlanStep]) -> Vec<usize> {
    places(when, steps, None).into_iter().map(|place| place.step).collect()
}

/// Fills in the placeholders in the query of `step` whose steps have a `result`. A result becomes the `short` text
/// of it, or its title, or its first [`limits::PLACEHOLDER_CHARS`] characters; a list those of its
/// items, joined with `; `. A text that a pointer names is cut to [`limits::PLACEHOLDER_BYTES`].
pub(crate) fn fill<'r>(
    step: &PlanStep,
    steps: &[PlanStep],
    result: &dyn Fn(usize) -> Option<&'r Json<'static>>,
    short: &dyn Fn(usize) -> Option<&'r str>,
) -> String {
    let text = step.query.as_str();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    // A text is made of a part once, however often it is mentioned: the part may be large.
    let mut known: BTreeMap<(usize, &str), Cow<'_, str>> = BTreeMap::new();
    for place in places(text, steps, Some(&step.depends_on)) {
        let Some(value) = result(place.step) else { continue };
        out.push_str(text.get(at..place.from).unwrap_or(""));
        let make = || made(value, &place, short);
        out.push_str(known.entry((place.step, place.pointer)).or_insert_with(make));
        at = place.to;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    out
}

/// The text that stands for a placeholder.
fn made<'r>(
    value: &'r Json<'static>,
    place: &Place<'_>,
    short: &dyn Fn(usize) -> Option<&'r str>,
) -> Cow<'r, str> {
    let whole = place.pointer.is_empty();
    match pointed(value, place.pointer) {
        Some(Json::String(text)) if !whole => Cow::Borrowed(cut(text)),
        part => match short(place.step).filter(|_| whole) {
            Some(text) => Cow::Borrowed(cut(text)),
            None => Cow::Owned(shown(part.unwrap_or(&Json::Null))),
        },
    }
}

/// The first placeholder in the query of `step` that refers to an empty result, to nothing in a
/// result, or to a part of which no text is left, as it is written.
pub(crate) fn empty<'r, 't>(
    step: &'t PlanStep,
    steps: &[PlanStep],
    result: &dyn Fn(usize) -> Option<&'r Json<'static>>,
    short: &dyn Fn(usize) -> Option<&'r str>,
) -> Option<&'t str> {
    let says_nothing = |place: &Place<'_>| {
        let Some(value) = result(place.step) else { return false };
        pointed(value, place.pointer).is_none_or(super::results::is_empty)
            || crate::text::is_blank(&made(value, place, short))
    };
    let place =
        places(&step.query, steps, Some(&step.depends_on)).into_iter().find(says_nothing)?;
    step.query.get(place.from..place.to)
}

/// The name in the first placeholder with braces that refers to a step in form, by a number or as
/// `step 1`, and to none of these steps. Other text in braces, such as `${name}`, belongs to the query.
pub(crate) fn unknown<'t>(text: &'t str, steps: &[PlanStep]) -> Option<&'t str> {
    text.match_indices("${").find_map(|(at, _)| {
        let (inside, _) = text.get(at + 2..)?.split_once('}')?;
        let (name, _) = inside.split_once('/').unwrap_or((inside, ""));
        let name = name.trim();
        let step = bare(name).split('.').next().unwrap_or_default();
        let numbered = !step.is_empty() && is_number(step);
        (numbered && resolve(name, steps).is_none()).then_some(name)
    })
}

/// The placeholders in a text. Of those without braces, a number counts if its step is `needed`; in a
/// condition, which has no amounts, it always does.
fn places<'a>(text: &'a str, steps: &[PlanStep], needed: Option<&[StepId]>) -> Vec<Place<'a>> {
    let mut found = Vec::new();
    // The next closing brace: many opening ones may stand before the same one, or before none.
    let mut closing = Some(0);
    for (from, _) in text.match_indices('$') {
        let Some(tail) = text.get(from + 1..) else { continue };
        let braced = tail.starts_with('{');
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
            let before = text.get(..from).unwrap_or("");
            let behind = tail.get(name.len()..).unwrap_or("");
            if needed.is_some() && is_amount(before, name, behind) {
                continue;
            }
            (name, "", name.len())
        };
        let Some(step) = resolve(name, steps) else { continue };
        let number = !braced && is_number(name);
        let is_needed =
            |needed: &[StepId]| steps.get(step).is_some_and(|one| needed.contains(&one.id));
        if !number || needed.is_none_or(is_needed) {
            found.push(Place { from, to: from + 1 + length, step, pointer, braced });
        }
    }
    found
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Words behind an amount, in lower case.
const NUMBER_WORDS: &[&str] = &[
    "bil",
    "billion",
    "billions",
    "bn",
    "cent",
    "cents",
    "crore",
    "dollar",
    "dollars",
    "dozen",
    "grand",
    "hundred",
    "k",
    "lakh",
    "m",
    "mil",
    "milliard",
    "milliarde",
    "milliarden",
    "milliards",
    "millones",
    "million",
    "millionen",
    "millions",
    "millón",
    "mio",
    "mm",
    "mn",
    "mrd",
    "quadrillion",
    "thousand",
    "tn",
    "trillion",
    "trillions",
    "usd",
    "億",
    "万",
    "亿",
];

/// Whether `$name` is an amount of money, or belongs to a word, by what is before and behind it.
fn is_amount(before: &str, name: &str, behind: &str) -> bool {
    if before.ends_with(char::is_alphabetic) {
        return true;
    }
    if !is_number(name) {
        return false;
    }
    let fraction = behind.strip_prefix(['.', ',']);
    if fraction.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return true;
    }
    let next = behind.trim_start();
    let range = next.trim_start_matches(['-', '–', '—']);
    if range.len() < next.len() && range.trim_start().starts_with('$') {
        return true;
    }
    let word = next.trim_start_matches('-');
    let end = word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len());
    let word = word.get(..end).unwrap_or("");
    NUMBER_WORDS.iter().any(|number| word.eq_ignore_ascii_case(number))
}

/// The longest run at the start of `text` that can be an id.
fn name_of(text: &str) -> &str {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let end = text.find(|c: char| !inside(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or("").trim_end_matches('-')
}

/// The step that `name` refers to: by id, also as `step 1`, or by position if no id is a number.
pub(super) fn resolve(name: &str, steps: &[PlanStep]) -> Option<usize> {
    if let Some(at) = steps.iter().position(|step| step.id.as_str() == name) {
        return Some(at);
    }
    let plain = bare(name);
    if plain != name && is_number(plain) {
        return resolve(plain, steps);
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
