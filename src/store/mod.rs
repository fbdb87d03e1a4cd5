//! The stored form of a turn and the rule for writing it. This module performs no I/O.
//!
//! A turn is one linear sequence of commits. The core decides what is written ([`Commit`]). A store
//! of the host writes each commit atomically if [`judge`] allows it. This one rule provides the
//! claim, the fence and the protection against repeated writes:
//!
//! - A commit names its *owner* and its number. Its number must follow that of the last commit, and
//!   only a take-over may change the owner. An owner that was replaced can never write again.
//! - A commit that is repeated because its answer was lost is recognised and written only once.
//! - *Records* (a batch of calls, a claim, an outcome) are written once and never changed.
//!
//! ```
//! use turnlock::store::{Commit, Judgement, TurnHead, judge};
//!
//! let first = Commit { owner: "tab-1".into(), revision: 1, open: true, ..Commit::default() };
//! assert_eq!(judge(None, &first), Judgement::Apply);
//!
//! let stands = TurnHead { owner: "tab-1".into(), revision: 1, open: true };
//! assert_eq!(judge(Some(&stands), &first), Judgement::Repeated, "its answer was lost");
//! let other = Commit { owner: "tab-2".into(), revision: 2, open: true, ..Commit::default() };
//! assert_eq!(judge(Some(&stands), &other), Judgement::Refuse);
//! let taken = Commit { take_over: true, ..other };
//! assert_eq!(judge(Some(&stands), &taken), Judgement::Apply);
//! ```

mod commit;
mod stored_turn;

pub use commit::{Commit, CommitResult, Judgement, StoredOutcome, TurnHead, judge};
pub use stored_turn::StoredTurn;

use crate::json::write_string;

/// Version of every record and state that this crate writes. A turn whose state or batches have
/// another version is refused.
pub const FORMAT: u64 = 1;

/// What is kept counts below this: 2^53, up to which every host has each whole number. This version
/// wrote no larger one, and behind the largest there is no next one.
pub(crate) const LARGEST: u64 = 1 << 53;

/// Returns the key of a turn in a store. It is unambiguous for any contents of the parts.
#[must_use]
pub fn turn_key(tenant: &str, request_id: &str) -> String {
    pair(tenant, request_id)
}

/// Returns the key of a reusable outcome in a store.
#[must_use]
pub fn reuse_key(tenant: &str, signature: &str) -> String {
    pair(tenant, signature)
}

fn pair(left: &str, right: &str) -> String {
    let mut out = String::from("[");
    write_string(left, &mut out);
    out.push(',');
    write_string(right, &mut out);
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_keys_are_the_same_only_if_their_parts_are() {
        assert_eq!(turn_key("a\"", "b"), r#"["a\"","b"]"#);
        assert_eq!(reuse_key("", "s"), r#"["","s"]"#);
        assert_ne!(turn_key("a\",\"b", "c"), turn_key("a", "b\",\"c"));
    }
}
