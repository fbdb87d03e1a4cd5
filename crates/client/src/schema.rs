//! JSON Schema, as tools and replicates are checked by it.
//!
//! A model writes the data, so a check has a bound. The library cannot count its steps, but it takes
//! keywords of a host: each reference is followed by way of one that counts. Between references, the
//! work is at most the size of the schema times that of the data, which is looked at before.

use turnlock::json::Json;

/// Schemas that a thread keeps compiled, and the bytes of the largest.
#[cfg(feature = "jsonschema")]
const KEPT: (usize, usize) = (64, 16 * 1024);

#[cfg(feature = "jsonschema")]
thread_local! {
    /// Compiled schemas by their text. In wasm each compilation also compiles the schema of schemas,
    /// which takes longer than a turn does; hosts make the same tools for every turn.
    static COMPILED: std::cell::RefCell<std::collections::BTreeMap<String, jsonschema::Validator>> =
        std::cell::RefCell::default();
}

/// References that one check may follow. A recursive schema takes one for each level and branch.
#[cfg(feature = "jsonschema")]
const MOST_REFERENCES: u32 = 100_000;

/// Keywords of the schema × values of the data in one check.
#[cfg(feature = "jsonschema")]
const MOST_PRODUCT: usize = 50_000_000;

/// The keyword that counts: it holds as long as references may be followed.
#[cfg(feature = "jsonschema")]
const COUNTS: &str = "x-turnlock-counts";

#[cfg(feature = "jsonschema")]
thread_local! {
    /// References that the check of this thread may still follow.
    static LEFT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

#[cfg(feature = "jsonschema")]
struct Counts;

#[cfg(feature = "jsonschema")]
impl jsonschema::Keyword<'_> for Counts {
    fn validate(
        &self,
        value: &serde_json::Value,
    ) -> Result<(), jsonschema::ValidationError<'static>> {
        let is_left = jsonschema::Keyword::is_valid(self, value);
        is_left
            .then_some(())
            .ok_or_else(|| jsonschema::ValidationError::custom("no more references"))
    }

    fn is_valid(&self, _: &serde_json::Value) -> bool {
        LEFT.with(|left| {
            let more = left.get().checked_sub(1);
            left.set(more.unwrap_or_default());
            more.is_some()
        })
    }
}

/// Keywords with schemas by names that are no keywords.
#[cfg(feature = "jsonschema")]
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// A schema in which each reference is followed only while [`COUNTS`] holds.
#[cfg(feature = "jsonschema")]
fn counted(schema: &serde_json::Value) -> serde_json::Value {
    use serde_json::{Value, json};
    match schema {
        Value::Array(items) => items.iter().map(counted).collect(),
        Value::Object(members) => {
            let mut made = serde_json::Map::new();
            let mut references = Vec::new();
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                        let then =
                            Value::Object([(name.clone(), value.clone())].into_iter().collect());
                        references.push(json!({ "if": { COUNTS: true }, "then": then }));
                    }
                    ("enum" | "const" | "default" | "examples", _) => {
                        made.insert(name.clone(), value.clone());
                    }
                    (map, Value::Object(inner)) if MAPS.contains(&map) => {
                        let inner = inner.iter().map(|(key, own)| (key.clone(), counted(own)));
                        made.insert(name.clone(), Value::Object(inner.collect()));
                    }
                    _ => {
                        made.insert(name.clone(), counted(value));
                    }
                }
            }
            if !references.is_empty() {
                // At the end: pointers may lead to what stands before.
                match made.entry("allOf").or_insert_with(|| json!([])) {
                    Value::Array(all) => all.append(&mut references),
                    // The library says what is wrong with it.
                    _ => return schema.clone(),
                }
            }
            Value::Object(made)
        }
        other => other.clone(),
    }
}

/// The number of values in a value.
#[cfg(feature = "jsonschema")]
fn size(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Array(items) => items.iter().map(size).sum::<usize>().saturating_add(1),
        Value::Object(members) => members.values().map(size).sum::<usize>().saturating_add(1),
        _ => 1,
    }
}

/// The validator of a schema; what is no schema is not kept.
#[cfg(feature = "jsonschema")]
fn compile(schema: &serde_json::Value) -> Result<jsonschema::Validator, String> {
    let text = schema.to_string();
    if let Some(known) = COMPILED.with_borrow(|kept| kept.get(&text).cloned()) {
        return Ok(known);
    }
    let compiled = jsonschema::options()
        .with_keyword(COUNTS, |_, _, _| Ok(Box::new(Counts)))
        .build(&counted(schema))
        .map_err(|error| error.to_string())?;
    let (most, bytes) = KEPT;
    if text.len() <= bytes {
        COMPILED.with_borrow_mut(|kept| {
            if kept.len() == most {
                kept.clear();
            }
            kept.insert(text, compiled.clone());
        });
    }
    Ok(compiled)
}

/// A schema, compiled once.
#[derive(Debug)]
pub(super) struct Validator {
    #[cfg(feature = "jsonschema")]
    compiled: jsonschema::Validator,
    /// The number of its values.
    #[cfg(feature = "jsonschema")]
    size: usize,
}

impl Validator {
    /// `None` without the feature `jsonschema`; an error, in words, for what is no schema.
    #[cfg(not(feature = "jsonschema"))]
    pub(super) fn of(_: &Json<'static>) -> Result<Option<Self>, String> {
        Ok(None)
    }

    /// `None` without the feature `jsonschema`; an error, in words, for what is no schema.
    #[cfg(feature = "jsonschema")]
    pub(super) fn of(schema: &Json<'static>) -> Result<Option<Self>, String> {
        let schema: serde_json::Value = schema.to().map_err(|error| error.to_string())?;
        if !schema.is_object() {
            return Err("expected a JSON Schema object".to_owned());
        }
        Ok(Some(Self { compiled: compile(&schema)?, size: size(&schema) }))
    }

    /// What speaks against a value, `most` things at most; empty: nothing.
    #[cfg(not(feature = "jsonschema"))]
    pub(super) fn errors(&self, _: &Json<'static>, _: usize) -> Vec<String> {
        Vec::new()
    }

    /// What speaks against a value, `most` things at most; empty: nothing.
    #[cfg(feature = "jsonschema")]
    pub(super) fn errors(&self, value: &Json<'static>, most: usize) -> Vec<String> {
        let value: serde_json::Value = match value.to() {
            Ok(value) => value,
            Err(error) => return vec![error.to_string()],
        };
        if self.size.saturating_mul(size(&value)) > MOST_PRODUCT {
            return vec![
                "#: the check takes too many steps: too many items for this schema".to_owned(),
            ];
        }
        let is_exhausted = || LEFT.with(|left| left.get() == 0);
        let begin = || LEFT.with(|left| left.set(MOST_REFERENCES));
        let exhausted = || vec!["#: the schema follows too many references".to_owned()];
        begin();
        let is_valid = self.compiled.is_valid(&value);
        if is_exhausted() {
            return exhausted();
        }
        if is_valid {
            return Vec::new();
        }
        let message =
            |error: jsonschema::ValidationError<'_>| format!("#{}: {error}", error.instance_path());
        begin();
        let errors: Vec<_> = self.compiled.iter_errors(&value).take(most).map(message).collect();
        // Every error may stand behind a reference that was not followed.
        if errors.is_empty() { exhausted() } else { errors }
    }
}

#[cfg(all(test, feature = "jsonschema"))]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::{Value, json};

    use super::{COMPILED, KEPT, compile};

    fn says(schema: &Value, value: &Value) -> Vec<String> {
        let compiled = compile(schema).unwrap();
        compiled.iter_errors(value).map(|error| error.to_string()).collect()
    }

    #[test]
    fn a_schema_seen_before_says_the_same_and_those_that_are_kept_are_bounded() {
        let (most, bytes) = KEPT;
        let compiled = || COMPILED.with_borrow(|kept| kept.len());
        for round in 0..2 {
            for n in 0..=most {
                let schema = json!({ "type": "object", "properties": { "n": { "const": n } } });
                assert!(says(&schema, &json!({ "n": n })).is_empty(), "{round} {n}");
                assert_eq!(says(&schema, &json!({ "n": n + 1 })), [format!("{n} was expected")]);
                assert!(compiled() <= most, "{}", compiled());
            }
        }
        let before = compiled();
        let large = json!({ "type": "string", "description": "x".repeat(bytes) });
        assert_eq!(says(&large, &json!(1)).len(), 1);
        let wrong = json!({ "type": 5 });
        assert_eq!(compile(&wrong).unwrap_err(), compile(&wrong).unwrap_err());
        assert_eq!(compiled(), before);
    }

    /// What the validator of a schema says of a value.
    fn errors(schema: &Value, value: &Value) -> Vec<String> {
        let json = |value: &Value| super::Json::from(value.clone());
        super::Validator::of(&json(schema)).unwrap().unwrap().errors(&json(value), 5)
    }

    #[test]
    fn a_recursive_schema_ends_after_bounded_work() {
        let next = json!({ "properties": { "a": { "$ref": "#/$defs/node" } } });
        for keyword in ["oneOf", "anyOf", "allOf"] {
            let node = json!({ keyword: [next, next] });
            let schema = json!({ "$defs": { "node": node }, "$ref": "#/$defs/node" });
            let mut value = json!({ "b": 1 });
            for _ in 0..60 {
                value = json!({ "a": value });
            }
            // Without a bound, collecting the errors of `oneOf` takes 2^60 steps.
            assert_eq!(errors(&schema, &value).is_empty(), keyword != "oneOf", "{keyword}");
        }
        let list = json!({ "$defs": { "a": {} }, "items": { "$ref": "#/$defs/a" } });
        let items = |count: usize| Value::from(vec![0; count]);
        assert!(errors(&list, &items(1000)).is_empty());
        assert_eq!(errors(&list, &items(150_000)), ["#: the schema follows too many references"]);
        let recursive = json!({ "type": "object", "properties": { "a": { "$ref": "#" } } });
        assert!(errors(&recursive, &json!({ "a": { "a": {} } })).is_empty());
        assert_eq!(
            errors(&recursive, &json!({ "a": { "a": 1 } })),
            ["#/a/a: 1 is not of type \"object\""]
        );
        assert!(errors(&json!({ "$ref": "#", "allOf": [{ "$ref": "#" }] }), &json!(1)).len() < 2);
    }

    #[test]
    fn a_large_schema_checks_only_so_many_values() {
        let all: Vec<Value> = (0..2000).map(|_| json!({ "type": "integer" })).collect();
        let schema = json!({ "items": { "allOf": all } });
        let items = |count: usize| Value::from((0..count).collect::<Vec<_>>());
        assert!(errors(&schema, &items(100)).is_empty());
        let found = errors(&schema, &items(20_000));
        assert_eq!(found, ["#: the check takes too many steps: too many items for this schema"]);
    }

    #[test]
    fn a_reference_follows_members_alone_and_nothing_is_fetched() {
        for to in [
            "#/__proto__",
            "#/constructor/prototype",
            "#/%5f_proto__",
            "#/x~1y",
            "#nope",
            "https://x.example/a.json",
            "file:a.json",
        ] {
            let schema = json!({ "properties": { "a": { "$ref": to } } });
            assert!(compile(&schema).is_err(), "{to}");
        }
        let values = json!({ "enum": [{ "$ref": "#/no" }], "default": { "$ref": "#/no" } });
        assert!(errors(&values, &json!({ "$ref": "#/no" })).is_empty());
        let named = json!({ "properties": { "$ref": { "type": "string" } }, "required": ["$ref"] });
        assert_eq!(errors(&named, &json!({ "$ref": 1 })).len(), 1);
        let beside = json!({
            "$defs": { "a": { "type": "number" } },
            "$ref": "#/$defs/a",
            "allOf": [{ "minimum": 3 }],
            "maximum": 5,
        });
        assert!(errors(&beside, &json!(4)).is_empty());
        for value in [json!(2), json!(6), json!("x")] {
            assert_eq!(errors(&beside, &value).len(), 1, "{value}");
        }
    }

    #[test]
    fn an_expression_ends() {
        let text = json!(format!("{}!", "a".repeat(40)));
        for pattern in ["^(a+)+$", "^(?=(a+)+$)(b|a)+c$"] {
            assert_eq!(errors(&json!({ "pattern": pattern }), &text).len(), 1, "{pattern}");
        }
    }
}
