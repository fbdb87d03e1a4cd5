//! One inference of a pass: the request, the incoming response, and the end.
//!
//! Nothing is shown before the response is complete, so a failed request is retried even if part of
//! its response was received.

use super::options::Policy;
use crate::dialect::Dialect;
use crate::json::Json;
use crate::limits;
use crate::stream::{Decoder, Delta, Response, StreamError};
use crate::trace::Failure;
use crate::turn;

/// A request in flight, or one that waits for its retry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Inference {
    pub(super) number: u32,
    pub(super) attempt: u32,
    /// The body of the request, in the dialect's format.
    pub(super) body: Json<'static>,
    /// The time at which the failed request is retried.
    pub(super) waiting: Option<u64>,
    since: u64,
    heard: Option<u64>,
    decoder: Option<Decoder>,
    response: Response,
    /// The deltas come from the host, not from bytes.
    from_host: bool,
}

/// How a request ended.
#[derive(Debug)]
pub(super) enum End {
    /// The response is complete.
    Done,
    /// The request failed; `retryable` tells whether the same request may succeed later.
    Failed { failure: Failure, retryable: bool, retry_after_ms: Option<u64> },
}

impl Inference {
    pub(super) fn new(
        number: u32,
        attempt: u32,
        body: Json<'static>,
        dialect: Dialect,
        now: u64,
    ) -> Self {
        Self {
            number,
            attempt,
            body,
            waiting: None,
            since: now,
            heard: None,
            decoder: Decoder::new(dialect).ok(),
            response: Response::default(),
            from_host: false,
        }
    }

    /// Whether an input concerns the request that is in flight.
    pub(super) fn is(&self, number: u32, attempt: u32) -> bool {
        (self.number, self.attempt) == (number, attempt) && self.waiting.is_none()
    }

    pub(super) fn deadline(&self, policy: &Policy) -> u64 {
        let silence = match self.heard {
            Some(heard) => heard.saturating_add(policy.model_idle_ms),
            None => self.since.saturating_add(policy.model_first_byte_ms),
        };
        self.waiting.unwrap_or(silence)
    }

    pub(super) fn into_response(self) -> Response {
        self.response
    }

    pub(super) fn head(&self, status: u16, retry_after_ms: Option<u64>, body: &str) -> Option<End> {
        if (200..300).contains(&status) {
            return None;
        }
        let message = turn::status_message(status, body);
        let failure = Failure { code: "model.status".into(), message, status: Some(status) };
        Some(End::Failed { failure, retryable: turn::is_retryable(status), retry_after_ms })
    }

    pub(super) fn bytes(&mut self, now: u64, bytes: &[u8]) -> Option<End> {
        self.heard = Some(now);
        let mut deltas = Vec::new();
        if let Some(decoder) = &mut self.decoder {
            decoder.feed(bytes, &mut deltas);
        }
        self.take(deltas)
    }

    pub(super) fn deltas(&mut self, now: u64, deltas: Vec<Delta>) -> Option<End> {
        self.heard = Some(now);
        self.from_host = true;
        self.take(deltas)
    }

    pub(super) fn ended(&mut self) -> End {
        let mut deltas = Vec::new();
        if let Some(decoder) = self.decoder.as_mut().filter(|_| !self.from_host) {
            decoder.end(&mut deltas);
        }
        if let Some(end) = self.take(deltas) {
            return end;
        }
        if self.from_host && self.response.finish.is_none() {
            // A generator that returns has completed its response.
            self.response.end_calls();
            return End::Done;
        }
        if self.is_finished() {
            return End::Done;
        }
        failed("model.truncated", "the response ended without a finish reason".to_owned(), true)
    }

    pub(super) fn broken(&self, message: &str) -> End {
        if self.is_finished() {
            // The response is complete, so a connection that breaks afterwards loses nothing.
            return End::Done;
        }
        let code = if self.heard.is_some() { "model.truncated" } else { "model.unreachable" };
        failed(code, message.to_owned(), true)
    }

    pub(super) fn timed_out(&self, policy: &Policy) -> End {
        if self.is_finished() {
            return End::Done;
        }
        let message = if self.heard.is_some() {
            format!("the model was silent for {} ms", policy.model_idle_ms)
        } else {
            format!("the model sent nothing for {} ms", policy.model_first_byte_ms)
        };
        failed("model.timeout", message, true)
    }

    fn is_finished(&self) -> bool {
        self.response.finish.is_some() || self.decoder.as_ref().is_some_and(Decoder::is_finished)
    }

    fn take(&mut self, deltas: Vec<Delta>) -> Option<End> {
        for delta in deltas {
            let one_more = matches!(delta, Delta::ToolCallStart { .. });
            if one_more && self.response.calls.len() >= limits::CALLS_PER_RESPONSE {
                // Too many calls: those received are judged, the rest is not read.
                return Some(End::Done);
            }
            if let Err(error) = self.response.take(&delta) {
                return Some(stream_failed(error));
            }
            if let Delta::Error(error) = delta {
                return Some(stream_failed(error));
            }
        }
        None
    }
}

fn stream_failed(error: StreamError) -> End {
    failed("model.stream", error.message, error.class.retryable())
}

fn failed(code: &'static str, message: String, retryable: bool) -> End {
    let failure = Failure { code: code.into(), message, status: None };
    End::Failed { failure, retryable, retry_after_ms: None }
}
