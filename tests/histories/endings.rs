//! How a call ended: a failure reads as one in every dialect, whichever member of whichever shape tells
//! of it.
//!
//! The reports that this rebuilds are rows of `reports.json`.

use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::history::HistoryOptions;
use turnlock::json::Json;

use crate::{made, unsettled, value};

const NOTE: &str = "whether the tool had its effect is not known";

/// A call and its result, with members that tell how it ended.
type Shape = (&'static str, fn(&Value) -> Vec<Value>);

fn with(mut object: Value, members: &Value) -> Value {
    let members = members.as_object().unwrap().clone();
    object.as_object_mut().unwrap().extend(members);
    object
}

fn call() -> Value {
    json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{\"n\":1}" } }] })
}

fn started() -> Value {
    json!({ "type": "tool_call_start", "toolCallId": "c1", "toolName": "f", "args": { "n": 1 } })
}

fn part(part: Value) -> Vec<Value> {
    vec![json!({ "role": "assistant", "parts": [part] })]
}

const SHAPES: &[Shape] = &[
    ("tool message", |members| {
        vec![
            call(),
            with(json!({ "role": "tool", "tool_call_id": "c1", "content": "42" }), members),
        ]
    }),
    ("tool message in camelCase", |members| {
        let result = json!({ "role": "tool", "toolCallId": "c1", "content": "42", "name": "f" });
        vec![call(), with(result, members)]
    }),
    ("tool message with blocks", |members| {
        let content = json!([{ "type": "text", "text": "4" }, { "type": "text", "text": "2" }]);
        let result = json!({ "role": "tool", "tool_call_id": "c1", "content": content });
        vec![call(), with(result, members)]
    }),
    ("LangChain", |members| {
        vec![
            call(),
            with(json!({ "type": "tool", "tool_call_id": "c1", "content": "42" }), members),
        ]
    }),
    ("LangChain, serialized", |members| {
        let kwargs = with(json!({ "tool_call_id": "c1", "content": "42" }), members);
        let id = json!(["langchain_core", "messages", "ToolMessage"]);
        vec![call(), json!({ "lc": 1, "type": "constructor", "id": id, "kwargs": kwargs })]
    }),
    ("LangChain, with a block of Anthropic", |members| {
        let block = json!({ "type": "tool_result", "tool_use_id": "c1", "content": "42" });
        let content = json!([with(block, members)]);
        vec![call(), json!({ "type": "tool", "tool_call_id": "c1", "content": content })]
    }),
    ("AI SDK, beside a tool-result", |members| {
        let block =
            json!({ "type": "tool-result", "toolCallId": "c1", "toolName": "f", "result": "42" });
        let members = match members.get("error") {
            // An error is that of a block.
            Some(_) => {
                return vec![call(), json!({ "role": "tool", "content": [with(block, members)] })];
            }
            None => members,
        };
        vec![call(), with(json!({ "role": "tool", "content": [block] }), members)]
    }),
    ("Gemini", |members| {
        let call = json!({ "functionCall": { "id": "c1", "name": "f", "args": { "n": 1 } } });
        let given = json!({ "id": "c1", "name": "f", "response": { "result": "42" } });
        let members = match members.get("error") {
            Some(error) => json!({ "response": { "error": error } }),
            None => members.clone(),
        };
        vec![
            json!({ "role": "model", "parts": [call] }),
            json!({ "role": "user", "parts": [{ "functionResponse": with(given, &members) }] }),
        ]
    }),
    ("Anthropic", |members| {
        let block = json!({ "type": "tool_result", "tool_use_id": "c1", "content": "42" });
        vec![call(), json!({ "role": "user", "content": [with(block, members)] })]
    }),
    ("MCP block", |members| {
        let content = json!([{ "type": "text", "text": "42" }]);
        let block = json!({ "type": "tool_result", "toolUseId": "c1", "content": content });
        vec![call(), json!({ "role": "user", "content": [with(block, members)] })]
    }),
    ("Bedrock", |members| {
        let result = json!({ "toolUseId": "c1", "content": [{ "text": "42" }] });
        vec![
            call(),
            json!({ "role": "user", "content": [{ "toolResult": with(result, members) }] }),
        ]
    }),
    ("AI SDK, tool-result", |members| {
        let block =
            json!({ "type": "tool-result", "toolCallId": "c1", "toolName": "f", "result": "42" });
        vec![call(), json!({ "role": "tool", "content": [with(block, members)] })]
    }),
    ("AI SDK, tool-result with an output", |members| {
        let output = json!({ "type": "text", "value": "42" });
        let block =
            json!({ "type": "tool-result", "toolCallId": "c1", "toolName": "f", "output": output });
        vec![call(), json!({ "role": "tool", "content": [with(block, members)] })]
    }),
    ("UI, tool-NAME", |members| {
        let given = json!({ "type": "tool-f", "toolCallId": "c1", "state": "output-available", "input": { "n": 1 }, "output": "42" });
        part(with(given, members))
    }),
    ("UI, dynamic-tool", |members| {
        let given = json!({ "type": "dynamic-tool", "toolName": "f", "toolCallId": "c1", "state": "output-available", "input": { "n": 1 }, "output": "42" });
        part(with(given, members))
    }),
    ("UI, tool-invocation", |members| {
        let inner = json!({ "state": "result", "toolCallId": "c1", "toolName": "f", "args": { "n": 1 }, "result": "42" });
        part(json!({ "type": "tool-invocation", "toolInvocation": with(inner, members) }))
    }),
    ("toolInvocations", |members| {
        let inner = json!({ "state": "result", "toolCallId": "c1", "toolName": "f", "args": { "n": 1 }, "result": "42" });
        vec![
            json!({ "role": "assistant", "content": "", "toolInvocations": [with(inner, members)] }),
        ]
    }),
    ("assistant-ui", |members| {
        let block = json!({ "type": "tool-call", "toolCallId": "c1", "toolName": "f", "args": { "n": 1 }, "result": "42" });
        vec![json!({ "role": "assistant", "content": [with(block, members)] })]
    }),
    ("TanStack AI", |members| {
        let call =
            json!({ "type": "tool-call", "id": "c1", "name": "f", "arguments": "{\"n\":1}" });
        let result = json!({ "type": "tool-result", "toolCallId": "c1", "content": "42" });
        vec![json!({ "role": "assistant", "parts": [call, with(result, members)] })]
    }),
    ("event", |members| {
        let event = json!({ "type": "tool_call_result", "toolCallId": "c1", "result": "42" });
        vec![started(), with(event, members)]
    }),
    ("event at the end of a call", |members| {
        let event = json!({ "type": "tool_call_end", "toolCallId": "c1", "output": "42" });
        vec![started(), with(event, members)]
    }),
    ("AG-UI", |members| {
        let event = json!({ "type": "TOOL_CALL_RESULT", "toolCallId": "c1", "content": "42" });
        vec![started(), with(event, members)]
    }),
    ("CopilotKit", |members| {
        let start = json!({ "type": "ActionExecutionMessage", "id": "c1", "name": "f", "arguments": { "n": 1 } });
        let result = json!({ "type": "ResultMessage", "actionExecutionId": "c1", "actionName": "f", "result": "42" });
        vec![start, with(result, members)]
    }),
    ("call and result in one event", |members| {
        let event = json!({ "type": "tool_call", "toolCallId": "c1", "toolName": "f", "args": { "n": 1 }, "result": "42" });
        vec![with(event, members)]
    }),
    ("OpenAI Responses", |members| {
        let item = json!({ "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"n\":1}" });
        let output = json!({ "type": "function_call_output", "call_id": "c1", "output": "42" });
        vec![item, with(output, members)]
    }),
];

const FAILURES: [&str; 14] = [
    "error",
    "Error",
    "ERROR",
    "failed",
    "Failed",
    "failure",
    "denied",
    "rejected",
    "blocked",
    "output-error",
    "output-denied",
    "output_error",
    "execution-denied",
    "exception",
];

const CUT_OFF: [&str; 13] = [
    "timeout",
    "TIMEOUT",
    "timed_out",
    "timed out",
    "timedOut",
    "unknown",
    "Unknown",
    "cancelled",
    "canceled",
    "CANCELLED",
    "interrupted",
    "aborted",
    "incomplete",
];

const SUCCESSES: [&str; 7] = ["success", "Success", "ok", "complete", "completed", "done", "DONE"];

/// What the last result says, and whether it is marked as a failure.
fn sent(history: &[Value], dialect: Dialect) -> (String, bool, Vec<&'static str>) {
    let mut all = vec![json!({ "role": "user", "content": "go" })];
    all.extend(history.iter().cloned());
    all.push(json!({ "role": "user", "content": "and now?" }));
    let text = Value::Array(all.clone()).to_string();
    let options = HistoryOptions::new(dialect);
    let normalized = made(&text, &options);
    assert_eq!(unsettled(&normalized, dialect), None, "{text}");
    crate::random::grows(&all, &options, &text);
    let repairs = normalized.repairs.iter().map(|one| one.code.name()).collect();
    let messages = value(&Json::Array(normalized.messages)).to_string();
    let flagged = ["\"is_error\":true", "\"status\":\"error\"", "\"response\":{\"error\":"];
    let failed =
        messages.contains("\"Error: ") || flagged.iter().any(|flag| messages.contains(flag));
    (messages, failed, repairs)
}

/// Dialects with a flag and without one.
const DIALECTS: [Dialect; 6] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::Anthropic,
    Dialect::Gemini,
    Dialect::Mistral,
    Dialect::Bedrock,
];

/// The member that has a word: a state is one of UI parts.
fn keys(shape: &str) -> &'static [&'static str] {
    if shape.starts_with("UI") || shape == "toolInvocations" {
        &["state", "status"]
    } else {
        &["status", "state"]
    }
}

#[test]
fn a_word_for_a_failure_makes_a_result_a_failure() {
    for (name, shape) in SHAPES {
        for word in FAILURES {
            for key in keys(name) {
                let history = shape(&json!({ *key: word }));
                for dialect in DIALECTS {
                    let (messages, failed, _) = sent(&history, dialect);
                    assert!(failed, "{name} {key} {word} {dialect:?}: {messages}");
                    assert!(
                        !messages.contains(NOTE),
                        "{name} {key} {word} {dialect:?}: {messages}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_word_for_a_call_that_was_cut_off_says_that_its_outcome_is_unknown() {
    for (name, shape) in SHAPES {
        for word in CUT_OFF {
            for key in keys(name) {
                let history = shape(&json!({ *key: word }));
                for dialect in DIALECTS {
                    let (messages, failed, _) = sent(&history, dialect);
                    assert!(failed, "{name} {key} {word} {dialect:?}: {messages}");
                    let notes = messages.matches(NOTE).count();
                    assert_eq!(notes, 1, "{name} {key} {word} {dialect:?}: {messages}");
                }
            }
        }
    }
}

/// Flags and errors in every form, beside a status that says nothing or the opposite.
#[test]
fn flags_and_errors_make_a_result_a_failure() {
    let flags = [
        json!({ "isError": true }),
        json!({ "isError": "true" }),
        json!({ "isError": "True" }),
        json!({ "isError": 1 }),
        json!({ "is_error": true }),
        json!({ "is_error": "true" }),
        json!({ "is_error": 1 }),
        json!({ "is_error": "1" }),
        json!({ "success": false }),
        json!({ "success": "false" }),
        json!({ "success": 0 }),
        json!({ "isError": true, "status": "success" }),
        json!({ "success": false, "status": "completed" }),
        json!({ "status": { "type": "incomplete", "reason": "error" } }),
        json!({ "status": { "code": "Failed" } }),
        json!({ "additional_kwargs": { "is_error": true } }),
    ];
    let errors = [
        json!({ "error": true }),
        json!({ "error": "true" }),
        json!({ "error": 1 }),
        json!({ "error": "boom" }),
        json!({ "error": { "message": "boom" } }),
        json!({ "error": {} }),
    ];
    for (name, shape) in SHAPES {
        for members in flags.iter().chain(&errors) {
            let history = shape(members);
            for dialect in DIALECTS {
                let (messages, failed, _) = sent(&history, dialect);
                assert!(failed, "{name} {members} {dialect:?}: {messages}");
                assert!(!messages.contains(NOTE), "{name} {members} {dialect:?}: {messages}");
            }
        }
    }
}

/// No member, or one that says nothing bad, leaves a result a success.
#[test]
fn a_success_stays_one() {
    let mut all = vec![
        json!({}),
        json!({ "isError": false }),
        json!({ "isError": "false" }),
        json!({ "isError": 0 }),
        json!({ "isError": null }),
        json!({ "success": true }),
        json!({ "error": null }),
        json!({ "error": false }),
        json!({ "error": "" }),
        json!({ "error": [] }),
        json!({ "status": { "type": "complete" } }),
        json!({ "status": "delivered" }),
        json!({ "status": 7 }),
    ];
    all.extend(SUCCESSES.iter().map(|word| json!({ "status": word })));
    for (name, shape) in SHAPES {
        for members in &all {
            if *name == "Gemini" && members.get("error").is_some() {
                // There the member has the response of a call that failed, also without a text.
                continue;
            }
            let history = shape(members);
            for dialect in DIALECTS {
                let (messages, failed, _) = sent(&history, dialect);
                assert!(!failed, "{name} {members} {dialect:?}: {messages}");
                assert!(!messages.contains(NOTE), "{name} {members} {dialect:?}: {messages}");
            }
        }
    }
}

/// A word that nobody knows is left out, and reported where members of this shape are.
#[test]
fn a_status_of_an_unknown_word_is_reported() {
    let tool = |status: &str| {
        vec![
            call(),
            json!({ "role": "tool", "tool_call_id": "c1", "content": "42", "status": status }),
        ]
    };
    assert_eq!(sent(&tool("delivered"), Dialect::OpenAiChat).2, ["FIELD_UNKNOWN"]);
    for word in SUCCESSES.iter().chain(&FAILURES).chain(&CUT_OFF) {
        assert_eq!(sent(&tool(word), Dialect::OpenAiChat).2, Vec::<&str>::new(), "{word}");
    }
}

/// MCP: a client stores the result of a call as it came, as an object or as its text.
#[test]
fn a_failure_of_mcp_in_a_content_is_one() {
    let failed = json!({ "content": [{ "type": "text", "text": "42" }], "isError": true });
    let bare = json!({ "content": [], "isError": true });
    let well = json!({ "content": [{ "type": "text", "text": "42" }], "isError": false });
    // Of a tool of any other kind: what it returned.
    let others = [
        well,
        json!({ "content": [{ "type": "text", "text": "42" }] }),
        json!({ "isError": true, "items": [] }),
        json!({ "isError": true, "content": "a text" }),
        json!({ "isError": true, "content": [1, 2] }),
        json!({ "data": { "content": [{ "type": "text", "text": "42" }], "isError": true } }),
    ];
    let places: [Shape; 8] = [
        ("tool message", |content| {
            vec![call(), json!({ "role": "tool", "tool_call_id": "c1", "content": content })]
        }),
        ("success of LangChain", |content| {
            vec![
                call(),
                json!({ "type": "tool", "tool_call_id": "c1", "content": content, "status": "success" }),
            ]
        }),
        ("core message", |content| {
            vec![call(), json!({ "role": "tool", "toolCallId": "c1", "content": content })]
        }),
        ("event", |content| {
            vec![
                started(),
                json!({ "type": "tool_call_result", "toolCallId": "c1", "result": content }),
            ]
        }),
        ("UI part", |content| {
            part(
                json!({ "type": "tool-f", "toolCallId": "c1", "state": "output-available", "input": { "n": 1 }, "output": content }),
            )
        }),
        ("AI SDK output", |content| {
            let kind = if content.is_string() { "text" } else { "json" };
            let block = json!({ "type": "tool-result", "toolCallId": "c1", "toolName": "f",
                "output": { "type": kind, "value": content } });
            vec![call(), json!({ "role": "tool", "content": [block] })]
        }),
        ("Gemini", |content| {
            let call = json!({ "functionCall": { "name": "f", "args": { "n": 1 } } });
            let response =
                if content.is_string() { json!({ "result": content }) } else { content.clone() };
            let response = json!({ "functionResponse": { "name": "f", "response": response } });
            vec![
                json!({ "role": "model", "parts": [call] }),
                json!({ "role": "user", "parts": [response] }),
            ]
        }),
        ("OpenAI Responses", |content| {
            let item =
                json!({ "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}" });
            vec![
                item,
                json!({ "type": "function_call_output", "call_id": "c1", "output": content }),
            ]
        }),
    ];
    for (name, place) in places {
        for (content, expected) in [(&failed, true), (&bare, true)]
            .into_iter()
            .chain(others.iter().map(|one| (one, false)))
        {
            for content in [content.clone(), json!(content.to_string())] {
                for dialect in [Dialect::OpenAiChat, Dialect::Mistral, Dialect::Anthropic] {
                    let (messages, failed, _) = sent(&place(&content), dialect);
                    assert_eq!(failed, expected, "{name} {content} {dialect:?}: {messages}");
                }
            }
        }
    }
}

/// What says that the outcome is unknown already is not said twice, as the core's own results do.
#[test]
fn a_note_is_added_once() {
    for content in [
        format!("no result within 40 ms; {NOTE}"),
        NOTE.to_owned(),
        "the tool was started, and whether it finished is not known: gone".to_owned(),
    ] {
        let result = json!({ "role": "tool", "tool_call_id": "c1", "content": content, "status": "timeout" });
        for dialect in DIALECTS {
            let (messages, failed, _) = sent(&[call(), result.clone()], dialect);
            assert!(failed, "{messages}");
            assert_eq!(messages.matches("is not known").count(), 1, "{messages}");
        }
    }
    let empty = json!({ "role": "tool", "tool_call_id": "c1", "content": "", "status": "timeout" });
    let (messages, ..) = sent(&[call(), empty], Dialect::OpenAiChat);
    assert!(messages.contains(&format!("\"Error: {NOTE}\"")), "{messages}");
}
