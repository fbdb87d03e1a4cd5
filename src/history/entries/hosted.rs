//! Calls of tools that Anthropic runs itself, and their results: blocks of the assistant, which must be
//! paired like other calls. Refused, by reports of 2025-12 to 2026-09: "each `…_tool_result` block must
//! have a corresponding `server_tool_use` block before it", "`web_search` tool use with id … was found
//! without a corresponding `web_search_tool_result` block".
//!
//! A call without its result is taken while the model is not done: at the end of a paused message, and
//! while programs wait for tools of the client,
//! <https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons> (read 2026-11-30).

use super::super::code::Code;
use super::super::model::{Entry, Part, Speaker};
use super::super::pair::Place;
use super::super::report::{Action, Finding};
use super::History;
use crate::index::slot;
use crate::json::Json;
use crate::provider::Marks;

/// The calls of one id.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosted<'a> {
    call: Option<Place>,
    answered: bool,
    /// A result in the message that is read, before its call.
    early: Option<Part<'a>>,
}

/// A block of a tool that Anthropic runs itself, by its id.
enum Block {
    Call(String),
    Result(String),
}

impl Block {
    fn of(part: &Part<'_>) -> Option<Self> {
        let Part::Native { marks, block } = part else { return None };
        let kind = block.kind().filter(|_| marks.meets(Marks::ANTHROPIC))?;
        let text = |key| block.get(key).and_then(Json::as_str).map(str::to_owned);
        if kind.ends_with("_tool_use") {
            text("id").map(Self::Call)
        } else if kind.ends_with("_tool_result") {
            text("tool_use_id").map(Self::Result)
        } else {
            None
        }
    }
}

impl<'a> History<'a> {
    /// Pairs the blocks of an entry whose parts will stand behind `from` others of entry `at`. What has
    /// no partner, or the partner of another, is dropped; a result before its call is moved behind it.
    /// Returns whether nothing is left.
    pub(super) fn pair_hosted(
        &mut self,
        entry: &mut Entry<'a>,
        (at, from): (usize, usize),
    ) -> bool {
        let is_block = |part: &Part<'_>| Block::of(part).is_some();
        if self.options.partial
            || !self.rules.own.meets(Marks::ANTHROPIC)
            || !entry.parts.iter().any(is_block)
        {
            return false;
        }
        let index = entry.index;
        let mut early = Vec::new();
        for part in std::mem::take(&mut entry.parts) {
            match Block::of(&part) {
                None => entry.parts.push(part),
                Some(Block::Call(id)) => {
                    let number = self.index.number(&by_hosted(&id));
                    let known = slot(&mut self.hosted, number);
                    if known.call.is_some() {
                        self.unpaired(Code::ToolCallIdDuplicate, &id, index);
                        continue;
                    }
                    known.call = Some((at, from + entry.parts.len()));
                    let result = known.early.take();
                    known.answered = result.is_some();
                    entry.awaits.push((from + entry.parts.len(), known.answered));
                    entry.parts.push(part);
                    if let Some(result) = result {
                        let finding =
                            Finding::new(Code::ToolResultBeforeCall, Action::Moved, index);
                        self.read.push(finding.call(&id).done("moved behind its call"));
                        entry.parts.push(result);
                    }
                }
                Some(Block::Result(id)) => {
                    let number = self.index.number(&by_hosted(&id));
                    let known = slot(&mut self.hosted, number);
                    match known.call {
                        Some(_) if known.answered => {
                            self.unpaired(Code::ToolResultDuplicate, &id, index);
                        }
                        // The user has spoken since: the call is dropped, too.
                        Some((of, _)) if of < self.turn => {
                            self.unpaired(Code::ToolResultOrphan, &id, index);
                        }
                        Some(call) => {
                            known.answered = true;
                            entry.parts.push(part);
                            self.answered(call, entry, at);
                        }
                        None if known.early.is_some() => {
                            self.unpaired(Code::ToolResultDuplicate, &id, index);
                        }
                        None => {
                            known.early = Some(part);
                            early.push((number, id));
                        }
                    }
                }
            }
        }
        for (number, id) in early {
            if slot(&mut self.hosted, number).early.take().is_some() {
                self.unpaired(Code::ToolResultOrphan, &id, index);
            }
        }
        if entry.awaits.iter().any(|(_, answered)| !answered) {
            self.awaits_from = Some(self.awaits_from.map_or(at, |first| first.min(at)));
        }
        entry.parts.is_empty()
    }

    fn unpaired(&mut self, code: Code, id: &str, index: usize) {
        self.read.push(Finding::new(code, Action::Dropped, index).call(id));
    }

    /// The call at this place has its result. `reading`: the entry that will stand at `at`.
    fn answered(&mut self, (of, part): Place, reading: &mut Entry<'a>, at: usize) {
        if of == at && reading.answers(part) {
            return;
        }
        if let Some(entry) = self.entries.get_mut(of)
            && entry.answers(part)
        {
            self.arranger.rewind(of);
        }
    }

    /// The last place where something was said, if a call of a hosted tool before it may have no result:
    /// such calls are dropped.
    pub(super) fn settled(&self) -> Option<Place> {
        let from = self.awaits_from?;
        let behind = self.entries.iter().enumerate().skip(from).rev();
        for (at, entry) in behind {
            let text = |part: &Part<'_>| match part {
                Part::Text(text) => !text.text.is_blank(),
                _ => false,
            };
            if entry.gone {
                continue;
            }
            if entry.speaker == Speaker::User && entry.says(true, self.rules.own) {
                return Some((at, usize::MAX));
            }
            if let Some(part) = entry.parts.iter().rposition(text) {
                return Some((at, part));
            }
        }
        None
    }
}

impl Entry<'_> {
    /// Notes that the call of a hosted tool has its result; `false` if there is no such call.
    fn answers(&mut self, part: usize) -> bool {
        let at = self.awaits.binary_search_by(|(known, _)| known.cmp(&part));
        let call = at.ok().and_then(|at| self.awaits.get_mut(at));
        call.is_some_and(|(_, answered)| {
            *answered = true;
            true
        })
    }
}

/// The key of a hosted call in the index; no call id begins with the same character.
fn by_hosted(id: &str) -> String {
    format!("\u{5}{id}")
}
