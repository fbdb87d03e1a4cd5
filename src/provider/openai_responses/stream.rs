//! Events of the Responses API:
//! <https://platform.openai.com/docs/api-reference/responses-streaming>.
//!
//! Items are told apart by `output_index`: gateways change the ids of items between two events.

use crate::json::{Json, object, write_string};
use crate::stream::{
    Calls, Counts, Delta, Events, FinishReason, Usage, event, failure, finished, push_reasoning,
    push_text,
};

/// The state between two events.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Items {
    calls: Calls,
    /// Open items of which a text was received, in order.
    spoken: Vec<u64>,
    /// The item of the last event, for events without an index.
    at: u64,
    /// An item has ended.
    any: bool,
    counts: Counts,
    finished: bool,
}

impl Events for Items {
    fn is_finished(&self) -> bool {
        self.finished
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let Some(event) = event(data, out) else { return };
        let text = |key: &str| event.get(key).and_then(Json::as_str).unwrap_or_default();
        let delta = text("delta");
        if let Some(at) = event.get("output_index").and_then(Json::as_u64) {
            self.at = at;
        }
        let kind = text("type").strip_prefix("response.").unwrap_or_else(|| text("type"));
        match kind {
            "output_text.delta" | "refusal.delta" => {
                self.speaks();
                push_text(delta, out);
            }
            "reasoning_summary_text.delta" | "reasoning_text.delta" => {
                self.speaks();
                push_reasoning(delta, None, out);
            }
            "function_call_arguments.delta" if self.calls.arguments(self.at, delta, out) => {}
            "custom_tool_call_input.delta" if self.calls.said(self.at).is_some() => {
                self.custom(delta, out);
            }
            "output_item.added" => match event.get("item") {
                Some(item) if self.begin(item, out) => {}
                _ => other(data, out),
            },
            "output_item.done" => match event.get("item") {
                Some(item) => self.end(item, data, out),
                None => other(data, out),
            },
            "completed" | "incomplete" | "failed" | "cancelled"
                if event.get("response").is_some() =>
            {
                let response = event.get("response").unwrap_or(&Json::Null);
                self.response(response, kind, data, out);
            }
            // What these say comes again with the item, or came with the pieces before.
            "created"
            | "in_progress"
            | "queued"
            | "content_part.added"
            | "content_part.done"
            | "output_text.done"
            | "refusal.done"
            | "reasoning_text.done"
            | "reasoning_summary_text.done"
            | "reasoning_summary_part.added"
            | "reasoning_summary_part.done"
            | "function_call_arguments.done"
            | "custom_tool_call_input.done" => {}
            "error" => {
                let error = event.get("error").filter(|error| !error.is_null());
                out.push(Delta::Error(failure(error.unwrap_or(&event), data)));
            }
            "" if event.get("output").is_some_and(|output| output.as_array().is_some()) => {
                self.response(&event, "completed", data, out);
            }
            "" if event.get("error").is_some_and(|error| !error.is_null()) => {
                out.push(Delta::Error(failure(event.get("error").unwrap_or(&event), data)));
            }
            _ => other(data, out),
        }
    }
}

impl Items {
    /// Notes that a text of the current item was received.
    fn speaks(&mut self) {
        if self.spoken.last() != Some(&self.at)
            && let Err(place) = self.spoken.binary_search(&self.at)
        {
            self.spoken.insert(place, self.at);
        }
    }

    /// Begins an item; `false` if it is none that this crate knows.
    fn begin(&mut self, item: &Json<'_>, out: &mut Vec<Delta>) -> bool {
        let text = |key: &str| item.get(key).and_then(Json::as_str).unwrap_or_default();
        match text("type") {
            "message" | "reasoning" => true,
            "function_call" | "custom_tool_call" => {
                // Without its name, the call is taken when it is whole.
                if !text("name").is_empty() {
                    self.calls.start(self.at, text("call_id"), text("name"), out);
                }
                true
            }
            _ => false,
        }
    }

    /// A piece of the text that a custom tool takes. Arguments are JSON, so the text becomes the
    /// member `input` of an object.
    fn custom(&mut self, piece: &str, out: &mut Vec<Delta>) {
        let mut json = String::new();
        write_string(piece, &mut json);
        let escaped = json.get(1..json.len() - 1).unwrap_or_default();
        let first = self.calls.said(self.at) == Some(false);
        let text = if first { [r#"{"input":""#, escaped].concat() } else { escaped.to_owned() };
        self.calls.arguments(self.at, &text, out);
    }

    /// Ends an item, and takes what was not received in pieces.
    fn end(&mut self, item: &Json<'_>, raw: &str, out: &mut Vec<Delta>) {
        self.any = true;
        let text = |key: &str| item.get(key).and_then(Json::as_str).unwrap_or_default();
        let place = self.spoken.binary_search(&self.at);
        if let Ok(place) = place {
            self.spoken.remove(place);
        }
        let parts = |key: &str| item.get(key).into_iter().flat_map(Json::items);
        let said = |part: &Json<'_>, key: &str| -> String {
            part.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        match text("type") {
            "message" if place.is_err() => {
                for part in parts("content") {
                    push_text(&said(part, "text"), out);
                    push_text(&said(part, "refusal"), out);
                    for annotation in part.get("annotations").into_iter().flat_map(Json::items) {
                        other(&annotation.to_text(), out);
                    }
                }
            }
            "message" => {}
            "reasoning" => {
                if place.is_err() {
                    for part in parts("summary").chain(parts("content")) {
                        push_reasoning(&said(part, "text"), None, out);
                    }
                }
                push_reasoning("", Some(text("encrypted_content")), out);
            }
            kind @ ("function_call" | "custom_tool_call") => {
                if self.calls.said(self.at).is_none() {
                    self.calls.start(self.at, text("call_id"), text("name"), out);
                }
                if text("status") == "incomplete" {
                    return;
                }
                if kind == "function_call" {
                    self.calls.end(self.at, text("arguments"), out);
                } else if self.calls.said(self.at) == Some(true) {
                    self.calls.arguments(self.at, "\"}", out);
                    self.calls.end(self.at, "", out);
                } else {
                    let input = object! { "input": Json::from(text("input")) };
                    self.calls.end(self.at, &input.to_text(), out);
                }
            }
            _ => other(raw, out),
        }
    }

    /// Takes a response at its end.
    fn response(&mut self, all: &Json<'_>, kind: &str, raw: &str, out: &mut Vec<Delta>) {
        if !self.any {
            let items = all.get("output").into_iter().flat_map(Json::items);
            for (at, item) in (0..).zip(items) {
                self.at = at;
                self.end(item, &item.to_text(), out);
            }
        }
        let text = |key: &str| all.get(key).and_then(Json::as_str);
        let status = text("status").unwrap_or(kind);
        let error = all.get("error").filter(|error| !error.is_null());
        if error.is_some() || status == "failed" {
            self.usage(all, out);
            out.push(Delta::Error(failure(error.unwrap_or(all), raw)));
            return;
        }
        // A response in the background is not at its end.
        if matches!(status, "queued" | "in_progress") {
            return;
        }
        let why = all.get("incomplete_details").and_then(|details| details.get("reason"));
        let why = why.and_then(Json::as_str).unwrap_or(status);
        let reason = match why {
            "completed" => FinishReason::Stop,
            "max_output_tokens" | "max_tokens" => FinishReason::Length,
            "content_filter" => FinishReason::ContentFilter,
            _ => FinishReason::Other,
        };
        if reason == FinishReason::Stop {
            self.calls.end_all(out);
        }
        if !std::mem::replace(&mut self.finished, true) {
            let reason = finished(reason, self.calls.any());
            out.push(Delta::Finish { reason, raw: why.to_owned() });
        }
        self.usage(all, out);
    }

    fn usage(&mut self, all: &Json<'_>, out: &mut Vec<Delta>) {
        let Some(usage) = all.get("usage") else { return };
        let detail = |of: &str, key: &str| usage.get(of)?.get(key)?.as_u64();
        let number = |key: &str| usage.get(key).and_then(Json::as_u64);
        let usage = Usage {
            input_tokens: number("input_tokens"),
            output_tokens: number("output_tokens"),
            cached_input_tokens: detail("input_tokens_details", "cached_tokens"),
            reasoning_tokens: detail("output_tokens_details", "reasoning_tokens"),
        };
        self.counts.report(usage, out);
    }
}

fn other(raw: &str, out: &mut Vec<Delta>) {
    out.push(Delta::Other { raw: raw.to_owned() });
}
