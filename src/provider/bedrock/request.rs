//! Requests: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.

use std::borrow::Cow;

use super::message::block;
use super::stubs;
use crate::json::{Add, Json, members, object};
use crate::provider::content::{Members, ResultOut, blocks};
use crate::provider::prompt::{
    AddedSystem, Exchange, Member, Piece, Post, Prompt, Requests, Structured,
};
use crate::provider::request::{Choice, escape};
use crate::stream::{REDACTED, Reasoning};

/// Stands in the system prompt where tools may not be called: Converse has no such choice, and tools
/// of calls in the history must stay declared.
const NO_TOOLS: &str = "Tools are disabled now. Answer without calling one.";

pub(in crate::provider) const REQUESTS: Requests = Requests {
    added_system: AddedSystem::InSystem,
    exchange,
    recorded: None,
    paused: None,
    members,
    structured: Structured::Tool(forced),
    object_root: false,
    post: Some(Post {
        path,
        headers: &[],
        accept: "application/vnd.amazon.eventstream",
        // The path names the model and asks for the stream.
        start: |_, _| Members::new(),
    }),
};

/// A model is an id, or an ARN, whose colons and slashes are encoded.
fn path(model: &str, stream: bool) -> Cow<'static, str> {
    let mut path = "/model/".to_owned();
    escape(model, b"", &mut path);
    path.push_str(if stream { "/converse-stream" } else { "/converse" });
    path.into()
}

fn text_block(text: &str) -> Json<'static> {
    object! { "text": Json::from(text.to_owned()) }
}

/// Converts calls and their answers. Reasoning is taken back only with its signature.
fn exchange(exchange: &Exchange<'_>) -> Vec<Json<'static>> {
    let owned = |text: &str| Json::string(text.to_owned());
    let signed = |block: &Reasoning| {
        if let Some(block) = block.block() {
            return Some(block);
        }
        let signature = block.signature.as_deref()?;
        if let Some(data) = signature.strip_prefix(REDACTED) {
            let content = object! { "redactedContent": owned(data) };
            return Some(object! { "reasoningContent": content });
        }
        let text = object! { "text": owned(&block.text), "signature": owned(signature) };
        Some(object! { "reasoningContent": object! { "reasoningText": text } })
    };
    let said = exchange.pieces().into_iter().filter_map(|piece| match piece {
        Piece::Thought(block) => signed(block),
        Piece::Text(text) => Some(text_block(text)),
        Piece::Call(call) => {
            let (id, name) = (owned(call.id), owned(call.name));
            let call = object! { "toolUseId": id, "name": name, "input": call.arguments() };
            Some(object! { "toolUse": call })
        }
    });
    let said: Vec<_> = said.collect();
    let results = exchange.calls.iter().map(|call| {
        let content = Json::Array(match call.content() {
            ResultOut::Parts(parts) => blocks(parts, block),
            _ => vec![text_block(call.answer)],
        });
        let mut result: Members<'static> =
            members! { "toolUseId": owned(call.id), "content": content };
        if call.failed {
            result.add("status", "error");
        }
        object! { "toolResult": Json::Object(result) }
    });
    let results = Json::Array(results.collect());
    [("assistant", Json::Array(said)), ("user", results)]
        .map(|(role, content)| object! { "role": role, "content": content })
        .into()
}

fn members<'a>(prompt: Prompt<'_, 'a>) -> Members<'a> {
    let mut system: Vec<Json<'a>> = match prompt.system {
        Some(Json::Array(blocks)) => blocks,
        _ => Vec::new(),
    };
    system.extend(prompt.added_system.iter().map(|text| text_block(text)));
    let config = if prompt.tools.is_empty() {
        declared(&prompt.messages)
    } else {
        if prompt.choice == Choice::None {
            system.push(text_block(NO_TOOLS));
        }
        let wire = prompt.tools.iter().map(|tool| {
            let spec = object! {
                "name": Json::from(tool.name.to_owned()),
                "description": Json::from(tool.description.to_owned()),
                "inputSchema": object! { "json": tool.input_schema.clone() },
            };
            object! { "toolSpec": spec }
        });
        Some(object! { "tools": Json::Array(wire.collect()) })
    };
    let mut members: Members<'a> = Vec::new();
    if !system.is_empty() {
        members.add("system", Json::Array(system));
    }
    members.add("messages", Json::Array(prompt.messages));
    if let Some(config) = config {
        members.add("toolConfig", config);
    }
    members
}

/// Stub declarations of the tools that the messages name: a history with calls is refused in a
/// request that declares no tools.
fn declared(messages: &[Json<'_>]) -> Option<Json<'static>> {
    let mut names: Vec<String> = Vec::new();
    let contents = messages.iter().filter_map(|message| message.get("content")?.as_array());
    for block in contents.flatten() {
        let name = block.get("toolUse").and_then(|call| call.get("name")?.as_str());
        if let Some(name) = name
            && !names.iter().any(|one| *one == name)
        {
            names.push(name.to_string());
        }
    }
    (!names.is_empty()).then(|| stubs(names))
}

fn forced(tool: &'static str) -> Member {
    let choice = object! { "tool": object! { "name": Json::from(tool) } };
    ("toolConfig", object! { "toolChoice": choice })
}
