//! What is kept of a turn, and the one rule by which it is written. Formats and rules; no I/O.
//!
//! A turn is one linear sequence of commits. The core says what is written ([`Commit`]), a
//! store of the host keeps it atomically and answers by [`judge`]. That one rule is the
//! claim, the fence and the protection against a repeated write:
//!
//! - a commit names its *owner* and its number; the next one must follow the last one, and
//!   only a take-over may have another owner: who was replaced never writes again, however
//!   late it wakes;
//! - a commit that is repeated because its answer was lost is recognised, and written once;
//! - *records* (a batch of calls, a claim, an outcome) are written once and never changed.
//!
//! ```
//! use turnlock::store::{Commit, Judgement, Standing, judge};
//!
//! let first = Commit { owner: "tab-1".into(), revision: 1, open: true, ..Commit::default() };
//! assert_eq!(judge(None, &first), Judgement::Apply);
//!
//! let stands = Standing { owner: "tab-1".into(), revision: 1, open: true };
//! assert_eq!(judge(Some(&stands), &first), Judgement::Repeated, "its answer was lost");
//! let other = Commit { owner: "tab-2".into(), revision: 2, open: true, ..Commit::default() };
//! assert_eq!(judge(Some(&stands), &other), Judgement::Refuse);
//! let taken = Commit { take_over: true, ..other };
//! assert_eq!(judge(Some(&stands), &taken), Judgement::Apply);
//! ```

mod commit;
mod stored_turn;

pub use commit::{Answer, Commit, Judgement, Standing, judge};
pub use stored_turn::Kept;

use crate::json::write_string;

/// Version of every record and state that this crate writes. One that is newer is refused.
pub const FORMAT: u64 = 1;

/// The name of a turn in a store; unambiguous, whatever the parts hold.
#[must_use]
pub fn turn_key(tenant: &str, request_id: &str) -> String {
    pair(tenant, request_id)
}

/// The name of a reusable outcome in a store.
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
