//! A request in the provider's wire shape. One file per wire; none knows another.

mod anthropic;
mod openai_chat;

use super::prompt::{Choice, Context};
use crate::canon::Json;
use crate::dialect::Dialect;
use crate::message::Normalized;
use crate::tool::ToolSpec;

/// The members of a request that the core decides.
pub(super) fn body(
    dialect: Dialect,
    history: &Normalized<'static>,
    context: &[Context],
    tools: &[&ToolSpec],
    choice: Choice,
) -> Json<'static> {
    match dialect {
        Dialect::Anthropic => anthropic::body(history, context, tools, choice),
        Dialect::OpenAiChat
        | Dialect::OpenAiResponses
        | Dialect::Gemini
        | Dialect::Mistral
        | Dialect::DeepSeek
        | Dialect::Cohere
        | Dialect::Bedrock
        | Dialect::Ollama
        | Dialect::LangChain
        | Dialect::Groq
        | Dialect::Xai
        | Dialect::ChatTemplate => {
            // DeepSeek's thinking models want their reasoning back within a turn of calls, and
            // only there: <https://api-docs.deepseek.com/guides/thinking_mode>. Others refuse it.
            let replay_reasoning = dialect == Dialect::DeepSeek;
            openai_chat::body(history, context, tools, choice, replay_reasoning)
        }
    }
}

/// Arguments that every provider takes back: those that were no object become an empty one.
fn arguments(args: &Json<'static>) -> Json<'static> {
    if args.as_object().is_some() { args.clone() } else { Json::Object(Vec::new()) }
}
