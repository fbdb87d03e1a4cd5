//! What histories are trimmed by.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![table! {
        /// The options of `trimHistory`.
        "TrimOptions<Element = unknown>" for "trimHistory" {
            /// The provider that the history is for.
            dialect: "Dialect" | required;
            /// The most tokens of the request's messages and system prompt.
            maxTokens: "number" = "no bound", "at least 1";
            /// The most bytes of their JSON text.
            maxBytes: "number" = "no bound", "at least 1";
            /// Counts the tokens of a text, the JSON of one message. Default: a token for three
            /// bytes, an estimate that is rather too high.
            countTokens: "(text: string): number";
            /// Whether an element is pinned: its whole turn stays.
            keep: "(element: Element, index: number): boolean";
        }
    }]
}
