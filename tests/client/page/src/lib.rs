//! The stores and turns of Rust hosts, for the scripts of a page.
#![cfg(target_arch = "wasm32")]

mod store;
mod turn;
