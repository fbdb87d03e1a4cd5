//! The JavaScript face. Converts, delegates, converts back; decides nothing.
//!
//! Bytes go in and texts come out: strings as parameters cost wasm-bindgen a loop per
//! character, and building JavaScript objects costs more than one `JSON.parse`. An error is
//! a text that starts with `!`: `!{"code","message"}`. Objects are numbers, so that an
//! instance that trapped can be thrown away whole. `pkg/src/core/` is the typed side.

#![cfg_attr(
    not(feature = "default"),
    allow(dead_code, unused_mut, reason = "no capability uses all that is shared")
)]

#[cfg(feature = "chain")]
pub mod chain;
#[cfg(any(feature = "turn", feature = "planning"))]
pub mod driven;
#[cfg(feature = "evidence")]
pub mod evidence;
#[cfg(feature = "guard")]
pub mod guard;
mod handles;
#[cfg(feature = "history")]
pub mod history;
#[cfg(target_arch = "wasm32")]
mod memory;
#[cfg(feature = "planning")]
pub mod planning;
#[cfg(feature = "plans")]
pub mod plans;
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(any(feature = "evidence", feature = "statistics"))]
pub mod reply;
#[cfg(feature = "plans")]
pub mod requests;
#[cfg(feature = "signature")]
pub mod signature;
#[cfg(feature = "statistics")]
pub mod statistics;
#[cfg(feature = "stream")]
pub mod stream;
#[cfg(feature = "history")]
mod tape;
#[cfg(feature = "tools")]
pub mod tools;
#[cfg(feature = "turn")]
pub mod turn;
mod wire;

use wasm_bindgen::prelude::wasm_bindgen;

use turnlock::error::Error;
use turnlock::json::{JsonError, write_string};

/// Objects that were made and not forgotten.
#[wasm_bindgen]
#[must_use]
pub fn live_handles() -> u32 {
    handles::live()
}

/// Traps, for tests of the host's recovery.
#[cfg(feature = "trap-test")]
#[wasm_bindgen]
pub fn trap() {
    #[expect(clippy::panic, reason = "the purpose of the test build")]
    {
        panic!("deliberate");
    }
}

fn failure(error: &Error) -> String {
    let mut text = String::from("!{\"code\":");
    write_string(error.code(), &mut text);
    text.push_str(",\"message\":");
    match error {
        // The words for plans are in the cores that read plans.
        #[cfg(not(any(feature = "plans", feature = "chain")))]
        Error::Plan(_) => text.push_str("\"\""),
        error => write_string(&error.to_string(), &mut text),
    }
    let detail = match error {
        Error::MessageShape { index } | Error::MessageParts { index } => Some(("index", index)),
        Error::Json(
            JsonError::Syntax { offset }
            | JsonError::DuplicateKey { offset }
            | JsonError::LoneSurrogate { offset }
            | JsonError::NumberRange { offset },
        ) => Some(("offset", offset)),
        _ => None,
    };
    if let Some((name, number)) = detail {
        text.push_str(&format!(",\"details\":{{\"{name}\":{number}}}"));
    }
    text.push('}');
    text
}
