//! Responses of `/api/chat`, a JSON object a line: <https://docs.ollama.com/api/chat>.
//!
//! Calls are whole, their arguments are objects, and most have no id.

use crate::json::Json;
use crate::stream::{
    Calls, Delta, Events, FinishReason, Usage, event, failure, finished, push_reasoning, push_text,
};

/// The state between two lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Lines {
    calls: Calls,
    finished: bool,
}

impl Events for Lines {
    fn is_finished(&self) -> bool {
        self.finished
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let Some(line) = event(data, out) else { return };
        if let Some(error) = line.get("error").filter(|error| !error.is_null()) {
            out.push(Delta::Error(failure(error, data)));
            return;
        }
        let message = line.get("message");
        let done = line.get("done").and_then(Json::as_bool);
        if done.is_none() {
            out.push(Delta::Other { raw: data.to_owned() });
            return;
        }
        let text = |key: &str| message?.get(key)?.as_str();
        push_reasoning(text("thinking").unwrap_or_default(), None, out);
        push_text(text("content").unwrap_or_default(), out);
        let calls = message.and_then(|message| message.get("tool_calls"));
        for call in calls.into_iter().flat_map(Json::items) {
            let function = call.get("function").unwrap_or(call);
            let text = |of: &Json<'_>, key: &str| -> String {
                of.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
            };
            let arguments = match function.get("arguments") {
                None | Some(Json::Null) => String::new(),
                Some(Json::String(text)) => text.to_string(),
                Some(value) => value.to_text(),
            };
            self.calls.whole(&text(call, "id"), &text(function, "name"), &arguments, out);
        }
        if done == Some(true) && !std::mem::replace(&mut self.finished, true) {
            // Versions before 0.1.40 give no reason.
            let raw = line.get("done_reason").and_then(Json::as_str).unwrap_or("stop");
            let reason = match raw {
                "stop" => FinishReason::Stop,
                "length" => FinishReason::Length,
                _ => FinishReason::Other,
            };
            let reason = finished(reason, self.calls.any());
            out.push(Delta::Finish { reason, raw: raw.to_owned() });
            let number = |key: &str| line.get(key).and_then(Json::as_u64);
            let usage = Usage {
                input_tokens: number("prompt_eval_count"),
                output_tokens: number("eval_count"),
                ..Usage::default()
            };
            if usage != Usage::default() {
                out.push(Delta::Usage(usage));
            }
        }
    }
}
