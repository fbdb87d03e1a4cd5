//! Streams of OpenAI's Chat Completions.

mod attribute;
mod call;
mod write;

use super::call::{Call, Keyed};
use super::pieces::Pieces;
use super::step::{Event, Said, Step, Stream, Verdicts};
use super::tree::{is_full, is_number};
use crate::index::Index;
use crate::json::Json;
use crate::stream::{list, part, text};
use call::Kind;
pub(super) use call::{call_of, calls_of, function_call};
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

impl Stream for ChatStream {
    fn read(&mut self, event: &mut Event) -> Step {
        let json = std::mem::take(&mut event.json);
        self.written.head(&json);
        let mut step = Step::default();
        let usage = part(&json, "usage");
        if matches!(usage, Json::Object(_) | Json::Array(_)) {
            step.usage = Some(Said { usage: usage.clone(), adds: false });
        }
        for choice in list(&json, "choices") {
            let delta = part(choice, "delta");
            let which = self.choice(choice);
            step.text |= !text(delta, "content").is_empty() || !text(delta, "refusal").is_empty();
            for piece in list(delta, "tool_calls") {
                let is_formed = matches!(piece, Json::Null | Json::Object(_));
                let key = if is_formed {
                    self.piece(which, piece, call_of(piece), false)
                } else {
                    Err(())
                };
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

    fn answer_events(&mut self, text: &str) -> Vec<Json<'static>> {
        self.written.answer_events(text)
    }

    fn finish(&mut self, json: Json<'static>) -> Json<'static> {
        self.written.finish(json)
    }

    fn ended(&mut self) -> Vec<Json<'static>> {
        self.written.ended()
    }
}

/// Whether the index of a piece is a number, or missing.
fn has_plain_index(piece: &Json<'_>) -> bool {
    is_number(part(piece, "index"))
}
