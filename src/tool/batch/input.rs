//! What a host says of a call.

use crate::json::Json;

/// The host's verdict on the arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The arguments match the schema.
    Valid {
        /// The return value of the tool's `action(args)`, for the signature.
        action: Option<String>,
        /// The arguments that the validator returned, if they are JSON: the signature is made of
        /// them. `None`: of the arguments as the model wrote them.
        args: Option<Json<'static>>,
        /// Whether the user must approve the call.
        approval: bool,
    },
    /// The arguments do not match the schema.
    Invalid {
        /// The errors, in the validator's words.
        errors: String,
    },
}

/// The result or error with which a tool settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The tool returned.
    Ok {
        /// The JSON text of its value. The host truncates text that is far over the limit.
        text: String,
        /// Size of the whole text in bytes.
        bytes: u64,
    },
    /// Nobody knows whether the tool ran: the answer to a call that is reconciled.
    Unknown {
        /// Why the host could not find out. May be empty.
        why: String,
    },
    /// The tool threw, or returned a value that has no JSON form.
    Error {
        /// Stable code of the failure, such as `tool.threw`.
        code: String,
        /// The error message.
        message: String,
    },
}
