//! The codes of what providers refuse.

use crate::json::table::names;

macro_rules! codes {
    ($($code:ident $name:literal $words:literal,)*) => {
        names! {
            /// What a provider refuses in a history, by the project's provider rules. Some codes
            /// only explain the refusals of providers, because a normalized history cannot have
            /// the fault.
            pub enum Code as "HistoryCode", "a code of the provider rules", non_exhaustive {
                $(#[doc = $words] $code $name,)*
            }
        }

        impl Code {
            /// Returns the description, a clause.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$code => $words,)*
                }
            }
        }
    };
}

codes! {
    AnswerExtraText "ANSWER_EXTRA_TEXT" "text stands around the JSON of an answer",
    AssistantBridgeRequired "ASSISTANT_BRIDGE_REQUIRED" "a user may not speak directly after a tool result",
    CacheMarksTooMany "CACHE_MARKS_TOO_MANY" "more blocks are marked for the cache than this provider takes",
    ContentEmpty "CONTENT_EMPTY" "nothing was said here",
    ContentNull "CONTENT_NULL" "content may not be null here",
    ContentShape "CONTENT_SHAPE" "this provider does not take content of this shape",
    ContentWhitespace "CONTENT_WHITESPACE" "the content is only white space",
    ElementUnknown "ELEMENT_UNKNOWN" "an element of no known shape",
    FieldUnknown "FIELD_UNKNOWN" "a field that this provider does not know",
    FirstMessageRole "FIRST_MESSAGE_ROLE" "the first message must be the user's",
    ItemIdDuplicate "ITEM_ID_DUPLICATE" "the id of this item is used twice",
    ItemIdFormat "ITEM_ID_FORMAT" "the id of this item has a form that this provider refuses",
    ItemIdLength "ITEM_ID_LENGTH" "the id of this item is too long",
    ItemNotStored "ITEM_NOT_STORED" "the provider does not have this item",
    LastMessageRole "LAST_MESSAGE_ROLE" "the last message may not be the assistant's",
    MsgListEmpty "MSG_LIST_EMPTY" "there is no message but instructions",
    NameFieldFormat "NAME_FIELD_FORMAT" "the name is one that this provider refuses",
    PrefillUnsupported "PREFILL_UNSUPPORTED" "this model does not continue an assistant message",
    ReasoningFinal "REASONING_FINAL" "reasoning may not be the last block of a message",
    ReasoningForeign "REASONING_FOREIGN" "this provider does not take back this reasoning",
    ReasoningItemUnpaired "REASONING_ITEM_UNPAIRED" "a reasoning item must stand before the item it led to",
    ReasoningModified "REASONING_MODIFIED" "reasoning must be sent back as it was",
    ReasoningRequired "REASONING_REQUIRED" "the reasoning of this message must be sent back",
    RoleAlternation "ROLE_ALTERNATION" "the same role speaks twice in a row",
    RoleUnsupported "ROLE_UNSUPPORTED" "this provider does not know this role",
    SystemMultiple "SYSTEM_MULTIPLE" "only one system message is taken",
    SystemPosition "SYSTEM_POSITION" "a system message is taken at the beginning only",
    ThoughtSignatureMissing "THOUGHT_SIGNATURE_MISSING" "the first call of a step must carry a thought signature",
    ToolsRequiredByHistory "TOOLS_REQUIRED_BY_HISTORY" "a history with tool calls needs tools to be declared",
    ToolsTooMany "TOOLS_TOO_MANY" "too many tools are declared",
    ToolArgsConflict "TOOL_ARGS_CONFLICT" "the call is described with other arguments too",
    ToolArgsEmpty "TOOL_ARGS_EMPTY" "the arguments are empty",
    ToolArgsInvalidJson "TOOL_ARGS_INVALID_JSON" "the arguments are not JSON",
    ToolArgsNotObject "TOOL_ARGS_NOT_OBJECT" "the arguments are not an object",
    ToolArgsType "TOOL_ARGS_TYPE" "the arguments have the wrong type",
    ToolCallsTooMany "TOOL_CALLS_TOO_MANY" "a message has too many calls",
    ToolCallIdDuplicate "TOOL_CALL_ID_DUPLICATE" "the id of this call is used before",
    ToolCallIdFormat "TOOL_CALL_ID_FORMAT" "the id of this call has a form that this provider refuses",
    ToolCallIdLength "TOOL_CALL_ID_LENGTH" "the id of this call is too long",
    ToolCallIdMissing "TOOL_CALL_ID_MISSING" "the call has no id",
    ToolCallOmitted "TOOL_CALL_OMITTED" "tool calls are left out by this strategy",
    ToolCallPartial "TOOL_CALL_PARTIAL" "the call was never complete",
    ToolCallPending "TOOL_CALL_PENDING" "the history ends before this call has a result",
    ToolCallUnanswered "TOOL_CALL_UNANSWERED" "the call has no result",
    ToolNameFormat "TOOL_NAME_FORMAT" "the tool's name has a form that this provider refuses",
    ToolNameMissing "TOOL_NAME_MISSING" "the call names no tool",
    ToolNameUndeclared "TOOL_NAME_UNDECLARED" "the request does not declare the tool of this call",
    ToolResultBeforeCall "TOOL_RESULT_BEFORE_CALL" "the result stands before its call",
    ToolResultDuplicate "TOOL_RESULT_DUPLICATE" "the call has another result",
    ToolResultEmpty "TOOL_RESULT_EMPTY" "the result may not be empty",
    ToolResultMixedTurn "TOOL_RESULT_MIXED_TURN" "results must be the only content of their message",
    ToolResultNameRequired "TOOL_RESULT_NAME_REQUIRED" "the result does not name its tool",
    ToolResultNotAdjacent "TOOL_RESULT_NOT_ADJACENT" "something stands between the call and its result",
    ToolResultOrder "TOOL_RESULT_ORDER" "the results are not in the order of their calls",
    ToolResultOrphan "TOOL_RESULT_ORPHAN" "no call has this result",
    ToolResultTextFirst "TOOL_RESULT_TEXT_FIRST" "results must stand before other content",
    ToolResultType "TOOL_RESULT_TYPE" "the result is not text",
    ToolUseNotLast "TOOL_USE_NOT_LAST" "calls must stand behind what was said",
    TrailingWhitespace "TRAILING_WHITESPACE" "the last assistant text ends with white space",
    UnicodeLoneSurrogate "UNICODE_LONE_SURROGATE" "half of a character",
}
