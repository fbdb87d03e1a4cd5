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
            /// The options of `providerModel`.
            "ProviderModelOptions" for "providerModel", extends "HttpModelOptions" {
                /// The provider's wire format; any but `langchain`.
                dialect: "Dialect" | required;
                /// The URL up to the version. Required where the provider has none of its own
                /// (`chat-template`), or one for each region (`bedrock`).
                baseURL: "string" = "the provider's";
                /// Sends the header that allows requests from pages, where the provider has one. The
                /// page's user can then see the key.
                dangerouslyAllowBrowser: "boolean" = "false";
                thinkTags from "TurnOptions";
                textToolCalls from "TurnOptions";
            }
        },
        table! {
            /// The options of `openaiChat`.
            "OpenAIChatOptions" for "openaiChat", extends "HttpModelOptions" {
                /// The URL up to the version, such as `https://api.openai.com/v1`.
                baseURL: "string" | required;
                /// The server's variant of the wire format. `chat-template`: the strict chat templates
                /// of models behind vLLM, llama.cpp and LM Studio.
                dialect: "ChatDialect" = "\"openai-chat\"";
                thinkTags from "TurnOptions";
                textToolCalls from "TurnOptions";
                reasoning from "ModelHistory";
                missingReasoning from "ModelHistory";
            }
        },
        table! {
            /// The options of `openaiResponses`.
            "OpenAIResponsesOptions" for "openaiResponses", extends "HttpModelOptions" {
                /// The URL up to the version.
                baseURL: "string" = "base URL of openai-responses";
            }
        },
        table! {
            /// The options of `gemini`.
            "GeminiOptions" for "gemini", extends "HttpModelOptions" {
                /// The URL up to the version. For Vertex AI it goes up to `/publishers/google`, with
                /// a bearer token among the `headers`.
                baseURL: "string" = "base URL of gemini";
                thoughtSignatures from "ModelHistory";
            }
        },
        table! {
            /// The options of `bedrock`.
            "BedrockOptions" for "bedrock", extends "HttpModelOptions" {
                /// The AWS region, such as `us-east-1`. Required without a `baseURL`.
                region: "string";
                /// The URL before the path. Default: that of the region's runtime.
                baseURL: "string";
                /// Returns the headers that sign a request (AWS Signature Version 4, service
                /// `bedrock`). They are added to those of the request. Not needed with an `apiKey`, a
                /// key of Bedrock's own, which is sent as a bearer token.
                sign: "(request: SignableRequest) => SignedHeaders | Promise<SignedHeaders>";
            }
        },
        table! {
            /// The options of `cohere`.
            "CohereOptions" for "cohere", extends "HttpModelOptions" {
                /// The URL up to the version.
                baseURL: "string" = "base URL of cohere";
            }
        },
        table! {
            /// The options of `ollama`.
            "OllamaOptions" for "ollama", extends "HttpModelOptions" {
                /// The URL of the server.
                baseURL: "string" = "base URL of ollama";
                thinkTags from "TurnOptions";
                textToolCalls from "TurnOptions";
            }
        },
        table! {
            /// The options of `anthropic`.
            "AnthropicOptions" for "anthropic", extends "HttpModelOptions" {
                /// The URL up to the version.
                baseURL: "string" = "base URL of anthropic";
                /// Maximum tokens of one response.
                maxTokens: "number" = "4096";
                /// Sends the header that allows requests from pages. The page's user can then see
                /// the key.
                dangerouslyAllowBrowser: "boolean" = "false";
            }
        },
    ]
}
