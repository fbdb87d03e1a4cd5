//! Redaction.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![table! {
        /// The options of `createRedactor`.
        "RedactOptions" for "createRedactor" {
            /// Texts that must not be shown, such as keys: found as they are, in addresses, JSON, HTML,
            /// base64 (within other bytes, too) and hexadecimal.
            values: "readonly string[]", "each of at least 6 characters, together at most 65 536";
            /// What is redacted: `value`, `secret` (keys, tokens, private keys, passwords by their
            /// names), `email`, `phone`, `card`, `iban`, `ip`.
            kinds: "readonly RedactKind[]" = "all";
            /// Fields that `value` hides, by path: `/headers/*` or `user.ssn`; `*` is any name or
            /// index, `**` any number of them.
            fields: "readonly string[]";
            /// What stands in place of a match. It is shown as it is.
            mask: "(kind: RedactKind | 'field'): string" = "[redacted:<kind>]";
        }
    }]
}
