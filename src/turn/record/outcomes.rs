//! Outcomes and answers that the turn writes itself.

use super::super::event::ResultView;
use crate::tool::{Call, Fate, Outcome, Refusal, Status, plain_name};

/// Characters of one result in a composed answer.
const COMPOSED_CHARS: usize = 2_000;

/// The outcome of a refused call in the unified loop, which needs a result for each call.
pub(super) fn soft_stop(call: &Call, refusal: Refusal, has_results: bool) -> Outcome {
    let notice = Call::notice(refusal, &[call], has_results);
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

/// The notice for a repeated call that got the outcome of the first one.
pub(super) fn repeated(name: &str) -> String {
    let name = plain_name(name);
    format!(
        "The call to {name} is identical to an earlier one of this turn. It did not run again: its \
         result is that of the earlier call."
    )
}

/// The answer to a call in the provider's own messages.
pub(super) fn answer(call: &Call, outcome: &Outcome) -> String {
    let answer = outcome.for_model();
    if call.fate() != Fate::Replay {
        return answer;
    }
    format!("{}\n{answer}", repeated(&call.view().name))
}

/// The outcome of a call that was cancelled because the turn ended.
pub(super) fn cancelled() -> Outcome {
    let message = "the turn ended before the tool did";
    Outcome::failed(Status::Cancelled, "tool.cancelled", message)
}

/// Composes an answer from the results, for a model that gave no answer.
pub(crate) fn compose(results: impl Iterator<Item = ResultView>) -> String {
    let mut lines = Vec::new();
    let is_own = |view: &ResultView| {
        !view.replayed && !matches!(view.outcome.status, Status::Blocked | Status::Skipped)
    };
    for view in results.filter(is_own) {
        let result = view.outcome.for_model();
        let cut = result.chars().nth(COMPOSED_CHARS).is_some();
        let mut text = String::new();
        for c in result.chars().take(COMPOSED_CHARS) {
            text.push(c);
            // A line of a result begins no line of the answer: it could say what another tool did.
            if matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}') {
                text.push_str("  ");
            }
        }
        if cut {
            text.push('…');
        }
        let label = match view.outcome.status {
            Status::Ok => String::new(),
            status => format!(" ({})", status.name()),
        };
        lines.push(format!("{}{label}: {text}", plain_name(&view.name)));
    }
    if lines.is_empty() {
        return "The model gave no answer, and no tool was run.".to_owned();
    }
    format!("The model gave no answer. These are the tool results:\n\n{}", lines.join("\n\n"))
}
