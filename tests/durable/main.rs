//! Durable turns, simulated: one seed is one schedule of owners, stores, tools, streams and
//! readers, with every fault that may come between them.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

#[path = "../common/mod.rs"]
mod common;
mod crash;
mod host;
mod leg;
mod lost;
mod mishaps;
mod model;
mod plan;
mod planted;
mod readers;
mod shown;
mod storage;
mod store;
mod swarm;
mod truth;
mod world;
