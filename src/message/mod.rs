//! Histories: what a host keeps, in the shape that a provider takes.
//!
//! For now the shapes that a host writes itself: core messages
//! `{ role, content, toolCalls?, toolCallId? }` and OpenAI's
//! `{ role, content, tool_calls?, tool_call_id? }`. Content is a text or a list of parts;
//! parts other than text pass through as they are.

mod dialect;
mod import;
mod model;

pub use model::{Normalized, Options, Repair};

use crate::canon::Json;
use crate::dialect::Dialect;
use crate::error::Error;

/// A history in the provider's wire shape.
///
/// # Errors
/// `message.unknown_shape` with the index of an element that is no message.
pub fn normalize(history: &[Json<'_>], options: &Options) -> Result<Normalized, Error> {
    let messages = import::messages(history)?;
    Ok(match options.dialect {
        Dialect::Anthropic => dialect::anthropic::export(&messages),
        Dialect::OpenAiChat
        | Dialect::OpenAiResponses
        | Dialect::Gemini
        | Dialect::Mistral
        | Dialect::DeepSeek
        | Dialect::Cohere
        | Dialect::Bedrock
        | Dialect::Ollama
        | Dialect::LangChain => dialect::openai_chat::export(&messages),
    })
}
