//! Members that are not read, and may hold the arguments of a call.

use crate::json::{JsonError, Reader};

/// What providers and gateways send beside the arguments of a call.
pub(super) const BESIDE: [&str; 14] = [
    "index",
    "id",
    "type",
    "name",
    "description",
    "status",
    "extra_content",
    "metadata",
    "provider_metadata",
    "providerMetadata",
    "provider_specific_fields",
    "thought_signature",
    "thoughtSignature",
    "signature",
];

/// Whether a member with this name may be a call or its arguments, in a place where none is read.
pub(super) fn is_of_call(key: &str) -> bool {
    matches!(
        key,
        "tool_calls"
            | "tool_call"
            | "toolCalls"
            | "toolCall"
            | "tool_call_chunks"
            | "tool_use"
            | "toolUse"
            | "function"
            | "function_call"
            | "function_calls"
            | "functionCall"
            | "arguments"
            | "args"
            | "input"
            | "parameters"
            | "partial_json"
    )
}

/// Skips a value, and returns whether it is a text, an object or an array with content.
pub(super) fn has_content(reader: &mut Reader<'_>) -> Result<bool, JsonError> {
    let raw = reader.raw()?;
    let text = raw.strip_prefix(['"', '{', '[']).unwrap_or_default();
    Ok(text.len() > 1 && !text.get(..text.len() - 1).unwrap_or_default().trim_ascii().is_empty())
}
