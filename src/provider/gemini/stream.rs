//! Responses of `generateContent` and `streamGenerateContent`:
//! <https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse>.
//!
//! Each event is a response of its own with more parts. Calls are whole, or (Vertex, on request)
//! their arguments arrive by JSON path. A signature belongs to the part that it comes with; in the
//! deltas it is reasoning without text, before the call or behind the text of that part.

use crate::json::Json;
use crate::limits;
use crate::stream::{
    Calls, Counts, Delta, Events, FinishReason, Usage, event, failure, finished, malformed,
    push_reasoning, push_text,
};

mod partial;

/// The key of the one call that can be open.
const OPEN: u64 = 0;

/// The state between two events.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Parts {
    calls: Calls,
    /// The arguments of the open call, as far as they were received.
    arguments: Json<'static>,
    /// Bytes of these arguments.
    held: usize,
    counts: Counts,
    finish: Option<(FinishReason, String)>,
}

impl Events for Parts {
    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let Some(event) = event(data, out) else { return };
        // Some gateways wrap each event.
        let event = event.get("response").unwrap_or(&event);
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            out.push(Delta::Error(failure(error, data)));
            return;
        }
        let blocked = event.get("promptFeedback").and_then(|said| said.get("blockReason"));
        let candidates = event.get("candidates");
        if candidates.is_none() && blocked.is_none() && event.get("usageMetadata").is_none() {
            other(event, out);
            return;
        }
        // A further candidate is an alternative answer, which was not requested.
        let first = candidates.into_iter().flat_map(Json::items).find(|candidate| {
            candidate.get("index").and_then(Json::as_u64).is_none_or(|index| index == 0)
        });
        if let Some(candidate) = first {
            self.candidate(candidate, out);
        }
        if let Some(raw) = blocked.and_then(Json::as_str) {
            self.finish(FinishReason::ContentFilter, raw, out);
        }
        self.usage(event, out);
    }
}

impl Parts {
    fn candidate(&mut self, candidate: &Json<'_>, out: &mut Vec<Delta>) {
        let content = candidate.get("content").and_then(|content| content.get("parts"));
        for part in content.into_iter().flat_map(Json::items) {
            self.part(part, out);
            if matches!(out.last(), Some(Delta::Error(_))) {
                return;
            }
        }
        for key in ["groundingMetadata", "citationMetadata", "urlContextMetadata"] {
            if let Some(found) = candidate.get(key) {
                other(&Json::Object(vec![(key.into(), found.clone())]), out);
            }
        }
        let Some(raw) = candidate.get("finishReason").and_then(Json::as_str) else { return };
        let reason = match raw {
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => FinishReason::ContentFilter,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => FinishReason::Error,
            // The default value, which says nothing.
            "FINISH_REASON_UNSPECIFIED" => return,
            _ => FinishReason::Other,
        };
        if reason == FinishReason::Stop {
            self.end(out);
        }
        self.finish(finished(reason, self.calls.any()), raw, out);
    }

    /// Older models repeat the reason with every event: it counts again if it is another one.
    fn finish(&mut self, reason: FinishReason, raw: &str, out: &mut Vec<Delta>) {
        if self.finish.as_ref().is_none_or(|before| before.0 != reason || before.1 != raw) {
            self.finish = Some((reason, raw.to_owned()));
            out.push(Delta::Finish { reason, raw: raw.to_owned() });
        }
    }

    fn part(&mut self, part: &Json<'_>, out: &mut Vec<Delta>) {
        let text = part.get("text").and_then(Json::as_str);
        let signature = part.get("thoughtSignature").and_then(Json::as_str);
        if let Some(call) = part.get("functionCall") {
            push_reasoning("", signature, out);
            self.call(call, out);
        } else if part.get("thought").and_then(Json::as_bool) == Some(true) {
            push_reasoning(text.unwrap_or_default(), signature, out);
        } else {
            match text {
                Some(text) => push_text(text, out),
                // An image, code that the provider ran, and what comes later.
                None if signature.is_none() || part.members().len() > 1 => other(part, out),
                None => {}
            }
            push_reasoning("", signature, out);
        }
    }

    fn call(&mut self, call: &Json<'_>, out: &mut Vec<Delta>) {
        let text = |key: &str| call.get(key).and_then(Json::as_str).unwrap_or_default();
        let goes_on = call.get("willContinue").and_then(Json::as_bool) == Some(true);
        let args = call.get("args").filter(|args| !args.is_null());
        let name = text("name");
        if !name.is_empty() && !goes_on && call.get("partialArgs").is_none() {
            let args = args.map(Json::to_text).unwrap_or_default();
            // No other call can go on behind it.
            self.calls.whole(text("id"), name, &args, out);
            return;
        }
        if !name.is_empty() {
            self.calls.start(OPEN, text("id"), name, out);
            (self.arguments, self.held) = (Json::Object(Vec::new()), 0);
        }
        if self.calls.said(OPEN).is_none() {
            // A part of a call that has not begun.
            if call.members().len() > 0 {
                other(call, out);
            }
            return;
        }
        if let Some(args) = args {
            self.arguments = args.clone().into_owned();
        }
        for piece in call.get("partialArgs").into_iter().flat_map(Json::items) {
            self.held += piece.get("stringValue").and_then(Json::as_str).map_or(64, str::len);
            if self.held > limits::RESPONSE_BYTES || !partial::add(&mut self.arguments, piece) {
                let said = "an argument of a call cannot be placed";
                out.push(Delta::Error(malformed(said, &piece.to_text())));
                return;
            }
        }
        if !goes_on {
            self.end(out);
        }
    }

    /// Ends the open call.
    fn end(&mut self, out: &mut Vec<Delta>) {
        if self.calls.said(OPEN).is_some() {
            let arguments = std::mem::take(&mut self.arguments);
            self.calls.end(OPEN, &arguments.to_text(), out);
        }
    }

    fn usage(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        let Some(usage) = event.get("usageMetadata") else { return };
        let number = |key: &str| usage.get(key).and_then(Json::as_u64);
        let reasoning = number("thoughtsTokenCount");
        let said = number("candidatesTokenCount");
        let tools = number("toolUsePromptTokenCount").unwrap_or(0);
        let usage = Usage {
            input_tokens: number("promptTokenCount").map(|input| input.saturating_add(tools)),
            output_tokens: match (said, reasoning) {
                (None, None) => None,
                (said, thought) => Some(said.unwrap_or(0).saturating_add(thought.unwrap_or(0))),
            },
            cached_input_tokens: number("cachedContentTokenCount"),
            reasoning_tokens: reasoning,
        };
        self.counts.report(usage, out);
    }
}

fn other(json: &Json<'_>, out: &mut Vec<Delta>) {
    out.push(Delta::Other { raw: json.to_text() });
}
