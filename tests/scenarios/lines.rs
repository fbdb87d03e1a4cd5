//! Events as the lines of the tables.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use turnlock::Signature;
use turnlock::json::Json;

pub fn canonical(value: &Value) -> String {
    turnlock::canonicalize(value.to_string().as_bytes()).unwrap()
}

/// Events as lines; see tests/scenarios/README.md.
pub struct Reduction<'a> {
    pub scenario: &'a Value,
    /// Signature → the call behind it.
    pub known: BTreeMap<String, String>,
    pub lines: Vec<String>,
}

impl Reduction<'_> {
    pub fn call(&mut self, call: &Value) -> String {
        let name = call["name"].as_str().unwrap();
        let args = canonical(&call["args"]);
        let action = self.scenario["tools"][name]["action"].as_str().and_then(|key| {
            let value = call["args"].get(key)?;
            Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let json = Json::parse_str(&args).unwrap();
        let project = self.scenario["projectId"].as_str();
        let with = Signature::new(name, action.as_deref(), &json, project);
        // A call that was not checked has no action.
        let without = Signature::new(name, None, &json, project);
        let given = call["signature"].as_str().unwrap();
        assert!(given == with.as_str() || given == without.as_str(), "signature of {call}");
        let line = format!("{name} {args}");
        self.known.insert(given.to_owned(), line.clone());
        format!("{} {line}", call["id"].as_str().unwrap())
    }

    pub fn calls(&mut self, event: &Value) -> String {
        let calls = event["toolCalls"].as_array().unwrap();
        calls.iter().map(|call| self.call(call)).collect::<Vec<_>>().join("; ")
    }

    pub fn result(&self, result: &Value) -> String {
        assert!(result["durationMs"].is_u64(), "durationMs");
        let call = format!("{} {}", result["name"].as_str().unwrap(), canonical(&result["args"]));
        assert_eq!(self.known.get(result["signature"].as_str().unwrap()), Some(&call));
        let mut line = format!(
            "{} {}",
            result["toolCallId"].as_str().unwrap(),
            result["status"].as_str().unwrap()
        );
        let truncated = result["truncated"] == true;
        if let Some(value) = result.get("result").filter(|_| !truncated) {
            let told = result["status"] == "blocked" || result["status"] == "skipped";
            let text = value.as_str().filter(|_| told);
            let short = text.map(|text| text.split(':').next().unwrap().split(' ').next().unwrap());
            line += &match short {
                Some("DUPLICATE_BLOCKED") => " DUPLICATE_BLOCKED".to_owned(),
                Some(_) => String::new(),
                None => format!(" {}", canonical(value)),
            };
        }
        if let Some(error) = result.get("error") {
            line += &format!(" !{}", error["code"].as_str().unwrap());
        }
        if result["replayed"] == true {
            line += " replayed";
        }
        if truncated {
            line += " truncated";
        }
        line
    }

    pub fn blocked(&self, event: &Value) -> String {
        let all = event["blockedSignatures"].as_array().unwrap();
        let call = |one: &Value| self.known[one.as_str().unwrap()].clone();
        all.iter().map(call).collect::<Vec<_>>().join("; ")
    }

    pub fn event(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap();
        let head = format!(
            "{}/{} {kind}",
            event["phase"].as_str().unwrap(),
            event["toolBatchId"].as_u64().unwrap()
        );
        let rest = match kind {
            "text" | "reasoning" => {
                let chunk = event["chunk"].as_str().unwrap();
                if let Some(last) = self.lines.last_mut()
                    && let Some(said) = last.strip_prefix(&format!("{head} "))
                {
                    let said: String = serde_json::from_str(said).unwrap();
                    *last = format!("{head} {}", Value::from(said + chunk));
                    return;
                }
                event["chunk"].to_string()
            }
            "phase_start" if event["resumed"] == true => "resumed".to_owned(),
            "paused" if event["approvals"].is_array() => {
                format!("approvals: {}", self.calls(&json!({ "toolCalls": event["approvals"] })))
            }
            "tool_calls" | "approval_required" => self.calls(event),
            "tool_results" => {
                let results = event["toolResults"].as_array().unwrap();
                results.iter().map(|one| self.result(one)).collect::<Vec<_>>().join("; ")
            }
            "refused" => {
                let notice = event["notice"].as_str().unwrap();
                assert!(!notice.is_empty());
                let calls = self.calls(event);
                for call in event["toolCalls"].as_array().unwrap() {
                    let args = canonical(&call["args"]);
                    assert!(args == "{}" || !notice.contains(&args), "the notice echoes");
                }
                self.blocked(event);
                format!("{}: {calls}", event["reason"].as_str().unwrap())
            }
            "complete" => {
                let blocked = self.blocked(event);
                let mut rest = event["fullContent"].to_string();
                if !blocked.is_empty() {
                    rest += &format!(" blocked: {blocked}");
                }
                if event["composed"] == true {
                    rest += " composed";
                }
                rest
            }
            "tool_arguments" => {
                format!("{} {} {}", event["index"], event["name"].as_str().unwrap(), event["bytes"])
            }
            "cancelled" => event["reason"].to_string(),
            "error" => {
                let status = event["details"]["status"].as_u64();
                let status = status.map_or_else(String::new, |status| format!(" {status}"));
                format!("{}{status}", event["code"].as_str().unwrap())
            }
            _ => String::new(),
        };
        self.lines.push(format!("{head} {rest}").trim_end().to_owned());
    }
}
