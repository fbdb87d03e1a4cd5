//! Requests: <https://platform.openai.com/docs/api-reference/responses/create>.

use std::borrow::Cow;

use super::message::payload;
use crate::json::{Add, Json, members, object};
use crate::provider::content::Members;
use crate::provider::prompt::{
    AddedSystem, Exchange, Member, Piece, Post, Prompt, Requests, Structured,
};
use crate::provider::request::Choice;
use crate::stream::PART;

pub(in crate::provider) const REQUESTS: Requests = Requests {
    added_system: AddedSystem::InHistory,
    exchange,
    recorded: None,
    paused: None,
    members,
    structured: Structured::Within(json_schema),
    // As Chat Completions.
    object_root: true,
    post: Some(Post {
        path: |_, _| Cow::Borrowed("/responses"),
        headers: &[],
        accept: "text/event-stream",
        start,
    }),
};

/// Nothing is kept by the provider, so reasoning comes encrypted and is sent back:
/// <https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items>.
fn start(model: String, stream: bool) -> Members<'static> {
    let reasons = reasons(&model);
    let mut members: Members<'static> =
        members! { "model": Json::from(model), "store": Json::Bool(false) };
    if reasons {
        let include = Json::Array(vec!["reasoning.encrypted_content".into()]);
        members.add("include", include);
    }
    if stream {
        members.add("stream", Json::Bool(true));
    }
    members
}

/// Whether a model may reason. OpenAI's older ones do not, and refuse to be asked for it: "Encrypted
/// content is not supported with this model".
fn reasons(model: &str) -> bool {
    let name = model.strip_prefix("ft:").unwrap_or(model);
    let name = name.rsplit_once('/').map_or(name, |(_, last)| last);
    !["gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat"].iter().any(|old| name.starts_with(old))
}

/// Converts calls and their answers to items. Reasoning has no id: an id names a kept item.
fn exchange(exchange: &Exchange<'_>) -> Vec<Json<'static>> {
    let owned = |text: &str| Json::string(text.to_owned());
    let (mut items, mut summary) = (Vec::new(), Vec::new());
    for piece in exchange.pieces() {
        let block = match piece {
            Piece::Thought(block) => block,
            Piece::Text(text) => {
                items.push(object! { "role": "assistant", "content": owned(text) });
                continue;
            }
            Piece::Call(call) => {
                summary.clear();
                items.push(object! {
                    "type": "function_call",
                    "call_id": owned(call.id),
                    "name": owned(call.name),
                    "arguments": Json::from(call.arguments().to_text()),
                });
                continue;
            }
        };
        if let Some(block) = block.block() {
            items.push(block);
            continue;
        }
        if !block.text.is_empty() {
            summary.push(object! { "type": "summary_text", "text": owned(&block.text) });
        }
        match block.signature.as_deref() {
            Some(PART) => {}
            Some(signature) => items.push(object! {
                "type": "reasoning",
                "summary": Json::Array(std::mem::take(&mut summary)),
                "encrypted_content": owned(signature),
            }),
            None => summary.clear(),
        }
    }
    items.extend(exchange.calls.iter().map(|call| {
        object! {
            "type": "function_call_output",
            "call_id": owned(call.id),
            "output": payload(call.content()),
        }
    }));
    items
}

fn members<'a>(prompt: Prompt<'_, 'a>) -> Members<'a> {
    let mut members: Members<'a> = members! { "input": Json::Array(prompt.messages) };
    if !prompt.tools.is_empty() {
        // The API takes a tool as strict unless it is told otherwise, and would change its schema.
        let wire = prompt.tools.iter().map(|tool| {
            object! {
                "type": "function",
                "name": Json::from(tool.name.to_owned()),
                "description": Json::from(tool.description.to_owned()),
                "parameters": tool.input_schema.clone(),
                "strict": Json::Bool(false),
            }
        });
        members.add("tools", Json::Array(wire.collect()));
        if prompt.choice == Choice::None {
            members.add("tool_choice", "none");
        }
    }
    members
}

/// <https://platform.openai.com/docs/guides/structured-outputs>. Not strict: a strict schema cannot
/// express an object with any members.
fn json_schema(name: &'static str, schema: Json<'static>) -> Member {
    let format = object! {
        "type": "json_schema",
        "name": Json::from(name),
        "schema": schema,
        "strict": Json::Bool(false),
    };
    ("text", object! { "format": format })
}
