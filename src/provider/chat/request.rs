//! Requests: <https://platform.openai.com/docs/api-reference/chat/create>.

use std::borrow::Cow;

use super::{payload, recorded};
use crate::json::{Add, Json, members, object};
use crate::provider::content::Members;
use crate::provider::prompt::{AddedSystem, Exchange, Post, Prompt, Requests, Structured};
use crate::provider::request::{Choice, ToolDeclaration};

/// The requests of OpenAI's Chat Completions.
pub(in crate::provider) const REQUESTS: Requests = Requests {
    added_system: AddedSystem::InHistory,
    exchange,
    recorded: None,
    paused: None,
    members,
    structured: Structured::Member(json_schema),
    // "Root objects must not be anyOf and must be an object":
    // <https://platform.openai.com/docs/guides/structured-outputs> (2026-11-29).
    object_root: true,
    post: Some(post(started_with_usage)),
};

/// For a shape of histories that is no API. A host that sends them itself gets messages in that
/// shape, and tools in that of Chat Completions.
pub(in crate::provider) const FOR_HOSTS: Requests =
    Requests { structured: Structured::Unsupported, post: None, ..REQUESTS };

/// Whole requests; `start` writes the first members.
pub(in crate::provider) const fn post(start: fn(String, bool) -> Members<'static>) -> Post {
    let path = |_: &str, _| Cow::Borrowed("/chat/completions");
    Post { path, headers: &[], accept: "text/event-stream", start }
}

/// The model and the stream.
pub(in crate::provider) fn started(model: String, stream: bool) -> Members<'static> {
    let mut members: Members<'static> = members! { "model": Json::from(model) };
    if stream {
        members.add("stream", Json::Bool(true));
    }
    members
}

/// Also asks a stream to report its tokens.
fn started_with_usage(model: String, stream: bool) -> Members<'static> {
    let mut members = started(model, stream);
    if stream {
        members.add("stream_options", object! { "include_usage": Json::Bool(true) });
    }
    members
}

/// Converts calls and their answers. The rules of histories decide whether to keep the reasoning.
fn exchange(exchange: &Exchange<'_>) -> Vec<Json<'static>> {
    let Exchange { reasoning, text, calls, .. } = exchange;
    let owned = |text: &str| Json::string(text.to_owned());
    let wire = calls.iter().map(|call| {
        let function = object! {
            "name": owned(call.name),
            "arguments": Json::from(call.arguments().to_text()),
        };
        object! { "id": owned(call.id), "type": "function", "function": function }
    });
    let mut said = members! {
        "role": "assistant",
        "content": owned(text),
        "tool_calls": Json::Array(wire.collect()),
    };
    let ids: Vec<_> = calls.iter().map(|call| (call.id, call.id)).collect();
    if let Some(recorded) = recorded(reasoning, &ids) {
        said.add("reasoning", recorded);
    }
    let mut messages = vec![Json::Object(said)];
    messages.extend(calls.iter().map(|call| {
        object! { "role": "tool", "tool_call_id": owned(call.id), "content": payload(call.content()) }
    }));
    messages
}

/// The tools as Chat Completions declares them.
pub(in crate::provider) fn tools(tools: &[ToolDeclaration<'_>]) -> Json<'static> {
    let wire = tools.iter().map(|tool| {
        let function = object! {
            "name": Json::from(tool.name.to_owned()),
            "description": Json::from(tool.description.to_owned()),
            "parameters": tool.input_schema.clone(),
        };
        object! { "type": "function", "function": function }
    });
    Json::Array(wire.collect())
}

fn members<'a>(prompt: Prompt<'_, 'a>) -> Members<'a> {
    let mut members: Members<'a> = members! { "messages": Json::Array(prompt.messages) };
    if !prompt.tools.is_empty() {
        members.add("tools", tools(prompt.tools));
        // `tool_choice` is allowed only together with `tools`.
        if prompt.choice == Choice::None {
            members.add("tool_choice", "none");
        }
    }
    members
}

/// <https://platform.openai.com/docs/guides/structured-outputs>. Not `strict`: a strict schema
/// cannot express an object with any members.
fn json_schema(name: &'static str, schema: Json<'static>) -> (&'static str, Json<'static>) {
    let named = object! { "name": Json::from(name), "schema": schema };
    let format = [("type", "json_schema".into()), ("json_schema", named)];
    ("response_format", Json::object(format))
}
