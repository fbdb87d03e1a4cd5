//! Prepares calls that stay items of a type of their own, and their outputs.

use super::super::code::Code;
use super::super::entries::INTERRUPTED;
use super::super::model::{Call, ToolResult};
use super::super::report::{Action, Weight};
use super::super::typed::{CallType, of_call, with_call_id};
use super::{Prepared, Work};
use crate::json::Json;
use crate::provider::{Elements, Marks, Out, ResultOut, joined};

impl<'a> Work<'_, 'a> {
    /// The type of a call that stays an item of its own.
    pub(super) fn typed(&self, call: &Call<'a>) -> Option<&'static CallType> {
        let rules = self.rules();
        let items = rules.elements == Elements::Items && rules.own.meets(Marks::RESPONSES);
        call.item.as_deref().filter(|_| items).and_then(Json::kind).and_then(of_call)
    }

    /// Whether a call is left out: it has no output, and no text can be one.
    pub(super) fn is_unsent(&self, call: &Call<'a>) -> bool {
        let typed = self.typed(call).filter(|_| !self.context.options.partial);
        typed.is_some_and(|of| {
            let answered = call.result.as_ref().and_then(|result| result.item.as_deref());
            !answered.is_some_and(|item| of.answers(item))
                && of.output("", Json::Null, true).is_none()
        })
    }

    /// Adds a call of a type of its own, and its output.
    pub(super) fn client_call(&mut self, call: &Call<'a>, more: bool, made: &mut Prepared<'a>) {
        let (Some(of), Some(item)) = (self.typed(call), call.item.as_deref()) else { return };
        let id = call.wire_id.as_ref();
        let at = (call.index, call.id.as_ref());
        let answer = match &call.result {
            None if self.context.options.partial => None,
            None => {
                let code = if more { Code::ToolCallUnanswered } else { Code::ToolCallPending };
                let answer = of.output(id, INTERRUPTED.into(), true);
                match &answer {
                    Some(_) => {
                        let done = ("answered as interrupted".into(), Weight::Fault);
                        self.note(code, Action::Synthesized, at, done);
                    }
                    None => self.note(code, Action::Dropped, at, ("".into(), Weight::Fault)),
                }
                answer
            }
            Some(result) => self.client_output(of, call, result),
        };
        if answer.is_none() && self.is_unsent(call) {
            return;
        }
        // One without any id is reported where it gets one.
        if item.get("call_id").is_none_or(Json::is_null) && !call.id.is_empty() {
            let done = (format!("now {id}").into(), Weight::Fault);
            self.note(Code::ToolCallIdMissing, Action::Synthesized, at, done);
        }
        made.parts.push(Out::Native(with_call_id(item, id)));
        made.results.extend(answer.map(Out::Native));
    }

    /// The output of a call: as it was given, or made of the result of another type.
    fn client_output(
        &mut self,
        of: &CallType,
        call: &Call<'a>,
        result: &ToolResult<'a>,
    ) -> Option<Json<'a>> {
        let given = result.item.as_deref().filter(|item| of.answers(item));
        if let Some(item) = given {
            return Some(with_call_id(item, &call.wire_id));
        }
        let text = match self.content(call, result) {
            ResultOut::Text(text) | ResultOut::Native(text) => text,
            ResultOut::Parts(parts) => joined(&parts, "\n"),
        };
        let answer = of.output(&call.wire_id, text, result.error);
        let (code, weight) = (Code::ToolResultType, Weight::Fault);
        let (action, done) = match &answer {
            Some(_) => (Action::Converted, "now the output of its type"),
            None => (Action::Dropped, "with its call"),
        };
        self.note(code, action, (result.index, call.id.as_ref()), (done.into(), weight));
        answer
    }
}
