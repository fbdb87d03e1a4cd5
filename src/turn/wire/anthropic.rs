//! Anthropic Messages: <https://docs.anthropic.com/en/api/messages>.

use super::super::prompt::{Choice, Exchange};
use super::arguments;
use crate::json::Json;
use crate::message::Normalized;
use crate::tool::ToolSpec;

fn text_block(text: String) -> Json<'static> {
    Json::object([("type", "text".into()), ("text", text.into())])
}

/// Converts calls and their answers. All results are in one user message after the calls.
pub(super) fn exchange(exchange: &Exchange) -> Vec<Json<'static>> {
    let Exchange { reasoning, text, calls } = exchange;
    // With thinking enabled, an assistant message with calls must begin with its signed thinking.
    let signed = reasoning.iter().filter_map(|block| {
        let signature = block.signature.clone()?;
        Some(Json::object([
            ("type", "thinking".into()),
            ("thinking", block.text.clone().into()),
            ("signature", signature.into()),
        ]))
    });
    let mut said: Vec<_> = signed.collect();
    if !text.trim().is_empty() {
        said.push(text_block(text.clone()));
    }
    said.extend(calls.iter().map(|call| {
        Json::object([
            ("type", "tool_use".into()),
            ("id", call.view.id.clone().into()),
            ("name", call.view.name.clone().into()),
            ("input", arguments(&call.view.args)),
        ])
    }));
    let results = calls.iter().map(|call| {
        Json::object([
            ("type", "tool_result".into()),
            ("tool_use_id", call.view.id.clone().into()),
            ("content", call.answer.clone().into()),
        ])
    });
    let results = Json::Array(results.collect());
    [("assistant", Json::Array(said)), ("user", results)]
        .map(|(role, content)| Json::object([("role", role.into()), ("content", content)]))
        .into()
}

pub(super) fn body(
    history: Normalized<'static>,
    added: &[&str],
    tools: &[&ToolSpec],
    choice: Choice,
) -> Json<'static> {
    let mut system: Vec<Json<'static>> = match history.system {
        Some(Json::Array(blocks)) => blocks,
        _ => Vec::new(),
    };
    system.extend(added.iter().map(|text| text_block((*text).to_owned())));
    let mut members = Vec::new();
    if !system.is_empty() {
        members.push(("system".into(), Json::Array(system)));
    }
    members.push(("messages".into(), Json::Array(history.messages)));
    if !tools.is_empty() {
        let wire = tools.iter().map(|tool| {
            Json::object([
                ("name", tool.name.clone().into()),
                ("description", tool.description.clone().into()),
                ("input_schema", tool.input_schema.clone()),
            ])
        });
        members.push(("tools".into(), Json::Array(wire.collect())));
        if choice == Choice::None {
            members.push(("tool_choice".into(), Json::object([("type", "none".into())])));
        }
    }
    Json::Object(members)
}
