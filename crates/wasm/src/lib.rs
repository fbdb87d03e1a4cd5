//! The JavaScript face. Converts, delegates, converts back; decides nothing.
//!
//! Bytes go in and texts come out: strings as parameters cost wasm-bindgen a loop per
//! character, and building JavaScript objects costs more than one `JSON.parse`. An error is
//! a text that starts with `!`: `!{"code","message"}`. Objects are numbers, so that an
//! instance that trapped can be thrown away whole. `pkg/src/core.ts` is the typed side.

pub mod bundle;
pub mod chain;
mod handles;
pub mod history;
pub mod request;
mod tape;
mod wire;

use wasm_bindgen::prelude::wasm_bindgen;

use handles::{BUNDLES, CHAINS, HISTORIES, Machine, STREAMS, TURNS};
use turnlock::dialect::Dialect;
use turnlock::error::Error;
use turnlock::json::{self, Json, JsonError, write_string};
use turnlock::limits;
use turnlock::stream::{Decoder, Delta};
use turnlock::turn::{Input, Turn, TurnOptions};

/// RFC 8785 text of a JSON text.
#[wasm_bindgen]
#[must_use]
pub fn canonicalize(json: &[u8]) -> String {
    json::canonicalize(json).map_or_else(|error| failure(&error.into()), tagged)
}

/// Signature of `{ tool, action, args, projectId }`.
#[wasm_bindgen]
#[must_use]
pub fn signature(call: &[u8]) -> String {
    wire::signature(call).map_or_else(|error| failure(&error), |one| one.as_str().to_owned())
}

/// A decoder for a dialect, as its number.
#[wasm_bindgen]
#[must_use]
pub fn stream_new(dialect: &str) -> String {
    let made = Dialect::parse(dialect).and_then(Decoder::new);
    made.map_or_else(|error| failure(&error), |decoder| STREAMS.with(|all| all.insert(decoder)))
}

/// Feeds a chunk; a JSON array of deltas, in which a bare string is a text delta.
#[wasm_bindgen]
#[must_use]
pub fn stream_feed(handle: u32, bytes: &[u8]) -> String {
    stream(handle, |decoder, out| decoder.feed(bytes, out))
}

/// Ends a stream; its last deltas.
#[wasm_bindgen]
#[must_use]
pub fn stream_end(handle: u32) -> String {
    stream(handle, Decoder::end)
}

/// Forgets a decoder.
#[wasm_bindgen]
pub fn stream_free(handle: u32) {
    STREAMS.with(|all| all.remove(handle));
}

/// A turn from its options, as its number.
#[wasm_bindgen]
#[must_use]
pub fn turn_new(options: &[u8]) -> String {
    made(TurnOptions::parse(options).and_then(Turn::new))
}

/// A turn from what a store has of it, as its number.
#[wasm_bindgen]
#[must_use]
pub fn turn_restore(options: &[u8]) -> String {
    made(Turn::restore(options))
}

/// Takes a fact of a turn or of a pass, as JSON; the effects that follow, as a JSON array, or nothing.
#[wasm_bindgen]
#[must_use]
pub fn turn_handle(handle: u32, now_ms: f64, input: &[u8]) -> String {
    let parsed = Json::parse_lossy(input, limits::HISTORY_BYTES).map_err(Error::from);
    let input = match parsed.as_ref().map_err(Clone::clone).and_then(wire::input) {
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
    deadline.flatten().map_or(f64::NAN, wire::to_f64)
}

/// Forgets a turn.
#[wasm_bindgen]
pub fn turn_free(handle: u32) {
    TURNS.with(|all| all.remove(handle));
}

/// Decoders and turns that were made and not forgotten.
#[wasm_bindgen]
#[must_use]
pub fn live_handles() -> u32 {
    STREAMS.with(handles::Handles::len)
        + HISTORIES.with(handles::Handles::len)
        + CHAINS.with(handles::Handles::len)
        + TURNS.with(handles::Handles::len)
        + BUNDLES.with(handles::Handles::len)
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

/// Keeps a machine; its number as text.
fn made(machine: Result<impl Into<Machine>, Error>) -> String {
    let kept = |machine| TURNS.with(|all| all.insert(machine));
    machine.map_or_else(|error| failure(&error), |machine| kept(machine.into()))
}

fn stream(handle: u32, work: impl FnOnce(&mut Decoder, &mut Vec<Delta>)) -> String {
    let mut deltas = Vec::new();
    let found = STREAMS.with(|all| all.with(handle, |decoder| work(decoder, &mut deltas)));
    if found.is_none() {
        return failure(&Error::Handle);
    }
    wire::deltas(&deltas)
}

fn turn(handle: u32, now_ms: f64, input: Input) -> String {
    let effects = TURNS.with(|all| {
        all.with(handle, |turn| {
            turn.handle(wire::millis(now_ms), input);
            wire::effects(std::iter::from_fn(|| turn.poll()))
        })
    });
    effects.unwrap_or_else(|| failure(&Error::Handle))
}

/// A result that may itself begin with the mark of an error is told apart by a leading `=`.
fn tagged(text: String) -> String {
    format!("={text}")
}

fn failure(error: &Error) -> String {
    let mut text = String::from("!{\"code\":");
    write_string(error.code(), &mut text);
    text.push_str(",\"message\":");
    write_string(&error.to_string(), &mut text);
    if let Error::MessageShape { index } = error {
        text.push_str(&format!(",\"details\":{{\"index\":{index}}}"));
    }
    if let Error::Json(
        JsonError::Syntax { offset }
        | JsonError::DuplicateKey { offset }
        | JsonError::LoneSurrogate { offset }
        | JsonError::NumberRange { offset },
    ) = error
    {
        text.push_str(&format!(",\"details\":{{\"offset\":{offset}}}"));
    }
    text.push('}');
    text
}
