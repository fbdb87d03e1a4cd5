//! Reports about a history: repairs that were made, violations that were found.

use std::borrow::Cow;

use super::code::Code;
use crate::json::table::{names, record};

names! {
    /// What was done with an element of a history.
    pub enum Action as "RepairAction", "an action of a repair" {
        /// It was left out.
        Dropped "dropped",
        /// It was missing, and was added.
        Synthesized "synthesized",
        /// It has another place.
        Moved "moved",
        /// It was joined with the element before it.
        Merged "merged",
        /// It has another id or name.
        Renamed "renamed",
        /// It has another form.
        Converted "converted",
    }
}

record! {
    /// One change made to a history.
    pub struct Repair as "Repair", read {
        /// What the provider would have refused. Stable.
        code "code": Code;
        /// What was done.
        action "action": Action;
        /// The index of the element in the given history, from 0.
        index "index": usize;
        /// The given id of the call, if the repair concerns one.
        tool_call_id "toolCallId?": Option<String>;
        /// A description of the repair.
        detail "detail": String;
    }
}

impl Eq for Repair {}

record! {
    /// One rule of a provider that a list of messages breaks.
    pub struct Violation as "Violation" {
        /// What the provider refuses. Stable.
        code "code": Code;
        /// The index of the message, from 0.
        index "index": usize;
        /// The member that is wrong, as a JSON pointer into the message, where one is.
        path "path?": Option<String>;
        /// What is expected: the name of a member or of a form.
        expected "expected?": Option<String>;
        /// The id of the call, if the violation concerns one.
        tool_call_id "toolCallId?": Option<String>;
        /// A description of the violation.
        message "message": String;
    }
}

impl Eq for Violation {}

/// A finding about one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) code: Code,
    pub(super) action: Action,
    pub(super) index: usize,
    pub(super) id: Option<String>,
    /// Details that the description of the code does not contain.
    pub(super) more: Cow<'static, str>,
    /// What was done, if the action alone is not clear.
    pub(super) done: Cow<'static, str>,
    pub(super) weight: Weight,
    /// The member that is wrong, as a JSON pointer into the message, and what is expected.
    pub(super) member: Option<(String, &'static str)>,
}

/// How a finding is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// As a repair and a violation: the provider refuses it.
    Fault,
    /// As a repair only: it is a precaution, and the provider may accept the original.
    Risk,
    /// As a violation only: the same content in a form that this provider does not read.
    Spelling,
}

impl Weight {
    pub(super) fn risk_if(risk: bool) -> Self {
        if risk { Self::Risk } else { Self::Fault }
    }
}

impl Finding {
    #[inline(never)]
    pub(super) fn new(code: Code, action: Action, index: usize) -> Self {
        Self {
            code,
            action,
            index,
            id: None,
            more: Cow::Borrowed(""),
            done: Cow::Borrowed(""),
            weight: Weight::Fault,
            member: None,
        }
    }

    #[inline(never)]
    pub(super) fn call(mut self, id: &str) -> Self {
        self.id = (!id.is_empty()).then(|| id.to_owned());
        self
    }

    #[inline(never)]
    pub(super) fn more(mut self, more: impl Into<Cow<'static, str>>) -> Self {
        self.more = more.into();
        self
    }

    #[inline(never)]
    pub(super) fn done(mut self, done: impl Into<Cow<'static, str>>) -> Self {
        self.done = done.into();
        self
    }

    pub(super) fn spelling(mut self) -> Self {
        self.weight = Weight::Spelling;
        self
    }

    #[inline(never)]
    pub(super) fn risk_if(mut self, risk: bool) -> Self {
        self.weight = Weight::risk_if(risk);
        self
    }

    pub(super) fn is_repair(&self) -> bool {
        self.weight != Weight::Spelling
    }

    pub(super) fn is_violation(&self) -> bool {
        self.weight != Weight::Risk
    }

    fn sentence(&self) -> String {
        let mut text = self.code.description().to_owned();
        if !self.more.is_empty() {
            text.push_str(": ");
            text.push_str(&self.more);
        }
        if let Some((path, expected)) = self.member.as_ref().filter(|(_, want)| !want.is_empty()) {
            let member = path.rsplit('/').next().unwrap_or_default();
            text.push_str(&format!(" (`{member}`: use `{expected}`)"));
        }
        text
    }

    fn told(&self) -> String {
        let mut text = self.sentence();
        if !self.done.is_empty() {
            text.push_str("; ");
            text.push_str(&self.done);
        }
        text
    }

    pub(super) fn repair(&self) -> Repair {
        Repair {
            code: self.code,
            action: self.action,
            index: self.index,
            detail: self.told(),
            tool_call_id: self.id.clone(),
        }
    }

    pub(super) fn violation(&self) -> Violation {
        Violation {
            code: self.code,
            index: self.index,
            path: self.member.as_ref().map(|(path, _)| path.clone()),
            expected: self
                .member
                .as_ref()
                .filter(|(_, want)| !want.is_empty())
                .map(|(_, want)| (*want).to_owned()),
            message: self.sentence(),
            tool_call_id: self.id.clone(),
        }
    }
}
