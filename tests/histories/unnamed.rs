//! What `diagnose` does not name, and `normalize` does not tell, stays as it was given: each member
//! of a history that a provider takes is left out, has another name or another value, each item of
//! a list is left out, doubled or moved.

use serde_json::{Map, Value, json};
use turnlock::Dialect;
use turnlock::history::{HistoryOptions, diagnose, normalize};

use crate::{elements, value};

/// What other wires, hosts and languages call a member.
const NAMES: &[(&str, &[&str])] = &[
    ("arguments", &["args", "input", "parameters"]),
    ("args", &["arguments", "input"]),
    ("call_id", &["id", "tool_call_id"]),
    ("content", &["text", "output", "result", "parts"]),
    ("functionCall", &["function_call"]),
    ("functionResponse", &["function_response"]),
    ("id", &["call_id", "toolCallId", "tool_call_id"]),
    ("input", &["args", "arguments"]),
    ("name", &["toolName", "tool_name", "tool"]),
    ("output", &["content", "result"]),
    ("text", &["content", "value"]),
    ("tool_call_id", &["toolCallId", "call_id", "toolUseId", "tool_use_id", "id"]),
    ("tool_calls", &["toolCalls", "function_call", "invalid_tool_calls"]),
    ("tool_use_id", &["toolUseId", "tool_call_id", "id"]),
    ("toolUseId", &["id", "tool_use_id"]),
    ("type", &["kind"]),
];

/// Two rounds of calls and an image, in the core's own shape.
fn history() -> Value {
    let call = |id: &str, city: &str| json!({ "id": id, "name": "w", "args": { "city": city } });
    json!([
        { "role": "system", "content": "Be short." },
        { "role": "user", "content": "weather?" },
        { "role": "assistant", "content": "Let me look.",
            "toolCalls": [call("abcdefgh1", "Rome"), call("abcdefgh2", "Oslo")] },
        { "role": "tool", "toolCallId": "abcdefgh1", "content": "sunny" },
        { "role": "tool", "toolCallId": "abcdefgh2", "content": "rain" },
        { "role": "assistant", "toolCalls": [call("abcdefgh3", "Bonn")] },
        { "role": "tool", "toolCallId": "abcdefgh3", "content": "snow" },
        { "role": "assistant", "content": "Sunny." },
        { "role": "user", "content": [
            { "type": "text", "text": "and this?" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } },
        ] },
    ])
}

#[test]
fn what_is_not_named_stays_as_it_is() {
    let mut tried = 0;
    let mut unnamed = Vec::new();
    for dialect in Dialect::ALL {
        if dialect == Dialect::LangChain {
            // Not a wire: its constructors take several names.
            continue;
        }
        let options = HistoryOptions::new(dialect);
        let given = history().to_string();
        let taken = normalize(elements(&given), &options).unwrap().messages;
        let taken = Value::Array(taken.iter().map(value).collect());
        assert!(diagnose(elements(&taken.to_string()), dialect).unwrap().is_empty(), "{dialect:?}");
        for place in places(&taken) {
            for changed in changes(&taken, &place) {
                let text = changed.to_string();
                // What has no known shape is an error.
                let Ok(violations) = diagnose(elements(&text), dialect) else { continue };
                let made = normalize(elements(&text), &options).unwrap();
                tried += 1;
                if !violations.is_empty() || !made.repairs.is_empty() {
                    continue;
                }
                let made = Value::Array(made.messages.iter().map(value).collect());
                if same(dialect, changed.clone()) != same(dialect, made.clone()) {
                    unnamed.push(format!("{dialect:?} {place}:\n  {changed}\n  {made}"));
                }
            }
        }
    }
    assert!(unnamed.is_empty(), "{} of {tried}:\n{}", unnamed.len(), unnamed.join("\n"));
    assert!(tried > 4_000, "{tried}");
}

/// The places of all values in a value, as JSON pointers.
fn places(value: &Value) -> Vec<String> {
    let below = |key: String, inner: &Value| {
        let inner = places(inner).into_iter().map(|place| format!("/{key}{place}"));
        std::iter::once(format!("/{key}")).chain(inner.collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| below(at.to_string(), item)).collect()
        }
        Value::Object(members) => {
            members.iter().flat_map(|(key, item)| below(key.clone(), item)).collect()
        }
        _ => Vec::new(),
    }
}

/// The value, changed at this place in each way.
fn changes(value: &Value, place: &str) -> Vec<Value> {
    let (around, key) = place.rsplit_once('/').unwrap();
    let here = value.pointer(place).unwrap();
    let others = NAMES.iter().find(|(name, _)| *name == key).map_or(&[][..], |(_, all)| all);
    let mut all = Vec::new();
    if let Value::Object(members) = value.pointer(around).unwrap() {
        for other in std::iter::once(None).chain(others.iter().map(Some)) {
            let mut members = members.clone();
            let moved = members.remove(key).unwrap();
            if let Some(other) = other {
                members.insert((*other).to_owned(), moved);
            }
            let mut changed = value.clone();
            *changed.pointer_mut(around).unwrap() = Value::Object(members);
            all.push(changed);
        }
    }
    if value.pointer(around).unwrap().is_array() {
        let at: usize = key.parse().unwrap();
        let mut edit = |edit: &dyn Fn(&mut Vec<Value>)| {
            let mut changed = value.clone();
            edit(changed.pointer_mut(around).and_then(Value::as_array_mut).unwrap());
            all.push(changed);
        };
        edit(&|items| drop(items.remove(at)));
        edit(&|items| items.insert(at, here.clone()));
        edit(&|items| items.swap(at, at.saturating_sub(1)));
    }
    let mut others = vec![json!(null), json!(""), json!([]), json!({}), json!(7), json!("zzz")];
    others.extend([json!([here]), json!(["zzz"])]);
    if here.is_object() {
        let mut more = here.clone();
        more["zzz"] = json!(1);
        others.push(more);
    }
    for other in others {
        let mut changed = value.clone();
        *changed.pointer_mut(place).unwrap() = other;
        all.push(changed);
    }
    all
}

/// A history without what a provider reads alike.
fn same(dialect: Dialect, mut value: Value) -> Value {
    no_nulls(&mut value);
    for message in value.as_array_mut().unwrap() {
        if let Value::Object(members) = message {
            alike(dialect, members);
        }
    }
    value
}

/// A member that is null is one that is absent.
fn no_nulls(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(no_nulls),
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(no_nulls);
        }
        _ => {}
    }
}

fn alike(dialect: Dialect, message: &mut Map<String, Value>) {
    let nothing = |value: &Value| *value == json!("") || *value == json!([]);
    // A text, or a list of one text.
    if let Some(Value::Array(blocks)) = message.get("content")
        && let [block] = &blocks[..]
        && let Some(text) = block.get("text").filter(|_| block["type"] == "text")
    {
        let text = text.clone();
        message.insert("content".into(), text);
    }
    // Content that says nothing, beside calls or of a tool.
    if message.contains_key("tool_calls") || message.get("role") == Some(&json!("tool")) {
        message.retain(|key, value| key != "content" || !nothing(value));
    }
    let lenient = [Dialect::Mistral, Dialect::Cohere, Dialect::Xai, Dialect::ChatTemplate];
    for call in list(message, "tool_calls") {
        if lenient.contains(&dialect) {
            // They take a call without its type.
            call.entry("type").or_insert(json!("function"));
        }
        if dialect == Dialect::Ollama {
            call.remove("id");
        }
    }
    match dialect {
        Dialect::Anthropic => {
            calls_last(message, |block| block["type"] == "tool_use");
            for block in list(message, "content") {
                block.retain(|key, value| key != "content" || !nothing(value));
            }
        }
        // A result is matched by its id, or by its place.
        Dialect::Mistral => message.retain(|key, _| key != "name"),
        Dialect::Ollama => {
            message.retain(|key, value| match key.as_str() {
                "tool_name" | "tool_call_id" => false,
                "content" | "images" => !nothing(value),
                _ => true,
            });
        }
        Dialect::Bedrock => {
            blank_beside(message, "content", "toolUse");
            calls_last(message, |block| block.get("toolUse").is_some());
        }
        // JSON of protocol buffers: https://protobuf.dev/programming-guides/json/
        Dialect::Gemini => {
            message.entry("role").or_insert(json!("user"));
            for part in list(message, "parts") {
                for (ours, theirs) in
                    [("function_call", "functionCall"), ("function_response", "functionResponse")]
                {
                    if let Some(value) = part.remove(ours) {
                        part.insert(theirs.into(), value);
                    }
                }
                if let Some(Value::Object(call)) = part.get_mut("functionCall") {
                    call.entry("args").or_insert(json!({}));
                }
            }
            blank_beside(message, "parts", "functionCall");
        }
        _ => {}
    }
}

/// The objects of a list.
fn list<'a>(
    message: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let items = message.get_mut(key).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// What was said behind a call is moved before it, because some models refuse that.
fn calls_last(message: &mut Map<String, Value>, call: impl Fn(&Value) -> bool) {
    if let Some(Value::Array(blocks)) = message.get_mut("content") {
        blocks.sort_by_key(call);
    }
}

/// Leaves out a blank text beside a call.
fn blank_beside(message: &mut Map<String, Value>, key: &str, call: &str) {
    if let Some(Value::Array(blocks)) = message.get_mut(key)
        && blocks.iter().any(|block| block.get(call).is_some())
    {
        blocks.retain(|block| block["text"] != "");
    }
}
