//! Turns. `driven` has the functions that drive them.

use wasm_bindgen::prelude::wasm_bindgen;

use super::driven::made;
use turnlock::turn::TurnOptions;

#[cfg(not(feature = "durable"))]
use turnlock::turn::shell::Unkept as Turn;
#[cfg(feature = "durable")]
use turnlock::turn::{RestoreOptions, Turn};

/// A turn from its options, as its number.
#[wasm_bindgen]
#[must_use]
pub fn turn_new(options: &[u8]) -> String {
    made(TurnOptions::parse(options).and_then(Turn::new))
}

/// A turn from what a store has of it, as its number.
#[cfg(feature = "durable")]
#[wasm_bindgen]
#[must_use]
pub fn turn_restore(options: &[u8]) -> String {
    made(RestoreOptions::parse(options).and_then(Turn::restore))
}
