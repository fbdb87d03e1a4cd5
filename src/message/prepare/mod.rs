//! Prepares the parts of one entry for its dialect.

mod attachment;
mod results;

pub(super) use attachment::{is_input, words};

use std::borrow::Cow;

use super::args::{self, settle};
use super::arrange::{Context, Place};
use super::code::Code;
use super::history::{CONFLICT, OMITTED};
use super::ids;
use super::model::{Args, Call, Entry, Part};
use super::options::{ReasoningReplay, Strategy};
use super::report::{Action, Finding, Weight};
use crate::json::{Json, is_space};
use crate::provider::{
    Arguments, Blank, Elements, Marks, Members, Message, Names, Out, Reasoning, Replay, Rules,
    SentIds, Signatures,
};

/// The name for a call that names no tool.
pub(super) const UNKNOWN_TOOL: &str = "unknown_tool";

/// An entry that is ready to be arranged.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    pub(super) parts: Vec<Out<'a>>,
    pub(super) results: Vec<Out<'a>>,
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
    let mut made = Prepared {
        parts: Vec::new(),
        results: Vec::new(),
        extra: Vec::new(),
        listed: false,
        silent: false,
    };
    let Place { entry, at, next, last } = place;
    let calls_stay = context.options.strategy == Strategy::Reconstruct;
    let calls = calls_stay && entry.calls().next().is_some();
    let mut work = Work { context, entry, index: entry.index, findings, next, calls };
    let before = work.findings.len();
    let mut blank = 0_usize;
    let items = context.rules.elements == Elements::Items;
    let written = |part: &Part<'_>| match part {
        Part::Call(_) => calls_stay,
        part => part.is_said(context.rules.own),
    };
    let said_last = entry.parts.iter().rposition(written);
    // Where calls are items of their own, a text beside them is alone.
    let said = |part: &&Part<'_>| match part {
        Part::Text(_) | Part::Media { .. } => true,
        // That of another form becomes a text.
        Part::Native { marks, .. } => !items || part.refuses() && !marks.meets(context.rules.own),
        _ => !items,
    };
    let alone = entry.parts.iter().filter(said).nth(1).is_none();
    let mut called = false;
    for (place, part) in entry.parts.iter().enumerate() {
        match part {
            Part::Text(text) => {
                // The last text of a message may be empty and carry the signature.
                let signs = context.rules.thought_signatures != Signatures::None
                    && entry.marks.within(context.rules.own)
                    && text.extra.iter().any(|(key, _)| key == "thoughtSignature");
                let stays = context.rules.blank == Blank::Kept
                    && context.own
                    && alone
                    && text.text.as_str() == Some("");
                if text.text.is_blank() && !signs && !stays {
                    blank += 1;
                    continue;
                }
                let extra = work.fields(&text.extra, context.rules.fields.text, entry.marks);
                made.parts.push(Out::Text { text: text.text.clone(), extra, apart: false });
            }
            Part::Reasoning(reasoning) => {
                let last = said_last.is_none_or(|said| said < place);
                made.parts.extend(work.reasoning(reasoning, last));
            }
            Part::Media { marks, block } => made.parts.push(work.media(*marks, block)),
            Part::Native { marks, block } => made.parts.extend(work.native(*marks, block)),
            Part::Call(call) if calls_stay => {
                let first = !called;
                called = true;
                let name = work.name(call);
                made.results.extend(work.answer(call, &name, !last));
                if !call.stored {
                    made.parts.push(work.call(call, name, first && at >= context.turn));
                }
            }
            Part::Call(call) => work.note(
                OMITTED,
                Action::Dropped,
                (call.index, &call.id),
                ("".into(), Weight::Risk),
            ),
        }
    }
    work.beside_text(&mut made.parts);
    // A blank text beside a call is common and is not reported, but where a block of it is refused.
    let thought = |part: &Out<'_>| matches!(part, Out::Reasoning(_));
    let refused = match context.rules.blank {
        Blank::Refused => true,
        Blank::RefusedAlone => made.parts.is_empty(),
        Blank::Dropped | Blank::Kept => false,
    };
    let block = refused && entry.listed && entry.marks.within(context.rules.own);
    // Nor is one beside images that are no blocks.
    let beside = called || !entry.listed && made.parts.iter().any(|part| !thought(part));
    if blank > 0 && !made.parts.iter().all(thought) && (!beside || block) {
        let finding = Finding::new(Code::ContentEmpty, Action::Dropped, entry.index);
        work.findings.push(finding.risk_if(!refused));
    }
    // What a turn of ours keeps for another provider is left out in silence.
    let kept =
        |part: &Part<'_>| matches!(part, Part::Native { marks, .. } if marks.meets(Marks::TURN));
    let stored = entry.calls().any(|call| call.stored);
    made.silent = stored || work.findings.len() > before || entry.parts.first().is_some_and(kept);
    if context.rules.calls_last {
        calls_last(&mut made.parts);
        while matches!(made.parts.last(), Some(Out::Reasoning(_))) {
            made.parts.pop();
            work.findings.push(Finding::new(Code::ReasoningFinal, Action::Dropped, entry.index));
        }
    }
    if entry.null && called && !context.rules.null && entry.marks.within(context.rules.own) {
        let finding = Finding::new(Code::ContentNull, Action::Converted, entry.index);
        work.findings.push(finding.more("an empty text is wanted").spelling());
    }
    let says = called || !made.parts.is_empty();
    if entry.hollow && says && !context.rules.empty_lists && entry.marks.within(context.rules.own) {
        let finding = Finding::new(Code::ContentShape, Action::Converted, entry.index);
        work.findings.push(finding.more("a list in it is empty").spelling());
    }
    made.extra = work.fields(&entry.extra, context.rules.fields.message, entry.marks);
    let most = context.rules.most_calls;
    if called && entry.calls().nth(most).is_some() {
        let finding = Finding::new(Code::ToolCallsTooMany, Action::Moved, entry.index);
        let finding = finding.more(format!("at most {most} are taken"));
        work.findings.push(finding.done("the others are in messages behind it"));
    }
    made.listed = entry.listed && context.own;
    let reasoned = entry.parts.iter().any(|part| matches!(part, Part::Reasoning(_)));
    if blank > 0 && made.parts.is_empty() && !reasoned {
        made.silent = false;
    }
    made
}

struct Work<'w, 'a> {
    context: &'w Context<'w>,
    entry: &'w Entry<'a>,
    /// The index of the element that is prepared: that of the entry, or of a result.
    index: usize,
    findings: &'w mut Vec<Finding>,
    /// The next entry that is written.
    next: Option<&'w Entry<'a>>,
    /// Whether the entry has calls.
    calls: bool,
}

impl<'a> Work<'_, 'a> {
    fn rules(&self) -> &'static Rules {
        self.context.rules
    }

    fn own(&self, marks: Marks) -> bool {
        marks.meets(self.rules().own)
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

    fn reasoning(&mut self, reasoning: &Reasoning<'a>, last: bool) -> Option<Out<'a>> {
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

    fn name(&mut self, call: &Call<'a>) -> Cow<'a, str> {
        if call.stored {
            return call.name.clone();
        }
        let given = if call.name.is_empty() {
            let named = call.result.as_ref().map(|result| result.name.clone());
            let found = named.filter(|name| !name.is_empty());
            let found = found.unwrap_or(Cow::Borrowed(UNKNOWN_TOOL));
            let more = format!("now {found}");
            self.note(
                Code::ToolNameMissing,
                Action::Synthesized,
                (call.index, &call.id),
                (more.into(), Weight::Fault),
            );
            found
        } else {
            call.name.clone()
        };
        let made = call.wire_name.clone().or_else(|| ids::name(&given, self.rules().names));
        match made {
            None => given,
            Some(made) => {
                let more = format!("{given} is now {made}");
                self.note(
                    Code::ToolNameFormat,
                    Action::Renamed,
                    (call.index, &call.id),
                    (more.into(), Weight::Fault),
                );
                made
            }
        }
    }

    fn call(&mut self, call: &Call<'a>, name: Cow<'a, str>, first: bool) -> Out<'a> {
        let rules = self.rules();
        let (arguments, wrong) = settle(self.args(call), rules.arguments);
        if let Some(code) = wrong {
            let read = rules.arguments != Arguments::Text { read: false };
            self.note(
                code,
                Action::Converted,
                (call.index, &call.id),
                ("".into(), Weight::risk_if(!read)),
            );
        }
        let custom = call.extra.iter().any(|(key, _)| key == "custom");
        if matches!(call.args, Args::Value(_))
            && !custom
            && matches!(rules.arguments, Arguments::Text { .. })
            && self.entry.marks.within(rules.own)
        {
            let more = ("JSON text is wanted".into(), Weight::Spelling);
            self.note(Code::ToolArgsType, Action::Converted, (call.index, &call.id), more);
        }
        if matches!(call.args, Args::Text(_))
            && rules.arguments == (Arguments::Object { or_text: false })
            && self.entry.marks.within(rules.own)
        {
            let more = ("an object is wanted".into(), Weight::Spelling);
            self.note(Code::ToolArgsType, Action::Converted, (call.index, &call.id), more);
        }
        if call.untyped && rules.typed_calls && self.entry.marks.within(rules.own) {
            let finding = Finding::new(Code::ContentShape, Action::Converted, call.index);
            let finding = finding.call(&call.id).more("a call without `type: \"function\"`");
            self.findings.push(finding.spelling());
        }
        let mut thought_signature = call.thought_signature.clone();
        if let Signatures::OnParts { placeholder } = rules.thought_signatures
            && thought_signature.is_none()
            && first
            && self.context.signatures
        {
            let more = (placeholder.into(), Weight::Fault);
            self.note(
                Code::ThoughtSignatureMissing,
                Action::Synthesized,
                (call.index, &call.id),
                more,
            );
            thought_signature = Some(placeholder.into());
        }
        let mut extra = self.fields(&call.extra, rules.fields.call, self.entry.marks);
        let name = Json::String(name);
        for (key, value) in &mut extra {
            if key == "custom"
                && let Json::Object(tool) = value
            {
                // Such a call is sent as it is, but for the name of its tool.
                for (_, given) in tool.iter_mut().filter(|(key, _)| key == "name") {
                    given.clone_from(&name);
                }
            }
        }
        Out::Call { id: self.id(call), name, arguments, thought_signature, extra }
    }

    /// The arguments of a call. It may have begun with others than those that came in pieces, which
    /// count if they can be read.
    fn args<'c>(&mut self, call: &'c Call<'a>) -> &'c Args<'a> {
        let Some(begun) = call.begun.as_deref() else { return &call.args };
        if args::is_empty(&call.args) || args::same(begun, &call.args) {
            return begun;
        }
        let more = (CONFLICT.into(), Weight::Risk);
        self.note(Code::ToolArgsConflict, Action::Dropped, (call.index, &call.id), more);
        if args::as_object(&call.args).is_some() { &call.args } else { begun }
    }

    /// The id of a call; null if it is sent without one.
    fn id(&self, call: &Call<'a>) -> Json<'a> {
        let given = !call.id.is_empty();
        let sent = match self.rules().sent_ids {
            SentIds::Always => true,
            SentIds::IfGiven => given,
            SentIds::IfOwn => given && self.context.own,
        };
        if sent { Json::String(call.wire_id.clone()) } else { Json::Null }
    }
}

/// Moves calls behind the last text or media; all other parts keep their order.
fn calls_last(parts: &mut Vec<Out<'_>>) {
    let is_call = |part: &Out<'_>| matches!(part, Out::Call { .. });
    let said = |part: &Out<'_>| matches!(part, Out::Text { .. } | Out::Media(_));
    let (Some(first), Some(last)) = (parts.iter().position(is_call), parts.iter().rposition(said))
    else {
        return;
    };
    if first > last {
        return;
    }
    let rest = parts.split_off(last + 1);
    let all = std::mem::take(parts);
    let (calls, said): (Vec<_>, Vec<_>) = all.into_iter().partition(is_call);
    parts.extend(said);
    parts.extend(calls);
    parts.extend(rest);
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
