//! The chunks of a stream that is written anew.

use crate::index::{Index, slot};
use crate::json::{Json, object};
use crate::proxy::step::{Event, Verdicts};
use crate::proxy::tree::{is_full, member, place_name, remove, set};
use crate::stream::{list, part, text};

/// What the client was shown.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The members of the first chunk but its choices and its usage.
    head: Option<Json<'static>>,
    is_second: bool,
    choice_names: Index,
    /// Where the next call of each choice stands.
    next: Vec<u64>,
    /// Where each call stands.
    places: Vec<Option<u64>>,
}

impl Written {
    /// Some providers begin with a chunk without an id, about the prompt.
    pub(super) fn head(&mut self, json: &Json<'static>) {
        let has_id = |head: &Json<'_>| !text(head, "id").is_empty();
        if self.head.as_ref().is_some_and(has_id) {
            return;
        }
        let members = json.as_object().unwrap_or_default().iter();
        let is_of_all = |name: &str| !matches!(name, "choices" | "usage");
        self.head =
            Some(Json::Object(members.filter(|(name, _)| is_of_all(name)).cloned().collect()));
    }

    pub(super) fn again(&mut self) {
        self.is_second = true;
    }

    pub(super) fn rewrite(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>> {
        self.rewritten(event, verdicts, false)
    }

    /// `is_before_end`: without reasons to finish.
    fn rewritten(
        &mut self,
        event: &Event,
        verdicts: &Verdicts,
        is_before_end: bool,
    ) -> Vec<Json<'static>> {
        let mut json = event.json.clone();
        let Some(Json::Array(choices)) = member(&mut json, "choices")
            .map(std::mem::take)
            .filter(|choices| choices.items().len() > 0)
        else {
            return vec![self.named(event.json.clone())];
        };
        let mut keys = event.keys.iter().copied();
        let mut left = Vec::new();
        for mut choice in choices {
            let which = self.choice(&choice);
            if is_before_end {
                set(&mut choice, "finish_reason", Json::Null);
            }
            let delta = member(&mut choice, "delta").map(std::mem::take);
            let mut delta = delta.filter(is_full).unwrap_or(Json::Object(Vec::new()));
            let pieces = remove(&mut delta, "tool_calls");
            let called = remove(&mut delta, "function_call").filter(is_full);
            let mut is_left = || keys.next().flatten().filter(|key| !verdicts.refuses(*key));
            let had_calls = called.is_some() || list_len(pieces.as_ref()) > 0;
            let mut calls = Vec::new();
            if let Some(Json::Array(pieces)) = pieces {
                for mut piece in pieces {
                    let Some(key) = is_left() else { continue };
                    set(&mut piece, "index", Json::integer(self.place(which, key, None)));
                    calls.push(piece);
                }
            }
            if !calls.is_empty() {
                set(&mut delta, "tool_calls", Json::Array(calls));
            }
            if let Some(called) = called.filter(|_| is_left().is_some()) {
                set(&mut delta, "function_call", called);
            }
            let blank = |value: &Json<'_>| value.is_null() || value.as_str() == Some("");
            let is_empty = delta.members().all(|(_, value)| blank(value));
            // A frame that was nothing but pieces of refused calls.
            if had_calls && is_empty && text(&choice, "finish_reason").is_empty() {
                continue;
            }
            if matches!(choice, Json::Object(_)) {
                set(&mut choice, "delta", delta);
            } else {
                choice = object! { "delta": delta };
            }
            left.push(choice);
        }
        if left.is_empty() {
            return Vec::new();
        }
        set(&mut json, "choices", Json::Array(left));
        vec![self.named(json)]
    }

    fn choice(&mut self, choice: &Json<'_>) -> usize {
        let name = choice.get("index").filter(|index| !index.is_null());
        self.choice_names.number(&name.map_or_else(|| "0".to_owned(), place_name))
    }

    /// Where the call of a piece stands for the client; `index` is that of a piece that passed as it was.
    fn place(&mut self, choice: usize, key: usize, index: Option<u64>) -> u64 {
        let next = slot(&mut self.next, choice);
        let place = *slot(&mut self.places, key).get_or_insert(index.unwrap_or(*next));
        *next = (*next).max(place.saturating_add(1));
        place
    }

    /// All chunks of a response have one id.
    fn named(&self, mut json: Json<'static>) -> Json<'static> {
        let Some(head) = self.head.as_ref().filter(|_| self.is_second) else { return json };
        for name in ["id", "created"] {
            match head.get(name) {
                Some(value) => set(&mut json, name, value.clone()),
                None => drop(remove(&mut json, name)),
            }
        }
        json
    }

    pub(super) fn passed(&mut self, event: &Event) {
        let mut keys = event.keys.iter().copied();
        for choice in list(&event.json, "choices") {
            let which = self.choice(choice);
            let delta = part(choice, "delta");
            for piece in list(delta, "tool_calls") {
                if let Some(key) = keys.next().flatten() {
                    self.place(which, key, part(piece, "index").as_u64());
                }
            }
            if is_full(part(delta, "function_call")) {
                keys.next();
            }
        }
    }

    pub(super) fn before_end(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>> {
        let mut frames = self.rewritten(event, verdicts, true);
        let says = |choice: &Json<'_>| !text(part(choice, "delta"), "content").is_empty();
        frames.retain(|json| list(json, "choices").iter().any(says));
        frames
    }

    pub(super) fn answer_events(&self, said: &str) -> Vec<Json<'static>> {
        let delta = object! { "content": Json::string(said.to_owned()) };
        vec![self.chunk(delta, Json::Null)]
    }

    fn chunk(&self, delta: Json<'static>, reason: Json<'static>) -> Json<'static> {
        let mut json = object! {
            "id": "chatcmpl-turnlock",
            "object": "chat.completion.chunk",
            "created": Json::integer(0),
            "model": "",
        };
        if let Json::Object(members) = &mut json {
            for (name, value) in
                self.head.iter().flat_map(|head| head.as_object().unwrap_or_default())
            {
                match members.iter_mut().find(|(member, _)| member == name) {
                    Some((_, before)) => *before = value.clone(),
                    None => members.push((name.clone(), value.clone())),
                }
            }
        }
        let choice = object! { "index": Json::integer(0), "delta": delta, "finish_reason": reason };
        set(&mut json, "choices", Json::Array(vec![choice]));
        json
    }

    pub(super) fn finish(&self, mut json: Json<'static>) -> Json<'static> {
        if let Some(Json::Array(choices)) = member(&mut json, "choices") {
            for choice in choices {
                end_of(choice);
            }
        }
        self.named(json)
    }

    pub(super) fn ended(&self) -> Vec<Json<'static>> {
        vec![self.chunk(Json::Object(Vec::new()), "stop".into())]
    }
}

fn list_len(value: Option<&Json<'_>>) -> usize {
    value.map_or(0, |value| value.items().len())
}

/// A response without calls has not ended with calls.
pub(in crate::proxy) fn end_of(choice: &mut Json<'static>) {
    if matches!(text(choice, "finish_reason"), "tool_calls" | "function_call") {
        set(choice, "finish_reason", "stop".into());
    }
}
