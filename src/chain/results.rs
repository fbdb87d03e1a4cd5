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

/// Whether a result says nothing: null, blank text, an empty list or object, a list of such values, or
/// an object with at least one text, list or null, in which all of these are empty and every number is
/// 0. Flags do not count. Beside an empty list of results, neither do members that repeat the request or
/// measure it, as search services send them. A text that is JSON says what that JSON says.
pub(crate) fn is_empty(value: &Json<'_>) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => {
            let inside = || Json::parse_str(text).is_ok_and(|json| is_empty(&json));
            crate::text::is_blank(text) || text.trim_start().starts_with(['{', '[']) && inside()
        }
        Json::Array(items) => items.iter().all(is_empty),
        Json::Object(members) => {
            let speaks = |value: &Json<'_>| {
                matches!(value, Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_))
            };
            let silent = |value: &Json<'_>| match value {
                Json::Number(_) => value.as_f64() == Some(0.0),
                Json::Bool(_) => true,
                value => is_empty(value),
            };
            let named = |(name, value): &(std::borrow::Cow<'_, str>, Json<'_>)| {
                RESULTS.contains(&&**name) && value.as_array().is_some_and(<[_]>::is_empty)
            };
            let searched = members.iter().any(named);
            let counts = |name: &str| !(searched && REQUEST.contains(&name));
            let counted = members.iter().filter(|(name, _)| counts(name));
            let mut values = counted.map(|(_, value)| value);
            members.is_empty() || values.clone().any(speaks) && values.all(silent)
        }
        Json::Bool(_) | Json::Number(_) | Json::Host(_) => false,
    }
}

/// Names of the list of results in a response of a search service.
const RESULTS: &[&str] = &["data", "documents", "hits", "items", "matches", "results"];

/// Members of such a response that say nothing about its results: of Tavily, Exa and Elasticsearch
/// (2026-11-30), and their like.
const REQUEST: &[&str] = &[
    "elapsed",
    "id",
    "limit",
    "offset",
    "page",
    "q",
    "query",
    "requestId",
    "request_id",
    "responseTime",
    "response_time",
    "status",
    "time",
    "took",
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_may_say_nothing() {
        for (json, empty) in [
            ("null", true),
            ("\" \\n\"", true),
            ("[]", true),
            ("{}", true),
            ("[null, \"\"]", true),
            ("{\"results\":[]}", true),
            ("{\"items\":[],\"total\":0}", true),
            ("{\"title\":\"\",\"ok\":true}", true),
            ("{\"data\":{\"results\":[]},\"error\":null}", true),
            ("{\"query\":\"x\",\"answer\":\"\",\"results\":[],\"response_time\":0.4}", true),
            ("{\"requestId\":\"r\",\"results\":[]}", true),
            ("{\"results\":[],\"took\":12}", true),
            ("\" []\"", true),
            ("\"{\\\"results\\\":[]}\"", true),
            ("\"[1]\"", false),
            ("\"[none\"", false),
            ("{\"query\":\"x\",\"answer\":\"y\",\"results\":[]}", false),
            ("{\"query\":\"x\",\"took\":12}", false),
            ("{\"items\":[],\"total\":3}", false),
            ("{\"total\":0}", false),
            ("{\"found\":false}", false),
            ("{\"title\":\"\",\"year\":1998}", false),
            ("[0]", false),
            ("0", false),
            ("false", false),
            ("{\"title\":\"x\",\"more\":[]}", false),
        ] {
            assert_eq!(is_empty(&Json::parse_str(json).unwrap()), empty, "{json}");
        }
    }
}
