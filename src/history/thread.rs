//! Threads that the provider stores: a stable id, and the first entry that the thread lacks.

use sha2::{Digest, Sha256};

use super::model::{Entry, Speaker};
use super::options::{HistoryOptions, Strategy};
use crate::error::Error;
use crate::json;
use crate::signature::hex;

/// Returns the id of the thread of a conversation: the same in every run, and different for every
/// conversation and namespace. It is a UUID of version 8 (RFC 9562 §5.8) over a SHA-256.
///
/// ```
/// use turnlock::history::thread_id;
///
/// let thread = thread_id("chat-17", Some("production"))?;
/// assert_eq!(thread, thread_id("chat-17", Some("production"))?);
/// assert_ne!(thread, thread_id("chat-17", Some("staging"))?);
/// assert_eq!(thread.len(), 36);
/// # Ok::<(), turnlock::Error>(())
/// ```
///
/// # Errors
/// `options.invalid` if the conversation's id is empty.
#[inline(never)]
pub fn thread_id(conversation_id: &str, namespace: Option<&str>) -> Result<String, Error> {
    if conversation_id.is_empty() {
        return Err(Error::option("conversationId", "a text that is not empty"));
    }
    let mut text = String::from("[\"turnlock.thread\",");
    json::write_string(namespace.unwrap_or_default(), &mut text);
    text.push(',');
    json::write_string(conversation_id, &mut text);
    text.push(']');
    let mut hash = Sha256::digest(text.as_bytes());
    for (at, clear, set) in [(6, 0x0F, 0x80), (8, 0x3F, 0x80)] {
        if let Some(byte) = hash.get_mut(at) {
            *byte = *byte & clear | set;
        }
    }
    let all = hex(&hash);
    let part = |from: usize, to: usize| all.get(from..to).unwrap_or_default();
    Ok([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"))
}

/// The first entry that the provider does not have yet.
pub(super) fn from(options: &HistoryOptions, entries: &[Entry<'_>]) -> usize {
    if options.strategy != Strategy::Thread {
        return 0;
    }
    match options.seen {
        Some(seen) => entries.partition_point(|entry| entry.index < seen),
        // The thread ends with the last assistant entry; later entries are new.
        None => {
            let answered = entries.iter().rposition(|entry| entry.speaker == Speaker::Assistant);
            answered.map_or(0, |at| at + 1)
        }
    }
}
