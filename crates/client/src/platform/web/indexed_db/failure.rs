//! What IndexedDB says, in this crate's words.

use idb::Error;
use wasm_bindgen::{JsCast, JsValue};

use crate::store::StoreError;

pub(super) fn failure(error: &Error) -> StoreError {
    match cause(error) {
        Some(cause) => thrown(cause),
        None => StoreError::new("store.unavailable", format!("IndexedDB failed: {error}")),
    }
}

/// A `DOMException`, or whatever was thrown.
pub(super) fn thrown(cause: &JsValue) -> StoreError {
    let (name, said) = match cause.dyn_ref::<js_sys::Error>() {
        Some(error) => (String::from(error.name()), String::from(error.message())),
        None => (String::new(), format!("{cause:?}")),
    };
    named(&name, &said)
}

/// By the name of a `DOMException`, and its message.
pub(super) fn named(name: &str, said: &str) -> StoreError {
    match name {
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

/// What the browser said, where it did.
fn cause(error: &Error) -> Option<&JsValue> {
    match error {
        Error::DomException(exception) => Some(exception),
        Error::AddFailed(cause)
        | Error::DeleteFailed(cause)
        | Error::GetAllFailed(cause)
        | Error::GetAllKeysFailed(cause)
        | Error::GetFailed(cause)
        | Error::GetKeyFailed(cause)
        | Error::IndexCreateFailed(cause)
        | Error::IndexNotFound(cause)
        | Error::IndexedDbOpenFailed(cause)
        | Error::KeyRangeCreateFailed(cause)
        | Error::ObjectStoreCreateFailed(cause)
        | Error::ObjectStoreNotFound(cause)
        | Error::RequestErrorNotFound(cause)
        | Error::RequestResultNotFound(cause)
        | Error::TransactionOpenFailed(cause)
        | Error::UpdateFailed(cause) => Some(cause),
        _ => None,
    }
}
