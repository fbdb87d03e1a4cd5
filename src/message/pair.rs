//! Which result answers which call.
//!
//! By occurrence, not by id alone: providers use ids again, in a later round or even within one
//! message. A result answers the earliest unanswered call with its id in the latest message that
//! has one; without such a call it waits for one to come, or else it is a second result of the
//! call that was answered last.

use std::collections::{BTreeMap, VecDeque};

use super::model::ToolResult;

/// A call, by its entry and its part.
pub(super) type Place = (usize, usize);

/// The calls that wait for results, and the results that wait for calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs<'a> {
    /// By id, the unanswered calls of each entry.
    open: BTreeMap<String, Vec<(usize, VecDeque<usize>)>>,
    answered: BTreeMap<String, Place>,
    /// Results without a call so far, by when they came.
    early: BTreeMap<usize, (String, ToolResult<'a>)>,
    early_ids: BTreeMap<String, VecDeque<usize>>,
    came: usize,
}

/// What a result answers.
pub(super) enum Answers {
    Call(Place),
    /// The call has a result already.
    Again(Place),
    /// Nothing yet.
    Nothing,
}

/// By this a call without an id is known: no id begins so.
pub(super) fn by_name(name: &str) -> String {
    format!("\0{name}")
}

impl<'a> Pairs<'a> {
    /// A call waits; a result that came before it is given back.
    pub(super) fn call(&mut self, id: &str, place: Place) -> Option<ToolResult<'a>> {
        if let Some(early) = self.take_early(id) {
            self.answered.insert(id.to_owned(), place);
            return Some(early);
        }
        let groups = self.open.entry(id.to_owned()).or_default();
        match groups.last_mut() {
            Some((entry, parts)) if *entry == place.0 => parts.push_back(place.1),
            _ => groups.push((place.0, VecDeque::from([place.1]))),
        }
        None
    }

    /// A call came with its result.
    pub(super) fn settled(&mut self, id: &str, place: Place) {
        self.answered.insert(id.to_owned(), place);
    }

    /// A call was answered by its place.
    pub(super) fn answered(&mut self, id: &str, place: Place) {
        if let Some(groups) = self.open.get_mut(id) {
            for (entry, parts) in groups.iter_mut() {
                if *entry == place.0 {
                    parts.retain(|part| *part != place.1);
                }
            }
            groups.retain(|(_, parts)| !parts.is_empty());
            if groups.is_empty() {
                self.open.remove(id);
            }
        }
        self.settled(id, place);
    }

    /// The call of this id that came last.
    pub(super) fn last_of(&self, id: &str) -> Option<Place> {
        let open = self.open.get(id).and_then(|groups| groups.last());
        let open = open.and_then(|(entry, parts)| Some((*entry, *parts.back()?)));
        open.max(self.answered.get(id).copied())
    }

    /// What a result of this id answers.
    pub(super) fn result(&mut self, id: &str) -> Answers {
        let Some(groups) = self.open.get_mut(id) else { return self.again(id) };
        let Some((entry, parts)) = groups.last_mut() else { return self.again(id) };
        let place = parts.pop_front().map(|part| (*entry, part));
        if parts.is_empty() {
            groups.pop();
        }
        if groups.is_empty() {
            self.open.remove(id);
        }
        match place {
            Some(place) => {
                self.answered.insert(id.to_owned(), place);
                Answers::Call(place)
            }
            None => self.again(id),
        }
    }

    fn again(&self, id: &str) -> Answers {
        self.answered.get(id).map_or(Answers::Nothing, |place| Answers::Again(*place))
    }

    /// Keeps a result whose call may still come.
    pub(super) fn wait(&mut self, id: &str, result: ToolResult<'a>) {
        self.early.insert(self.came, (id.to_owned(), result));
        self.early_ids.entry(id.to_owned()).or_default().push_back(self.came);
        self.came += 1;
    }

    fn take_early(&mut self, id: &str) -> Option<ToolResult<'a>> {
        let waiting = self.early_ids.get_mut(id)?;
        let came = waiting.pop_front();
        if waiting.is_empty() {
            self.early_ids.remove(id);
        }
        self.early.remove(&came?).map(|(_, result)| result)
    }

    /// Results whose call never came, in their order.
    pub(super) fn orphans(&self) -> impl Iterator<Item = (&str, &ToolResult<'a>)> {
        self.early.values().map(|(id, result)| (id.as_str(), result))
    }
}
