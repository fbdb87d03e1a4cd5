//! A conversation as signals, and the turns that fill them.

use std::sync::Arc;

use futures::StreamExt;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::{Value, json};
use turnlock_client::store::MemoryStore;
use turnlock_client::turnlock::turn::{EventKind, Policy};
use turnlock_client::{
    Approval, CallView, Control, Error, Model, ResumeOptions, RunningTurn, TurnOptions, TurnStatus,
    resume_turn, run_turn,
};

use crate::tools::tools;

/// Something that was said or that happened.
#[derive(Clone)]
pub struct Line {
    pub id: usize,
    pub kind: &'static str,
    pub text: ArcRwSignal<String>,
}

#[derive(Clone, Copy)]
pub struct Chat {
    pub lines: RwSignal<Vec<Line>>,
    /// Stops the turn that runs.
    pub running: RwSignal<Option<Control>, LocalStorage>,
    /// The turn that waits for the user, and the calls that need approval.
    pub waiting: RwSignal<Option<(Arc<str>, Vec<CallView>)>>,
    history: StoredValue<Vec<Value>>,
    /// Keeps a turn while it waits.
    store: StoredValue<MemoryStore, LocalStorage>,
}

impl Chat {
    pub fn new() -> Self {
        let chat = Self {
            lines: RwSignal::default(),
            running: RwSignal::new_local(None),
            waiting: RwSignal::default(),
            history: StoredValue::default(),
            store: StoredValue::new_local(MemoryStore::new()),
        };
        // A turn ends with the component that shows it.
        on_cleanup(move || chat.stop());
        chat
    }

    pub fn is_idle(self) -> bool {
        self.running.read().is_none() && self.waiting.read().is_none()
    }

    /// Runs a turn over the conversation and what the user says now.
    pub fn send(self, model: Model, text: &str) {
        self.add("user", text);
        self.history.update_value(|said| said.push(json!({ "role": "user", "content": text })));
        let options = TurnOptions::new(model, self.history.get_value())
            .policy(Policy::default().max_tools(2))
            .tools(tools())
            .store(self.store.get_value());
        self.follow(run_turn(options));
    }

    /// Goes on with the turn that waits.
    pub fn decide(self, model: Model, approved: bool) {
        let Some((id, calls)) = self.waiting.write().take() else { return };
        let approvals = calls.into_iter().map(|call| Approval::new(call.signature, approved));
        let options = ResumeOptions::new(&*id, self.store.get_value(), model).tools(tools());
        self.follow(resume_turn(options.approvals(approvals)));
    }

    /// Closes the model's response and drops the tools that run.
    pub fn stop(self) {
        if let Some(turn) = self.running.get_untracked() {
            turn.cancel("stopped by the user");
        }
    }

    fn follow(self, turn: Result<RunningTurn, Error>) {
        let mut turn = match turn {
            Ok(turn) => turn,
            Err(error) => return self.add("error", &error.to_string()),
        };
        self.running.set(Some(turn.control()));
        spawn_local(async move {
            let mut asked = Vec::new();
            while let Some(event) = turn.next().await {
                match event.kind {
                    EventKind::ApprovalRequired { calls, .. } => asked.extend(calls),
                    kind => self.show(&kind),
                }
            }
            let result = turn.result().await;
            self.running.set(None);
            if result.status == TurnStatus::Paused {
                return self.waiting.set(Some((result.request_id, asked)));
            }
            // Calls, their results, the answer: what the model is to know of this turn.
            let messages = result.messages.iter().map(|message| message.to_json().into());
            self.history.update_value(|said| said.extend(messages));
        });
    }

    fn show(self, event: &EventKind) {
        match event {
            EventKind::Text { chunk, .. } => self.add("text", chunk),
            EventKind::ToolCalls { calls, .. } => self.add("call", &written(calls)),
            EventKind::ToolResults { results, .. } => results.iter().for_each(|one| {
                let error = one.outcome.error.as_ref();
                let error = error.map(|error| format!("{}: {}", error.code, error.message));
                let result = one.outcome.result.as_ref().map(|result| result.to_text());
                let came = error.or(result).unwrap_or_default();
                let again = if one.replayed { " (not run again)" } else { "" };
                self.add("result", &format!("{}{again}: {came}", one.name));
            }),
            EventKind::Refused { calls, reason, .. } => {
                self.add("refused", &format!("{} ({})", written(calls), reason.name()));
            }
            EventKind::Cancelled { reason, .. } => self.add("error", reason),
            EventKind::Error { failure, .. } => self.add("error", &failure.to_string()),
            _ => {}
        }
    }

    /// A piece of text goes on the line of the last one; the list is told of new lines only.
    fn add(self, kind: &'static str, text: &str) {
        self.lines.maybe_update(|lines| {
            if let Some(line) = lines.last().filter(|last| kind == "text" && last.kind == kind) {
                line.text.update(|said| said.push_str(text));
                return false;
            }
            lines.push(Line { id: lines.len(), kind, text: ArcRwSignal::new(text.to_owned()) });
            true
        });
    }
}

/// Calls as a person reads them.
pub fn written(calls: &[CallView]) -> String {
    let calls = calls.iter().map(|call| format!("{} {}", call.name, call.args.to_text()));
    calls.collect::<Vec<_>>().join(", ")
}
