//! Checks arguments against a schema.

use serde_json::Value;

/// A tiny checker, enough for the tables; hosts bring a real one.
pub fn misfit(schema: &Value, args: &Value) -> Option<String> {
    for key in schema["required"].as_array().into_iter().flatten() {
        if args.get(key.as_str().unwrap()).is_none() {
            return Some(format!("{key} is missing"));
        }
    }
    for (key, rule) in schema["properties"].as_object().into_iter().flatten() {
        let fits = match (rule["type"].as_str(), args.get(key)) {
            (Some("string"), Some(value)) => value.is_string(),
            (Some("number"), Some(value)) => value.is_number(),
            _ => true,
        };
        if !fits {
            return Some(format!("{key} is of the wrong type"));
        }
    }
    None
}
