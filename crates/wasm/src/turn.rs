//! Turns. `driven` has the functions that drive them.

use wasm_bindgen::prelude::wasm_bindgen;

use super::driven::made;
use super::failure;
#[cfg(feature = "durable")]
use super::wire::bad;
use super::wire::room;
use turnlock::turn::TurnOptions;

#[cfg(feature = "durable")]
use turnlock::error::Error;
#[cfg(feature = "durable")]
use turnlock::json::Json;
#[cfg(not(feature = "durable"))]
use turnlock::turn::shell::Unkept;
#[cfg(feature = "durable")]
use turnlock::turn::{RestoreOptions, Turn};
#[cfg(feature = "durable")]
use turnlock::{history, limits};

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

/// A list of messages, without what instructs the model; or an error.
#[cfg(feature = "durable")]
#[wasm_bindgen]
#[must_use]
pub fn turn_demote(messages: &[u8]) -> String {
    room(messages.len());
    demoted(messages).unwrap_or_else(|error| failure(&error))
}

#[cfg(feature = "durable")]
fn demoted(messages: &[u8]) -> Result<String, Error> {
    let Json::Array(list) = Json::parse_host(messages, limits::HISTORY_BYTES)? else {
        return Err(bad("messages", "an array"));
    };
    Ok(Json::Array(history::demote_instructions(list)).to_text())
}
