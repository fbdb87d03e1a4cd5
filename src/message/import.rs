//! Messages out of what a host keeps.

use super::model::{Message, Role, ToolCall};
use crate::canon::Json;
use crate::error::Error;

pub(super) fn messages(history: &[Json<'_>]) -> Result<Vec<Message>, Error> {
    let read = |(index, item)| message(item).ok_or(Error::MessageShape { index });
    history.iter().enumerate().map(read).collect()
}

fn message(item: &Json<'_>) -> Option<Message> {
    let role = match item.get("role")?.as_str()? {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => return None,
    };
    let content = match item.get("content") {
        None | Some(Json::Null) if role == Role::Assistant => Json::Null,
        Some(content @ (Json::String(_) | Json::Array(_))) => content.clone().into_owned(),
        _ => return None,
    };
    let text = |key: &str| item.get(key).and_then(Json::as_str).map(str::to_owned);
    let call_id = text("toolCallId").or_else(|| text("tool_call_id"));
    if role == Role::Tool && call_id.is_none() {
        return None;
    }
    let calls = match item.get("toolCalls").or_else(|| item.get("tool_calls")) {
        None | Some(Json::Null) => Vec::new(),
        Some(calls) => calls.as_array()?.iter().map(call).collect::<Option<_>>()?,
    };
    Some(Message { role, content, calls, call_id })
}

/// `{ id, name, args }`, or OpenAI's `{ id, function: { name, arguments } }`.
fn call(item: &Json<'_>) -> Option<ToolCall> {
    let function = item.get("function").unwrap_or(item);
    let args = match function.get("arguments").or_else(|| function.get("args"))? {
        Json::String(text) => Json::parse_str(text).ok()?.into_owned(),
        args => args.clone().into_owned(),
    };
    Some(ToolCall {
        id: item.get("id")?.as_str()?.to_owned(),
        name: function.get("name")?.as_str()?.to_owned(),
        args: Some(args).filter(|args| args.as_object().is_some())?,
    })
}
