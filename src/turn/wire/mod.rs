//! A request in the provider's wire shape. One file per wire; none knows another.

mod anthropic;
mod openai_chat;

use super::prompt::{Choice, Context};
use crate::canon::Json;
use crate::dialect::Dialect;
use crate::message::{History, Normalized};
use crate::tool::ToolSpec;

/// The members of a request that the core decides: the history and what the turn adds to it, in
/// one valid list.
pub(super) fn body(
    dialect: Dialect,
    mut history: History<'static>,
    context: &[Context],
    tools: &[&ToolSpec],
    choice: Choice,
) -> Json<'static> {
    let anthropic = dialect == Dialect::Anthropic;
    let mut system = Vec::new();
    let mut added = Vec::new();
    for one in context {
        match one {
            // System texts behind the conversation belong to Anthropic's top-level system: a
            // message with that role is refused by most of its models.
            Context::System(text) if anthropic => system.push(text),
            Context::System(text) => added
                .push(Json::object([("role", "system".into()), ("content", text.clone().into())])),
            Context::Exchange(exchange) if anthropic => {
                added.extend(anthropic::exchange(exchange));
            }
            Context::Exchange(exchange) => added.extend(openai_chat::exchange(exchange)),
        }
    }
    // What the turn adds has a shape that is known, so nothing can be wrong with it.
    let _ = history.append(added);
    let normalized: Normalized<'static> = history.into_normalized();
    if anthropic {
        anthropic::body(normalized, &system, tools, choice)
    } else {
        openai_chat::body(normalized, tools, choice)
    }
}

/// Arguments that every provider takes back: those that were no object become an empty one.
fn arguments(args: &Json<'static>) -> Json<'static> {
    if args.as_object().is_some() { args.clone() } else { Json::Object(Vec::new()) }
}
