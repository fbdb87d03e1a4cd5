//! What queries and plans need without a chain: bytes in, one JSON text out.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::wire::tagged;
use turnlock::chain::{ClassifierOptions, Learned, Pattern, Plan, PlanLimits, classify};
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
    Ok(Json::parse_host(bytes, limits::JSON_BYTES)?)
}
