//! What a host says of a call.

use crate::json::Json;
use crate::json::table::protocol;

protocol! {
    /// The host's verdict on the arguments of a call.
    pub enum Verdict as "ArgumentsVerdict", read {
        /// The arguments match the schema.
        Valid "valid" {
            /// The return value of the tool's `action(args)`, for the signature.
            action "action": Option<String>,
            /// The arguments that the validator returned, if they are JSON: the signature is made of
            /// them. Without it, it is made of the arguments as the model wrote them.
            args "args?": Option<Json<'static>>,
            /// Whether the user must approve the call.
            approval "approval": bool,
        }
        /// The arguments match the schema, and the host denies the call.
        Denied "denied" {
            /// As of valid arguments.
            action "action": Option<String>,
            /// As of valid arguments.
            args "args?": Option<Json<'static>>,
            /// Why. May be empty.
            reason "reason": String,
        }
        /// The arguments do not match the schema.
        Invalid "invalid" {
            /// The errors, in the validator's words.
            errors "errors": String,
        }
    }
}

protocol! {
    /// The result or error with which a tool settled.
    pub enum Settled as "SettledCall", read {
        /// The tool returned.
        Ok "ok" {
            /// The JSON text of its value. The host truncates text that is far over the limit.
            text "text": String,
            /// Size of the whole text in bytes.
            bytes "bytes": u64,
        }
        /// Nobody knows whether the tool ran: the answer to a call that is reconciled.
        Unknown "unknown" {
            /// Why the host could not find out. May be empty.
            why "message": String,
        }
        /// The tool threw, or returned a value that has no JSON form.
        Error "error" {
            /// Stable code of the failure, such as `tool.threw`.
            code "code": String,
            /// The error message.
            message "message": String,
        }
    }
}

impl Eq for Settled {}
