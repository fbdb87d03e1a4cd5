//! When a failed request is sent again, and the messages of refused ones.

use crate::json::{Json, Reader};

/// Wait before the second attempt, doubled for each further attempt. This is the default of the
/// OpenAI and Anthropic SDKs.
///
/// Not a limit.
const FIRST_WAIT_MS: u64 = 500;
/// Longest wait before a retry. If a provider requests a longer one, the request fails at once.
///
/// Limit | a wait before a request is sent again | ms | the request fails, if its provider asks for more
pub(super) const LONGEST_WAIT_MS: u64 = 30_000;

/// Returns 0.5 s × 2ⁿ, reduced by up to a quarter as jitter. `drawn`: a random byte.
pub(super) fn backoff_ms(drawn: u8, attempt: u32) -> u64 {
    let longest = FIRST_WAIT_MS << attempt.saturating_sub(1).min(6);
    longest - longest / 4 * u64::from(drawn) / 255
}

/// Whether a status is 408, 409, 429 or 5xx (including 529), as in the providers' own SDKs.
pub(super) fn is_retryable(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..=599)
}

/// The error message for a status. It includes the provider's message if the body has one.
pub(super) fn status_message(status: u16, body: &str) -> String {
    let message = Reader::lossy(body).value().ok().and_then(|json: Json<'_>| {
        let error = json.get("error").unwrap_or(&json);
        let text = error.as_str().or_else(|| error.get("message")?.as_str());
        text.map(str::to_owned)
    });
    match message {
        Some(message) => format!("the model answered {status}: {message}"),
        None => format!("the model answered {status}"),
    }
}
