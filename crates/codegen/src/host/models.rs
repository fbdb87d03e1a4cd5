//! Models behind HTTP.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of all HTTP models.
            "HttpModelOptions" {
                /// The provider's model name.
                model: "string" | required;
                /// Sent in the provider's format. In a page, prefer a proxy that adds it.
                apiKey: "string";
                /// Added to every request.
                headers: "Record<string, string>";
                /// Sends the requests.
                fetch: "Fetch" = "`globalThis.fetch`";
                maxRetries from "TurnOptions";
                /// Added to every request body, such as `{ temperature: 0 }`.
                body: "Record<string, unknown>";
            }
        },
        table! {
            /// The options of `customModel`.
            "CustomModelOptions" for "customModel" {
                /// Whether the model keeps the conversation, so that turns may have
                /// `strategy: "thread"`.
                threads: "boolean" = "false";
            }
        },
        table! {
            /// The options of `openaiChat`.
            "OpenAIChatOptions" for "openaiChat", extends "HttpModelOptions" {
                /// The URL up to the version, such as `https://api.openai.com/v1`.
                baseURL: "string" | required;
                /// The server's variant of the wire format.
                dialect: "'openai-chat' | 'deepseek' | 'mistral'" = "\"openai-chat\"";
            }
        },
        table! {
            /// The options of `anthropic`.
            "AnthropicOptions" for "anthropic", extends "HttpModelOptions" {
                /// The URL up to the version.
                baseURL: "string" = "\"https://api.anthropic.com/v1\"";
                /// Maximum tokens of one response.
                maxTokens: "number" = "4096";
                /// Sends the header that allows requests from pages. The page's user can then see
                /// the key.
                dangerouslyAllowBrowser: "boolean" = "false";
            }
        },
    ]
}
