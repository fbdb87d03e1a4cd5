//! Options for normalizing a history.

use super::code::Code;
use super::thread_id;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, names, options, read};
use crate::limits;

names! {
    /// How the tool calls and results of a history are treated.
    pub enum Strategy as "Strategy", "reconstruct, thread or text_only" {
        /// All content is sent, as valid messages.
        Reconstruct "reconstruct",
        /// The provider stores the thread: only new content is sent, and never tool messages.
        Thread "thread",
        /// All content except tool calls and results is sent.
        TextOnly "text_only",
    }
}

names! {
    /// What becomes of an element that has a `type`, no `role`, and no known shape.
    pub enum UnknownElements as "UnknownElements", "`drop` or `error`" {
        /// It is left out, with the repair `ELEMENT_UNKNOWN`.
        Drop "drop",
        /// The history is refused: `message.unknown_shape`.
        Error "error",
    }
}

names! {
    /// When the reasoning of a message is sent back to the model as `reasoning_content`.
    pub enum ReasoningReplay as "ReasoningReplay", "auto, never, tool_calls or always" {
        /// As the dialect wants it: `tool_calls` for `deepseek`. For `openai-chat` and
        /// `chat-template`, only what turns of the same model have recorded goes back.
        Auto "auto",
        /// Never, as for DeepSeek R1.
        Never "never",
        /// With the messages that called tools: DeepSeek's thinking mode,
        /// <https://api-docs.deepseek.com/guides/thinking_mode>.
        ToolCalls "tool_calls",
        /// With every message.
        Always "always",
    }
}

names! {
    /// What a message with calls has that lacks the reasoning that the provider wants back.
    pub enum MissingReasoning as "MissingReasoning", "empty or omit" {
        /// An empty `reasoning_content`, which DeepSeek and Moonshot accept
        /// (deepseek-ai/deepseek-harness discussion 1850, Lapis0x0/obsidian-yolo#243; 2026-11-30).
        Empty "empty",
        /// Nothing: for a model that does not think, or a server that refuses an empty one.
        Omit "omit",
    }
}

names! {
    /// When a call without a thought signature gets the placeholder that Gemini accepts,
    /// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
    pub enum ThoughtSignatures as "ThoughtSignatures", "auto, always or never" {
        /// If any call of the history carries a signature, and for calls in the shape of another
        /// provider: Gemini 3 refuses a current turn with unsigned calls, and older models ignore
        /// the placeholder. pipecat-ai/pipecat#5809 (2026-09-17), HKUDS/nanobot#5230 (2026-08-03).
        Auto "auto",
        /// Always, for a Gemini 3 model that continues the history of another model.
        Always "always",
        /// Never.
        Never "never",
    }
}

options! {
    /// The options for normalizing a history.
    pub struct HistoryOptions as "HistoryOptions" {
        /// The provider.
        dialect "dialect": Dialect | required = Dialect::OpenAiChat;
        /// How tool calls and results are treated.
        strategy "strategy": Strategy = Strategy::Reconstruct;
        /// The id of the conversation, never that of a run. Required for the thread strategy, which
        /// makes the id of the thread from it.
        conversation_id "conversationId": Option<String>;
        /// What becomes of an element that has a `type`, no `role`, and no known shape. One that
        /// cannot be read and has a `role`, or a `type` that names the user, is always refused: it
        /// may hold the user's words.
        unknown "unknown": UnknownElements = UnknownElements::Drop;
        /// The number of elements of the history that the thread already has. Default: all up to
        /// the assistant's last answer.
        seen "seen": Option<usize>;
        /// The names of the tools that the request declares. Default: those that the history
        /// uses.
        tools "tools": Option<Vec<String>>;
        /// Whether the request continues state at the provider: `thread` of Anthropic,
        /// `previous_response_id` and `conversation` of OpenAI. A call and its result may then be
        /// there, so neither is an orphan, and the history may begin with anything.
        partial "partial": bool = false;
        /// OpenAI Responses: whether the provider keeps the items of the history. With `false`, as for a
        /// request with `store: false`, references to items and reasoning without its encrypted
        /// content, which nobody could find, are left out.
        stored "stored": bool = true;
        /// Whether the model continues an assistant message at the end.
        prefill "prefill": bool = false;
        /// Whether the model accepts system messages within the conversation, as Anthropic's newer
        /// models do.
        system_anywhere "systemAnywhere": bool = false;
        /// `deepseek`, `openai-chat`, `chat-template`: when reasoning is sent back. DeepSeek refuses
        /// messages with calls without it in its thinking mode, which is the default (400 "The
        /// `reasoning_content` in the thinking mode must be passed back to the API").
        /// <https://api-docs.deepseek.com/guides/thinking_mode> (2026-11-30)
        reasoning "reasoning": ReasoningReplay = ReasoningReplay::Auto;
        /// What a message with calls gets where reasoning is sent back and it has none: such as the
        /// calls of another model.
        missing_reasoning "missingReasoning": MissingReasoning = MissingReasoning::Empty;
        /// The provider's name of the model that continues the history. Reasoning that a turn of the
        /// same model has recorded is sent back to it; without a name, that of no model.
        model "model": Option<String>;
        /// Gemini 3: when calls without a thought signature get a placeholder.
        thought_signatures "thoughtSignatures": ThoughtSignatures = ThoughtSignatures::Auto;
        /// Codes of the rules that the provider has named in a refusal, such as those of
        /// `explainProviderError`. The messages then keep these rules although the dialect does not
        /// have them: servers with the same API differ. Nothing of the user is left out for it.
        refused "refused": Vec<Code>;
    }
}

options! {
    /// What a model wants back of the responses in its history. As the options of the same names in
    /// [`HistoryOptions`].
    pub struct ModelHistory as "ModelHistory" {
        /// `deepseek`, `openai-chat`, `chat-template`: when reasoning is sent back.
        reasoning "reasoning": ReasoningReplay = ReasoningReplay::Auto;
        /// What a message with calls gets where reasoning is sent back and it has none.
        missing_reasoning "missingReasoning": MissingReasoning = MissingReasoning::Empty;
        /// Gemini 3: when calls without a thought signature get a placeholder.
        thought_signatures "thoughtSignatures": ThoughtSignatures = ThoughtSignatures::Auto;
    }
}

impl Copy for ModelHistory {}

impl Default for ModelHistory {
    fn default() -> Self {
        Self::blank()
    }
}

impl Eq for ModelHistory {}

impl HistoryOptions {
    /// Sets what the model wants back.
    #[must_use]
    pub fn of_model(self, model: ModelHistory) -> Self {
        let ModelHistory { reasoning, missing_reasoning, thought_signatures } = model;
        self.reasoning(reasoning)
            .missing_reasoning(missing_reasoning)
            .thought_signatures(thought_signatures)
    }
}

impl Eq for HistoryOptions {}

impl HistoryOptions {
    /// Returns the defaults for a dialect.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self::blank().dialect(dialect)
    }

    /// Reads the options from JSON text; members that are missing or null have their default.
    ///
    /// # Errors
    /// `json.*` for invalid JSON; `options.invalid`, with the path of the option, for an option
    /// that is missing, unknown, of the wrong type or out of range, and for the thread strategy
    /// without the id of a conversation; `dialect.unknown`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        Self::from_json(Json::parse_host(text, limits::JSON_BYTES)?.into_owned())
    }

    /// As [`HistoryOptions::parse`], for JSON that is already parsed.
    ///
    /// # Errors
    /// Those of [`HistoryOptions::parse`], except `json.*`.
    pub fn from_json(json: Json<'static>) -> Result<Self, Error> {
        let mut options = Self::blank();
        read(&mut options, json, &At::ROOT)?;
        if options.strategy == Strategy::Thread {
            // Without it the thread would change with every run, and nothing would be kept.
            thread_id(options.conversation_id.as_deref().unwrap_or_default(), None)?;
        }
        Ok(options)
    }
}
