//! The stores of Rust hosts: natively that in memory, in a real browser both. They keep the suite of
//! the npm package's stores; what they share with those is proved in `tests/stores/rust.test.mjs`.
#![cfg(any(target_arch = "wasm32", feature = "tokio"))]
#![cfg_attr(target_arch = "wasm32", allow(clippy::arc_with_non_send_sync))]
#![allow(
    missing_docs,
    missing_debug_implementations,
    unnameable_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
#![allow(clippy::indexing_slicing, unreachable_pub)]

mod bounds;
mod conformance;
#[cfg(target_arch = "wasm32")]
mod database;
#[allow(unused)]
#[path = "../client/platform.rs"]
mod platform;

#[cfg(target_arch = "wasm32")]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

mod memory {
    use std::sync::Arc;

    use turnlock_client::store::{MemoryStore, Store};

    thread_local! {
        static SHARED: MemoryStore = MemoryStore::new();
    }

    crate::conformance::conformance!(|| -> Arc<dyn Store> {
        Arc::new(SHARED.with(MemoryStore::clone))
    });
}

#[cfg(target_arch = "wasm32")]
mod indexed_db {
    use std::sync::Arc;

    use turnlock_client::store::Store;

    use crate::database::store;

    // Each store is a connection of its own.
    crate::conformance::conformance!(|| -> Arc<dyn Store> { Arc::new(store("conformance")) });
}
