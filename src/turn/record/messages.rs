//! What a turn adds to the history of its conversation.

use super::super::prompt::unique;
use super::super::result::{MessageCall, TurnMessage};
use super::{Calling, Record};
use crate::tool::{Call, Fate, Outcome, Status};

/// What the history has as the result of a call that returned nothing. Some providers refuse an
/// empty result.
const EMPTY: &str = "(empty)";

impl Record {
    /// The messages of the turn so far. The text that was shown is divided by the calls, so text
    /// beside refused calls is part of what follows it.
    pub(super) fn messages(&self) -> Vec<TurnMessage> {
        let shown = &self.progress.shown;
        let mut ids = self.conversation.given_ids();
        let mut messages = Vec::new();
        let (mut said, mut from) = (String::new(), 0);
        for calling in &self.closed {
            let to = calling.place().shown.max(from);
            join(&mut said, shown.get(from..to).unwrap_or_default());
            from = to;
            let (mut calls, mut results) = (Vec::new(), Vec::new());
            for (call, outcome) in given(calling) {
                let (call, result) = pair(call, outcome, &mut ids);
                calls.push(call);
                results.push(result);
            }
            if !calls.is_empty() {
                let said = std::mem::take(&mut said);
                messages.push(TurnMessage { tool_calls: calls, ..spoken("assistant", said) });
                messages.append(&mut results);
            }
        }
        join(&mut said, shown.get(from..).unwrap_or_default());
        if !said.trim().is_empty() {
            messages.push(spoken("assistant", said));
        }
        messages
    }
}

impl Record {
    /// The calls of the messages so far: the id there, the batch, and the provider's id.
    pub(in super::super) fn message_ids(&self) -> Vec<(String, u32, String)> {
        let mut ids = self.conversation.given_ids();
        let mut all = Vec::new();
        for calling in &self.closed {
            for (call, _) in given(calling) {
                all.push((id_of(call, &mut ids), calling.place().id, call.view().id.clone()));
            }
        }
        all
    }
}

/// The calls of a batch that are in messages, and their outcomes.
fn given(calling: &Calling) -> impl Iterator<Item = (&Call, &Outcome)> {
    let refused = |call: &Call| matches!(call.fate(), Fate::Refused(_));
    calling.settled().filter(move |one| !refused(one.0)).map(|(call, outcome, _)| (call, outcome))
}

/// The id of a call that no other one of the history has.
fn id_of(call: &Call, ids: &mut Vec<String>) -> String {
    let given = call.view().id.as_str();
    unique(if given.is_empty() { "call" } else { given }.to_owned(), ids)
}

/// Adds a text to one that it follows in the same message.
fn join(said: &mut String, text: &str) {
    if !said.is_empty() && !text.is_empty() {
        said.push_str("\n\n");
    }
    said.push_str(text);
}

fn spoken(role: &'static str, content: String) -> TurnMessage {
    let tool_calls = Vec::new();
    TurnMessage { role, content, tool_calls, tool_call_id: None, name: None, is_error: false }
}

/// A call and its result.
fn pair(call: &Call, outcome: &Outcome, ids: &mut Vec<String>) -> (MessageCall, TurnMessage) {
    let view = call.view();
    let id = id_of(call, ids);
    let failed = outcome.status != Status::Ok;
    let content = match &outcome.error {
        Some(error) if outcome.result.is_none() => error.message.clone(),
        _ => outcome.for_model(),
    };
    let content = if content.trim().is_empty() { EMPTY.to_owned() } else { content };
    let result = TurnMessage {
        tool_call_id: Some(id.clone()),
        name: Some(view.name.clone()),
        is_error: failed,
        ..spoken("tool", content)
    };
    (MessageCall { id, name: view.name.clone(), args: call.raw_args().clone() }, result)
}
