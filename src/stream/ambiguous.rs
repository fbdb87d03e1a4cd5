//! Events in which a member of a call stands twice with different values. JSON readers differ in
//! which of the two they take, so it is not known which call, tool or arguments the model meant.

use std::borrow::Cow;

use crate::json::{Json, JsonError, Kind, Reader};

/// The members that identify a call, its tool or its arguments in any wire format, and those that
/// hold them.
const OF_CALLS: [&str; 42] = [
    "args",
    "arguments",
    "block",
    "boolValue",
    "call_id",
    "candidates",
    "choices",
    "content",
    "contentBlockIndex",
    "content_block",
    "data",
    "delta",
    "function",
    "functionCall",
    "function_call",
    "id",
    "index",
    "input",
    "item",
    "item_id",
    "jsonPath",
    "message",
    "name",
    "nullValue",
    "numberValue",
    "output",
    "output_index",
    "parameters",
    "partialArgs",
    "partial_json",
    "parts",
    "response",
    "start",
    "status",
    "stringValue",
    "toolUse",
    "toolUseId",
    "tool_call",
    "tool_call_id",
    "tool_calls",
    "type",
    "willContinue",
];

/// Members whose value is the tool's: its members are checked with the arguments.
const ARGUMENTS: [&str; 4] = ["args", "arguments", "input", "parameters"];

/// Returns whether a member of a call stands twice in one object of an event, with different values.
/// `false` for text that is not JSON.
pub(super) fn is_ambiguous(data: &str) -> bool {
    let mut found = false;
    let mut reader = Reader::verbatim(data);
    scan(data, &mut reader, &mut found).is_ok() && found
}

fn scan<'a>(data: &'a str, reader: &mut Reader<'a>, found: &mut bool) -> Result<(), JsonError> {
    match reader.peek()? {
        Kind::Array => reader.array(&mut |reader| scan(data, reader, found)),
        Kind::Object => {
            let mut members: Vec<(Cow<'a, str>, &'a str)> = Vec::new();
            reader.object(&mut |key, reader| {
                let start = reader.offset();
                match ARGUMENTS.contains(&&*key) {
                    true => reader.skip()?,
                    false => scan(data, reader, found)?,
                }
                let value = data.get(start..reader.offset()).unwrap_or_default();
                match members.iter().find(|(known, _)| *known == key) {
                    Some((_, before)) => *found |= !is_equal(before, value),
                    None if OF_CALLS.contains(&&*key) => members.push((key, value)),
                    None => {}
                }
                Ok(())
            })
        }
        _ => reader.skip(),
    }
}

/// Whether two JSON texts have the same value.
fn is_equal(a: &str, b: &str) -> bool {
    let canonical = |text: &str| Json::parse_str(text).ok().map(|value| value.to_canonical());
    a.trim_ascii() == b.trim_ascii() || canonical(a).is_some_and(|a| Some(a) == canonical(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_a_call_stands_once_or_has_one_value() {
        for (data, want) in [
            (r#"{"index":0,"index":1}"#, true),
            (r#"{"a":[{"function":{"name":"f","n\u0061me":"g"}}]}"#, true),
            (r#"{"name":"f","x":1,"name":"f"}"#, false),
            (r#"{"index":0,"index": 0.0 }"#, false),
            (r#"{"delta":{"id":"a"},"delta":{"id":"b"}}"#, true),
            (r#"{"arguments":{"a":1},"arguments":{ "a" : 1 }}"#, false),
            (r#"{"arguments":"{}","arguments":"{\"a\":1}"}"#, true),
            // The arguments themselves are checked when they are read.
            (r#"{"arguments":{"name":1,"name":2}}"#, false),
            (r#"{"usage":null,"usage":{"x":1}}"#, false),
            (r#"{"index":0,"index":1"#, false),
            ("[DONE]", false),
        ] {
            assert_eq!(is_ambiguous(data), want, "{data}");
        }
    }
}
