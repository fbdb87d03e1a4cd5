//! What came of a pass, as the lines of the tables. See README.md for their form.

use serde_json::Value;
use turnlock::canonicalize;

pub fn canonical(value: &Value) -> String {
    canonicalize(value.to_string().as_bytes()).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

pub fn calls(result: &Value) -> Vec<String> {
    let line = |call: &Value| {
        let head = format!("{} {}", text(&call["tool_name"]), canonical(&call["params"]));
        let refusal = call["refusal"].as_str().map_or_else(String::new, |one| format!(" {one}"));
        let replayed = if call["replayed"] == true { " replayed" } else { "" };
        format!("{head} {}{refusal}{replayed}", text(&call["status"]))
    };
    result["calls"].as_array().unwrap().iter().map(line).collect()
}

pub fn results(result: &Value) -> Vec<String> {
    let line = |entry: &Value| {
        assert!(entry["duration_ms"].is_u64());
        let head = format!("{} {}", text(&entry["tool_name"]), canonical(&entry["params"]));
        match entry.get("result") {
            Some(result) => {
                assert!(entry.get("error").is_none());
                // A cut text is not the tables' business, only that it was cut.
                let cut = result.as_str().and_then(|text| text.split_once("… [cut"));
                cut.map_or_else(
                    || format!("{head} {}", canonical(result)),
                    |_| format!("{head} cut"),
                )
            }
            None => format!("{head} !{}", text(&entry["error"]["code"])),
        }
    };
    result["toolResults"].as_array().unwrap().iter().map(line).collect()
}

pub fn recorded(list: &Value) -> Vec<String> {
    let line = |one: &Value| {
        format!(
            "{} {} {}",
            text(&one["tool_name"]),
            canonical(&one["params"]),
            text(&one["status"])
        )
    };
    list.as_array().unwrap().iter().map(line).collect()
}

pub fn rejected(list: &Value) -> Vec<String> {
    let line = |one: &Value| {
        let index = one["index"].as_u64().map_or_else(String::new, |at| format!("{at} "));
        let detail = one["detail"].as_str().map_or_else(String::new, |one| format!(" {one}"));
        format!("{index}{}{detail}", text(&one["reason"]))
    };
    list.as_array().unwrap().iter().map(line).collect()
}

/// Results that come one behind the other come in any order; they are sorted.
pub fn trace(events: &[Value]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut together = Vec::new();
    for event in events {
        let kind = text(&event["type"]);
        let rest = match kind {
            "llm_call" => {
                let flags: Vec<_> =
                    event["context_flags"].as_array().unwrap().iter().map(text).collect();
                let error =
                    event["error"].as_str().map_or_else(String::new, |code| format!(" !{code}"));
                let (id, count) = (text(&event["prompt_template_id"]), &event["tool_call_count"]);
                assert_eq!(text(&event["prompt_template_hash"]).len(), 64);
                format!(
                    "{} {id} {count} [{}]{error}",
                    text(&event["details"]["phase"]),
                    flags.join(",")
                )
            }
            "strategist_tool_request" => {
                assert_eq!(text(&event["prompt_template_hash"]).len(), 64);
                let call = |call: &Value| {
                    let said = call["refusal"].as_str().unwrap_or("allowed");
                    assert_eq!(call["allowed"] == true, said == "allowed");
                    format!("{}:{said}", text(&call["tool_name"]))
                };
                let mut all: Vec<_> =
                    event["tool_calls"].as_array().unwrap().iter().map(call).collect();
                let wrong = rejected(&event["rejected"]);
                let whole = |one: &Value| one["index"].is_null();
                if event["valid"] == true {
                    assert!(!event["rejected"].as_array().unwrap().iter().any(whole), "{event}");
                } else {
                    assert!(!wrong.is_empty(), "{event}");
                }
                all.extend(wrong.into_iter().map(|one| format!("({one})")));
                let notes = rejected(&event["notes"]);
                all.extend(notes.into_iter().map(|one| format!("[{one}]")));
                all.join("; ")
            }
            "strategist_tool_result" => {
                assert!(event["duration_ms"].is_u64());
                let (name, status) = (text(&event["tool_name"]), text(&event["status"]));
                together
                    .push(format!("{kind} {name} {status}: {}", text(&event["result_summary"])));
                continue;
            }
            _ => panic!("an unknown trace event: {event}"),
        };
        together.sort();
        lines.append(&mut together);
        lines.push(format!("{kind} {rest}").trim_end().to_owned());
    }
    together.sort();
    lines.append(&mut together);
    lines
}
