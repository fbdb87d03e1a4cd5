//! The events of a stream that is written anew.

use super::is_final;
use super::item::is_call;
use crate::index::slot;
use crate::json::{Json, object};
use crate::proxy::step::{Event, Verdicts};
use crate::proxy::tree::{Place, Places, member, remove, set};
use crate::stream::list;

/// What the client was shown.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The client was shown the whole response.
    is_over: bool,
    /// Where the other items of the provider stand for the client, and where its calls.
    places: Places<u64>,
    called: Vec<Option<u64>>,
    next: u64,
    /// The number of the last event that the client has.
    sequence: Option<u64>,
    /// The output of the first response.
    first: Vec<Json<'static>>,
    /// The members of the first response that the second one keeps.
    head: Json<'static>,
    said: Vec<Json<'static>>,
    is_second: bool,
}

impl Written {
    /// The client knows the first response, whose text another one may continue.
    pub(super) fn head(&mut self, response: &Json<'static>) {
        if !self.is_second {
            self.head = response.clone();
        }
    }

    pub(super) fn begin_item(&mut self, at: Place) {
        self.places.set(at, self.next);
        self.next += 1;
    }

    pub(super) fn begin_call(&mut self, at: Place) {
        self.places.remove(at);
    }

    pub(super) fn again(&mut self) {
        self.is_second = true;
        self.is_over = false;
        self.places.clear();
    }

    pub(super) fn rewrite(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>> {
        let kind = event.json.kind().unwrap_or_default();
        let is_head =
            matches!(kind, "response.created" | "response.in_progress" | "response.queued");
        if self.is_second && is_head {
            return Vec::new();
        }
        let has_response = event.json.get("response").is_some();
        let mut json = event.json.clone();
        if let Some(key) = event.keys.first().copied().flatten().filter(|_| !has_response) {
            if verdicts.refuses(key) {
                self.leave(&json);
                return Vec::new();
            }
            set(&mut json, "output_index", Json::integer(self.place(key)));
            return vec![self.numbered(json)];
        }
        if let Some(index @ Json::Number(_)) = json.get("output_index") {
            let Some(place) = self.places.get(Place::of(Some(index))) else { return Vec::new() };
            set(&mut json, "output_index", Json::integer(place));
            return vec![self.numbered(json)];
        }
        if !has_response {
            return vec![self.numbered(json)];
        }
        // Each copy of the whole response would have all that was shown.
        if is_final(kind) {
            if self.is_over {
                return Vec::new();
            }
            self.is_over = true;
        }
        let response = self.whole_response(event, verdicts);
        set(&mut json, "response", response);
        vec![self.numbered(json)]
    }

    fn place(&mut self, key: usize) -> u64 {
        let place = slot(&mut self.called, key);
        if place.is_none() {
            *place = Some(self.next);
            self.next += 1;
        }
        place.unwrap_or_default()
    }

    /// The number of a left-out event goes to the next one.
    fn leave(&mut self, json: &Json<'_>) {
        self.sequence.get_or_insert_with(|| first_number(json));
    }

    fn numbered(&mut self, mut json: Json<'static>) -> Json<'static> {
        let number = self.sequence.unwrap_or_else(|| first_number(&json));
        set(&mut json, "sequence_number", Json::integer(number));
        self.sequence = Some(number.saturating_add(1));
        json
    }

    /// A response with the output that the client was shown.
    fn whole_response(&self, event: &Event, verdicts: &Verdicts) -> Json<'static> {
        let response = event.json.get("response").cloned().unwrap_or_default();
        let mut response =
            if response.as_object().is_some() { response } else { Json::Object(Vec::new()) };
        let mut keys = event.keys.iter().copied();
        let mut output = if self.is_second { self.first.clone() } else { Vec::new() };
        output.extend(
            list(&response, "output")
                .iter()
                .filter(|item| {
                    let key = if is_call(item) { keys.next().flatten() } else { None };
                    key.is_none_or(|key| !verdicts.refuses(key))
                })
                .cloned(),
        );
        output.extend(self.said.iter().cloned());
        if self.is_second {
            for name in ["id", "created_at"] {
                match self.head.get(name) {
                    Some(value) => set(&mut response, name, value.clone()),
                    None => drop(remove(&mut response, name)),
                }
            }
        }
        set(&mut response, "output", Json::Array(output));
        response
    }

    pub(super) fn passed(&mut self, event: &Event) {
        if event.json.get("response").is_some() {
            return;
        }
        if let Some(key) = event.keys.first().copied().flatten() {
            self.place(key);
        }
    }

    /// What the client was shown of the response whose calls are refused.
    pub(super) fn keep(&mut self, event: &Event, verdicts: &Verdicts) {
        let mut whole = self.whole_response(event, verdicts);
        if let Some(Json::Array(output)) = member(&mut whole, "output").map(std::mem::take) {
            self.first = output;
        }
    }

    pub(super) fn answer_events(&mut self, said: &str) -> Vec<Json<'static>> {
        let at = Json::integer(self.next);
        let item_id = Json::string(format!("msg_turnlock_{}", self.next));
        self.next += 1;
        let answer_text = Json::string(said.to_owned());
        let part = |text: Json<'static>| {
            object! { "type": "output_text", "text": text, "annotations": Json::Array(Vec::new()) }
        };
        let item = |status: &'static str, content: Vec<Json<'static>>| {
            object! {
                "id": item_id.clone(),
                "type": "message",
                "role": "assistant",
                "status": status,
                "content": Json::Array(content),
            }
        };
        let done = item("completed", vec![part(answer_text.clone())]);
        self.said.push(done.clone());
        let within = |kind: &'static str, name: &'static str, value: Json<'static>| {
            let mut json = object! {
                "type": kind,
                "item_id": item_id.clone(),
                "output_index": at.clone(),
                "content_index": Json::integer(0),
            };
            set(&mut json, name, value);
            json
        };
        let item_event = |kind: &'static str, item: Json<'static>| {
            object! { "type": kind, "output_index": at.clone(), "item": item }
        };
        let events = vec![
            item_event("response.output_item.added", item("in_progress", Vec::new())),
            within("response.content_part.added", "part", part("".into())),
            within("response.output_text.delta", "delta", answer_text.clone()),
            within("response.output_text.done", "text", answer_text.clone()),
            within("response.content_part.done", "part", part(answer_text)),
            item_event("response.output_item.done", done),
        ];
        events.into_iter().map(|json| self.numbered(json)).collect()
    }

    pub(super) fn ended(&self) -> Vec<Json<'static>> {
        let mut response = object! { "object": "response" };
        for (name, value) in self.head.as_object().unwrap_or_default() {
            if let Json::Object(members) = &mut response {
                match members.iter_mut().find(|(member, _)| member == name) {
                    Some((_, before)) => *before = value.clone(),
                    None => members.push((name.clone(), value.clone())),
                }
            }
        }
        set(&mut response, "status", "completed".into());
        set(&mut response, "output", Json::Array(Vec::new()));
        vec![object! { "type": "response.completed", "response": response }]
    }
}

/// The number of the first event that is written anew.
fn first_number(json: &Json<'_>) -> u64 {
    json.get("sequence_number").and_then(Json::as_u64).unwrap_or(0)
}
