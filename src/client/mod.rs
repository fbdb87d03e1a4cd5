//! The driver for Rust hosts: pages and workers on `wasm32-unknown-unknown`.

mod clock;
pub mod store;
