//! What stands in the database: objects of the same members as the npm package's, under the same
//! keys.

use idb::KeyRange;
use js_sys::Array;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

use super::failure::failure;
use crate::store::StoreError;
use crate::store::memory::milliseconds;
use turnlock::store::Standing;

/// An object of one of the database's stores.
pub(super) trait Row: Serialize + DeserializeOwned {
    /// The name of the store.
    const STORE: &'static str;
}

#[derive(Serialize, Deserialize)]
pub(super) struct Turn {
    pub(super) turn: String,
    pub(super) owner: String,
    pub(super) revision: u64,
    pub(super) open: bool,
    pub(super) state: String,
    /// How many records there are: the number of the next one.
    pub(super) records: u64,
    /// The owner held a lock while it wrote, so that a missing lock says that it is gone.
    pub(super) locked: bool,
    /// Milliseconds since 1970, as in all rows.
    pub(super) at: f64,
    pub(super) expires: f64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecordRow {
    pub(super) turn: String,
    /// Its place among the turn's, from 0.
    pub(super) n: u64,
    pub(super) name: String,
    pub(super) text: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct EventRow {
    pub(super) turn: String,
    pub(super) last: u64,
    pub(super) text: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Reusable {
    pub(super) key: String,
    pub(super) text: String,
    pub(super) at: f64,
    pub(super) expires: f64,
}

impl Row for Turn {
    const STORE: &'static str = "turns";
}

impl Row for RecordRow {
    const STORE: &'static str = "records";
}

impl Row for EventRow {
    const STORE: &'static str = "events";
}

impl Row for Reusable {
    const STORE: &'static str = "reusable";
}

impl Turn {
    pub(super) fn standing(&self) -> Standing {
        Standing { owner: self.owner.clone(), revision: self.revision, open: self.open }
    }
}

/// Everything under a turn, or all of it behind a number: arrays sort behind every number and
/// string.
pub(super) fn under(turn: &str, after: Option<u64>) -> Result<KeyRange, StoreError> {
    let lower = match after {
        None => Array::of1(&turn.into()),
        Some(after) => numbered(turn, after),
    };
    let upper = Array::of2(&turn.into(), &Array::new());
    KeyRange::bound(&lower, &upper, Some(true), Some(false)).map_err(|error| failure(&error))
}

/// Everything under a turn up to a number.
pub(super) fn up_to(turn: &str, last: u64) -> Result<KeyRange, StoreError> {
    let lower = Array::of1(&turn.into());
    KeyRange::bound(&lower, &numbered(turn, last), None, None).map_err(|error| failure(&error))
}

fn numbered(turn: &str, number: u64) -> Array {
    Array::of2(&turn.into(), &JsValue::from_f64(milliseconds(number)))
}
