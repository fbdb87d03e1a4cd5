//! Chains across the boundary: bytes in, one JSON text out. `plans` has what needs no chain.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::CHAINS;
use super::wire;
use turnlock::Next;
use turnlock::chain::{Chain, ChainOptions, Input};
use turnlock::error::Error;
use turnlock::json::Json;
use turnlock::limits;

/// A chain from its options, as its number.
#[wasm_bindgen]
#[must_use]
pub fn chain_new(options: &[u8]) -> String {
    ChainOptions::parse(options)
        .and_then(Chain::new)
        .map_or_else(|error| failure(&error), |chain| CHAINS.with(|all| all.insert(chain)))
}

/// Takes an input, as JSON; the effects that follow, as a JSON array, or nothing.
#[wasm_bindgen]
#[must_use]
pub fn chain_handle(handle: u32, now_ms: f64, input: &[u8]) -> String {
    let parsed = Json::parse_host(input, limits::HISTORY_BYTES).map_err(Error::from);
    let input = match parsed.and_then(|json| Input::from_json(json.into_owned())) {
        Ok(Input::Returned { call, value, cost }) => {
            Input::returned(call, value.as_str().unwrap_or_default(), cost)
        }
        Ok(input) => input,
        Err(error) => return failure(&error),
    };
    let effects = CHAINS.with(|all| {
        all.with(handle, |chain| {
            chain.handle(wire::millis(now_ms), input);
            let mut out = String::new();
            while let Next::Effect(effect) = chain.poll() {
                out.push(if out.is_empty() { '[' } else { ',' });
                effect.write_json(&mut out);
            }
            if !out.is_empty() {
                out.push(']');
            }
            out
        })
    });
    effects.unwrap_or_else(|| failure(&Error::Handle))
}

/// When the chain wants to hear of the time again, on the clock of `now_ms`; NaN for never.
#[wasm_bindgen]
#[must_use]
pub fn chain_deadline(handle: u32) -> f64 {
    // `chain_handle` has taken every effect.
    let until = CHAINS.with(|all| {
        all.with(handle, |chain| match chain.poll() {
            Next::Wait { until } => until,
            Next::Effect(_) => None,
        })
    });
    until.flatten().map_or(f64::NAN, wire::to_f64)
}

/// Forgets a chain.
#[wasm_bindgen]
pub fn chain_free(handle: u32) {
    CHAINS.with(|all| all.remove(handle));
}
