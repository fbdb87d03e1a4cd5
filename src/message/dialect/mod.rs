//! One file per provider: a table of rules, and the code that writes its messages. The files are
//! independent of each other; `chat` is the format that OpenAI-compatible providers share.

mod anthropic;
mod bedrock;
mod chat;
mod chat_template;
mod cohere;
mod deepseek;
mod gemini;
mod groq;
mod langchain;
mod mistral;
mod ollama;
mod openai_chat;
mod openai_responses;
mod xai;

use super::rules::Rules;
use crate::dialect::Dialect;

pub(super) use bedrock::stub_tools;

/// The rules of a dialect.
pub(super) fn rules(dialect: Dialect) -> &'static Rules {
    match dialect {
        Dialect::OpenAiChat => &openai_chat::RULES,
        Dialect::OpenAiResponses => &openai_responses::RULES,
        Dialect::Anthropic => &anthropic::RULES,
        Dialect::Gemini => &gemini::RULES,
        Dialect::Mistral => &mistral::RULES,
        Dialect::DeepSeek => &deepseek::RULES,
        Dialect::Cohere => &cohere::RULES,
        Dialect::Bedrock => &bedrock::RULES,
        Dialect::Ollama => &ollama::RULES,
        Dialect::LangChain => &langchain::RULES,
        Dialect::Groq => &groq::RULES,
        Dialect::Xai => &xai::RULES,
        Dialect::ChatTemplate => &chat_template::RULES,
    }
}
