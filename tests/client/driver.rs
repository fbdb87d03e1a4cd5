//! The driver for Rust hosts, in a real browser, against the scripted provider over real `fetch`.
//! Run by `tests/client/run.mjs`, which serves the provider and the tables.
#![cfg(all(target_arch = "wasm32", feature = "jsonschema"))]
#![allow(missing_docs, unreachable_pub, missing_debug_implementations, unnameable_types)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::string_slice)]

mod bundles;
mod callbacks;
mod chains;
mod evidence;
mod legs;
#[path = "../scenarios/lines.rs"]
mod lines;
mod many;
#[path = "../requests/lines.rs"]
mod pass_lines;
mod passes;
mod passes_kept;
mod requests;
mod searches;
mod site;
mod turns;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
