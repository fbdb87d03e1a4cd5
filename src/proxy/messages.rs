//! Streams of Anthropic's Messages.

use super::call::{Call, Keyed};
use super::open::OpenCalls;
use super::step::{Event, Said, Step, Stream, Usage, Verdicts};
use super::tree::{
    Place, Places, are_texts, is_arguments, is_blank, is_number, joined_text, member, set,
};
use crate::index::slot;
use crate::json::{Json, object};
use crate::stream::{list, part, text};

#[derive(Debug, Default)]
pub(super) struct MessagesStream {
    open: OpenCalls,
    /// Where the other blocks of the provider stand for the client.
    places: Places<u64>,
    /// The places of calls of the provider, whose arguments come in the same events.
    others: Places<()>,
    /// The calls among the blocks, in their order: some clients take the index of an event for it.
    blocks: Places<Option<usize>>,
    count: u32,
    /// Where each call stands for the client.
    called: Vec<Option<u64>>,
    next: u64,
    is_second: bool,
    usage: Usage,
}

pub(super) fn is_call(block: &Json<'_>) -> bool {
    block.as_object().is_some() && joined_text(part(block, "type")) == "tool_use"
}

pub(super) fn call_of(block: &Json<'_>) -> Call {
    let (kind, id, name) = (part(block, "type"), part(block, "id"), part(block, "name"));
    let input = part(block, "input");
    Call {
        id: id.as_str().unwrap_or_default().to_owned(),
        name: name.as_str().unwrap_or_default().to_owned(),
        arguments: if input.is_null() { "{}".to_owned() } else { input.to_text() },
        is_unclear: !are_texts(&[kind, id, name]) || !is_arguments(input),
        ..Call::default()
    }
}

/// Whether a delta of a call has a piece of its arguments, and nothing that a client takes in its place.
fn is_piece(json: &Json<'_>) -> bool {
    let delta = part(json, "delta");
    let beside = ["partial_json", "text", "input", "arguments"];
    let is_known = |name: &str| matches!(name, "type" | "partial_json");
    text(delta, "type") == "input_json_delta"
        && are_texts(&[part(delta, "partial_json")])
        && !delta.get("partial_json").is_some_and(Json::is_null)
        && delta.members().all(|(name, value)| is_known(name) || is_blank(value))
        && beside.iter().all(|name| is_blank(part(json, name)))
}

impl Stream for MessagesStream {
    fn read(&mut self, event: &mut Event) -> Step {
        let json = std::mem::take(&mut event.json);
        let step = self.step(&json, &mut event.keys);
        event.json = json;
        step
    }

    fn rest(&mut self) -> Vec<Keyed> {
        self.open.take()
    }

    fn drop_arguments(&mut self) {
        self.open.drop_arguments(true);
    }

    fn rewrite(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>> {
        let mut json = event.json.clone();
        if json.kind() == Some("message_start") {
            if self.is_second {
                return Vec::new();
            }
            let content = member(&mut json, "message").and_then(|m| member(m, "content"));
            if let Some(Json::Array(blocks)) = content {
                let mut keys = event.keys.iter().copied();
                blocks.retain(|block| {
                    let key = if is_call(block) { keys.next().flatten() } else { None };
                    key.is_none_or(|key| !verdicts.refuses(key))
                });
            }
            return vec![json];
        }
        if let Some(key) = event.keys.first().copied().flatten() {
            if verdicts.refuses(key) {
                return Vec::new();
            }
            set(&mut json, "index", Json::integer(self.place(key)));
            return vec![json];
        }
        if !matches!(json.get("index"), Some(Json::Number(_))) {
            return vec![json];
        }
        let Some(place) = self.places.get(Place::of(json.get("index"))) else { return Vec::new() };
        set(&mut json, "index", Json::integer(place));
        vec![json]
    }

    fn passed(&mut self, event: &Event) {
        if event.json.kind() == Some("message_start") {
            return;
        }
        if let Some(key) = event.keys.first().copied().flatten() {
            self.place(key);
        }
    }

    fn again(&mut self) {
        self.is_second = true;
        self.open.drop_arguments(false);
        self.open.take();
        self.places.clear();
        self.others.clear();
        self.blocks.clear();
        self.count = 0;
    }

    fn answer_events(&mut self, said: &str) -> Vec<Json<'static>> {
        let index = Json::integer(self.next);
        self.next += 1;
        let block = object! { "type": "text", "text": "" };
        let delta = object! { "type": "text_delta", "text": Json::string(said.to_owned()) };
        vec![
            object! { "type": "content_block_start", "index": index.clone(), "content_block": block },
            object! { "type": "content_block_delta", "index": index.clone(), "delta": delta },
            object! { "type": "content_block_stop", "index": index },
        ]
    }

    fn finish(&mut self, mut json: Json<'static>) -> Json<'static> {
        if let Some(delta) = member(&mut json, "delta") {
            end_of(delta);
        }
        json
    }

    fn ended(&mut self) -> Vec<Json<'static>> {
        let delta = object! { "stop_reason": "end_turn", "stop_sequence": Json::Null };
        let mut usage = self.usage.clone();
        if usage.get("output_tokens").is_none() {
            usage.add(&object! { "output_tokens": Json::integer(0) });
        }
        let usage = usage.into_json();
        vec![
            object! { "type": "message_delta", "delta": delta, "usage": usage },
            object! { "type": "message_stop" },
        ]
    }

    fn is_last(&self, json: &Json<'_>) -> bool {
        json.kind() == Some("message_stop")
    }
}

impl MessagesStream {
    fn step(&mut self, json: &Json<'static>, keys: &mut Vec<Option<usize>>) -> Step {
        let index = json.get("index");
        let at = Place::of(index);
        let is_index = is_number(index.unwrap_or(&Json::Null));
        let call = self.open.at(at);
        match json.kind().unwrap_or_default() {
            "message_start" => return self.start(part(json, "message"), keys),
            "content_block_start" => {
                let block = part(json, "content_block");
                if is_call(block) {
                    let mut call = call_of(block);
                    // What a block begins with are its arguments, if nothing follows.
                    if call.arguments == "{}" {
                        call.arguments.clear();
                    }
                    let key = self.open.begin(at, call);
                    self.open.blur(key, !is_index);
                    self.block(Some(key));
                    self.places.remove(at);
                    self.others.remove(at);
                    keys.push(Some(key));
                    return Step::open(true);
                }
                self.open.close(at);
                self.block(None);
                self.places.set(at, self.next);
                self.next += 1;
                let kind = text(block, "type");
                if kind.ends_with("tool_use") {
                    self.others.set(at, ());
                } else {
                    self.others.remove(at);
                }
                return Step { text: kind == "text", ..Step::open(!self.open.is_empty()) };
            }
            "content_block_delta" => {
                keys.extend(call.map(Some));
                return self.delta(json, (at, is_index), call);
            }
            "content_block_stop" => {
                keys.extend(call.map(Some));
                if call.is_some() {
                    let complete = self.open.end(at);
                    return Step { open: complete.is_empty(), complete, ..Step::default() };
                }
            }
            "message_delta" => {
                let usage = part(json, "usage");
                self.usage.add(usage);
                let mut step = Step::open(!self.open.is_empty());
                step.usage = Some(Said { usage: object_of(usage), adds: true });
                step.finish = !text(part(json, "delta"), "stop_reason").is_empty();
                if step.finish {
                    step.open = false;
                    step.complete = self.open.take();
                }
                return step;
            }
            _ => {}
        }
        Step::open(!self.open.is_empty())
    }

    /// Where code of the provider calls tools, a message begins with its calls.
    fn start(&mut self, message: &Json<'static>, keys: &mut Vec<Option<usize>>) -> Step {
        self.blocks.clear();
        self.count = 0;
        for block in list(message, "content") {
            self.block(None);
            if is_call(block) {
                keys.push(Some(self.open.begin(Place::NONE, call_of(block))));
            }
        }
        let complete = if keys.is_empty() { Vec::new() } else { self.open.take() };
        self.usage = Usage::default();
        self.usage.add(part(message, "usage"));
        let usage = Some(Said { usage: object_of(part(message, "usage")), adds: false });
        Step { complete, usage, id: text(message, "id").to_owned(), ..Step::default() }
    }

    fn delta(&mut self, json: &Json<'_>, at: (Place, bool), call: Option<usize>) -> Step {
        let (at, is_index) = at;
        let piece = part(json, "delta").get("partial_json");
        let stray = Step { stray: true, ..Step::default() };
        // Arguments that follow the end of a call would be others than those that were judged.
        if call.is_none() && piece.is_some() && self.others.get(at).is_none() {
            return stray;
        }
        let counted = self.blocks.get(at).flatten();
        if piece.is_some() && counted != call {
            let Some(call) = call.filter(|_| counted.is_none()) else { return stray };
            self.open.blur(call, true);
        }
        if let Some(call) = call {
            self.open.blur(call, !is_piece(json) || !is_index);
        }
        self.open.add(at, piece.and_then(Json::as_str).unwrap_or_default());
        Step::open(!self.open.is_empty())
    }

    /// Counts a block.
    fn block(&mut self, call: Option<usize>) {
        self.blocks.set(Place::at(self.count), call);
        self.count += 1;
    }

    fn place(&mut self, key: usize) -> u64 {
        let place = slot(&mut self.called, key);
        if place.is_none() {
            *place = Some(self.next);
            self.next += 1;
        }
        place.unwrap_or_default()
    }
}

/// An object; an empty one for anything else.
fn object_of(usage: &Json<'static>) -> Json<'static> {
    if usage.as_object().is_some() { usage.clone() } else { Json::Object(Vec::new()) }
}

/// A response without calls has not ended with calls.
pub(super) fn end_of(holder: &mut Json<'static>) {
    if text(holder, "stop_reason") == "tool_use" {
        set(holder, "stop_reason", "end_turn".into());
    }
}
