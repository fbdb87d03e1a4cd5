//! One inference: the request, the response stream and its end.

use super::machine::{State, Turn};
use super::policy::{Freeze, Policy};
use super::protocol::Effect;
use super::retry;
use crate::dialect::Dialect;
use crate::limits;
use crate::stream::{Decoder, Delta, Response, StreamError};
use crate::trace::{EventKind, Failure, PhaseName};

/// A request in flight.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asking {
    pub(super) inference: u32,
    pub(super) attempt: u32,
    since: u64,
    /// When the host last reported activity of the response.
    heard: Option<u64>,
    decoder: Option<Decoder>,
    pub(super) response: Response,
    /// Text, reasoning or a call was received, so the request is not repeated.
    pub(super) seen: bool,
    /// Stop reading at the first complete call.
    first_call: bool,
    /// The host sent deltas instead of bytes.
    from_host: bool,
}

impl Asking {
    pub(super) fn deadline(&self, policy: &Policy) -> u64 {
        match self.heard {
            Some(heard) => heard.saturating_add(policy.model_idle_ms),
            None => self.since.saturating_add(policy.model_first_byte_ms),
        }
    }

    fn is_finished(&self) -> bool {
        self.response.finish.is_some() || self.decoder.as_ref().is_some_and(Decoder::is_finished)
    }
}

impl Turn {
    /// Starts the next inference of the phase.
    pub(super) fn ask(&mut self) {
        self.record.inferences += 1;
        self.phase.inferences += 1;
        self.phase.asked_at = self.phase.text.len();
        self.state_changed();
        self.ask_again(1);
    }

    /// Sends the request of the current inference.
    pub(super) fn ask_again(&mut self, attempt: u32) {
        let budget = self.budget();
        let body = self.request_body();
        let inference = self.record.inferences;
        self.state = State::Asking(Box::new(Asking {
            inference,
            attempt,
            since: self.now,
            heard: None,
            decoder: decoder(self.options.dialect),
            response: Response::default(),
            seen: false,
            first_call: match self.options.policy.freeze {
                Freeze::Auto => budget == 1,
                Freeze::Batch => false,
                Freeze::FirstCall => true,
            },
            from_host: false,
        }));
        self.effects.push_back(Effect::Fetch { inference, attempt, body });
    }

    pub(super) fn response_head(&mut self, status: u16, retry_after_ms: Option<u64>, body: &str) {
        if (200..300).contains(&status) {
            return;
        }
        let message = retry::status_message(status, body);
        let failure = Failure { code: "model.status".into(), message, status: Some(status) };
        self.request_failed(failure, retry::is_retryable(status), retry_after_ms);
    }

    pub(super) fn response_bytes(&mut self, bytes: &[u8]) {
        let now = self.now;
        let State::Asking(asking) = &mut self.state else { return };
        asking.heard = Some(now);
        let mut deltas = Vec::new();
        if let Some(decoder) = &mut asking.decoder {
            decoder.feed(bytes, &mut deltas);
        }
        self.deltas(deltas);
    }

    pub(super) fn response_deltas(&mut self, deltas: Vec<Delta>) {
        let now = self.now;
        let State::Asking(asking) = &mut self.state else { return };
        asking.heard = Some(now);
        asking.from_host = true;
        self.deltas(deltas);
    }

    pub(super) fn held_back(&mut self) {
        let now = self.now;
        if let State::Asking(asking) = &mut self.state {
            asking.heard = Some(now);
        }
    }

    pub(super) fn response_ended(&mut self) {
        let State::Asking(asking) = &mut self.state else { return };
        let mut deltas = Vec::new();
        if let Some(decoder) = asking.decoder.as_mut().filter(|_| !asking.from_host) {
            decoder.end(&mut deltas);
        }
        self.deltas(deltas);
        let State::Asking(asking) = &mut self.state else { return };
        if asking.from_host && asking.response.finish.is_none() {
            // A host's generator need not send a finish reason: its end completes the response.
            asking.response.end_calls();
            return self.response_done();
        }
        if asking.is_finished() {
            return self.response_done();
        }
        let message = "the response ended without a finish reason".to_owned();
        let failure = Failure { code: "model.truncated".into(), message, status: None };
        self.request_failed(failure, true, None);
    }

    pub(super) fn response_failed(&mut self, message: &str) {
        let State::Asking(asking) = &self.state else { return };
        if asking.is_finished() {
            // The response is already complete, so the broken connection does not matter.
            return self.response_done();
        }
        let code = if asking.heard.is_some() { "model.truncated" } else { "model.unreachable" };
        let failure = Failure { code: code.into(), message: message.to_owned(), status: None };
        self.request_failed(failure, true, None);
    }

    pub(super) fn model_timed_out(&mut self) {
        let State::Asking(asking) = &self.state else { return };
        let (inference, finished) = (asking.inference, asking.is_finished());
        let policy = &self.options.policy;
        let message = if asking.heard.is_some() {
            format!("the model was silent for {} ms", policy.model_idle_ms)
        } else {
            format!("the model sent nothing for {} ms", policy.model_first_byte_ms)
        };
        self.effects.push_back(Effect::Abort { inference });
        if finished {
            return self.response_done();
        }
        let failure = Failure { code: "model.timeout".into(), message, status: None };
        self.request_failed(failure, true, None);
    }

    fn deltas(&mut self, deltas: Vec<Delta>) {
        for delta in deltas {
            if !self.delta(delta) {
                return;
            }
        }
    }

    /// Takes one delta. Returns `false` if the response ends with it.
    fn delta(&mut self, delta: Delta) -> bool {
        let State::Asking(asking) = &mut self.state else { return false };
        let one_more = matches!(delta, Delta::ToolCallStart { .. });
        if one_more && asking.response.calls.len() >= limits::CALLS_PER_RESPONSE {
            // Too many calls: judge those received, and do not read the rest.
            let inference = asking.inference;
            self.effects.push_back(Effect::Abort { inference });
            self.response_done();
            return false;
        }
        if let Err(error) = asking.response.take(&delta) {
            self.stream_failed(error);
            return false;
        }
        match delta {
            Delta::Text(chunk) => {
                asking.seen |= !chunk.is_empty();
                self.show(chunk);
            }
            Delta::Reasoning { text, .. } => {
                asking.seen |= !text.is_empty();
                if !self.phase.frozen && !text.is_empty() {
                    self.emit(EventKind::Reasoning(text));
                }
            }
            Delta::ToolCallStart { .. } => {
                asking.seen = true;
                self.phase.frozen |= self.phase.name == PhaseName::Tool;
            }
            Delta::ToolCallEnd { .. } => {
                if asking.first_call && self.phase.name == PhaseName::Tool {
                    let inference = asking.inference;
                    self.effects.push_back(Effect::Abort { inference });
                    self.response_done();
                    return false;
                }
            }
            Delta::Error(error) => {
                self.stream_failed(error);
                return false;
            }
            Delta::ToolCallArguments { .. }
            | Delta::Usage(_)
            | Delta::Finish { .. }
            | Delta::Other { .. } => {}
        }
        true
    }

    fn show(&mut self, chunk: String) {
        if self.phase.frozen || chunk.is_empty() {
            return;
        }
        if self.phase.name == PhaseName::Unified {
            let State::Asking(asking) = &self.state else { return };
            if asking.response.text.len() == chunk.len() {
                // The first text of this inference. The answer is the text of the last inference
                // that has text, so earlier text is dropped.
                self.phase.text.clear();
                self.phase.asked_at = 0;
            }
        }
        self.phase.text.push_str(&chunk);
        self.record.shown.push_str(&chunk);
        self.emit(EventKind::Text(chunk));
    }

    fn stream_failed(&mut self, error: StreamError) {
        let State::Asking(asking) = &self.state else { return };
        self.effects.push_back(Effect::Abort { inference: asking.inference });
        let failure = Failure { code: "model.stream".into(), message: error.message, status: None };
        self.request_failed(failure, error.class.retryable(), None);
    }

    /// Judges the calls of a response that is complete or that is not read further.
    fn response_done(&mut self) {
        let State::Asking(asking) = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        let response = asking.response;
        if let Some(usage) = response.usage {
            self.record.usage.add(usage);
        }
        self.trace_llm_call(asking.inference, &response);
        if response.calls.is_empty() {
            return self.no_calls();
        }
        self.judge_calls(response);
    }

    fn no_calls(&mut self) {
        match self.phase.name {
            // The model requested no tool, so its text is the answer. In a second cycle this holds
            // only if there is text, because the results of the first cycle need an answer.
            PhaseName::Tool
                if self.phase.inferences == 1
                    && (self.cycle == 1 || !self.phase.text.trim().is_empty()) =>
            {
                self.complete(false);
            }
            PhaseName::Tool => self.end_tool_phase(),
            PhaseName::Action => self.after_action(0, false, false),
            PhaseName::Unified | PhaseName::Complete => self.complete(false),
        }
    }
}

/// Returns `None` for a dialect without a stream, whose deltas come from the host.
fn decoder(dialect: Dialect) -> Option<Decoder> {
    Decoder::new(dialect).ok()
}
