//! Events of the v2 API: <https://docs.cohere.com/v2/docs/streaming>.
//!
//! The plan before calls (`tool_plan`) is reasoning: Cohere describes it as a chain of thought, it
//! is no part of the message's content, and the AI SDK does not show it as text either.

use crate::json::Json;
use crate::stream::{
    Calls, Delta, Events, FinishReason, NO_INDEX, PART, Usage, arguments_text, count, event,
    failure, finished, has_unread, is_failure, list, part, push_finish, push_other, push_reasoning,
    push_text, text,
};

/// The state between two events.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Steps {
    calls: Calls,
    /// A part of the content that is thinking is open.
    thinks: bool,
    finished: bool,
}

impl Events for Steps {
    fn is_finished(&self) -> bool {
        self.finished
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let Some(event) = event(data, out) else { return };
        let at = count(&event, "index").unwrap_or(NO_INDEX);
        let delta = part(&event, "delta");
        let message = part(delta, "message");
        let call = part(message, "tool_calls");
        let function = part(call, "function");
        match text(&event, "type") {
            "content-start" | "content-delta" => self.content(part(message, "content"), out),
            "content-end" => self.content_end(out),
            "tool-plan-delta" => push_reasoning(text(message, "tool_plan"), None, out),
            "tool-call-start" => {
                self.calls.start(at, text(call, "id"), text(function, "name"), out);
                self.calls.arguments(at, &arguments(function), out);
                self.unread(at, call);
            }
            "tool-call-delta" if self.calls.arguments(at, &arguments(function), out) => {
                self.unread(at, call);
            }
            "tool-call-end" if self.calls.end(at, "", out) => {}
            "message-start" | "citation-end" => {}
            "message-end" => self.finish(delta, data, out),
            "" if event.get("finish_reason").is_some() => self.whole(&event, data, out),
            // `{"message": "…"}`
            "" if !text(&event, "message").is_empty() => {
                out.push(Delta::Error(failure(&event, data)));
            }
            "" if is_failure(&event, data, out) => {}
            _ => push_other(data, out),
        }
    }
}

impl Steps {
    /// Notes that a piece of a call has members that are not read.
    fn unread(&mut self, at: u64, call: &Json<'_>) {
        if is_unread(call) {
            self.calls.unread(at);
        }
    }

    /// Takes a response that is no stream.
    fn whole(&mut self, event: &Json<'_>, raw: &str, out: &mut Vec<Delta>) {
        let message = part(event, "message");
        push_reasoning(text(message, "tool_plan"), None, out);
        for part in list(message, "content") {
            self.content(part, out);
            self.content_end(out);
        }
        for call in list(message, "tool_calls") {
            let function = part(call, "function");
            let called = (text(call, "id"), text(function, "name"));
            if is_unread(call) {
                self.calls.whole_unread(called, &arguments(function), out);
            } else {
                self.calls.whole(called.0, called.1, &arguments(function), out);
            }
        }
        for citation in list(message, "citations") {
            push_other(&citation.to_text(), out);
        }
        self.finish(event, raw, out);
    }

    fn content(&mut self, part: &Json<'_>, out: &mut Vec<Delta>) {
        let thinking = text(part, "thinking");
        self.thinks |= !thinking.is_empty();
        push_reasoning(thinking, None, out);
        push_text(text(part, "text"), out);
    }

    /// Ends a part of the content. Thinking is marked, because it goes back there, and a plan not.
    fn content_end(&mut self, out: &mut Vec<Delta>) {
        if std::mem::take(&mut self.thinks) {
            push_reasoning("", Some(PART), out);
        }
    }

    /// `end` has the reason and the tokens.
    fn finish(&mut self, end: &Json<'_>, data: &str, out: &mut Vec<Delta>) {
        let raw = text(end, "finish_reason");
        let reason = match raw {
            "COMPLETE" | "STOP_SEQUENCE" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
            "TOOL_CALL" => FinishReason::ToolCalls,
            "ERROR_TOXIC" => FinishReason::ContentFilter,
            "TIMEOUT" => FinishReason::Error,
            "ERROR" => {
                if !is_failure(end, data, out) {
                    out.push(Delta::Error(failure(end, data)));
                }
                return;
            }
            _ => FinishReason::Other,
        };
        if matches!(reason, FinishReason::Stop | FinishReason::ToolCalls) {
            self.calls.complete(out);
        } else {
            self.calls.lose();
        }
        if !std::mem::replace(&mut self.finished, true) {
            push_finish(finished(reason, self.calls.any()), raw, out);
        }
        let usage = part(end, "usage");
        let tokens = part(usage, "tokens");
        if !tokens.is_null() {
            out.push(Delta::Usage(Usage {
                input_tokens: count(tokens, "input_tokens"),
                output_tokens: count(tokens, "output_tokens"),
                cached_input_tokens: count(usage, "cached_tokens"),
                cache_write_input_tokens: None,
                reasoning_tokens: None,
            }));
        }
    }
}

/// Whether a piece of a call has the form of another wire format, or members that are not read.
fn is_unread(call: &Json<'_>) -> bool {
    call.items().len() > 0
        || has_unread(call, &["id", "type", "index", "function"])
        || has_unread(part(call, "function"), &["name", "arguments", "description"])
        || part(call, "function").items().len() > 0
}

/// Cohere sends `null`, as a value or as text, for a tool without parameters.
fn arguments(function: &Json<'_>) -> String {
    Some(arguments_text(function, "arguments")).filter(|text| text != "null").unwrap_or_default()
}
