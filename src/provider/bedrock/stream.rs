//! Events of Converse:
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.
//!
//! An event is an object with one member, its type. That is how the binary frames are handed over,
//! too.

use crate::json::Json;
use crate::stream::{
    Calls, Delta, Events, FinishReason, REDACTED, Usage, event, failure, finished, push_reasoning,
    push_text,
};

/// The state between two events.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Blocks {
    calls: Calls,
    finished: bool,
}

impl Events for Blocks {
    fn is_finished(&self) -> bool {
        self.finished
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let Some(event) = event(data, out) else { return };
        if let Some(message) = event.get("output").and_then(|output| output.get("message")) {
            self.whole(message, &event, out);
            return;
        }
        let Some((kind, event)) = event.members().next() else { return };
        let at = event.get("contentBlockIndex").and_then(Json::as_u64).unwrap_or(0);
        match kind {
            "contentBlockStart" => self.start(at, event, data, out),
            "contentBlockDelta" => {
                let delta = event.get("delta").unwrap_or(&Json::Null);
                self.delta(at, delta, data, out);
            }
            "contentBlockStop" => {
                self.calls.end(at, "", out);
            }
            "messageStart" => {}
            "messageStop" => self.finish(event, out),
            "metadata" => usage(event, out),
            // `{"message": "…"}`, as a failure before the stream is written.
            "message" | "Message" | "error" => {
                let whole = Json::Object(vec![("message".into(), event.clone())]);
                let error = if event.as_str().is_some() { &whole } else { event };
                out.push(Delta::Error(failure(error, data)));
            }
            kind if kind.ends_with("Exception") => {
                let message = event.get("message").cloned().unwrap_or_default();
                let error = vec![("type".into(), kind.into()), ("message".into(), message)];
                out.push(Delta::Error(failure(&Json::Object(error), data)));
            }
            _ => other(data, out),
        }
    }
}

impl Blocks {
    fn start(&mut self, at: u64, event: &Json<'_>, raw: &str, out: &mut Vec<Delta>) {
        let start = event.get("start").unwrap_or(&Json::Null);
        match start.get("toolUse") {
            // Tools with a type are run by Bedrock.
            Some(call) if call.get("type").is_none() => {
                let text = |key: &str| call.get(key).and_then(Json::as_str).unwrap_or_default();
                self.calls.start(at, text("toolUseId"), text("name"), out);
            }
            None if start.members().len() == 0 => {}
            _ => other(raw, out),
        }
    }

    fn delta(&mut self, at: u64, delta: &Json<'_>, raw: &str, out: &mut Vec<Delta>) {
        let reasoning = delta.get("reasoningContent");
        if let Some(text) = delta.get("text").and_then(Json::as_str) {
            push_text(text, out);
        } else if let Some(reasoning) = reasoning.filter(|block| block.members().len() > 0) {
            let text = |key: &str| reasoning.get(key).and_then(Json::as_str);
            push_reasoning(text("text").unwrap_or_default(), text("signature"), out);
            // The member is called `data` in the provider's own Anthropic models.
            push_redacted(text("redactedContent").or_else(|| text("data")), out);
        } else {
            let input = delta.get("toolUse").and_then(|call| call.get("input"));
            let piece = input.and_then(Json::as_str);
            if !piece.is_some_and(|piece| self.calls.arguments(at, piece, out)) {
                other(raw, out);
            }
        }
    }

    /// Takes a response that is no stream.
    fn whole(&mut self, message: &Json<'_>, all: &Json<'_>, out: &mut Vec<Delta>) {
        for block in message.get("content").into_iter().flat_map(Json::items) {
            let reasoning = block.get("reasoningContent");
            let call = block.get("toolUse").filter(|call| call.get("type").is_none());
            if let Some(text) = block.get("text").and_then(Json::as_str) {
                push_text(text, out);
            } else if let Some(block) = reasoning {
                let said = block.get("reasoningText");
                let text = |key: &str| said?.get(key)?.as_str();
                push_reasoning(text("text").unwrap_or_default(), text("signature"), out);
                push_redacted(block.get("redactedContent").and_then(Json::as_str), out);
            } else if let Some(call) = call {
                let text = |key: &str| call.get(key).and_then(Json::as_str).unwrap_or_default();
                let input = call.get("input").map(Json::to_text).unwrap_or_default();
                self.calls.whole(text("toolUseId"), text("name"), &input, out);
            } else {
                other(&block.to_text(), out);
            }
        }
        self.finish(all, out);
        usage(all, out);
    }

    fn finish(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        let raw = event.get("stopReason").and_then(Json::as_str).unwrap_or_default();
        let reason = match raw {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "tool_use" => FinishReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "guardrail_intervened" | "content_filtered" => FinishReason::ContentFilter,
            "malformed_model_output" | "malformed_tool_use" => FinishReason::Error,
            _ => FinishReason::Other,
        };
        if !std::mem::replace(&mut self.finished, true) {
            let reason = finished(reason, self.calls.any());
            out.push(Delta::Finish { reason, raw: raw.to_owned() });
        }
    }
}

/// Cached tokens are counted beside the input.
fn usage(event: &Json<'_>, out: &mut Vec<Delta>) {
    let Some(usage) = event.get("usage") else { return };
    let number = |key: &str| usage.get(key).and_then(Json::as_u64);
    let cached = number("cacheReadInputTokens");
    let beside = cached.unwrap_or(0).saturating_add(number("cacheWriteInputTokens").unwrap_or(0));
    out.push(Delta::Usage(Usage {
        input_tokens: number("inputTokens").map(|input| input.saturating_add(beside)),
        output_tokens: number("outputTokens"),
        cached_input_tokens: cached,
        reasoning_tokens: None,
    }));
}

fn push_redacted(data: Option<&str>, out: &mut Vec<Delta>) {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        push_reasoning("", Some(&[REDACTED, data].concat()), out);
    }
}

fn other(raw: &str, out: &mut Vec<Delta>) {
    out.push(Delta::Other { raw: raw.to_owned() });
}
