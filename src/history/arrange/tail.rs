//! The end of the messages, which the next entry may change.

use super::super::code::Code;
use super::super::options::Strategy;
use super::super::prepare;
use super::super::report::{Action, Finding};
use super::{Arranger, Context, FIRST, Form, LAST, Tail, Told, says};
use crate::json::{Joined, Json};
use crate::provider::{Elements, Last, Message, Out, Role, Rules};

impl<'a> Arranger<'a> {
    /// The messages after `written`, which the next entry may still change. `update`: of a message
    /// that only got longer since the last update, only what was added.
    pub(in super::super) fn tail(&mut self, context: &Context<'_>, update: bool) -> Tail<'a> {
        let rules = context.rules;
        let mut tail = Tail { messages: Vec::new(), grows: None, findings: Vec::new() };
        let index = context.end;
        let mut prefill = context.options.prefill;
        let mut ends_with_assistant = false;
        if let Some(last) = self.last.take() {
            let assistant = last.role == Role::Assistant;
            let calls = assistant && last.parts.iter().any(|part| matches!(part, Out::Call { .. }));
            // A turn that the provider paused in its own tools, or behind a compaction, is sent back
            // unchanged.
            let pauses = |kind: &str| kind.ends_with("_tool_use") || kind == "compaction";
            let paused = matches!(last.parts.last(), Some(Out::Native(block))
                if block.kind().is_some_and(pauses));
            ends_with_assistant = assistant && !calls && !paused;
            prefill |=
                last.extra.iter().any(|(key, on)| key == "prefix" && on.as_bool() == Some(true));
            let trims = prefill && ends_with_assistant && rules.last == Last::NotAssistant;
            // What is trimmed now may stand in full the next time.
            if update && !trims {
                self.added(&last, rules, &mut tail);
            } else {
                let mut last = last.clone();
                if trims {
                    self.told = Told::default();
                    prepare::trim(&mut last, index, &mut tail.findings);
                }
                (rules.write)(last, &mut tail.messages);
            }
            self.last = Some(last);
        }
        if context.options.strategy == Strategy::Thread {
            return tail;
        }
        let instructed = !tail.messages.is_empty() || !self.written.is_empty();
        if !self.state.spoke && context.options.partial {
            return tail;
        }
        if !self.state.spoke {
            (rules.write)(says(Role::User, FIRST), &mut tail.messages);
            let finding = Finding::new(Code::MsgListEmpty, Action::Synthesized, index);
            // An input of items may also go on from what the provider stores.
            let items = rules.elements == Elements::Items;
            let risk = rules.instructions_alone && (instructed || items);
            tail.findings.push(finding.done(format!("added \"{FIRST}\"")).risk_if(risk));
        } else if ends_with_assistant && rules.last != Last::Any && !prefill {
            (rules.write)(says(Role::User, LAST), &mut tail.messages);
            let finding = Finding::new(Code::LastMessageRole, Action::Synthesized, index);
            let finding = finding.done(format!("added \"{LAST}\""));
            tail.findings.push(finding.risk_if(rules.last == Last::Better));
        }
        tail
    }

    /// Writes what the last message has got since the last update; all of it, if that is more than
    /// parts behind the others.
    fn added(&mut self, last: &Message<'a>, rules: &Rules, tail: &mut Tail<'a>) {
        let told = self.told;
        let new = last.parts.get(told.parts..).unwrap_or_default();
        let text = |part: &Out<'a>| matches!(part, Out::Text { .. });
        let form = match told.form {
            Form::List => Form::List,
            Form::Text if new.iter().all(text) => Form::Text,
            _ => Form::Other,
        };
        let mut parts = if form == Form::Other { last.parts.clone() } else { new.to_vec() };
        // Texts alone would be written as one text.
        let bare = form == Form::List && rules.list.is_none();
        if bare {
            parts.insert(0, Out::Native(Json::Null));
        } else if form == Form::Text
            && let Some(Out::Text { text, .. }) = parts.first_mut()
        {
            let mut behind = Joined::default();
            behind.text("\n\n");
            behind.value(text);
            *text = behind.into_json();
        }
        let message = Message { parts, extra: last.extra.clone(), ..*last };
        (rules.write)(message, &mut tail.messages);
        self.told.parts = last.parts.len();
        if form == Form::Other {
            self.told.form = match tail.messages.first().and_then(|all| all.get("content")) {
                _ if rules.list.is_some() => Form::List,
                // A message with calls ends with them.
                Some(Json::Array(_)) if rules.one_text() => Form::List,
                Some(content)
                    if rules.one_text() && last.role != Role::Tool && !content.is_blank() =>
                {
                    Form::Text
                }
                _ => Form::Other,
            };
            return;
        }
        tail.grows = rules.list.or(Some("content"));
        if bare
            && let Some(Json::Object(members)) = tail.messages.first_mut()
            && let Some((_, Json::Array(list))) = members.iter_mut().find(|(k, _)| k == "content")
        {
            list.remove(0);
        }
    }
}
