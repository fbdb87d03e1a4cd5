//! OpenAI Chat Completions chunks, and the variants of compatible providers:
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.

mod calls;
mod chunk;
mod read;
mod shape;
mod unread;

use std::borrow::Cow;

use crate::json::{Json, Reader};
use crate::stream::{
    Delta, Events, FinishReason, ProviderToolStatus, finished, malformed, push_reasoning,
    push_text, push_tool, text,
};
use calls::Calls;
use chunk::{Chunk, Piece, Thinks};

/// The state between two chunks.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Chunks {
    calls: Calls,
    /// The reason to finish, as far as calls are concerned: the last one that was given.
    finish: Option<FinishReason>,
    done: bool,
    /// The choice that has the calls: the first one that has any.
    caller: Option<u64>,
    /// The member that has the reasoning.
    thinks: Option<Thinks>,
    /// Reasoning has come, or what stands for it.
    thought: bool,
}

impl Events for Chunks {
    fn is_finished(&self) -> bool {
        self.finish.is_some() || self.done
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        if self.finish.is_some_and(is_normal) {
            self.calls.end(out);
        }
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        if data.trim() == "[DONE]" {
            // The end mark stands for a finish reason, and overrides none.
            if self.finish.is_none_or(is_normal) {
                self.calls.end(out);
            } else {
                self.calls.show(out);
            }
            self.done = true;
            return;
        }
        let mut chunk = Chunk::default();
        let mut reader = Reader::verbatim(data);
        let read = reader.object(&mut |key, reader| chunk.member(&key, reader, data));
        if read.and_then(|()| reader.end()).is_err() {
            out.push(Delta::Error(malformed("an event of the model is no JSON object", data)));
            return;
        }
        if chunk.unread {
            self.calls.doubt_empty();
        }
        if !chunk.known && chunk.usage.is_none() && chunk.error.is_none() {
            out.push(Delta::Other { raw: data.to_owned() });
            return;
        }
        self.take(chunk, out);
    }
}

/// The reason to finish. `error` is Mistral's and OpenRouter's, `insufficient_system_resource`
/// DeepSeek's, `network_error` and `sensitive` GLM's, `abort` vLLM's; Gemini writes its own reason
/// behind that of a filter.
fn reason_of(raw: &str) -> FinishReason {
    let kind = raw.split_once(':').map_or(raw, |(kind, _)| kind);
    match kind.trim().to_ascii_lowercase().as_str() {
        "stop" | "eos" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "model_length"
        | "model_context_window_exceeded" => FinishReason::Length,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "content_filter"
        | "sensitive"
        | "safety"
        | "recitation"
        | "blocklist"
        | "prohibited_content"
        | "spii"
        | "model_armor"
        | "image_safety"
        | "image_prohibited_content"
        | "image_recitation" => FinishReason::ContentFilter,
        "error"
        | "abort"
        | "insufficient_system_resource"
        | "network_error"
        | "network-error"
        | "function_call_filter"
        | "malformed_function_call"
        | "malformed_response"
        | "unexpected_tool_call"
        | "too_many_tool_calls"
        | "missing_thought_signature"
        | "server_error"
        | "timeout"
        | "incomplete" => FinishReason::Error,
        _ => FinishReason::Other,
    }
}

/// The reason to finish: the one that a gateway gives, unless that is normal or missing, and the
/// provider's own reason behind it is known not to be normal. OpenRouter:
/// <https://openrouter.ai/docs/api/reference/overview>
fn reason_given<'a>(
    gateway: Option<Cow<'a, str>>,
    native: Option<Cow<'a, str>>,
) -> Option<Cow<'a, str>> {
    let gateway = gateway.filter(|raw| !raw.is_empty());
    let is_known = |raw: &Cow<'_, str>| {
        let reason = reason_of(raw);
        !is_normal(reason) && reason != FinishReason::Other
    };
    match native.filter(is_known) {
        Some(native) if gateway.as_deref().map(reason_of).is_none_or(is_normal) => Some(native),
        _ => gateway,
    }
}

/// Whether the calls of a response that finishes for this reason are those that the model meant.
fn is_normal(reason: FinishReason) -> bool {
    matches!(reason, FinishReason::Stop | FinishReason::ToolCalls)
}

/// Members of the message, or of a call, that go back with the calls.
fn members(index: Option<u32>, members: Vec<(&'static str, Json<'_>)>) -> Delta {
    let members = members.into_iter().map(|(key, value)| (key.into(), value)).collect();
    Delta::Members { index, members: Json::Object(members).to_text() }
}

/// A tool that the provider ran itself. It takes none of it back.
fn executed(tool: &Json<'_>, out: &mut Vec<Delta>) {
    let name =
        ["name", "type"].map(|key| text(tool, key)).into_iter().find(|name| !name.is_empty());
    let done = ["output", "search_results", "code_results"]
        .iter()
        .any(|key| tool.get(key).is_some_and(|value| !value.is_null()));
    let status = if done { ProviderToolStatus::Done } else { ProviderToolStatus::Running };
    push_tool((name.unwrap_or_default(), ""), status, (tool.to_text(), false), out);
}

impl Chunks {
    fn take(&mut self, mut chunk: Chunk<'_>, out: &mut Vec<Delta>) {
        self.caller = self.caller.or(chunk.caller);
        if chunk.caller.is_some() && chunk.caller != self.caller {
            // An alternative to calls that are there.
            chunk.calls.clear();
        }
        if let Some((place, raw)) = chunk.other_finish.take()
            && self.caller == Some(place)
        {
            chunk.finish = chunk.finish.or(Some(raw));
        }
        if self.thinks.is_none() && chunk.thinks == Some(Thinks::Reasoning) {
            out.push(members(None, vec![("reasoning", "".into())]));
        }
        self.thinks = self.thinks.or(chunk.thinks);
        let is_text =
            |piece: &Piece<'_>| matches!(piece, Piece::Reasoning(text) if !text.is_empty());
        self.thought |= chunk.said.iter().any(is_text);
        for piece in chunk.said {
            match piece {
                Piece::Text(text) => push_text(&text, out),
                Piece::Reasoning(text) => push_reasoning(&text, None, out),
                Piece::Signature(signature) => push_reasoning("", Some(&signature), out),
            }
        }
        if !chunk.members.is_empty() {
            out.push(members(None, chunk.members));
        }
        chunk.tools.iter().for_each(|tool| executed(tool, out));
        out.extend(chunk.others.into_iter().map(|raw| Delta::Other { raw }));
        if chunk.unreadable {
            self.calls.lose();
        }
        for fragment in chunk.calls {
            self.calls.take(fragment, out);
            if matches!(out.last(), Some(Delta::Error(_))) {
                return;
            }
        }
        let finish = reason_given(chunk.finish, chunk.native);
        if chunk.error.is_some() {
            self.calls.cut(out);
        }
        let (before, after) = match finish.as_deref().map(reason_of) {
            // What the provider says of the error that it ends with.
            Some(FinishReason::Error) => (chunk.error, None),
            _ => (None, chunk.error),
        };
        out.extend(before.map(Delta::Error));
        if let Some(raw) = finish {
            out.extend(chunk.sources.into_iter().map(|raw| Delta::Other { raw }));
            self.finish(&raw, out);
        }
        if let Some(usage) = chunk.usage {
            out.push(Delta::Usage(usage));
        }
        out.extend(after.map(Delta::Error));
    }

    fn finish(&mut self, raw: &str, out: &mut Vec<Delta>) {
        let said = reason_of(raw);
        match said {
            FinishReason::Stop | FinishReason::ToolCalls => self.calls.finish(out),
            // What ended the response is not known to be its normal end.
            FinishReason::Other
            | FinishReason::TextToolCall
            | FinishReason::Paused
            | FinishReason::Length
            | FinishReason::ContentFilter
            | FinishReason::Error => self.calls.cut(out),
        }
        // An empty reasoning goes back, too: Moonshot and DeepSeek want the member.
        if self.thinks == Some(Thinks::Content) && !self.thought && self.calls.any() {
            self.thought = true;
            out.push(members(None, vec![("reasoning_content", "".into())]));
        }
        let before = self.finish;
        self.finish = before.filter(|before| !is_normal(*before)).or(Some(said));
        // Some providers send the reason with the call and again after it: the first one counts.
        if before.is_some() {
            let is_cut = matches!(said, FinishReason::Length | FinishReason::ContentFilter);
            if (is_cut || said == FinishReason::Error) && self.calls.has_ended() {
                out.push(Delta::Error(malformed("the response ends in two different ways", raw)));
            }
            return;
        }
        // With a forced tool choice, OpenAI itself sends `stop`.
        let reason = finished(said, self.calls.any());
        out.push(Delta::Finish { reason, raw: raw.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;
    use crate::stream::ErrorClass;

    fn read(events: &[&str]) -> Vec<Delta> {
        let mut wire = Chunks::default();
        let mut out = Vec::new();
        events.iter().for_each(|event| wire.data(event, &mut out));
        out
    }

    fn call(fragment: &str) -> String {
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{fragment}]}}}}]}}"#)
    }

    const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;

    /// Name, id and arguments of each call.
    fn calls(events: &[&str]) -> Vec<(String, String, String)> {
        let mut calls = Vec::new();
        for delta in read(events) {
            match delta {
                Delta::ToolCallStart { index, id, name } => {
                    assert_eq!(usize::try_from(index).unwrap(), calls.len(), "no gaps");
                    calls.push((name, id, String::new()));
                }
                Delta::ToolCallArguments { index, text } => calls[index as usize].2.push_str(&text),
                _ => {}
            }
        }
        calls
    }

    #[test]
    fn stop_with_calls_means_calls() {
        let one = call(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#);
        let finish = |events: &[&str]| {
            let finish = read(events).into_iter().filter_map(|delta| match delta {
                Delta::Finish { reason, raw } => Some((reason, raw)),
                _ => None,
            });
            finish.collect::<Vec<_>>()
        };
        let said = |reason| vec![(reason, "stop".to_owned())];
        assert_eq!(finish(&[&one, STOP, STOP]), said(FinishReason::ToolCalls), "and once");
        assert_eq!(finish(&[STOP]), said(FinishReason::Stop));
    }

    /// OpenRouter: <https://openrouter.ai/docs/api/reference/overview>, and
    /// OpenRouterTeam/openrouter-examples#67.
    #[test]
    fn a_finish_reason_that_is_an_error_ends_no_call_and_has_its_message() {
        let one = call(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#);
        let end = r#"{"choices":[{"index":0,"error":{"code":502,"message":"upstream went away"},"delta":{"content":""},"finish_reason":"error"}],"usage":{"prompt_tokens":3}}"#;
        let deltas = read(&[&one, end, "[DONE]"]);
        assert!(
            !deltas.iter().any(|delta| matches!(delta, Delta::ToolCallEnd { .. })),
            "{deltas:?}"
        );
        let [.., Delta::Error(error), Delta::Finish { reason, raw }, Delta::Usage(_)] = &deltas[..]
        else {
            panic!("{deltas:?}");
        };
        assert_eq!((&*error.message, error.class), ("upstream went away", ErrorClass::Server));
        assert_eq!((*reason, &**raw), (FinishReason::Error, "error"));
        for (raw, reason) in [
            ("network_error", FinishReason::Error),
            ("abort", FinishReason::Error),
            ("function_call_filter: MALFORMED_FUNCTION_CALL", FinishReason::Error),
            ("content_filter: RECITATION", FinishReason::ContentFilter),
            ("model_context_window_exceeded", FinishReason::Length),
            ("tool_calls", FinishReason::ToolCalls),
            ("later", FinishReason::Other),
            ("MALFORMED_RESPONSE", FinishReason::Error),
            ("MODEL_ARMOR", FinishReason::ContentFilter),
        ] {
            assert_eq!(reason_of(raw), reason, "{raw}");
        }
    }

    /// Quirks of the providers that use this wire format.
    #[test]
    fn fragments_find_their_call() {
        let f = |index: &str, id: &str, name: &str, arguments: &str| {
            call(&format!(
                r#"{{{index}{id}"function":{{"name":{name:?},"arguments":{arguments:?}}}}}"#
            ))
        };
        type Row<'a> = (&'a str, &'a [String], &'a [(&'a str, &'a str, &'a str)]);
        #[rustfmt::skip]
        let rows: [Row<'_>; 9] = [
            ("id once, then empty or the word null",
             &[f(r#""index":0,"#, r#""id":"a","#, "f", "{\"x\""), f(r#""index":0,"#, r#""id":"","#, "", ":1"), f(r#""index":0,"#, r#""id":"null","#, "", "}")],
             &[("f", "a", "{\"x\":1}")]),
            ("counted from 1",
             &[f(r#""index":1,"#, r#""id":"a","#, "f", "{}"), f(r#""index":2,"#, r#""id":"b","#, "g", "{}")],
             &[("f", "a", "{}"), ("g", "b", "{}")]),
            ("all 0: a new id is a new call",
             &[f(r#""index":0,"#, r#""id":"a","#, "f", "{}"), f(r#""index":0,"#, r#""id":"b","#, "f", "{}")],
             &[("f", "a", "{}"), ("f", "b", "{}")]),
            ("no index, no id: whole arguments start a new call",
             &[f("", "", "f", "{\"n\":1}"), f("", "", "f", "{\"n\":2}")],
             &[("f", "call_0", "{\"n\":1}"), ("f", "call_1", "{\"n\":2}")]),
            ("the id repeated in every fragment",
             &[f(r#""index":0,"#, r#""id":"a","#, "f", "{"), f(r#""index":0,"#, r#""id":"a","#, "f", "}")],
             &[("f", "a", "{}")]),
            ("one id for two calls",
             &[f(r#""index":0,"#, r#""id":"a","#, "f", "{}"), f(r#""index":1,"#, r#""id":"a","#, "g", "{}")],
             &[("f", "a", "{}"), ("g", "a", "{}")]),
            ("one id for two calls, no index",
             &[f("", r#""id":"a","#, "f", "{\"n\":1}"), f("", r#""id":"a","#, "f", "{\"n\":2}"), f("", r#""id":"a","#, "f", "")],
             &[("f", "a", "{\"n\":1}"), ("f", "a", "{\"n\":2}")]),
            ("arguments interleaved",
             &[f(r#""index":0,"#, r#""id":"a","#, "f", "{"), f(r#""index":1,"#, r#""id":"b","#, "g", "{"), f(r#""index":0,"#, "", "", "}"), f(r#""index":1,"#, "", "", "}")],
             &[("f", "a", "{}"), ("g", "b", "{}")]),
            ("arguments as an object, or null",
             &[call(r#"{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}"#), call(r#"{"index":1,"id":"b","function":{"name":"g","arguments":null}}"#)],
             &[("f", "a", "{\"x\":1}"), ("g", "b", "")]),
        ];
        for (why, events, want) in rows {
            let mut events: Vec<&str> = events.iter().map(String::as_str).collect();
            events.push(STOP);
            let got = calls(&events);
            let got: Vec<_> =
                got.iter().map(|(n, i, a)| (n.as_str(), i.as_str(), a.as_str())).collect();
            assert_eq!(got, want, "{why}");
        }
    }

    /// GitHub Copilot: HKUDS/nanobot#1481 (2026-03-03).
    #[test]
    fn calls_of_another_choice_count_where_the_first_has_none() {
        let text = r#"{"choices":[{"index":0,"delta":{"content":"Let me see."}}]}"#;
        let of = |place: u32, id: &str| {
            format!(
                r#"{{"choices":[{{"index":{place},"delta":{{"tool_calls":[{{"index":0,"id":"{id}","function":{{"name":"f","arguments":"{{}}"}}}}]}}}}]}}"#
            )
        };
        let end = |place: u32| {
            format!(
                r#"{{"choices":[{{"index":{place},"delta":{{}},"finish_reason":"tool_calls"}}]}}"#
            )
        };
        let f = |id: &str| ("f".to_owned(), id.to_owned(), "{}".to_owned());
        assert_eq!(calls(&[text, &of(1, "b"), &end(1)]), [f("b")]);
        // An alternative to calls of the first choice, and one to an answer without calls.
        assert_eq!(calls(&[&of(0, "a"), &of(1, "b"), &end(0)]), [f("a")]);
        let whole = r#"{"choices":[{"index":0,"message":{"content":"Let me see."},"finish_reason":"tool_calls"},{"index":1,"message":{"tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
        assert_eq!(calls(&[whole]), [f("b")]);
        let finishes = |events: &[&str]| {
            let finish = |delta: &Delta| matches!(delta, Delta::Finish { .. });
            read(events).into_iter().filter(finish).count()
        };
        assert_eq!(finishes(&[text, &of(1, "b"), &end(1)]), 1);
        assert_eq!(finishes(&[text, &end(1)]), 0, "the first choice goes on");
    }

    #[test]
    fn a_response_with_too_many_calls_is_an_error() {
        let one = |n: usize| format!(r#"{{"index":{n},"id":"c{n}","function":{{"name":"f"}}}}"#);
        let all: Vec<_> = (0..=limits::STREAM_CALLS).map(one).collect();
        let deltas = read(&[&call(&all.join(","))]);
        let starts = |delta: &&Delta| matches!(delta, Delta::ToolCallStart { .. });
        assert_eq!(deltas.iter().filter(starts).count(), limits::STREAM_CALLS);
        assert!(matches!(deltas.last(), Some(Delta::Error(_))));
    }

    #[test]
    fn a_name_that_comes_late_is_waited_for() {
        let events = [
            call(r#"{"index":0,"id":"a","function":{"arguments":"{\"x\""}}"#),
            call(r#"{"index":0,"function":{"name":"f","arguments":":1}"}}"#),
        ];
        let want = [("f".to_owned(), "a".to_owned(), "{\"x\":1}".to_owned())];
        assert_eq!(calls(&[&events[0], &events[1], "[DONE]"]), want);
    }
}
