//! Bundles.

use wasm_bindgen::prelude::wasm_bindgen;

use super::handles::BUNDLES;
use super::{failure, wire};
use turnlock::Next;
use turnlock::error::Error;
use turnlock::evidence::{Bundle, BundleOptions, Effect, Input};
use turnlock::json::Json;
use turnlock::limits;

/// A bundle, and until when it waits.
#[derive(Debug)]
pub(super) struct Running {
    bundle: Bundle,
    until: Option<u64>,
}

impl Running {
    fn poll(&mut self) -> Option<Effect> {
        match self.bundle.poll() {
            Next::Effect(effect) => Some(effect),
            Next::Wait { until } => {
                self.until = until;
                None
            }
        }
    }
}

/// A bundle from its options, as its number.
#[wasm_bindgen]
#[must_use]
pub fn bundle_new(options: &[u8]) -> String {
    let made = BundleOptions::parse(options).and_then(Bundle::new);
    let insert = |bundle| BUNDLES.with(|all| all.insert(Running { bundle, until: None }));
    made.map_or_else(|error| failure(&error), insert)
}

/// Takes an input, as JSON, with the data of a replicate beside it; the effects that follow, as a
/// JSON array, or nothing.
#[wasm_bindgen]
#[must_use]
pub fn bundle_handle(handle: u32, now_ms: f64, input: &[u8], data: Vec<u8>) -> String {
    let parsed = Json::parse_host(input, limits::JSON_BYTES).map_err(Error::from);
    let input = match parsed.and_then(|json| Input::from_json(json.into_owned())) {
        Ok(input) => input.with_data(data),
        Err(error) => return failure(&error),
    };
    let effects = BUNDLES.with(|all| {
        all.with(handle, |one| {
            one.bundle.handle(wire::millis(now_ms), input);
            effects(std::iter::from_fn(|| one.poll()))
        })
    });
    effects.unwrap_or_else(|| failure(&Error::Handle))
}

/// When the bundle wants to hear of the time again, on the clock of `now_ms`; NaN for never.
#[wasm_bindgen]
#[must_use]
pub fn bundle_deadline(handle: u32) -> f64 {
    let deadline = BUNDLES.with(|all| all.with(handle, |one| one.until));
    deadline.flatten().map_or(f64::NAN, wire::to_f64)
}

/// Forgets a bundle.
#[wasm_bindgen]
pub fn bundle_free(handle: u32) {
    BUNDLES.with(|all| all.remove(handle));
}

fn effects(effects: impl Iterator<Item = Effect>) -> String {
    let mut out = String::new();
    for effect in effects {
        out.push(if out.is_empty() { '[' } else { ',' });
        effect.write_json(&mut out);
    }
    if !out.is_empty() {
        out.push(']');
    }
    out
}
