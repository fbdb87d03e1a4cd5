//! The statistics of evidence bundles against the oracle vectors, and their properties.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

mod agents;
#[path = "../common/mod.rs"]
mod common;
mod generate;
mod properties;
mod vectors;
