//! What tests use.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `storeConformance`.
            "ConformanceOptions" for "storeConformance" {
                /// How long a case waits for something that must eventually happen, such as expiry,
                /// in milliseconds. No case requires anything to be fast.
                patienceMs: "number" = "10000";
            }
        },
        table! {
            /// The options of `scriptedProvider`.
            "ScriptedProviderOptions" for "scriptedProvider" {
                /// Scripts beside the behaviours, by kind: the script `kind:rest` of an address calls
                /// the function `kind` with `rest`.
                scripts: "Record<string, Script>" = "{}";
                /// Receives errors of the provider itself, such as what a script throws. The client
                /// gets a 500.
                onError: "Method<[error: unknown], void>" = "`console.error`";
                /// Maximum sessions in memory. The least recently used ones are discarded.
                maxSessions: "number" = "2000";
                /// Maximum characters of all request bodies in memory. The least recently used
                /// sessions are discarded.
                maxCharacters: "number" = "no limit";
            }
        },
    ]
}
