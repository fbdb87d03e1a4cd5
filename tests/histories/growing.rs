//! A history that is read from text, and the turns of one.

use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::history::{Code, History, HistoryOptions};
use turnlock::json::Json;

use crate::elements;

fn open(dialect: Dialect) -> History<'static> {
    History::new(HistoryOptions::new(dialect))
}

fn text(history: &mut History<'_>) -> String {
    Json::Array(history.normalized().messages).to_text()
}

#[test]
fn what_is_no_list_or_no_json_is_refused() {
    for (text, code) in [
        ("{}", "options.invalid"),
        ("1", "options.invalid"),
        ("", "json.syntax"),
        ("[", "json.syntax"),
        ("[] x", "json.syntax"),
        (r#"[{"role":"user","content":"a"}"#, "json.syntax"),
        // What is no JSON is said first.
        (r#"[{"words":1},{"role":"user","content":}]"#, "json.syntax"),
        (r#"[{"words":1},{"role":"user","content":"b"}]"#, "message.unknown_shape"),
    ] {
        let mut history = open(Dialect::OpenAiChat);
        assert_eq!(history.append_text(text).unwrap_err().code(), code, "{text}");
    }
}

#[test]
fn what_stands_before_an_unknown_element_is_appended_and_no_more() {
    let mut history = open(Dialect::OpenAiChat);
    let given =
        r#"[{"role":"user","content":"a"},{"words":"\ud83d"},{"role":"user","content":"b"}]"#;
    assert!(history.append_text(given).unwrap_err().to_string().contains("message 1"));
    assert_eq!(text(&mut history), r#"[{"role":"user","content":"a"}]"#);
    // Nothing is told of what was not appended.
    assert_eq!(history.repairs(), []);
    history.append_text(r#"[{"role":"user","content":"c"}]"#).unwrap();
    assert!(history.append_text("[1]").unwrap_err().to_string().contains("message 2"));
}

#[test]
fn half_characters_are_told_of_the_element_that_has_them() {
    let mut history = open(Dialect::OpenAiChat);
    let given = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"\ud83d"},
        {"role":"user","content":"\ud83d\ude00"},{"role":"user","content":"\ude00"}]"#;
    history.append_text(given).unwrap();
    let told: Vec<_> = history.repairs().iter().map(|one| (one.code, one.index)).collect();
    assert_eq!(told, [(Code::UnicodeLoneSurrogate, 1), (Code::UnicodeLoneSurrogate, 3)]);
    let wanted = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"�"},{"role":"user","content":"😀"},{"role":"user","content":"�"}]"#;
    assert_eq!(text(&mut history), wanted);
}

/// An element is in the turn of the user's words before it; instructions are in none.
#[test]
fn elements_belong_to_turns() {
    let user = json!({ "role": "user", "content": "u" });
    let said = json!({ "role": "assistant", "content": "a" });
    let system = json!({ "role": "system", "content": "s" });
    let call = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "c", "name": "f", "input": {} }] });
    let result = json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": "r" }] });
    let asks = json!({ "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user" });
    let start = json!({ "type": "TEXT_MESSAGE_START", "messageId": "m" });
    let delta = json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "d" });
    let begun = json!({ "type": "tool_call_start", "toolCallId": "c", "toolName": "f" });
    let args = json!({ "type": "tool_call_args", "toolCallId": "c", "delta": "{}" });
    let whole =
        json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {} });
    let batch = |own: Value| {
        let mut event = json!({ "requestId": "r", "toolBatchId": 1 });
        event.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        event
    };
    let calls = batch(
        json!({ "type": "tool_calls", "toolCalls": [{ "id": "c", "name": "f", "args": {} }] }),
    );
    let results = |revised: bool| {
        batch(json!({ "type": "tool_results", "toolResults": [
            { "toolCallId": "c", "name": "f", "status": "ok", "result": "r", "revised": revised }] }))
    };
    let snapshot =
        |messages: &[&Value]| json!({ "type": "MESSAGES_SNAPSHOT", "messages": messages });
    let blank = json!({ "role": "user", "content": " " });
    let status = json!({ "type": "status" });
    let (none, first, second) = (None, Some(0), Some(1));
    for (given, wanted) in [
        (vec![&user, &said, &user, &said], vec![first, first, second, second]),
        (vec![&said, &said, &user], vec![first, first, second]),
        (vec![&system, &user, &system, &user], vec![none, first, none, second]),
        (vec![&system, &said, &user], vec![none, first, second]),
        // The user says nothing.
        (vec![&user, &blank, &user], vec![first, first, second]),
        (vec![&user, &call, &result, &user], vec![first, first, first, second]),
        // What nobody knows belongs to the turn that it stands in.
        (vec![&user, &status, &user, &status], vec![first, first, second, second]),
        // A call and its result stay together, with all between them, in either order.
        (vec![&user, &call, &user, &result, &user], vec![first, first, first, first, second]),
        (vec![&user, &result, &user, &call, &user], vec![first, first, first, first, second]),
        (
            vec![&user, &call, &result, &user, &result, &user],
            vec![first, first, first, first, first, second],
        ),
        // So do the pieces of one text, and of one call.
        (vec![&user, &start, &user, &delta, &user], vec![first, first, first, first, second]),
        (vec![&user, &begun, &user, &args, &user], vec![first, first, first, first, second]),
        (vec![&user, &begun, &user, &whole, &user], vec![first, first, first, first, second]),
        (vec![&user, &start, &delta, &user], vec![first, first, first, second]),
        (
            vec![&user, &calls, &results(false), &user, &results(true), &user],
            vec![first, first, first, first, first, second],
        ),
        (vec![&user, &asks, &user, &delta, &user], vec![first, second, second, second, Some(2)]),
        // A snapshot is one element, whatever is in it.
        (vec![&user, &snapshot(&[&system, &user]), &user], vec![first, second, Some(2)]),
        (vec![&snapshot(&[&system]), &user], vec![none, first]),
        (vec![&snapshot(&[&user, &system]), &said], vec![first, first]),
    ] {
        let text = json!(given).to_string();
        let mut history = open(Dialect::Anthropic);
        history.append(elements(&text).into_iter().map(Json::into_owned)).unwrap();
        assert_eq!(history.turns(), wanted, "{text}");
    }
}

/// A history that is not needed any more gives what one gives that goes on.
#[test]
fn a_history_that_ends_gives_the_same() {
    let given = r#"[{"role":"system","content":"s"},{"role":"user","content":"u"},
        {"role":"assistant","content":[{"type":"tool_use","id":"b","name":"my tool","input":{}},
            {"type":"tool_use","id":"a","name":"f","input":{}},
            {"type":"tool_use","id":"c","name":"f","input":{}}]}]"#;
    let options = HistoryOptions::parse(br#"{"dialect":"bedrock","tools":[]}"#).unwrap();
    let mut history = History::new(options);
    history.append_text(given).unwrap();
    let whole = history.normalized();
    assert_eq!(history.repairs(), whole.repairs);
    // Bedrock refuses calls of tools that are not declared; each is, once, by the name that is sent.
    let tool = |name: &str| {
        json!({ "toolSpec": { "name": name, "description": "Not available.",
            "inputSchema": { "json": { "type": "object" } } } })
    };
    let config = crate::value(whole.tool_config.as_ref().unwrap());
    assert_eq!(config, json!({ "tools": [tool("f"), tool("my_tool")] }));
    let missing: Vec<_> =
        whole.repairs.iter().filter(|one| one.code == Code::ToolsRequiredByHistory).collect();
    assert_eq!(missing.iter().map(|one| one.index).collect::<Vec<_>>(), [2]);
    let violations = history.violations();
    assert!(violations.iter().any(|one| one.code == Code::ToolsRequiredByHistory));
    let ended = history.into_normalized();
    assert_eq!(
        (ended.messages, ended.system, ended.tool_config, ended.repairs),
        (whole.messages, whole.system, whole.tool_config, whole.repairs)
    );
}

/// Short texts are many for their size, long ones are not.
#[test]
fn a_history_of_many_texts_is_taken_if_it_is_long() {
    let fits = |text: &str| {
        let one = json!([{ "type": "text", "text": text }]).to_string();
        let mut history = open(Dialect::Anthropic);
        (0..6000).all(|_| history.append(elements(&one).into_iter().map(Json::into_owned)).is_ok())
    };
    assert!(fits("a text that is as long as most"));
    let tiny = json!([{ "role": "user", "content": vec![""; 6000] }]).to_string();
    let refused = open(Dialect::Anthropic).append_text(tiny.leak()).unwrap_err();
    assert_eq!(refused.code(), "message.too_many_parts");
}
