//! What is known of each API: its events, and the words of its calls.

use super::chat::ChatStream;
use super::gemini::GeminiStream;
use super::messages::MessagesStream;
use super::responses::ResponsesStream;
use super::step::Stream;
use super::stray::folded;
use super::tree::value;
use crate::json::Json;
use crate::json::table::names;
use crate::text::find;

names! {
    /// The API of a response.
    pub enum Wire as "ProxyRoute", "a route" {
        /// OpenAI's Chat Completions.
        Chat "chat",
        /// OpenAI's Responses.
        Responses "responses",
        /// Anthropic's Messages.
        Messages "messages",
        /// Gemini's `generateContent` and `streamGenerateContent`.
        Gemini "gemini",
    }
}

/// Members of chunks; some servers send usage, what a filter says, or padding by themselves.
const CHUNK: [&str; 6] =
    ["choices", "error", "usage", "prompt_filter_results", "obfuscation", "x_groq"];

/// Members of Gemini's responses; one that is refused, or has only its usage, has no candidates.
const GEMINI: [&str; 4] = ["candidates", "promptFeedback", "usageMetadata", "error"];

fn is_gemini(json: &Json<'_>) -> bool {
    GEMINI.iter().any(|name| json.get(name).is_some_and(|value| !value.is_null()))
}

impl Wire {
    /// The member of an event or a response with its usage.
    pub(super) fn usage_member(self) -> &'static str {
        if self == Self::Gemini { "usageMetadata" } else { "usage" }
    }

    pub(super) fn stream(self) -> Box<dyn Stream> {
        match self {
            Self::Chat => Box::new(ChatStream::default()),
            Self::Responses => Box::new(ResponsesStream::default()),
            Self::Messages => Box::new(MessagesStream::default()),
            Self::Gemini => Box::new(GeminiStream::default()),
        }
    }

    /// Whether the JSON of each event has its type.
    pub(super) fn has_types(self) -> bool {
        matches!(self, Self::Responses | Self::Messages)
    }

    /// Whether the name of an event means something; `event:` may name others.
    pub(super) fn is_event_name(self, name: &str) -> bool {
        match self {
            // Official clients leave out events of other APIs.
            Self::Chat => {
                let name = name.trim_start();
                name.starts_with("thread.") || name.trim_end() == "error"
            }
            Self::Responses => name == "error" || find(name, "response.").is_some(),
            Self::Messages => {
                let has = |word| find(name, word).is_some();
                name == "error" || has("message_") || has("content_block_")
            }
            Self::Gemini => name.trim() == "error",
        }
    }

    /// Whether an event is in the form of the API.
    pub(super) fn is_event(self, json: &Json<'_>) -> bool {
        let kind = json.kind().unwrap_or_default();
        match self {
            Self::Chat => {
                let has = |name: &&str| json.get(name).is_some_and(|value| !value.is_null());
                json.get("object").and_then(Json::as_str) == Some("chat.completion.chunk")
                    || CHUNK.iter().any(has)
            }
            Self::Responses => kind.starts_with("response.") || kind.starts_with("error"),
            Self::Messages => {
                ["message_", "content_block_", "error"].iter().any(|word| kind.starts_with(word))
            }
            Self::Gemini => is_gemini(json),
        }
    }

    /// Whether a whole response is in the form of the API.
    pub(super) fn is_response(self, json: &Json<'_>) -> bool {
        let is_list = |name: &str| json.get(name).and_then(Json::as_array).is_some();
        let fails = json.get("error").is_some_and(|error| !error.is_null());
        match self {
            Self::Chat => is_list("choices") || fails,
            Self::Responses => {
                let kind = json.get("object").and_then(Json::as_str);
                is_list("output") || kind == Some("response") || fails
            }
            Self::Messages => {
                is_list("content") || matches!(json.kind(), Some("message" | "error"))
            }
            Self::Gemini => is_gemini(json),
        }
    }

    /// Whether bytes are an error that is no event: Gemini and Vertex AI write one into a stream
    /// (maximhq/bifrost#5262, 2026-07-15), where clients look for it.
    pub(super) fn is_bare_error(self, bytes: &[u8]) -> bool {
        let text = std::str::from_utf8(bytes).ok().filter(|_| self == Self::Gemini);
        let json = text.and_then(value);
        json.is_some_and(|json| matches!(json.as_object(), Some([(name, _)]) if name == "error"))
    }

    /// Whether a text has one of the words without which it has no call, be it JSON or not.
    pub(super) fn names_call(self, text: &str) -> bool {
        if text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return self.has_word(text);
        }
        self.has_word(&folded(text))
    }

    /// As [`Wire::names_call`], of a text in small letters.
    pub(super) fn has_word(self, text: &str) -> bool {
        if self == Self::Gemini {
            return find(text, "functioncall").is_some() || find(text, "function_call").is_some();
        }
        // Each of them has this letter, and few names do.
        if !text.as_bytes().contains(&b'_') {
            return false;
        }
        let has = |word| find(text, word).is_some();
        match self {
            Self::Chat | Self::Gemini => has("tool_calls") || has("function_call"),
            Self::Messages => has("tool_use") || has("partial_json"),
            Self::Responses => {
                let mut rest = text;
                while let Some(at) = find(rest, "_call") {
                    rest = rest.get(at + "_call".len()..).unwrap_or_default();
                    if !rest.starts_with('s') {
                        return true;
                    }
                }
                has("custom_tool") || has("mcp_approval_request")
            }
        }
    }

    /// Members whose value is data of others, in which no call is looked for.
    pub(super) fn is_data(self, name: &str) -> bool {
        match self {
            Self::Chat => false,
            // What tools of the provider return has any members; no client runs what is in it.
            Self::Gemini => matches!(
                name,
                "args"
                    | "toolCall"
                    | "toolcall"
                    | "toolResponse"
                    | "toolresponse"
                    | "customMetadata"
                    | "custommetadata"
            ),
            Self::Messages => matches!(name, "input" | "tools" | "metadata"),
            Self::Responses => matches!(
                name,
                "tools"
                    | "tool_choice"
                    | "instructions"
                    | "input"
                    | "prompt"
                    | "metadata"
                    | "text"
                    | "action"
                    | "actions"
                    | "operation"
                    | "arguments"
                    | "results"
                    | "outputs"
            ),
        }
    }
}
