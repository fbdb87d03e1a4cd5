//! The stores of Rust hosts, in a real browser. Both keep the suite of the npm package's stores;
//! what they share with those is proved in `tests/stores/rust.test.mjs`.
#![cfg(target_arch = "wasm32")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, unreachable_pub)]

use wasm_bindgen_test::wasm_bindgen_test_configure;

mod conformance;
mod database;

wasm_bindgen_test_configure!(run_in_browser);

mod memory {
    use std::rc::Rc;

    use turnlock_client::store::{MemoryStore, Store};

    thread_local! {
        static SHARED: MemoryStore = MemoryStore::new();
    }

    crate::conformance::conformance!(|| -> Rc<dyn Store> {
        Rc::new(SHARED.with(MemoryStore::clone))
    });
}

mod indexed_db {
    use std::rc::Rc;

    use turnlock_client::store::Store;

    use crate::database::store;

    // Each store is a connection of its own.
    crate::conformance::conformance!(|| -> Rc<dyn Store> { Rc::new(store("conformance")) });
}
