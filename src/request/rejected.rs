//! Why a request, or one of its calls, is rejected.

use super::parse::RequestedCall;
use crate::json::Json;
use crate::tool::Refusal;

/// Why something is rejected. The first group rejects the whole request, the second one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// More than one fenced block could be the request.
    Ambiguous,
    /// A member has a value of the wrong type, or a name that no tool can have.
    InvalidField,
    /// A member of a call is missing.
    MissingField,
    /// Text without a request in it.
    NoJson,
    /// Not a JSON object where one is required.
    NotAnObject,
    /// Not valid I-JSON; the detail is the code, such as `json.duplicate_key`.
    Syntax,
    /// Longer than 64 KiB.
    TooLarge,
    /// The text or the call is truncated.
    Truncated,
    /// A member that the schema does not define.
    UnknownField,

    /// Over the limit of calls.
    Budget,
    /// A call with the same signature was accepted before; its result serves both.
    Duplicate,
    /// The arguments do not fit the tool's schema.
    InvalidArguments,
    /// Not on the allowlist.
    NotAllowed,
    /// It needs the approval of a user, which a pass does not request.
    NotApproved,
    /// Allowed by its name, but not declared read-only: it never runs in a pass.
    NotReadOnly,
    /// There is no such tool.
    UnknownTool,
}

impl Reason {
    /// The name in results and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ambiguous => "ambiguous",
            Self::Budget => "budget",
            Self::Duplicate => "duplicate",
            Self::InvalidArguments => "invalid_arguments",
            Self::InvalidField => "invalid_field",
            Self::MissingField => "missing_field",
            Self::NoJson => "no_json",
            Self::NotAllowed => "not_allowed",
            Self::NotAnObject => "not_an_object",
            Self::NotApproved => "not_approved",
            Self::NotReadOnly => "not_read_only",
            Self::Syntax => "syntax",
            Self::TooLarge => "too_large",
            Self::Truncated => "truncated",
            Self::UnknownField => "unknown_field",
            Self::UnknownTool => "unknown_tool",
        }
    }

    /// Returns the reason with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        ALL.into_iter().find(|one| one.name() == name)
    }
}

const ALL: [Reason; 16] = [
    Reason::Ambiguous,
    Reason::InvalidField,
    Reason::MissingField,
    Reason::NoJson,
    Reason::NotAnObject,
    Reason::Syntax,
    Reason::TooLarge,
    Reason::Truncated,
    Reason::UnknownField,
    Reason::Budget,
    Reason::Duplicate,
    Reason::InvalidArguments,
    Reason::NotAllowed,
    Reason::NotApproved,
    Reason::NotReadOnly,
    Reason::UnknownTool,
];

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

/// A request or a call that is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The index of the call in the request, from 0; `None` for the request itself.
    pub index: Option<usize>,
    /// The name of the tool, if the call has one.
    pub tool_name: Option<String>,
    /// The reason.
    pub reason: Reason,
    /// The member or the code that the reason is about, or empty.
    pub detail: String,
}

impl Rejected {
    pub(super) fn whole(reason: Reason) -> Self {
        Self { index: None, tool_name: None, reason, detail: String::new() }
    }

    pub(super) fn call(call: &RequestedCall, reason: Reason) -> Self {
        Self {
            index: Some(call.index),
            tool_name: Some(call.tool_name.clone()),
            reason,
            detail: String::new(),
        }
    }

    /// `{ index, tool_name, reason, detail }`; members that do not apply are null.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let index = self.index.and_then(|index| u64::try_from(index).ok());
        let text = |text: &str| if text.is_empty() { Json::Null } else { text.to_owned().into() };
        Json::object([
            ("index", index.map_or(Json::Null, Json::integer)),
            ("tool_name", text(self.tool_name.as_deref().unwrap_or_default())),
            ("reason", self.reason.name().into()),
            ("detail", text(&self.detail)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (at, reason) in ALL.into_iter().enumerate() {
            // In the order of the type, so that no variant is missing.
            assert_eq!(reason as usize, at);
            assert_eq!(Reason::parse(reason.name()), Some(reason));
        }
        assert_eq!(Reason::UnknownTool as usize + 1, ALL.len());
        assert_eq!(Reason::parse("no_reason"), None);
    }
}
