//! What a turn adds to the history of its conversation.

use super::super::ids::unique;
use super::super::result::{MessageCall, TurnMessage, TurnReasoning};
use super::outcomes::content;
use super::{Calling, Record};
use crate::json::Json;
use crate::provider;
use crate::text::is_blank;
use crate::tool::{Call, Fate, Outcome, Status};

impl Record {
    /// The messages of the turn so far. The text that was shown is divided by the calls, so text
    /// beside refused calls is part of what follows it.
    pub(super) fn messages(&self) -> Vec<TurnMessage> {
        let text = &self.progress.shown;
        let mut ids = self.conversation.given_ids();
        let mut messages = Vec::new();
        let (mut said, mut from) = (String::new(), 0);
        // A call of the provider's own tool that it never answered is refused without its result.
        let results = self.progress.hosted.iter().filter_map(|(_, block)| block.get("tool_use_id"));
        let answered: Vec<_> = results.filter_map(Json::as_str).collect();
        let is_open = |block: &Json<'static>| {
            let id = block.get("id").and_then(Json::as_str).unwrap_or_default();
            block.kind().is_some_and(|kind| kind.ends_with("_tool_use")) && !answered.contains(&id)
        };
        let closed = self.progress.hosted.iter().filter(|(_, block)| !is_open(block));
        let mut hosted = closed.peekable();
        let mut blocks = |before: usize| {
            let mut blocks = Vec::new();
            while let Some((_, block)) = hosted.next_if(|one| one.0 <= before) {
                blocks.push(block.clone());
            }
            blocks
        };
        let mut ran = Vec::new();
        for (at, calling) in self.closed.iter().enumerate() {
            ran.append(&mut blocks(at));
            let to = calling.place().shown.max(from);
            join(&mut said, text.get(from..to).unwrap_or_default());
            from = to;
            let (mut calls, mut results) = (Vec::new(), Vec::new());
            let mut sent = Vec::new();
            for (call, outcome) in calls_in_messages(calling) {
                let given = call.view().id.clone();
                let (call, result) = pair(call, outcome, &mut ids);
                sent.push((given, call.id.clone()));
                calls.push(call);
                results.push(result);
            }
            if !calls.is_empty() {
                let message_text = std::mem::take(&mut said);
                let provider_tools = std::mem::take(&mut ran);
                let message = spoken("assistant", message_text);
                let reasoning = self.reasoning(calling, &sent);
                let tool_calls = calls;
                messages.push(TurnMessage { tool_calls, provider_tools, reasoning, ..message });
                messages.append(&mut results);
            }
        }
        join(&mut said, text.get(from..).unwrap_or_default());
        ran.append(&mut blocks(usize::MAX));
        if !is_blank(&said) || !ran.is_empty() {
            messages.push(TurnMessage { provider_tools: ran, ..spoken("assistant", said) });
        }
        messages
    }
}

impl Record {
    /// What the provider wants back with these calls. `ids`: the provider's, and those of the
    /// messages.
    fn reasoning(&self, calling: &Calling, ids: &[(String, String)]) -> Option<TurnReasoning> {
        let ids: Vec<_> = ids.iter().map(|(given, sent)| (&**given, &**sent)).collect();
        let wire = self.conversation.wire();
        let recorded = provider::recorded(wire, &calling.exchange().reasoning, &ids)?;
        let member = |key| recorded.get(key).cloned();
        let (members, calls) = (member("members"), member("calls"));
        let (dialect, model) = (self.options.dialect, self.options.model.clone());
        Some(TurnReasoning { dialect, model, members, calls })
    }

    /// The ids of the calls of the batches that are closed. Some providers count the ids of calls
    /// anew in each response.
    pub(super) fn call_ids(&self) -> Vec<String> {
        let calls = self.closed.iter().flat_map(|calling| calling.batch().calls());
        calls.map(|call| call.view().id.clone()).collect()
    }

    /// The calls of the messages so far: the id there, the batch, and the provider's id.
    pub(in super::super) fn message_ids(&self) -> Vec<(String, u32, String)> {
        let mut ids = self.conversation.given_ids();
        let mut all = Vec::new();
        for calling in &self.closed {
            for (call, _) in calls_in_messages(calling) {
                all.push((id_of(call, &mut ids), calling.place().id, call.view().id.clone()));
            }
        }
        all
    }
}

/// The calls of a batch that are in messages, and their outcomes.
fn calls_in_messages(calling: &Calling) -> impl Iterator<Item = (&Call, &Outcome)> {
    let refused = |call: &Call| matches!(call.fate(), Fate::Refused(_));
    calling.settled().filter(move |one| !refused(one.0)).map(|(call, outcome, _)| (call, outcome))
}

/// The id of a call that no other one of the history has.
fn id_of(call: &Call, ids: &mut Vec<String>) -> String {
    let call_id = call.view().id.as_str();
    unique(if call_id.is_empty() { "call" } else { call_id }.to_owned(), ids)
}

/// Adds a text to one that it follows in the same message.
fn join(said: &mut String, text: &str) {
    if !said.is_empty() && !text.is_empty() {
        said.push_str("\n\n");
    }
    said.push_str(text);
}

fn spoken(role: &'static str, content: String) -> TurnMessage {
    TurnMessage {
        role,
        content,
        parts: Vec::new(),
        tool_calls: Vec::new(),
        provider_tools: Vec::new(),
        reasoning: None,
        tool_call_id: None,
        name: None,
        is_error: false,
    }
}

/// A call and its result.
fn pair(call: &Call, outcome: &Outcome, ids: &mut Vec<String>) -> (MessageCall, TurnMessage) {
    let view = call.view();
    let id = id_of(call, ids);
    let failed = outcome.status != Status::Ok;
    let result = TurnMessage {
        tool_call_id: Some(id.clone()),
        name: Some(view.name.clone()),
        is_error: failed,
        parts: outcome.media().map(|content| content.history()).unwrap_or_default(),
        ..spoken("tool", content(outcome))
    };
    (MessageCall { id, name: view.name.clone(), args: call.raw_args().clone() }, result)
}
