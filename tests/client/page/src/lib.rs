//! The stores of Rust hosts, for the scripts of a page.

mod store;
