//! Events of the v2 API: <https://docs.cohere.com/v2/docs/streaming>.
//!
//! The plan before calls (`tool_plan`) is reasoning: Cohere describes it as a chain of thought, it
//! is no part of the message's content, and the AI SDK does not show it as text either.

use crate::json::Json;
use crate::stream::{
    Calls, Delta, Events, FinishReason, Usage, event, failure, finished, push_reasoning, push_text,
};

/// The state between two events.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Steps {
    calls: Calls,
    finished: bool,
}

impl Events for Steps {
    fn is_finished(&self) -> bool {
        self.finished
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let Some(event) = event(data, out) else { return };
        let at = event.get("index").and_then(Json::as_u64).unwrap_or(0);
        let delta = event.get("delta").unwrap_or(&Json::Null);
        let message = delta.get("message").unwrap_or(&Json::Null);
        match event.get("type").and_then(Json::as_str).unwrap_or_default() {
            "content-start" | "content-delta" => {
                content(message.get("content").unwrap_or(&Json::Null), out);
            }
            "tool-plan-delta" => push_reasoning(member(message, "tool_plan"), None, out),
            "tool-call-start" => {
                let call = message.get("tool_calls").unwrap_or(&Json::Null);
                let function = call.get("function").unwrap_or(&Json::Null);
                self.calls.start(at, member(call, "id"), member(function, "name"), out);
                self.calls.arguments(at, arguments(function), out);
            }
            "tool-call-delta" => {
                let function = message.get("tool_calls").and_then(|call| call.get("function"));
                let piece = function.map(arguments).unwrap_or_default();
                if !self.calls.arguments(at, piece, out) {
                    other(data, out);
                }
            }
            "tool-call-end" => {
                if !self.calls.end(at, "", out) {
                    other(data, out);
                }
            }
            "message-start" | "content-end" | "citation-end" => {}
            "message-end" => self.finish(delta, data, out),
            "" if event.get("finish_reason").is_some() => self.whole(&event, data, out),
            // `{"message": "…"}`
            "" if event.get("message").is_some_and(|said| said.as_str().is_some()) => {
                out.push(Delta::Error(failure(&event, data)));
            }
            "" if event.get("error").is_some_and(|error| !error.is_null()) => {
                out.push(Delta::Error(failure(event.get("error").unwrap_or(&event), data)));
            }
            _ => other(data, out),
        }
    }
}

impl Steps {
    /// Takes a response that is no stream.
    fn whole(&mut self, event: &Json<'_>, raw: &str, out: &mut Vec<Delta>) {
        let message = event.get("message").unwrap_or(&Json::Null);
        push_reasoning(member(message, "tool_plan"), None, out);
        for part in message.get("content").into_iter().flat_map(Json::items) {
            content(part, out);
        }
        for call in message.get("tool_calls").into_iter().flat_map(Json::items) {
            let function = call.get("function").unwrap_or(&Json::Null);
            let name = member(function, "name");
            self.calls.whole(member(call, "id"), name, arguments(function), out);
        }
        for citation in message.get("citations").into_iter().flat_map(Json::items) {
            other(&citation.to_text(), out);
        }
        self.finish(event, raw, out);
    }

    /// `end` has the reason and the tokens.
    fn finish(&mut self, end: &Json<'_>, data: &str, out: &mut Vec<Delta>) {
        let raw = member(end, "finish_reason");
        let reason = match raw {
            "COMPLETE" | "STOP_SEQUENCE" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
            "TOOL_CALL" => FinishReason::ToolCalls,
            "ERROR_TOXIC" => FinishReason::ContentFilter,
            "TIMEOUT" => FinishReason::Error,
            "ERROR" => {
                let error = end.get("error").unwrap_or(end);
                out.push(Delta::Error(failure(error, data)));
                return;
            }
            _ => FinishReason::Other,
        };
        if !std::mem::replace(&mut self.finished, true) {
            let reason = finished(reason, self.calls.any());
            out.push(Delta::Finish { reason, raw: raw.to_owned() });
        }
        let Some(usage) = end.get("usage") else { return };
        let tokens = usage.get("tokens").or_else(|| usage.get("billed_units"));
        let number = |key: &str| tokens?.get(key)?.as_u64();
        out.push(Delta::Usage(Usage {
            input_tokens: number("input_tokens"),
            output_tokens: number("output_tokens"),
            cached_input_tokens: usage.get("cached_tokens").and_then(Json::as_u64),
            reasoning_tokens: None,
        }));
    }
}

fn content(part: &Json<'_>, out: &mut Vec<Delta>) {
    push_reasoning(member(part, "thinking"), None, out);
    push_text(member(part, "text"), out);
}

/// Cohere sends `null`, as a value or as text, for a tool without parameters.
fn arguments<'a>(function: &'a Json<'_>) -> &'a str {
    Some(member(function, "arguments")).filter(|text| *text != "null").unwrap_or_default()
}

fn member<'a>(of: &'a Json<'_>, key: &str) -> &'a str {
    of.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn other(raw: &str, out: &mut Vec<Delta>) {
    out.push(Delta::Other { raw: raw.to_owned() });
}
