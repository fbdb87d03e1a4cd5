//! The end of the tool phase, and the action phase's decisions.

use super::machine::Turn;
use super::snapshot::Point;
use crate::tool::Status;
use crate::trace::{EventKind, PhaseName};

/// Characters of one result in a composed answer.
const COMPOSED_CHARS: usize = 2_000;

impl Turn {
    /// Continues after a batch of the tool phase, or after an inference that executed no call.
    pub(super) fn after_tools(&mut self, executed: u32) {
        if executed > 0 && self.budget() > 0 && !self.record.pause {
            self.ask();
        } else {
            self.end_tool_phase();
        }
    }

    pub(super) fn end_tool_phase(&mut self) {
        if self.options.policy.pause_after_tools || self.record.pause {
            return self.paused(Point::Action, Vec::new());
        }
        self.phase_ended();
        self.enter(PhaseName::Action);
        self.ask();
    }

    /// Continues after an inference of the action phase. `refused`: the model requested calls that
    /// did not run. `elsewhere`: one of these calls would run in a tool phase.
    pub(super) fn after_action(&mut self, executed: u32, refused: bool, elsewhere: bool) {
        if executed > 0 {
            return self.ask();
        }
        if elsewhere && self.cycle < self.options.policy.max_cycles {
            self.cycle += 1;
            self.phase_ended();
            self.enter(PhaseName::Tool);
            return self.ask();
        }
        if !self.phase.text.trim().is_empty() {
            return self.complete(false);
        }
        if refused && !self.phase.last_chance {
            self.phase.last_chance = true;
            return self.ask();
        }
        let answer = self.compose();
        self.phase.text.push_str(&answer);
        self.record.shown.push_str(&answer);
        self.emit(EventKind::Text(answer));
        self.complete(true);
    }

    /// Composes an answer from the results, for a model that gave no answer.
    fn compose(&self) -> String {
        let mut lines = Vec::new();
        for view in self.record.results.iter().filter(|view| !view.replayed) {
            let result = view.outcome.for_model();
            let mut text: String = result.chars().take(COMPOSED_CHARS).collect();
            if text.len() < result.len() {
                text.push('…');
            }
            let label = match view.outcome.status {
                Status::Ok => String::new(),
                status => format!(" ({})", status.name()),
            };
            lines.push(format!("{}{label}: {text}", view.name));
        }
        if lines.is_empty() {
            return "The model gave no answer, and no tool was run.".to_owned();
        }
        format!("The model gave no answer. These are the tool results:\n\n{}", lines.join("\n\n"))
    }
}
