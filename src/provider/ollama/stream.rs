//! Responses of `/api/chat`, a JSON object a line: <https://docs.ollama.com/api/chat>.
//!
//! Calls are whole, their arguments are objects, and most have no id. They end if the response ends
//! normally.

use crate::stream::{
    Calls, Delta, Events, FinishReason, Usage, arguments_text, count, event, finished, has_unread,
    is_failure, list, part, push_finish, push_other, push_reasoning, push_text, text,
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
        if is_failure(&line, data, out) {
            return;
        }
        let done = part(&line, "done").as_bool();
        if done.is_none() {
            push_other(data, out);
            return;
        }
        let message = part(&line, "message");
        push_reasoning(text(message, "thinking"), None, out);
        push_text(text(message, "content"), out);
        for call in list(message, "tool_calls") {
            let function = part(call, "function");
            let arguments = arguments_text(function, "arguments");
            let name = text(function, "name");
            if name.is_empty() {
                // Its arguments may be those of any call.
                self.calls.lose();
            }
            let id = text(call, "id");
            let in_call = ["id", "type", "index", "function"];
            let in_function = ["name", "arguments", "index", "description"];
            if has_unread(call, &in_call) || has_unread(function, &in_function) {
                self.calls.whole_unread((id, name), &arguments, out);
            } else {
                self.calls.whole(id, name, &arguments, out);
            }
        }
        if done == Some(true) && !std::mem::replace(&mut self.finished, true) {
            let raw = text(&line, "done_reason");
            let reason = match raw {
                // Older versions give no reason.
                "stop" | "" => FinishReason::Stop,
                "length" => FinishReason::Length,
                _ => FinishReason::Other,
            };
            if reason == FinishReason::Stop {
                self.calls.complete(out);
            } else {
                self.calls.lose();
            }
            push_finish(finished(reason, self.calls.any()), raw, out);
            let usage = Usage {
                input_tokens: count(&line, "prompt_eval_count"),
                output_tokens: count(&line, "eval_count"),
                ..Usage::default()
            };
            if usage != Usage::default() {
                out.push(Delta::Usage(usage));
            }
        }
    }
}
