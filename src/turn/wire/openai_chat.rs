//! OpenAI Chat Completions: <https://platform.openai.com/docs/api-reference/chat/create>.

use super::super::prompt::{Choice, Context};
use super::arguments;
use crate::canon::Json;
use crate::message::Normalized;
use crate::tool::ToolSpec;

pub(super) fn body(
    history: &Normalized<'static>,
    context: &[Context],
    tools: &[&ToolSpec],
    choice: Choice,
    replay_reasoning: bool,
) -> Json<'static> {
    let mut messages = history.messages.clone();
    for one in context {
        match one {
            Context::System(text) => messages
                .push(Json::object([("role", "system".into()), ("content", text.clone().into())])),
            Context::Exchange { reasoning, text, calls } => {
                let content = if text.is_empty() { Json::Null } else { Json::string(text.clone()) };
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
                let mut said =
                    vec![("role".into(), "assistant".into()), ("content".into(), content)];
                if replay_reasoning && !reasoning.is_empty() {
                    let text: String = reasoning.iter().map(|block| block.text.as_str()).collect();
                    said.push(("reasoning_content".into(), text.into()));
                }
                said.push(("tool_calls".into(), Json::Array(wire.collect())));
                messages.push(Json::Object(said));
                messages.extend(calls.iter().map(|call| {
                    Json::object([
                        ("role", "tool".into()),
                        ("tool_call_id", call.view.id.clone().into()),
                        ("content", call.answer.clone().into()),
                    ])
                }));
            }
        }
    }
    let mut members = vec![("messages".into(), Json::Array(messages))];
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
        // `tool_choice` is only allowed beside tools.
        if choice == Choice::None {
            members.push(("tool_choice".into(), "none".into()));
        }
    }
    Json::Object(members)
}
