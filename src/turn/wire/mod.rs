//! A request in the provider's wire shape. One file per wire; none knows another.

mod anthropic;
mod openai_chat;

use super::prompt::{Choice, Context};
use crate::dialect::Dialect;
use crate::json::Json;
use crate::message::Normalized;
use crate::tool::ToolSpec;

/// What the turn found out, as elements of a history.
pub(super) fn elements(dialect: Dialect, context: &Context) -> Vec<Json<'static>> {
    let anthropic = dialect == Dialect::Anthropic;
    match context {
        // System texts behind the conversation belong to Anthropic's top-level system: a message
        // with that role is refused by most of its models.
        Context::System(_) if anthropic => Vec::new(),
        Context::System(text) => {
            vec![Json::object([("role", "system".into()), ("content", text.clone().into())])]
        }
        Context::Exchange(exchange) if anthropic => anthropic::exchange(exchange),
        Context::Exchange(exchange) => openai_chat::exchange(exchange),
    }
}

/// The members of a request that the core decides; `system` is what the turn says beside the
/// history, where the wire has a place for it.
pub(crate) fn body(
    dialect: Dialect,
    history: Normalized<'static>,
    system: &[&str],
    tools: &[&ToolSpec],
    choice: Choice,
) -> Json<'static> {
    if dialect == Dialect::Anthropic {
        anthropic::body(history, system, tools, choice)
    } else {
        openai_chat::body(history, tools, choice)
    }
}

/// Arguments that every provider takes back: those that were no object become an empty one.
fn arguments(args: &Json<'static>) -> Json<'static> {
    if args.as_object().is_some() { args.clone() } else { Json::Object(Vec::new()) }
}
