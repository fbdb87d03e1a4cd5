//! Turns. `driven` has the functions that drive them.

use wasm_bindgen::prelude::wasm_bindgen;

use super::driven::made;
#[cfg(not(feature = "durable"))]
use super::failure;
use super::wire::room;
use turnlock::turn::TurnOptions;

#[cfg(not(feature = "durable"))]
use turnlock::turn::shell::Unkept;
#[cfg(feature = "durable")]
use turnlock::turn::{RestoreOptions, Turn};

/// A turn from its options, as its number; `?` for a turn that the part `durable` runs.
#[cfg(not(feature = "durable"))]
#[wasm_bindgen]
#[must_use]
pub fn turn_new(options: &[u8]) -> String {
    room(options.len());
    match TurnOptions::parse(options).and_then(Unkept::new) {
        Ok(Some(turn)) => made(Ok(turn)),
        Ok(None) => "?".to_owned(),
        Err(error) => failure(&error),
    }
}

/// A turn from its options, as its number.
#[cfg(feature = "durable")]
#[wasm_bindgen]
#[must_use]
pub fn turn_new(options: &[u8]) -> String {
    room(options.len());
    made(TurnOptions::parse(options).and_then(Turn::new))
}

/// A turn from what a store has of it, as its number.
#[cfg(feature = "durable")]
#[wasm_bindgen]
#[must_use]
pub fn turn_restore(options: &[u8]) -> String {
    room(options.len());
    made(RestoreOptions::parse(options).and_then(Turn::restore))
}
