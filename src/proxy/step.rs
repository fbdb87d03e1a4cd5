//! What the events of a response say of its calls, and what a gate tells of them.

use super::call::{Call, Keyed};
use super::tree::Tree;
use crate::guard::{Refusal, Unread};
use crate::index::Index;
use crate::json::Json;
use crate::json::table::names;

names! {
    /// Why a call may not run.
    pub enum Reason as "ProxyReason", "a reason of a refusal" {
        /// It was made before, with the same result.
        Duplicate "duplicate",
        /// The budget is spent.
        Budget "budget",
        /// It stood where its API has no calls, clients read different arguments in it, or its
        /// arguments cannot be read.
        Form "form",
        /// It was longer than what may be held, or the history could not be read.
        Unjudged "unjudged",
    }
}

impl Reason {
    /// Returns the call guard's notice, which stands in the place of calls to tools of these names.
    /// `has_results`: the history has results, to which the notice may point.
    #[must_use]
    pub fn notice(self, names: &[&str], has_results: bool) -> String {
        match self {
            Self::Duplicate => Refusal::Duplicate.notice(names, has_results),
            Self::Budget => Refusal::Budget.notice(names, has_results),
            Self::Form => Unread::Form.notice(names),
            Self::Unjudged => Unread::Unjudged.notice(names),
        }
    }
}

/// What was found in a response, in the order of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A call is complete. A gate that holds calls waits for the verdict.
    Judge(Call),
    /// A call stood where its API has none, or clients differ in what they read: it is left out.
    Misplaced(Call),
    /// A call was too long to be judged. The name of its tool.
    Unjudged(String),
    /// The usage of the response, as JSON text.
    Usage {
        /// The provider's JSON.
        raw: String,
        /// It is the first that this response says.
        is_first: bool,
        /// Its members are added to those before.
        adds: bool,
    },
    /// The id by which a later request continues the response.
    Id(String),
    /// Why calls were withheld: a code of an error.
    Error(&'static str),
}

/// An event of a stream, and the calls that its pieces belong to, in the order of the pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Event {
    pub(super) json: Json<'static>,
    pub(super) keys: Vec<Option<usize>>,
    pub(super) names_call: bool,
    pub(super) repeats: bool,
}

impl Event {
    pub(super) fn of(json: Json<'static>) -> Self {
        Self { json, ..Self::default() }
    }
}

impl From<Tree> for Event {
    fn from(Tree { json, names_call, repeats }: Tree) -> Self {
        Self { json, keys: Vec::new(), names_call, repeats }
    }
}

/// The usage of a response: what its events have said so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    names: Index,
    members: Vec<(String, Json<'static>)>,
}

impl Usage {
    /// Replaces members by those of a later event. `null` says nothing of a count.
    pub(super) fn add(&mut self, usage: &Json<'static>) {
        for (name, value) in usage.members() {
            let number = self.names.number(name);
            match self.members.get_mut(number) {
                Some(_) if value.is_null() => {}
                Some(before) => before.1 = value.clone(),
                None => self.members.push((name.to_owned(), value.clone())),
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json<'static>> {
        Some(&self.members.get(self.names.find(name)?)?.1)
    }

    pub(super) fn into_json(self) -> Json<'static> {
        Json::Object(self.members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

/// The usage that an event says.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) usage: Json<'static>,
    pub(super) adds: bool,
}

/// What an event means for the calls of its response.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Events from here on belong to a call, until `complete`.
    pub(super) open: bool,
    /// Calls that are complete now.
    pub(super) complete: Vec<Keyed>,
    /// The response says why it ends.
    pub(super) finish: bool,
    pub(super) usage: Option<Said>,
    /// The id of the response, if the event has it; empty otherwise.
    pub(super) id: String,
    /// Text is shown to the user.
    pub(super) text: bool,
    /// The event goes on with a call that is over, or that never began.
    pub(super) stray: bool,
}

impl Step {
    pub(super) fn open(open: bool) -> Self {
        Self { open, ..Self::default() }
    }
}

/// Which calls of a response are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Refusing {
    /// Those of which a verdict says so.
    #[default]
    Judged,
    /// All but those that may run.
    AllBut,
    All,
}

/// The verdicts on the calls of a response, by their keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Verdicts {
    refusing: Refusing,
    /// Whether a call may run; `None` before its verdict.
    may_run: Vec<Option<bool>>,
    passed: usize,
}

impl Verdicts {
    pub(super) fn refuse(&mut self, refusing: Refusing) {
        self.refusing = refusing;
    }

    pub(super) fn set(&mut self, key: usize, may_run: bool) {
        *crate::index::slot(&mut self.may_run, key) = Some(may_run);
        self.passed += usize::from(may_run);
    }

    /// Whether a call may run.
    pub(super) fn any_passed(&self) -> bool {
        self.passed > 0
    }

    pub(super) fn refuses(&self, key: usize) -> bool {
        let verdict = self.may_run.get(key).copied().flatten();
        match self.refusing {
            Refusing::Judged => verdict == Some(false),
            Refusing::AllBut => verdict != Some(true),
            Refusing::All => true,
        }
    }

    pub(super) fn all(&self) -> Self {
        Self { refusing: Refusing::All, ..Self::default() }
    }
}

/// Reads one stream, and writes the events of a stream that is changed.
pub(super) trait Stream: Send + Sync {
    /// Reads an event, and notes the calls of its pieces.
    fn read(&mut self, event: &mut Event) -> Step;
    /// The events of the client for one of the provider, in a stream that is changed. Refused calls
    /// are left out.
    fn rewrite(&mut self, event: &Event, verdicts: &Verdicts) -> Vec<Json<'static>>;
    /// An event of a call that may run was passed as it is.
    fn passed(&mut self, event: &Event);
    /// What an event says beside the end of the response, where the end is not shown.
    fn before_end(&mut self, _event: &Event, _verdicts: &Verdicts) -> Vec<Json<'static>> {
        Vec::new()
    }
    /// Remembers what the client was shown of a response that another one continues.
    fn keep(&mut self, _event: &Event, _verdicts: &Verdicts) {}
    /// The calls that have not ended, where the stream has.
    fn rest(&mut self) -> Vec<Keyed>;
    /// From here on, arguments of calls are not kept: every call is refused.
    fn drop_arguments(&mut self);
    /// From here on, events are those of a second response: its head is left out.
    fn again(&mut self);
    /// Events of a text.
    fn answer_events(&mut self, text: &str) -> Vec<Json<'static>>;
    /// The event of an end without calls, of the end of a response whose calls are refused.
    fn finish(&mut self, json: Json<'static>) -> Json<'static>;
    /// The events of an end that the provider did not send.
    fn ended(&mut self) -> Vec<Json<'static>>;
    /// Whether the event is the last of its stream.
    fn is_last(&self, _json: &Json<'_>) -> bool {
        false
    }
}
