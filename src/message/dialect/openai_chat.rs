//! OpenAI Chat Completions: <https://platform.openai.com/docs/api-reference/chat/create>.

use super::super::model::{Message, Normalized, Role};
use crate::canon::Json;

pub(in crate::message) fn export(messages: &[Message]) -> Normalized {
    let messages = messages.iter().map(message).collect();
    Normalized { messages, ..Normalized::default() }
}

fn message(message: &Message) -> Json<'static> {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut members = vec![("role".into(), role.into())];
    if let Some(id) = &message.call_id {
        members.push(("tool_call_id".into(), id.clone().into()));
    }
    members.push(("content".into(), message.content.clone()));
    if !message.calls.is_empty() {
        let calls = message.calls.iter().map(|call| {
            let function = Json::object([
                ("name", call.name.clone().into()),
                ("arguments", call.args.to_text().into()),
            ]);
            Json::object([
                ("id", call.id.clone().into()),
                ("type", "function".into()),
                ("function", function),
            ])
        });
        members.push(("tool_calls".into(), Json::Array(calls.collect())));
    }
    Json::Object(members)
}
