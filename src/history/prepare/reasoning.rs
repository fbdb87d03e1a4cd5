//! Prepares reasoning: it goes back to the provider that made it, where that takes it.

use super::super::code::Code;
use super::super::model::{Entry, Part};
use super::super::options::ReasoningReplay;
use super::super::report::{Action, Finding};
use super::{Work, is_input};
use crate::json::Json;
use crate::provider::{Elements, Out, Reasoning, Replay};

impl<'a> Work<'_, 'a> {
    pub(super) fn reasoning(&mut self, reasoning: &Reasoning<'a>, last: bool) -> Option<Out<'a>> {
        let called = self.calls;
        let rules = self.rules();
        let kept = match (rules.reasoning, reasoning) {
            (Replay::Signed, Reasoning::Signed { .. } | Reasoning::Redacted(_)) => true,
            (Replay::Content, Reasoning::Content(_)) => match self.context.options.reasoning {
                ReasoningReplay::Never => false,
                ReasoningReplay::ToolCalls => called,
                ReasoningReplay::Always => true,
            },
            (Replay::Thinking, Reasoning::Thinking(_))
            | (Replay::Details, Reasoning::Details(_)) => true,
            (_, Reasoning::Native { marks, block }) => {
                let own = self.own(*marks) && rules.reasoning == Replay::Native;
                let apart = || !self.followed() || self.renewed(block);
                if own && rules.elements == Elements::Items && last && apart() {
                    let index = self.index;
                    self.findings.push(Finding::new(
                        Code::ReasoningItemUnpaired,
                        Action::Dropped,
                        index,
                    ));
                    return None;
                }
                own
            }
            _ => false,
        };
        if !kept {
            // Most providers ignore reasoning beside the content; strict ones refuse it.
            let beside = !matches!(reasoning, Reasoning::Signed { .. } | Reasoning::Redacted(_));
            let finding = Finding::new(Code::ReasoningForeign, Action::Dropped, self.index);
            self.findings.push(finding.risk_if(beside && !rules.strict));
            return None;
        }
        Some(Out::Reasoning(reasoning.clone()))
    }

    /// Whether the next written entry is one that reasoning can have led to.
    fn followed(&self) -> bool {
        self.next.is_some_and(Entry::is_output)
    }

    /// Whether reasoning that OpenAI stores (its id begins with `rs_`) stands before a message that it
    /// does not: the item requires the one it led to, which has an id too. Recorded: 400 "Item 'rs_…'
    /// of type 'reasoning' was provided without its required following item". Reasoning without an id,
    /// and the ids of other hosts, are taken.
    fn renewed(&self, block: &Json<'a>) -> bool {
        let own = self.rules().own;
        // Items of reasoning are entries of their own, or those of the calls they led to.
        let stored = |next: &Entry<'a>| match next.parts.iter().find(|part| part.is_said(own)) {
            Some(Part::Call(_)) => true,
            Some(part @ Part::Native { marks, block })
                if marks.meets(own) && !part.refuses() && !is_input(block) =>
            {
                true
            }
            _ => next.marks.within(own) && next.extra.iter().any(|(key, _)| key == "id"),
        };
        let id = block.get("id").and_then(Json::as_str);
        id.is_some_and(|id| id.starts_with("rs_")) && self.next.is_some_and(|next| !stored(next))
    }
}
