//! JSON Schema, as tools and replicates are checked by it.

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

/// The validator of a schema; what is no schema is not kept.
#[cfg(feature = "jsonschema")]
fn compile(schema: &serde_json::Value) -> Result<jsonschema::Validator, String> {
    let text = schema.to_string();
    if let Some(known) = COMPILED.with_borrow(|kept| kept.get(&text).cloned()) {
        return Ok(known);
    }
    let compiled = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
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
        Ok(Some(Self { compiled: compile(&schema)? }))
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
        let say =
            |error: jsonschema::ValidationError<'_>| format!("#{}: {error}", error.instance_path());
        self.compiled.iter_errors(&value).take(most).map(say).collect()
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
        let kept = || COMPILED.with_borrow(|kept| kept.len());
        for round in 0..2 {
            for n in 0..=most {
                let schema = json!({ "type": "object", "properties": { "n": { "const": n } } });
                assert!(says(&schema, &json!({ "n": n })).is_empty(), "{round} {n}");
                assert_eq!(says(&schema, &json!({ "n": n + 1 })), [format!("{n} was expected")]);
                assert!(kept() <= most, "{}", kept());
            }
        }
        let before = kept();
        let large = json!({ "type": "string", "description": "x".repeat(bytes) });
        assert_eq!(says(&large, &json!(1)).len(), 1);
        let wrong = json!({ "type": 5 });
        assert_eq!(compile(&wrong).unwrap_err(), compile(&wrong).unwrap_err());
        assert_eq!(kept(), before);
    }
}
