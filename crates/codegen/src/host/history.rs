//! Histories.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![table! {
        /// The options of `normalize`, `diagnose` and `openHistory`.
        "HistoryOptions" for "normalize, diagnose, openHistory" {
            /// The provider.
            dialect: "Dialect" | required;
            /// `reconstruct`: everything, as valid messages. `thread`: the provider stores the
            /// thread, so only new elements are sent, and never tool messages. `text_only`: only
            /// the texts of people and of the model.
            strategy: "'reconstruct' | 'thread' | 'text_only'" = "\"reconstruct\"";
            /// Required for `thread`: the thread's id is derived from it. Never a run's id.
            conversationId: "string";
            /// `thread`: number of elements in the thread.
            seen: "number" = "all up to the assistant's last answer";
            /// Names of the tools that the request declares.
            tools: "string[]" = "those that the history uses";
            /// Whether the model continues an assistant message at the end.
            prefill: "boolean" = "false";
            /// Anthropic's newer models: system messages within the conversation.
            systemAnywhere: "boolean" = "false";
            /// DeepSeek: which messages return `reasoning_content`.
            reasoning: "'never' | 'tool_calls' | 'always'" = "\"tool_calls\"";
            /// Gemini 3: whether calls without a thought signature get a placeholder.
            thoughtSignatures: "'auto' | 'always' | 'never'" = "\"auto\"";
        }
    }]
}
