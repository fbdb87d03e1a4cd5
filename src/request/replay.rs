//! Results of tools, written down in one run and given again in another.

use crate::error::Error;
use crate::json::Json;
use crate::tool::Outcome;
use crate::turn::read::invalid;

/// The result of one call, as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The call without its id.
    pub signature: String,
    /// The plan it was made for.
    pub plan_id: String,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it took then.
    pub duration_ms: u64,
}

impl Recorded {
    /// Reads `{ signature, status, duration_ms, truncated, result?, error?, plan_id? }`; members
    /// beside these are for people.
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

/// The recorded result of a call: the last one that was recorded for this plan, or else the last
/// one of all.
pub(super) fn find<'a>(
    all: &'a [Recorded],
    signature: &str,
    plan_id: &str,
) -> Option<&'a Recorded> {
    let same = || all.iter().rev().filter(|one| one.signature == signature);
    same().find(|one| one.plan_id == plan_id).or_else(|| same().next())
}
