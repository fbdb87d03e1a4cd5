//! When a failed request is sent again, and the messages of refused ones.

use crate::json::{Json, Reader};
use crate::text::holds;

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

/// Words of a chat template that refuses a history.
const TEMPLATE: [&str; 4] = ["jinja", "template", "roles must", "system message"];

/// Whether a response says that the request is invalid: 400; 422 of servers that validate its form
/// first (DeepSeek, Mistral, vLLM); 500 of servers whose chat template refuses the history
/// (llama-server: QwenLM/Qwen3.8#244, 2026-09-22; Ollama: ollama/ollama#17774, 2026-08-15).
pub(super) fn is_invalid(status: u16, body: &str) -> bool {
    let body = body.to_ascii_lowercase();
    let names_template = || TEMPLATE.iter().any(|word| holds(&body, word));
    matches!(status, 400 | 422) || status == 500 && names_template()
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
