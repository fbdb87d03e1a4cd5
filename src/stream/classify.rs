//! Classifies a provider's failure by its status code, or by words that providers share.

use super::delta::{ErrorClass, StreamError};
use crate::json::{Json, write_string};
use crate::text::holds;

/// The failure that `error` describes: an object with `message`, `type`, `code` or `status`,
/// or a bare sentence.
pub(crate) fn failure(error: &Json<'_>, raw: &str) -> StreamError {
    let text = |key: &str| error.get(key).and_then(Json::as_str).unwrap_or_default();
    let message = error.as_str().unwrap_or_else(|| text("message"));
    let status = ["code", "status"].iter().find_map(|key| error.get(key)?.as_u64());
    let mut words = String::new();
    for part in [text("type"), text("code"), text("status"), message] {
        words.push_str(part);
        words.push(' ');
    }
    words.make_ascii_lowercase();
    StreamError {
        class: status.and_then(of_status).unwrap_or_else(|| of_words(&words)),
        message: match message {
            "" => "the provider reports an error",
            // The whole of it is in `raw`.
            message => message.get(..message.floor_char_boundary(1000)).unwrap_or_default(),
        }
        .to_owned(),
        raw: raw.to_owned(),
    }
}

/// The failure of a response that its provider ends with an error. `raw`: the provider's reason.
pub(crate) fn finish_error(raw: &str) -> StreamError {
    let mut json = String::new();
    write_string(raw, &mut json);
    let name = raw.get(..raw.floor_char_boundary(1000)).unwrap_or_default();
    let message = format!("the provider ended the response with an error: {name}");
    StreamError { class: ErrorClass::Server, message, raw: json }
}

/// A failure for text that is not in the provider's wire format.
pub(crate) fn malformed(message: &str, text: &str) -> StreamError {
    let mut raw = String::new();
    write_string(text.get(..text.floor_char_boundary(1000)).unwrap_or_default(), &mut raw);
    StreamError { class: ErrorClass::Malformed, message: message.to_owned(), raw }
}

fn of_status(status: u64) -> Option<ErrorClass> {
    Some(match status {
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Quota,
        408 | 504 => ErrorClass::Timeout,
        429 => ErrorClass::RateLimit,
        503 | 529 => ErrorClass::Overloaded,
        400..=499 => ErrorClass::InvalidRequest,
        500..=599 => ErrorClass::Server,
        _ => return None,
    })
}

/// The first row that matches decides, so a quota error that mentions a rate limit is a quota
/// error.
fn of_words(words: &str) -> ErrorClass {
    const TABLE: [(&[&str], ErrorClass); 9] = [
        (&["insufficient_quota", "servicequota", "billing", "credit balance"], ErrorClass::Quota),
        (
            &["context_length", "context window", "maximum context", "prompt is too long"],
            ErrorClass::ContextLength,
        ),
        (&["overloaded", "unavailable", "capacity"], ErrorClass::Overloaded),
        (
            &["rate_limit", "rate limit", "too many requests", "resource_exhausted", "throttling"],
            ErrorClass::RateLimit,
        ),
        (&["timeout", "timed out", "deadline"], ErrorClass::Timeout),
        (
            &["authentication", "permission", "unauthorized", "accessdenied", "api key", "api_key"],
            ErrorClass::Auth,
        ),
        (
            &["invalid_request", "invalid request", "not_found", "notfound", "bad request"],
            ErrorClass::InvalidRequest,
        ),
        (&["validationexception", "invalid_argument"], ErrorClass::InvalidRequest),
        (&[], ErrorClass::Server),
    ];
    let matches =
        |needles: &[&str]| needles.is_empty() || needles.iter().any(|needle| holds(words, needle));
    TABLE
        .iter()
        .find_map(|(needles, class)| matches(needles).then_some(*class))
        .unwrap_or(ErrorClass::Server)
}
