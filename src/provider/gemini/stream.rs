//! Responses of `generateContent` and `streamGenerateContent`:
//! <https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse>.
//!
//! Each event is a response of its own with more parts. Calls are whole, or (Vertex, on request)
//! their arguments arrive by JSON path. A call ends if the response ends normally. A signature belongs to the part that it comes with; in the
//! deltas it is reasoning without text, before the call or behind the text of that part.

use crate::json::Json;
use crate::limits;
use crate::stream::{
    Calls, Counts, Delta, Events, FinishReason, PART, ProviderToolStatus, Usage, arguments_text,
    count, event, finished, has_unread, is_failure, list, malformed, part, push_finish, push_other,
    push_reasoning, push_text, push_tool, text,
};

mod partial;

/// The members of a call that are read, and its signature.
const KNOWN: [&str; 6] =
    ["id", "name", "args", "partialArgs", "thoughtSignature", "thought_signature"];
/// The key of the one call that can be open.
const OPEN: u64 = 0;
/// The key of calls that do not end.
const REFUSED: u64 = 1;

/// The state between two events.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Parts {
    calls: Calls,
    /// The arguments of the open call, as far as they were received.
    arguments: Json<'static>,
    /// Bytes of these arguments.
    held: usize,
    /// The last value of these arguments goes on.
    is_cut: bool,
    counts: Counts,
    /// The last thought had no signature.
    thinks: bool,
    finish: Option<(FinishReason, String)>,
    /// Calls ended with a normal finish reason.
    has_ended: bool,
}

impl Events for Parts {
    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let Some(event) = event(data, out) else { return };
        // Some gateways wrap each event.
        let event = event.get("response").unwrap_or(&event);
        if is_failure(event, data, out) {
            return;
        }
        let blocked = text(part(event, "promptFeedback"), "blockReason");
        let known = ["candidates", "promptFeedback", "usageMetadata"];
        if !known.iter().any(|key| event.get(key).is_some()) {
            push_other(data, out);
            return;
        }
        // A further candidate is an alternative answer, which was not requested.
        let first = |candidate: &&Json<'_>| count(candidate, "index").is_none_or(|at| at == 0);
        if let Some(candidate) = list(event, "candidates").iter().find(first) {
            self.candidate(candidate, out);
        }
        if !blocked.is_empty() {
            self.finish(FinishReason::ContentFilter, blocked, out);
        }
        self.usage(event, out);
    }
}

impl Parts {
    fn candidate(&mut self, candidate: &Json<'_>, out: &mut Vec<Delta>) {
        let raw = text(candidate, "finishReason");
        let reason = reason_of(raw);
        // The provider itself says that these calls are none.
        let refused = matches!(reason, Some(FinishReason::Error | FinishReason::ContentFilter));
        for one in list(part(candidate, "content"), "parts") {
            self.part(one, refused, out);
            if matches!(out.last(), Some(Delta::Error(_))) {
                return;
            }
        }
        let searches = part(candidate, "groundingMetadata");
        if !list(searches, "webSearchQueries").is_empty() {
            let queries = part(searches, "webSearchQueries").to_text();
            let done = ProviderToolStatus::Done;
            push_tool(("google_search", ""), done, (queries, false), out);
        }
        for key in ["groundingMetadata", "citationMetadata", "urlContextMetadata"] {
            if let Some(found) = candidate.get(key) {
                push_other(&Json::Object(vec![(key.into(), found.clone())]).to_text(), out);
            }
        }
        let Some(reason) = reason else { return };
        // A value that was to go on is not the one that the model meant.
        if reason == FinishReason::Stop {
            if !self.is_cut {
                self.end(out);
            }
            self.has_ended |= self.calls.any();
            self.calls.complete(out);
        }
        self.finish(finished(reason, self.calls.any()), raw, out);
    }

    /// Older models repeat the reason with every event: it counts again if it is another one.
    fn finish(&mut self, reason: FinishReason, raw: &str, out: &mut Vec<Delta>) {
        if self.finish.as_ref().is_some_and(|before| before.0 == reason && before.1 == raw) {
            return;
        }
        self.finish = Some((reason, raw.to_owned()));
        if !matches!(reason, FinishReason::Stop | FinishReason::ToolCalls) {
            self.calls.lose();
            if self.has_ended {
                out.push(Delta::Error(malformed("the response ends in two different ways", raw)));
                return;
            }
        }
        push_finish(reason, raw, out);
    }

    fn part(&mut self, one: &Json<'_>, refused: bool, out: &mut Vec<Delta>) {
        let (said, signature) = (text(one, "text"), text(one, "thoughtSignature"));
        if let Some(call) = one.get("functionCall") {
            // Google sends one or the other, gateways both: NousResearch/hermes-agent#109862
            // (2026-09-13).
            if part(one, "thought").as_bool() == Some(true) {
                push_reasoning(said, None, out);
            } else {
                push_text(said, out);
            }
            push_reasoning("", Some(signature), out);
            self.thinks = false;
            self.call(call, refused, out);
        } else if let Some(call) = one.get("function_call") {
            // Of another wire format: it may be a piece of any call.
            self.calls.lose();
            push_other(&call.to_text(), out);
        } else if hosted(one, out) {
            // Its signature goes back with it.
            self.thinks = false;
        } else if part(one, "thought").as_bool() == Some(true) {
            push_reasoning(said, Some(signature), out);
            self.thinks = signature.is_empty();
        } else {
            push_text(said, out);
            // An image, code that the provider ran, and what comes later.
            let known = ["text", "thoughtSignature"];
            if one.members().len() > 0 && !known.iter().any(|key| one.get(key).is_some()) {
                push_other(&one.to_text(), out);
            }
            if !signature.is_empty() {
                // The signature is the text's, and not that of the thought before it.
                if std::mem::take(&mut self.thinks) {
                    push_reasoning("", Some(PART), out);
                }
                push_reasoning("", Some(signature), out);
            }
        }
    }

    fn call(&mut self, call: &Json<'_>, refused: bool, out: &mut Vec<Delta>) {
        let goes_on = part(call, "willContinue").as_bool() == Some(true);
        let name = text(call, "name");
        if !name.is_empty() && !goes_on && call.get("partialArgs").is_none() {
            let (id, args) = (text(call, "id"), arguments_text(call, "args"));
            let is_unread = has_unread(call, &KNOWN);
            if refused {
                self.calls.start(REFUSED, id, name, out);
                self.calls.arguments(REFUSED, &args, out);
            } else if is_unread {
                self.calls.whole_unread((id, name), &args, out);
            } else {
                self.calls.whole(id, name, &args, out);
            }
            return;
        }
        if !name.is_empty() {
            self.calls.start(OPEN, text(call, "id"), name, out);
            (self.arguments, self.held) = (Json::Object(Vec::new()), 0);
            // A call that is to go on, and does not, lacks its arguments.
            self.is_cut = goes_on;
        }
        if self.calls.said(OPEN).is_none() {
            // A part of a call that has not begun.
            if ["args", "partialArgs"].iter().any(|key| !part(call, key).is_null()) {
                self.calls.lose();
            }
            if call.members().len() > 0 {
                push_other(&call.to_text(), out);
            }
            return;
        }
        if has_unread(call, &KNOWN) {
            self.calls.unread(OPEN);
        }
        let args = part(call, "args");
        if !args.is_null() {
            self.is_cut = false;
            if self.arguments.members().len() > 0 && self.arguments != *args {
                self.calls.doubt(OPEN);
            }
            self.arguments = args.clone().into_owned();
        }
        for piece in list(call, "partialArgs") {
            self.is_cut = part(piece, "willContinue").as_bool() == Some(true);
            // 32: what a piece may take besides, such as an element of a list.
            self.held += 32 + text(piece, "stringValue").len();
            if self.held > limits::RESPONSE_BYTES || !partial::add(&mut self.arguments, piece) {
                let said = "an argument of a call cannot be placed";
                out.push(Delta::Error(malformed(said, &piece.to_text())));
                return;
            }
        }
        if !goes_on && !refused {
            self.end(out);
        }
    }

    /// Ends the open call.
    fn end(&mut self, out: &mut Vec<Delta>) {
        if self.calls.said(OPEN).is_some() {
            let arguments = std::mem::take(&mut self.arguments);
            self.calls.end_later(OPEN, &arguments.to_text(), out);
        }
    }

    fn usage(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        let usage = part(event, "usageMetadata");
        let (said, reasoning) =
            (count(usage, "candidatesTokenCount"), count(usage, "thoughtsTokenCount"));
        let tools = count(usage, "toolUsePromptTokenCount").unwrap_or(0);
        let input = count(usage, "promptTokenCount");
        let usage = Usage {
            input_tokens: input.map(|input| input.saturating_add(tools)),
            output_tokens: match (said, reasoning) {
                (None, None) => None,
                (said, thought) => Some(said.unwrap_or(0).saturating_add(thought.unwrap_or(0))),
            },
            cached_input_tokens: count(usage, "cachedContentTokenCount"),
            cache_write_input_tokens: None,
            reasoning_tokens: reasoning,
        };
        self.counts.report(usage, out);
    }
}

/// `None` for the default value, which says nothing.
fn reason_of(raw: &str) -> Option<FinishReason> {
    Some(match raw {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => FinishReason::Error,
        "" | "FINISH_REASON_UNSPECIFIED" => return None,
        _ => FinishReason::Other,
    })
}

/// Takes a part of a tool that the provider runs itself: code, its outcome, and (Gemini 3) calls of
/// other tools and their results. `false` if it is none.
fn hosted(one: &Json<'_>, out: &mut Vec<Delta>) -> bool {
    let kinds = ["executableCode", "toolCall", "codeExecutionResult", "toolResponse"];
    let Some(at) = kinds.iter().position(|kind| one.get(kind).is_some()) else { return false };
    let said = kinds.get(at).map_or(&Json::Null, |kind| part(one, kind));
    let (named, outcome) = (text(said, "toolType"), text(said, "outcome"));
    let name = if named.is_empty() { "code_execution" } else { named };
    let status = match outcome {
        _ if at < 2 => ProviderToolStatus::Running,
        "" | "OUTCOME_OK" => ProviderToolStatus::Done,
        _ => ProviderToolStatus::Failed,
    };
    push_tool((name, text(said, "id")), status, (one.to_text(), true), out);
    true
}
