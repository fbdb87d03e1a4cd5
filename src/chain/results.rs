//! What steps have found: items, and how many of them are new.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::canon::Json;
use crate::signature::hex;

/// The items of a result: of a list its own, of an object those of its `items` or `results`, of
/// anything else the result itself, unless it is empty.
pub(crate) fn items<'v, 'a>(value: &'v Json<'a>) -> Vec<&'v Json<'a>> {
    let list = value.as_array().or_else(|| {
        let inside = value.get("items").or_else(|| value.get("results"));
        inside.and_then(Json::as_array)
    });
    match (list, value) {
        (Some(items), _) => items.iter().collect(),
        (None, Json::Null) => Vec::new(),
        (None, Json::String(text)) if text.trim().is_empty() => Vec::new(),
        (None, value) => vec![value],
    }
}

/// Items of all steps so far, by hash.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenItems(BTreeSet<String>);

impl SeenItems {
    /// How many distinct items of `value` no step had found before.
    pub(crate) fn gain(&mut self, value: &Json<'_>) -> u64 {
        let new = items(value).into_iter().filter(|item| self.0.insert(hash(item))).count();
        u64::try_from(new).unwrap_or(u64::MAX)
    }
}

/// Lower-case hex SHA-256 of the canonical text.
pub(crate) fn hash(value: &Json<'_>) -> String {
    hex(&Sha256::digest(value.to_canonical().as_bytes()))
}
