//! The requests of a turn, and those of the next one over the messages that it returned: what the
//! first had as its messages, the second begins with, so that a provider's prompt cache serves both.

use serde_json::{Value, json};
use turnlock::stream::{Delta, FinishReason};
use turnlock::turn::{Effect, Input, Settled, Turn, TurnOptions};
use turnlock::{Dialect, Next};

/// The responses: a text, and the names of the tools that it calls. The provider counts the ids of
/// calls anew in each response.
const RESPONSES: [(&str, &[&str]); 4] = [
    ("Looking.", &["text", "throws", "value"]),
    ("", &["null", "blank", "refuses"]),
    ("Once more.", &["text", "picture"]),
    ("Done.", &[]),
];

/// What each tool settles with.
fn settled(name: &str) -> Settled {
    let ok = |text: &str| Settled::Ok { bytes: text.len() as u64, text: text.to_owned() };
    let error = |code: &str, message: &str| Settled::Error {
        code: code.to_owned(),
        message: message.to_owned(),
    };
    match name {
        "text" => ok(r#""found""#),
        "value" => ok(r#"{"files":["a.txt"],"total":1}"#),
        "picture" => ok(
            r#"{"content":[{"type":"text","text":"page"},{"type":"image","mediaType":"image/png","data":"iVBORw0KGgo="}]}"#,
        ),
        "null" => ok("null"),
        "blank" => ok(r#""""#),
        "throws" => error("tool.threw", "disk on fire"),
        _ => error("tool.refused", ""),
    }
}

/// The messages of a request, by the name that the provider has for them.
fn messages(body: &Value) -> Vec<Value> {
    let list = ["messages", "input", "contents"].iter().find_map(|key| body[*key].as_array());
    list.expect("messages").clone()
}

/// Plays a turn, and returns the messages of its requests, and its result.
fn played(dialect: Dialect, given: &[Value], policy: &Value) -> (Vec<Vec<Value>>, Value) {
    let names = ["text", "throws", "value", "null", "blank", "refuses", "picture"];
    let tools = names.map(|name| json!({ "name": name, "description": name, "dedupe": "allow" }));
    let options = json!({
        "dialect": dialect.name(), "messages": given, "tools": tools, "requestId": "request-1",
        "secret": "00112233445566778899aabbccddeeff", "maxRetries": 0, "policy": policy,
        "mode": if policy["resultsAs"].is_null() { "unified" } else { "two_stage" },
    });
    let options = TurnOptions::parse(options.to_string().as_bytes()).expect("good options");
    let mut turn = Turn::new(options).expect("a turn");
    let (mut requests, mut facts) = (Vec::new(), vec![Input::Start]);
    loop {
        assert!(!facts.is_empty(), "{dialect:?}: the turn waits");
        facts.drain(..).for_each(|fact| turn.handle(0, fact));
        while let Next::Effect(effect) = turn.poll() {
            match effect {
                Effect::Fetch { inference, attempt, request, .. } => {
                    let body: Value = serde_json::from_str(&request.body.to_text()).unwrap();
                    // Two stages ask once more for the answer.
                    let (text, calls) = RESPONSES.get(requests.len()).unwrap_or(&("Done.", &[]));
                    // Two stages show no text behind the first calls, and messages have what was shown.
                    let silent = !policy["resultsAs"].is_null() && !requests.is_empty();
                    let text = if silent && !calls.is_empty() { "" } else { text };
                    requests.push(messages(&body));
                    let deltas = response(text, calls);
                    facts.push(Input::Deltas { inference, attempt, deltas });
                    facts.push(Input::ResponseEnded { inference, attempt });
                }
                Effect::RunTool { call, name, .. } => {
                    facts.push(Input::ToolSettled { call, settled: settled(&name) });
                }
                Effect::Done { result } => {
                    let result = result.to_json().to_text();
                    return (requests, serde_json::from_str(&result).unwrap());
                }
                _ => {}
            }
        }
    }
}

fn response(text: &str, calls: &[&str]) -> Vec<Delta> {
    let mut deltas = vec![Delta::Text(text.to_owned())];
    for (index, name) in (0..).zip(calls) {
        deltas.push(Delta::ToolCallStart {
            index,
            id: format!("call_{index}"),
            name: (*name).to_owned(),
        });
        deltas.push(Delta::ToolCallArguments { index, text: "{ \"n\": 1.0 }".to_owned() });
        deltas.push(Delta::ToolCallEnd { index });
    }
    let reason = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    deltas.push(Delta::Finish { reason, raw: reason.name().to_owned() });
    deltas
}

#[test]
fn the_next_turn_begins_with_the_requests_of_this_one() {
    let fresh = json!([{ "role": "user", "content": "go" }]);
    // The ids of the turn are in the history already.
    let before = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": "", "toolCalls": [{ "id": "call_0", "name": "text", "args": {} }] },
        { "role": "tool", "toolCallId": "call_0", "name": "text", "content": "found" },
        { "role": "assistant", "content": "Found." },
        { "role": "user", "content": "again" },
    ]);
    let native = json!({ "resultsAs": "native", "maxTools": 9, "maxCycles": 1, "actionTools": "*", "actionMaxTools": 9 });
    for dialect in Dialect::ALL {
        for (given, policy) in [(&fresh, &json!({})), (&before, &json!({})), (&fresh, &native)] {
            let given = given.as_array().unwrap();
            let (requests, result) = played(dialect, given, policy);
            assert_eq!(result["status"], "complete", "{dialect:?}: {result}");
            assert!(requests.len() >= RESPONSES.len(), "{dialect:?}");
            let added = result["messages"].as_array().unwrap();
            let next = json!([{ "role": "user", "content": "and now?" }]);
            let history = [given, added.as_slice(), next.as_array().unwrap()].concat();
            let (next, _) = played(dialect, &history, &json!({}));
            let next = &next[0];
            for (at, sent) in requests.iter().enumerate() {
                let head = next.get(..sent.len()).unwrap_or_default();
                assert_eq!(sent, head, "{dialect:?}: request {}", at + 1);
            }
        }
    }
}

/// Whether a call failed is said in the member that the provider has for it.
#[test]
fn a_failed_call_is_said_to_have_failed() {
    let given = json!([{ "role": "user", "content": "go" }]);
    let flags = [
        (Dialect::Anthropic, r#""is_error":true"#),
        (Dialect::Bedrock, r#""status":"error""#),
        (Dialect::Gemini, r#""response":{"error":"disk on fire"}"#),
        (Dialect::LangChain, r#""status":"error""#),
    ];
    for (dialect, flag) in flags {
        let (requests, _) = played(dialect, given.as_array().unwrap(), &json!({}));
        let sent = Value::from(requests[1].clone()).to_string();
        assert_eq!(sent.matches(flag).count(), 1, "{dialect:?}: {sent}");
        assert!(sent.contains("disk on fire") && !sent.contains("error: disk"), "{sent}");
    }
}
