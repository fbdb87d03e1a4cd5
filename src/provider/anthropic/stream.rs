//! Anthropic Messages streaming: <https://docs.anthropic.com/en/api/messages-streaming>.
//!
//! The `type` inside the data is read, not the event's name, because proxies drop the latter. An
//! unknown event type is passed on as `other`, because the provider adds types without notice.

mod event;

use crate::json::{Add, Json, Reader};
use crate::limits;
use crate::stream::{
    Delta, Events, FinishReason, Hosted, NO_INDEX, ProviderToolStatus, REDACTED, Sum, Usage,
    failure, has_unread, malformed, part, push_reasoning, push_text, push_tool, text,
};
use event::{Change, Event};

/// The state between two events.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Messages {
    message: Option<String>,
    /// A block has started.
    said: bool,
    /// Open blocks by the provider's index, in the order in which they started.
    blocks: Vec<(u64, Block)>,
    /// The highest index of a block so far.
    highest: Option<u64>,
    /// A call that ended without arguments. The output limit may have cut it before them, so its end
    /// counts once another block starts or the response ends normally.
    blank: Option<u32>,
    /// Calls of a message that is no stream. They end if the message ends normally.
    unmarked: Vec<u32>,
    calls: u32,
    ended_calls: u32,
    tokens: Tokens,
    finished: bool,
    done: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Block {
    /// Text or thinking; the type of each delta tells which.
    Plain,
    /// A call for the host to run. `whole` is the input, if it came with the start.
    /// `unread`: what may be its input stood in a member that is not read.
    Call { index: u32, whole: Option<String>, pieces: Option<Sum>, unread: bool },
    /// A tool that the provider runs. `whole` is the input, as it came with the start.
    Hosted { block: Hosted, whole: String },
    /// A summary of the conversation, which goes back as it is:
    /// <https://platform.claude.com/docs/en/build-with-claude/compaction> (read 2026-11-30).
    Compaction(Json<'static>),
    /// The result of such a tool, or an unknown block.
    Foreign,
}

/// Anthropic counts cached tokens separately from the input, and reports running totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tokens {
    input: Option<u64>,
    cache_write: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
}

/// The members of a call that are read, and those that are no input.
const KNOWN: [&str; 7] = ["type", "id", "name", "input", "caller", "cache_control", "signature"];

impl Events for Messages {
    fn is_finished(&self) -> bool {
        self.finished || self.done
    }

    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        let mut event = Event::default();
        let mut reader = Reader::verbatim(data);
        let read = reader.object(&mut |key, reader| event.member(&key, reader));
        if read.and_then(|()| reader.end()).is_err() {
            // Gateways may end this stream with OpenAI's end mark.
            if data.trim() != "[DONE]" {
                out.push(Delta::Error(malformed("an event of the model is no JSON object", data)));
            }
            return;
        }
        self.take(event, data, out);
    }
}

impl Block {
    fn has_input(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::Hosted { .. })
    }
}

impl Messages {
    fn take(&mut self, event: Event<'_>, data: &str, out: &mut Vec<Delta>) {
        if let Some(error) = event.error {
            out.push(Delta::Error(failure(&error, data)));
            return;
        }
        let at = event.index.unwrap_or(NO_INDEX);
        match &*event.kind {
            "message_start" => self.message_start(event.message.as_ref(), data, out),
            // A response that is no stream.
            "message" => {
                self.message_start(Reader::verbatim(data).value().ok().as_ref(), data, out);
                self.done = true;
            }
            "content_block_start" => self.block_start(at, event.block.as_ref(), data, out),
            "content_block_delta" => self.block_delta(at, &event.delta, data, out),
            "content_block_stop" => self.block_stop(at, true, out),
            "message_delta" => {
                if let Some(raw) = &event.delta.stop_reason {
                    self.finish(raw, out);
                }
                self.usage(event.usage.as_ref(), out);
            }
            "message_stop" => {
                self.done = true;
                if !self.finished {
                    self.complete(out);
                }
                self.blank = None;
                self.unmarked.clear();
                self.highest = None;
                // A message that starts after this one is separate; the two cannot be mixed.
                self.said = false;
                self.message = None;
                self.blocks.clear();
            }
            "ping" => {}
            _ => out.push(Delta::Other { raw: data.to_owned() }),
        }
    }

    /// Handles the start of a message. A retrying proxy can insert a second message into a stream.
    /// A repeated start with the same id is accepted before any content; otherwise the two messages
    /// would be mixed, so it is an error.
    fn message_start(&mut self, message: Option<&Json<'_>>, data: &str, out: &mut Vec<Delta>) {
        let id = message.and_then(|message| message.get("id")).and_then(Json::as_str);
        let id = id.unwrap_or_default().to_owned();
        if self.said || self.message.as_ref().is_some_and(|known| *known != id) {
            let said = "a second message starts inside the stream of the first";
            out.push(Delta::Error(malformed(said, data)));
            return;
        }
        self.message = Some(id);
        let part = |key: &str| message.and_then(|message| message.get(key));
        // A call made by code execution arrives complete with the start of its message.
        let content = part("content").and_then(Json::as_array).into_iter().flatten();
        for (at, block) in content.enumerate() {
            let at = u64::try_from(at).unwrap_or(u64::MAX);
            // Not the whole message for each block of it.
            self.block_start(at, Some(block), &block.to_text(), out);
            self.block_stop(at, false, out);
        }
        if let Some(raw) = part("stop_reason").and_then(Json::as_str) {
            self.finish(raw, out);
        }
        self.usage(part("usage"), out);
    }

    fn block_start(&mut self, at: u64, block: Option<&Json<'_>>, data: &str, out: &mut Vec<Delta>) {
        let text = |key: &str| {
            let found = block.and_then(|block| block.get(key)).and_then(Json::as_str);
            found.unwrap_or_default().to_owned()
        };
        self.end_blank(out);
        let kind = match &*text("type") {
            "text" => {
                push_text(&text("text"), out);
                let sources = block.and_then(|block| block.get("citations"));
                if sources.is_some_and(|sources| sources.items().len() > 0) {
                    out.push(Delta::Other { raw: data.to_owned() });
                }
                Block::Plain
            }
            "thinking" => {
                push_reasoning(&text("thinking"), Some(&text("signature")), out);
                Block::Plain
            }
            "redacted_thinking" => {
                push_reasoning("", Some(&[REDACTED, &text("data")].concat()), out);
                Block::Plain
            }
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                let id = Some(text("id")).filter(|id| !id.is_empty());
                let id = id.unwrap_or_else(|| format!("call_{index}"));
                out.push(Delta::ToolCallStart { index, id, name: text("name") });
                let whole = block.and_then(|block| whole_input(block.get("input")?));
                let unread = block.is_some_and(|block| has_unread(block, &KNOWN));
                Block::Call { index, whole, pieces: None, unread }
            }
            "server_tool_use" | "mcp_tool_use" => {
                let mut own = block.cloned().unwrap_or_default();
                let mut whole = "{}".to_owned();
                if let Json::Object(members) = &mut own {
                    members.retain(|(key, value)| {
                        let stays = key != "input";
                        if !stays {
                            whole = value.to_text();
                        }
                        stays
                    });
                }
                let called = (&*text("name"), &*text("id"));
                let running = ProviderToolStatus::Running;
                let block = Hosted::new(called, running, &own, ("input\":", "}"));
                Block::Hosted { block, whole }
            }
            "compaction" => Block::Compaction(block.cloned().unwrap_or_default().into_owned()),
            kind => {
                match kind.strip_suffix("_tool_result").zip(block) {
                    Some((name, block)) => hosted_result(name, block, out),
                    None => out.push(Delta::Other { raw: data.to_owned() }),
                }
                Block::Foreign
            }
        };
        self.said = true;
        if at != NO_INDEX {
            self.highest = self.highest.max(Some(at));
        }
        self.blocks.retain(|(open, _)| *open != at);
        if self.blocks.len() >= limits::STREAM_CALLS {
            out.push(Delta::Error(malformed("the response has too many open blocks", "")));
            return;
        }
        self.blocks.push((at, kind));
    }

    fn block_delta(&mut self, at: u64, change: &Change<'_>, data: &str, out: &mut Vec<Delta>) {
        let block = self.blocks.iter_mut().rev().find(|(open, _)| *open == at);
        if let Some((_, Block::Call { unread, .. })) = block {
            *unread |= change.unread || change.kind != "input_json_delta" && change.has_content;
        }
        match &*change.kind {
            "text_delta" => push_text(&change.text, out),
            "thinking_delta" => push_reasoning(&change.thinking, None, out),
            "signature_delta" => push_reasoning("", change.signature.as_deref(), out),
            "input_json_delta" if self.input(at, &change.partial_json, out) => {}
            "compaction_delta" if self.compaction(at, change) => {}
            _ => out.push(Delta::Other { raw: data.to_owned() }),
        }
    }

    /// Adds the summary to the block with this index; `false` if it is no compaction.
    fn compaction(&mut self, at: u64, change: &Change<'_>) -> bool {
        let block = self.blocks.iter_mut().rev().find(|(open, _)| *open == at);
        let Some((_, Block::Compaction(Json::Object(members)))) = block else { return false };
        for (key, text) in [
            ("content", &change.content),
            ("encrypted_content", &change.encrypted_content),
            ("signature", &change.signature),
        ] {
            if let Some(text) = text {
                members.retain(|(known, _)| known != key);
                members.add(key, Json::from(text.clone().into_owned()));
            }
        }
        true
    }

    /// Adds a piece of an input to the block with this index; if no block that takes input had this
    /// index, to the open one that started last. `false` if there is none: then a call that lacks
    /// this piece never ends.
    fn input(&mut self, at: u64, piece: &str, out: &mut Vec<Delta>) -> bool {
        let found = self.blocks.iter().rposition(|(open, _)| *open == at);
        let is_closed = found.is_none() && self.highest.is_some_and(|highest| at <= highest);
        let place = match found.and_then(|place| self.blocks.get(place)) {
            Some((_, Block::Plain)) => self.blocks.iter().rposition(|(_, block)| block.has_input()),
            None if !is_closed => self.blocks.iter().rposition(|(_, block)| block.has_input()),
            Some(_) | None => found,
        };
        match place.and_then(|place| self.blocks.get_mut(place)) {
            Some((_, Block::Call { index, pieces, .. })) => {
                if !piece.is_empty() {
                    pieces.get_or_insert_default().add(piece);
                    out.push(Delta::ToolCallArguments { index: *index, text: piece.to_owned() });
                }
                true
            }
            Some((_, Block::Hosted { block, .. })) => {
                block.add(piece, false, out);
                true
            }
            Some(_) => false,
            None => {
                self.blank.take_if(|_| !piece.trim().is_empty());
                false
            }
        }
    }

    /// `is_marked`: the provider sent the end of the block.
    fn block_stop(&mut self, at: u64, is_marked: bool, out: &mut Vec<Delta>) {
        let place = self.blocks.iter().position(|(open, _)| *open == at);
        let block = place.map(|place| self.blocks.remove(place).1);
        match block {
            Some(Block::Call { index, whole, pieces, unread }) => {
                self.ended_calls += 1;
                let pieces = pieces.filter(|pieces| *pieces != Sum::default());
                let is_blank = whole.is_none() && pieces.is_none();
                if unread && whole.is_none() && pieces.is_none_or(|sum| sum == Sum::of("{}")) {
                    return;
                }
                match (whole, pieces) {
                    // It is not known which of them the model meant, so the call never ends.
                    (Some(whole), Some(pieces)) if Sum::of(&whole) != pieces => return,
                    (Some(text), None) => out.push(Delta::ToolCallArguments { index, text }),
                    (_, Some(_)) | (None, None) => {}
                }
                if !is_marked {
                    self.unmarked.push(index);
                } else if is_blank {
                    self.blank = Some(index);
                } else {
                    return out.push(Delta::ToolCallEnd { index });
                }
                out.push(Delta::ToolCallReady { index });
            }
            Some(Block::Hosted { block, whole }) => block.end(&whole, out),
            Some(Block::Compaction(block)) => {
                let (name, raw) = (("compaction", ""), (block.to_text(), true));
                push_tool(name, ProviderToolStatus::Done, raw, out);
            }
            _ => {}
        }
    }

    /// Ends the call that ended without arguments, because it was not cut.
    fn end_blank(&mut self, out: &mut Vec<Delta>) {
        if let Some(index) = self.blank.take() {
            out.push(Delta::ToolCallEnd { index });
        }
    }

    /// Ends the calls that wait for the normal end of the message.
    fn complete(&mut self, out: &mut Vec<Delta>) {
        self.end_blank(out);
        out.extend(self.unmarked.drain(..).map(|index| Delta::ToolCallEnd { index }));
    }

    fn finish(&mut self, raw: &str, out: &mut Vec<Delta>) {
        let reason = match raw {
            "end_turn" | "stop_sequence" if self.ended_calls > 0 => FinishReason::ToolCalls,
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "tool_use" => FinishReason::ToolCalls,
            "refusal" => FinishReason::ContentFilter,
            "pause_turn" | "compaction" => FinishReason::Paused,
            _ => FinishReason::Other,
        };
        if matches!(reason, FinishReason::Stop | FinishReason::ToolCalls) {
            self.complete(out);
        } else {
            self.blank = None;
            self.unmarked.clear();
        }
        if !std::mem::replace(&mut self.finished, true) {
            out.push(Delta::Finish { reason, raw: raw.to_owned() });
        }
    }

    fn usage(&mut self, usage: Option<&Json<'_>>, out: &mut Vec<Delta>) {
        let number = |key: &str| usage?.get(key)?.as_u64();
        let (old, tokens) = (self.tokens, &mut self.tokens);
        tokens.input = number("input_tokens").or(tokens.input);
        tokens.cache_write = number("cache_creation_input_tokens").or(tokens.cache_write);
        tokens.cache_read = number("cache_read_input_tokens").or(tokens.cache_read);
        tokens.output = number("output_tokens").or(tokens.output);
        if *tokens == old {
            return;
        }
        let cached = tokens.cache_write.unwrap_or(0) + tokens.cache_read.unwrap_or(0);
        out.push(Delta::Usage(Usage {
            input_tokens: tokens.input.map(|input| input + cached),
            output_tokens: tokens.output,
            cached_input_tokens: tokens.cache_read,
            cache_write_input_tokens: tokens.cache_write,
            reasoning_tokens: None,
        }));
    }
}

/// The arguments in the input that a call starts with, as JSON text; `None` if it is empty, because
/// then pieces may follow. Some gateways send the text itself.
fn whole_input(input: &Json<'_>) -> Option<String> {
    match input {
        Json::Null => None,
        Json::Object(members) if members.is_empty() => None,
        Json::String(text) if text.trim().is_empty() || Sum::of(text) == Sum::of("{}") => None,
        Json::String(text) => Some(text.to_string()),
        input => Some(input.to_text()),
    }
}

/// The result of a tool that the provider ran; `name` is the provider's for its kind.
fn hosted_result(name: &str, block: &Json<'_>, out: &mut Vec<Delta>) {
    let content = part(block, "content");
    let failed = part(block, "is_error").as_bool() == Some(true)
        || text(content, "type").ends_with("_error");
    let status = if failed { ProviderToolStatus::Failed } else { ProviderToolStatus::Done };
    push_tool((name, text(block, "tool_use_id")), status, (block.to_text(), true), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(events: &[&str]) -> Vec<Delta> {
        let mut wire = Messages::default();
        let mut out = Vec::new();
        events.iter().for_each(|event| wire.data(event, &mut out));
        out
    }

    /// The arguments of the one call.
    fn arguments(start: &str, pieces: &[&str]) -> String {
        let start = format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"a","name":"f","input":{start}}}}}"#
        );
        let piece = |text: &&str| {
            format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{text:?}}}}}"#
            )
        };
        let mut events = vec![start];
        events.extend(pieces.iter().map(piece));
        events.push(r#"{"type":"content_block_stop","index":0}"#.to_owned());
        events.push(r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.to_owned());
        let deltas = read(&events.iter().map(String::as_str).collect::<Vec<_>>());
        let end = deltas.len().checked_sub(2).map(|place| &deltas[place]);
        assert_eq!(end, Some(&Delta::ToolCallEnd { index: 0 }));
        let texts = deltas.into_iter().filter_map(|delta| match delta {
            Delta::ToolCallArguments { text, .. } => Some(text),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn input_comes_whole_or_in_pieces_and_never_twice() {
        assert_eq!(arguments("{}", &["", "{\"x\"", ":1}"]), "{\"x\":1}");
        assert_eq!(arguments("{\"x\":1}", &[]), "{\"x\":1}");
        assert_eq!(arguments("{\"x\":1}", &["{\"x\"", ":1}"]), "{\"x\":1}");
        assert_eq!(arguments("{}", &[""]), "");
        assert_eq!(arguments("{\"x\":1}", &[" "]), " {\"x\":1}");
    }

    #[test]
    fn tools_of_the_provider_are_not_ours_to_run() {
        let events = [
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{},"caller":{"type":"direct"}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"tides\"}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
        ];
        let deltas = read(&events);
        let [Delta::ProviderTool(tool)] = deltas.as_slice() else { panic!("{deltas:?}") };
        assert_eq!((tool.name.as_str(), tool.id.as_deref()), ("web_search", Some("s")));
        let block = r#"{"type":"server_tool_use","id":"s","name":"web_search","caller":{"type":"direct"},"input":{"query":"tides"}}"#;
        assert_eq!((tool.raw.as_str(), tool.kept), (block, true));
        let failed = r#"{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}}"#;
        let deltas = read(&[failed]);
        let [Delta::ProviderTool(tool)] = deltas.as_slice() else { panic!("{deltas:?}") };
        assert_eq!(tool.status, ProviderToolStatus::Failed);
        assert_eq!((tool.name.as_str(), tool.id.as_deref()), ("web_search", Some("s")));
    }

    #[test]
    fn a_reason_or_the_end_of_the_message_finishes_it() {
        let finished = |event: &str| {
            let mut wire = Messages::default();
            wire.data(event, &mut Vec::new());
            wire.is_finished()
        };
        assert!(finished(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#));
        assert!(finished(r#"{"type":"message_stop"}"#));
        assert!(!finished(r#"{"type":"message_start","message":{"id":"m"}}"#));
    }

    #[test]
    fn two_messages_are_never_mixed() {
        let start = |id| format!(r#"{{"type":"message_start","message":{{"id":"{id}"}}}}"#);
        let text = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#;
        let stop = r#"{"type":"message_stop"}"#;
        let failed = |events: &[&str]| matches!(read(events).last(), Some(Delta::Error(_)));
        assert!(!failed(&[&start("m"), &start("m"), text]), "told twice, before anything was said");
        assert!(failed(&[&start("m"), text, &start("m")]), "a retry of the same message");
        assert!(failed(&[&start("m"), &start("n")]), "another message");
        assert!(!failed(&[&start("m"), text, stop, &start("n"), text]), "one after the other");
    }
}
