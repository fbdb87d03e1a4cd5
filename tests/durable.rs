//! Durable turns, simulated: one seed is one schedule of owners, stores, tools, streams and
//! readers, with every fault that may come between them.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

mod common;
#[path = "durable/crash.rs"]
mod crash;
#[path = "durable/host.rs"]
mod host;
#[path = "durable/leg.rs"]
mod leg;
#[path = "durable/lost.rs"]
mod lost;
#[path = "durable/mishaps.rs"]
mod mishaps;
#[path = "durable/model.rs"]
mod model;
#[path = "durable/plan.rs"]
mod plan;
#[path = "durable/planted.rs"]
mod planted;
#[path = "durable/readers.rs"]
mod readers;
#[path = "durable/shown.rs"]
mod shown;
#[path = "durable/storage.rs"]
mod storage;
#[path = "durable/store.rs"]
mod store;
#[path = "durable/swarm.rs"]
mod swarm;
#[path = "durable/truth.rs"]
mod truth;
#[path = "durable/world.rs"]
mod world;
