//! The output of a history: the provider's messages, and the findings.

use super::super::arrange::{Context, Tail};
use super::super::code::Code;
use super::super::model::Entry;
use super::super::options::{Strategy, ThoughtSignatures};
use super::super::report::{Action, Finding, Repair, Violation};
use super::super::{ids, thread, thread_id};
use super::{History, OMITTED};
use crate::json::Json;
use crate::json::table::borrowed;
use crate::order::order;
use crate::provider::{System, UndeclaredTools};

borrowed! {
    /// A history in the form that the provider accepts.
    pub struct Normalized<'a> as "NormalizedHistory" {
        /// The provider's messages: in a request `messages`, `input` (OpenAI Responses) or
        /// `contents` (Gemini).
        messages "messages": Vec<Json<'a>>;
        /// The system prompt, if the provider takes it outside the messages: `system` (Anthropic,
        /// Bedrock) or `systemInstruction` (Gemini) of a request.
        system "system?": Option<Json<'a>>;
        /// Stub declarations for Bedrock, if the history has tool calls and the request declares no
        /// tools.
        tool_config "toolConfig?": Option<Json<'a>>;
        /// The id of the thread, for the thread strategy with the id of a conversation.
        thread_id "threadId?": Option<String>;
        /// Every change that was made, in the order of the elements.
        repairs "repairs": Vec<Repair>;
    }
}

borrowed! {
    /// The changes since the last update.
    pub struct Update<'a> as "HistoryUpdate" {
        /// The number of leading messages that are unchanged.
        keep "keep": usize;
        /// The messages after them.
        messages "messages": Vec<Json<'a>>;
        /// The member of the first of them, a list, that has only what was added to the message that
        /// stood there.
        grows "grows?": Option<String>;
        /// New repairs from reading the elements.
        read "read": Vec<Repair>;
        /// The number of leading repairs from arranging that are unchanged.
        keep_arranged "keepArranged": usize;
        /// The repairs after them.
        arranged "arranged": Vec<Repair>;
        /// Repairs at the end, which the next element may undo.
        end "end": Vec<Repair>;
        /// As in a normalized history, without the first `keepSystem` of its texts; absent
        /// if there are no others.
        system "system?": Option<Json<'a>>;
        /// The number of leading texts of the system prompt that are unchanged.
        keep_system "keepSystem": usize;
        /// As in a normalized history.
        tool_config "toolConfig?": Option<Json<'a>>;
    }
}

impl<'a> History<'a> {
    /// Returns the history so far in the form that the provider accepts.
    #[must_use]
    pub fn normalized(&mut self) -> Normalized<'a> {
        let tail = self.arrange(false);
        let messages = self.arranger.written.clone();
        self.with(messages, tail)
    }

    /// As [`History::normalized`], but only the messages and the system prompt.
    pub(crate) fn messages(&mut self) -> (Vec<Json<'a>>, Option<Json<'a>>) {
        let tail = self.arrange(false);
        let mut messages = self.arranger.written.clone();
        messages.extend(tail.messages);
        (messages, self.system(0))
    }

    /// Returns the repairs so far.
    pub fn repairs(&mut self) -> Vec<Repair> {
        let tail = self.arrange(false);
        self.made(&tail)
    }

    fn made(&self, tail: &Tail<'a>) -> Vec<Repair> {
        let end = self.at_end();
        let all = self.sorted(&end, tail).into_iter();
        all.filter(|one| one.is_repair()).map(Finding::repair).collect()
    }

    /// As [`History::normalized`], for a history that is complete.
    #[must_use]
    #[inline(never)]
    pub fn into_normalized(mut self) -> Normalized<'a> {
        let tail = self.arrange(false);
        let messages = std::mem::take(&mut self.arranger.written);
        self.with(messages, tail)
    }

    fn with(&self, mut messages: Vec<Json<'a>>, tail: Tail<'a>) -> Normalized<'a> {
        let repairs = self.made(&tail);
        messages.extend(tail.messages);
        Normalized {
            messages,
            system: self.system(0),
            tool_config: self.tool_config(),
            thread_id: self.thread_id(),
            repairs,
        }
    }

    /// As [`History::normalized`], but returns only the changes since the last update.
    #[inline(never)]
    pub fn update(&mut self) -> Update<'a> {
        let tail = self.arrange(true);
        let keep = self.arranger.keep();
        let mut messages: Vec<Json<'a>> =
            self.arranger.written.iter().skip(keep).cloned().collect();
        messages.extend(tail.messages);
        let repairs = |all: &[Finding]| -> Vec<Repair> {
            all.iter().filter(|one| one.is_repair()).map(Finding::repair).collect()
        };
        let mut new = self.read.get(self.told..).unwrap_or_default().to_vec();
        new.retain(|finding| self.concerns(finding));
        let read = repairs(&new);
        self.told = self.read.len();
        let mut end = repairs(&self.at_end());
        end.extend(repairs(&tail.findings));
        let keep_system = self.arranger.keep_system();
        let (system, tool_config) = (self.system(keep_system), self.tool_config());
        let (kept, arranged) = self.arranger.found();
        Update {
            keep,
            messages,
            grows: tail.grows.map(str::to_owned),
            system,
            keep_system,
            tool_config,
            read,
            keep_arranged: kept.iter().filter(|one| one.is_repair()).count(),
            arranged: repairs(arranged),
            end,
        }
    }

    /// Returns what the provider would refuse in these messages as they are.
    #[must_use]
    #[inline(never)]
    pub fn violations(&mut self) -> Vec<Violation> {
        let tail = self.arrange(false);
        let end = self.at_end();
        let all = self.sorted(&end, &tail).into_iter();
        all.filter(|one| one.is_violation()).map(Finding::violation).collect()
    }

    fn arrange(&mut self, update: bool) -> Tail<'a> {
        let signatures = self.signatures();
        let from = thread::from(&self.options, &self.entries);
        if self.options.strategy == Strategy::Thread {
            self.arranger.rewind(0);
        }
        let settled = self.settled();
        if settled != self.settled {
            self.arranger.rewind(self.awaits_from.unwrap_or_default());
            self.settled = settled;
        }
        let cached_from = self.cached_from();
        let context = Context {
            settled,
            cached_from,
            rules: &self.rules,
            options: &self.options,
            own: self.marks.within(self.rules.own),
            signatures,
            thinks: self.thinks,
            foreign: self.foreign.is_some_and(|at| at >= self.turn),
            turn: self.turn,
            from,
            end: self.entries.last().map_or(0, |entry| entry.index),
        };
        self.arranger.arrange(&self.entries, &context);
        self.arranger.tail(&context, update)
    }

    /// Whether a finding concerns what is sent. A strategy that omits calls and results reports
    /// only the omission.
    fn concerns(&self, finding: &Finding) -> bool {
        self.options.strategy == Strategy::Reconstruct
            || !finding.code.name().starts_with("TOOL_")
            || finding.code == OMITTED
    }

    /// All findings, in the order of the elements.
    fn sorted<'f>(&'f self, end: &'f [Finding], tail: &'f Tail<'a>) -> Vec<&'f Finding> {
        let found = self.read.iter().chain(&self.arranger.findings);
        let mut all: Vec<&Finding> = found.filter(|finding| self.concerns(finding)).collect();
        all.extend(end.iter().chain(&tail.findings));
        let index = |place: usize| all.get(place).map(|finding| finding.index);
        let sorted = order(all.len(), &mut |a, b| index(a).cmp(&index(b)));
        sorted.into_iter().filter_map(|place| all.get(place).copied()).collect()
    }

    /// Findings about the history as a whole, so far.
    fn at_end(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        if self.options.strategy == Strategy::Reconstruct {
            let early = self.early_args.iter().flatten();
            all.extend(
                early.map(|(at, _)| Finding::new(Code::ToolCallPartial, Action::Dropped, *at)),
            );
            let lost = self.pairs.orphans().filter(|(_, result)| result.kept.is_none());
            all.extend(lost.map(|(id, result)| {
                let finding = Finding::new(Code::ToolResultOrphan, Action::Dropped, result.index);
                if id.starts_with('\0') { finding } else { finding.call(id) }
            }));
        }
        if self.stubs().is_some() && self.entries.iter().any(|entry| entry.calls().next().is_some())
        {
            let index =
                self.called.and_then(|at| self.entries.get(at)).map_or(0, |entry| entry.index);
            let finding = Finding::new(Code::ToolsRequiredByHistory, Action::Synthesized, index);
            all.push(finding.done("added stub declarations"));
        }
        all
    }

    /// The system prompt, without the first `from` of its texts; `None` if there are no others.
    fn system(&self, from: usize) -> Option<Json<'a>> {
        let System::Apart { write } = self.rules.system else { return None };
        let texts = &self.arranger.system;
        let texts = texts.get(from..).filter(|texts| !texts.is_empty())?;
        Some(write(texts.to_vec()))
    }

    /// How tools are declared that a request does not declare, if the provider refuses calls of such
    /// tools.
    fn stubs(&self) -> Option<fn(Vec<String>) -> Json<'static>> {
        let UndeclaredTools::Refused { stubs } = self.rules.undeclared_tools else { return None };
        let undeclared = self.options.strategy == Strategy::Reconstruct
            && self.options.tools.as_ref().is_some_and(Vec::is_empty);
        undeclared.then_some(stubs)
    }

    /// Stub declarations, if the history has calls.
    fn tool_config(&self) -> Option<Json<'a>> {
        let stubs = self.stubs()?;
        let mut names: Vec<String> = Vec::new();
        for call in self.entries.iter().flat_map(Entry::calls) {
            let made = ids::name(&call.name, self.rules.names);
            let name = made.as_deref().unwrap_or(&call.name);
            if let Err(at) = names.binary_search_by(|one| one.as_str().cmp(name)) {
                names.insert(at, name.to_owned());
            }
        }
        (!names.is_empty()).then(|| stubs(names))
    }

    fn thread_id(&self) -> Option<String> {
        let conversation = self.options.conversation_id.as_deref()?;
        (self.options.strategy == Strategy::Thread)
            .then(|| thread_id(conversation, None).unwrap_or_default())
    }

    /// Whether calls of the current turn must carry thought signatures.
    pub(super) fn signatures(&self) -> bool {
        match self.options.thought_signatures {
            ThoughtSignatures::Auto => self.signed,
            ThoughtSignatures::Always => true,
            ThoughtSignatures::Never => false,
        }
    }
}
