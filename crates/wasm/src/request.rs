//! The tool-request pass. Its machine is driven by the `turn_*` functions.

use wasm_bindgen::prelude::wasm_bindgen;

use super::{failure, made, wire};
use turnlock::error::Error;
use turnlock::json::{Json, Reader};
use turnlock::limits;
use turnlock::request::{
    self, ParsePolicy, ParsedRequest, Pass, Reason, Rejected, inventory_json, lint_prompt,
};

/// A pass from its options, as its number.
#[wasm_bindgen]
#[must_use]
pub fn request_new(options: &[u8]) -> String {
    made(Pass::new(options))
}

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
    answer(Json::parse_lossy(given, limits::JSON_BYTES).map_err(Error::from).and_then(|given| {
        let text = given.as_array().and_then(|all| all.first()).and_then(Json::as_str);
        let text = text.ok_or_else(|| wire::bad("template", "a string"))?;
        Ok(Json::Array(lint_prompt(text).iter().map(request::Lint::to_json).collect()))
    }))
}

/// `{ tools: [{ name, access, reason }], allow }` of a JSON array of tools.
#[wasm_bindgen]
#[must_use]
pub fn request_inventory(tools: &[u8]) -> String {
    answer(Json::parse_lossy(tools, limits::JSON_BYTES).map_err(Error::from).and_then(|tools| {
        let all = tools.as_array().ok_or_else(|| wire::bad("tools", "an array"))?;
        Ok(inventory_json(all))
    }))
}

/// The shipped prompts: `{ request: { id, text, hash }, plan }`.
#[wasm_bindgen]
#[must_use]
pub fn request_prompts() -> String {
    let (request, plan) = (request::request_prompt(), request::plan_prompt());
    Json::object([("request", request.to_json()), ("plan", plan.to_json())]).to_text()
}

fn answer(result: Result<Json<'static>, Error>) -> String {
    result.map_or_else(|error| failure(&error), |json| json.to_text())
}

fn parse(given: &[u8]) -> Result<Json<'static>, Error> {
    let given = std::str::from_utf8(given).unwrap_or_default();
    let mut reader = Reader::lossy(given);
    let json = reader.value()?;
    let policy = ParsePolicy::read(json.get("policy").unwrap_or(&Json::Null))?;
    let text = json.get("text").and_then(Json::as_str);
    let text = text.ok_or_else(|| wire::bad("text", "a string"))?;
    let mut parsed = request::parse_tool_request(text, &policy);
    if reader.replaced() > 0 {
        // Half a character was replaced on the way: two different texts could look the same.
        let detail = "json.lone_surrogate".to_owned();
        let whole = Rejected { index: None, tool_name: None, reason: Reason::Syntax, detail };
        parsed = ParsedRequest { rejected: vec![whole], ..ParsedRequest::default() };
    }
    let calls = parsed.tool_calls.iter().map(|(call, signature)| {
        Json::object([
            ("tool_name", call.tool_name.clone().into()),
            ("params", call.params.clone()),
            ("reason", call.reason.clone().into()),
            ("signature", signature.as_str().to_owned().into()),
        ])
    });
    Ok(Json::object([
        ("toolCalls", Json::Array(calls.collect())),
        ("rejected", Json::Array(parsed.rejected.iter().map(Rejected::to_json).collect())),
        ("valid", parsed.valid.into()),
    ]))
}
