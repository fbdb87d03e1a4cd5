//! Responses in the format of another API, in which a client may find calls that are not judged.

use super::stray::folded;
use super::wire::Wire;
use crate::json::Json;

/// A text behind a stem and at most one separator.
fn behind<'a>(text: &'a str, stem: &str, separators: &[u8]) -> Option<&'a str> {
    let rest = text.strip_prefix(stem)?;
    let has_separator = rest.bytes().next().is_some_and(|byte| separators.contains(&byte));
    if has_separator { rest.get(1..) } else { Some(rest) }
}

/// Whether a member, in small letters, has calls in the format of a known API.
pub(super) fn is_member_of_calls(name: &str) -> bool {
    let is =
        |stem, words: &[&str]| behind(name, stem, b"_-").is_some_and(|rest| words.contains(&rest));
    is("tool", &["use", "call", "calls"]) || is("function", &["call", "calls"])
}

fn is_member(name: &str) -> bool {
    is_member_of_calls(name)
        || behind(name, "content", b"_-") == Some("block")
        || matches!(name, "candidates" | "choices")
}

/// Whether a type, in small letters, is that of a call, or of an event about one.
pub(super) fn is_type_of_calls(kind: &str) -> bool {
    let begins = |rest: &str, word: &str| {
        let rest = rest.strip_prefix(word);
        rest.is_some_and(|rest| !rest.as_bytes().first().is_some_and(u8::is_ascii_lowercase))
    };
    let is = |stem, words: &[&str]| {
        behind(kind, stem, b"_.-").is_some_and(|rest| words.iter().any(|word| begins(rest, word)))
    };
    is("tool", &["use", "call", "calls", "input"])
        || is("function", &["call", "calls"])
        || begins(kind, "custom_tool_call")
}

/// Types of events that say nothing.
pub(super) fn is_keep_alive(kind: &str) -> bool {
    matches!(kind, "ping" | "heartbeat") || behind(kind, "keep", b"_-") == Some("alive")
}

impl Wire {
    /// Members that the API has itself; where they may stand is told elsewhere.
    fn has_member(self, name: &str) -> bool {
        match self {
            Self::Chat => matches!(name, "tool_calls" | "function_call" | "choices"),
            Self::Messages => name == "content_block",
            Self::Responses => false,
            // The calls of tools that the provider runs are `toolCall`.
            Self::Gemini => {
                matches!(name, "candidates" | "functioncall" | "function_call" | "toolcall")
            }
        }
    }

    fn has_type(self, kind: &str) -> bool {
        match self {
            Self::Chat | Self::Gemini => false,
            Self::Messages => kind == "tool_use",
            Self::Responses => {
                let kind = kind.strip_suffix("_output").unwrap_or(kind);
                matches!(kind, "function_call" | "custom_tool_call")
            }
        }
    }
}

/// Members whose value is data of tools and users.
fn is_data(name: &str) -> bool {
    matches!(name, "arguments" | "input" | "tools" | "metadata" | "results" | "outputs")
}

/// Whether JSON of a provider has calls, or their places, in the format of another API.
pub(super) fn is_foreign(json: &Json<'_>, wire: Wire) -> bool {
    let within = |value: &Json<'_>| match value {
        Json::Array(items) => !items.is_empty(),
        value => value.members().len() > 0,
    };
    match json {
        Json::Array(items) => items.iter().any(|item| is_foreign(item, wire)),
        Json::Object(members) => members.iter().any(|(member, value)| {
            let name = folded(member);
            if is_member(&name) && within(value) && !wire.has_member(&name) {
                return true;
            }
            let kind = if name == "type" { value.as_str() } else { None };
            let kind = kind.map(folded);
            if kind.is_some_and(|kind| is_type_of_calls(&kind) && !wire.has_type(&kind)) {
                return true;
            }
            !is_data(&name) && !wire.is_data(&name) && is_foreign(value, wire)
        }),
        _ => false,
    }
}
