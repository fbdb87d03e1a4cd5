//! Streams of OpenAI's Chat Completions.

mod call;
mod write;

use super::call::{Call, Keyed};
use super::pieces::Pieces;
use super::step::{Event, Said, Step, Stream, Verdicts};
use super::tree::{is_full, is_number, place_name};
use crate::index::{Index, slot};
use crate::json::Json;
use crate::stream::{list, part, text};
pub(super) use call::{call_of, calls_of, function_call};
use call::Kind;
pub(super) use write::end_of;

#[derive(Debug, Default)]
pub(super) struct ChatStream {
    /// Calls that no end was seen of, in their order.
    calls: Vec<Open>,
    /// The key of the next call.
    next_key: usize,
    /// The numbers of choices by their indexes.
    choice_names: Index,
    choices: Vec<Choice>,
    /// The numbers of places by the choice and the index.
    place_names: Index,
    places: Vec<Place>,
    /// Ids of calls, by their choices: some clients find the call of a piece by its id.
    ids: Index,
    drops: bool,
    written: write::Written,
}

#[derive(Debug)]
struct Open {
    key: usize,
    call: Call,
    id: String,
    /// All names that came: some clients put them together.
    names: String,
    choice: usize,
    pieces: Pieces,
    /// Of its first piece that has one.
    kind: Option<Kind>,
    /// Whether a call with whole arguments had its place, and is over.
    is_again: bool,
}

/// A choice, and what is known of its calls that have not ended.
#[derive(Debug, Default)]
struct Choice {
    /// It has ended.
    over: bool,
    /// It has calls and has not ended.
    under: bool,
    calls: Calls,
}

#[derive(Debug, Default)]
struct Calls {
    /// The call that began last.
    last: Option<usize>,
    /// The places of its calls, and those of pieces that are of no call.
    places: Vec<usize>,
    count: usize,
    has_index: bool,
    /// In which ways pieces are odd: clients differ in them, and in two of them in too many ways.
    drifts: bool,
    reuses: bool,
    repeats: bool,
    /// No call can be judged.
    is_unclear: bool,
}

/// The calls of an index.
#[derive(Debug, Default)]
struct Place {
    /// The call that began first, and the one that began last.
    calls: Option<(usize, usize)>,
    /// A piece with this index is of no call.
    drifted: bool,
    /// It had a call that is over, and whether its arguments were whole.
    used: Option<bool>,
}

/// What may begin a call.
struct Head<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
    has_index: bool,
}

impl Open {
    /// Whether a piece with an id or a name goes on with this call.
    fn goes_on(&mut self, head: &Head<'_>) -> bool {
        if !head.id.is_empty() && !self.id.is_empty() && head.id != self.id {
            return false;
        }
        let name = &self.call.name;
        if head.name.is_empty() || name.is_empty() {
            return true;
        }
        if head.name != name {
            return false;
        }
        if head.arguments.is_empty() {
            return head.has_index || !head.id.is_empty();
        }
        !self.pieces.is_whole()
    }

    /// Whether a piece is the whole of this call again.
    fn is_repeated(&mut self, head: &Head<'_>) -> bool {
        !head.id.is_empty()
            && head.id == self.id
            && head.name == self.call.name
            && head.arguments == self.pieces.arguments()
            && self.pieces.is_whole()
    }
}

impl Stream for ChatStream {
    fn read(&mut self, event: &mut Event) -> Step {
        let json = std::mem::take(&mut event.json);
        self.written.head(&json);
        let mut step = Step::default();
        let usage = part(&json, "usage");
        if matches!(usage, Json::Object(_) | Json::Array(_)) {
            step.usage = Some(Said { raw: usage.to_text(), adds: false });
        }
        for choice in list(&json, "choices") {
            let delta = part(choice, "delta");
            let which = self.choice(choice);
            step.text |= !text(delta, "content").is_empty() || !text(delta, "refusal").is_empty();
            for piece in list(delta, "tool_calls") {
                let is_formed = matches!(piece, Json::Null | Json::Object(_));
                let key = if is_formed { self.piece(which, piece, call_of(piece), false) } else { Err(()) };
                step.stray |= key.is_err();
                event.keys.push(key.unwrap_or(None));
            }
            let called = part(delta, "function_call");
            if is_full(called) {
                let key = self.piece(which, called, function_call(called), true);
                step.stray |= key.is_err();
                event.keys.push(key.unwrap_or(None));
            }
            if text(choice, "finish_reason").is_empty() {
                continue;
            }
            if let Some(choice) = self.choices.get_mut(which) {
                (choice.over, choice.under) = (true, false);
            }
            step.finish = true;
        }
        // Choices end one by one; what is held is of all of them.
        step.finish &= !self.choices.iter().any(|choice| choice.under);
        if step.finish {
            step.complete = self.rest();
        }
        step.open = !self.calls.is_empty();
        event.json = json;
        step
    }

    fn rest(&mut self) -> Vec<Keyed> {
        let mut all = std::mem::take(&mut self.calls);
        for open in &mut all {
            let Open { call, pieces, .. } = open;
            call.arguments = pieces.arguments().to_owned();
            call.readings = pieces.others().map(|text| (call.name.clone(), text.clone())).collect();
            if open.names != call.name {
                call.readings.push((open.names.clone(), pieces.merged().to_owned()));
            }
            // Or the call has the arguments of the one that is over.
            call.is_unclear |= open.is_again && call.arguments.trim().is_empty();
            let calls = self.choices.get(open.choice).map(|choice| &choice.calls);
            call.is_unclear |= calls.is_some_and(|calls| {
                let oddities = [calls.drifts, calls.reuses, calls.repeats];
                calls.is_unclear || oddities.into_iter().filter(|is_odd| *is_odd).count() > 1
            });
        }
        for choice in &mut self.choices {
            choice.under = false;
            for place in std::mem::take(&mut choice.calls).places {
                let Some(place) = self.places.get_mut(place) else { continue };
                if std::mem::take(&mut place.drifted) {
                    place.used = Some(false);
                }
                let Some((first, last)) = place.calls.take() else { continue };
                let merged = all.get(first).filter(|_| first != last);
                let merged = merged.map(|first| first.pieces.merged().to_owned());
                let Some(last) = all.get_mut(last) else { continue };
                if let Some(merged) = merged {
                    last.call.readings.push((last.call.name.clone(), merged));
                }
                place.used = Some(last.pieces.is_whole());
            }
        }
        all.into_iter().map(|Open { key, call, .. }| Keyed { key, call }).collect()
    }

    fn drop_arguments(&mut self) {
        self.drops = true;
        for call in &mut self.calls {
            call.pieces = Pieces::default();
        }
    }

    fn again(&mut self) {
        self.drops = false;
        self.rest();
        self.choices.iter_mut().for_each(|choice| choice.over = false);
        self.places.iter_mut().for_each(|place| place.used = None);
        self.ids = Index::default();
        self.written.again();
    }

    fn rewrite(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>> {
        self.written.rewrite(event, verdicts)
    }

    fn passed(&mut self, event: &Event) {
        self.written.passed(event);
    }

    fn before_end(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>> {
        self.written.before_end(event, verdicts)
    }

    fn say(&mut self, text: &str) -> Vec<Json<'static>> {
        self.written.say(text)
    }

    fn finish(&mut self, json: Json<'static>) -> Json<'static> {
        self.written.finish(json)
    }

    fn ended(&mut self) -> Vec<Json<'static>> {
        self.written.ended()
    }
}

impl ChatStream {
    /// The number of a choice.
    fn choice(&mut self, choice: &Json<'_>) -> usize {
        let name = choice.get("index").filter(|index| !index.is_null());
        let number = self.choice_names.number(&name.map_or_else(|| "0".to_owned(), place_name));
        slot(&mut self.choices, number);
        number
    }

    /// The number of an index of a choice.
    fn place(&mut self, choice: usize, index: &str) -> usize {
        let number = self.place_names.number(&format!("{choice}:{index}"));
        slot(&mut self.places, number);
        number
    }

    /// Reads a piece of a call: the key of its call, if it has one. An error if it goes on with a call
    /// that is over.
    ///
    /// `is_only`: it is the call of older models, which has no place.
    fn piece(
        &mut self,
        choice: usize,
        piece: &Json<'_>,
        (call, kind): (Call, Option<Kind>),
        is_only: bool,
    ) -> Result<Option<usize>, ()> {
        let id = if is_only { "" } else { text(piece, "id") };
        let index = part(piece, "index");
        let has_index = is_only || !index.is_null();
        let head = Head { id, name: &call.name, arguments: &call.arguments, has_index };
        let is_head = !id.is_empty() || !head.name.is_empty();
        // Without an index, calls are told apart by their ids; a client that takes it for 0 merges them.
        let index = match (is_only, index) {
            (true, _) => "function".to_owned(),
            (false, Json::Null) if is_head => {
                format!("#{}", if id.is_empty() { head.name } else { id })
            }
            (false, Json::Null) => String::new(),
            (false, index) => place_name(index),
        };
        let place = self.place(choice, &index);
        let merged = if has_index { place } else { self.place(choice, "0") };
        let placed = self.places.get(place).and_then(|place| place.calls).map(|(_, last)| last);
        let (last, over) = self.choices.get(choice).map_or((None, false), |choice| (choice.calls.last, choice.over));
        if head.name.is_empty() && placed.is_none() && over {
            let is_nothing = head.arguments.is_empty() && !call.is_unclear;
            return if is_nothing { Ok(None) } else { Err(()) };
        }
        let found = placed.or(last);
        // The whole call again adds nothing.
        if let Some(open) = found.and_then(|at| self.calls.get_mut(at))
            && is_head
            && !call.is_unclear
            && open.is_repeated(&head)
        {
            return Ok(Some(open.key));
        }
        let goes_on = placed.and_then(|at| self.calls.get_mut(at)).is_some_and(|open| open.goes_on(&head));
        let at = match found {
            Some(at) if !is_head || goes_on => {
                self.add(choice, at, &head, (place, merged), placed.is_some());
                at
            }
            _ => self.begin(choice, (place, merged, &index), &head, &call),
        };
        self.share(choice, at, merged, &head);
        let calls = self.choices.get_mut(choice).map(|choice| &mut choice.calls);
        let (Some(open), Some(calls)) = (self.calls.get_mut(at), calls) else { return Ok(None) };
        // Of no call that is known, or with an index that its call does not have.
        let is_known = !open.id.is_empty() || !open.call.name.is_empty();
        let is_own = is_known && (calls.has_index || !has_index);
        calls.is_unclear |= !is_head && !is_own && !head.arguments.is_empty();
        // Clients take the pieces of one kind alone.
        let is_other = kind.is_some_and(|kind| *open.kind.get_or_insert(kind) != kind);
        open.call.is_unclear |= call.is_unclear || is_other;
        if !self.drops {
            open.names.push_str(head.name);
        }
        if open.call.name.is_empty() {
            head.name.clone_into(&mut open.call.name);
        }
        if open.id.is_empty() {
            id.clone_into(&mut open.id);
        }
        Ok(Some(open.key))
    }

    /// Begins a call.
    fn begin(
        &mut self,
        choice: usize,
        (place, merged, index): (usize, usize, &str),
        head: &Head<'_>,
        call: &Call,
    ) -> usize {
        let id = format!("{choice}:{}", head.id);
        let is_known = !head.id.is_empty() && self.ids.find(&id).is_some();
        self.ids.number(&id);
        let of = |number: usize| self.places.get(number);
        let is_nameless = head.id.is_empty() && of(merged).is_some_and(|place| place.calls.is_some());
        let drifted = of(place).is_some_and(|place| place.drifted);
        // Some clients add its pieces to the call that was there, which may be over.
        let first = if index.starts_with('#') { self.place(choice, "0") } else { place };
        let mut places = vec![place];
        places.extend(Some(first).filter(|first| *first != place));
        let used = |was: bool| {
            let is = |number: &usize| self.places.get(*number).is_some_and(|p| p.used == Some(was));
            places.iter().any(is)
        };
        let (is_again, is_unclear) = (used(true), used(false));
        let at = self.calls.len();
        let call = Call {
            name: head.name.to_owned(),
            is_text: call.is_text,
            is_unclear,
            ..Call::default()
        };
        let mut open = Open {
            key: self.next_key,
            call,
            id: head.id.to_owned(),
            names: String::new(),
            choice,
            pieces: Pieces::default(),
            kind: None,
            is_again,
        };
        self.next_key += 1;
        if !self.drops {
            open.pieces.add(head.arguments, false);
        }
        self.calls.push(open);
        for number in &places {
            if let Some(place) = self.places.get_mut(*number) {
                let first = place.calls.map_or(at, |(first, _)| first);
                place.calls = Some((first, at));
            }
        }
        let Some(choice) = self.choices.get_mut(choice) else { return at };
        let calls = &mut choice.calls;
        // Pieces before their call, and calls with an index beside others: each client has its own rule.
        let is_odd = calls.count > 0 && head.has_index != calls.has_index;
        calls.is_unclear |= is_odd || is_nameless || is_known || drifted;
        calls.has_index = head.has_index;
        calls.count += 1;
        calls.last = Some(at);
        calls.places.extend(places);
        choice.under |= !choice.over;
        at
    }

    /// Adds a piece to a call that has begun.
    fn add(
        &mut self,
        choice: usize,
        at: usize,
        head: &Head<'_>,
        (place, merged): (usize, usize),
        is_placed: bool,
    ) {
        let calls = self.choices.get_mut(choice).map(|choice| &mut choice.calls);
        let (Some(open), Some(calls)) = (self.calls.get_mut(at), calls) else { return };
        let is_head = !head.id.is_empty() || !head.name.is_empty();
        let mut drifts = false;
        if is_head {
            calls.repeats |= !head.arguments.is_empty() && !open.pieces.arguments().is_empty();
        } else if !is_placed {
            // It is of the last call, or of none; with several calls and no index, perhaps of the first.
            calls.is_unclear |= !head.has_index && calls.count > 1;
            drifts = head.has_index || calls.has_index;
            calls.drifts |= drifts && !head.arguments.is_empty();
            let drifted = if head.has_index { place } else { merged };
            if let Some(place) = self.places.get_mut(drifted).filter(|_| drifts) {
                place.drifted = true;
                calls.places.push(drifted);
            }
        }
        if !self.drops {
            open.pieces.add(head.arguments, drifts);
            if is_head {
                open.pieces.repeat(head.arguments);
            }
        }
    }

    /// Adds a piece to the first call of its index, as some clients do.
    fn share(&mut self, choice: usize, at: usize, merged: usize, head: &Head<'_>) {
        let first = self.places.get(merged).and_then(|place| place.calls);
        let Some((first, _)) = first.filter(|(first, _)| *first != at) else { return };
        if let Some(choice) = self.choices.get_mut(choice) {
            choice.calls.reuses = true;
        }
        if let Some(open) = self.calls.get_mut(first).filter(|_| !self.drops) {
            open.pieces.merge(head.arguments);
            open.names.push_str(head.name);
        }
    }
}

/// Whether the index of a piece is a number, or missing.
fn has_plain_index(piece: &Json<'_>) -> bool {
    is_number(part(piece, "index"))
}
