//! Prepares reasoning: it goes back to the provider that made it, where that takes it.

use super::super::code::Code;
use super::super::model::{Entry, Part, Speaker};
use super::super::options::{MissingReasoning, ReasoningReplay};
use super::super::report::{Action, Finding};
use super::{Work, is_input};
use crate::json::{Joined, Json};
use crate::provider::{Elements, Marks, Members, Out, Reasoning, Recorded, Replay};

impl<'a> Work<'_, 'a> {
    pub(super) fn reasoning(&mut self, reasoning: &Reasoning<'a>, last: bool) -> Option<Out<'a>> {
        let rules = self.rules();
        let kept = match (rules.reasoning, reasoning) {
            (Replay::Signed, Reasoning::Signed { .. } | Reasoning::Redacted { .. }) => true,
            (Replay::Thinking, Reasoning::Thinking(_))
            | (Replay::Details, Reasoning::Details(_)) => true,
            // Reasoning of our own that no other model takes is left out in silence.
            (_, Reasoning::Recorded(recorded)) if !self.is_of_model(recorded) => return None,
            (_, Reasoning::Recorded(_)) => true,
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
            self.report_foreign(reasoning);
            return None;
        }
        let mut reasoning = reasoning.clone();
        if let Reasoning::Signed { extra, .. } | Reasoning::Redacted { extra, .. } = &mut reasoning
        {
            // "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"
            // (BerriAI/litellm#39815, 2026-09-04).
            *extra = self.fields(extra, &[], self.entry.marks);
        }
        Some(Out::Reasoning(reasoning))
    }

    fn report_foreign(&mut self, reasoning: &Reasoning<'a>) {
        // Most providers ignore reasoning beside the content; strict ones refuse it.
        let beside = !matches!(reasoning, Reasoning::Signed { .. } | Reasoning::Redacted { .. });
        let finding = Finding::new(Code::ReasoningForeign, Action::Dropped, self.index);
        self.findings.push(finding.risk_if(beside && !self.rules().strict));
    }

    /// Whether what a turn recorded goes back: to the same model, with the calls that it led to.
    fn is_of_model(&self, recorded: &Recorded<'a>) -> bool {
        let options = self.context.options;
        self.calls
            && self.rules().reasoning == Replay::Details
            && recorded.is_of(options.dialect.name(), options.model.as_deref())
    }

    /// The members that came with a call, if they go back.
    pub(super) fn recorded_call(&self, id: &str) -> Members<'a> {
        let found = self.entry.parts.iter().find_map(|part| match part {
            Part::Reasoning(Reasoning::Recorded(recorded)) if self.is_of_model(recorded) => {
                recorded.calls.iter().find(|(key, _)| key == id)
            }
            _ => None,
        });
        found.and_then(|(_, members)| members.as_object()).unwrap_or_default().to_vec()
    }

    /// Adds the reasoning of a message as `reasoning_content`, in whatever form it came, for a
    /// provider that takes it back like that. Returns whether the provider is one.
    pub(super) fn reasoning_content(&mut self, parts: &mut Vec<Out<'a>>) -> bool {
        let mode = match (self.context.options.reasoning, self.rules().reasoning) {
            (ReasoningReplay::Auto, Replay::Content) => ReasoningReplay::ToolCalls,
            (ReasoningReplay::Auto, _) => return false,
            (mode, Replay::Content | Replay::Details) => mode,
            _ => return false,
        };
        if self.entry.speaker != Speaker::Assistant {
            return true;
        }
        let goes_back = match mode {
            ReasoningReplay::Auto | ReasoningReplay::Never => false,
            ReasoningReplay::ToolCalls => self.calls,
            ReasoningReplay::Always => true,
        };
        if !goes_back {
            let thoughts = thoughts(self.entry);
            // What is nothing but reasoning has led to the calls behind it.
            let called = |next: &Entry<'a>| next.is_output() && next.calls().next().is_some();
            let leads = is_thought(self.entry) && self.next.is_some_and(called);
            for thought in thoughts.filter(|_| !leads) {
                if !matches!(thought, Reasoning::Recorded(_)) {
                    self.report_foreign(thought);
                }
            }
            return true;
        }
        // What Anthropic has signed is another provider's.
        for thought in thoughts(self.entry).filter(|thought| is_signed(thought)) {
            self.report_foreign(thought);
        }
        let found = words(self.entry).or_else(|| self.calls.then(|| self.earlier_words())?);
        let text = match found {
            Some(text) => text,
            None if thoughts(self.entry).any(is_empty) => Json::string(""),
            None if self.calls && self.fills_in() => Json::string(""),
            None => return true,
        };
        parts.push(Out::Reasoning(Reasoning::Content(text)));
        true
    }

    /// The words of the reasoning that stands before the calls in messages of its own.
    fn earlier_words(&self) -> Option<Json<'a>> {
        let before = self.earlier.iter().rev().filter(|entry| !entry.gone);
        let mut same = before.take_while(|entry| {
            let other = !is_thought(entry) && thoughts(entry).next().is_some();
            entry.speaker == Speaker::Assistant && entry.calls().next().is_none() && !other
        });
        same.find_map(words)
    }

    /// Whether a message with calls that lacks the reasoning gets an empty one. That is reported only
    /// of messages in the provider's own shape: those of other shapes never had the member.
    fn fills_in(&mut self) -> bool {
        if self.context.options.missing_reasoning == MissingReasoning::Omit {
            return false;
        }
        if self.entry.marks.meets(Marks::CHAT) && !self.entry.calls().all(|call| call.own) {
            let finding = Finding::new(Code::ReasoningRequired, Action::Synthesized, self.index);
            let finding = finding.done("added an empty reasoning_content");
            self.findings.push(finding.risk_if(!self.context.thinks));
        }
        true
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

/// The reasoning of an entry.
fn thoughts<'e, 'a>(entry: &'e Entry<'a>) -> impl Iterator<Item = &'e Reasoning<'a>> {
    entry.parts.iter().filter_map(|part| match part {
        Part::Reasoning(reasoning) => Some(reasoning),
        _ => None,
    })
}

/// Whether an entry has nothing but reasoning.
pub(super) fn is_thought(entry: &Entry<'_>) -> bool {
    !entry.parts.is_empty() && entry.parts.iter().all(|part| matches!(part, Part::Reasoning(_)))
}

/// Whether the reasoning is there and has no words.
fn is_empty(reasoning: &Reasoning<'_>) -> bool {
    match reasoning {
        Reasoning::Content(_) => true,
        Reasoning::Recorded(recorded) => !recorded.members.is_empty(),
        _ => false,
    }
}

fn is_signed(reasoning: &Reasoning<'_>) -> bool {
    matches!(reasoning, Reasoning::Signed { .. } | Reasoning::Redacted { .. })
}

/// The words of an entry's reasoning. Hosts keep them in several forms at once: those of the first
/// form count that has words.
fn words<'a>(entry: &Entry<'a>) -> Option<Json<'a>> {
    let forms: [fn(&Reasoning<'_>) -> bool; 4] = [
        |one| matches!(one, Reasoning::Content(_)),
        |one| matches!(one, Reasoning::Recorded(_)),
        |one| matches!(one, Reasoning::Details(_)),
        |one| !is_signed(one),
    ];
    forms.iter().find_map(|is_form| {
        let mut all = Joined::default();
        for text in thoughts(entry).filter(|one| is_form(one)).filter_map(Reasoning::words) {
            if !all.is_empty() {
                all.text("\n\n");
            }
            all.value(&text);
        }
        (!all.is_empty()).then(|| all.into_json())
    })
}
