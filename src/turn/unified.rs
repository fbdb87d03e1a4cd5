//! Unified mode: the plain loop of model and tools, with its soft stop and its step cap.

use super::machine::Turn;
use super::snapshot::Point;
use crate::tool::{Outcome, Refusal, Status};

impl Turn {
    /// Whether the current inference is the last one that the policy allows.
    pub(super) fn is_last_step(&self) -> bool {
        self.phase.inferences >= self.options.policy.max_steps
    }

    /// Returns the outcome of a refused call, because the loop needs a result for each call.
    pub(super) fn soft_stop(&self, refusal: Refusal, notice: &str) -> Outcome {
        match refusal {
            Refusal::Duplicate => {
                Outcome::told(Status::Blocked, format!("DUPLICATE_BLOCKED: {notice}"))
            }
            Refusal::Budget => Outcome::told(Status::Skipped, notice),
            Refusal::InvalidArguments
            | Refusal::NotAllowed
            | Refusal::NotApproved
            | Refusal::ToolsDisabled
            | Refusal::UnknownTool => Outcome::told(Status::Blocked, notice),
        }
    }

    /// Continues after a step with calls.
    pub(super) fn after_step(&mut self) {
        if self.is_last_step() {
            self.complete(false);
        } else if self.record.pause {
            self.paused(Point::Step, Vec::new());
        } else {
            self.ask();
        }
    }
}
