//! What a turn makes of its inferences: the requests, the text that is shown, and what follows.

use super::machine::{State, Turn};
use super::policy::Freeze;
use super::protocol::Effect;
use crate::inference::{End, Heard, Inference, Rules};
use crate::stream::{Delta, Response};
use crate::trace::{EventKind, PhaseName};

impl Turn {
    /// Starts the next inference of the phase.
    pub(super) fn ask(&mut self) {
        self.record.inferences += 1;
        self.phase.inferences += 1;
        self.phase.asked_at = self.phase.text.len();
        self.state_changed();
        self.ask_again();
    }

    /// Starts the current inference.
    pub(super) fn ask_again(&mut self) {
        self.phase.spoke = false;
        let policy = &self.options.policy;
        let first_call = match policy.freeze {
            Freeze::Auto => self.budget() == 1,
            Freeze::Batch => false,
            Freeze::FirstCall => true,
        };
        let rules = Rules {
            first_byte_ms: policy.model_first_byte_ms,
            idle_ms: policy.model_idle_ms,
            max_retries: self.options.max_retries,
            secret: self.secret.clone(),
            end: self.turn_deadline(),
            discards_output: false,
            stops_at_call: first_call && self.phase.name == PhaseName::Tool,
        };
        let inference =
            Inference::new(self.record.inferences, self.options.dialect, rules, self.now);
        self.send((inference.number(), inference.attempt()));
        self.state = State::Asking(Box::new(inference));
    }

    /// Sends the request of an inference.
    pub(super) fn send(&mut self, (inference, attempt): (u32, u32)) {
        let body = self.request_body();
        self.effects.push_back(Effect::Fetch { inference, attempt, body });
    }

    pub(super) fn heard(&mut self, inference: u32, heard: Heard) {
        for delta in heard.deltas {
            self.show(delta);
        }
        if heard.abort {
            self.effects.push_back(Effect::Abort { inference });
        }
        match heard.end {
            None | Some(End::Retried) => {}
            Some(End::Done(response)) => self.response_done(inference, response),
            Some(End::Failed(failure)) => self.fail(failure),
        }
    }

    fn show(&mut self, delta: Delta) {
        match delta {
            Delta::Text(chunk) if !self.phase.frozen && !chunk.is_empty() => {
                if self.phase.name == PhaseName::Unified && !self.phase.spoke {
                    // The answer is the text of the last inference that has text, so earlier text
                    // is dropped.
                    self.phase.text.clear();
                    self.phase.asked_at = 0;
                }
                self.phase.spoke = true;
                self.phase.text.push_str(&chunk);
                self.record.shown.push_str(&chunk);
                self.emit(EventKind::Text(chunk));
            }
            Delta::Reasoning { text, .. } if !self.phase.frozen && !text.is_empty() => {
                self.emit(EventKind::Reasoning(text));
            }
            Delta::ToolCallStart { .. } => self.phase.frozen |= self.phase.name == PhaseName::Tool,
            _ => {}
        }
    }

    /// Aborts the request in flight, if there is one.
    pub(super) fn abort_request(&mut self) {
        if let State::Asking(inference) = &mut self.state
            && inference.stop()
        {
            self.effects.push_back(Effect::Abort { inference: inference.number() });
        }
    }

    /// Judges the calls of a response that is complete or that is not read further.
    fn response_done(&mut self, inference: u32, response: Response) {
        if let Some(usage) = response.usage {
            self.record.usage.add(usage);
        }
        self.trace_llm_call(inference, &response);
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
