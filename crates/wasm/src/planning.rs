//! The tool-request pass. `driven` has the functions that drive it.

use wasm_bindgen::prelude::wasm_bindgen;

use super::driven::made;
use turnlock::planning::{Pass, PassOptions};

/// A pass from its options, as its number.
#[wasm_bindgen]
#[must_use]
pub fn request_new(options: &[u8]) -> String {
    made(PassOptions::parse(options).and_then(Pass::new))
}
