//! The providers: what the core knows of each one, in a folder each, and whole requests for hosts.
//!
//! ```
//! use turnlock::Dialect;
//! use turnlock::json::Json;
//! use turnlock::provider::RequestParts;
//!
//! let messages = vec![Json::parse_str(r#"{"role":"user","content":"hi"}"#)?];
//! let request = Dialect::Mistral.request(RequestParts::new("m", messages, None))?;
//! assert_eq!(request.path, "/chat/completions");
//! let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
//! assert_eq!(request.body.to_text(), body);
//! # Ok::<(), turnlock::Error>(())
//! ```
//!
//! The folder of a provider declares five constants:
//!
//! ```text
//!   INFO       what hosts need of it: name, address, key
//!   RULES      which histories it accepts, and how its messages are written
//!   STREAM     whether and how its responses are decoded
//!   REQUESTS   how its requests are written
//!   TOOLS      which declarations of tools it takes
//! ```
//!
//! Folders do not know each other. What several providers share is in `chat`, the wire format of
//! OpenAI's Chat Completions. A new provider is a folder and one row of the table in `mod.rs`; the
//! compiler then names the constants and functions that are missing.

mod chat;
mod content;
mod findings;
mod info;
mod prompt;
mod request;
mod result_media;
mod rules;
mod shapes;
mod stream;
mod tools;
mod wire;

pub(crate) use content::{
    Attachment, Members, Message, Out, Reasoning, Recorded, ResultOut, Role, document_name,
    failed_text, is_format, joined, lines,
};
pub use findings::{ToolCode, ToolFinding};
pub(crate) use gemini::UNSIGNED as GEMINI_UNSIGNED;
pub use info::ProviderInfo;
pub(crate) use prompt::{
    AnsweredCall, Context, Exchange, Prompt, Structured, answer, beside, elements, paused,
    recorded, request, structured,
};
pub use request::{Choice, Request, RequestParts, ToolDeclaration};
pub(crate) use result_media::{Place, label};
pub(crate) use rules::{
    Arguments, Blank, Bridge, Elements, EmptyResult, Fields, First, Ids, Last, Media, Merge, Names,
    Replay, ResultParts, ResultValues, Results, Rules, SentIds, Signatures, System,
    UndeclaredTools,
};
pub(crate) use shapes::Marks;
pub use tools::diagnose_tools;
pub(crate) use wire::{Plain, Wire};

use crate::error::Error;
use prompt::Requests;
use stream::Stream;
use tools::Tools;

/// A function that returns one part of a provider's description. The parts are apart, so that a
/// program that only arranges histories holds no decoder.
macro_rules! by_dialect {
    ($(#[$doc:meta])* $vis:vis fn $get:ident -> $type:ty { $($variant:ident: $value:expr,)* }) => {
        $(#[$doc])*
        $vis fn $get(dialect: Dialect) -> $type {
            match dialect { $(Dialect::$variant => const { $value },)* }
        }
    };
}

/// Declares the providers, one row each: `Variant = "name" in folder`.
///
/// `cargo fmt` does not find the folders: `rustfmt --edition 2024 src/provider/*/mod.rs` does.
macro_rules! providers {
    ($($(#[$doc:meta])* $variant:ident = $name:literal in $folder:ident,)*) => {
        $(mod $folder;)*

        /// A provider's wire format: the form of its histories, its requests and its response
        /// stream.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Dialect {
            $($(#[$doc])* $variant,)*
        }

        impl Dialect {
            /// All dialects, in the order of the API.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];
            /// Their names, each with a comma behind it: one text costs the core less than a list.
            const LISTED: &'static str = concat!($($name, ", "),*);
            /// Their names, as an error lists them.
            pub(crate) const NAMES: &'static str = Self::LISTED.split_at(Self::LISTED.len() - 2).0;
        }

        by_dialect! { fn name -> &'static str { $($variant: $name,)* } }
        by_dialect! {
            /// What hosts need of it.
            fn info -> &'static ProviderInfo { $($variant: &$folder::INFO,)* }
        }
        by_dialect! {
            /// The rules of its histories.
            pub(crate) fn rules -> &'static Rules { $($variant: &$folder::RULES,)* }
        }
        by_dialect! {
            /// Whether and how its responses are decoded.
            fn stream -> &'static Stream { $($variant: &$folder::STREAM,)* }
        }
        by_dialect! {
            /// How its requests are written.
            fn requests -> &'static Requests { $($variant: &$folder::REQUESTS,)* }
        }
        by_dialect! {
            /// Which declarations of tools it takes.
            fn tools -> &'static Tools { $($variant: &$folder::TOOLS,)* }
        }
        by_dialect! {
            /// Whether and how it takes plain histories as they are.
            fn plain -> Option<(Wire, Plain)> {
                $($variant: wire::row(&$folder::RULES, &$folder::STREAM, &$folder::REQUESTS),)*
            }
        }
    };
}

providers! {
    /// OpenAI Chat Completions and compatible APIs.
    OpenAiChat = "openai-chat" in openai_chat,
    /// OpenAI Responses.
    OpenAiResponses = "openai-responses" in openai_responses,
    /// Anthropic Messages.
    Anthropic = "anthropic" in anthropic,
    /// Gemini `generateContent`.
    Gemini = "gemini" in gemini,
    /// Mistral; its stream is that of OpenAI Chat.
    Mistral = "mistral" in mistral,
    /// DeepSeek; its stream is that of OpenAI Chat.
    DeepSeek = "deepseek" in deepseek,
    /// Cohere v2.
    Cohere = "cohere" in cohere,
    /// Bedrock Converse.
    Bedrock = "bedrock" in bedrock,
    /// Ollama's own API.
    Ollama = "ollama" in ollama,
    /// LangChain messages; a history shape without a stream.
    LangChain = "langchain" in langchain,
    /// Groq; OpenAI Chat, but unknown fields are refused.
    Groq = "groq" in groq,
    /// xAI; OpenAI Chat without null content.
    Xai = "xai" in xai,
    /// The strict chat templates of vLLM, llama.cpp and LM Studio; OpenAI Chat with a fixed order
    /// of roles.
    ChatTemplate = "chat-template" in chat_template,
}

impl Dialect {
    /// Returns the name that the API uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        name(self)
    }

    /// Returns what hosts need of its provider: name, address, key.
    #[must_use]
    pub fn info(self) -> &'static ProviderInfo {
        info(self)
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
