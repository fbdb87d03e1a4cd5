//! Events of Converse:
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.
//!
//! An event is an object with one member, its type. That is how the binary frames are handed over,
//! too.

use crate::json::{Json, object};
use crate::stream::{
    Calls, Delta, Events, FinishReason, Hosted, NO_INDEX, ProviderToolStatus, REDACTED, Sum, Usage,
    arguments_text, count, event, failure, finished, has_unread, list, part, push_finish,
    push_other, push_reasoning, push_text, push_tool, text,
};

/// The state between two events.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Blocks {
    calls: Calls,
    /// The open block of a tool that Bedrock runs itself.
    hosted: Option<(u64, Hosted)>,
    finished: bool,
}

impl Events for Blocks {
    fn is_finished(&self) -> bool {
        self.finished
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let Some(event) = event(data, out) else { return };
        let message = part(part(&event, "output"), "message");
        if !message.is_null() {
            self.whole(message, &event, out);
            return;
        }
        let Some((kind, event)) = event.members().next() else { return };
        let at = count(event, "contentBlockIndex").unwrap_or(NO_INDEX);
        match kind {
            "contentBlockStart" => self.start(at, event, data, out),
            "contentBlockDelta" => self.delta(at, part(event, "delta"), data, out),
            "contentBlockStop" => {
                self.calls.end(at, "", out);
                if let Some((_, block)) = self.hosted.take_if(|open| open.0 == at) {
                    block.end("", out);
                }
            }
            "messageStart" => {}
            "messageStop" => self.finish(event, out),
            "metadata" => usage(event, out),
            // `{"message": "…"}`, as a failure before the stream is written.
            "message" | "Message" | "error" => {
                out.push(Delta::Error(failure(event, data)));
            }
            kind if kind.ends_with("Exception") => {
                let error = object! {
                    "type": Json::from(kind),
                    "message": Json::from(text(event, "message")),
                };
                out.push(Delta::Error(failure(&error, data)));
            }
            _ => push_other(data, out),
        }
    }
}

impl Blocks {
    fn start(&mut self, at: u64, event: &Json<'_>, raw: &str, out: &mut Vec<Delta>) {
        let start = part(event, "start");
        let call = part(start, "toolUse");
        if call.as_object().is_some() && call.get("type").is_none() {
            self.calls.start(at, text(call, "toolUseId"), text(call, "name"), out);
            let input = arguments_text(call, "input");
            // An empty object stands for the pieces that follow.
            if Sum::of(&input) != Sum::of("{}") {
                self.calls.expect(at, &input);
            }
        } else if let Some((called, status)) = hosted(start) {
            // Input and content come behind the start.
            let rest = if call.is_null() { ("content\":[", "]}}") } else { ("input\":", "}}") };
            self.hosted = Some((at, Hosted::new(called, status, start, rest)));
        } else if start.members().len() > 0 {
            push_other(raw, out);
        }
    }

    fn delta(&mut self, at: u64, delta: &Json<'_>, raw: &str, out: &mut Vec<Delta>) {
        let reasoning = part(delta, "reasoningContent");
        let call = part(delta, "toolUse");
        let input = call.get("input").map(|_| arguments_text(call, "input"));
        push_text(text(delta, "text"), out);
        push_reasoning(text(reasoning, "text"), Some(text(reasoning, "signature")), out);
        // The member is called `data` in the SDKs.
        push_redacted(text(reasoning, "redactedContent"), out);
        push_redacted(text(reasoning, "data"), out);
        if let Some((_, block)) = self.hosted.as_mut().filter(|open| open.0 == at) {
            block.add(input.as_deref().unwrap_or_default(), false, out);
            for piece in list(delta, "toolResult") {
                block.add(&piece.to_text(), true, out);
            }
            return;
        }
        let known = delta.get("text").is_some() || !reasoning.is_null();
        if has_unread(call, &["input"]) {
            self.calls.unread(at);
        }
        if !known && !input.is_some_and(|piece| self.calls.arguments(at, &piece, out)) {
            push_other(raw, out);
        }
    }

    /// Takes a response that is no stream.
    fn whole(&mut self, message: &Json<'_>, all: &Json<'_>, out: &mut Vec<Delta>) {
        for block in list(message, "content") {
            let reasoning = part(block, "reasoningContent");
            let call = part(block, "toolUse");
            push_text(text(block, "text"), out);
            let said = part(reasoning, "reasoningText");
            push_reasoning(text(said, "text"), Some(text(said, "signature")), out);
            push_redacted(text(reasoning, "redactedContent"), out);
            if call.as_object().is_some() && call.get("type").is_none() {
                let input = arguments_text(call, "input");
                self.calls.whole(text(call, "toolUseId"), text(call, "name"), &input, out);
            } else if let Some((called, status)) = hosted(block) {
                push_tool(called, status, (block.to_text(), true), out);
            } else if block.get("text").is_none() && reasoning.is_null() {
                push_other(&block.to_text(), out);
            }
        }
        self.finish(all, out);
        usage(all, out);
    }

    fn finish(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        let raw = text(event, "stopReason");
        let reason = match raw {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "tool_use" => FinishReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "guardrail_intervened" | "content_filtered" => FinishReason::ContentFilter,
            "malformed_model_output" | "malformed_tool_use" => FinishReason::Error,
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
    }
}

/// A call of a tool that Bedrock runs itself, or its result: its name, its id, and how far it is. A
/// result has the call's name in its type only (`nova_grounding_result`).
fn hosted<'a>(block: &'a Json<'_>) -> Option<((&'a str, &'a str), ProviderToolStatus)> {
    if let Some(call) = block.get("toolUse") {
        let called = (text(call, "name"), text(call, "toolUseId"));
        return Some((called, ProviderToolStatus::Running));
    }
    let result = block.get("toolResult")?;
    let kind = text(result, "type");
    let failed = text(result, "status") == "error";
    let status = if failed { ProviderToolStatus::Failed } else { ProviderToolStatus::Done };
    Some(((kind.strip_suffix("_result").unwrap_or(kind), text(result, "toolUseId")), status))
}

/// Cached tokens are counted beside the input.
fn usage(event: &Json<'_>, out: &mut Vec<Delta>) {
    let usage = part(event, "usage");
    let cached = count(usage, "cacheReadInputTokens");
    let written = count(usage, "cacheWriteInputTokens");
    let beside = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let input = count(usage, "inputTokens");
    if !usage.is_null() {
        out.push(Delta::Usage(Usage {
            input_tokens: input.map(|input| input.saturating_add(beside)),
            output_tokens: count(usage, "outputTokens"),
            cached_input_tokens: cached,
            cache_write_input_tokens: written,
            reasoning_tokens: None,
        }));
    }
}

fn push_redacted(data: &str, out: &mut Vec<Delta>) {
    if !data.is_empty() {
        push_reasoning("", Some(&[REDACTED, data].concat()), out);
    }
}
