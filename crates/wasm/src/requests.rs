//! What tool requests need without a pass: bytes in, one JSON text out.

use wasm_bindgen::prelude::wasm_bindgen;

use super::{failure, wire};
use turnlock::error::Error;
use turnlock::json::{Json, JsonError};
use turnlock::limits;
use turnlock::planning::{
    self, ParsedRequest, Policy, Reason, Template, inventory, lint_prompt, parse_tool_request,
};

/// `{ toolCalls, rejected, valid }` of `{ text, policy }`.
#[wasm_bindgen]
#[must_use]
pub fn request_parse(given: &[u8]) -> String {
    answer(parse(given))
}

/// What is wrong with `[template]`, as a JSON array.
#[wasm_bindgen]
#[must_use]
pub fn request_lint(given: &[u8]) -> String {
    answer(Json::parse_host(given, limits::JSON_BYTES).map_err(Error::from).and_then(|given| {
        let text = given.as_array().and_then(|all| all.first()).and_then(Json::as_str);
        let text = text.ok_or_else(|| wire::bad("template", "a string"))?;
        Ok(lint_prompt(text).into())
    }))
}

/// `{ tools: [{ name, access, reason }], allow }` of a JSON array of tools.
#[wasm_bindgen]
#[must_use]
pub fn request_inventory(tools: &[u8]) -> String {
    answer(Json::parse_host(tools, limits::JSON_BYTES).map_err(Error::from).and_then(|tools| {
        let all = tools.as_array().ok_or_else(|| wire::bad("tools", "an array"))?;
        Ok(inventory(all).to_json())
    }))
}

/// The shipped prompts: `{ request: { id, text, hash }, plan }`.
#[wasm_bindgen]
#[must_use]
pub fn request_prompts() -> String {
    let (request, plan) = (planning::request_prompt(), planning::plan_prompt());
    let hashed = |prompt: Template| {
        let hash = prompt.hash();
        Json::object([
            ("id", prompt.id.into()),
            ("text", prompt.text.into()),
            ("hash", hash.into()),
        ])
    };
    Json::object([("request", hashed(request)), ("plan", hashed(plan))]).to_text()
}

fn answer(result: Result<Json<'static>, Error>) -> String {
    result.map_or_else(|error| failure(&error), |json| json.to_text())
}

fn parse(given: &[u8]) -> Result<Json<'static>, Error> {
    let json = Json::parse_host(given, usize::MAX)?;
    let policy = Policy::from_json(json.get("policy").unwrap_or(&Json::Null))?;
    let text = json.get("text").and_then(Json::as_str);
    let text = text.ok_or_else(|| wire::bad("text", "a string"))?;
    let mut parsed = parse_tool_request(text, &policy)?;
    if matches!(Json::parse(given, usize::MAX), Err(JsonError::LoneSurrogate { .. })) {
        // Half a character was replaced on the way: two different texts could look the same.
        parsed = ParsedRequest::invalid(Reason::Syntax, "json.lone_surrogate");
    }
    Ok(parsed.to_json())
}
