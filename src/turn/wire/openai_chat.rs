//! OpenAI Chat Completions: <https://platform.openai.com/docs/api-reference/chat/create>.

use super::super::prompt::{Choice, Exchange};
use super::arguments;
use crate::json::Json;
use crate::message::Normalized;
use crate::tool::ToolSpec;

/// Converts calls and their answers. The rules of the dialect decide whether to keep the reasoning.
pub(super) fn exchange(exchange: &Exchange) -> Vec<Json<'static>> {
    let Exchange { reasoning, text, calls } = exchange;
    let wire = calls.iter().map(|call| {
        let function = Json::object([
            ("name", call.view.name.clone().into()),
            ("arguments", arguments(&call.view.args).to_text().into()),
        ]);
        Json::object([
            ("id", call.view.id.clone().into()),
            ("type", "function".into()),
            ("function", function),
        ])
    });
    let mut said = vec![
        ("role".into(), "assistant".into()),
        ("content".into(), text.clone().into()),
        ("tool_calls".into(), Json::Array(wire.collect())),
    ];
    if !reasoning.is_empty() {
        let text: String = reasoning.iter().map(|block| block.text.as_str()).collect();
        said.push(("reasoning_content".into(), text.into()));
    }
    let mut messages = vec![Json::Object(said)];
    messages.extend(calls.iter().map(|call| {
        Json::object([
            ("role", "tool".into()),
            ("tool_call_id", call.view.id.clone().into()),
            ("content", call.answer.clone().into()),
        ])
    }));
    messages
}

pub(super) fn body(
    history: Normalized<'static>,
    tools: &[&ToolSpec],
    choice: Choice,
) -> Json<'static> {
    let mut members = vec![("messages".into(), Json::Array(history.messages))];
    if !tools.is_empty() {
        let wire = tools.iter().map(|tool| {
            let function = Json::object([
                ("name", tool.name.clone().into()),
                ("description", tool.description.clone().into()),
                ("parameters", tool.input_schema.clone()),
            ]);
            Json::object([("type", "function".into()), ("function", function)])
        });
        members.push(("tools".into(), Json::Array(wire.collect())));
        // `tool_choice` is allowed only together with `tools`.
        if choice == Choice::None {
            members.push(("tool_choice".into(), "none".into()));
        }
    }
    Json::Object(members)
}
