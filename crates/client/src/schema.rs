//! JSON Schema, as tools and replicates are checked by it.

use turnlock::json::Json;

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
        let compiled = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        Ok(Some(Self { compiled }))
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
