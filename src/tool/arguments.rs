//! Arguments as models write them, although the schema wants them otherwise: JSON in a JSON string, and
//! null for an optional parameter.

use crate::json::Json;
use crate::json::push_token;
use crate::limits;

/// Fits arguments to a schema. Unwraps, once, arguments that are the text of an object, and their
/// members that are the text of what the schema wants: an object, an array, a number or a boolean. A
/// member that may be a string stays. Then leaves out null for an optional parameter whose type
/// excludes it (LibreChat 11905, openclaw 96729, 2026). Returns the JSON Pointers of what was changed;
/// the empty one stands for all arguments.
pub(crate) fn fit(args: &mut Json<'static>, schema: Option<&Json<'static>>) -> Vec<String> {
    let mut changed = unwrap(args, schema);
    leave_out_nulls(args, schema, &mut changed);
    changed
}

fn leave_out_nulls(
    args: &mut Json<'static>,
    schema: Option<&Json<'static>>,
    changed: &mut Vec<String>,
) {
    let Some(schema) = schema else { return };
    let (Json::Object(members), Some(properties)) = (args, schema.get("properties")) else {
        return;
    };
    let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
    members.retain(|(name, value)| {
        let is_required = required.iter().any(|known| known.as_str() == Some(name));
        let excludes = || properties.get(name).is_some_and(excludes_null);
        let stays = !value.is_null() || is_required || !excludes();
        if !stays {
            changed.push(pointer(name));
        }
        stays
    });
}

/// Whether a schema names types without null. `nullable` is OpenAPI's.
fn excludes_null(schema: &Json<'_>) -> bool {
    let is_nullable = schema.get("nullable").and_then(Json::as_bool) == Some(true);
    let excludes = match schema.get("type") {
        Some(Json::String(one)) => one != "null",
        Some(Json::Array(all)) => !all.iter().any(|one| one.as_str() == Some("null")),
        _ => false,
    };
    excludes && !is_nullable
}

fn pointer(name: &str) -> String {
    let mut pointer = String::new();
    push_token(&mut pointer, name);
    pointer
}

fn unwrap(args: &mut Json<'static>, schema: Option<&Json<'static>>) -> Vec<String> {
    let mut unwrapped = Vec::new();
    if let Json::String(text) = args
        && let Some(inside @ Json::Object(_)) = read(text)
    {
        *args = inside;
        unwrapped.push(String::new());
        return unwrapped;
    }
    let properties = schema.and_then(|schema| schema.get("properties"));
    let (Json::Object(members), Some(properties)) = (args, properties) else { return unwrapped };
    for (name, value) in members {
        let Json::String(text) = value else { continue };
        let Some(wanted) = properties.get(name) else { continue };
        if let Some(inside) = read(text)
            && is_wanted(&inside, wanted)
        {
            *value = inside;
            unwrapped.push(pointer(name));
        }
    }
    unwrapped
}

fn read(text: &str) -> Option<Json<'static>> {
    let json = Json::parse_arguments(text.trim().as_bytes(), limits::ARGUMENTS_BYTES);
    json.ok().map(Json::into_owned)
}

/// Whether a schema names the type of `value` and no strings. A schema of another form may accept
/// strings, so that nothing is unwrapped for it.
fn is_wanted(value: &Json<'_>, schema: &Json<'_>) -> bool {
    let types: Vec<&str> = match schema.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(all)) => all.iter().filter_map(Json::as_str).collect(),
        _ => return false,
    };
    let kinds: &[&str] = match value {
        Json::Object(_) => &["object"],
        Json::Array(_) => &["array"],
        Json::Bool(_) => &["boolean"],
        Json::Number(text) if text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) => {
            &["number", "integer"]
        }
        Json::Number(_) => &["number"],
        Json::Null | Json::String(_) | Json::Host(_) => &[],
    };
    !types.contains(&"string") && types.iter().any(|one| kinds.contains(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_a_string_is_unwrapped_where_the_schema_wants_it() {
        let schema = r#"{"type":"object","properties":{"path":{"type":"string"},
            "paths":{"type":"array"},"n":{"type":"integer"},"x":{"type":["number","null"]},
            "on":{"type":"boolean"},"head":{"type":"object"},"either":{"type":["array","string"]},
            "any":{}}}"#;
        let schema = Json::parse_str(schema).unwrap().into_owned();
        for (given, wanted, pointers) in [
            (r#""{\"path\":\"[1]\"}""#, r#"{"path":"[1]"}"#, &[""][..]),
            (r#""\"{}\"""#, r#""\"{}\"""#, &[]),
            (r#""[1]""#, r#""[1]""#, &[]),
            (r#"{"paths":"[\"a\"]","n":"5"}"#, r#"{"n":5,"paths":["a"]}"#, &["/paths", "/n"]),
            (r#"{"x":"1.5","on":"true"}"#, r#"{"on":true,"x":1.5}"#, &["/x", "/on"]),
            (r#"{"head":"{\"a\":\"{}\"}"}"#, r#"{"head":{"a":"{}"}}"#, &["/head"]),
            (r#"{"path":"{\"a\":1}"}"#, r#"{"path":"{\"a\":1}"}"#, &[]),
            (r#"{"either":"[1]","any":"[1]"}"#, r#"{"any":"[1]","either":"[1]"}"#, &[]),
            (r#"{"n":"1.5","paths":"[1,]"}"#, r#"{"n":"1.5","paths":"[1,]"}"#, &[]),
            (r#"{"paths":"{}","on":"null"}"#, r#"{"on":"null","paths":"{}"}"#, &[]),
            (r#"{"other":"[1]"}"#, r#"{"other":"[1]"}"#, &[]),
        ] {
            let mut args = Json::parse_str(given).unwrap().into_owned();
            assert_eq!(unwrap(&mut args, Some(&schema)), pointers, "{given}");
            assert_eq!(args.to_canonical(), wanted, "{given}");
        }
    }

    #[test]
    fn null_for_an_optional_parameter_is_left_out() {
        let schema = r#"{"type":"object","required":["q"],"properties":{"q":{"type":"string"},
            "n":{"type":"integer"},"either":{"type":["string","null"]},"list":{"type":["array"]},
            "open":{"type":"string","nullable":true},"any":{},"x/y":{"type":"string"},
            "other":{"anyOf":[{"type":"string"},{"type":"null"}]}}}"#;
        let schema = Json::parse_str(schema).unwrap().into_owned();
        for (given, wanted, pointers) in [
            (r#"{"q":"a","n":null,"list":null}"#, r#"{"q":"a"}"#, &["/n", "/list"][..]),
            (r#"{"q":null}"#, r#"{"q":null}"#, &[]),
            (r#"{"either":null,"open":null}"#, r#"{"either":null,"open":null}"#, &[]),
            (r#"{"any":null,"other":null}"#, r#"{"any":null,"other":null}"#, &[]),
            (r#"{"unknown":null}"#, r#"{"unknown":null}"#, &[]),
            (r#"{"x/y":null}"#, "{}", &["/x~1y"]),
            (r#""{\"n\":null}""#, "{}", &["", "/n"]),
        ] {
            let mut args = Json::parse_str(given).unwrap().into_owned();
            assert_eq!(fit(&mut args, Some(&schema)), pointers, "{given}");
            assert_eq!(args.to_canonical(), wanted, "{given}");
        }
        let mut args = Json::parse_str(r#"{"n":null}"#).unwrap().into_owned();
        assert_eq!(fit(&mut args, None), [""; 0]);
    }
}
