//! Arguments that arrive by JSON path, such as `$.recipe.steps[0]`:
//! <https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling>.

use std::borrow::Cow;

use crate::json::Json;
use crate::limits;

/// Adds `{ jsonPath, stringValue | numberValue | boolValue | nullValue }` to `arguments`. A text
/// at a place that has one is its continuation. `false` if the place cannot be reached.
pub(super) fn add(arguments: &mut Json<'static>, piece: &Json<'_>) -> bool {
    let path = piece.get("jsonPath").and_then(Json::as_str).unwrap_or_default();
    let Some(place) = place(arguments, path) else { return false };
    let value = ["stringValue", "numberValue", "boolValue"].iter().find_map(|key| piece.get(key));
    match (place, value) {
        (Json::String(before), Some(Json::String(more))) => before.to_mut().push_str(more),
        (place, Some(value)) => *place = value.clone().into_owned(),
        (place, None) if piece.get("nullValue").is_some() => *place = Json::Null,
        // It begins a text, or ends it.
        (_, None) if !has_unknown(piece) => {}
        (_, None) => return false,
    }
    true
}

/// Whether a piece has a kind of value that is not known.
fn has_unknown(piece: &Json<'_>) -> bool {
    let known = ["jsonPath", "willContinue"];
    piece.members().any(|(key, value)| !value.is_null() && !known.contains(&key))
}

/// The place of `path`, which is made if it is missing.
fn place<'a>(root: &'a mut Json<'static>, path: &str) -> Option<&'a mut Json<'static>> {
    let mut at = root;
    let mut rest = path.strip_prefix('$')?;
    let mut depth = 0;
    while !rest.is_empty() {
        depth += 1;
        if depth > limits::JSON_DEPTH {
            return None;
        }
        let (step, tail) = step(rest)?;
        rest = tail;
        at = match step {
            Step::Member(name) => member(at, name)?,
            Step::Item(index) => item(at, index)?,
        };
    }
    Some(at)
}

enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

/// The first step of a path, and what follows it.
fn step(path: &str) -> Option<(Step<'_>, &str)> {
    if let Some(name) = path.strip_prefix('.') {
        let end = name.bytes().position(|byte| byte == b'.' || byte == b'[').unwrap_or(name.len());
        let (name, tail) = name.split_at_checked(end)?;
        return (!name.is_empty()).then_some((Step::Member(name), tail));
    }
    let inside = path.strip_prefix('[')?;
    let quote = inside.bytes().next().filter(|byte| matches!(byte, b'\'' | b'"'));
    let close = match quote {
        Some(quote) => {
            let name = inside.get(1..)?.bytes();
            1 + name.zip(inside.bytes().skip(2)).position(|two| two == (quote, b']'))?
        }
        None => inside.bytes().position(|byte| byte == b']')?,
    };
    let (name, tail) = inside.split_at_checked(close)?;
    Some(match quote {
        Some(_) => (Step::Member(name.get(1..)?), tail.get(2..)?),
        None => (Step::Item(name.parse().ok()?), tail.get(1..)?),
    })
}

fn member<'a>(at: &'a mut Json<'static>, name: &str) -> Option<&'a mut Json<'static>> {
    if at.is_null() {
        *at = Json::Object(Vec::new());
    }
    let Json::Object(members) = at else { return None };
    let place = members.iter().rposition(|(key, _)| key == name);
    let place = place.unwrap_or_else(|| {
        members.push((Cow::Owned(name.to_owned()), Json::Null));
        members.len() - 1
    });
    members.get_mut(place).map(|(_, value)| value)
}

/// Items arrive in order, so that an index makes one item at most.
fn item<'a>(at: &'a mut Json<'static>, index: usize) -> Option<&'a mut Json<'static>> {
    if at.is_null() {
        *at = Json::Array(Vec::new());
    }
    let Json::Array(items) = at else { return None };
    if index == items.len() {
        items.push(Json::Null);
    }
    items.get_mut(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pieces: &[(&str, &str)]) -> Option<String> {
        let mut all = Json::Object(Vec::new());
        for (path, value) in pieces {
            let piece = format!(r#"{{"jsonPath":{path:?},{value}}}"#);
            if !add(&mut all, &Json::parse_str(&piece).unwrap()) {
                return None;
            }
        }
        Some(all.to_text())
    }

    #[test]
    fn arguments_are_placed() {
        let text = |text: &str| format!(r#""stringValue":"{text}""#);
        let (a, b) = (&*text("a"), &*text("b"));
        let one = r#""numberValue":1"#;
        type Row<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
        let rows: [Row<'_>; 8] = [
            (&[("$.x", a), ("$.x", b), ("$.x", &text(""))], Some(r#"{"x":"ab"}"#)),
            (&[("$.x[0].y", a), ("$.x[1].y", one)], Some(r#"{"x":[{"y":"a"},{"y":1}]}"#)),
            (&[("$['a.b']", a), ("$[\"c]\"].d", b)], Some(r#"{"a.b":"a","c]":{"d":"b"}}"#)),
            (
                &[("$.x", r#""boolValue":true"#), ("$.y", r#""nullValue":"NULL_VALUE""#)],
                Some(r#"{"x":true,"y":null}"#),
            ),
            (&[("$.x[9]", a)], None),
            (&[("$.x", a), ("$.x.y", b)], None),
            (&[("x", a)], None),
            (&[("$.", a)], None),
        ];
        for (pieces, want) in rows {
            assert_eq!(made(pieces).as_deref(), want, "{pieces:?}");
        }
        let deep = format!("${}", ".a".repeat(200));
        assert_eq!(made(&[(&deep, a)]), None);
    }
}
