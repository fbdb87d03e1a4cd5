//! What a provider would refuse in the declarations of tools.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::wire::bad;
use turnlock::Dialect;
use turnlock::error::Error;
use turnlock::json::Json;
use turnlock::limits;
use turnlock::provider::{self, ToolDeclaration, ToolFinding};

/// The findings about `{ dialect, strict, tools: [{ name, description, inputSchema }] }`, as a list.
#[wasm_bindgen]
#[must_use]
pub fn diagnose_tools(given: &[u8]) -> String {
    found(given).unwrap_or_else(|error| failure(&error))
}

fn found(given: &[u8]) -> Result<String, Error> {
    let request = Json::parse(given, limits::JSON_BYTES)?.into_owned();
    let dialect = request.get("dialect").and_then(Json::as_str).unwrap_or_default();
    let dialect = Dialect::parse(dialect)?;
    let strict = request.get("strict") == Some(&Json::Bool(true));
    let list = request.get("tools").and_then(Json::as_array);
    let list = list.ok_or_else(|| bad("tools", "a list of tools"))?;
    let tools = list.iter().map(|tool| ToolDeclaration {
        name: tool.get("name").and_then(Json::as_str).unwrap_or_default(),
        description: tool.get("description").and_then(Json::as_str).unwrap_or_default(),
        input_schema: tool.get("inputSchema").unwrap_or(&Json::Null),
    });
    let tools: Vec<_> = tools.collect();
    let found = provider::diagnose_tools(&tools, dialect, strict);
    Ok(Json::Array(found.iter().map(ToolFinding::to_json).collect()).to_text())
}
