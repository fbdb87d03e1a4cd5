//! Requests: <https://docs.cohere.com/v2/reference/chat-stream>.

use std::borrow::Cow;

use crate::json::{Add, Json, members, object};
use crate::provider::chat;
use crate::provider::content::Members;
use crate::provider::prompt::{AddedSystem, Exchange, Member, Post, Prompt, Requests, Structured};
use crate::provider::request::Choice;

pub(in crate::provider) const REQUESTS: Requests = Requests {
    added_system: AddedSystem::InHistory,
    exchange,
    recorded: None,
    paused: None,
    members,
    structured: Structured::Member(json_object),
    // The mode is `json_object`.
    object_root: true,
    post: Some(Post {
        path: |_, _| Cow::Borrowed("/chat"),
        headers: &[],
        accept: "text/event-stream",
        start: chat::started,
    }),
};

/// Converts calls and their answers. Deltas have two things as reasoning: the plan before the calls,
/// and thinking, which is a part of the content and whose parts are marked as such.
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
    let mut said: Members<'static> =
        members! { "role": "assistant", "tool_calls": Json::Array(wire.collect()) };
    let (mut plan, mut content) = (String::new(), Vec::new());
    for block in *reasoning {
        if block.signature.is_none() {
            plan.push_str(&block.text);
        } else if !block.text.is_empty() {
            content.push(object! { "type": "thinking", "thinking": owned(&block.text) });
        }
    }
    if !plan.trim().is_empty() {
        said.add("tool_plan", Json::from(plan));
    }
    let speaks = !text.trim().is_empty();
    if !content.is_empty() {
        if speaks {
            content.push(object! { "type": "text", "text": owned(text) });
        }
        said.add("content", Json::Array(content));
    } else if speaks {
        said.add("content", owned(text));
    }
    let mut messages = vec![Json::Object(said)];
    messages.extend(calls.iter().map(|call| {
        object! { "role": "tool", "tool_call_id": owned(call.id), "content": call.text() }
    }));
    messages
}

fn members<'a>(prompt: Prompt<'_, 'a>) -> Members<'a> {
    let mut members: Members<'a> = members! { "messages": Json::Array(prompt.messages) };
    if !prompt.tools.is_empty() {
        members.add("tools", chat::tools(prompt.tools));
        if prompt.choice == Choice::None {
            members.add("tool_choice", "NONE");
        }
    }
    members
}

/// <https://docs.cohere.com/v2/docs/structured-outputs>.
fn json_object(_: &'static str, schema: Json<'static>) -> Member {
    ("response_format", object! { "type": "json_object", "json_schema": schema })
}
