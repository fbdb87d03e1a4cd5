//! Tool results that are recorded in one run and replayed in another.

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Item, Read, record};
use crate::tool::{Outcome, Status};

record! {
    /// The outcome of a call, recorded for a replay. Plain JSON.
    pub struct Recorded as "RecordedCall" {
        /// The signature of the call, which does not contain its id.
        signature "signature": String;
        /// The id of the plan for which the call was made. A replay uses records of its own plan
        /// only; a record without an id is one of every plan.
        plan_id "plan_id?": Option<String>;
        /// The tool, for people.
        tool_name "tool_name?": Option<String>;
        /// The arguments, for people.
        params "params?": Option<Json<'static>> as "Record<string, unknown>";
        /// The recorded duration, in milliseconds.
        duration_ms "duration_ms": u64;
        /// The outcome of the call.
        outcome "": Outcome;
    }
}

impl Recorded {
    /// Makes the record of a call that was made for the plan `plan_id`.
    #[must_use]
    pub fn new(signature: String, plan_id: String, outcome: Outcome, duration_ms: u64) -> Self {
        let (plan_id, tool_name, params) = (Some(plan_id), None, None);
        Self { signature, plan_id, tool_name, params, duration_ms, outcome }
    }
}

impl Read for Recorded {
    fn read(&mut self, entry: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        let text = |key| entry.get(key).and_then(Json::as_str);
        let read = || {
            let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            let signature = text("signature")?;
            (signature.len() == 64 && signature.bytes().all(hex)).then_some(Self {
                signature: signature.to_owned(),
                plan_id: text("plan_id").map(str::to_owned),
                tool_name: text("tool_name").map(str::to_owned),
                params: entry.get("params").cloned(),
                duration_ms: entry.get("duration_ms")?.as_u64()?,
                outcome: Outcome::read(&entry)?,
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

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Recorded {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut read = Self::item();
        let json = Json::deserialize(deserializer)?;
        read.read(json, &At::ROOT).map_err(serde::de::Error::custom)?;
        Ok(read)
    }
}

/// Returns the recorded result of a call for a plan, or why there is none.
///
/// A result of another plan may lie in the future of this one, so it is never used. In a pass, a
/// signature runs once. Records of one plan with different results are therefore of several passes,
/// and no order of them says which one is meant.
pub(super) fn find<'a>(
    all: &'a [Recorded],
    signature: &str,
    plan_id: &str,
) -> Result<&'a Recorded, String> {
    let same = || all.iter().filter(|one| one.signature == signature);
    let mut own =
        same().filter(|one| one.plan_id.as_deref().is_none_or(|recorded| recorded == plan_id));
    let Some(first) = own.next() else {
        return Err(match same().count() {
            0 => "no result was recorded for this call".to_owned(),
            others => format!(
                "no result was recorded for this call of the plan `{plan_id}`; records of other \
                 plans, which are not used: {others}"
            ),
        });
    };
    let differing = own.filter(|one| one.outcome != first.outcome).count();
    if differing > 0 {
        return Err(format!(
            "the plan `{plan_id}` has records of this call with different results; set a \
             `planId` for each pass"
        ));
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_of_the_same_plan_and_the_only_one() {
        let record = |signature: &str, plan: Option<&str>, said: &'static str, ms| {
            let outcome = Outcome::told(Status::Ok, said);
            let plan_id = plan.map(str::to_owned);
            let one = Recorded::new(signature.to_owned(), String::new(), outcome, ms);
            Recorded { plan_id, ..one }
        };
        let all = [
            record("a", Some("p"), "x", 1),
            record("a", Some("q"), "x", 2),
            record("b", None, "x", 3),
            // Recorded twice with the same result.
            record("c", Some("p"), "x", 4),
            record("c", Some("p"), "x", 5),
            record("d", Some("p"), "x", 6),
            record("d", Some("p"), "y", 7),
            // A record of every plan contradicts one of this plan.
            record("e", Some("p"), "x", 8),
            record("e", None, "y", 9),
        ];
        let found = |signature, plan| match find(&all, signature, plan) {
            Ok(one) => Ok(one.duration_ms),
            Err(why) => {
                Err(["of other plans", "different", "no result was recorded for this call"]
                    .into_iter()
                    .find(|words| why.contains(words))
                    .unwrap())
            }
        };
        assert_eq!(found("a", "p"), Ok(1));
        assert_eq!(found("a", "q"), Ok(2));
        assert_eq!(found("a", "other"), Err("of other plans"));
        assert_eq!(found("b", "q"), Ok(3));
        assert_eq!(found("c", "p"), Ok(4));
        assert_eq!(found("d", "p"), Err("different"));
        assert_eq!(found("e", "p"), Err("different"));
        assert_eq!(found("e", "q"), Ok(9));
        assert_eq!(found("f", "p"), Err("no result was recorded for this call"));
    }

    fn written(signature: &str) -> String {
        format!(
            "{{\"signature\":\"{signature}\",\"duration_ms\":1,\"status\":\"ok\",\"result\":1,\"truncated\":false}}"
        )
    }

    #[test]
    fn a_signature_is_64_digits() {
        let read = |signature: String| {
            let json = Json::parse_str(&written(&signature)).unwrap().into_owned();
            Recorded::item().read(json, &At::top("replay"))
        };
        assert_eq!(read("0f".repeat(32)), Ok(()));
        let refused = Err(Error::option("replay", "a recorded call"));
        for wrong in ["0f".repeat(33), "0f".repeat(31), "0F".repeat(32), "0g".repeat(32)] {
            assert_eq!(read(wrong), refused);
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn serde_reads_what_the_options_read() {
        let text = written(&"0f".repeat(32));
        let read: Recorded = serde_json::from_str(&text).unwrap();
        assert_eq!((read.signature.as_str(), read.duration_ms), (&*"0f".repeat(32), 1));
        assert_eq!(read.outcome.result, Some(Json::integer(1)));
        assert!(serde_json::from_str::<Recorded>(&written("0f")).is_err());
    }
}
