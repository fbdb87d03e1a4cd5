//! Tool results that are recorded in one run and replayed in another.

use crate::error::Error;
use crate::json::table::{At, Describe, Item, Member, Read, Shape, Write};
use crate::json::{Json, members};
use crate::tool::{Outcome, Status};

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
    /// Makes the record of a call that was made for the plan `plan_id`.
    #[must_use]
    pub fn new(signature: String, plan_id: String, outcome: Outcome, duration_ms: u64) -> Self {
        Self { signature, plan_id, outcome, duration_ms }
    }
}

/// Reads `{ signature, status, duration_ms, truncated, result?, error?, plan_id? }`; other members
/// are for people.
impl Read for Recorded {
    fn read(&mut self, entry: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        let text = |key| entry.get(key).and_then(Json::as_str);
        let read = || {
            let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            let signature = text("signature")?;
            (signature.len() == 64 && signature.bytes().all(hex)).then_some(Self {
                signature: signature.to_owned(),
                plan_id: text("plan_id").unwrap_or_default().to_owned(),
                outcome: Outcome::read(&entry)?,
                duration_ms: entry.get("duration_ms")?.as_u64()?,
            })
        };
        *self = read().ok_or_else(|| at.wrong(self.expected()))?;
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "a recorded call"
    }
}

impl Item for Recorded {
    fn item() -> Self {
        Self::new(String::new(), String::new(), Outcome::told(Status::Ok, ""), 0)
    }
}

impl Write for Recorded {
    fn write(&self) -> Json<'static> {
        let mut members: Vec<Member> = members! {
            "signature": Json::from(self.signature.clone()),
            "plan_id": Json::from(self.plan_id.clone()),
            "duration_ms": Json::integer(self.duration_ms),
        };
        members.extend(self.outcome.members());
        Json::Object(members)
    }
}

impl Describe for Recorded {
    fn shape() -> Shape {
        Shape::Any
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
