//! What IndexedDB says, in this crate's words.

use wasm_bindgen::{JsCast, JsValue};

use crate::store::StoreError;

/// A `DOMException`, or whatever was thrown.
pub(super) fn thrown(cause: impl AsRef<JsValue>) -> StoreError {
    let cause = cause.as_ref();
    let (name, said) = match cause.dyn_ref::<js_sys::Error>() {
        Some(error) => (String::from(error.name()), String::from(error.message())),
        None => (String::new(), format!("{cause:?}")),
    };
    match name.as_str() {
        "QuotaExceededError" => StoreError::new("store.quota", "the storage of this site is full"),
        "VersionError" => {
            let message = "a newer version of this page has upgraded the database; reload";
            StoreError::new("store.version", message)
        }
        "SecurityError" | "NotAllowedError" => denied(),
        "AbortError" | "InvalidStateError" | "TransactionInactiveError" => closed(),
        _ => StoreError::new("store.unavailable", format!("IndexedDB failed: {said}")),
    }
}

pub(super) fn closed() -> StoreError {
    StoreError::new("store.closed", "IndexedDB was closed in the middle of an operation")
}

pub(super) fn denied() -> StoreError {
    StoreError::new("store.denied", "this page may not use IndexedDB")
}
