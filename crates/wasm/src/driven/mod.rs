//! What drives a turn or a tool-request pass: inputs in, effects out.

mod effects;

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::{Machine, TURNS};
use super::wire::{millis, to_f64};
use turnlock::error::Error;
use turnlock::json::Json;
use turnlock::limits;
use turnlock::turn::Input;

pub(super) use effects::Effects;

/// Takes an input of a turn or of a pass, as JSON; the effects that follow, as a JSON array, or nothing.
#[wasm_bindgen]
#[must_use]
pub fn turn_handle(handle: u32, now_ms: f64, input: &[u8]) -> String {
    let parsed = Json::parse_host(input, limits::HISTORY_BYTES).map_err(Error::from);
    let input = match parsed.and_then(|json| Input::from_json(json.into_owned())) {
        Ok(input) => input,
        Err(error) => return failure(&error),
    };
    turn(handle, now_ms, input)
}

/// Bytes of a response; the effects that follow.
#[wasm_bindgen]
#[must_use]
pub fn turn_bytes(
    handle: u32,
    now_ms: f64,
    inference: u32,
    attempt: u32,
    bytes: Vec<u8>,
) -> String {
    turn(handle, now_ms, Input::ResponseBytes { inference, attempt, bytes })
}

/// When the turn wants to hear of the time again, on the clock of `now_ms`; NaN for never.
#[wasm_bindgen]
#[must_use]
pub fn turn_deadline(handle: u32) -> f64 {
    let deadline = TURNS.with(|all| all.with(handle, |turn| turn.until()));
    deadline.flatten().map_or(f64::NAN, to_f64)
}

/// Forgets a turn.
#[wasm_bindgen]
pub fn turn_free(handle: u32) {
    TURNS.with(|all| all.remove(handle));
}

/// Keeps a machine; its number as text.
pub(super) fn made(machine: Result<impl Into<Machine>, Error>) -> String {
    let insert = |machine| TURNS.with(|all| all.insert(machine));
    machine.map_or_else(|error| failure(&error), |machine| insert(machine.into()))
}

/// Effects of one answer. The others follow the next input, which is due at once.
///
/// Limit | effects of one answer | effects | the next answer has the others
const EFFECTS: usize = 4096;
/// Bytes of JSON behind which an answer gets no other effect: the last event of a turn and its result
/// each have all of its text.
///
/// Limit | JSON of the effects of one answer | bytes, then no other effect | the next answer has the others
const EFFECTS_BYTES: usize = 1024 * 1024;

fn turn(handle: u32, now_ms: f64, input: Input) -> String {
    let effects = TURNS.with(|all| {
        all.with(handle, |turn| {
            turn.handle(millis(now_ms), input);
            let mut effects = Effects::default();
            while turn.poll(&mut effects) {
                if effects.count() == EFFECTS || effects.bytes() >= EFFECTS_BYTES {
                    turn.due();
                    break;
                }
            }
            effects.into_json()
        })
    });
    effects.unwrap_or_else(|| failure(&Error::Handle))
}
