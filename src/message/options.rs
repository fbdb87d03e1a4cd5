//! How to normalize.

use crate::dialect::Dialect;

/// What becomes of the tool traffic of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Everything is sent, as valid messages.
    #[default]
    Reconstruct,
    /// The provider keeps the thread: only what it lacks is sent, and never tool messages.
    Thread,
    /// Only what people and the model said.
    TextOnly,
}

/// When a model is given back what it thought, as text beside its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningReplay {
    /// Never: DeepSeek R1.
    Never,
    /// With the messages that called tools: DeepSeek's thinking mode,
    /// <https://api-docs.deepseek.com/guides/thinking_mode>.
    #[default]
    ToolCalls,
    /// With every message.
    Always,
}

/// When Gemini's calls without a thought signature are given the placeholder that it accepts,
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThoughtSignatures {
    /// When some call of the history carries one.
    #[default]
    Auto,
    /// Always: a Gemini 3 model continues what another began.
    Always,
    /// Never.
    Never,
}

/// How to normalize.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The provider.
    pub dialect: Dialect,
    /// What becomes of tool traffic. Default: reconstruct.
    pub strategy: Strategy,
    /// From which the thread's id is made, for the thread strategy.
    pub conversation_id: Option<String>,
    /// How many elements of the history the thread already has; without it, all up to the
    /// assistant's last answer.
    pub seen: Option<usize>,
    /// The tools that the request declares; without it, those that the history needs.
    pub tools: Option<Vec<String>>,
    /// Whether the model continues an assistant message at the end. Default: no.
    pub prefill: bool,
    /// Whether the model takes system messages within the conversation (Anthropic, newer
    /// models). Default: no.
    pub system_anywhere: bool,
    /// Default: with messages that called tools.
    pub reasoning: ReasoningReplay,
    /// Default: when some call of the history carries one.
    pub thought_signatures: ThoughtSignatures,
}

impl Options {
    /// The defaults of a dialect.
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
