//! Maps a provider's refusal to the rules that it is about.

/// Fragments of the providers' error messages, in lower case, and the codes that explain them. The
/// fragments of an entry are separated by `…` and must all occur in this order. Sources: the
/// verbatim error messages in the project's provider rules. Messages change between versions, so
/// the fragments are short.
const REFUSALS: &[(&str, &[&str])] = &[
    ("must be followed by tool messages", &["TOOL_CALL_UNANSWERED", "TOOL_RESULT_NOT_ADJACENT"]),
    ("insufficient tool messages following", &["TOOL_CALL_UNANSWERED", "TOOL_RESULT_NOT_ADJACENT"]),
    ("role 'tool' must be a response to a prece", &["TOOL_RESULT_ORPHAN"]),
    ("tool role, but there was no previous assistant", &["TOOL_RESULT_ORPHAN"]),
    ("duplicate value for 'tool_call_id'", &["TOOL_RESULT_DUPLICATE"]),
    ("tool_calls[…].id': string too long", &["TOOL_CALL_ID_LENGTH"]),
    ("call_id': string too long", &["TOOL_CALL_ID_LENGTH"]),
    ("function.arguments': expected a string", &["TOOL_ARGS_TYPE"]),
    ("invalid value for 'content': expected a string, got null", &["CONTENT_NULL"]),
    (".name': string does not match pattern", &["TOOL_NAME_FORMAT"]),
    ("invalid function name", &["TOOL_NAME_FORMAT"]),
    ("'tools': array too long", &["TOOLS_TOO_MANY"]),
    ("tool_calls': array too long", &["TOOL_CALLS_TOO_MANY"]),
    ("role' does not support", &["ROLE_UNSUPPORTED"]),
    ("unknown variant `function`", &["ROLE_UNSUPPORTED"]),
    ("unknown variant `developer`", &["ROLE_UNSUPPORTED"]),
    ("unknown parameter", &["FIELD_UNKNOWN"]),
    ("no tool call found for", &["TOOL_RESULT_ORPHAN"]),
    ("no tool output found for", &["TOOL_CALL_UNANSWERED", "TOOL_RESULT_NOT_ADJACENT"]),
    ("without its required following item", &["REASONING_ITEM_UNPAIRED"]),
    ("without its required 'reasoning' item", &["REASONING_ITEM_UNPAIRED"]),
    ("duplicate item found with id", &["ITEM_ID_DUPLICATE"]),
    ("duplicate call_ids", &["TOOL_CALL_ID_DUPLICATE"]),
    (
        "`tool_use` ids were found without `tool_result`",
        &["TOOL_CALL_UNANSWERED", "TOOL_RESULT_NOT_ADJACENT"],
    ),
    ("unexpected `tool_use_id` found in `tool_result`", &["TOOL_RESULT_ORPHAN"]),
    ("`tool_use` ids must be unique", &["TOOL_CALL_ID_DUPLICATE"]),
    ("must have a single result", &["TOOL_RESULT_DUPLICATE"]),
    (".id: string should match pattern", &["TOOL_CALL_ID_FORMAT"]),
    ("tool_use.input: input should be a valid dictionary", &["TOOL_ARGS_TYPE"]),
    ("must be non-empty", &["CONTENT_EMPTY"]),
    ("non-whitespace text", &["CONTENT_EMPTY", "CONTENT_WHITESPACE"]),
    ("cannot end with trailing whitespace", &["TRAILING_WHITESPACE"]),
    ("does not support assistant message prefill", &["LAST_MESSAGE_ROLE", "PREFILL_UNSUPPORTED"]),
    ("cannot be modified", &["REASONING_MODIFIED"]),
    ("expected `thinking` or `redacted_thinking`", &["REASONING_REQUIRED"]),
    ("final block in an assistant message cannot be `thinking`", &["REASONING_FINAL"]),
    ("unexpected role \"system\"", &["SYSTEM_POSITION"]),
    ("role 'system' must precede", &["SYSTEM_POSITION"]),
    ("role 'system' is not supported", &["SYSTEM_POSITION"]),
    ("system messages are not allowed", &["SYSTEM_POSITION"]),
    ("system message must be at the beginning", &["SYSTEM_POSITION"]),
    ("blocks must define tools", &["TOOLS_REQUIRED_BY_HISTORY"]),
    ("extra inputs are not permitted", &["FIELD_UNKNOWN"]),
    ("surrogate", &["UNICODE_LONE_SURROGATE"]),
    ("is unsupported)]", &["FIELD_UNKNOWN"]),
    ("must have at least one content element", &["CONTENT_NULL"]),
    ("function response parts is equal to", &["TOOL_CALL_UNANSWERED"]),
    ("function call turn comes immediately after", &["FIRST_MESSAGE_ROLE", "ROLE_ALTERNATION"]),
    (
        "function response turn comes immediately after",
        &["TOOL_RESULT_ORPHAN", "TOOL_RESULT_NOT_ADJACENT"],
    ),
    ("missing a thought_signature", &["THOUGHT_SIGNATURE_MISSING"]),
    ("parts must not be empty", &["CONTENT_EMPTY"]),
    ("cannot find field", &["FIELD_UNKNOWN"]),
    ("unexpected role 'user' after role 'tool'", &["ASSISTANT_BRIDGE_REQUIRED"]),
    ("unexpected role 'tool' after role", &["TOOL_RESULT_ORPHAN"]),
    ("not the same number of function calls and responses", &["TOOL_CALL_UNANSWERED"]),
    ("must be a-z, a-z, 0-9, with a length of 9", &["TOOL_CALL_ID_FORMAT"]),
    ("expected last role user or tool", &["LAST_MESSAGE_ROLE"]),
    ("must be passed back", &["REASONING_REQUIRED"]),
    ("missing `reasoning_content`", &["REASONING_REQUIRED"]),
    ("missing reasoning_content", &["REASONING_REQUIRED"]),
    ("successive user or assistant messages", &["ROLE_ALTERNATION"]),
    ("exceeds the number of tooluse blocks", &["TOOL_RESULT_ORPHAN"]),
    ("roles must alternate", &["ROLE_ALTERNATION"]),
    ("must alternate between user and assistant", &["ROLE_ALTERNATION"]),
    ("expected toolresult blocks at", &["TOOL_CALL_UNANSWERED"]),
    ("toolconfig field must be defined", &["TOOLS_REQUIRED_BY_HISTORY"]),
    ("contain duplicate ids", &["TOOL_RESULT_DUPLICATE"]),
    ("tool result blocks cannot be provided in the same turn", &["TOOL_RESULT_MIXED_TURN"]),
    ("toolresult cannot be empty", &["TOOL_RESULT_EMPTY"]),
    ("tooluse.input is invalid", &["TOOL_ARGS_TYPE"]),
    ("invalid 'input': value did not match", &["TOOL_ARGS_TYPE"]),
    ("invalid tool call arguments", &["TOOL_ARGS_INVALID_JSON"]),
    ("invalid message content type: <nil>", &["CONTENT_NULL"]),
    ("cannot unmarshal string into …function.arguments", &["TOOL_ARGS_TYPE"]),
    ("cannot unmarshal array into …content", &["CONTENT_SHAPE"]),
    ("invalid type: sequence, expected a string", &["CONTENT_SHAPE"]),
    ("must start with a user message", &["FIRST_MESSAGE_ROLE"]),
    ("first message must use the", &["FIRST_MESSAGE_ROLE"]),
    ("2 or more assistant messages at the end", &["LAST_MESSAGE_ROLE"]),
    ("response prefill is incompatible", &["LAST_MESSAGE_ROLE"]),
    ("requests end with a user role", &["LAST_MESSAGE_ROLE"]),
    ("last message of deepseek-reasoner must be", &["LAST_MESSAGE_ROLE"]),
    ("expecting ',' delimiter", &["TOOL_ARGS_INVALID_JSON"]),
    ("unterminated string starting at", &["TOOL_ARGS_INVALID_JSON"]),
    ("do not have a corresponding toolmessage", &["TOOL_CALL_UNANSWERED"]),
    ("tool results are missing for tool calls", &["TOOL_CALL_UNANSWERED"]),
    (
        "tool call result does not follow tool call",
        &["TOOL_CALL_ID_DUPLICATE", "TOOL_RESULT_NOT_ADJACENT"],
    ),
    ("which was not in request.tools", &["TOOL_NAME_UNDECLARED"]),
    ("tool choice is none, but model called a tool", &["TOOLS_REQUIRED_BY_HISTORY"]),
    ("duplicate tool call id…in assistant message", &["TOOL_CALL_ID_DUPLICATE"]),
    ("duplicate tool call id…in tool results", &["TOOL_RESULT_DUPLICATE"]),
    ("unexpected tool call id", &["TOOL_RESULT_ORPHAN"]),
];

/// Returns the codes of the rules that a provider's refusal is about; empty if it matches no rule.
///
/// ```
/// let text = "Unexpected role 'user' after role 'tool'";
/// assert_eq!(turnlock::message::explain(text), ["ASSISTANT_BRIDGE_REQUIRED"]);
/// ```
#[must_use]
pub fn explain(refusal: &str) -> Vec<&'static str> {
    let text = refusal.to_ascii_lowercase();
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
    let mut rest = text;
    fragments.split('…').all(|fragment| match rest.split_once(fragment) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}
