//! Converts histories, as chat pages, libraries and providers store them, into the message list
//! that one provider accepts.
//!
//! ```text
//!   import          one element, any shape            -> pieces
//!   history, pair   pieces, in order                  -> entries: messages, calls with results
//!   arrange         entries, by the table of rules    -> messages that break no rule
//! ```
//!
//! The table of rules of a provider, and the code that writes one message in its form, are in the
//! provider's folder. Every change is reported; a different spelling (camelCase for `snake_case`) is
//! not a change. User content is never lost or moved before other content, and a synthesized result
//! never reports success.
//!
//! A history that a provider would refuse, and its repaired form:
//!
//! ```
//! use turnlock::Dialect;
//! use turnlock::json::Json;
//! use turnlock::history::{Action, Code, History, HistoryOptions, diagnose};
//!
//! let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",
//!     "function":{"name":"search","arguments":"{}"}}]}"#;
//! let asked = r#"{"role":"user","content":"cats?"}"#;
//! let said = [asked, call, asked].map(|text| Json::parse_str(text).unwrap());
//! let refused = diagnose(said.clone(), Dialect::OpenAiChat)?;
//! assert_eq!(refused[0].code, Code::ToolCallUnanswered);
//!
//! // A history that grows is read once, element by element.
//! let mut history = History::new(HistoryOptions::new(Dialect::OpenAiChat));
//! history.append(said)?;
//! let made = history.normalized();
//! assert_eq!(made.repairs[0].action, Action::Synthesized, "the call is answered as interrupted");
//! assert!(diagnose(made.messages, Dialect::OpenAiChat)?.is_empty());
//! # Ok::<(), turnlock::Error>(())
//! ```

mod any;
mod args;
mod arrange;
mod client;
mod code;
mod entries;
mod explain;
mod ids;
mod import;
mod model;
mod options;
mod pair;
mod plain;
mod prepare;
mod refused;
mod report;
mod thread;
mod trim;
mod typed;

pub(crate) use any::AnyHistory;
pub use client::demote_instructions;
pub use code::Code;
pub use entries::{History, Normalized, Update};
pub use explain::explain;
pub use options::{
    HistoryOptions, MissingReasoning, ModelHistory, ReasoningReplay, Strategy, ThoughtSignatures,
    UnknownElements,
};
pub(crate) use plain::Plain;
pub use refused::repair;
pub use report::{Action, Repair, Violation};
pub use thread::thread_id;
pub use trim::{TrimOptions, Trimmed, trim};

use crate::dialect::Dialect;
use crate::error::Error;
use crate::json::Json;
use model::Speaker;

/// Converts a history into the provider's wire format.
///
/// ```
/// use turnlock::json::Json;
/// use turnlock::history::{Code, HistoryOptions, normalize};
/// use turnlock::Dialect;
///
/// let orphan = Json::parse_str(r#"{"role":"tool","tool_call_id":"a","content":"42"}"#)?;
/// let asked = Json::parse_str(r#"{"role":"user","content":"and now?"}"#)?;
/// let made = normalize(vec![orphan, asked], &HistoryOptions::new(Dialect::OpenAiChat))?;
/// assert_eq!(made.messages.len(), 1);
/// assert_eq!(made.repairs[0].code, Code::ToolResultOrphan);
/// # Ok::<(), turnlock::Error>(())
/// ```
///
/// # Errors
/// `message.unknown_shape` with the index of an element that is not a message.
pub fn normalize<'a>(
    history: impl IntoIterator<Item = Json<'a>>,
    options: &HistoryOptions,
) -> Result<Normalized<'a>, Error> {
    let mut all = History::new(options.clone());
    all.append(history)?;
    Ok(all.into_normalized())
}

/// Returns the messages, and the system prompt if it is apart, of a conversation that consists of a
/// system text and a text of the user. It reads no shapes: a program that calls nothing else of this
/// module does not hold their readers.
pub(crate) fn opening(
    dialect: Dialect,
    system: String,
    user: String,
) -> (Vec<Json<'static>>, Option<Json<'static>>) {
    let mut history = History::new(HistoryOptions::new(dialect));
    history.tell(Speaker::System, system);
    history.tell(Speaker::User, user);
    history.messages()
}

/// Returns what the provider would refuse in these messages as they are; empty if it accepts them.
///
/// ```
/// use turnlock::Dialect;
/// use turnlock::json::Json;
/// use turnlock::history::{Code, diagnose};
///
/// let said = Json::parse_str(r#"{"role":"assistant","content":"Welcome."}"#)?;
/// assert!(diagnose([said.clone()], Dialect::OpenAiChat)?.is_empty());
/// let refused = diagnose([said], Dialect::ChatTemplate)?;
/// assert_eq!(refused[0].code, Code::FirstMessageRole);
/// # Ok::<(), turnlock::Error>(())
/// ```
///
/// # Errors
/// As [`normalize`].
pub fn diagnose<'a>(
    messages: impl IntoIterator<Item = Json<'a>>,
    dialect: Dialect,
) -> Result<Vec<Violation>, Error> {
    let mut all = History::new(HistoryOptions::new(dialect));
    all.append(messages)?;
    Ok(all.violations())
}
