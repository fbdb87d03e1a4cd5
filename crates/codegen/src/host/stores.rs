//! The shipped stores.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `memoryStore`.
            "MemoryStoreOptions" for "memoryStore" {
                /// Maximum number of stored turns. At the limit, the tenant with the most turns
                /// makes room, by the turn that was over first, else by the one that has failed or
                /// paused for longest; if all are running, a new one fails with `store.full`.
                ///
                /// Limit | turns | one that is over makes room, or `store.full`
                maxTurns: "number" = "10000", "from 1";
                /// Maximum number of characters of stored turns. At the limit, as `maxTurns`.
                ///
                /// Limit | characters | one that is over makes room, or `store.full`
                maxCharacters: "number" = "134217728", "from 1";
                /// Maximum number of reusable outcomes; the oldest is deleted first.
                ///
                /// Limit | outcomes | the oldest is dropped
                maxReusable: "number" = "10000", "from 1";
                /// A monotonic clock in milliseconds.
                now: "() => number" = "`performance.now`";
            }
        },
        table! {
            /// The options of `indexedDbStore`.
            "IndexedDbStoreOptions" for "indexedDbStore" {
                /// Name of the database; use one per user if users share a browser.
                name: "string" = "\"turnlock\"";
                /// The factory of databases.
                indexedDB: "IDBFactory" = "`globalThis.indexedDB`";
                /// How long to wait for a database that another page blocks, in milliseconds; then
                /// `store.blocked`.
                openTimeoutMs: "number" = "10000";
            }
        },
        table! {
            /// The options of `redisStore`.
            "RedisStoreOptions" for "redisStore" {
                /// Prefix of every key.
                prefix: "string" = "\"turnlock:\"";
            }
        },
        table! {
            /// The options of `postgresStore`.
            "PostgresStoreOptions" for "postgresStore" {
                /// Begins the name of every table and function; `app.turnlock_` places them in the
                /// schema `app`. Letters, digits and `_`.
                prefix: "string" = "\"turnlock_\"";
                /// How often a turn that is followed is asked for, in milliseconds.
                pollMs: "number" = "200", "from 1";
            }
        },
        table! {
            /// The options of `d1Store`.
            "D1StoreOptions" for "d1Store" {
                /// Begins the name of every table. Letters, digits and `_`.
                prefix: "string" = "\"turnlock_\"";
                /// How often a turn that is followed is asked for, in milliseconds; each time is
                /// one row read.
                pollMs: "number" = "500", "from 1";
            }
        },
    ]
}
