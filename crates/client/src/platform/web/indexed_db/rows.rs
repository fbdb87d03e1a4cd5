//! What stands in the database: objects of the same members as the npm package's, under the same
//! keys.

use js_sys::Array;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;
use web_sys::IdbKeyRange;

use super::failure::thrown;
use crate::store::StoreError;
use crate::store::memory::milliseconds;
use turnlock::store::TurnHead;

/// An object of one of the database's stores.
pub(super) trait Row: Serialize + DeserializeOwned {
    /// The name of the store.
    const STORE: &'static str;
}

macro_rules! rows {
    ($($name:ident in $store:literal { $($(#[$doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        #[derive(Serialize, Deserialize)]
        pub(super) struct $name {
            $($(#[$doc])* pub(super) $field: $type,)*
        }

        impl Row for $name {
            const STORE: &'static str = $store;
        }
    )*};
}

// Times are in milliseconds since 1970.
rows! {
    Turn in "turns" {
        turn: String,
        owner: String,
        revision: u64,
        open: bool,
        state: String,
        /// How many records there are: the number of the next one.
        records: u64,
        /// The owner held a lock while it wrote, so that a missing lock says that it is gone.
        locked: bool,
        at: f64,
        expires: f64,
    }
    ClockRow in "turns" {
        turn: String,
        /// What has expired by this time may be deleted.
        at: f64,
        /// When the clock was first found far ahead of `at`; 0 if it was not.
        seen: f64,
        expires: f64,
    }
    RecordRow in "records" {
        turn: String,
        /// Its place among the turn's, from 0.
        n: u64,
        name: String,
        text: String,
    }
    EventRow in "events" {
        turn: String,
        last: u64,
        text: String,
    }
    Reusable in "reusable" {
        key: String,
        text: String,
        at: f64,
        expires: f64,
    }
}

/// The key of the clock, under a name that no turn has.
pub(super) const CLOCK: &str = "clock";

impl Turn {
    pub(super) fn standing(&self) -> TurnHead {
        TurnHead { owner: self.owner.clone(), revision: self.revision, open: self.open }
    }
}

/// Everything under a turn, or all of it behind a number: arrays sort behind every number and
/// string.
pub(super) fn under(turn: &str, after: Option<u64>) -> Result<IdbKeyRange, StoreError> {
    let lower = after.map_or_else(|| Array::of1(&turn.into()), |after| numbered(turn, after));
    let upper = Array::of2(&turn.into(), &Array::new());
    let bound = IdbKeyRange::bound_with_lower_open_and_upper_open;
    bound(&lower, &upper, true, false).map_err(thrown)
}

/// Everything under a turn up to a number.
pub(super) fn up_to(turn: &str, last: u64) -> Result<IdbKeyRange, StoreError> {
    IdbKeyRange::bound(&Array::of1(&turn.into()), &numbered(turn, last)).map_err(thrown)
}

/// Every turn whose name begins so.
pub(super) fn named(begin: &str) -> Result<IdbKeyRange, StoreError> {
    let upper = format!("{begin}\u{ffff}");
    IdbKeyRange::bound(&begin.into(), &upper.as_str().into()).map_err(thrown)
}

fn numbered(turn: &str, number: u64) -> Array {
    Array::of2(&turn.into(), &JsValue::from_f64(milliseconds(number)))
}
