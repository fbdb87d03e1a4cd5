//! Options for normalizing a history.

use crate::dialect::Dialect;

/// How the tool calls and results of a history are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// All content is sent, as valid messages.
    #[default]
    Reconstruct,
    /// The provider stores the thread: only new content is sent, and never tool messages.
    Thread,
    /// All content except tool calls and results is sent.
    TextOnly,
}

/// When reasoning text beside the content is sent back to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningReplay {
    /// Never, as for DeepSeek R1.
    Never,
    /// With the messages that called tools: DeepSeek's thinking mode,
    /// <https://api-docs.deepseek.com/guides/thinking_mode>.
    #[default]
    ToolCalls,
    /// With every message.
    Always,
}

/// When a call without a thought signature gets the placeholder that Gemini accepts,
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThoughtSignatures {
    /// If any call of the history carries a signature.
    #[default]
    Auto,
    /// Always, for a Gemini 3 model that continues the history of another model.
    Always,
    /// Never.
    Never,
}

/// Options for normalizing a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The provider.
    pub dialect: Dialect,
    /// How tool calls and results are treated. Default: reconstruct.
    pub strategy: Strategy,
    /// The id of the conversation, from which the thread strategy makes the id of the thread.
    pub conversation_id: Option<String>,
    /// The number of elements of the history that the thread already has. Default: all up to the
    /// assistant's last answer.
    pub seen: Option<usize>,
    /// The tools that the request declares. Default: it is assumed to declare those that the
    /// history needs.
    pub tools: Option<Vec<String>>,
    /// Whether the model continues an assistant message at the end. Default: no.
    pub prefill: bool,
    /// Whether the model accepts system messages within the conversation (Anthropic, newer models).
    /// Default: no.
    pub system_anywhere: bool,
    /// When reasoning text is sent back. Default: with messages that called tools.
    pub reasoning: ReasoningReplay,
    /// When placeholder signatures are added. Default: if any call of the history carries a
    /// signature.
    pub thought_signatures: ThoughtSignatures,
}

impl Options {
    /// Returns the default options of a dialect.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            strategy: Strategy::default(),
            conversation_id: None,
            seen: None,
            tools: None,
            prefill: false,
            system_anywhere: false,
            reasoning: ReasoningReplay::default(),
            thought_signatures: ThoughtSignatures::default(),
        }
    }
}
