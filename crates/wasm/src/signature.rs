//! Canonical text and signatures.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::wire::{bad, tagged};
use turnlock::error::Error;
use turnlock::json::{self, Json};
use turnlock::limits;
use turnlock::signature::Signature;

/// RFC 8785 text of a JSON text.
#[wasm_bindgen]
#[must_use]
pub fn canonicalize(json: &[u8]) -> String {
    json::canonicalize(json).map_or_else(|error| failure(&error.into()), tagged)
}

/// Signature of `{ tool, action, args, projectId }`.
#[cfg(feature = "signature")]
#[wasm_bindgen]
#[must_use]
pub fn signature(call: &[u8]) -> String {
    of(call).map_or_else(|error| failure(&error), |one| one.as_str().to_owned())
}

fn of(call: &[u8]) -> Result<Signature, Error> {
    let call = Json::parse(call, limits::JSON_BYTES)?;
    let text = |key| call.get(key).and_then(Json::as_str);
    let tool = text("tool").ok_or_else(|| bad("tool", "a string"))?;
    let args = call.get("args").unwrap_or(&Json::Null);
    Ok(Signature::new(tool, text("action"), args, text("projectId")))
}
