//! Retries of failed requests, and the messages of their failures.

use sha2::{Digest, Sha256};

use super::machine::{State, Turn};
use super::protocol::Effect;
use crate::json::{Json, Reader};
use crate::trace::Failure;

/// Wait before the second attempt, doubled for each further attempt. This is the default of the
/// OpenAI and Anthropic SDKs.
const FIRST_WAIT_MS: u64 = 500;
/// Longest wait before a retry. If a provider requests a longer one, the request fails at once.
pub(crate) const LONGEST_WAIT_MS: u64 = 30_000;

impl Turn {
    /// Retries or fails after a failed request. The request is retried only if none of the response
    /// was received, so that no text is shown twice and no call is judged twice.
    pub(super) fn request_failed(
        &mut self,
        failure: Failure,
        retryable: bool,
        retry_after_ms: Option<u64>,
    ) {
        let State::Asking(asking) = &self.state else { return };
        let (attempt, seen) = (asking.attempt, asking.seen);
        let wait = retry_after_ms.unwrap_or_else(|| self.backoff(attempt));
        let until = self.now.saturating_add(wait);
        let again = retryable
            && !seen
            && attempt <= self.options.max_retries
            && wait <= LONGEST_WAIT_MS
            && until < self.turn_deadline();
        if again {
            self.state = State::Waiting { until, attempt: attempt + 1 };
        } else {
            self.fail(failure);
        }
    }

    fn backoff(&self, attempt: u32) -> u64 {
        backoff_ms(&format!("{}/wait/{}", &*self.options.secret, self.record.inferences), attempt)
    }

    /// Aborts the request in flight, if there is one.
    pub(super) fn abort_request(&mut self) {
        if let State::Asking(asking) = &self.state {
            self.effects.push_back(Effect::Abort { inference: asking.inference });
        }
    }
}

/// Returns 0.5 s × 2ⁿ, reduced by up to a quarter as jitter. The jitter is derived from `seed`, the
/// host's randomness.
pub(crate) fn backoff_ms(seed: &str, attempt: u32) -> u64 {
    let longest = FIRST_WAIT_MS << attempt.saturating_sub(1).min(6);
    let digest = Sha256::digest(format!("{seed}/{attempt}").as_bytes());
    let drawn = digest.first().copied().unwrap_or(0);
    longest - longest / 4 * u64::from(drawn) / 255
}

/// Whether a status is 408, 409, 429 or 5xx (including 529), as in the providers' own SDKs.
pub(crate) fn is_retryable(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..=599)
}

/// The error message for a status. It includes the provider's message if the body has one.
pub(crate) fn status_message(status: u16, body: &str) -> String {
    let said = Reader::lossy(body).value().ok().and_then(|json: Json<'_>| {
        let error = json.get("error").unwrap_or(&json);
        let text = error.as_str().or_else(|| error.get("message")?.as_str());
        text.map(str::to_owned)
    });
    match said {
        Some(said) => format!("the model answered {status}: {said}"),
        None => format!("the model answered {status}"),
    }
}
