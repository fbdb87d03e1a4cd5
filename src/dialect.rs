//! The wire formats of the providers, by name.
//!
//! ```
//! use turnlock::Dialect;
//!
//! assert_eq!(Dialect::parse("deepseek")?, Dialect::DeepSeek);
//! assert_eq!("deepseek".parse::<Dialect>()?.to_string(), "deepseek");
//! assert_eq!(Dialect::parse("telex").unwrap_err().code(), "dialect.unknown");
//! assert_eq!(Dialect::ALL.len(), 13);
//! # Ok::<(), turnlock::Error>(())
//! ```

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Definition, Describe, Read, Shape, Write};

/// A provider's wire format: the form of its histories and of its response stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// OpenAI Chat Completions and compatible APIs.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Mistral; its stream is that of OpenAI Chat.
    Mistral,
    /// DeepSeek; its stream is that of OpenAI Chat.
    DeepSeek,
    /// Cohere v2.
    Cohere,
    /// Bedrock Converse.
    Bedrock,
    /// Ollama's own API.
    Ollama,
    /// LangChain messages; a history shape without a stream.
    LangChain,
    /// Groq; OpenAI Chat, but unknown fields are refused.
    Groq,
    /// xAI; OpenAI Chat without null content.
    Xai,
    /// The strict chat templates of vLLM, llama.cpp and LM Studio; OpenAI Chat with a fixed order
    /// of roles.
    ChatTemplate,
}

impl Dialect {
    /// All dialects, in the order of the API.
    pub const ALL: [Self; 13] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Mistral,
        Self::DeepSeek,
        Self::Cohere,
        Self::Bedrock,
        Self::Ollama,
        Self::LangChain,
        Self::Groq,
        Self::Xai,
        Self::ChatTemplate,
    ];

    /// Returns the name that the API uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Mistral => "mistral",
            Self::DeepSeek => "deepseek",
            Self::Cohere => "cohere",
            Self::Bedrock => "bedrock",
            Self::Ollama => "ollama",
            Self::LangChain => "langchain",
            Self::Groq => "groq",
            Self::Xai => "xai",
            Self::ChatTemplate => "chat-template",
        }
    }

    /// Returns the dialect with this name.
    ///
    /// # Errors
    /// `dialect.unknown`.
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name)
            .ok_or_else(|| Error::Dialect { name: name.to_owned(), known: false })
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// As [`Dialect::parse`].
impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::parse(name)
    }
}

impl Write for Dialect {
    fn write(&self) -> Json<'static> {
        self.name().into()
    }
}

impl Read for Dialect {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        *self = Self::parse(json.as_str().ok_or_else(|| at.wrong("a string"))?)?;
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "a dialect"
    }
}

impl Describe for Dialect {
    fn shape() -> Shape {
        Shape::Named(|| {
            let names = Self::ALL.map(|one| (one.name(), &[][..]));
            Definition::names("Dialect", &[" A provider's wire format."], &names)
        })
    }
}
