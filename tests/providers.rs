//! Whole requests: the bodies and headers that the npm package's models send.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use turnlock::Dialect;
use turnlock::json::Json;
use turnlock::message::{HistoryOptions, normalize};
use turnlock::provider::{Choice, Request, RequestParts};
use turnlock::stream::Decoder;
use turnlock::tool::ToolSpec;

const CHAT: &[(&str, &str)] =
    &[("content-type", "application/json"), ("accept", "text/event-stream")];
const MESSAGES: &[(&str, &str)] = &[
    ("content-type", "application/json"),
    ("accept", "text/event-stream"),
    ("anthropic-version", "2023-06-01"),
];

fn members(text: &str) -> Vec<(String, Json<'static>)> {
    let Json::Object(members) = Json::parse_str(text).unwrap().into_owned() else {
        return Vec::new();
    };
    members.into_iter().map(|(key, value)| (key.into_owned(), value)).collect()
}

/// The parts of a request of the model `m` with one message.
fn parts(dialect: Dialect) -> RequestParts<'static> {
    let go = Json::parse_str(r#"{"role":"user","content":"go"}"#).unwrap();
    let made = normalize([go], &HistoryOptions::new(dialect)).unwrap();
    RequestParts::new("m", made.messages, made.system)
}

fn list_files() -> ToolSpec {
    ToolSpec::new("list_files").description("Lists.".to_owned())
}

#[track_caller]
fn check(request: &Request<'_>, path: &str, headers: &[(&str, &str)], body: &str) {
    assert_eq!(request.path, path);
    assert_eq!(request.headers, headers);
    assert_eq!(request.body.to_text(), body);
}

#[test]
fn chat_completions() {
    let usage = [
        Dialect::OpenAiChat,
        Dialect::DeepSeek,
        Dialect::Groq,
        Dialect::Xai,
        Dialect::ChatTemplate,
    ];
    for dialect in usage {
        let request = dialect.request(parts(dialect)).unwrap();
        let body = r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"go"}]}"#;
        check(&request, "/chat/completions", CHAT, body);
    }
    // Mistral refuses unknown members.
    let body = r#"{"model":"m","stream":true,"safe_prompt":true,"messages":[{"role":"user","content":"go"}]}"#;
    let mut mistral = parts(Dialect::Mistral);
    mistral.extra = members(r#"{"safe_prompt":true}"#);
    check(&Dialect::Mistral.request(mistral).unwrap(), "/chat/completions", CHAT, body);
}

#[test]
fn tools_and_choice() {
    let tool = list_files();
    let with = |dialect, choice| {
        let mut parts = parts(dialect);
        parts.tools.push((&tool).into());
        parts.choice = choice;
        dialect.request(parts).unwrap()
    };
    let tools = r#""tools":[{"type":"function","function":{"name":"list_files","description":"Lists.","parameters":{"type":"object"}}}]"#;
    let head = r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"go"}]"#;
    let request = with(Dialect::OpenAiChat, Choice::Auto);
    check(&request, "/chat/completions", CHAT, &format!("{head},{tools}}}"));
    let request = with(Dialect::OpenAiChat, Choice::None);
    check(
        &request,
        "/chat/completions",
        CHAT,
        &format!(r#"{head},{tools},"tool_choice":"none"}}"#),
    );

    let request = with(Dialect::Anthropic, Choice::None);
    let body = r#"{"model":"m","max_tokens":4096,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}],"tools":[{"name":"list_files","description":"Lists.","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"}}"#;
    check(&request, "/messages", MESSAGES, body);

    // Without tools, no choice is sent.
    let mut none = parts(Dialect::OpenAiChat);
    none.choice = Choice::None;
    assert_eq!(Dialect::OpenAiChat.request(none).unwrap().body.to_text(), format!("{head}}}"));
}

#[test]
fn system_texts() {
    let said = [r#"{"role":"system","content":"s"}"#, r#"{"role":"user","content":"go"}"#];
    let said = said.map(|text| Json::parse_str(text).unwrap());
    let made = normalize(said, &HistoryOptions::new(Dialect::Anthropic)).unwrap();
    let mut parts = RequestParts::new("m", made.messages, made.system);
    parts.added_system.push("box".to_owned());
    parts.extra = members(r#"{"max_tokens":9,"temperature":0}"#);
    let body = r#"{"model":"m","max_tokens":9,"stream":true,"temperature":0,"system":[{"type":"text","text":"s"},{"type":"text","text":"box"}],"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}]}"#;
    check(&Dialect::Anthropic.request(parts.clone()).unwrap(), "/messages", MESSAGES, body);

    // Where they belong in the history, they are refused and not lost.
    let refused = Dialect::OpenAiChat.request(parts.clone()).unwrap_err();
    assert_eq!(refused.code(), "options.invalid");
    parts.system = None;
    assert!(Dialect::OpenAiChat.request(parts.clone()).is_err());
    parts.added_system.clear();
    assert!(Dialect::OpenAiChat.request(parts).is_ok());
}

/// The host's members replace the first ones, and the core's replace the host's, each in its place.
#[test]
fn precedence() {
    let mut chat = parts(Dialect::OpenAiChat);
    chat.extra = members(
        r#"{"temperature":0,"stream_options":null,"model":"own","messages":[],"tools":[],"user":"u"}"#,
    );
    let body = r#"{"model":"own","stream":true,"stream_options":null,"temperature":0,"messages":[{"role":"user","content":"go"}],"tools":[],"user":"u"}"#;
    check(&Dialect::OpenAiChat.request(chat).unwrap(), "/chat/completions", CHAT, body);

    let mut anthropic = RequestParts::new("m", Vec::new(), None);
    anthropic.extra = members(r#"{"max_tokens":7,"system":"own","stream":false}"#);
    let body = r#"{"model":"m","max_tokens":7,"stream":false,"system":"own","messages":[]}"#;
    check(&Dialect::Anthropic.request(anthropic).unwrap(), "/messages", MESSAGES, body);
}

#[test]
fn one_response_in_place_of_a_stream() {
    for (dialect, body) in [
        (Dialect::OpenAiChat, r#"{"model":"m","messages":[]}"#),
        (Dialect::Mistral, r#"{"model":"m","messages":[]}"#),
        (Dialect::Anthropic, r#"{"model":"m","max_tokens":4096,"messages":[]}"#),
    ] {
        let mut parts = RequestParts::new("m", Vec::new(), None);
        parts.stream = false;
        let request = dialect.request(parts).unwrap();
        assert_eq!(request.headers[1], ("accept", "application/json"));
        assert_eq!(request.body.to_text(), body);
    }
}

#[test]
fn requests_are_written_where_responses_are_decoded() {
    for dialect in Dialect::ALL {
        let written = dialect.request(RequestParts::new("m", Vec::new(), None));
        let written = written.map(|_| ()).map_err(|error| error.code());
        let decoded = Decoder::new(dialect).map(|_| ()).map_err(|error| error.code());
        assert_eq!(written, decoded, "{}", dialect.name());
    }
    assert!(Dialect::Gemini.request(RequestParts::new("m", Vec::new(), None)).is_err());
}
