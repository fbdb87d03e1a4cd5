//! The items that steps have found, and how many of them are new.

use sha2::{Digest, Sha256};

use crate::json::Json;
use crate::signature::hex;

/// The items of a result: the items of a list, or of the `items` or `results` of an object. Any
/// other result is a single item, unless it is empty.
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

/// Hashes of the items of all steps so far, sorted.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenItems(Vec<[u8; 32]>);

impl SeenItems {
    /// Adds the items of `value`. Returns how many distinct ones no step had found before.
    pub(crate) fn gain(&mut self, value: &Json<'_>) -> u64 {
        let mut new = 0;
        for item in items(value) {
            let hash = digest(item);
            if let Err(place) = self.0.binary_search(&hash) {
                self.0.insert(place, hash);
                new += 1;
            }
        }
        new
    }
}

/// Lower-case hex SHA-256 of the canonical text.
pub(crate) fn hash(value: &Json<'_>) -> String {
    hex(&digest(value))
}

fn digest(value: &Json<'_>) -> [u8; 32] {
    Sha256::digest(value.to_canonical().as_bytes()).into()
}
