//! Prepares the results of calls for their dialect.

use std::borrow::Cow;

use super::super::code::Code;
use super::super::entries::INTERRUPTED;
use super::super::import::media;
use super::super::model::{Call, Content, Part, Text, ToolResult};
use super::super::report::{Action, Finding, Weight};
use super::{UNKNOWN_TOOL, Work, is_input};
use crate::json::{Host, Joined, Json};
use crate::provider::{
    EmptyResult, Marks, Out, Place, ResultOut, ResultParts, ResultValues, failed_text, joined,
    label,
};
use crate::tool::{UNKNOWN_EFFECT, UNKNOWN_END};

/// The text of an empty result, if the provider refuses an empty one.
const EMPTY: &str = "(empty)";

/// The content of a failed result, which says so: its first text does, or one before the others.
fn failed(content: ResultOut<'_>) -> ResultOut<'_> {
    match content {
        ResultOut::Text(text) => ResultOut::Text(failed_text(text)),
        ResultOut::Native(value) => ResultOut::Native(failed_text(value)),
        ResultOut::Parts(mut parts) => {
            if let Some(Out::Text { text, .. }) = parts.first_mut() {
                *text = failed_text(std::mem::take(text));
            } else {
                let text = failed_text("".into());
                parts.insert(0, Out::Text { text, extra: Vec::new(), apart: false });
            }
            ResultOut::Parts(parts)
        }
    }
}

/// The content of the result of a call that was cut off, which says so once.
fn uncertain(content: ResultOut<'_>) -> ResultOut<'_> {
    match content {
        ResultOut::Text(text) => ResultOut::Text(uncertain_text(text)),
        ResultOut::Parts(mut parts) => {
            let told =
                |part: &Out<'_>| matches!(part, Out::Text { text, .. } if is_uncertain(text));
            if !parts.last().is_some_and(told) {
                let text = uncertain_text("".into());
                parts.push(Out::Text { text, extra: Vec::new(), apart: false });
            }
            ResultOut::Parts(parts)
        }
        value @ ResultOut::Native(_) => value,
    }
}

fn uncertain_text<'a>(text: Json<'a>) -> Json<'a> {
    if is_uncertain(&text) {
        return text;
    }
    let mut all = Joined::default();
    if !text.is_blank() {
        all.value(&text);
        all.text("; ");
    }
    all.text(UNKNOWN_EFFECT);
    all.into_json()
}

/// Whether a text says that the outcome is not known, as the core's own results do.
fn is_uncertain(text: &Json<'_>) -> bool {
    // Long texts stay with the host, but none that begin or end so.
    text.ends_with(UNKNOWN_EFFECT) || text.starts_with(UNKNOWN_END)
}

impl<'a> Work<'_, 'a> {
    /// Returns the result of a call, or a synthesized one if it has none; `None` if the provider
    /// may have it.
    pub(super) fn answer(
        &mut self,
        call: &Call<'a>,
        name: &Cow<'a, str>,
        more: bool,
    ) -> Option<Out<'a>> {
        let id = self.id(call);
        let name = if name.is_empty() { Json::Null } else { Json::String(name.clone()) };
        if call.result.is_none() && self.context.options.partial {
            return None;
        }
        let Some(result) = &call.result else {
            let code = if more { Code::ToolCallUnanswered } else { Code::ToolCallPending };
            self.note(
                code,
                Action::Synthesized,
                (call.index, &call.id),
                ("answered as interrupted".into(), Weight::Fault),
            );
            let content = ResultOut::Text(INTERRUPTED.into());
            return Some(Out::Result { id, name, content, error: true, extra: Vec::new() });
        };
        self.index = result.index;
        self.place.0 = true;
        if self.own(result.marks) {
            self.spelled(call, result);
        }
        let from = self.behind.len();
        let mut content = self.content(call, result);
        if self.behind.len() > from {
            self.behind.insert(from, label(name.as_str().unwrap_or(UNKNOWN_TOOL)));
        }
        if result.uncertain {
            content = uncertain(content);
        }
        if result.error && !self.rules().error_flag {
            content = failed(content);
        }
        let extra = self.fields(&result.extra, self.rules().fields.result, result.marks);
        self.index = self.entry.index;
        self.place.0 = false;
        Some(Out::Result { id, name, content, error: result.error, extra })
    }

    /// Reports what is written otherwise than the provider wants it, in its own shape.
    fn spelled(&mut self, call: &Call<'a>, result: &ToolResult<'a>) {
        let native = self.rules().result_values == ResultValues::Native;
        let object =
            |value: &Json<'_>| matches!(value, Json::Object(_) | Json::Host(Host::Object(_)));
        let value = matches!(&result.content, Content::Value(value) if !object(value));
        let named = result.name != call.name || call.name.is_empty();
        let other = result.item.as_deref().and_then(Json::kind) != Some("function_call_output");
        for (is, code) in [
            (native && value, Code::ToolResultType),
            (native && named, Code::ToolResultNameRequired),
            (!native && result.null, Code::ContentNull),
            (result.item.is_some() && other, Code::ToolResultType),
            (result.hollow && !self.rules().empty_lists, Code::ContentShape),
        ] {
            if is {
                self.note(
                    code,
                    Action::Converted,
                    (result.index, &call.id),
                    ("".into(), Weight::Spelling),
                );
            }
        }
    }

    pub(super) fn content(&mut self, call: &Call<'a>, result: &ToolResult<'a>) -> ResultOut<'a> {
        let content = self.own_content(call, result);
        // Gemini 3 has images and files beside the response.
        let beside = result.extra.iter().filter(|(key, _)| key == "parts");
        let is_other = result.marks.meets(Marks::GEMINI) && !self.own(result.marks);
        let beside: Vec<_> = beside.flat_map(|(_, parts)| parts.items()).cloned().collect();
        let (ResultOut::Text(text), true) = (&content, is_other && !beside.is_empty()) else {
            return content;
        };
        let mut outs = vec![Out::Text { text: text.clone(), extra: Vec::new(), apart: false }];
        for block in beside {
            outs.extend(self.shown(&Part::Media { marks: Marks::GEMINI, block }, result));
        }
        match outs.iter().all(|out| matches!(out, Out::Text { .. })) {
            true => ResultOut::Text(joined(&outs, "\n")),
            false => ResultOut::Parts(outs),
        }
    }

    fn own_content(&mut self, call: &Call<'a>, result: &ToolResult<'a>) -> ResultOut<'a> {
        let rules = self.rules();
        let native = rules.result_values == ResultValues::Native;
        let text = match &result.content {
            Content::Text(text) => text.clone(),
            Content::Value(value) if native && self.own(result.marks) => {
                return ResultOut::Native(value.clone());
            }
            Content::Value(value) => {
                // The results of a turn of ours are values, and sent as JSON text.
                if !result.marks.meets(Marks::TURN) {
                    let more = ("now JSON text".into(), Weight::risk_if(native));
                    let place = (result.index, call.id.as_ref());
                    self.note(Code::ToolResultType, Action::Converted, place, more);
                }
                value.clone().into_text()
            }
            Content::Parts(parts) => {
                let outs: Vec<_> =
                    parts.iter().filter_map(|part| self.shown(part, result)).collect();
                let outs: Vec<_> = outs.into_iter().map(|out| self.cached(out)).collect();
                let texts = outs.iter().all(|out| matches!(out, Out::Text { .. }));
                let own = self.context.own && self.own(result.marks);
                let list = !texts || own && rules.result_parts == ResultParts::Listed;
                if list && !outs.is_empty() {
                    return ResultOut::Parts(outs);
                }
                joined(&outs, "\n")
            }
        };
        let refused = match rules.empty_result {
            EmptyResult::Taken => false,
            EmptyResult::RefusedOnError => result.error,
            EmptyResult::Refused => true,
        };
        if refused && text.is_blank() {
            self.note(
                Code::ToolResultEmpty,
                Action::Converted,
                (result.index, &call.id),
                (EMPTY.into(), Weight::Fault),
            );
            return ResultOut::Text(EMPTY.into());
        }
        ResultOut::Text(text)
    }

    /// Reports what became of an image or a file, unless the result is one of a turn of ours.
    fn told(&mut self, result: &ToolResult<'a>, risk: bool, action: Action, done: &'static str) {
        if !result.marks.meets(Marks::TURN) {
            let finding = Finding::new(Code::ContentShape, action, self.index);
            self.tell(finding.done(done).risk_if(risk));
        }
    }

    /// Prepares a part of a result.
    fn shown(&mut self, part: &Part<'a>, result: &ToolResult<'a>) -> Option<Out<'a>> {
        match part {
            Part::Text(Text { text, extra }) => {
                let extra = self.fields(extra, self.rules().fields.text, result.marks);
                Some(Out::Text { text: text.clone(), extra, apart: false })
            }
            Part::Media { marks, block } => {
                let own = self.takes(*marks, block) && self.own(result.marks);
                let Some(seen) = media(block) else { return Some(self.seen(block, own, false)) };
                Some(match self.rules().place(self.context.options.model.as_deref(), &seen) {
                    Place::Inside => self.seen(block, own, false),
                    Place::Behind => {
                        let note = seen.placeholder();
                        self.behind.push(Out::Media(seen));
                        let moved = "it is in a message of the user behind the results";
                        // Some servers of Chat Completions take it in the result.
                        let risk = own && !self.rules().strict;
                        self.told(result, risk, Action::Moved, moved);
                        Out::Text { text: note.into(), extra: Vec::new(), apart: false }
                    }
                    Place::Note(why) => {
                        self.told(result, false, Action::Converted, "an attachment became a note");
                        let note = seen.note(why);
                        Out::Text { text: note.into(), extra: Vec::new(), apart: false }
                    }
                })
            }
            Part::Native { marks, block } => match block.get("json") {
                Some(value) if !self.own(*marks) => {
                    let text = value.clone().into_text();
                    Some(Out::Text { text, extra: Vec::new(), apart: false })
                }
                // A file by its id: results may have what is refused from the assistant.
                _ if is_input(block) && self.takes(*marks, block) => {
                    Some(Out::Native(block.clone()))
                }
                _ => self.native(*marks, block),
            },
            Part::Reasoning(_) | Part::Call(_) => None,
        }
    }
}
