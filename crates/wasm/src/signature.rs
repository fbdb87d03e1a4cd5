//! Canonical text and signatures.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::wire::{bad, tagged};
use turnlock::error::Error;
use turnlock::json::{self, Json};
use turnlock::limits;
use turnlock::signature::Signature;
#[cfg(feature = "signature")]
use turnlock::tool::{CallVerdict, Dedupe, Facts, Refusal};

/// RFC 8785 text of a JSON text.
#[wasm_bindgen]
#[must_use]
pub fn canonicalize(json: &[u8]) -> String {
    json::canonicalize(json).map_or_else(|error| failure(&error.into()), tagged)
}

/// Signature of `{ tool, action, args, projectId }`.
#[cfg(feature = "signature")]
#[wasm_bindgen]
#[must_use]
pub fn signature(call: &[u8]) -> String {
    of(call).map_or_else(|error| failure(&error), |one| one.as_str().to_owned())
}

/// Judges a call of a ledger that the host keeps: `execute`, `replay`, or why it is refused. Facts
/// are bits, in this order: tools are over, the tool is unknown, it is not allowed, the arguments
/// are valid, the same call was executed, the budget is spent. `dedupe` is its place in
/// `Dedupe::ALL`, or another number for the default of the tool.
#[cfg(feature = "signature")]
#[wasm_bindgen]
#[must_use]
pub fn judge(facts: u32, dedupe: usize, read_only: bool) -> String {
    let is = |bit: u32| facts >> bit & 1 == 1;
    let by_name = [Refusal::ToolsDisabled, Refusal::UnknownTool, Refusal::NotAllowed];
    let facts = Facts {
        by_name: (0..).zip(by_name).find_map(|(bit, refusal)| is(bit).then_some(refusal)),
        valid: is(3),
        seen: is(4).then_some(0),
        dedupe: Dedupe::ALL.get(dedupe).copied().unwrap_or_else(|| Dedupe::usual(read_only)),
        known: false,
        spent: is(5),
    };
    match facts.verdict() {
        CallVerdict::Execute | CallVerdict::Recall => "execute",
        CallVerdict::Replay(_) => "replay",
        CallVerdict::Refuse(refusal) => refusal.name(),
    }
    .to_owned()
}

/// The notice of refused calls: `{ reason, names, results }`.
#[cfg(feature = "signature")]
#[wasm_bindgen]
#[must_use]
pub fn refusal_notice(of: &[u8]) -> String {
    notice(of).unwrap_or_else(|error| failure(&error))
}

#[cfg(feature = "signature")]
fn notice(of: &[u8]) -> Result<String, Error> {
    let of = Json::parse(of, limits::JSON_BYTES)?;
    let refusal = of.get("reason").and_then(Json::as_str).and_then(Refusal::parse);
    let refusal = refusal.ok_or_else(|| bad("reason", "a reason of a refusal"))?;
    let names = of.get("names").and_then(Json::as_array).unwrap_or(&[]);
    let names: Vec<_> = names.iter().filter_map(Json::as_str).collect();
    Ok(refusal.notice(&names, of.get("results") == Some(&Json::Bool(true))))
}

fn of(call: &[u8]) -> Result<Signature, Error> {
    let call = Json::parse(call, limits::JSON_BYTES)?;
    let text = |key| call.get(key).and_then(Json::as_str);
    let tool = text("tool").ok_or_else(|| bad("tool", "a string"))?;
    let args = call.get("args").unwrap_or(&Json::Null);
    Ok(Signature::new(tool, text("action"), args, text("projectId")))
}
