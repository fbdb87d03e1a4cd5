//! Tool results that are recorded in one run and replayed in another.

use crate::error::Error;
use crate::json::Json;
use crate::tool::Outcome;
use crate::turn::read::invalid;

/// The recorded result of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The signature of the call, which does not contain its id.
    pub signature: String,
    /// The id of the plan for which the call was made.
    pub plan_id: String,
    /// The outcome of the call.
    pub outcome: Outcome,
    /// The recorded duration, in milliseconds.
    pub duration_ms: u64,
}

impl Recorded {
    /// Reads `{ signature, status, duration_ms, truncated, result?, error?, plan_id? }`; other
    /// members are for people.
    ///
    /// # Errors
    /// `options.invalid` naming the entry.
    pub fn read(at: usize, entry: &Json<'_>) -> Result<Self, Error> {
        let text = |key| entry.get(key).and_then(Json::as_str);
        let read = || {
            let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            let signature = text("signature")?;
            (signature.len() == 64 && signature.bytes().all(hex)).then_some(Self {
                signature: signature.to_owned(),
                plan_id: text("plan_id").unwrap_or_default().to_owned(),
                outcome: Outcome::read(entry)?,
                duration_ms: entry.get("duration_ms")?.as_u64()?,
            })
        };
        read().ok_or_else(|| invalid(&format!("replay[{at}]"), "a recorded call"))
    }
}

/// Returns the recorded result of a call: the last one that was recorded for this plan, or else the
/// last one of any plan.
pub(super) fn find<'a>(
    all: &'a [Recorded],
    signature: &str,
    plan_id: &str,
) -> Option<&'a Recorded> {
    let same = || all.iter().rev().filter(|one| one.signature == signature);
    same().find(|one| one.plan_id == plan_id).or_else(|| same().next())
}
