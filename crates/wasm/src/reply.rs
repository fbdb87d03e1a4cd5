//! JSON in a model's reply: bytes in, one JSON text out.

use wasm_bindgen::prelude::wasm_bindgen;

use turnlock::json::Json;
use turnlock::reply::{Fault, Reply};

/// The values of a reply, `{ text, values: [{ text, repairs }], fault?: { code, message, missing } }`.
/// `text` is the reply after its thinking.
#[wasm_bindgen]
#[must_use]
pub fn reply_read(reply: &[u8]) -> String {
    let reply = String::from_utf8_lossy(reply);
    let reply = Reply::read(&reply);
    let (values, fault) = match reply.distinct() {
        Ok(values) => (values, Json::Null),
        Err(fault) => (Vec::new(), failed(fault)),
    };
    let values = values.into_iter().map(|value| {
        let repairs = reply.dropped_around(value).into_iter().map(|one| one.name().into());
        Json::object([
            ("text", value.text.to_owned().into()),
            ("repairs", Json::Array(repairs.collect())),
        ])
    });
    let values = Json::Array(values.collect());
    let text = reply.text().to_owned().into();
    Json::object([("text", text), ("values", values), ("fault", fault)]).to_text()
}

fn failed(fault: Fault) -> Json<'static> {
    Json::object([
        ("code", fault.code().into()),
        ("message", fault.to_string().into()),
        ("missing", Json::Bool(fault == Fault::Missing)),
    ])
}
