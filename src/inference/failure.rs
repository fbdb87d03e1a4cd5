//! What a response lacks, and whether its request may be sent again.

use super::{ARGUMENTS_STEP, End, Inference};
use crate::error::Failure;
use crate::stream::{Delta, FinishReason, Response};

impl Inference {
    /// Whether no text, reasoning or call was received, and no tool of the provider.
    pub(super) fn has_nothing(&self) -> bool {
        !self.seen && self.response.calls.is_empty()
    }

    /// Takes what a response that failed has cost.
    pub(super) fn take_usage(&mut self, deltas: &[Delta]) {
        let last = deltas.iter().rfind(|delta| matches!(delta, Delta::Usage(_)));
        if let Some(Delta::Usage(usage)) = last {
            self.response.usage.get_or_insert_default().update(*usage);
        }
    }

    /// Whether a call of the response was shown, or may have started.
    pub(super) fn shows_calls(&self) -> bool {
        self.response.calls.iter().any(|call| {
            self.rules.starts_calls && self.can_start(call)
                || call.arguments.len() >= ARGUMENTS_STEP
        })
    }

    /// Whether the response has nothing of what a response must have. What the provider withheld, or
    /// ran itself, is not missing.
    pub(super) fn is_empty(&self) -> bool {
        let Response { text, calls, finish, .. } = &self.response;
        let withheld = matches!(finish, Some((FinishReason::ContentFilter, _)));
        self.rules.needs_output
            && text.trim().is_empty()
            && calls.is_empty()
            && !withheld
            && !self.hosted
    }

    /// Ends an attempt whose response is empty.
    pub(super) fn empty(&mut self, now: u64) -> End {
        let mut message = "the response of the model has no text and no call".to_owned();
        if self.response.reasoning.iter().any(|block| !block.text.is_empty()) {
            message.push_str(", only reasoning");
        }
        if let Some((FinishReason::Length, _)) = self.response.finish {
            message.push_str("; it reached its output limit");
        }
        let wait = self.backoff_ms();
        // Reasoning is no answer, and may be shown twice.
        let repeatable = self.response.text.is_empty();
        let failure = Failure::new("model.empty", message);
        self.fail(now, failure, Some(wait), repeatable).end.unwrap_or(End::Retried)
    }
}
