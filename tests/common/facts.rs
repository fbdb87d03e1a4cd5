//! What simulated hosts tell a machine, made from the entries of a table.

use std::collections::VecDeque;

use serde_json::Value;
use turnlock::json::Json;
use turnlock::turn::{Input, Settled};

use super::{Random, render};

/// The head of a response. That of a failure has a message.
pub fn head(inference: u32, attempt: u32, status: u16, retry_after_ms: Option<u64>) -> Input {
    failure_head((inference, attempt), status, retry_after_ms, "scripted failure")
}

fn failure_head(
    (inference, attempt): (u32, u32),
    status: u16,
    retry_after_ms: Option<u64>,
    message: &str,
) -> Input {
    let body = serde_json::json!({ "error": { "message": message } }).to_string();
    Input::ResponseHead {
        inference,
        attempt,
        status,
        retry_after_ms,
        body,
        hint: None,
        secrets: Vec::new(),
    }
}

/// A connection that breaks.
pub fn broken(inference: u32, attempt: u32) -> Input {
    Input::ResponseFailed {
        inference,
        attempt,
        message: "the connection broke".to_owned(),
        thrown: false,
        code: None,
    }
}

/// A tool that was told to stop settles all the same, too late.
pub fn late(call: u32) -> Input {
    Input::ToolSettled { call, settled: Settled::Ok { text: "\"late\"".to_owned(), bytes: 6 } }
}

/// The inference whose response an input is of.
pub fn inference(input: &Input) -> Option<u32> {
    match input {
        Input::ResponseBytes { inference, .. }
        | Input::ResponseHead { inference, .. }
        | Input::ResponseEnded { inference, .. }
        | Input::ResponseFailed { inference, .. }
        | Input::Repaired { inference, .. } => Some(*inference),
        _ => None,
    }
}

/// Whatever the history was, every request is one that the provider takes.
pub fn accepted(body: &Json<'_>, dialect: &str) {
    let Some(Json::Array(messages)) = body.get("messages") else { panic!("no messages") };
    let dialect = turnlock::Dialect::parse(dialect).unwrap();
    let mut violations = turnlock::history::diagnose(messages.iter().cloned(), dialect).unwrap();
    // A thread that goes on has its beginning already.
    let thread = body.get("threadId").is_some();
    violations.retain(|one| !thread || one.code.to_string() != "MSG_LIST_EMPTY");
    assert!(violations.is_empty(), "{violations:?}: {}", body.to_text());
}

/// The response that an entry is, on the wire, its bytes in the pieces that `cut` makes.
pub fn response(
    entry: &Value,
    dialect: &str,
    (inference, attempt): (u32, u32),
    cut: impl FnOnce(Vec<u8>) -> Vec<Vec<u8>>,
) -> VecDeque<Input> {
    let mut lane = VecDeque::new();
    if let Some(status) = entry["status"].as_u64() {
        let status = u16::try_from(status).unwrap();
        let retry = entry["retryAfterMs"].as_u64();
        let message = entry["message"].as_str().unwrap_or("scripted failure");
        lane.push_back(failure_head((inference, attempt), status, retry, message));
    } else if entry["then"] != "stall_head" {
        lane.push_back(head(inference, attempt, 200, None));
        let page = entry["page"].as_str().map(|page| page.as_bytes().to_vec());
        for bytes in cut(page.unwrap_or_else(|| render(entry, dialect))) {
            lane.push_back(Input::ResponseBytes { inference, attempt, bytes });
        }
        match entry["then"].as_str() {
            Some("stall") => {}
            Some("cut") => lane.push_back(broken(inference, attempt)),
            _ => lane.push_back(Input::ResponseEnded { inference, attempt }),
        }
    }
    lane
}

/// Bytes in pieces of any size; whole without `random`.
pub fn cut(random: &mut Option<Random>, bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let Some(random) = random else { return vec![bytes] };
    let longest = [1, 7, 64, 400][random.below(4)];
    let mut rest = &bytes[..];
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let (head, tail) = rest.split_at((1 + random.below(longest)).min(rest.len()));
        chunks.push(head.to_vec());
        rest = tail;
    }
    chunks
}

/// How a tool of a table settles; `None` for one that hangs.
pub fn settled(tool: &Value) -> Option<Settled> {
    let ok = |text: String| Settled::Ok { bytes: text.len() as u64, text };
    let error = |code: &str, message: &str| Settled::Error {
        code: code.to_owned(),
        message: message.to_owned(),
    };
    if tool["hangs"] == true {
        return None;
    }
    Some(if let Some(message) = tool["throws"].as_str() {
        error("tool.threw", message)
    } else if let Some(text) = tool["returnsText"].as_object() {
        let times = usize::try_from(text["times"].as_u64().unwrap()).unwrap();
        ok(Value::from(text["repeat"].as_str().unwrap().repeat(times)).to_string())
    } else {
        match tool["special"].as_str() {
            Some("undefined") => ok("null".to_owned()),
            Some(_) => error("tool.unserializable", "no JSON"),
            None => ok(tool["returns"].to_string()),
        }
    })
}

/// A tiny checker of arguments, enough for the tables; hosts bring a real one.
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
