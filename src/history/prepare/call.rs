//! Prepares calls: their ids, names, arguments and signatures.

use std::borrow::Cow;

use super::super::args::{self, settle};
use super::super::code::Code;
use super::super::entries::CONFLICT;
use super::super::ids;
use super::super::model::{Args, Call, Part};
use super::super::options::ThoughtSignatures;
use super::super::report::{Action, Finding, Weight};
use super::{UNKNOWN_TOOL, Work};
use crate::json::Json;
use crate::provider::{Arguments, Ids, Out, SentIds, Signatures};

impl<'a> Work<'_, 'a> {
    /// Whether a call is left out because the call before it in its message is the same, by its id, its
    /// name and its arguments, and only one of them has a result (anthropics/claude-code#20583,
    /// 2026-01-24). Reports an id that its message has twice.
    pub(super) fn is_stored_twice(&mut self, call: &Call<'a>) -> bool {
        let Some(before) = call.repeats else { return false };
        let before = match self.entry.parts.get(before) {
            Some(Part::Call(before)) => Some(before),
            _ => None,
        };
        let is_same = call.result.is_none()
            && before.is_some_and(|before| {
                before.name == call.name && args::same(&before.args, &call.args)
            });
        let none = self.rules().ids == Ids::None;
        let (action, done, weight) = match is_same {
            true => (Action::Dropped, "".into(), Weight::Fault),
            false if none => (Action::Renamed, "".into(), Weight::Risk),
            false => (Action::Renamed, format!("now {}", call.wire_id).into(), Weight::Fault),
        };
        let place = (call.index, call.id.as_ref());
        self.note(Code::ToolCallIdDuplicate, action, place, (done, weight));
        is_same
    }

    pub(super) fn name(&mut self, call: &Call<'a>) -> Cow<'a, str> {
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

    pub(super) fn call(&mut self, call: &Call<'a>, name: Cow<'a, str>, first: bool) -> Out<'a> {
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
            && (self.context.signatures || self.is_unsigned())
        {
            // A call of another provider never had a signature, so that none is missing.
            if self.context.signatures {
                let more = (placeholder.into(), Weight::Fault);
                self.note(
                    Code::ThoughtSignatureMissing,
                    Action::Synthesized,
                    (call.index, &call.id),
                    more,
                );
            }
            thought_signature = Some(placeholder.into());
        }
        let mut extra = self.fields(&call.extra, rules.fields.call, self.entry.marks);
        for (key, value) in self.recorded_call(&call.id) {
            extra.retain(|(known, _)| *known != key);
            extra.push((key, value));
        }
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

    /// Whether the current turn has calls of another provider, which has no signatures.
    fn is_unsigned(&self) -> bool {
        self.context.options.thought_signatures == ThoughtSignatures::Auto && self.context.foreign
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
    pub(super) fn id(&self, call: &Call<'a>) -> Json<'a> {
        let given = !call.id.is_empty();
        let sent = match self.rules().sent_ids {
            SentIds::Always => true,
            SentIds::IfGiven => given,
            SentIds::IfOwn => given && self.context.own,
        };
        if sent { Json::String(call.wire_id.clone()) } else { Json::Null }
    }
}
