//! What a response lacks, what of it may be shown, and whether its request may be sent again.

use super::{ARGUMENTS_STEP, End, Inference};
use crate::error::Failure;
use crate::stream::{Delta, FinishReason, Response};
use crate::text::is_blank;

impl Inference {
    /// Whether no text, reasoning or call was received, and no tool of the provider.
    pub(super) fn has_nothing(&self) -> bool {
        !self.seen && self.response.calls.is_empty()
    }

    /// Whether nothing of the response was shown that the response to another request would
    /// contradict: no visible text, no tool of the provider, and no call. Reasoning may be shown twice.
    pub(super) fn is_unseen(&self) -> bool {
        self.blank.is_some() && !self.hosted && !self.shows_calls()
    }

    /// Adds a delta to those that may be shown. Text at the beginning of the response is held back
    /// until a visible character follows or a call may start, so that the request may be sent again.
    pub(super) fn show(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        if let (Delta::Text(text), Some(blank)) = (&delta, &mut self.blank) {
            blank.push_str(text);
            if !is_blank(text) {
                self.release(out);
            }
            return;
        }
        let is_held = self.blank.as_ref().is_some_and(|blank| !blank.is_empty());
        if is_held && self.shows_calls() {
            self.release(out);
        }
        out.push(delta);
    }

    /// Adds the text that was held back.
    pub(super) fn release(&mut self, out: &mut Vec<Delta>) {
        let blank = self.blank.take().filter(|blank| !blank.is_empty());
        out.extend(blank.map(Delta::Text));
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
        self.rules.needs_output && is_blank(text) && calls.is_empty() && !withheld && !self.hosted
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
        let failure = Failure::new("model.empty", message);
        self.fail(now, failure, Some(wait), self.is_unseen()).end.unwrap_or(End::Retried)
    }
}
