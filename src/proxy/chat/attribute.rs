//! The call that each piece belongs to, as each kind of client finds it.

use super::call::Kind;
use super::{ChatStream, Open};
use crate::index::slot;
use crate::json::Json;
use crate::proxy::call::Call;
use crate::proxy::pieces::Pieces;
use crate::proxy::tree::place_name;
use crate::stream::{part, text};

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

impl ChatStream {
    /// The number of a choice.
    pub(super) fn choice(&mut self, choice: &Json<'_>) -> usize {
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
    pub(super) fn piece(
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
        let (last, over) = self
            .choices
            .get(choice)
            .map_or((None, false), |choice| (choice.calls.last, choice.over));
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
        let goes_on =
            placed.and_then(|at| self.calls.get_mut(at)).is_some_and(|open| open.goes_on(&head));
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
        let is_nameless =
            head.id.is_empty() && of(merged).is_some_and(|place| place.calls.is_some());
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
