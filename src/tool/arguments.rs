//! Arguments as models write them, although the schema wants them otherwise: JSON in a JSON string, and
//! null for an optional parameter.

use crate::json::{Json, is_rounded, pointer, push_token};
use crate::limits;

/// Local references that are followed in a row.
const REFERENCES: u32 = 16;

/// Subschemas that are read to find out which values a schema excludes. A schema with more is read as
/// one that excludes none.
const SUBSCHEMAS: u32 = 256;

/// Fits arguments to a schema: members of objects by `properties`, members of arrays by `items`, and
/// local references by `$ref`. Arguments that are the text of an object are unwrapped, also without a
/// schema. So is a text for which the schema excludes strings, if it is strictly the JSON of an object,
/// an array, a number or a boolean that the schema may accept, without an integer of which a double
/// keeps other digits. Nothing is unwrapped within a value that
/// was. Null for an optional parameter whose schema excludes it is left out (LibreChat 11905, openclaw
/// 96729, 2026). Returns what was changed, with its JSON Pointer; the empty one stands for all
/// arguments.
pub(crate) fn fit(args: &mut Json<'static>, schema: Option<&Json<'static>>) -> Vec<String> {
    let mut fitting = Fitting { schema, at: String::new(), changes: Vec::new() };
    let unwrapped = unwrap_object(args);
    if unwrapped {
        fitting.change(UNWRAPPED);
    }
    if let Some(schema) = schema {
        fitting.value(args, schema, unwrapped);
    }
    fitting.changes
}

/// Unwraps the text of an object. Returns whether it was one.
pub(crate) fn unwrap_object(args: &mut Json<'static>) -> bool {
    let inside = args.as_str().and_then(read).filter(|inside| inside.as_object().is_some());
    inside.map(|inside| *args = inside).is_some()
}

const UNWRAPPED: &str = "JSON in a string is unwrapped";
const LEFT_OUT: &str = "null for an optional parameter is left out";

struct Fitting<'s> {
    /// The whole schema, for references.
    schema: Option<&'s Json<'static>>,
    /// The JSON Pointer to the current value.
    at: String,
    changes: Vec<String>,
}

impl<'s> Fitting<'s> {
    fn change(&mut self, what: &str) {
        self.changes.push(format!("{what}: `{}`", self.at));
    }

    /// Fits a value. `unwrapped`: it stands in one that was unwrapped.
    fn value(&mut self, value: &mut Json<'static>, schema: &'s Json<'static>, unwrapped: bool) {
        let Some(schema) = self.resolve(schema) else { return };
        let inside = (!unwrapped).then(|| self.inside(value, schema)).flatten();
        let unwrapped = unwrapped || inside.is_some();
        if let Some(inside) = inside {
            *value = inside;
            self.change(UNWRAPPED);
        }
        match value {
            Json::Object(members) => {
                let Some(properties) = schema.get("properties") else { return };
                let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
                members.retain_mut(|(name, value)| {
                    let Some(property) = properties.get(name) else { return true };
                    let is_required = required.iter().any(|known| known.as_str() == Some(name));
                    let stays = is_required || !value.is_null() || self.may_be(property, value);
                    self.member(name, |own| match stays {
                        true => own.value(value, property, unwrapped),
                        false => own.change(LEFT_OUT),
                    });
                    stays
                });
            }
            Json::Array(items) => {
                let Some(schema) = schema.get("items") else { return };
                for (at, item) in items.iter_mut().enumerate() {
                    self.member(&at.to_string(), |own| own.value(item, schema, unwrapped));
                }
            }
            _ => {}
        }
    }

    fn member(&mut self, name: &str, work: impl FnOnce(&mut Self)) {
        let length = self.at.len();
        push_token(&mut self.at, name);
        work(self);
        self.at.truncate(length);
    }

    /// The value in a text, if the schema excludes the text and may accept the value.
    fn inside(&self, value: &Json<'static>, schema: &'s Json<'static>) -> Option<Json<'static>> {
        let text = value.as_str()?;
        let is_wanted = |inside: &Json<'_>| {
            !matches!(inside, Json::Null | Json::String(_))
                && self.may_be(schema, inside)
                && !has_rounded(inside)
        };
        // Most texts are no JSON, and most schemas accept texts: the quicker question is first.
        let excludes_texts = !self.may_be(schema, value);
        excludes_texts.then(|| read(text)).flatten().filter(is_wanted)
    }

    /// Whether a schema may accept a value of the same type as this one.
    fn may_be(&self, schema: &'s Json<'static>, value: &Json<'_>) -> bool {
        self.accepts(schema, types_of(value), &mut SUBSCHEMAS.clone())
    }

    /// Whether a schema may accept a value of these types. `nullable` is OpenAPI's.
    fn accepts(&self, schema: &'s Json<'static>, types: &[&str], left: &mut u32) -> bool {
        let is_nullable = |schema: &Json<'_>| {
            types == NULL && schema.get("nullable").and_then(Json::as_bool) == Some(true)
        };
        if *left == 0 || is_nullable(schema) {
            return true;
        }
        *left -= 1;
        let Some(schema) = self.resolve(schema) else { return true };
        if is_nullable(schema) {
            return true;
        }
        let is_same = |value: &Json<'_>| types_of(value).first() == types.first();
        let named = match schema.get("type") {
            Some(Json::String(one)) => types.contains(&one.as_ref()),
            Some(Json::Array(all)) => {
                all.iter().filter_map(Json::as_str).any(|one| types.contains(&one))
            }
            _ => true,
        };
        let list = |key: &str| schema.get(key).and_then(Json::as_array);
        named
            && list("enum").is_none_or(|all| all.iter().any(is_same))
            && schema.get("const").is_none_or(is_same)
            && list("allOf").is_none_or(|all| all.iter().all(|one| self.accepts(one, types, left)))
            && ["anyOf", "oneOf"].iter().all(|key| {
                list(key).is_none_or(|all| all.iter().any(|one| self.accepts(one, types, left)))
            })
    }

    /// The schema that local references lead to. `None` if they lead nowhere, or elsewhere.
    fn resolve(&self, schema: &'s Json<'static>) -> Option<&'s Json<'static>> {
        let mut found = schema;
        for _ in 0..REFERENCES {
            let Some(reference) = found.get("$ref").and_then(Json::as_str) else {
                return Some(found);
            };
            found = pointer(self.schema?, reference.strip_prefix('#')?)?;
        }
        None
    }
}

/// Whether a value has an integer of which a double keeps other digits. As a text it is an exact id.
fn has_rounded(value: &Json<'_>) -> bool {
    match value {
        Json::Number(text) => is_rounded(text),
        Json::Array(items) => items.iter().any(has_rounded),
        Json::Object(members) => members.iter().any(|(_, value)| has_rounded(value)),
        _ => false,
    }
}

const NULL: &[&str] = &["null"];

/// The names of a value's type in a schema, the widest first.
fn types_of(value: &Json<'_>) -> &'static [&'static str] {
    match value {
        Json::Null => NULL,
        Json::String(_) => &["string"],
        Json::Object(_) => &["object"],
        Json::Array(_) => &["array"],
        Json::Bool(_) => &["boolean"],
        Json::Number(text) if text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) => {
            &["number", "integer"]
        }
        Json::Number(_) => &["number"],
        Json::Host(_) => &[],
    }
}

fn read(text: &str) -> Option<Json<'static>> {
    let json = Json::parse_arguments(text.trim().as_bytes(), limits::ARGUMENTS_BYTES);
    json.ok().map(Json::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fits arguments; compares them, and the pointers to what was changed.
    fn check(schema: &str, given: &str, wanted: &str, pointers: &[&str]) {
        let schema = Json::parse_str(schema).unwrap().into_owned();
        let mut args = Json::parse_str(given).unwrap().into_owned();
        let changes = fit(&mut args, Some(&schema));
        let changed: Vec<_> = changes.iter().map(|change| change.split('`').nth(1)).collect();
        assert_eq!(changed, pointers.iter().copied().map(Some).collect::<Vec<_>>(), "{given}");
        assert_eq!(args.to_canonical(), wanted, "{given}");
    }

    #[test]
    fn a_value_in_a_string_is_unwrapped_where_the_schema_wants_it() {
        let schema = r##"{"type":"object","properties":{"path":{"type":"string"},
            "paths":{"type":"array"},"n":{"type":"integer"},"x":{"type":["number","null"]},
            "on":{"type":"boolean"},"head":{"type":"object"},"either":{"type":["array","string"]},
            "any":{},"list":{"type":"array","items":{"$ref":"#/properties/n"}},
            "maybe":{"anyOf":[{"type":"array"},{"type":"null"}]},"one":{"enum":[1,2]},
            "level":{"type":"object","properties":{"on":{"type":"boolean"}}}}}"##;
        for (given, wanted, pointers) in [
            (r#""{\"path\":\"[1]\"}""#, r#"{"path":"[1]"}"#, &[""][..]),
            (r#""{\"n\":\"5\"}""#, r#"{"n":"5"}"#, &[""]),
            (r#""\"{}\"""#, r#""\"{}\"""#, &[]),
            (r#""[1]""#, r#""[1]""#, &[]),
            (r#"{"paths":"[\"a\"]","n":"5"}"#, r#"{"n":5,"paths":["a"]}"#, &["/paths", "/n"]),
            (r#"{"x":"1.5","on":"true"}"#, r#"{"on":true,"x":1.5}"#, &["/x", "/on"]),
            (r#"{"head":"{\"a\":\"{}\"}"}"#, r#"{"head":{"a":"{}"}}"#, &["/head"]),
            (r#"{"path":"{\"a\":1}"}"#, r#"{"path":"{\"a\":1}"}"#, &[]),
            (r#"{"either":"[1]","any":"[1]"}"#, r#"{"any":"[1]","either":"[1]"}"#, &[]),
            (r#"{"n":"1.5","paths":"[1,]"}"#, r#"{"n":"1.5","paths":"[1,]"}"#, &[]),
            (r#"{"paths":"{}","on":"null"}"#, r#"{"on":"null","paths":"{}"}"#, &[]),
            (r#"{"maybe":"null","one":"a"}"#, r#"{"maybe":"null","one":"a"}"#, &[]),
            (r#"{"maybe":"[1]","one":"1"}"#, r#"{"maybe":[1],"one":1}"#, &["/maybe", "/one"]),
            (r#"{"other":"[1]"}"#, r#"{"other":"[1]"}"#, &[]),
            (r#"{"list":[1,"2","b"]}"#, r#"{"list":[1,2,"b"]}"#, &["/list/1"]),
            (r#"{"list":"[\"2\"]"}"#, r#"{"list":["2"]}"#, &["/list"]),
            (r#"{"level":{"on":"false"}}"#, r#"{"level":{"on":false}}"#, &["/level/on"]),
        ] {
            check(schema, given, wanted, pointers);
        }
    }

    #[test]
    fn null_for_an_optional_parameter_is_left_out() {
        let schema = r#"{"type":"object","required":["q"],"properties":{"q":{"type":"string"},
            "n":{"type":"integer"},"either":{"type":["string","null"]},"list":{"type":["array"]},
            "open":{"type":"string","nullable":true},"any":{},"x/y":{"type":"string"},
            "other":{"anyOf":[{"type":"string"},{"type":"null"}]},"enum":{"enum":["a"]},
            "nothing":{"enum":["a",null]},"const":{"const":1},
            "both":{"allOf":[{},{"oneOf":[{"type":"string"},{"type":"number"}]}]}}}"#;
        for (given, wanted, pointers) in [
            (r#"{"q":"a","n":null,"list":null}"#, r#"{"q":"a"}"#, &["/n", "/list"][..]),
            (r#"{"q":null}"#, r#"{"q":null}"#, &[]),
            (r#"{"either":null,"open":null}"#, r#"{"either":null,"open":null}"#, &[]),
            (r#"{"any":null,"other":null}"#, r#"{"any":null,"other":null}"#, &[]),
            (r#"{"nothing":null,"enum":null}"#, r#"{"nothing":null}"#, &["/enum"]),
            (r#"{"const":null,"both":null}"#, "{}", &["/const", "/both"]),
            (r#"{"unknown":null}"#, r#"{"unknown":null}"#, &[]),
            (r#"{"x/y":null}"#, "{}", &["/x~1y"]),
            (r#""{\"n\":null}""#, "{}", &["", "/n"]),
        ] {
            check(schema, given, wanted, pointers);
        }
        let mut args = Json::parse_str(r#"{"n":null}"#).unwrap().into_owned();
        assert_eq!(fit(&mut args, None), [""; 0]);
    }

    #[test]
    fn null_is_left_out_of_nested_values() {
        let schema = r##"{"type":"object","$defs":{"name":{"$ref":"#/$defs/text"},
            "text":{"type":"string"},"loop":{"$ref":"#/$defs/loop"},
            "node":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},
            "name":{"$ref":"#/$defs/name"},"next":{"$ref":"#/$defs/node"}}}},
            "properties":{"node":{"$ref":"#/$defs/node"},
            "nodes":{"type":"array","items":{"$ref":"#/$defs/node"}},
            "loop":{"$ref":"#/$defs/loop"},"lost":{"$ref":"#/$defs/none"},
            "far":{"$ref":"https://example.com/a.json"},
            "open":{"$ref":"#/$defs/text","nullable":true}}}"##;
        for (given, wanted, pointers) in [
            (r#"{"node":{"id":"a","name":null}}"#, r#"{"node":{"id":"a"}}"#, &["/node/name"][..]),
            (r#"{"node":{"id":null,"next":null}}"#, r#"{"node":{"id":null}}"#, &["/node/next"]),
            (r#"{"nodes":[{},{"name":null}]}"#, r#"{"nodes":[{},{}]}"#, &["/nodes/1/name"]),
            (r#"{"nodes":[null],"node":null}"#, r#"{"nodes":[null]}"#, &["/node"]),
            (
                r#"{"node":{"next":{"next":{"name":null}}}}"#,
                r#"{"node":{"next":{"next":{}}}}"#,
                &["/node/next/next/name"],
            ),
            (r#"{"nodes":"[{\"name\":null}]"}"#, r#"{"nodes":[{}]}"#, &["/nodes", "/nodes/0/name"]),
            (
                r#"{"far":null,"loop":null,"lost":null,"open":null}"#,
                r#"{"far":null,"loop":null,"lost":null,"open":null}"#,
                &[],
            ),
        ] {
            check(schema, given, wanted, pointers);
        }
    }

    #[test]
    fn a_schema_with_many_alternatives_excludes_nothing() {
        // Without a limit, reading this one does not end.
        let schema = r##"{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/properties/a"},
            {"$ref":"#/properties/a"},{"$ref":"#/properties/a"},{"type":"string"}]}}}"##;
        check(schema, r#"{"a":null}"#, r#"{"a":null}"#, &[]);
    }
}
