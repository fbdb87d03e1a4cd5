//! Arranges entries into messages that break no rule: roles, order, neighbours, first and last.

mod tail;

use super::code::Code;
use super::entries::CacheMark;
use super::model::{Entry, Speaker};
use super::options::{HistoryOptions, Strategy};
use super::prepare::{self, Prepared};
use super::report::{Action, Finding};
use crate::json::{Joined, Json};
use crate::provider::{
    Blank, Bridge, First, Marks, Members, Merge, Message, Out, Reasoning, Results, Role, Rules,
    System, joined,
};

/// The synthesized assistant text between a tool result and a user message.
const BRIDGE: &str = "OK.";
/// The synthesized user text if the history begins with the assistant or has only instructions.
const FIRST: &str = "(conversation start)";
/// The synthesized user text if the history may not end with the assistant.
pub(super) const LAST: &str = "Continue.";

/// The context in which entries are arranged.
#[derive(Debug)]
pub(super) struct Context<'c> {
    pub(super) rules: &'c Rules,
    pub(super) options: &'c HistoryOptions,
    /// Whether all of the history is in the dialect's own shape.
    pub(super) own: bool,
    /// Whether calls of the current turn must carry thought signatures.
    pub(super) signatures: bool,
    /// Whether a message with calls carried `reasoning_content`: the provider thinks, and wants it of
    /// each of them.
    pub(super) thinks: bool,
    /// Whether the current turn has calls in the shape of another provider.
    pub(super) foreign: bool,
    /// The index of the last user entry.
    pub(super) turn: usize,
    /// The last place where something was said, if hosted calls before it may have no result.
    pub(super) settled: Option<(usize, usize)>,
    /// The mark for the provider's cache before which none is sent.
    pub(super) cached_from: Option<CacheMark>,
    /// The first entry that is sent.
    pub(super) from: usize,
    /// The index of the last element.
    pub(super) end: usize,
}

/// An entry, and what is behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'e, 'a> {
    pub(super) entry: &'e Entry<'a>,
    /// Its place in the list of entries.
    pub(super) at: usize,
    /// The first entry behind it for which anything except reasoning is written.
    pub(super) next: Option<&'e Entry<'a>>,
    /// Whether it is the last entry.
    pub(super) last: bool,
    /// The entries before it.
    pub(super) before: &'e [Entry<'a>],
}

/// Folds entries into messages, and can be rewound to any entry.
#[derive(Debug, Clone, Default)]
pub(super) struct Arranger<'a> {
    pub(super) written: Vec<Json<'a>>,
    pub(super) system: Vec<Out<'a>>,
    pub(super) findings: Vec<Finding>,
    /// The last message; the next entry may still be merged into it.
    last: Option<Message<'a>>,
    state: State,
    /// Whether the message that is added is one that nobody has said.
    quiet: bool,
    /// The state before each arranged entry; `None` if the entry started no message.
    begins: Vec<Option<Mark>>,
    /// Whether the current entry was merged into the previous message.
    joined: bool,
    /// The element that had the results at the end of `last`, if it is a message of the user in the
    /// provider's own shape.
    answered: Option<usize>,
    /// The lengths of `written` (`stood`) and `findings` (`found`) unchanged since the last update.
    stood: usize,
    found: usize,
    /// What the last update told of `last`.
    told: Told,
    /// The number of texts of `system` that it told.
    told_system: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// The role of the message before the last.
    before: Option<Role>,
    /// Whether any message has a role other than system or developer.
    spoke: bool,
}

/// The lengths and the state before an entry.
#[derive(Debug, Clone, Copy)]
struct Mark {
    written: usize,
    system: usize,
    findings: usize,
    state: State,
}

/// What an update told of a message: so many parts of it, in this form.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    parts: usize,
    form: Form,
}

/// The form of a message's parts in its list, or content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Form {
    /// Another one, which is told again with each new part.
    #[default]
    Other,
    /// A list, a block each part.
    List,
    /// One text, of which the texts of two messages are separated by a blank line.
    Text,
}

/// The end of the list, which the next entry may change.
#[derive(Debug)]
pub(super) struct Tail<'a> {
    pub(super) messages: Vec<Json<'a>>,
    /// The list or text of which the first message has only what was added since the last update.
    pub(super) grows: Option<&'static str>,
    pub(super) findings: Vec<Finding>,
}

impl<'a> Arranger<'a> {
    /// Discards the output of entry `to` and of all later entries.
    pub(super) fn rewind(&mut self, to: usize) {
        let made = self.begins.len();
        if to > made || to == made && self.last.is_some() {
            return;
        }
        // The next entry may be merged into the previous message, so that is arranged again too.
        let mut to = to.saturating_sub(1);
        let mark = loop {
            match self.begins.get(to) {
                Some(Some(mark)) => break *mark,
                _ if to == 0 => {
                    break Mark { written: 0, system: 0, findings: 0, state: State::default() };
                }
                _ => to -= 1,
            }
        };
        self.written.truncate(mark.written);
        self.system.truncate(mark.system);
        self.findings.truncate(mark.findings);
        self.state = mark.state;
        self.last = None;
        self.told = Told::default();
        self.told_system = self.told_system.min(mark.system);
        self.begins.truncate(to);
        self.stood = self.stood.min(mark.written);
        self.found = self.found.min(mark.findings);
    }

    /// Returns the number of leading messages that are unchanged since the last call.
    pub(super) fn keep(&mut self) -> usize {
        std::mem::replace(&mut self.stood, self.written.len())
    }

    /// Returns the findings that are unchanged since the last call, and the later ones.
    pub(super) fn found(&mut self) -> (&[Finding], &[Finding]) {
        let at = std::mem::replace(&mut self.found, self.findings.len());
        self.findings.split_at(at.min(self.findings.len()))
    }

    /// Returns the number of texts of `system` that are unchanged since the last call.
    pub(super) fn keep_system(&mut self) -> usize {
        std::mem::replace(&mut self.told_system, self.system.len())
    }

    pub(super) fn arrange(&mut self, entries: &[Entry<'a>], context: &Context<'_>) {
        let from = self.begins.len();
        let only_text = context.options.strategy != Strategy::Reconstruct;
        // Each entry is asked once, however many stand behind it.
        let behind = entries.iter().enumerate().skip(from);
        let mut written =
            behind.clone().filter(|(_, entry)| entry.says(only_text, context.rules.own)).peekable();
        for (at, entry) in behind {
            self.begins.push(None);
            self.joined = false;
            while written.next_if(|(place, _)| *place <= at).is_some() {}
            let next = written.peek().map(|(_, next)| *next);
            if at >= context.from && !entry.gone {
                let last = at + 1 == entries.len();
                let before = entries.get(..at).unwrap_or_default();
                self.entry(Place { entry, at, next, last, before }, context);
            }
        }
    }

    fn entry(&mut self, place: Place<'_, 'a>, context: &Context<'_>) {
        let Place { entry, .. } = place;
        let found = self.findings.len();
        let before = (self.system.len(), found);
        let prepared = prepare::entry(place, context, &mut self.findings);
        let Prepared { mut parts, mut results, mut extra, listed, silent, behind } = prepared;
        // The calls that are too many for one message stand in messages behind it.
        while let Some((over, answered)) = split(&parts, &results, context.rules.most_calls) {
            // Reasoning of which calls need some is with the first of them.
            let thinks = |part: &Out<'_>| matches!(part, Out::Reasoning(Reasoning::Content(_)));
            let thought = parts.iter().any(thinks);
            let mut rest = (parts.split_off(over), results.split_off(answered));
            if thought {
                rest.0.insert(0, Out::Reasoning(Reasoning::Content("".into())));
            }
            let extra = std::mem::take(&mut extra);
            let message =
                Message { role: Role::Assistant, parts, extra, listed, beside: entry.beside };
            self.push(message, entry.index, context, before);
            self.results(results, entry.index, context, before);
            (parts, results) = rest;
        }
        match entry.speaker {
            // A result stands beside its call.
            _ if parts.is_empty() && !extra.iter().any(|(k, _)| k == "audio") => {
                if !silent {
                    // No content at all, as opposed to an empty text, is refused by every provider.
                    let none = entry.parts.is_empty() && entry.marks.within(context.rules.own);
                    let null = none && entry.null;
                    let code = if null { Code::ContentNull } else { Code::ContentEmpty };
                    let finding = Finding::new(code, Action::Dropped, entry.index);
                    let blank = context.rules.blank;
                    let refused = none || [Blank::Refused, Blank::RefusedAlone].contains(&blank);
                    self.findings.push(finding.risk_if(!refused));
                }
            }
            Speaker::System | Speaker::Developer => {
                let message = Message { role: Role::System, parts, extra, listed, beside: false };
                self.instruct(place, message, context, before);
            }
            speaker => {
                let role = if speaker == Speaker::User { Role::User } else { Role::Assistant };
                let message = Message { role, parts, extra, listed, beside: entry.beside };
                self.push(message, entry.index, context, before);
            }
        }
        self.results(results, entry.index, context, before);
        self.answered = None;
        if !behind.is_empty() {
            self.quiet = true;
            self.push(plain(Role::User, behind), entry.index, context, before);
            self.quiet = false;
        }
        let own = |marks: Marks| marks != Marks::NONE && marks.within(context.rules.own);
        let sent = context.options.strategy == Strategy::Reconstruct;
        for call in entry.calls().filter(|_| sent) {
            let result = call.result.as_ref().filter(|result| own(result.marks));
            let Some(result) = result else { continue };
            if self.answered.is_some_and(|at| at < result.index) {
                match context.rules.results {
                    Results::Messages => {}
                    Results::WithUser => self.alternate(result.index, context.rules),
                    // It counts the results of one message.
                    Results::Alone => {
                        let code = Code::ToolResultNotAdjacent;
                        let finding = Finding::new(code, Action::Merged, result.index);
                        self.findings.push(finding.call(&call.id));
                    }
                }
            }
            self.answered = Some(result.index);
        }
    }

    /// Reports that a message was merged into the one before it.
    fn alternate(&mut self, index: usize, rules: &Rules) {
        let finding = Finding::new(Code::RoleAlternation, Action::Merged, index);
        self.findings.push(finding.risk_if(rules.merge == Merge::Neater));
    }

    fn results(
        &mut self,
        results: Vec<Out<'a>>,
        index: usize,
        context: &Context<'_>,
        before: (usize, usize),
    ) {
        if results.is_empty() {
            return;
        }
        if context.rules.results == Results::Messages {
            for result in results {
                self.push(plain(Role::Tool, vec![result]), index, context, before);
            }
        } else {
            self.push(plain(Role::User, results), index, context, before);
        }
    }

    fn instruct(
        &mut self,
        place: Place<'_, 'a>,
        message: Message<'a>,
        context: &Context<'_>,
        before: (usize, usize),
    ) {
        let rules = context.rules;
        let Place { entry, next, .. } = place;
        let index = entry.index;
        match rules.system {
            System::Anywhere => {
                let developer = entry.speaker == Speaker::Developer;
                let role =
                    if developer && rules.developer { Role::Developer } else { Role::System };
                if developer && !rules.developer {
                    let finding = Finding::new(Code::RoleUnsupported, Action::Converted, index);
                    self.findings.push(finding.done("developer became system"));
                }
                self.push(Message { role, ..message }, index, context, before);
            }
            System::Apart { .. } if !self.state.spoke => self.system.extend(message.parts),
            System::First if !self.state.spoke => {
                self.push(message, index, context, before);
            }
            _ if context.options.system_anywhere && self.may_stand(next, context) => {
                self.push(message, index, context, before);
            }
            _ => {
                // Newer models take it there, and what the host's model is, nobody knows.
                let risk = self.may_stand(next, context);
                let mut text = Joined::default();
                text.text("<system>");
                text.value(&joined(&message.parts, "\n\n"));
                text.text("</system>");
                let text = text.into_json();
                let finding = Finding::new(Code::SystemPosition, Action::Converted, index);
                let finding = finding.done("now a <system> text of the user");
                self.findings.push(finding.risk_if(risk));
                let text = Out::Text { text, extra: Vec::new(), apart: false };
                self.push(plain(Role::User, vec![text]), index, context, before);
            }
        }
    }

    /// Whether newer models take a system message in its place, after the user and before the assistant.
    fn may_stand(&self, next: Option<&Entry<'a>>, context: &Context<'_>) -> bool {
        context.rules.system_after_user
            && self.last.as_ref().map(|last| last.role).or(self.state.before) == Some(Role::User)
            && next.is_none_or(Entry::is_output)
    }

    fn push(
        &mut self,
        message: Message<'a>,
        index: usize,
        context: &Context<'_>,
        before: (usize, usize),
    ) {
        let rules = context.rules;
        let Some(message) = self.merge(message, index, rules) else {
            self.joined = true;
            return;
        };
        self.flush(rules);
        if let Some(begin @ None) = self.begins.last_mut()
            && !self.joined
        {
            let (system, findings) = before;
            let (written, state) = (self.written.len(), self.state);
            *begin = Some(Mark { written, system, findings, state });
        }
        let begins = !self.state.spoke && message.role == Role::Assistant;
        if rules.first != First::Any && begins && !context.options.partial {
            let risk = rules.first == First::Better;
            self.made_up(Role::User, FIRST, (Code::FirstMessageRole, index, risk), rules);
        }
        let behind = message.role == Role::User && self.state.before == Some(Role::Tool);
        if rules.bridge != Bridge::None && behind {
            let risk = rules.bridge == Bridge::Better;
            let why = (Code::AssistantBridgeRequired, index, risk);
            self.made_up(Role::Assistant, BRIDGE, why, rules);
        }
        self.state.spoke |= !matches!(message.role, Role::System | Role::Developer);
        self.last = Some(message);
    }

    fn made_up(
        &mut self,
        role: Role,
        text: &'static str,
        (code, index, risk): (Code, usize, bool),
        rules: &Rules,
    ) {
        (rules.write)(says(role, text), &mut self.written);
        self.state = State { before: Some(role), spoke: true };
        if !self.quiet {
            let finding = Finding::new(code, Action::Synthesized, index);
            self.findings.push(finding.done(format!("added \"{text}\"")).risk_if(risk));
        }
    }

    fn flush(&mut self, rules: &Rules) {
        self.told = Told::default();
        if let Some(last) = self.last.take() {
            self.state.before = Some(last.role);
            (rules.write)(last, &mut self.written);
        }
    }

    /// Merges a message into the last one if the dialect's rules allow it; returns it otherwise.
    fn merge(&mut self, message: Message<'a>, index: usize, rules: &Rules) -> Option<Message<'a>> {
        let Some(last) = self.last.as_mut() else { return Some(message) };
        // Results come before all other parts, so the first and the last part tell whether any or
        // all parts are results.
        let result = |part: Option<&Out<'a>>| matches!(part, Some(Out::Result { .. }));
        let same = last.role == message.role;
        let system = matches!(rules.system, System::First) && message.role == Role::System;
        let spoken = matches!(message.role, Role::User | Role::Assistant);
        let mixed = result(last.parts.first()) != result(message.parts.first());
        let may = same && (system || spoken && rules.merge != Merge::Never);
        if !may || rules.results == Results::Alone && mixed && !message.beside {
            return Some(message);
        }
        let twice = match result(last.parts.last()) {
            true => mixed && self.answered.is_some_and(|at| at != index),
            false => message.role == Role::User || !last.beside && !message.beside,
        };
        let mut parts = message.parts;
        if let Some(Out::Text { apart, .. }) = parts.first_mut() {
            *apart = true;
        }
        // An empty text that a provider takes alone is left out beside others.
        if !is_empty_text(&parts) {
            if is_empty_text(&last.parts) {
                last.parts.clear();
                self.told = Told::default();
            }
            last.parts.extend(parts);
        }
        last.extra.extend(message.extra);
        // Where neighbours are merged, `listed` does not matter.
        last.beside = message.beside;
        if system {
            let finding = Finding::new(Code::SystemMultiple, Action::Merged, index);
            self.findings.push(finding.risk_if(rules.merge == Merge::Neater));
        } else if twice {
            self.alternate(index, rules);
        }
        None
    }
}

/// Whether these are an empty text alone.
fn is_empty_text(parts: &[Out<'_>]) -> bool {
    let signs = |extra: &Members<'_>| extra.iter().any(|(key, _)| key == "thoughtSignature");
    matches!(parts, [Out::Text { text, extra, .. }] if text.is_blank() && !signs(extra))
}

/// Where the parts have more calls than `most`, and the number of results of the calls before; `None`
/// if they do not. Of a partial history a call may have no result.
fn split(parts: &[Out<'_>], results: &[Out<'_>], most: usize) -> Option<(usize, usize)> {
    let (mut calls, mut answered) = (0, 0);
    for (at, part) in parts.iter().enumerate() {
        let Out::Call { id: call, .. } = part else { continue };
        if calls == most {
            return Some((at, answered));
        }
        calls += 1;
        let next = results.get(answered);
        answered += usize::from(matches!(next, Some(Out::Result { id, .. }) if id == call));
    }
    None
}

fn says<'a>(role: Role, text: &'static str) -> Message<'a> {
    let text = Out::Text { text: text.into(), extra: Vec::new(), apart: false };
    plain(role, vec![text])
}

fn plain(role: Role, parts: Vec<Out<'_>>) -> Message<'_> {
    Message { role, parts, extra: Vec::new(), listed: false, beside: false }
}
