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
    pub group: Group,
}

/// What happens in one batch: it is told call by call, and written in the order of the calls.
#[derive(Default)]
pub struct Group {
    head: String,
    calls: Vec<(String, String)>,
    refused: Vec<String>,
    results: Vec<(String, String)>,
    stagnation: Vec<String>,
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
        if result["revised"] == true {
            line += " revised";
        }
        if result["reconciled"] == true {
            line += " reconciled";
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

    /// Writes the lines of the batch.
    pub fn flush(&mut self) {
        let Group { head, calls, refused, mut results, mut stagnation } =
            std::mem::take(&mut self.group);
        let place = |id: &str| calls.iter().position(|(one, _)| one == id);
        results.sort_by_key(|(id, _)| place(id));
        let mut list = |kind: &str, all: Vec<&str>| {
            if !all.is_empty() {
                self.lines.push(format!("{head} {kind} {}", all.join("; ")));
            }
        };
        list("tool_calls", calls.iter().map(|(_, line)| line.as_str()).collect());
        refused.iter().for_each(|line| list("refused", vec![line]));
        list("tool_results", results.iter().map(|(_, line)| line.as_str()).collect());
        stagnation.sort();
        list("stagnation", stagnation.iter().map(String::as_str).collect());
    }

    /// Takes an event of a batch. Returns whether it is one.
    fn grouped(&mut self, event: &Value, head: &str) -> bool {
        let kind = event["type"].as_str().unwrap();
        let grouped = ["tool_calls", "refused", "tool_results", "stagnation"].contains(&kind);
        if !grouped || self.group.head != head {
            self.flush();
            head.clone_into(&mut self.group.head);
        }
        match kind {
            "tool_calls" => {
                let [call] = &event["toolCalls"].as_array().unwrap()[..] else {
                    panic!("each call is told by itself: {event}");
                };
                let line = self.call(call);
                self.group.calls.push((call["id"].as_str().unwrap().to_owned(), line));
            }
            "tool_results" => {
                let [result] = &event["toolResults"].as_array().unwrap()[..] else {
                    panic!("each result is told by itself: {event}");
                };
                let id = result["toolCallId"].as_str().unwrap();
                assert!(!self.group.results.iter().any(|(one, _)| one == id), "twice: {event}");
                self.group.results.push((id.to_owned(), self.result(result)));
            }
            "stagnation" => {
                let tool = event["tool"].as_str().unwrap();
                self.group.stagnation.push(format!("{tool} ×{}", event["count"]));
            }
            "refused" => {
                let line = self.refused(event);
                self.group.refused.push(line);
            }
            _ => {}
        }
        grouped
    }

    fn refused(&mut self, event: &Value) -> String {
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

    pub fn event(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap();
        let (phase, batch) = (&event["phase"], &event["toolBatchId"]);
        let head = format!("{}/{}", phase.as_str().unwrap(), batch.as_u64().unwrap());
        if self.grouped(event, &head) {
            return;
        }
        let head = format!("{head} {kind}");
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
            // The budget of calls ends most phases.
            "phase_end" if event["ended"].is_string() && event["ended"] != "max_tools" => {
                format!("ended: {}", event["ended"].as_str().unwrap())
            }
            "paused" => {
                let waiting = |name: &str| {
                    let calls = event.get(name)?;
                    Some(format!("{name}: {}", self.calls(&json!({ "toolCalls": calls }))))
                };
                ["calls", "approvals"].into_iter().filter_map(waiting).collect::<Vec<_>>().join(" ")
            }
            "approval_required" => self.calls(event),
            "complete" => {
                let blocked = self.blocked(event);
                let mut rest = event["fullContent"].to_string();
                if !blocked.is_empty() {
                    rest += &format!(" blocked: {blocked}");
                }
                let repeats = event["repeats"].as_object().unwrap().iter();
                let mut repeats: Vec<String> =
                    repeats.map(|(one, times)| format!("{} ×{times}", self.known[one])).collect();
                repeats.sort();
                if !repeats.is_empty() {
                    rest += &format!(" repeats: {}", repeats.join("; "));
                }
                if event["composed"] == true {
                    rest += " composed";
                }
                rest
            }
            "tool_arguments" => {
                format!("{} {} {}", event["index"], event["name"].as_str().unwrap(), event["bytes"])
            }
            "provider_tool" => {
                let said = ["name", "id", "status"].map(|key| event[key].as_str());
                said.into_iter().flatten().collect::<Vec<_>>().join(" ")
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
