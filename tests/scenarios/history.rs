//! The events of a turn, read back as a history.

use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::history::{Code, History, HistoryOptions, diagnose};
use turnlock::json::Json;
use turnlock::limits;

fn json(value: &Value) -> Json<'static> {
    let text = value.to_string();
    Json::parse_lossy(text.as_bytes(), limits::HISTORY_BYTES).unwrap().into_owned()
}

/// Any prefix of a turn's events is a history that every provider takes, and a turn that ended is
/// read without a repair.
pub fn reads(scenario: &Value, events: &[Value]) -> Result<(), String> {
    let go = json!([{ "role": "user", "content": "go" }]);
    let before = scenario["messages"].as_array().or(go.as_array()).unwrap();
    for dialect in Dialect::ALL {
        let mut history = History::new(HistoryOptions::new(dialect));
        if before.iter().any(|message| history.append([json(message)]).is_err()) {
            return Ok(());
        }
        for event in events {
            history.append([json(event)]).map_err(|error| format!("{error}: {event}"))?;
            let messages = history.normalized().messages;
            let text = Json::Array(messages.clone()).to_text();
            let violations = diagnose(messages, dialect).map_err(|error| error.to_string())?;
            if !violations.is_empty() {
                return Err(format!("{} behind {event}: {violations:?} in {text}", dialect.name()));
            }
        }
        history.append([json(&json!({ "role": "user", "content": "and now?" }))]).unwrap();
        let ended = events.last().is_some_and(|last| last["type"] == "complete");
        let noise = history.repairs().into_iter().filter(|repair| repair.index >= before.len());
        let noise: Vec<_> = noise.filter(|repair| !own(repair.code)).collect();
        if ended && !noise.is_empty() {
            return Err(format!("{}: {noise:?}", dialect.name()));
        }
    }
    Ok(())
}

/// The events of a turn and the messages of its result have the same results.
pub fn agrees(events: &[Value], result: Option<&Value>) -> Result<(), String> {
    let Some(messages) = result.and_then(|result| result["messages"].as_array()) else {
        return Ok(());
    };
    // Events have references in place of the data of images and files.
    if messages.iter().any(|message| message["parts"].is_array()) {
        return Ok(());
    }
    let contents = |elements: &[Value]| {
        let mut history = History::new(HistoryOptions::new(Dialect::OpenAiChat));
        let read = history.append(elements.iter().map(json));
        read.map_err(|error| error.to_string())?;
        let all = Json::Array(history.normalized().messages).to_text();
        let all: Vec<Value> = serde_json::from_str(&all).map_err(|error| error.to_string())?;
        let results = all.into_iter().filter(|one| one["role"] == "tool");
        Ok::<_, String>(results.map(|one| one["content"].clone()).collect::<Vec<_>>())
    };
    let (told, kept) = (contents(events)?, contents(messages)?);
    if told == kept { Ok(()) } else { Err(format!("events say {told:?}, messages {kept:?}")) }
}

/// Whether a repair is about what the provider wants of ids and roles.
fn own(code: Code) -> bool {
    [Code::ToolCallIdFormat, Code::ToolCallIdDuplicate, Code::AssistantBridgeRequired]
        .contains(&code)
}
