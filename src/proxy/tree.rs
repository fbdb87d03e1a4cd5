//! JSON of a provider, read with care.

use super::stray::folded;
use super::wire::Wire;
use crate::index::Index;
use crate::json::{Json, Reader};

/// The object of a text.
#[derive(Debug)]
pub(super) struct Tree {
    /// Of two members of one name, it has the last, as `JSON.parse`.
    pub(super) json: Json<'static>,
    /// A string in it, names included, is a word of calls.
    pub(super) names_call: bool,
    /// An object in it has two members of one name.
    pub(super) repeats: bool,
}

/// Characters of a string that may be a name; longer ones are texts.
const LONGEST_NAME: usize = 64;

/// The JSON object of a text; `None` for everything else, and for one that is nested too deeply.
pub(super) fn parse(text: &str, wire: Wire) -> Option<Tree> {
    let json = value(text).filter(|json| json.as_object().is_some())?;
    let mut tree = Tree { json: json.into_owned(), names_call: false, repeats: false };
    tree.names_call = names_call(&tree.json, wire);
    tree.repeats = keep_last(&mut tree.json);
    Some(tree)
}

/// The JSON value of a text.
pub(super) fn value(text: &str) -> Option<Json<'_>> {
    let mut reader = Reader::response(text);
    let value = reader.value().ok()?;
    reader.end().ok()?;
    Some(value)
}

fn names_call(json: &Json<'_>, wire: Wire) -> bool {
    let is_name = |text: &str| {
        // JavaScript's white space.
        let is_space = |c: char| c.is_whitespace() || c == '\u{feff}';
        let is_short = text.chars().nth(LONGEST_NAME).is_none();
        is_short && !text.chars().any(is_space) && wire.names_call(text)
    };
    match json {
        Json::String(text) => is_name(text),
        Json::Array(items) => items.iter().any(|item| names_call(item, wire)),
        Json::Object(members) => {
            members.iter().any(|(name, value)| is_name(name) || names_call(value, wire))
        }
        _ => false,
    }
}

/// Keeps the last of two members of one name; whether there were any.
pub(super) fn keep_last(json: &mut Json<'static>) -> bool {
    match json {
        Json::Array(items) => {
            let mut repeats = false;
            for item in items {
                repeats |= keep_last(item);
            }
            repeats
        }
        Json::Object(members) => {
            let mut repeats = false;
            for (_, value) in members.iter_mut() {
                repeats |= keep_last(value);
            }
            if has_repeats(members) {
                let mut names = Index::default();
                let mut left: Vec<(_, Json<'static>)> = Vec::new();
                for (name, value) in std::mem::take(members) {
                    match left.get_mut(names.number(&name)) {
                        Some(before) => before.1 = value,
                        None => left.push((name, value)),
                    }
                }
                *members = left;
                repeats = true;
            }
            repeats
        }
        _ => false,
    }
}

fn has_repeats<T>(members: &[(std::borrow::Cow<'_, str>, T)]) -> bool {
    if members.len() <= 16 {
        let mut rest = members;
        while let [(name, _), behind @ ..] = rest {
            if behind.iter().any(|(other, _)| other == name) {
                return true;
            }
            rest = behind;
        }
        return false;
    }
    let mut names = Index::default();
    members.iter().enumerate().any(|(at, (name, _))| names.number(name) != at)
}

/// Sets a member in its place, or at the end.
pub(super) fn set(json: &mut Json<'static>, name: &'static str, value: Json<'static>) {
    let Json::Object(members) = json else { return };
    match members.iter_mut().find(|(member, _)| member == name) {
        Some((_, before)) => *before = value,
        None => members.push((name.into(), value)),
    }
}

/// Removes a member.
pub(super) fn remove(json: &mut Json<'static>, name: &str) -> Option<Json<'static>> {
    let Json::Object(members) = json else { return None };
    let at = members.iter().position(|(member, _)| member == name)?;
    Some(members.remove(at).1)
}

/// A member to change; `None` if it is missing.
pub(super) fn member<'a>(json: &'a mut Json<'static>, name: &str) -> Option<&'a mut Json<'static>> {
    let Json::Object(members) = json else { return None };
    members.iter_mut().find_map(|(member, value)| (member == name).then_some(value))
}

/// Whether a value is an object with members.
pub(super) fn is_full(value: &Json<'_>) -> bool {
    value.members().len() > 0
}

/// Whether a value is nothing, or an empty text.
pub(super) fn is_blank(value: &Json<'_>) -> bool {
    value.is_null() || value.as_str() == Some("")
}

/// Whether each value is a text, or not there: of others, each client makes a text of its own.
pub(super) fn are_texts(values: &[&Json<'_>]) -> bool {
    values.iter().all(|value| matches!(value, Json::Null | Json::String(_)))
}

/// Whether a value is a number, or not there.
pub(super) fn is_number(value: &Json<'_>) -> bool {
    matches!(value, Json::Null | Json::Number(_))
}

/// Whether each value is an object, or not there.
pub(super) fn are_objects(values: &[&Json<'_>]) -> bool {
    values.iter().all(|value| matches!(value, Json::Null | Json::Object(_)))
}

/// Whether arguments are an object or a text, or not there.
pub(super) fn is_arguments(value: &Json<'_>) -> bool {
    matches!(value, Json::Null | Json::String(_) | Json::Object(_))
}

/// The text of arguments: JSON text, or the JSON of a value.
pub(super) fn arguments(value: &Json<'_>) -> String {
    value.as_str().map_or_else(|| value.to_text(), str::to_owned)
}

/// The text of a value for a client that joins it to one: that of `["a"]` is `a`.
pub(super) fn joined_text(value: &Json<'_>) -> String {
    match value {
        Json::String(text) | Json::Number(text) => text.to_string(),
        Json::Bool(value) => value.to_string(),
        Json::Array(items) => items.iter().map(joined_text).collect::<Vec<_>>().join(","),
        _ => String::new(),
    }
}

/// The name of a place: of a number, the text that JavaScript writes.
pub(super) fn place_name(value: &Json<'_>) -> String {
    match value {
        Json::Number(text) if text.len() > 15 || text.bytes().any(|b| !b.is_ascii_digit()) => {
            Json::double(value.as_f64().unwrap_or(0.0)).to_text()
        }
        Json::Number(text) | Json::String(text) => text.to_string(),
        other => other.to_text(),
    }
}

/// A place in a response: a number as JavaScript makes one of any value. What is no number is one
/// place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u64);

impl Place {
    pub(super) const NONE: Self = Self(u64::MAX);

    pub(super) fn of(value: Option<&Json<'_>>) -> Self {
        let number = match value {
            Some(Json::Null) => Some(0.0),
            Some(Json::Bool(value)) => Some(f64::from(u8::from(*value))),
            Some(value @ Json::Number(_)) => value.as_f64(),
            Some(Json::String(text)) if text.trim().is_empty() => Some(0.0),
            Some(Json::String(text)) => {
                let text = folded(text.trim());
                value_of_number(&text)
            }
            _ => None,
        };
        // Of zero and minus zero, JavaScript makes one place.
        number.map_or(Self::NONE, |number| Self((number + 0.0).to_bits()))
    }

    pub(super) fn at(count: u32) -> Self {
        Self(f64::from(count).to_bits())
    }
}

fn value_of_number(text: &str) -> Option<f64> {
    value(text)?.as_f64()
}

/// What is in places, in their order.
#[derive(Debug, Clone)]
pub(super) struct Places<T>(Vec<(Place, T)>);

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Places<T> {
    pub(super) fn get(&self, place: Place) -> Option<T> {
        let at = self.0.binary_search_by_key(&place, |(other, _)| *other).ok()?;
        self.0.get(at).map(|(_, value)| *value)
    }

    pub(super) fn set(&mut self, place: Place, value: T) {
        match self.0.binary_search_by_key(&place, |(other, _)| *other) {
            Ok(at) => {
                if let Some(before) = self.0.get_mut(at) {
                    before.1 = value;
                }
            }
            Err(at) => self.0.insert(at, (place, value)),
        }
    }

    pub(super) fn remove(&mut self, place: Place) {
        if let Ok(at) = self.0.binary_search_by_key(&place, |(other, _)| *other) {
            self.0.remove(at);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
