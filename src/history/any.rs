//! A history of a turn, behind a common face.

use std::fmt;

use super::{History, Plain};
use crate::json::Json;

/// A [`History`] or a [`Plain`] one. A program that makes only one of them carries only that one.
pub(crate) struct AnyHistory(Box<dyn Face>);

impl AnyHistory {
    pub(crate) fn new(history: impl Face + 'static) -> Self {
        Self(Box::new(history))
    }

    /// Appends the next elements; `false` if one has an unknown shape.
    pub(crate) fn append(&mut self, elements: Vec<Json<'static>>) -> bool {
        self.0.append(elements)
    }

    /// Returns the messages in the provider's form, and the system prompt if it is apart.
    pub(crate) fn messages(&mut self) -> (Vec<Json<'static>>, Option<Json<'static>>) {
        self.0.messages()
    }

    /// Removes the last element, which must be one message without calls.
    pub(crate) fn retract(&mut self) {
        self.0.retract();
    }

    /// The number of appended elements, where a thread may keep them.
    pub(crate) fn elements(&self) -> usize {
        self.0.elements()
    }

    /// Thread strategy: the thread has the first elements.
    pub(crate) fn has(&mut self, elements: usize) {
        self.0.has(elements);
    }
}

impl Clone for AnyHistory {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl fmt::Debug for AnyHistory {
    // Without the messages: their text would be part of every program that runs a turn.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyHistory")
    }
}

/// What [`AnyHistory`] needs of a history.
pub(crate) trait Face: Send + Sync {
    fn append(&mut self, elements: Vec<Json<'static>>) -> bool;
    fn messages(&mut self) -> (Vec<Json<'static>>, Option<Json<'static>>);
    fn retract(&mut self);
    fn elements(&self) -> usize {
        0
    }
    fn has(&mut self, _elements: usize) {}
    fn boxed(&self) -> Box<dyn Face>;
}

impl Face for History<'static> {
    fn append(&mut self, elements: Vec<Json<'static>>) -> bool {
        History::append(self, elements).is_ok()
    }

    fn messages(&mut self) -> (Vec<Json<'static>>, Option<Json<'static>>) {
        History::messages(self)
    }

    fn retract(&mut self) {
        History::retract(self);
    }

    fn elements(&self) -> usize {
        History::elements(self)
    }

    fn has(&mut self, elements: usize) {
        History::has(self, elements);
    }

    fn boxed(&self) -> Box<dyn Face> {
        Box::new(self.clone())
    }
}

impl Face for Plain {
    fn append(&mut self, elements: Vec<Json<'static>>) -> bool {
        Self::append(self, elements)
    }

    fn messages(&mut self) -> (Vec<Json<'static>>, Option<Json<'static>>) {
        (Self::messages(self), None)
    }

    fn retract(&mut self) {
        Self::retract(self);
    }

    fn boxed(&self) -> Box<dyn Face> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::history::HistoryOptions;
    use crate::provider::Wire;

    fn said(text: &str) -> Vec<Json<'static>> {
        let text = format!("[{{\"role\":\"user\",\"content\":\"{text}\"}}]");
        match Json::parse_str(&text).map(Json::into_owned) {
            Ok(Json::Array(elements)) => elements,
            other => panic!("{other:?}"),
        }
    }

    fn both() -> [AnyHistory; 2] {
        let (_, rules) = Wire::plain(Dialect::OpenAiChat).unwrap();
        let mut whole = History::new(HistoryOptions::new(Dialect::OpenAiChat));
        whole.append(said("secret")).unwrap();
        [
            AnyHistory::new(Plain::of(rules, said("secret"), (Dialect::OpenAiChat, None)).unwrap()),
            AnyHistory::new(whole),
        ]
    }

    #[test]
    fn both_grow_alike_and_take_back() {
        for mut history in both() {
            let before = history.messages();
            assert!(history.append(said("more")));
            let grown = history.clone();
            history.retract();
            assert_eq!(history.messages(), before);
            assert_eq!(grown.clone().messages().0.len(), 2);
            assert!(!history.append(vec![Json::Null]));
            assert_eq!(format!("{history:?}"), "AnyHistory");
        }
    }

    #[test]
    fn a_thread_keeps_no_plain_history() {
        let [mut plain, mut whole] = both();
        let before = plain.messages();
        plain.has(1);
        assert_eq!((plain.elements(), plain.messages()), (0, before));
        whole.append(said("more"));
        whole.has(1);
        assert_eq!(whole.elements(), 2);
    }
}
