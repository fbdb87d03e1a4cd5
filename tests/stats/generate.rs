//! Random JSON values, schemas of every kind, and values that a schema is about.

use serde_json::{Value, json};

use crate::common::Random;

pub fn pick<'a, T>(random: &mut Random, all: &'a [T]) -> &'a T {
    &all[random.below(all.len())]
}

#[rustfmt::skip]
const WORDS: [&str; 16] = [
    "alpha", "Beta", "caf\u{e9}", "cafe\u{301}", "東京", "x1", "!", "δelta",
    "-5", "5", "1,000", "A+", "> 5", "$5", "a - b", "[1, 2)",
];

fn text(random: &mut Random) -> Value {
    let words: Vec<&str> = (0..random.below(4)).map(|_| *pick(random, &WORDS)).collect();
    const BETWEEN: [&str; 3] = [" ", ", ", "-"];
    json!(words.join(pick::<&str>(random, &BETWEEN)))
}

fn number(random: &mut Random) -> Value {
    match random.below(8) {
        0 => json!(0),
        1 => json!(-5),
        2 => json!(9_007_199_254_740_993_u64),
        3 => json!(1e308),
        4 => json!(-1e308),
        5 => json!(5e-324),
        _ => json!((f64::from(u32::try_from(random.below(2001)).unwrap()) - 1000.0) / 100.0),
    }
}

/// Any value, nested at most `depth` deep.
pub fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 | 3 => number(random),
        4 => text(random),
        5 => (0..random.below(5)).map(|_| value(random, depth - 1)).collect(),
        _ => (0..random.below(5))
            .map(|_| {
                let key = *pick(random, &["a", "b", "c", "k/1", "k~2", "", "é"]);
                (key.to_owned(), value(random, depth - 1))
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

/// A schema of any kind.
pub fn schema(random: &mut Random, depth: usize) -> Value {
    let low = number(random);
    let mut made = match random.below(if depth == 0 { 8 } else { 14 }) {
        0 => json!({ "type": "number" }),
        1 => json!({ "type": ["number", "null"], "minimum": -10, "maximum": 10 }),
        2 => json!({ "type": "integer", "exclusiveMinimum": low, "maximum": 5 }),
        3 => json!({ "enum": ["alpha", "Beta", "x1", 0], "x-compare": "ordinal" }),
        4 => json!({ "enum": ["alpha", "Beta", "x1"] }),
        5 => json!({ "type": "boolean" }),
        6 => json!({ "type": "string" }),
        7 => json!({ "type": "string", "format": "date" }),
        8 => json!({ "type": "array", "uniqueItems": true, "items": { "type": "string" } }),
        9 => json!({ "type": "array", "items": { "type": "string" } }),
        10 => json!({ "type": "array", "x-compare": "sequence" }),
        11 => json!({ "type": "array", "items": { "type": "number" } }),
        12 => json!({ "type": "array", "x-key": "a",
                      "items": { "type": "object", "properties": { "a": { "type": "string" } } } }),
        _ => {
            let members = (0..1 + random.below(3)).map(|at| {
                (
                    (*pick(random, &["a", "b", "c"])).to_owned() + if at > 1 { "2" } else { "" },
                    schema(random, depth - 1),
                )
            });
            let members: serde_json::Map<String, Value> = members.collect();
            json!({ "type": "object", "properties": members })
        }
    };
    if random.below(5) == 0 {
        made["x-weight"] = json!(*pick(random, &[0.0, 0.5, 3.0]));
    }
    if random.below(6) == 0 {
        made["x-range"] = json!(4);
    }
    made
}

/// A value that a schema is about, more or less.
pub fn fitting(random: &mut Random, schema: &Value, depth: usize) -> Value {
    if random.below(8) == 0 {
        return value(random, depth);
    }
    if let Some(values) = schema["enum"].as_array() {
        return pick(random, values).clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(random.below(2) == 0),
        Some("string") => text(random),
        Some("array") => {
            let items = &schema["items"];
            let one = |random: &mut Random| match items["type"].as_str() {
                Some("object") => json!({ "a": pick(random, &WORDS), "b": number(random) }),
                Some("number") => number(random),
                _ => json!(pick(random, &WORDS)),
            };
            (0..random.below(5)).map(|_| one(random)).collect()
        }
        Some("object") => {
            let mut made = serde_json::Map::new();
            for (name, inner) in schema["properties"].as_object().unwrap() {
                if random.below(6) > 0 {
                    made.insert(name.clone(), fitting(random, inner, depth));
                }
            }
            made.into()
        }
        _ => number(random),
    }
}

/// The same value in other words: members and set members turned round, NFC undone.
pub fn same(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().rev().map(|(key, value)| (key.clone(), same(value))).collect()
        }
        Value::Array(items) => items.iter().map(same).collect(),
        Value::String(text) => json!(text.replace('\u{e9}', "e\u{301}")),
        other => other.clone(),
    }
}
