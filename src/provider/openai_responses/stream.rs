//! Events of the Responses API:
//! <https://platform.openai.com/docs/api-reference/responses-streaming>.
//!
//! Items are told apart by `output_index`: gateways change the ids of items between two events. An
//! id that is that of another item contradicts the index.

use crate::json::{Json, object, write_string};
use crate::stream::{
    Calls, Counts, Delta, Events, FinishReason, PART, ProviderToolStatus, Sum, Usage,
    arguments_text, count, event, failure, finished, is_failure, list, part, push_finish,
    push_other, push_reasoning, push_text, push_tool, text,
};

/// The state between two events.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Items {
    calls: Calls,
    /// Open items of which a text was received, in order.
    spoken: Vec<u64>,
    /// The item and the part of the last reasoning.
    part: (u64, u64),
    /// The item of the last event, for events without an index.
    at: u64,
    /// The id of each call's item, with its index; `None` if several items have the id.
    ids: Vec<(String, Option<u64>)>,
    /// An item has ended.
    any: bool,
    counts: Counts,
    finished: bool,
    /// The id of the response, once it is complete.
    id: Option<String>,
}

impl Events for Items {
    fn is_finished(&self) -> bool {
        self.finished
    }

    fn response(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let Some(event) = event(data, out) else { return };
        let delta = text(&event, "delta");
        let index = count(&event, "output_index");
        self.at = index.unwrap_or(self.at);
        let kind = text(&event, "type");
        let kind = kind.strip_prefix("response.").unwrap_or(kind);
        let item = part(&event, "item");
        if kind != "output_item.added"
            && ["item_id", "id"]
                .iter()
                .zip([&event, item])
                .any(|(key, of)| self.contradicts(text(of, key), index))
        {
            return;
        }
        match kind {
            "output_text.delta" | "refusal.delta" => {
                self.speaks();
                push_text(delta, out);
            }
            "reasoning_summary_text.delta" | "reasoning_text.delta" => {
                let part = (self.at, count(&event, "summary_index").unwrap_or(0));
                let before = std::mem::replace(&mut self.part, part);
                if before.0 == part.0 && before.1 != part.1 {
                    push_reasoning("", Some(PART), out);
                }
                self.speaks();
                push_reasoning(delta, None, out);
            }
            "function_call_arguments.delta"
                if self.calls.arguments(self.at, &arguments_text(&event, "delta"), out) => {}
            "function_call_arguments.done" => {
                self.calls.compare_name(self.at, text(&event, "name"));
                self.calls.expect(self.at, &arguments_text(&event, "arguments"));
            }
            "custom_tool_call_input.delta" if self.calls.said(self.at).is_some() => {
                self.custom(delta, out);
            }
            "output_item.added" if self.begin(item, out) => {}
            "output_item.done" => self.end(item, data, out),
            "completed" | "incomplete" | "failed" | "cancelled" => {
                self.response(part(&event, "response"), kind, data, out);
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
            | "custom_tool_call_input.done" => {}
            "error" if !is_failure(&event, data, out) => {
                out.push(Delta::Error(failure(&event, data)));
            }
            "error" => {}
            "" if text(&event, "object") == "response" => {
                self.response(&event, "completed", data, out);
            }
            "" if is_failure(&event, data, out) => {}
            _ => push_other(data, out),
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

    /// Goes to the call whose item has this id. Returns whether the index names another call: then it
    /// is not known which of them is meant, and neither ends.
    fn contradicts(&mut self, id: &str, index: Option<u64>) -> bool {
        let known = self.ids.iter().find(|(known, _)| known == id);
        let Some(at) = known.and_then(|(_, at)| *at).filter(|at| *at != self.at) else {
            return false;
        };
        let contradicts = index.is_some() && self.calls.has(self.at);
        if contradicts {
            [at, self.at].into_iter().for_each(|at| self.calls.doubt(at));
        } else {
            self.at = at;
        }
        contradicts
    }

    /// Notes the id of a call's item.
    fn identify(&mut self, id: &str) {
        match self.ids.iter_mut().find(|(known, _)| known == id) {
            _ if id.is_empty() => {}
            Some((_, at)) => *at = at.filter(|at| *at == self.at),
            None => self.ids.push((id.to_owned(), Some(self.at))),
        }
    }

    /// Begins an item; `false` if it is none that this crate knows.
    fn begin(&mut self, item: &Json<'_>, out: &mut Vec<Delta>) -> bool {
        match text(item, "type") {
            "message" | "reasoning" => true,
            "function_call" | "custom_tool_call" => {
                self.identify(text(item, "id"));
                // Without its name, the call is taken when it is whole.
                let name = text(item, "name");
                if name.is_empty() {
                    self.calls.skip(self.at);
                } else {
                    self.calls.start(self.at, text(item, "call_id"), name, out);
                    let given = arguments_text(item, "arguments");
                    // An empty object stands for the pieces that follow.
                    if Sum::of(&given) != Sum::of("{}") {
                        self.calls.expect(self.at, &given);
                    }
                }
                true
            }
            kind if is_hosted(kind) => {
                hosted(item, ProviderToolStatus::Running, false, out);
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
        let place = self.spoken.binary_search(&self.at);
        if let Ok(place) = place {
            self.spoken.remove(place);
        }
        match text(item, "type") {
            "message" if place.is_err() => {
                for part in list(item, "content") {
                    push_text(text(part, "text"), out);
                    push_text(text(part, "refusal"), out);
                    for annotation in list(part, "annotations") {
                        push_other(&annotation.to_text(), out);
                    }
                }
            }
            "message" => {}
            "reasoning" => {
                for key in ["summary", "content"] {
                    let parts = if place.is_err() { list(item, key) } else { &[] };
                    for (at, part) in parts.iter().enumerate() {
                        if at > 0 {
                            push_reasoning("", Some(PART), out);
                        }
                        push_reasoning(text(part, "text"), None, out);
                    }
                }
                push_reasoning("", Some(text(item, "encrypted_content")), out);
            }
            kind @ ("function_call" | "custom_tool_call") => {
                let (id, name) = (text(item, "call_id"), text(item, "name"));
                match (self.calls.key(id, self.at), self.calls.said(self.at)) {
                    // The index is that of another call.
                    (Some(key), Some(_)) if key != self.at => {
                        [key, self.at].into_iter().for_each(|at| self.calls.doubt(at));
                        return;
                    }
                    // Gateways change the index of an item, too.
                    (Some(key), _) => self.at = key,
                    (None, None) => self.calls.start(self.at, id, name, out),
                    (None, Some(_)) => {}
                }
                self.calls.compare_name(self.at, name);
                if text(item, "status") == "incomplete" {
                    self.calls.forget(self.at);
                    return;
                }
                if kind == "function_call" {
                    self.calls.end(self.at, &arguments_text(item, "arguments"), out);
                } else {
                    let input = object! { "input": Json::from(text(item, "input")) };
                    let has_pieces = self.calls.said(self.at) == Some(true);
                    if has_pieces {
                        self.calls.arguments(self.at, "\"}", out);
                    }
                    let is_given = !has_pieces || !part(item, "input").is_null();
                    let whole = if is_given { input.to_text() } else { String::new() };
                    self.calls.end(self.at, &whole, out);
                }
            }
            kind if is_hosted(kind) => {
                let failed = matches!(text(item, "status"), "failed" | "incomplete")
                    || !part(item, "error").is_null();
                let status =
                    if failed { ProviderToolStatus::Failed } else { ProviderToolStatus::Done };
                hosted(item, status, true, out);
            }
            _ => push_other(raw, out),
        }
    }

    /// Takes a call that the whole response has.
    fn confirm(&mut self, item: &Json<'_>, out: &mut Vec<Delta>) {
        let (id, name) = (text(item, "call_id"), text(item, "name"));
        let arguments = match text(item, "type") {
            _ if text(item, "status") == "incomplete" => return,
            "function_call" => arguments_text(item, "arguments"),
            "custom_tool_call" => object! { "input": Json::from(text(item, "input")) }.to_text(),
            _ => return,
        };
        self.calls.confirm(id, name, &arguments, out);
    }

    /// Takes a response at its end.
    fn response(&mut self, all: &Json<'_>, kind: &str, raw: &str, out: &mut Vec<Delta>) {
        let status = Some(text(all, "status")).filter(|status| !status.is_empty());
        let status = status.unwrap_or(kind);
        let failed = !part(all, "error").is_null() || status == "failed";
        let output = list(all, "output");
        // What a failed response would have called is not called.
        if !self.any && !failed {
            for (at, item) in (0..).zip(output) {
                self.at = at;
                self.end(item, &item.to_text(), out);
            }
        } else if !failed {
            output.iter().for_each(|item| self.confirm(item, out));
        }
        if failed {
            self.usage(all, out);
            if !is_failure(all, raw, out) {
                out.push(Delta::Error(failure(all, raw)));
            }
            return;
        }
        // A response in the background is not at its end.
        if matches!(status, "queued" | "in_progress") {
            return;
        }
        let why = text(part(all, "incomplete_details"), "reason");
        let why = if why.is_empty() { status } else { why };
        let reason = match why {
            "completed" => FinishReason::Stop,
            "max_output_tokens" | "max_tokens" => FinishReason::Length,
            "content_filter" => FinishReason::ContentFilter,
            "cancelled" => FinishReason::Error,
            _ => FinishReason::Other,
        };
        if reason == FinishReason::Stop {
            self.calls.end_all(out);
            let id = text(all, "id");
            self.id = (!id.is_empty()).then(|| id.to_owned());
        }
        if !std::mem::replace(&mut self.finished, true) {
            push_finish(finished(reason, self.calls.any()), why, out);
        }
        self.usage(all, out);
    }

    fn usage(&mut self, all: &Json<'_>, out: &mut Vec<Delta>) {
        let usage = part(all, "usage");
        let usage = Usage {
            input_tokens: count(usage, "input_tokens"),
            output_tokens: count(usage, "output_tokens"),
            cached_input_tokens: count(part(usage, "input_tokens_details"), "cached_tokens"),
            // From GPT-5.6 on, within `input_tokens`: laravel/ai#846 (2026-08-04),
            // <https://developers.openai.com/api/docs/guides/prompt-caching> (2026-11-30).
            cache_write_input_tokens: count(
                part(usage, "input_tokens_details"),
                "cache_write_tokens",
            ),
            reasoning_tokens: count(part(usage, "output_tokens_details"), "reasoning_tokens"),
        };
        self.counts.report(usage, out);
    }
}

/// Whether the provider runs the tool of this item itself. Calls of a computer, a shell or a patch
/// are the host's to run.
fn is_hosted(kind: &str) -> bool {
    let known =
        ["web_search", "file_search", "code_interpreter", "image_generation", "tool_search", "mcp"];
    let name = kind.strip_suffix("_call").unwrap_or(kind);
    known.contains(&name) || matches!(kind, "mcp_list_tools" | "tool_search_output")
}

fn hosted(item: &Json<'_>, status: ProviderToolStatus, kept: bool, out: &mut Vec<Delta>) {
    // A tool of an MCP server has a name of its own.
    let (name, kind) = (text(item, "name"), text(item, "type"));
    let name = if name.is_empty() { kind.strip_suffix("_call").unwrap_or(kind) } else { name };
    push_tool((name, text(item, "id")), status, (item.to_text(), kept), out);
}
