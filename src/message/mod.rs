//! Histories: whatever a chat page, a library or a provider keeps, as the message list that one
//! provider takes.
//!
//! ```text
//!   import          one element, any shape            -> pieces
//!   history, pair   pieces, in order                  -> entries: who said what, call by result
//!   arrange         entries, by the table of rules    -> messages that break no rule
//!   dialect         one message                       -> the provider's words
//! ```
//!
//! The rules are `dialect/*`: a table each, and how its messages are written. Every change is
//! reported; what changes only the words (camelCase for `snake_case`) is not a change. Nothing the
//! user said is lost or moved before something else that was said, and no result is made up that
//! says that a call went well.
//!
//! What a provider would refuse, and the same history as it takes it:
//!
//! ```
//! use turnlock::Dialect;
//! use turnlock::json::Json;
//! use turnlock::message::{History, Options, diagnose};
//!
//! let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",
//!     "function":{"name":"search","arguments":"{}"}}]}"#;
//! let asked = r#"{"role":"user","content":"cats?"}"#;
//! let said = [asked, call, asked].map(|text| Json::parse_str(text).unwrap());
//! let refused = diagnose(said.clone(), Dialect::OpenAiChat)?;
//! assert_eq!(refused[0].code, "TOOL_CALL_UNANSWERED");
//!
//! // A history that grows is read once, element by element.
//! let mut history = History::new(Options::new(Dialect::OpenAiChat));
//! history.append(said)?;
//! let made = history.normalized();
//! assert_eq!(made.repairs[0].action, "synthesized", "the call is answered as interrupted");
//! assert!(diagnose(made.messages, Dialect::OpenAiChat)?.is_empty());
//! # Ok::<(), turnlock::Error>(())
//! ```

mod args;
mod arrange;
mod dialect;
mod explain;
mod history;
mod ids;
mod import;
mod index;
mod model;
mod options;
mod pair;
mod prepare;
mod report;
mod rules;
mod thread;

pub use explain::explain;
pub use history::{History, Normalized, Update};
#[cfg(feature = "wasm")]
pub(crate) use index::Index;
pub use options::{Options, ReasoningReplay, Strategy, ThoughtSignatures};
pub use report::{Repair, Violation};
pub use thread::thread_id;

use crate::dialect::Dialect;
use crate::error::Error;
use crate::json::Json;

/// A history in the provider's wire shape.
///
/// ```
/// use turnlock::json::Json;
/// use turnlock::message::{Options, normalize};
/// use turnlock::Dialect;
///
/// let orphan = Json::parse_str(r#"{"role":"tool","tool_call_id":"a","content":"42"}"#)?;
/// let asked = Json::parse_str(r#"{"role":"user","content":"and now?"}"#)?;
/// let made = normalize(vec![orphan, asked], &Options::new(Dialect::OpenAiChat))?;
/// assert_eq!(made.messages.len(), 1);
/// assert_eq!(made.repairs[0].code, "TOOL_RESULT_ORPHAN");
/// # Ok::<(), turnlock::Error>(())
/// ```
///
/// # Errors
/// `message.unknown_shape` with the index of an element that is no message, `options.invalid`
/// for a thread without a conversation.
pub fn normalize<'a>(
    history: impl IntoIterator<Item = Json<'a>>,
    options: &Options,
) -> Result<Normalized<'a>, Error> {
    let mut all = History::new(options.clone());
    all.append(history)?;
    Ok(all.into_normalized())
}

/// What the provider would refuse of these messages as they are; nothing if it takes them.
///
/// ```
/// use turnlock::Dialect;
/// use turnlock::json::Json;
/// use turnlock::message::diagnose;
///
/// let said = Json::parse_str(r#"{"role":"assistant","content":"Welcome."}"#)?;
/// assert!(diagnose([said.clone()], Dialect::OpenAiChat)?.is_empty());
/// let refused = diagnose([said], Dialect::Anthropic)?;
/// assert_eq!(refused[0].code, "FIRST_MESSAGE_ROLE");
/// # Ok::<(), turnlock::Error>(())
/// ```
///
/// # Errors
/// As [`normalize`].
pub fn diagnose<'a>(
    messages: impl IntoIterator<Item = Json<'a>>,
    dialect: Dialect,
) -> Result<Vec<Violation>, Error> {
    let mut all = History::new(Options::new(dialect));
    all.append(messages)?;
    Ok(all.violations())
}
