//! Whole requests: the bodies and headers that the npm package's models send.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use turnlock::Dialect;
use turnlock::history::{HistoryOptions, normalize};
use turnlock::json::Json;
use turnlock::provider::{Choice, Request, RequestParts, ToolDeclaration};
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
fn every_api_has_requests() {
    for dialect in Dialect::ALL {
        let written = dialect.request(RequestParts::new("m", Vec::new(), None));
        let code = written.err().map(|error| error.code());
        let none = dialect == Dialect::LangChain;
        assert_eq!(code, none.then_some("dialect.no_stream"), "{}", dialect.name());
    }
}

const GO: &str = r#"[{"role":"user","content":"go"}]"#;

/// A request with a system text, one tool that may not be called, and members of the host.
#[track_caller]
fn with_all(dialect: Dialect, path: &str, accept: &str, body: &str) {
    let tool = list_files();
    let said = [r#"{"role":"system","content":"s"}"#, r#"{"role":"user","content":"go"}"#];
    let said = said.map(|text| Json::parse_str(text).unwrap());
    let made = normalize(said, &HistoryOptions::new(dialect)).unwrap();
    let mut parts = RequestParts::new("vendor/m:1", made.messages, made.system);
    parts.tools.push((&tool).into());
    parts.choice = Choice::None;
    parts.extra = members(r#"{"own":1}"#);
    let headers = [("content-type", "application/json"), ("accept", accept)];
    check(&dialect.request(parts).unwrap(), path, &headers, body);
}

#[test]
fn responses() {
    let request = Dialect::OpenAiResponses.request(parts(Dialect::OpenAiResponses)).unwrap();
    let head = r#""store":false,"include":["reasoning.encrypted_content"],"stream":true"#;
    check(&request, "/responses", CHAT, &format!(r#"{{"model":"m",{head},"input":{GO}}}"#));
    let body = format!(
        r#"{{"model":"vendor/m:1",{head},"own":1,"input":[{{"role":"system","content":"s"}},{{"role":"user","content":"go"}}],"tools":[{{"type":"function","name":"list_files","description":"Lists.","parameters":{{"type":"object"}},"strict":false}}],"tool_choice":"none"}}"#
    );
    with_all(Dialect::OpenAiResponses, "/responses", "text/event-stream", &body);
}

#[test]
fn gemini() {
    let request = Dialect::Gemini.request(parts(Dialect::Gemini)).unwrap();
    let body = r#"{"contents":[{"role":"user","parts":[{"text":"go"}]}]}"#;
    check(&request, "/models/m:streamGenerateContent?alt=sse", CHAT, body);
    let body = r#"{"own":1,"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"go"}]}],"tools":[{"functionDeclarations":[{"name":"list_files","description":"Lists.","parametersJsonSchema":{"type":"object"}}]}],"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}"#;
    let path = "/vendor/m%3A1:streamGenerateContent?alt=sse";
    with_all(Dialect::Gemini, path, "text/event-stream", body);
    let mut whole = parts(Dialect::Gemini);
    whole.stream = false;
    let request = Dialect::Gemini.request(whole).unwrap();
    assert_eq!(request.path, "/models/m:generateContent");
    assert_eq!(request.headers[1], ("accept", "application/json"));
}

#[test]
fn bedrock() {
    let stream = "application/vnd.amazon.eventstream";
    let body = r#"{"own":1,"system":[{"text":"s"},{"text":"Tools are disabled now. Answer without calling one."}],"messages":[{"role":"user","content":[{"text":"go"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"list_files","description":"Lists.","inputSchema":{"json":{"type":"object"}}}}]}}"#;
    with_all(Dialect::Bedrock, "/model/vendor%2Fm%3A1/converse-stream", stream, body);
    // A history with calls is refused without declarations.
    let called = [
        r#"{"role":"user","content":[{"text":"go"}]}"#,
        r#"{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}},{"toolUse":{"toolUseId":"b","name":"g","input":{}}},{"toolUse":{"toolUseId":"c","name":"f","input":{}}}]}"#,
        r#"{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"r"}]}},{"toolResult":{"toolUseId":"b","content":[{"text":"r"}]}},{"toolResult":{"toolUseId":"c","content":[{"text":"r"}]}}]}"#,
    ];
    let called = called.map(|text| Json::parse_str(text).unwrap()).to_vec();
    let mut whole = RequestParts::new("m", called, None);
    whole.stream = false;
    let request = Dialect::Bedrock.request(whole).unwrap();
    assert_eq!(request.path, "/model/m/converse");
    let stub = |name| {
        format!(
            r#"{{"toolSpec":{{"name":"{name}","description":"Not available.","inputSchema":{{"json":{{"type":"object"}}}}}}}}"#
        )
    };
    let stubs = format!(r#"{{"tools":[{},{}]}}"#, stub("f"), stub("g"));
    assert_eq!(request.body.get("toolConfig").unwrap().to_text(), stubs);
}

/// What the host has in `toolConfig` stays beside the tools, but for a choice among tools that may not
/// be called.
#[test]
fn tool_configuration_of_the_host() {
    let schema = Json::parse_str(r#"{"type":"object"}"#).unwrap();
    let made = |dialect: Dialect, host: &str, choice: Choice| {
        let mut parts = RequestParts::new("m", Vec::new(), None);
        parts.tools = vec![ToolDeclaration { name: "f", description: "", input_schema: &schema }];
        parts.choice = choice;
        parts.extra.push(("toolConfig".to_owned(), Json::parse_str(host).unwrap().into_owned()));
        dialect.request(parts).unwrap().body.get("toolConfig").unwrap().to_text()
    };
    let tools = r#""tools":[{"toolSpec":{"name":"f","description":"","inputSchema":{"json":{"type":"object"}}}}]"#;
    let host = r#"{"toolChoice":{"any":{}},"tools":[],"later":1}"#;
    assert_eq!(
        made(Dialect::Bedrock, host, Choice::Auto),
        format!(r#"{{{tools},"toolChoice":{{"any":{{}}}},"later":1}}"#)
    );
    assert_eq!(made(Dialect::Bedrock, host, Choice::None), format!(r#"{{{tools},"later":1}}"#));
    let host =
        r#"{"functionCallingConfig":{"mode":"ANY"},"retrievalConfig":{"languageCode":"de"}}"#;
    assert_eq!(
        made(Dialect::Gemini, host, Choice::None),
        r#"{"functionCallingConfig":{"mode":"NONE"},"retrievalConfig":{"languageCode":"de"}}"#
    );
    assert_eq!(made(Dialect::Gemini, host, Choice::Auto), host);
}

#[test]
fn cohere_and_ollama() {
    let tools = r#"[{"type":"function","function":{"name":"list_files","description":"Lists.","parameters":{"type":"object"}}}]"#;
    let said = r#"[{"role":"system","content":"s"},{"role":"user","content":"go"}]"#;
    let body = format!(
        r#"{{"model":"vendor/m:1","stream":true,"own":1,"messages":{said},"tools":{tools},"tool_choice":"NONE"}}"#
    );
    with_all(Dialect::Cohere, "/chat", "text/event-stream", &body);
    // Ollama has no choice, so that tools which may not be called are left out.
    let body = format!(r#"{{"model":"vendor/m:1","stream":true,"own":1,"messages":{said}}}"#);
    with_all(Dialect::Ollama, "/api/chat", "application/x-ndjson", &body);
    let tool = list_files();
    let mut asked = parts(Dialect::Ollama);
    asked.tools.push((&tool).into());
    asked.stream = false;
    let request = Dialect::Ollama.request(asked).unwrap();
    let body = format!(r#"{{"model":"m","stream":false,"messages":{GO},"tools":{tools}}}"#);
    assert_eq!(request.body.to_text(), body);
}

#[test]
fn the_name_of_a_model_stays_in_its_place() {
    let path = |dialect: Dialect, model: &str| {
        dialect.request(RequestParts::new(model, Vec::new(), None)).unwrap().path.into_owned()
    };
    assert_eq!(
        path(Dialect::Gemini, "tunedModels/a.b?c"),
        "/tunedModels/a.b%3Fc:streamGenerateContent?alt=sse"
    );
    let up = "..";
    for name in [up.to_owned(), [up, up, "x"].join("/"), ["a", up, "b"].join("/"), ".".to_owned()] {
        let made = [path(Dialect::Gemini, &name), path(Dialect::Bedrock, &name)];
        for path in made {
            let dots = |part: &str| {
                let plain = part.replace("%2E", ".").replace("%2e", ".");
                plain == "." || plain == ".."
            };
            assert!(!path.split('/').any(dots), "{path}");
        }
    }
}

#[test]
fn what_chooses_among_tools_is_not_sent_without_tools() {
    let choices = [
        (Dialect::OpenAiChat, "parallel_tool_calls", "false"),
        (Dialect::Anthropic, "tool_choice", r#"{"type":"any"}"#),
        (Dialect::OpenAiResponses, "tool_choice", r#""required""#),
        (Dialect::Gemini, "toolConfig", r#"{"functionCallingConfig":{"mode":"ANY"}}"#),
        (Dialect::Bedrock, "toolConfig", r#"{"toolChoice":{"any":{}}}"#),
        (Dialect::Cohere, "tool_choice", r#""REQUIRED""#),
    ];
    for (dialect, key, value) in choices {
        let made = |tools: bool| {
            let mut parts = RequestParts::new("m", Vec::new(), None);
            parts.extra.push((key.to_owned(), Json::parse_str(value).unwrap()));
            if tools {
                let schema = Box::leak(Box::new(Json::parse_str(r#"{"type":"object"}"#).unwrap()));
                parts.tools =
                    vec![ToolDeclaration { name: "f", description: "", input_schema: schema }];
            }
            dialect.request(parts).unwrap().body.get(key).is_some()
        };
        assert!(!made(false), "{dialect:?} {key}");
        assert!(made(true), "{dialect:?} {key}");
    }
}

#[test]
fn only_models_that_may_reason_are_asked_for_encrypted_reasoning() {
    let asks = |model: &str| {
        let parts = RequestParts::new(model, Vec::new(), None);
        Dialect::OpenAiResponses.request(parts).unwrap().body.get("include").is_some()
    };
    for model in ["gpt-4.1", "gpt-4o-mini", "ft:gpt-4o:own", "openai/gpt-4.1", "gpt-5-chat-latest"]
    {
        assert!(!asks(model), "{model}");
    }
    for model in ["gpt-5-mini", "o4-mini", "codex-mini-latest", "gpt-6"] {
        assert!(asks(model), "{model}");
    }
}
