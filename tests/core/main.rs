//! Tests of the core that take a file each.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

mod boxes;
mod carried;
mod classify;
#[path = "../common/mod.rs"]
mod common;
mod json;
mod makespan;
mod media;
mod model;
mod providers;
mod sse;
mod tapes;
mod tools;
