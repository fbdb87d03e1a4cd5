//! The events of a turn, as a list that a person can follow.

use std::cell::{Cell, RefCell};

use turnlock_client::turnlock::tool::Status;
use turnlock_client::turnlock::turn::{
    CallView, Event, EventKind, PhaseName, ResultView, TurnResult,
};
use web_sys::HtmlElement;

use crate::dom;

thread_local! {
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

/// A tool has been started: counted in it, the turn has no part in that.
pub fn count_run() {
    RUNS.set(RUNS.get() + 1);
}

/// The list, and the counts above it.
pub struct Timeline {
    list: HtmlElement,
    facts: HtmlElement,
    /// Neighbouring pieces of text are one row.
    said: RefCell<Option<HtmlElement>>,
}

impl Timeline {
    /// As the page begins.
    pub fn new() -> Self {
        Self { list: dom::by_id("timeline"), facts: dom::by_id("facts"), said: RefCell::default() }
    }

    /// Forgets the last turn.
    pub fn clear(&self) {
        dom::empty(&self.list);
        dom::empty(&self.facts);
        *self.said.borrow_mut() = None;
        RUNS.set(0);
    }

    /// Shows an event.
    pub fn add(&self, event: &Event) {
        match &event.kind {
            EventKind::Text { chunk, .. } => return self.say("Text: ", chunk),
            EventKind::Reasoning { chunk, .. } => return self.say("Reasoning: ", chunk),
            EventKind::PhaseStart { .. } => self.row("phase", phase_name(event.phase), &[]),
            EventKind::ToolCalls { calls, .. } => {
                for call in calls {
                    self.row("call", "Call ", &[&code(call)]);
                }
            }
            EventKind::ToolProgress { name, data, .. } => {
                self.row(
                    "note",
                    &format!("{name}: "),
                    &[&dom::element("code", "", &data.to_text())],
                );
            }
            EventKind::ToolResults { results, .. } => {
                results.iter().for_each(|one| self.result(one));
            }
            EventKind::Refused { calls, reason, notice, .. } => {
                for call in calls {
                    let strong = format!("Refused ({}): ", reason.name());
                    let told = format!("The model is told: “{notice}”");
                    let strong = dom::element("strong", "", &strong);
                    self.row(
                        "refused",
                        "",
                        &[&strong, &code(call), &dom::element("small", "", &told)],
                    );
                }
            }
            EventKind::Complete { composed, .. } => {
                let how = if *composed { ": composed from the results" } else { "" };
                self.row("end", &format!("Complete{how}"), &[]);
            }
            EventKind::Cancelled { reason, .. } => {
                self.row("bad", &format!("Cancelled: {reason}"), &[])
            }
            EventKind::Error { failure, .. } => {
                self.row("bad", &format!("Error {failure}"), &[]);
            }
            // The end of a phase. Turns of this page are not kept, so nothing waits for an approval.
            _ => {}
        }
        *self.said.borrow_mut() = None;
    }

    /// The numbers of a turn that has ended.
    pub fn end(&self, result: &TurnResult) {
        let repeats: u32 = result.repeats.iter().map(|(_, times)| times).sum();
        for (name, count) in [
            ("Model calls", result.inferences as usize),
            ("Tool results", result.tool_results.len()),
            ("Repeats not run", repeats as usize),
            ("Runs counted in list_files", RUNS.get() as usize),
        ] {
            dom::append(&self.facts, &dom::element("li", "", &format!("{name}: {count}")));
        }
    }

    fn result(&self, one: &ResultView) {
        let kind = if one.outcome.status == Status::Ok { "ok" } else { "bad" };
        let how = if one.replayed { ", replayed, not run again" } else { "" };
        let head = format!("{}: {}{how} ", one.name, one.outcome.status.name());
        let what = match (&one.outcome.error, &one.outcome.result) {
            (Some(error), _) => format!("{}: {}", error.code, error.message),
            (None, Some(result)) => result.to_text(),
            (None, None) => "nothing".to_owned(),
        };
        self.row(kind, &head, &[&dom::element("code", "", &what)]);
    }

    fn row(&self, kind: &str, text: &str, rest: &[&HtmlElement]) {
        let row = dom::element("li", kind, text);
        rest.iter().for_each(|one| dom::append(&row, one));
        dom::follow(&self.list, || dom::append(&self.list, &row));
    }

    fn say(&self, kind: &str, chunk: &str) {
        let mut said = self.said.borrow_mut();
        dom::follow(&self.list, || {
            let row = said.get_or_insert_with(|| {
                let row = dom::element("li", "said", kind);
                dom::append(&self.list, &row);
                row
            });
            dom::append_text(row, chunk);
        });
    }
}

fn phase_name(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Tool => "Tool phase",
        PhaseName::Action => "Action phase: the answer",
        PhaseName::Unified => "Unified loop",
        PhaseName::Complete => "Complete",
    }
}

fn code(call: &CallView) -> HtmlElement {
    dom::element("code", "", &format!("{} {}", call.name, call.args.to_text()))
}
