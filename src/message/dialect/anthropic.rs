//! Anthropic Messages: <https://docs.anthropic.com/en/api/messages>.

use super::super::model::{Message, Normalized, Role};
use crate::canon::Json;

/// The system prompt stands beside the messages, results stand in user messages, and
/// neighbours of one role are one message.
pub(in crate::message) fn export(messages: &[Message]) -> Normalized {
    let mut system = Vec::new();
    let mut out: Vec<(&'static str, Vec<Json<'static>>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message.role {
            Role::System => {
                system.extend(blocks(&message.content));
                continue;
            }
            Role::User => ("user", blocks(&message.content)),
            Role::Assistant => {
                let mut said = blocks(&message.content);
                said.extend(message.calls.iter().map(|call| {
                    Json::object([
                        ("type", "tool_use".into()),
                        ("id", call.id.clone().into()),
                        ("name", call.name.clone().into()),
                        ("input", call.args.clone()),
                    ])
                }));
                ("assistant", said)
            }
            Role::Tool => {
                let id = message.call_id.clone().unwrap_or_default();
                let result = Json::object([
                    ("type", "tool_result".into()),
                    ("tool_use_id", id.into()),
                    ("content", message.content.clone()),
                ]);
                ("user", vec![result])
            }
        };
        match out.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => out.push((role, blocks)),
        }
    }
    let messages = out.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    Normalized {
        messages: messages
            .map(|(role, blocks)| {
                Json::object([("role", role.into()), ("content", Json::Array(blocks))])
            })
            .collect(),
        system: (!system.is_empty()).then_some(Json::Array(system)),
        ..Normalized::default()
    }
}

/// Empty texts are refused by the API, so they are left out.
fn blocks(content: &Json<'static>) -> Vec<Json<'static>> {
    match content {
        Json::String(text) if text.trim().is_empty() => Vec::new(),
        Json::String(text) => {
            vec![Json::object([("type", "text".into()), ("text", text.to_string().into())])]
        }
        Json::Array(parts) => parts.clone(),
        _ => Vec::new(),
    }
}
