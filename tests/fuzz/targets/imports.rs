//! Histories of the shapes that one importer reads: a row of `tests/histories/shapes.json`, changed
//! with the words that the importer's source has.

use serde_json::{Value, json};
use turnlock::Dialect;

use super::{Bytes, histories};

const ROWS: &str = include_str!("../../histories/shapes.json");
/// Changes of one input. More make histories that nobody has.
const CHANGES: usize = 16;

macro_rules! importers {
    ($($name:ident)*) => {
        $(pub(super) fn $name(data: &[u8]) {
            thread_local! {
                static WORDS: Vec<&'static str> = words(include_str!(concat!(
                    "../../../src/history/import/", stringify!($name), ".rs"
                )));
            }
            WORDS.with(|words| import(words, data));
        })*
    };
}

importers! { block call event gemini item langchain media message ui }

thread_local! {
    static HISTORIES: Vec<Value> = serde_json::from_str::<Vec<Value>>(ROWS)
        .expect("rows")
        .into_iter()
        .flat_map(|mut row| [row["input"].take(), row["messages"].take()])
        .filter(Value::is_array)
        .collect();
}

/// The strings of a source: the members' names and the values that it compares.
fn words(source: &'static str) -> Vec<&'static str> {
    let word = |text: &&str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./:".contains(&byte))
    };
    let mut words: Vec<_> = source.split('"').skip(1).step_by(2).filter(word).collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn import(words: &[&str], data: &[u8]) {
    let mut bytes = Bytes(data);
    let dialect = Dialect::ALL[bytes.below(Dialect::ALL.len())];
    let mut history = HISTORIES.with(|all| all[bytes.wide() % all.len()].clone());
    for _ in 0..CHANGES {
        if bytes.is_empty() {
            break;
        }
        change(&mut history, words, &mut bytes);
    }
    histories::hold(history.to_string().as_bytes(), dialect);
}

/// Goes down to a value, and changes it.
fn change(value: &mut Value, words: &[&str], bytes: &mut Bytes<'_>) {
    // A quarter stops here, so that what is outside is changed too.
    let stops = bytes.byte() < 64;
    match value {
        Value::Array(items) if !stops && !items.is_empty() => {
            let at = bytes.below(items.len());
            change(&mut items[at], words, bytes);
        }
        Value::Object(members) if !stops && !members.is_empty() => {
            let at = bytes.below(members.len());
            let inner = members.values_mut().nth(at).expect("a member");
            change(inner, words, bytes);
        }
        Value::Array(items) => {
            let at = bytes.below(items.len() + 1);
            match bytes.below(4) {
                0 if at < items.len() => drop(items.remove(at)),
                1 if at < items.len() => items.insert(at, items[at].clone()),
                2 if at < items.len() => items.swap(at, 0),
                _ => items.insert(at, made(words, bytes, 0)),
            }
        }
        Value::Object(members) => {
            let at = bytes.below(members.len() + 1);
            let key = members.keys().nth(at).cloned();
            match (bytes.below(4), key) {
                (0, Some(key)) => drop(members.remove(&key)),
                (1, Some(key)) => {
                    let moved = members.remove(&key).expect("a member");
                    members.insert(word(words, bytes), moved);
                }
                (2, Some(key)) => {
                    let inner = members[&key].clone();
                    members.insert(word(words, bytes), inner);
                }
                _ => {
                    members.insert(word(words, bytes), made(words, bytes, 0));
                }
            }
        }
        other => {
            *other = match bytes.below(4) {
                0 => json!([other.take()]),
                1 => json!({ word(words, bytes): other.take() }),
                _ => made(words, bytes, 0),
            }
        }
    }
}

fn word(words: &[&str], bytes: &mut Bytes<'_>) -> String {
    words[bytes.wide() % words.len()].to_owned()
}

/// A value of a few members, of the importer's words.
fn made(words: &[&str], bytes: &mut Bytes<'_>, depth: u8) -> Value {
    match bytes.below(if depth < 3 { 12 } else { 10 }) {
        0..=2 => json!(word(words, bytes)),
        3 => json!("text"),
        4 => json!(""),
        5 => Value::Null,
        6 => json!(bytes.byte() < 128),
        7 => json!(bytes.byte()),
        8 => json!(r#"{"a":1}"#),
        9 => json!({}),
        10 => (0..bytes.below(3)).map(|_| made(words, bytes, depth + 1)).collect(),
        _ => {
            let members =
                (0..bytes.below(4)).map(|_| (word(words, bytes), made(words, bytes, depth + 1)));
            Value::Object(members.collect())
        }
    }
}
