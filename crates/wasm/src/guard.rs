//! The call guard.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::GUARDS;
use super::wire::bad;
use turnlock::error::Error;
use turnlock::guard::{self, PolicyGuard, Window};
use turnlock::json::Json;
use turnlock::limits;

/// A guard with these options, as its number.
#[wasm_bindgen]
#[must_use]
pub fn guard_new(options: &[u8]) -> String {
    result_text(|| {
        let guard = PolicyGuard::new(&read(options)?)?;
        Ok(GUARDS.with(|all| all.insert(guard)))
    })
}

/// Records calls of a history: nothing, or an error.
#[wasm_bindgen]
#[must_use]
pub fn guard_record(handle: u32, past: &[u8]) -> String {
    on(handle, |guard| guard.record(read(past)?).map(|()| String::new()))
}

/// The arguments of a call, as JSON, fitted to the schema of its tool: nothing if they fit as they
/// are, or an error.
#[wasm_bindgen]
#[must_use]
pub fn guard_fit(handle: u32, tool: &str, args: &[u8]) -> String {
    on(handle, |guard| {
        let mut args = read(args)?.into_owned();
        let changed = guard.fit(tool, &mut args);
        Ok(if changed { args.to_text() } else { String::new() })
    })
}

/// The verdict on a call.
#[wasm_bindgen]
#[must_use]
pub fn guard_judge(handle: u32, call: &[u8]) -> String {
    on(handle, |guard| Ok(guard.judge(read(call)?)?.to_json().to_text()))
}

/// Records the outcome of a call: the number of the call, nothing if none ran here, or an error.
#[wasm_bindgen]
#[must_use]
pub fn guard_settle(handle: u32, call: &[u8], outcome: &[u8]) -> String {
    on(handle, |guard| {
        let number = guard.settle(read(call)?, read(outcome)?)?;
        Ok(number.map(|number| number.to_string()).unwrap_or_default())
    })
}

/// Begins the next `turn` or `user_turn`, or ends the tool phase (`close`): nothing, or an error.
#[wasm_bindgen]
#[must_use]
pub fn guard_begin(handle: u32, next: &[u8]) -> String {
    on(handle, |guard| {
        match next {
            b"close" => guard.close(),
            b"turn" => guard.begin(Window::Turn),
            b"user_turn" => guard.begin(Window::UserTurn),
            _ => return Err(bad("next", "turn or user_turn")),
        }
        Ok(String::new())
    })
}

/// Whether calls may still be executed: `1`, or nothing.
#[wasm_bindgen]
#[must_use]
pub fn guard_is_open(handle: u32) -> String {
    on(handle, |guard| Ok(if guard.is_open() { "1" } else { "" }.to_owned()))
}

/// The state, as JSON.
#[wasm_bindgen]
#[must_use]
pub fn guard_state(handle: u32) -> String {
    on(handle, |guard| Ok(guard.state().to_json().to_text()))
}

/// Forgets a guard.
#[wasm_bindgen]
pub fn guard_free(handle: u32) {
    GUARDS.with(|all| all.remove(handle));
}

/// The notice of calls that were blocked: `{ reason, names, results }`.
#[wasm_bindgen]
#[must_use]
pub fn guard_notice(given: &[u8]) -> String {
    result_text(|| {
        let request = read(given)?;
        let reason = request.get("reason").and_then(Json::as_str).unwrap_or_default();
        let names = request.get("names").and_then(Json::as_array).unwrap_or(&[]);
        let names: Vec<_> = names.iter().filter_map(Json::as_str).collect();
        guard::notice(reason, &names, request.get("results") == Some(&Json::Bool(true)))
    })
}

fn on(handle: u32, work: impl FnOnce(&mut PolicyGuard) -> Result<String, Error>) -> String {
    result_text(|| GUARDS.with(|all| all.with(handle, work)).ok_or(Error::Handle)?)
}

fn result_text(work: impl FnOnce() -> Result<String, Error>) -> String {
    work().unwrap_or_else(|error| failure(&error))
}

fn read(json: &[u8]) -> Result<Json<'_>, Error> {
    Ok(Json::parse(json, limits::JSON_BYTES)?)
}
