//! The increments of a provider's stream, in a common vocabulary.

use crate::json::table::{names, record};
use crate::json::{Json, write_string};

/// One increment of a model's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text for the user.
    Text(String),
    /// Reasoning of the model.
    Reasoning {
        /// The increment; empty if only a signature was received.
        text: String,
        /// The provider's signature of the reasoning, to be sent back unchanged; behind
        /// [`REDACTED`](super::REDACTED), the data of reasoning that is encrypted whole.
        /// [`PART`](super::PART) if the provider ends a part of its reasoning and does not sign it.
        signature: Option<String>,
    },
    /// A tool call begins.
    ToolCallStart {
        /// The index of the call in this response, from 0, without gaps.
        index: u32,
        /// The provider's id, or one made from the index if there is none.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// A piece of a call's arguments, which are JSON text.
    ToolCallArguments {
        /// The index of the call.
        index: u32,
        /// The piece.
        text: String,
    },
    /// The arguments of a call are complete as far as is known, but its wire format has no mark that
    /// ends a call before the response ends. Only a call that may run twice may start here. An end follows if
    /// the response ends normally.
    ToolCallReady {
        /// The index of the call.
        index: u32,
    },
    /// The arguments of a call are complete. A call with effects whose end was not received is never
    /// executed.
    ToolCallEnd {
        /// The index of the call.
        index: u32,
    },
    /// Token usage of the whole response so far; a later report replaces an earlier one.
    Usage(Usage),
    /// Why the model stopped.
    Finish {
        /// The reason in the common vocabulary.
        reason: FinishReason,
        /// The provider's name for the reason.
        raw: String,
    },
    /// The provider reports a failure inside the stream, or sends data that cannot be read.
    Error(StreamError),
    /// A tool that the provider runs itself was called, or has a result.
    ProviderTool(ProviderTool),
    /// Members that came with the response or with one of its calls, and that the provider wants
    /// back unchanged with the calls: `reasoning_details`, `extra_content`. `reasoning` or
    /// `reasoning_content` with an empty text is the member in which the reasoning goes back.
    Members {
        /// The index of the call; `None` for members of the message.
        index: Option<u32>,
        /// The members: JSON text of an object.
        members: String,
    },
    /// Data that this crate has no variant for, as JSON text.
    Other {
        /// The provider's JSON.
        raw: String,
    },
}

names! {
    /// Why the model stopped.
    pub enum FinishReason as "FinishReason", "a finish reason" {
        /// The response is complete.
        Stop "stop",
        /// The token limit was reached.
        Length "length",
        /// The model called tools. Also used if the provider reports `stop` after complete calls.
        ToolCalls "tool_calls",
        /// The provider withheld the rest.
        ContentFilter "content_filter",
        /// The model wrote calls into its text, which stay text.
        TextToolCall "text_tool_call",
        /// The provider paused a response that runs its own tools, to be sent back and continued
        /// (Anthropic's `pause_turn`).
        Paused "paused",
        /// The provider failed.
        Error "error",
        /// Another reason; see the provider's name.
        Other "other",
    }
}

names! {
    /// The kind of failure that a provider reports, comparable to an HTTP status.
    pub enum ErrorClass as "ErrorClass", "an error class" {
        /// 401, 403.
        Auth "auth",
        /// The request does not fit the model's context.
        ContextLength "context_length",
        /// 400, 404, 413, 422.
        InvalidRequest "invalid_request",
        /// The data is not in the provider's wire format: broken JSON, or an event that is too
        /// large.
        Malformed "malformed",
        /// 529, 503.
        Overloaded "overloaded",
        /// 402, or a quota that waiting does not refill.
        Quota "quota",
        /// 429.
        RateLimit "rate_limit",
        /// 500 and similar codes, and failures without a known word.
        Server "server",
        /// 408, 504.
        Timeout "timeout",
    }
}

impl ErrorClass {
    /// Whether the same request may succeed later.
    #[must_use]
    pub fn retryable(self) -> bool {
        match self {
            Self::Overloaded | Self::RateLimit | Self::Server | Self::Timeout => true,
            Self::Auth
            | Self::ContextLength
            | Self::InvalidRequest
            | Self::Malformed
            | Self::Quota => false,
        }
    }
}

names! {
    /// How far a tool is that the provider runs itself.
    pub enum ProviderToolStatus as "ProviderToolStatus", "a status of a tool of the provider" {
        /// It was called.
        Running "running",
        /// It has a result.
        Done "done",
        /// It failed, as the provider says.
        Failed "failed",
    }
}

/// A tool that the provider runs itself, such as its web search. It is never executed by this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderTool {
    /// The provider's name for it, such as `web_search`.
    pub name: String,
    /// The provider's id of the call, if it has one.
    pub id: Option<String>,
    /// How far it is.
    pub status: ProviderToolStatus,
    /// The provider's JSON as text.
    pub raw: String,
    /// Whether `raw` is a block that the provider wants back unchanged in the next request.
    pub kept: bool,
}

/// A failure inside a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamError {
    /// The kind of failure.
    pub class: ErrorClass,
    /// The provider's message, or one from this crate.
    pub message: String,
    /// The provider's JSON as text, or the text that could not be read as a JSON string.
    pub raw: String,
}

/// Token usage of one response, or of a turn. `None` where the provider reports no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input_tokens: Option<u64>,
    /// Output tokens, including reasoning.
    pub output_tokens: Option<u64>,
    /// The input tokens that came from the provider's cache.
    pub cached_input_tokens: Option<u64>,
    /// The input tokens that were written to the provider's cache.
    pub cache_write_input_tokens: Option<u64>,
    /// The output tokens of the reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// Adds another response's tokens.
    pub fn add(&mut self, other: Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        self.input_tokens = sum(self.input_tokens, other.input_tokens);
        self.output_tokens = sum(self.output_tokens, other.output_tokens);
        self.cached_input_tokens = sum(self.cached_input_tokens, other.cached_input_tokens);
        self.cache_write_input_tokens =
            sum(self.cache_write_input_tokens, other.cache_write_input_tokens);
        self.reasoning_tokens = sum(self.reasoning_tokens, other.reasoning_tokens);
    }

    /// Updates the numbers from a later report of the same response.
    pub fn update(&mut self, later: Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cached_input_tokens = later.cached_input_tokens.or(self.cached_input_tokens);
        self.cache_write_input_tokens =
            later.cache_write_input_tokens.or(self.cache_write_input_tokens);
        self.reasoning_tokens = later.reasoning_tokens.or(self.reasoning_tokens);
    }

    /// `{ inputTokens, outputTokens, totalTokens, cachedInputTokens?, cacheWriteInputTokens?,
    /// reasoningTokens? }`.
    #[must_use]
    pub fn to_json(self) -> Json<'static> {
        TokenUsage::from(self).to_json()
    }
}

record! {
    /// Tokens, as results and events have them. Numbers that the provider does not report count as
    /// 0.
    pub struct TokenUsage as "Usage", read {
        /// Input tokens, including cached ones.
        input_tokens "inputTokens": u64;
        /// Output tokens, including reasoning.
        output_tokens "outputTokens": u64;
        /// Input and output tokens.
        total_tokens "totalTokens": u64;
        /// The input tokens that came from the provider's cache, if it reports them.
        cached_input_tokens "cachedInputTokens?": Option<u64>;
        /// The input tokens that were written to the provider's cache, if it reports them.
        cache_write_input_tokens "cacheWriteInputTokens?": Option<u64>;
        /// The output tokens of the reasoning, if the provider reports them.
        reasoning_tokens "reasoningTokens?": Option<u64>;
        /// Whether a response was not read to its end, so that tokens of it may be missing.
        incomplete "incomplete?": bool;
    }
}

impl Copy for TokenUsage {}

impl Default for TokenUsage {
    fn default() -> Self {
        Usage::default().into()
    }
}

impl Eq for TokenUsage {}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input_tokens, output_tokens, .. } = usage;
        let (input_tokens, output_tokens) = (input_tokens.unwrap_or(0), output_tokens.unwrap_or(0));
        Self {
            input_tokens,
            output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_input_tokens: usage.cache_write_input_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            incomplete: false,
        }
    }
}

impl Delta {
    /// Appends the JSON form: an object with the member `type`.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Text(text) => {
                out.push_str(r#"{"type":"text","text":"#);
                write_string(text, out);
            }
            Self::Reasoning { text, signature } => {
                out.push_str(r#"{"type":"reasoning","text":"#);
                write_string(text, out);
                if let Some(signature) = signature {
                    out.push_str(r#","signature":"#);
                    write_string(signature, out);
                }
            }
            Self::ToolCallStart { index, id, name } => {
                out.push_str(&format!(r#"{{"type":"tool_call_start","index":{index},"id":"#));
                write_string(id, out);
                out.push_str(r#","name":"#);
                write_string(name, out);
            }
            Self::ToolCallArguments { index, text } => {
                out.push_str(&format!(r#"{{"type":"tool_call_arguments","index":{index},"text":"#));
                write_string(text, out);
            }
            Self::ToolCallReady { index } => {
                out.push_str(&format!(r#"{{"type":"tool_call_ready","index":{index}"#));
            }
            Self::ToolCallEnd { index } => {
                out.push_str(&format!(r#"{{"type":"tool_call_end","index":{index}"#));
            }
            Self::Usage(usage) => {
                out.push_str(r#"{"type":"usage","usage":"#);
                usage.to_json().write(out);
            }
            Self::Finish { reason, raw } => {
                out.push_str(r#"{"type":"finish","reason":"#);
                write_string(reason.name(), out);
                out.push_str(r#","raw":"#);
                write_string(raw, out);
            }
            Self::Error(error) => {
                out.push_str(r#"{"type":"error","class":"#);
                write_string(error.class.name(), out);
                out.push_str(r#","retryable":"#);
                out.push_str(if error.class.retryable() { "true" } else { "false" });
                out.push_str(r#","message":"#);
                write_string(&error.message, out);
                out.push_str(r#","raw":"#);
                out.push_str(&error.raw);
            }
            Self::ProviderTool(tool) => {
                out.push_str(r#"{"type":"provider_tool","name":"#);
                write_string(&tool.name, out);
                if let Some(id) = &tool.id {
                    out.push_str(r#","id":"#);
                    write_string(id, out);
                }
                out.push_str(r#","status":""#);
                out.push_str(tool.status.name());
                out.push_str(if tool.kept { r#"","block":"# } else { r#"","data":"# });
                out.push_str(&tool.raw);
            }
            Self::Members { index, members } => {
                out.push_str("{\"type\":\"members\"");
                if let Some(index) = index {
                    out.push_str(&format!(r#","index":{index}"#));
                }
                out.push_str(r#","members":"#);
                out.push_str(members);
            }
            Self::Other { raw } => {
                out.push_str(r#"{"type":"other","raw":"#);
                out.push_str(raw);
            }
        }
        out.push('}');
    }
}
