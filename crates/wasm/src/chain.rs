//! Chains across the boundary: bytes in, one JSON text out. `plans` has what needs no chain.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::CHAINS;
use super::wire::{self, bad};
use turnlock::Next;
use turnlock::chain::{Chain, ChainOptions, Effect, Input};
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
    let json = match Json::parse_host(input, limits::HISTORY_BYTES) {
        Ok(json) => json,
        Err(error) => return failure(&error.into()),
    };
    let input = match self::input(&json) {
        Ok(input) => input,
        Err(error) => return failure(&error),
    };
    let effects = CHAINS.with(|all| {
        all.with(handle, |chain| {
            chain.handle(wire::millis(now_ms), input);
            let mut effects = Vec::new();
            while let Next::Effect(one) = chain.poll() {
                effects.push(effect(one));
            }
            if effects.is_empty() { String::new() } else { Json::Array(effects).to_text() }
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

fn input(json: &Json<'_>) -> Result<Input, Error> {
    let text = |key| json.get(key).and_then(Json::as_str).ok_or_else(|| bad(key, "a string"));
    let owned = |key| text(key).map(str::to_owned);
    let cost = json.get("cost").and_then(Json::as_f64);
    let call = || {
        let found = json.get("call").and_then(Json::as_u64).and_then(|n| u32::try_from(n).ok());
        found.ok_or_else(|| bad("call", "a whole number"))
    };
    Ok(match text("type")? {
        "start" => Input::Start,
        "timer" => Input::Timer,
        "cancel" => Input::Cancel { reason: owned("reason")? },
        "chunk" => Input::Chunk { call: call()?, text: owned("text")? },
        "returned" => Input::returned(call()?, text("value")?, cost),
        "failed" => Input::Failed {
            call: call()?,
            code: owned("code")?,
            message: owned("message")?,
            retryable: json.get("retryable").and_then(Json::as_bool).unwrap_or(true),
            cost,
        },
        _ => return Err(bad("type", "an input that exists")),
    })
}

fn effect(effect: Effect) -> Json<'static> {
    match effect {
        Effect::Call { call, body } => Json::object([
            ("type", "call".into()),
            ("call", Json::integer(u64::from(call))),
            ("kind", body.kind().name().into()),
            ("body", body.to_json()),
        ]),
        Effect::Abort { call, reason } => Json::object([
            ("type", "abort".into()),
            ("call", Json::integer(u64::from(call))),
            ("reason", reason.name().into()),
        ]),
        Effect::Remember { key, value } => {
            Json::object([("type", "remember".into()), ("key", key.into()), ("value", value)])
        }
        Effect::Emit(event) => Json::object([("type", "emit".into()), ("event", event.to_json())]),
        Effect::Done(result) => {
            Json::object([("type", "done".into()), ("result", result.to_json())])
        }
    }
}
