//! Chains across the boundary: bytes in, one JSON text out.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::CHAINS;
use super::wire::{self, bad, tagged};
use turnlock::Next;
use turnlock::chain::{
    Chain, ChainOptions, ClassifierOptions, Effect, Input, Learned, Pattern, Plan, PlanLimits,
    classify,
};
use turnlock::error::Error;
use turnlock::json::Json;
use turnlock::limits;

/// What a query asks for; `options` as `ClassifierOptions`.
#[wasm_bindgen]
#[must_use]
pub fn classify_query(query: &[u8], options: &[u8]) -> String {
    let query = String::from_utf8_lossy(query);
    let options = match options {
        [] => Ok(ClassifierOptions::default()),
        given => object(given).and_then(|json| ClassifierOptions::from_json(json.into_owned())),
    };
    options.map_or_else(
        |error| failure(&error),
        |options| classify::classify(&query, &options).to_json().to_text(),
    )
}

/// A planner's answer as a plan; `limits` as `PlanLimits`.
#[wasm_bindgen]
#[must_use]
pub fn parse_plan(text: &[u8], limits: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let plan = object(limits)
        .and_then(|limits| PlanLimits::from_json(limits.into_owned()))
        .and_then(|limits| Plan::parse(&text, &limits).map_err(Error::from));
    plan.map_or_else(|error| failure(&error), |plan| plan.to_json().to_text())
}

/// A chain from its options, as its number.
#[wasm_bindgen]
#[must_use]
pub fn chain_new(options: &[u8]) -> String {
    ChainOptions::parse(options)
        .and_then(Chain::new)
        .map_or_else(|error| failure(&error), |chain| CHAINS.with(|all| all.insert(chain)))
}

/// Takes a fact, as JSON; the effects that follow, as a JSON array, or nothing.
#[wasm_bindgen]
#[must_use]
pub fn chain_handle(handle: u32, now_ms: f64, input: &[u8]) -> String {
    let json = match Json::parse_lossy(input, limits::HISTORY_BYTES) {
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

/// What is known of patterns, `{ state?, record?: { pattern, success, cost, ms }, choose?:
/// { patterns, enough } }` → `{ state, choice }`.
#[wasm_bindgen]
#[must_use]
pub fn chain_learn(request: &[u8]) -> String {
    let json = match object(request) {
        Ok(json) => json,
        Err(error) => return failure(&error),
    };
    let mut learned = Learned::from_json(json.get("state").unwrap_or(&Json::Null));
    let pattern = |json: &Json<'_>| json.as_str().and_then(Pattern::parse);
    if let Some(record) = json.get("record")
        && let Some(known) = record.get("pattern").and_then(pattern)
    {
        let success = record.get("success").and_then(Json::as_bool).unwrap_or(false);
        let cost = record.get("cost").and_then(Json::as_f64).unwrap_or(0.0);
        let millis = record.get("ms").and_then(Json::as_u64).unwrap_or(0);
        learned.of_mut(known).record(success, cost, millis);
    }
    let choice = json.get("choose").and_then(|choose| {
        let allowed = choose.get("patterns").and_then(Json::as_array).unwrap_or_default();
        let allowed: Vec<Pattern> = allowed.iter().filter_map(pattern).collect();
        let enough = choose.get("enough").and_then(Json::as_u64).unwrap_or(20);
        learned.choose(&allowed, enough)
    });
    let choice = choice.map_or(Json::Null, |pattern| pattern.name().into());
    tagged(Json::object([("state", learned.to_json()), ("choice", choice)]).to_text())
}

fn object(bytes: &[u8]) -> Result<Json<'_>, Error> {
    if bytes.is_empty() {
        return Ok(Json::Object(Vec::new()));
    }
    Ok(Json::parse_lossy(bytes, limits::JSON_BYTES)?)
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
