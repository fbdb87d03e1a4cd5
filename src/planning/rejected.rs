//! Why a request, or one of its calls, is rejected.

use crate::guard::Refusal;
use crate::json::table::{names, record};

names! {
    /// Why something is rejected: the whole request if it has no index, otherwise one call. Three of
    /// them are only noted where they change nothing: `deviation`, `missing_field` for `reason`, and
    /// `unknown_field`.
    pub enum Reason as "RejectedReason", "a reason of a rejection" {
        /// Several different values could be the request.
        Ambiguous "ambiguous",
        /// Accepted in another form. The detail names what was dropped around the JSON
        /// (as `ReplyRepair`, such as `fence_dropped`) or the form: `toolCalls`, `bare_call` for a
        /// call without a list around it, and `params` for arguments that were fitted to the tool's
        /// schema: JSON in a string was unwrapped, or null for an optional parameter was left out.
        Deviation "deviation",
        /// A member has a value of the wrong type, or a name that no tool can have.
        InvalidField "invalid_field",
        /// A member of a call is missing.
        MissingField "missing_field",
        /// Text without a request in it: no JSON, and no object with `tool_calls`.
        NoJson "no_json",
        /// Not a JSON object where one is required.
        NotAnObject "not_an_object",
        /// Not valid I-JSON; the detail is the code, such as `json.duplicate_key`.
        Syntax "syntax",
        /// Longer than 64 KiB.
        TooLarge "too_large",
        /// The text or the call is truncated: a value or a `<think>` block that does not end.
        Truncated "truncated",
        /// A member that the schema does not define.
        UnknownField "unknown_field",
        /// Over the limit of calls.
        Budget "budget",
        /// A call with the same signature was accepted before; its result serves both.
        Duplicate "duplicate",
        /// The arguments do not fit the tool's schema.
        InvalidArguments "invalid_arguments",
        /// Not on the allowlist. Without one, a tool whose name begins with a verb of change is
        /// not allowed, even if it is `readOnly`: list it by hand if it only reads.
        NotAllowed "not_allowed",
        /// It needs the approval of a user, which a pass does not request.
        NotApproved "not_approved",
        /// Allowed by its name, but not declared read-only: it never runs in a pass.
        NotReadOnly "not_read_only",
        /// There is no such tool.
        UnknownTool "unknown_tool",
    }
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Budget => Self::Budget,
            Refusal::Duplicate => Self::Duplicate,
            Refusal::InvalidArguments => Self::InvalidArguments,
            Refusal::NotAllowed | Refusal::ToolsDisabled => Self::NotAllowed,
            Refusal::NotApproved => Self::NotApproved,
            Refusal::UnknownTool => Self::UnknownTool,
        }
    }
}

record! {
    /// A request or a call that is rejected.
    pub struct RequestRejection as "RequestRejection", read {
        /// The index of the call in the request, from 0; null for the request itself.
        index "index": Option<usize>;
        /// The name of the tool, if the call has one.
        tool_name "tool_name": Option<String>;
        /// The reason.
        reason "reason": Reason;
        /// The member or the code that the reason is about, if there is one.
        detail "detail": Option<String>;
        /// The place and the cause of JSON that cannot be read.
        message "message?": Option<String>;
    }
}

impl Eq for RequestRejection {}

impl RequestRejection {
    /// The request itself.
    pub(super) fn whole(reason: Reason, detail: &str) -> Self {
        Self { index: None, tool_name: None, reason, detail: named(detail), message: None }
    }

    /// A call of the request, with the name that it gives.
    pub(super) fn call(index: usize, tool_name: &str, reason: Reason, detail: &str) -> Self {
        let (index, tool_name) = (Some(index), named(tool_name));
        Self { index, tool_name, reason, detail: named(detail), message: None }
    }

    /// A call whose arguments are accepted in another form.
    pub(super) fn fitted(index: usize, tool_name: &str) -> Self {
        Self::call(index, tool_name, Reason::Deviation, "params")
    }
}

/// Members of a request may have empty names and values.
fn named(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
