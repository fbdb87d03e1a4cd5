//! The driver for Rust hosts on both of its platforms, in a real browser and natively on tokio,
//! against the scripted provider over real HTTP. Run by `tests/client/run.mjs`, which serves the
//! provider and the tables.
#![cfg(all(feature = "jsonschema", any(target_arch = "wasm32", feature = "tokio")))]
#![cfg_attr(target_arch = "wasm32", allow(clippy::arc_with_non_send_sync))]
#![allow(missing_docs, unreachable_pub, missing_debug_implementations, unnameable_types)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::string_slice)]

mod attacks;
mod bundles;
mod callbacks;
mod chains;
mod evidence;
mod extras;
mod kept;
#[cfg(target_arch = "wasm32")]
mod leaks;
mod legs;
#[path = "../scenarios/lines.rs"]
mod lines;
mod many;
#[cfg(not(target_arch = "wasm32"))]
mod native;
#[path = "../requests/lines.rs"]
mod pass_lines;
mod passes;
mod passes_kept;
mod platform;
mod recordings;
mod requests;
mod searches;
mod site;
mod turns;
#[cfg(target_arch = "wasm32")]
mod web;

#[cfg(target_arch = "wasm32")]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
