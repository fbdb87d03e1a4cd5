//! Streams of OpenAI's Responses.

mod item;
mod write;

use super::call::Keyed;
use super::open::OpenCalls;
use super::rows::{Rows, Taken};
use super::step::{Event, Said, Step, Stream, Verdicts};
use super::tree::{Place, are_texts, is_number};
use crate::index::{Index, slot};
use crate::json::Json;
use crate::stream::{list, part, text};
pub(super) use item::{call_of, is_call};
use item::{id_of, is_streamed};

/// Whether an event brings the whole response, at its end.
pub(super) fn is_final(kind: &str) -> bool {
    matches!(kind, "response.completed" | "response.incomplete" | "response.failed")
}

/// A call that events told: the whole response has it again.
#[derive(Debug, Clone, Default)]
struct Told {
    id: String,
    is_done: bool,
}

#[derive(Debug, Default)]
pub(super) struct ResponsesStream {
    open: OpenCalls,
    /// Calls of events, by their keys.
    told: Vec<Option<Told>>,
    /// Those calls by their ids, and those that have ended by what they are.
    begun: Rows,
    done: Rows,
    /// Calls by the id of their item.
    item_names: Index,
    items: Vec<usize>,
    written: write::Written,
}

impl Stream for ResponsesStream {
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

    fn again(&mut self) {
        self.open.drop_arguments(false);
        self.open.take();
        self.told.iter_mut().for_each(|told| *told = None);
        self.begun = Rows::default();
        self.done = Rows::default();
        self.item_names = Index::default();
        self.items.clear();
        self.written.again();
    }

    fn rewrite(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>> {
        self.written.rewrite(event, verdicts)
    }

    fn passed(&mut self, event: &Event) {
        self.written.passed(event);
    }

    fn keep(&mut self, event: &Event, verdicts: &Verdicts) {
        self.written.keep(event, verdicts);
    }

    fn answer_events(&mut self, text: &str) -> Vec<Json<'static>> {
        self.written.answer_events(text)
    }

    fn finish(&mut self, json: Json<'static>) -> Json<'static> {
        json
    }

    fn ended(&mut self) -> Vec<Json<'static>> {
        self.written.ended()
    }

    fn is_last(&self, json: &Json<'_>) -> bool {
        json.kind().is_some_and(is_final)
    }
}

/// What an event has: its place, and the call that is written there.
#[derive(Clone, Copy)]
struct Here {
    at: Place,
    is_number: bool,
    call: Option<usize>,
}

impl ResponsesStream {
    fn step(&mut self, json: &Json<'static>, keys: &mut Vec<Option<usize>>) -> Step {
        let index = json.get("output_index");
        let at = Place::of(index);
        let call = self.open.at(at);
        let here = Here { at, call, is_number: is_number(index.unwrap_or(&Json::Null)) };
        // The response itself has no place, as a call may have none.
        if json.get("response").is_none() {
            keys.extend(call.map(Some));
        }
        if let Some(call) = call {
            self.open.blur(call, !here.is_number);
        }
        let item = part(json, "item");
        let kind = json.kind().unwrap_or_default();
        match kind {
            "response.created" | "response.queued" | "response.in_progress" => {
                self.written.head(part(json, "response"));
            }
            "response.output_item.added" => {
                if is_call(item) {
                    self.begin(here, item, keys);
                    return Step::open(true);
                }
                self.open.close(at);
                self.written.begin_item(at);
                let is_text = text(item, "type") == "message";
                return Step { text: is_text, ..Step::open(!self.open.is_empty()) };
            }
            "response.output_item.done" if is_call(item) => {
                let begun = call.and_then(|key| self.told.get(key)?.as_ref());
                // Some servers say only this of a call; and another call's end begins one.
                if begun.is_none_or(|begun| begun.id != id_of(item)) {
                    self.begin(here, item, keys);
                }
                let complete = self.end(at, item);
                return Step { open: complete.is_empty(), complete, ..Step::default() };
            }
            "response.function_call_arguments.delta"
            | "response.function_call_arguments.done"
            | "response.custom_tool_call_input.delta"
            | "response.custom_tool_call_input.done" => return self.piece(json, here),
            _ if is_final(kind) => return self.finish(part(json, "response"), keys),
            _ => {}
        }
        Step::open(!self.open.is_empty())
    }

    fn begin(&mut self, here: Here, item: &Json<'_>, keys: &mut Vec<Option<usize>>) {
        let key = self.open.begin(here.at, call_of(item));
        self.open.blur(key, !here.is_number);
        self.written.begin_call(here.at);
        let id = id_of(item).to_owned();
        self.begun.add(&id, key);
        *slot(&mut self.told, key) = Some(Told { id, is_done: false });
        let id = text(item, "id");
        if !id.is_empty() {
            *slot(&mut self.items, self.item_names.number(id)) = key;
        }
        keys.clear();
        keys.push(Some(key));
    }

    fn piece(&mut self, json: &Json<'_>, here: Here) -> Step {
        let stray = Step { stray: true, ..Step::default() };
        let member = |name: &str| part(json, name);
        // Arguments that follow the end of a call would be others than those that were judged.
        let Some(key) = here.call else { return stray };
        let name = text(json, "name");
        let is_named = self.open.call(key).is_some_and(|call| name.is_empty() || name == call.name);
        // Some clients look for the item. Ids that are of no item differ in each event of some servers.
        let item = self.item_names.find(text(json, "item_id"));
        let item = item.and_then(|number| self.items.get(number));
        if !is_named || item.is_some_and(|other| *other != key) {
            return stray;
        }
        let texts = ["delta", "arguments", "input", "name", "item_id"].map(member);
        self.open.blur(key, !are_texts(&texts));
        self.open.add(here.at, text(json, "delta"));
        if !self.open.drops()
            && let Some(call) = self.open.call(key)
        {
            let wholes = [text(json, "arguments"), text(json, "input")];
            call.copies.extend(wholes.into_iter().filter(|t| !t.is_empty()).map(str::to_owned));
        }
        Step::open(true)
    }

    fn end(&mut self, at: Place, item: &Json<'_>) -> Vec<Keyed> {
        if let Some(key) = self.open.at(at) {
            self.becomes(key, item);
            let begun = self.told.get_mut(key).and_then(Option::as_mut);
            if let (Some(begun), Some(call)) = (begun, self.open.call(key)) {
                begun.is_done = true;
                self.begun.delete(&begun.id, key);
                self.done.add(&same_as(&begun.id, &call.name, &call.arguments), key);
            }
        }
        self.open.end(at)
    }

    /// What a call is at its end. Clients that read the events before are to have read the same.
    fn becomes(&mut self, key: usize, item: &Json<'_>) {
        if self.open.drops() {
            return;
        }
        let end = call_of(item);
        let Some(call) = self.open.call(key) else { return };
        call.is_unclear |= end.is_unclear || (!call.name.is_empty() && call.name != end.name);
        // What the other kinds do is known at their end.
        if is_streamed(text(item, "type")) {
            call.copies.push(end.arguments.clone());
            if !call.arguments.is_empty() {
                call.copies.push(std::mem::take(&mut call.arguments));
            }
        }
        (call.name, call.arguments) = (end.name, end.arguments);
        call.is_text |= end.is_text;
        if !end.readings.is_empty() {
            call.readings = end.readings;
        }
    }

    /// The calls that have begun are over: another response may not bring others in their places.
    fn finish(&mut self, response: &Json<'static>, keys: &mut Vec<Option<usize>>) -> Step {
        let outputs = self.outputs(response);
        let mut complete = self.open.take();
        for (item, told) in outputs {
            let key = told.unwrap_or_else(|| self.open.add_whole());
            keys.push(Some(key));
            let Some(told) = self.told.get(key).and_then(Option::as_ref) else {
                complete.push(Keyed { key, call: call_of(item) });
                continue;
            };
            if !told.is_done {
                let call = call_of(item);
                self.done.add(&same_as(&told.id, &call.name, &call.arguments), key);
            }
        }
        for key in self.begun.take_all() {
            if let Some(Some(told)) = self.told.get_mut(key) {
                told.is_done = true;
            }
        }
        let usage = part(response, "usage");
        let is_said = match usage {
            Json::Null | Json::Bool(false) => false,
            Json::String(text) => !text.is_empty(),
            Json::Number(_) => usage.as_f64() != Some(0.0),
            _ => true,
        };
        let usage = is_said.then(|| Said { usage: usage.clone(), adds: false });
        let id = text(response, "id").to_owned();
        Step { finish: true, complete, usage, id, ..Step::default() }
    }

    /// The calls of a whole response: each that was told once, and those that were not.
    fn outputs<'a>(&mut self, response: &'a Json<'a>) -> Vec<(&'a Json<'a>, Option<usize>)> {
        let (mut begun, mut done) = (Taken::default(), Taken::default());
        let mut outputs = Vec::new();
        for item in list(response, "output").iter().filter(|item| is_call(item)) {
            let (call, id) = (call_of(item), id_of(item));
            let name = same_as(id, &call.name, &call.arguments);
            // What says more than the events is another call.
            let same = if call.is_unclear { None } else { self.done.next(&name, &mut done) };
            let key = same.or_else(|| self.begun.next(id, &mut begun));
            let begun_call = key.and_then(|key| self.told.get(key)?.as_ref());
            if let Some(key) =
                key.filter(|_| begun_call.is_some_and(|begun_call| !begun_call.is_done))
            {
                self.becomes(key, item);
            }
            outputs.push((item, key));
        }
        outputs
    }
}

/// What a call is, as a text.
fn same_as(id: &str, name: &str, arguments: &str) -> String {
    format!("{}:{}:{id}{name}{arguments}", id.len(), name.len())
}
