//! Requests: <https://docs.ollama.com/api/chat>.

use std::borrow::Cow;

use super::split;
use crate::json::{Add, Json, members, object};
use crate::provider::chat;
use crate::provider::content::Members;
use crate::provider::prompt::{AddedSystem, Exchange, Post, Prompt, Requests, Structured};
use crate::provider::request::Choice;

pub(in crate::provider) const REQUESTS: Requests = Requests {
    added_system: AddedSystem::InHistory,
    exchange,
    recorded: None,
    paused: None,
    members,
    structured: Structured::Member(|_, schema| ("format", schema)),
    object_root: false,
    post: Some(Post {
        path: |_, _| Cow::Borrowed("/api/chat"),
        headers: &[],
        accept: "application/x-ndjson",
        // It streams unless it is told otherwise.
        start: |model, stream| {
            members! { "model": Json::from(model), "stream": Json::Bool(stream) }
        },
    }),
};

/// Converts calls and their answers. Arguments are objects, and results name their tools.
fn exchange(exchange: &Exchange<'_>) -> Vec<Json<'static>> {
    let Exchange { reasoning, text, calls, .. } = exchange;
    let owned = |text: &str| Json::string(text.to_owned());
    let wire = calls.iter().map(|call| {
        let function = object! { "name": owned(call.name), "arguments": call.arguments() };
        object! { "id": owned(call.id), "function": function }
    });
    let mut said: Members<'static> = members! {
        "role": "assistant",
        "content": owned(text),
        "tool_calls": Json::Array(wire.collect()),
    };
    let thought: String = reasoning.iter().map(|block| block.text.as_str()).collect();
    if !thought.is_empty() {
        said.add("thinking", Json::from(thought));
    }
    let mut messages = vec![Json::Object(said)];
    messages.extend(calls.iter().map(|call| {
        let (content, images) = split(call.content());
        let mut result: Members<'static> = members! {
            "role": "tool",
            "tool_name": owned(call.name),
            "tool_call_id": owned(call.id),
            "content": content,
        };
        if !images.is_empty() {
            result.add("images", Json::Array(images));
        }
        Json::Object(result)
    }));
    messages
}

/// There is no choice of tools: those that may not be called are not declared.
fn members<'a>(prompt: Prompt<'_, 'a>) -> Members<'a> {
    let mut members: Members<'a> = members! { "messages": Json::Array(prompt.messages) };
    if !prompt.tools.is_empty() && prompt.choice == Choice::Auto {
        members.add("tools", chat::tools(prompt.tools));
    }
    members
}
