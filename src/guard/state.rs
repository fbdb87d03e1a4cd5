//! The state of a guard, as JSON: what another process needs to go on with it.

use super::ledger::Guard;
use crate::error::Error;
use crate::json::Json;
use crate::json::table::options;

options! {
    /// What is recorded of a signature.
    pub struct GuardEntry as "GuardEntry" {
        /// The signature.
        signature "signature": String | required;
        /// How many calls were executed.
        accepted "accepted": u32 = 0;
        /// How many of them have no outcome yet.
        running "running": u32 = 0;
        /// A list with the outcome of the last call, where it is replayed to repeats; otherwise with
        /// `null`. Empty without an outcome.
        outcome "outcome": Vec<Json<'static>>;
        /// What the results of equal calls are compared by: a hash of the last one.
        result "result": Option<String>;
        /// How many calls in a row had this result.
        in_a_row "inARow": u32 = 0;
        /// Whether the user has denied the call.
        denied "denied": bool = false;
        /// How many equal calls were judged.
        seen "seen": u32 = 0;
    }
}

options! {
    /// The state of a guard. Its members may grow in later versions.
    pub struct GuardState as "GuardState" {
        /// What is recorded of calls, by signature.
        calls "calls": Vec<GuardEntry>;
        /// How many calls of a tool were executed, by its name.
        runs "runs": Vec<(String, u32)>;
        /// Whether the tool phase was closed.
        closed "closed": bool = false;
        /// Whether a tool has returned untrusted text.
        untrusted "untrusted": bool = false;
        /// The number of the last call.
        last "last": u32 = 0;
        /// Whether an earlier window has ended.
        later "later": bool = false;
        /// The signature of the last call that was judged or recorded.
        last_signature "lastSignature": Option<String>;
        /// How many equal calls in a row that one ends.
        row "row": u32 = 0;
    }
}

impl Guard<Json<'static>> {
    /// Returns the members `calls` and `runs` of a state.
    pub(super) fn write(&self) -> (Vec<GuardEntry>, Vec<(String, u32)>) {
        let entries = self.entries().map(|(signature, entry)| GuardEntry {
            signature: signature.to_owned(),
            accepted: entry.accepted,
            running: entry.open(),
            outcome: entry.outcome.iter().cloned().collect(),
            result: entry.result.clone(),
            in_a_row: entry.in_a_row,
            denied: entry.denied,
            seen: entry.seen,
        });
        let runs = self.all_runs().map(|(tool, runs)| (tool.to_owned(), runs));
        (entries.collect(), runs.collect())
    }

    /// Makes a guard of the members of a state. Who runs its calls is not known here.
    pub(super) fn read(state: &mut GuardState) -> Result<Self, Error> {
        let mut guard = Self::default();
        for (tool, runs) in std::mem::take(&mut state.runs) {
            guard.count_runs(&tool, runs);
        }
        for (index, written) in std::mem::take(&mut state.calls).into_iter().enumerate() {
            let place = guard.entries.len();
            let entry = guard.entry(&written.signature);
            entry.call = (written.accepted > 0).then_some(0);
            entry.accepted = written.accepted;
            entry.elsewhere = written.running;
            entry.outcome = written.outcome.into_iter().next();
            entry.result = written.result;
            entry.in_a_row = written.in_a_row;
            entry.denied = written.denied;
            entry.seen = written.seen;
            let has_result = entry.outcome.is_some() || entry.in_a_row > 0;
            guard.has_results |= has_result;
            if guard.entries.len() == place {
                let option = format!("state.calls[{index}].signature");
                return Err(Error::option(option, "a signature that no other member has"));
            }
        }
        Ok(guard)
    }
}
