//! OpenAI Chat Completions chunks, and the variants of compatible providers:
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.

mod chunk;

use crate::json::{Json, Reader};
use crate::limits;
use crate::stream::{
    Delta, Events, FinishReason, ProviderToolStatus, finished, malformed, push_reasoning,
    push_text, push_tool, text,
};
use chunk::{Chunk, Fragment, Piece};

/// The state between two chunks.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Chunks {
    calls: Vec<Call>,
    finished: bool,
    done: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Call {
    /// The provider's index: some count from 1, leave gaps, or send 0 for every call.
    wire_index: Option<u64>,
    wire_id: Option<String>,
    name: String,
    /// Arguments that wait for the name of their call.
    waiting: String,
    arguments: Shape,
    started: bool,
    ended: bool,
}

/// Whether arguments that arrive in pieces are a whole object, by their brackets: to read them
/// again with each piece would take quadratic time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Shape {
    #[default]
    Blank,
    Open {
        depth: u32,
        in_string: bool,
        escaped: bool,
    },
    Whole,
    Other,
}

impl Shape {
    fn take(&mut self, text: &str) {
        for byte in text.bytes() {
            *self = match (*self, byte) {
                (Self::Other, _) => return,
                (shape @ (Self::Blank | Self::Whole), byte) if byte.is_ascii_whitespace() => shape,
                (Self::Blank, b'{') => Self::Open { depth: 1, in_string: false, escaped: false },
                (Self::Blank | Self::Whole, _) => Self::Other,
                (Self::Open { depth, in_string: true, escaped }, byte) => Self::Open {
                    depth,
                    in_string: escaped || byte != b'"',
                    escaped: !escaped && byte == b'\\',
                },
                (Self::Open { depth: 1, .. }, b'}' | b']') => Self::Whole,
                (Self::Open { depth, .. }, byte) => Self::Open {
                    depth: match byte {
                        b'{' | b'[' => depth.saturating_add(1),
                        b'}' | b']' => depth - 1,
                        _ => depth,
                    },
                    in_string: byte == b'"',
                    escaped: false,
                },
            };
        }
    }
}

impl Events for Chunks {
    fn is_finished(&self) -> bool {
        self.finished || self.done
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        if data.trim() == "[DONE]" {
            self.end_calls(out);
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
        if !chunk.known && chunk.usage.is_none() && chunk.error.is_none() {
            out.push(Delta::Other { raw: data.to_owned() });
            return;
        }
        self.take(chunk, out);
    }
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
    fn take(&mut self, chunk: Chunk<'_>, out: &mut Vec<Delta>) {
        for piece in chunk.said {
            match piece {
                Piece::Text(text) => push_text(&text, out),
                Piece::Reasoning(text) => push_reasoning(&text, None, out),
                Piece::Signature(signature) => push_reasoning("", Some(&signature), out),
            }
        }
        chunk.tools.iter().for_each(|tool| executed(tool, out));
        out.extend(chunk.others.into_iter().map(|raw| Delta::Other { raw }));
        for fragment in chunk.calls {
            self.fragment(fragment, out);
            if matches!(out.last(), Some(Delta::Error(_))) {
                return;
            }
        }
        if let Some(raw) = chunk.finish.filter(|raw| !raw.is_empty()) {
            out.extend(chunk.sources.into_iter().map(|raw| Delta::Other { raw }));
            self.finish(&raw, out);
        }
        if let Some(usage) = chunk.usage {
            out.push(Delta::Usage(usage));
        }
        if let Some(error) = chunk.error {
            out.push(Delta::Error(error));
        }
    }

    fn finish(&mut self, raw: &str, out: &mut Vec<Delta>) {
        self.end_calls(out);
        // Some providers send the reason with the call and again after it: the first one counts.
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        let said = match raw {
            "stop" | "eos" | "end_turn" | "stop_sequence" => FinishReason::Stop,
            "length" | "max_tokens" | "model_length" => FinishReason::Length,
            "tool_calls" | "function_call" => FinishReason::ToolCalls,
            "content_filter" => FinishReason::ContentFilter,
            "error" | "insufficient_system_resource" => FinishReason::Error,
            _ => FinishReason::Other,
        };
        // With a forced tool choice, OpenAI itself sends `stop`.
        let reason = finished(said, !self.calls.is_empty());
        out.push(Delta::Finish { reason, raw: raw.to_owned() });
    }

    fn fragment(&mut self, fragment: Fragment<'_>, out: &mut Vec<Delta>) {
        let at = match self.find(&fragment) {
            Some(at) => at,
            None => {
                if self.calls.len() >= limits::STREAM_CALLS {
                    out.push(Delta::Error(malformed("the response has too many calls", "")));
                    return;
                }
                self.end_complete_calls(out);
                self.calls.push(Call { wire_index: fragment.index, ..Call::default() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.ended {
            return;
        }
        if let Some(id) = fragment.id {
            call.wire_id.get_or_insert_with(|| id.into_owned());
        }
        if let Some(name) = fragment.name.filter(|_| call.name.is_empty()) {
            call.name = name.into_owned();
        }
        if let Some(arguments) = fragment.arguments {
            call.arguments.take(&arguments);
            call.waiting.push_str(&arguments);
        }
        if !call.name.is_empty() {
            call.pass_on(at, out);
        }
    }

    /// The call that a fragment continues: by its id, else by its index, else the last one.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let last = |test: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(test);
        let by_index = match fragment.index {
            Some(index) => last(&|call| call.wire_index == Some(index)),
            None => self.calls.len().checked_sub(1),
        };
        if let Some(id) = &fragment.id {
            // The same id at another index, with a name, is another call with the same id; so it is
            // without an index where whole arguments begin anew.
            let elsewhere = |call: &Call| {
                fragment.name.is_some()
                    && match fragment.index {
                        Some(_) => call.wire_index != fragment.index,
                        None => !fragment.continues(call),
                    }
            };
            let known = last(&|call| call.wire_id.as_deref() == Some(id) && !elsewhere(call));
            // An id that arrives late belongs to the call at its index, if that call has no id.
            let late = by_index.filter(|at| {
                let call = self.calls.get(*at);
                call.is_some_and(|call| call.wire_id.is_none() && fragment.continues(call))
            });
            return known.or(late);
        }
        by_index.filter(|at| self.calls.get(*at).is_some_and(|call| fragment.continues(call)))
    }

    /// Ends calls whose arguments are a complete object: no later fragment can continue them.
    fn end_complete_calls(&mut self, out: &mut Vec<Delta>) {
        for (at, call) in self.calls.iter_mut().enumerate() {
            if call.started && !call.ended && call.arguments == Shape::Whole {
                call.end(at, out);
            }
        }
    }

    fn end_calls(&mut self, out: &mut Vec<Delta>) {
        for (at, call) in self.calls.iter_mut().enumerate() {
            if !call.ended {
                call.pass_on(at, out);
                call.end(at, out);
            }
        }
    }
}

impl Call {
    fn pass_on(&mut self, at: usize, out: &mut Vec<Delta>) {
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        if !std::mem::replace(&mut self.started, true) {
            let id = self.wire_id.clone().unwrap_or_else(|| format!("call_{index}"));
            out.push(Delta::ToolCallStart { index, id, name: self.name.clone() });
        }
        if !self.waiting.is_empty() {
            let text = std::mem::take(&mut self.waiting);
            out.push(Delta::ToolCallArguments { index, text });
        }
    }

    fn end(&mut self, at: usize, out: &mut Vec<Delta>) {
        self.ended = true;
        out.push(Delta::ToolCallEnd { index: u32::try_from(at).unwrap_or(u32::MAX) });
    }
}

impl Fragment<'_> {
    /// Whether a fragment without an id of its own can be a piece of `call`.
    fn continues(&self, call: &Call) -> bool {
        let renamed =
            self.name.as_ref().is_some_and(|name| !call.name.is_empty() && *name != call.name);
        let restarts = self.arguments.as_ref().is_some_and(|text| text.starts_with('{'));
        !(renamed || restarts && call.arguments == Shape::Whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn brackets_tell_whether_an_object_is_whole() {
        let rows = [
            ("", Shape::Blank),
            (" {\"a\": [1, {}]} \n", Shape::Whole),
            (r#"{"a":"}\\\"]"}"#, Shape::Whole),
            ("{} x", Shape::Other),
            ("[1]", Shape::Other),
            ("{}{", Shape::Other),
        ];
        for (text, want) in rows {
            let mut whole = Shape::default();
            whole.take(text);
            let mut pieces = Shape::default();
            text.split_inclusive(|_| true).for_each(|piece| pieces.take(piece));
            assert_eq!((whole, pieces), (want, want), "{text}");
        }
        let mut open = Shape::default();
        open.take(r#"{"a":"}"#);
        assert!(matches!(open, Shape::Open { depth: 1, in_string: true, .. }));
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
