//! The recorded bodies of `tests/data`, by wire, found by looking at them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Stream,
    Whole,
}

/// A recorded body in wire form.
pub(crate) struct Body {
    pub name: String,
    pub wire: &'static str,
    pub form: Form,
    pub bytes: Vec<u8>,
    /// The JSON of its events.
    pub events: Vec<Value>,
}

impl Body {
    /// Whether the recording ends inside a call, or was cut by a limit of tokens.
    pub(crate) fn cut(&self) -> bool {
        let text = String::from_utf8_lossy(&self.bytes);
        ["\"max_tokens\"", "\"length\"", "incomplete"].iter().any(|why| text.contains(why))
    }
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

/// The wire of an event or a whole response.
fn wire(event: &Value) -> Option<(&'static str, Form)> {
    use Form::{Stream, Whole};
    let has = |key: &str| !event[key].is_null();
    let kind = event["type"].as_str().unwrap_or_default();
    let object = event["object"].as_str().unwrap_or_default();
    let choice = &event["choices"][0];
    Some(match () {
        () if kind.starts_with("response.") => ("openai-responses", Stream),
        () if object == "response" => ("openai-responses", Whole),
        () if has("candidates") || has("promptFeedback") => ("gemini", Stream),
        () if choice["delta"].is_object() || object == "chat.completion.chunk" => {
            ("openai-chat", Stream)
        }
        () if choice["message"].is_object() => ("openai-chat", Whole),
        () if kind == "message_start" => ("anthropic", Stream),
        () if kind == "message" && event["content"].is_array() => ("anthropic", Whole),
        () if ["messageStart", "contentBlockStart", "contentBlockDelta"].iter().any(|k| has(k)) => {
            ("bedrock", Stream)
        }
        () if event["output"]["message"].is_object() => ("bedrock", Whole),
        () if ["message-start", "content-delta", "message-end"].contains(&kind) => {
            ("cohere", Stream)
        }
        () if event["message"].is_object() && has("finish_reason") => ("cohere", Whole),
        () if event["message"].is_object() && has("done") => ("ollama", Stream),
        () => return None,
    })
}

pub(crate) fn as_sse(events: &[Value]) -> Vec<u8> {
    events.iter().flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect()
}

/// Every recorded body of a wire.
pub(crate) fn bodies() -> Vec<Body> {
    let mut paths = Vec::new();
    let root = common::data("");
    for folder in ["streams-vercel-ai", "streams-prism-php", "streams-misc"] {
        files(&common::data(folder), &mut paths);
    }
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if ["features.jsonl", "paths.json", "index.jsonl", "expected-tool-calls.jsonl"]
            .iter()
            .any(|other| name.ends_with(other))
        {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if name.ends_with(".responses") {
            // The replies of a scripted model, one a line.
            let replies = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            for (at, reply) in replies.enumerate() {
                let reply: Value = reply;
                let (events, whole) = match &reply["response"] {
                    Value::Array(events) => (events.clone(), false),
                    event @ Value::Object(_) => (vec![event.clone()], true),
                    _ => continue,
                };
                if events.iter().any(|event| wire(event).is_some()) {
                    let form = if whole { Form::Whole } else { Form::Stream };
                    let bytes =
                        if whole { events[0].to_string().into_bytes() } else { as_sse(&events) };
                    let name = format!("{name}#{at}");
                    all.push(Body { name, wire: "gemini", form, bytes, events });
                }
            }
            continue;
        }
        if let Ok(whole) = serde_json::from_str::<Value>(&text) {
            let (events, form) = match whole {
                Value::Array(events) => (events, Some(Form::Stream)),
                event => (vec![event], None),
            };
            if let Some((wire, own)) = events.first().and_then(wire) {
                let own = if wire == "gemini" || wire == "ollama" { Form::Whole } else { own };
                let form = form.unwrap_or(own);
                all.push(Body { name, wire, form, bytes, events });
            }
            continue;
        }
        let data = |line: &str| {
            let text = line.strip_prefix("data:").unwrap_or(line).trim().to_owned();
            serde_json::from_str(&text).ok()
        };
        let events: Vec<Value> = text.lines().filter_map(data).collect();
        let Some((wire, _)) = events.iter().find_map(wire) else { continue };
        let chunks = name.ends_with(".chunks.txt");
        let bytes = if chunks && wire != "ollama" {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines.flat_map(|line| format!("data: {line}\n\n").into_bytes()).collect()
        } else {
            bytes
        };
        all.push(Body { name, wire, form: Form::Stream, bytes, events });
    }
    all
}
