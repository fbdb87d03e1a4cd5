//! Maps a provider's refusal to the rules that it is about.

use super::code::Code;
use crate::limits;
use crate::text::find;

/// Fragments of the providers' error messages, in lower case, and the codes that explain them. The
/// fragments of an entry are separated by `…` and must all occur in this order. Messages change
/// between versions, so the fragments are short. Sources and dates of the verbatim messages:
/// `tests/data/provider-errors` (`errors.md`, and since 2026-11 `refusals.json`); a test finds for
/// each entry a message that it explains.
const REFUSALS: &[(&str, &[Code])] = &[
    ("must be followed by tool messages", &[Code::ToolCallUnanswered, Code::ToolResultNotAdjacent]),
    (
        "insufficient tool messages following",
        &[Code::ToolCallUnanswered, Code::ToolResultNotAdjacent],
    ),
    ("must be a response to a prece", &[Code::ToolResultOrphan]),
    ("tool role, but there was no previous assistant", &[Code::ToolResultOrphan]),
    ("duplicate value for 'tool_call_id'", &[Code::ToolResultDuplicate]),
    ("tool_calls[…].id': string too long", &[Code::ToolCallIdLength]),
    ("call_id': string too long", &[Code::ToolCallIdLength]),
    ("function.arguments': expected a string", &[Code::ToolArgsType]),
    ("invalid value for 'content': expected a string, got null", &[Code::ContentNull]),
    (".name': string does not match pattern", &[Code::ToolNameFormat]),
    ("invalid function name", &[Code::ToolNameFormat]),
    ("'tools': array too long", &[Code::ToolsTooMany]),
    ("tool_calls': array too long", &[Code::ToolCallsTooMany]),
    ("role' does not support", &[Code::RoleUnsupported]),
    ("role: unknown variant", &[Code::RoleUnsupported]),
    ("unknown variant 'system'", &[Code::SystemPosition]),
    ("unknown parameter", &[Code::FieldUnknown]),
    ("no tool call found for", &[Code::ToolResultOrphan]),
    ("no tool output found for", &[Code::ToolCallUnanswered, Code::ToolResultNotAdjacent]),
    ("without its required following item", &[Code::ReasoningItemUnpaired]),
    ("without its required 'reasoning' item", &[Code::ReasoningItemUnpaired]),
    ("duplicate item found with id", &[Code::ItemIdDuplicate]),
    ("'input[…].id': string too long", &[Code::ItemIdLength]),
    ("'input[…].id'…expected an id that begins with", &[Code::ItemIdFormat]),
    ("items are not persisted when", &[Code::ItemNotStored]),
    ("duplicate call_ids", &[Code::ToolCallIdDuplicate]),
    (
        "`tool_use` ids were found without `tool_result`",
        &[Code::ToolCallUnanswered, Code::ToolResultNotAdjacent],
    ),
    ("unexpected `tool_use_id` found in", &[Code::ToolResultOrphan]),
    (
        "did not find…tool_result…block(s) at the beginning",
        &[Code::ToolCallUnanswered, Code::ToolResultNotAdjacent],
    ),
    ("was found without a corresponding `", &[Code::ToolCallUnanswered]),
    ("blocks with cache_control may be provided", &[Code::CacheMarksTooMany]),
    ("invalid…signature…in…thinking", &[Code::ReasoningForeign, Code::ReasoningModified]),
    ("`tool_use` ids must be unique", &[Code::ToolCallIdDuplicate]),
    ("must have a single result", &[Code::ToolResultDuplicate]),
    (".id: string should match pattern", &[Code::ToolCallIdFormat]),
    ("tool_use.input: input should be a valid dictionary", &[Code::ToolArgsType]),
    ("must be non-empty", &[Code::ContentEmpty]),
    ("must have non-empty content", &[Code::ContentEmpty]),
    ("message must be at least 1 token long", &[Code::ContentEmpty]),
    ("non-whitespace text", &[Code::ContentEmpty, Code::ContentWhitespace]),
    ("cannot end with trailing whitespace", &[Code::TrailingWhitespace]),
    (
        "does not support assistant message prefill",
        &[Code::LastMessageRole, Code::PrefillUnsupported],
    ),
    ("cannot be modified", &[Code::ReasoningModified]),
    ("the first block must be `thinking`", &[Code::ReasoningModified]),
    ("encrypted content…could not be verified", &[Code::ReasoningForeign]),
    ("could not decrypt the provided encrypted_content", &[Code::ReasoningForeign]),
    ("encrypted_content was not issued", &[Code::ReasoningForeign]),
    ("reasoning input is not enabled", &[Code::ReasoningForeign]),
    ("missing required parameter: 'input[…].summary'", &[Code::ContentShape]),
    ("missing required field `summary`", &[Code::ContentShape]),
    ("expected `thinking` or `redacted_thinking`", &[Code::ReasoningRequired]),
    ("final block in an assistant message cannot be `thinking`", &[Code::ReasoningFinal]),
    ("unexpected role \"system\"", &[Code::SystemPosition]),
    ("role 'system' must precede", &[Code::SystemPosition]),
    ("role 'system' is not supported", &[Code::SystemPosition]),
    ("system messages are not allowed", &[Code::SystemPosition]),
    ("invalid message role: system", &[Code::SystemPosition]),
    ("system message must be at the beginning", &[Code::SystemPosition, Code::SystemMultiple]),
    ("no user query found in messages", &[Code::FirstMessageRole]),
    ("blocks must define tools", &[Code::ToolsRequiredByHistory]),
    ("extra inputs are not permitted", &[Code::FieldUnknown]),
    ("surrogate", &[Code::UnicodeLoneSurrogate]),
    ("property '…' is unsupported", &[Code::FieldUnknown]),
    ("must have at least one content element", &[Code::ContentNull, Code::ContentEmpty]),
    ("function response parts is equal to", &[Code::ToolCallUnanswered]),
    (
        "function call turn comes immediately after",
        &[Code::FirstMessageRole, Code::RoleAlternation],
    ),
    (
        "function response turn comes immediately after",
        &[Code::ToolResultOrphan, Code::ToolResultNotAdjacent],
    ),
    ("missing a thought_signature", &[Code::ThoughtSignatureMissing]),
    ("missing a `thought_signature`", &[Code::ThoughtSignatureMissing]),
    ("corrupted thought signature", &[Code::ReasoningForeign, Code::ReasoningModified]),
    ("parts must not be empty", &[Code::ContentEmpty]),
    ("cannot find field", &[Code::FieldUnknown]),
    ("unexpected role 'user' after role 'tool'", &[Code::AssistantBridgeRequired]),
    ("unexpected role 'tool' after role", &[Code::ToolResultOrphan]),
    ("not the same number of function calls and responses", &[Code::ToolCallUnanswered]),
    ("must be a-z, a-z, 0-9, with a length of 9", &[Code::ToolCallIdFormat]),
    ("expected last role user or tool", &[Code::LastMessageRole]),
    ("must be passed back", &[Code::ReasoningRequired]),
    ("missing `reasoning_content`", &[Code::ReasoningRequired]),
    ("missing reasoning_content", &[Code::ReasoningRequired]),
    ("reasoning_content is missing", &[Code::ReasoningRequired]),
    ("successive user or assistant messages", &[Code::RoleAlternation]),
    ("exceeds the number of tooluse blocks", &[Code::ToolResultOrphan]),
    ("roles must alternate", &[Code::RoleAlternation]),
    ("must alternate between user and assistant", &[Code::RoleAlternation]),
    ("expected toolresult blocks at", &[Code::ToolCallUnanswered]),
    ("toolconfig field must be defined", &[Code::ToolsRequiredByHistory]),
    ("contain duplicate ids", &[Code::ToolResultDuplicate]),
    ("tool result blocks cannot be provided in the same turn", &[Code::ToolResultMixedTurn]),
    ("toolresult cannot be empty", &[Code::ToolResultEmpty]),
    ("contentblock object at…is blank", &[Code::ContentEmpty, Code::ContentWhitespace]),
    ("content field in the message object at…is empty", &[Code::ContentEmpty]),
    ("text block must be included when using documents", &[Code::ContentShape]),
    ("document file name can only contain", &[Code::NameFieldFormat]),
    ("can only get item pairs from a mapping", &[Code::ToolArgsType]),
    ("conversation blocks and tool use blocks cannot", &[Code::ContentShape]),
    ("tooluse.input is invalid", &[Code::ToolArgsType]),
    ("invalid 'input': value did not match", &[Code::ToolArgsType]),
    ("invalid tool call arguments", &[Code::ToolArgsInvalidJson]),
    ("invalid message content type: <nil>", &[Code::ContentNull]),
    ("cannot unmarshal string into …function.arguments", &[Code::ToolArgsType]),
    ("cannot unmarshal array into …chatrequest.messages", &[Code::ContentShape]),
    ("invalid type: sequence, expected a string", &[Code::ContentShape]),
    ("supported values are: 'output_text' and 'refusal'", &[Code::ContentShape]),
    ("unknown variant…expected `text`", &[Code::ContentShape]),
    ("unknown variant…expected text at", &[Code::ContentShape]),
    ("untagged enum chatcompletionrequestcontent", &[Code::ContentShape]),
    ("messages[…]: missing field `content`", &[Code::ContentNull]),
    ("must start with a user message", &[Code::FirstMessageRole]),
    ("first message (except the system message)", &[Code::FirstMessageRole]),
    ("first message must use the", &[Code::FirstMessageRole]),
    ("2 or more assistant messages at the end", &[Code::LastMessageRole]),
    ("response prefill is incompatible", &[Code::LastMessageRole]),
    ("requests end with a user role", &[Code::LastMessageRole]),
    ("last message of deepseek-reasoner must be", &[Code::LastMessageRole]),
    ("expecting ',' delimiter", &[Code::ToolArgsInvalidJson]),
    ("unterminated string starting at", &[Code::ToolArgsInvalidJson]),
    ("do not have a corresponding toolmessage", &[Code::ToolCallUnanswered]),
    ("tool results are missing for tool calls", &[Code::ToolCallUnanswered]),
    (
        "tool call result does not follow tool call",
        &[Code::ToolCallIdDuplicate, Code::ToolResultNotAdjacent],
    ),
    ("tool call and result not match", &[Code::ToolCallUnanswered, Code::ToolResultOrphan]),
    ("tool result's tool id…not found", &[Code::ToolResultOrphan]),
    ("tool_call_id…is not found", &[Code::ToolResultOrphan]),
    ("tool call id is invalid", &[Code::ToolCallIdFormat]),
    ("invalid function arguments json string", &[Code::ToolArgsInvalidJson]),
    ("which was not in request.tools", &[Code::ToolNameUndeclared]),
    ("tool choice is none, but model called a tool", &[Code::ToolsRequiredByHistory]),
    ("duplicate tool call id…in assistant message", &[Code::ToolCallIdDuplicate]),
    ("duplicate tool call id…in tool results", &[Code::ToolResultDuplicate]),
    ("unexpected tool call id", &[Code::ToolResultOrphan]),
];

/// Returns the codes of the rules that a provider's refusal is about; empty if it matches no rule. Only
/// the first [`limits::REFUSAL_BYTES`] are read.
///
/// ```
/// use turnlock::history::{Code, explain};
///
/// let text = "Unexpected role 'user' after role 'tool'";
/// assert_eq!(explain(text), [Code::AssistantBridgeRequired]);
/// ```
#[must_use]
#[inline(never)]
pub fn explain(refusal: &str) -> Vec<Code> {
    // Gateways repeat the body of a provider as a text in JSON, with a backslash before each quote.
    let end = refusal.floor_char_boundary(limits::REFUSAL_BYTES);
    let refusal = refusal.get(..end).unwrap_or_default();
    let text = refusal.to_ascii_lowercase().replace('\\', "");
    let mut codes = Vec::new();
    for (fragments, named) in REFUSALS {
        if occurs(&text, fragments) {
            codes.extend(
                named.iter().filter(|code| !codes.contains(*code)).copied().collect::<Vec<_>>(),
            );
        }
    }
    codes
}

fn occurs(text: &str, fragments: &str) -> bool {
    let mut rest = Some(text);
    for fragment in fragments.split('…') {
        let behind = |text: &str| Some(find(text, fragment)? + fragment.len());
        rest = rest.and_then(|text| text.get(behind(text)?..));
    }
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_beginning_of_a_text_is_read() {
        let text = "Unexpected role 'user' after role 'tool'";
        let before = |bytes: usize| explain(&("é".repeat(bytes / 2) + text));
        assert_eq!(before(limits::REFUSAL_BYTES - text.len()), [Code::AssistantBridgeRequired]);
        assert_eq!(before(limits::REFUSAL_BYTES - text.len() + 2), []);
    }

    #[test]
    fn each_entry_explains_a_message_that_a_provider_sent() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/");
        let texts = [
            "provider-errors/errors.md",
            "provider-errors/refusals.json",
            "histories-provider-verdicts/error-messages.jsonl",
        ]
        .map(|name| fs::read_to_string(format!("{folder}{name}")).unwrap().to_ascii_lowercase());
        let lines: Vec<_> = texts.iter().flat_map(|text| text.lines()).collect();
        let unused: Vec<_> = REFUSALS
            .iter()
            .filter(|(fragments, _)| !lines.iter().any(|line| occurs(line, fragments)))
            .collect();
        assert!(unused.is_empty(), "{unused:#?}");
    }
}
