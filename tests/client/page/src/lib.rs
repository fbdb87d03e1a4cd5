//! The stores and turns of Rust hosts, for the scripts of a page.

mod store;
mod turn;
