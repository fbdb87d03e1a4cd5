//! A whole turn of the Rust driver, for `benches/rust.mjs`.

use futures::StreamExt;
use serde_json::json;
use turnlock_client::{Model, TurnOptions, run_turn};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Reads every text of a turn over the host's `fetch`; the number of characters that it saw.
#[wasm_bindgen]
pub async fn read_turn(fetch: js_sys::Function) -> Result<u32, JsError> {
    let model = Model::openai_chat("http://x/v1", "m").fetch(fetch);
    let messages = json!([{ "role": "user", "content": "go" }]);
    let mut turn = run_turn(TurnOptions::new(model, messages))?;
    let mut length = 0;
    while let Some(event) = turn.next().await {
        length += event.chunk().map_or(0, |chunk| chunk.chars().count());
    }
    Ok(u32::try_from(length)?)
}
