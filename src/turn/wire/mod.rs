//! Requests in the provider's wire format. There is one independent file per format.

mod anthropic;
mod openai_chat;

use super::prompt::{Choice, Context};
use crate::dialect::Dialect;
use crate::json::Json;
use crate::message::Normalized;
use crate::tool::ToolSpec;

/// Converts the context of a turn to elements of a history.
pub(super) fn elements(dialect: Dialect, context: &Context) -> Vec<Json<'static>> {
    let anthropic = dialect == Dialect::Anthropic;
    match context {
        // Anthropic takes system texts in the top-level `system`. Most of its models refuse a
        // message with this role.
        Context::System(_) if anthropic => Vec::new(),
        Context::System(text) => {
            vec![Json::object([("role", "system".into()), ("content", text.clone().into())])]
        }
        Context::Exchange(exchange) if anthropic => anthropic::exchange(exchange),
        Context::Exchange(exchange) => openai_chat::exchange(exchange),
    }
}

/// Returns the members of a request that the core decides. `system` holds the system texts that the
/// turn adds; it is used only if the wire format has a separate place for them.
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

/// Returns arguments that every provider accepts: an empty object replaces any other value.
fn arguments(args: &Json<'static>) -> Json<'static> {
    if args.as_object().is_some() { args.clone() } else { Json::Object(Vec::new()) }
}
