//! Requests: <https://docs.anthropic.com/en/api/messages>.

use std::borrow::Cow;

use super::message::block;
use crate::json::{Add, Json, members, object};
use crate::provider::content::{Members, ResultOut, blocks};
use crate::provider::prompt::{AddedSystem, Exchange, Piece, Post, Prompt, Requests, Structured};
use crate::provider::request::Choice;
use crate::stream::{REDACTED, Reasoning, Response};

pub(in crate::provider) const REQUESTS: Requests = Requests {
    // Most models refuse a message with the role `system`.
    added_system: AddedSystem::InSystem,
    exchange,
    recorded: None,
    paused: Some(paused),
    members,
    structured: Structured::Tool(forced),
    object_root: false,
    post: Some(Post {
        path: |_, _| Cow::Borrowed("/messages"),
        headers: super::INFO.headers,
        accept: "text/event-stream",
        start,
    }),
};

/// The limit of tokens is required.
fn start(model: String, stream: bool) -> Members<'static> {
    let limit = Json::integer(4096);
    let mut members: Members<'static> =
        members! { "model": Json::from(model), "max_tokens": limit };
    if stream {
        members.add("stream", Json::Bool(true));
    }
    members
}

fn text_block(text: &str) -> Json<'static> {
    object! { "type": "text", "text": Json::from(text.to_owned()) }
}

/// Converts calls and their answers. All results are in one user message after the calls.
fn exchange(exchange: &Exchange<'_>) -> Vec<Json<'static>> {
    let owned = |text: &str| Json::string(text.to_owned());
    let said = exchange.pieces().into_iter().filter_map(|piece| match piece {
        Piece::Thought(block) => signed(block),
        Piece::Text(text) => Some(text_block(text)),
        Piece::Call(call) => Some(object! {
            "type": "tool_use",
            "id": owned(call.id),
            "name": owned(call.name),
            "input": call.arguments(),
        }),
    });
    let said: Vec<_> = said.collect();
    let results = exchange.calls.iter().map(|call| {
        let mut result: Members<'static> = members! {
            "type": "tool_result",
            "tool_use_id": owned(call.id),
            "content": match call.content() {
                ResultOut::Parts(parts) => Json::Array(blocks(parts, block)),
                _ => owned(call.answer),
            },
        };
        if call.failed {
            result.add("is_error", Json::Bool(true));
        }
        Json::Object(result)
    });
    let results = Json::Array(results.collect());
    [("assistant", Json::Array(said)), ("user", results)]
        .map(|(role, content)| object! { "role": role, "content": content })
        .into()
}

/// Converts a block. With thinking enabled, an assistant message with calls must begin with its
/// signed thinking.
fn signed(block: &Reasoning) -> Option<Json<'static>> {
    let owned = |text: &str| Json::string(text.to_owned());
    if let Some(block) = block.block() {
        return Some(block);
    }
    let signature = block.signature.as_deref()?;
    if let Some(data) = signature.strip_prefix(REDACTED) {
        return Some(object! { "type": "redacted_thinking", "data": owned(data) });
    }
    Some(object! {
        "type": "thinking",
        "thinking": owned(&block.text),
        "signature": owned(signature),
    })
}

/// A response with `pause_turn` goes back as it is, as the last message:
/// <https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons#pause-turn>
/// (2026-11-30).
fn paused(response: &Response) -> Json<'static> {
    let blocks = response.pieces().into_iter().filter_map(|piece| match piece {
        Ok(text) => (!text.trim().is_empty()).then(|| text_block(text)),
        Err(block) => signed(block),
    });
    object! { "role": "assistant", "content": Json::Array(blocks.collect()) }
}

fn members<'a>(prompt: Prompt<'_, 'a>) -> Members<'a> {
    let mut system: Vec<Json<'a>> = match prompt.system {
        Some(Json::Array(blocks)) => blocks,
        _ => Vec::new(),
    };
    system.extend(prompt.added_system.iter().map(|text| text_block(text)));
    let mut members: Members<'a> = Vec::new();
    if !system.is_empty() {
        members.add("system", Json::Array(system));
    }
    members.add("messages", Json::Array(prompt.messages));
    if !prompt.tools.is_empty() {
        let wire = prompt.tools.iter().map(|tool| {
            object! {
                "name": Json::from(tool.name.to_owned()),
                "description": Json::from(tool.description.to_owned()),
                "input_schema": tool.input_schema.clone(),
            }
        });
        members.add("tools", Json::Array(wire.collect()));
        if prompt.choice == Choice::None {
            members.add("tool_choice", object! { "type": "none" });
        }
    }
    members
}

fn forced(tool: &'static str) -> (&'static str, Json<'static>) {
    ("tool_choice", object! { "type": "tool", "name": Json::from(tool) })
}
