//! Prepares the parts of one entry for its dialect.

mod attachment;
mod call;
mod hosted;
mod reasoning;
mod results;
mod typed;

pub(super) use attachment::{is_input, words};
use hosted::{forget_caller, is_hosted};

use std::borrow::Cow;

use super::arrange::{Context, Place};
use super::code::Code;
use super::entries::{OMITTED, is_mark};
use super::ids;
use super::model::{Entry, Part, Text};
use super::options::Strategy;
use super::report::{Action, Finding, Weight};
use crate::json::{Json, is_space};
use crate::provider::{
    Blank, Elements, Marks, Members, Message, Names, Out, Replay, Rules, Signatures,
};

/// The name for a call that names no tool.
pub(super) const UNKNOWN_TOOL: &str = "unknown_tool";

/// An entry that is ready to be arranged.
#[derive(Debug, Default)]
pub(super) struct Prepared<'a> {
    pub(super) parts: Vec<Out<'a>>,
    pub(super) results: Vec<Out<'a>>,
    /// Images and files of the results that are sent behind them.
    pub(super) behind: Vec<Out<'a>>,
    pub(super) extra: Members<'a>,
    pub(super) listed: bool,
    /// Whether a finding already explains why the entry is empty.
    pub(super) silent: bool,
}

/// Prepares an entry; adds the changes to `findings`.
pub(super) fn entry<'a>(
    place: Place<'_, 'a>,
    context: &Context<'_>,
    findings: &mut Vec<Finding>,
) -> Prepared<'a> {
    let Place { entry, at, next, last, before: earlier } = place;
    let calls_stay = context.options.strategy == Strategy::Reconstruct;
    let calls = calls_stay && entry.calls().any(|call| !call.stored);
    let before = findings.len();
    let mut work = Work {
        context,
        entry,
        at,
        index: entry.index,
        place: (false, 0),
        findings,
        next,
        earlier,
        calls,
        blanks: 0,
        behind: Vec::new(),
    };
    let mut made =
        Prepared { listed: entry.listed && context.own, ..work.parts(at >= context.turn, last) };
    made.behind = std::mem::take(&mut work.behind);
    work.beside_text(&mut made.parts);
    if work.blanks > 0 {
        work.report_blanks(&made.parts);
    }
    let stored = entry.calls().any(|call| call.stored);
    made.silent = stored
        || work.findings.len() > before
        || entry.parts.first().is_some_and(is_kept_for_another)
        || context.rules.reasoning == Replay::Content && reasoning::is_thought(entry);
    if context.rules.calls_last {
        work.put_calls_last(&mut made.parts);
    }
    work.report_spelling(&made.parts);
    let from = work.findings.len();
    made.extra = work.fields(&entry.extra, context.rules.fields.message, entry.marks);
    for finding in work.findings.iter_mut().skip(from) {
        if finding.code == Code::FieldUnknown {
            finding.member = Some((format!("/{}", finding.more), ""));
        }
    }
    work.report_many_calls();
    let reasoned = entry.parts.iter().any(|part| matches!(part, Part::Reasoning(_)));
    if work.blanks > 0 && made.parts.is_empty() && !reasoned {
        made.silent = false;
    }
    made
}

/// Whether a turn of ours keeps the part for another provider: it is left out in silence.
fn is_kept_for_another(part: &Part<'_>) -> bool {
    matches!(part, Part::Native { marks, .. } if marks.meets(Marks::TURN))
}

struct Work<'w, 'a> {
    context: &'w Context<'w>,
    entry: &'w Entry<'a>,
    /// Its place in the list of entries.
    at: usize,
    /// The index of the element that is prepared: that of the entry, or of a result.
    index: usize,
    /// The part that is prepared, and whether its result is.
    place: (bool, usize),
    findings: &'w mut Vec<Finding>,
    /// The next entry that is written.
    next: Option<&'w Entry<'a>>,
    /// The entries before this one.
    earlier: &'w [Entry<'a>],
    /// Whether the entry has calls.
    calls: bool,
    /// Blank texts that are left out.
    blanks: usize,
    /// Images and files of the results that are sent behind them.
    behind: Vec<Out<'a>>,
}

impl<'w, 'a> Work<'w, 'a> {
    fn rules(&self) -> &'w Rules {
        self.context.rules
    }

    fn own(&self, marks: Marks) -> bool {
        marks.meets(self.rules().own)
    }

    /// The parts as they are written, and the results of calls. `is_current`: the entry is of the
    /// turn that goes on.
    fn parts(&mut self, is_current: bool, is_last: bool) -> Prepared<'a> {
        let entry = self.entry;
        let calls_stay = self.context.options.strategy == Strategy::Reconstruct;
        let alone = self.is_alone();
        let last_said = entry.parts.iter().rposition(|part| match part {
            Part::Call(call) => calls_stay && !self.is_unsent(call),
            part => part.is_said(self.rules().own),
        });
        let mut made = Prepared::default();
        let mut is_first_call = true;
        let mut abandoned = Vec::new();
        let as_content = self.reasoning_content(&mut made.parts);
        for (place, part) in entry.parts.iter().enumerate() {
            self.place = (false, place);
            match part {
                Part::Text(text) if self.is_left_out(text, alone) => self.blanks += 1,
                Part::Text(text) => {
                    let extra = self.fields(&text.extra, self.rules().fields.text, entry.marks);
                    made.parts.push(Out::Text { text: text.text.clone(), extra, apart: false });
                }
                Part::Reasoning(_) if as_content => {}
                Part::Reasoning(reasoning) => {
                    let last = last_said.is_none_or(|said| said < place);
                    made.parts.extend(self.reasoning(reasoning, last));
                }
                Part::Media { marks, block } => {
                    let out = self.media(*marks, block);
                    made.parts.push(self.cached(out));
                }
                Part::Native { block, .. } if self.is_abandoned(place) => {
                    let id = block.get("id").and_then(Json::as_str).unwrap_or_default();
                    let done = ("".into(), Weight::Fault);
                    self.note(Code::ToolCallUnanswered, Action::Dropped, (self.index, id), done);
                    abandoned.push(id);
                }
                Part::Native { marks, block } => {
                    let out = self.native(*marks, block);
                    made.parts.extend(out.map(|out| self.cached(out)));
                }
                Part::Call(call) if calls_stay && self.is_stored_twice(call) => {}
                Part::Call(call) if calls_stay && self.typed(call).is_some() => {
                    is_first_call = false;
                    self.client_call(call, !is_last, &mut made);
                }
                Part::Call(call) if calls_stay => {
                    let signs = is_first_call && is_current;
                    is_first_call = false;
                    let name = self.name(call);
                    made.results.extend(self.answer(call, &name, !is_last));
                    if !call.stored {
                        let mut call = self.call(call, name, signs);
                        forget_caller(&mut call, &abandoned);
                        made.parts.push(call);
                    }
                }
                Part::Call(call) => {
                    let of_call = (call.index, call.id.as_ref());
                    self.note(OMITTED, Action::Dropped, of_call, ("".into(), Weight::Risk));
                }
            }
        }
        made
    }

    /// Whether the entry has at most one part of what is said. Where calls are items of their own, a
    /// text beside them is alone.
    fn is_alone(&self) -> bool {
        let rules = self.rules();
        let items = rules.elements == Elements::Items;
        let said = |part: &&Part<'_>| match part {
            Part::Text(_) | Part::Media { .. } => true,
            // That of another form becomes a text.
            Part::Native { marks, .. } => !items || part.refuses() && !marks.meets(rules.own),
            _ => !items,
        };
        self.entry.parts.iter().filter(said).nth(1).is_none()
    }

    /// Whether a text is blank and says nothing by that.
    fn is_left_out(&self, text: &Text<'a>, alone: bool) -> bool {
        if !text.text.is_blank() {
            return false;
        }
        let rules = self.rules();
        // The last text of a message may be empty and carry the signature.
        let signs = rules.thought_signatures != Signatures::None
            && self.is_own()
            && text.extra.iter().any(|(key, _)| key == "thoughtSignature");
        let stays = rules.blank == Blank::Kept
            && self.context.own
            && alone
            && text.text.as_str() == Some("");
        !signs && !stays
    }

    /// Whether all shapes of the entry are the dialect's own.
    fn is_own(&self) -> bool {
        self.entry.marks.within(self.rules().own)
    }

    /// A blank text beside a call is common and is not reported, but where a block of it is refused.
    fn report_blanks(&mut self, parts: &[Out<'a>]) {
        let thought = |part: &Out<'_>| matches!(part, Out::Reasoning(_));
        let refused = match self.rules().blank {
            Blank::Refused => true,
            Blank::RefusedAlone => parts.is_empty(),
            Blank::Dropped | Blank::Kept => false,
        };
        // Beside a tool of the provider's own it is taken: seen in requests that were accepted.
        let hosted = parts.iter().any(is_hosted);
        let block = refused && !hosted && self.entry.listed && self.is_own();
        // Nor is one beside images that are no blocks.
        let beside = self.calls || hosted || !self.entry.listed && !parts.iter().all(thought);
        if !parts.iter().all(thought) && (!beside || block) {
            let finding = Finding::new(Code::ContentEmpty, Action::Dropped, self.index);
            self.findings.push(finding.risk_if(!refused));
        }
    }

    /// Puts calls behind what is said, without reasoning behind them.
    fn put_calls_last(&mut self, parts: &mut Vec<Out<'a>>) {
        if calls_last(parts) {
            let finding = Finding::new(Code::ToolUseNotLast, Action::Moved, self.index);
            self.findings.push(finding.risk_if(true));
        }
        while matches!(parts.last(), Some(Out::Reasoning(_))) {
            parts.pop();
            let finding = Finding::new(Code::ReasoningFinal, Action::Dropped, self.index);
            self.findings.push(finding);
        }
    }

    /// Reports forms of an entry in the dialect's own shape that some servers refuse.
    fn report_spelling(&mut self, parts: &[Out<'a>]) {
        let rules = self.rules();
        if self.entry.null && self.calls && !rules.null && self.is_own() {
            let finding = Finding::new(Code::ContentNull, Action::Converted, self.index);
            self.findings.push(finding.more("an empty text is wanted").spelling());
        }
        let says = self.calls || !parts.is_empty();
        if self.entry.hollow && says && !rules.empty_lists && self.is_own() {
            let finding = Finding::new(Code::ContentShape, Action::Converted, self.index);
            self.findings.push(finding.more("a list in it is empty").spelling());
        }
    }

    fn report_many_calls(&mut self) {
        let most = self.rules().most_calls;
        if self.calls && self.entry.calls().nth(most).is_some() {
            let finding = Finding::new(Code::ToolCallsTooMany, Action::Moved, self.index);
            let finding = finding.more(format!("at most {most} are taken"));
            self.findings.push(finding.done("the others are in messages behind it"));
        }
    }

    /// Whether the dialect accepts a block unchanged.
    fn takes(&self, marks: Marks, block: &Json<'a>) -> bool {
        let kind = block.kind().unwrap_or_default();
        let bare = kind == "image_url" && block.get(kind).is_some_and(Json::is_text);
        let kind = if bare { "image_url:text" } else { kind };
        self.own(marks) && (!marks.meets(Marks::CHAT) || self.rules().blocks.contains(&kind))
    }

    fn note(
        &mut self,
        code: Code,
        action: Action,
        (index, id): (usize, &str),
        (done, weight): (Cow<'static, str>, Weight),
    ) {
        let mut finding = Finding::new(code, action, index).call(id).done(done);
        finding.weight = weight;
        self.findings.push(finding);
    }

    /// Adds a finding about a block: one for all equal blocks of a message.
    fn tell(&mut self, finding: Finding) {
        let is_told = self.findings.last().is_some_and(|last| {
            (last.code, last.action, last.index) == (finding.code, finding.action, finding.index)
                && last.more == finding.more
                && last.done == finding.done
        });
        if !is_told {
            self.findings.push(finding);
        }
    }

    /// Returns the fields that the dialect knows; the others are dropped.
    fn fields(&mut self, extra: &Members<'a>, known: &[&str], marks: Marks) -> Members<'a> {
        let mut kept = Vec::new();
        if !marks.within(self.rules().own) {
            // Fields of another shape belong to no wire format.
            return kept;
        }
        for (key, value) in extra {
            if is_mark(key) && self.is_over() {
                continue;
            }
            if known.contains(&key.as_ref()) {
                let mut value = value.clone();
                if let Json::String(name) = &value
                    && key == "name"
                    && let Some(made) = ids::name(name, Names::Word(64))
                {
                    let finding = Finding::new(Code::NameFieldFormat, Action::Renamed, self.index);
                    self.findings.push(finding.done(format!("now {made}")));
                    value = Json::String(made);
                }
                kept.push((key.clone(), value));
            } else if key != "tool_plan" {
                let finding = Finding::new(Code::FieldUnknown, Action::Dropped, self.index);
                let risk = !self.rules().strict;
                self.findings.push(finding.more(key.clone().into_owned()).risk_if(risk));
            }
        }
        kept
    }
}

/// Moves calls behind the last text or media; all other parts keep their order. Returns whether any was
/// moved. A message with reasoning behind a call keeps its order: "`thinking` or `redacted_thinking`
/// blocks in the latest assistant message cannot be modified. These blocks must remain as they were in
/// the original response." (UKGovernmentBEIS/inspect_ai#4922, 2026-08-17). A text behind a call is taken
/// by the models of 2026 (gotgenes/pi-anthropic-auth#66, 2026-09-20).
fn calls_last(parts: &mut Vec<Out<'_>>) -> bool {
    let is_call = |part: &Out<'_>| matches!(part, Out::Call { .. });
    let said = |part: &Out<'_>| matches!(part, Out::Text { .. } | Out::Media(_));
    let thought = |part: &Out<'_>| matches!(part, Out::Reasoning(_));
    let (Some(first), Some(last)) = (parts.iter().position(is_call), parts.iter().rposition(said))
    else {
        return false;
    };
    if first > last || parts.iter().skip(first).any(thought) {
        return false;
    }
    let rest = parts.split_off(last + 1);
    let all = std::mem::take(parts);
    let (calls, said): (Vec<_>, Vec<_>) = all.into_iter().partition(is_call);
    parts.extend(said);
    parts.extend(calls);
    parts.extend(rest);
    true
}

/// Removes white space from the end of the last text.
pub(super) fn trim<'a>(message: &mut Message<'a>, index: usize, findings: &mut Vec<Finding>) {
    if let Some(Out::Text { text: Json::String(text), .. }) = message.parts.last_mut() {
        let end = text.trim_end_matches(is_space).len();
        if end < text.len() {
            text.to_mut().truncate(end);
            findings.push(Finding::new(Code::TrailingWhitespace, Action::Converted, index));
        }
    }
}
