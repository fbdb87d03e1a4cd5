//! Outcomes and answers that the turn writes itself.

use super::super::event::ResultView;
use crate::tool::{Call, Outcome, Refusal, Status};

/// Characters of one result in a composed answer.
const COMPOSED_CHARS: usize = 2_000;

/// The outcome of a refused call in the unified loop, which needs a result for each call.
pub(super) fn soft_stop(call: &Call, refusal: Refusal) -> Outcome {
    let notice = Call::notice(refusal, &[call]);
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

/// The outcome of a call that was cancelled because the turn ended.
pub(super) fn cancelled() -> Outcome {
    let message = "the turn ended before the tool did";
    Outcome::failed(Status::Cancelled, "tool.cancelled", message)
}

/// Composes an answer from the results, for a model that gave no answer.
pub(crate) fn compose(results: impl Iterator<Item = ResultView>) -> String {
    let mut lines = Vec::new();
    for view in results.filter(|view| !view.replayed) {
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
