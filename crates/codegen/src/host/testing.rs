//! What tests use.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![table! {
        /// The options of `storeConformance`.
        "ConformanceOptions" for "storeConformance" {
            /// How long a case waits for something that must eventually happen, such as expiry, in
            /// milliseconds. No case requires anything to be fast.
            patienceMs: "number" = "10000";
        }
    }]
}
