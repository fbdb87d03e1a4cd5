//! How a turn speaks to its provider.

use super::chat::Silence;
use super::prompt::Requests;
use super::rules::{Arguments, Bridge, Elements, EmptyResult, First, Ids, Last, Merge, Names};
use super::rules::{Replay, Results, Rules, SentIds, Signatures, System};
use super::shapes::Marks;
use super::stream::Stream;
use super::{Dialect, plain, requests, rules, stream};
use crate::stream::Decoder;

/// How requests to a provider are written and its responses decoded.
///
/// It is looked up once, because the look-up decides what a program carries: one that only calls
/// [`Wire::plain`] carries nothing of the other providers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    pub(super) requests: &'static Requests,
    stream: &'static Stream,
    pub(super) rules: &'static Rules,
}

impl Wire {
    pub(crate) fn of(dialect: Dialect) -> Self {
        Self { requests: requests(dialect), stream: stream(dialect), rules: rules(dialect) }
    }

    /// The wire of a provider that takes plain histories as they are, and what differs among these
    /// providers; `None` for the others.
    pub(crate) fn plain(dialect: Dialect) -> Option<(Self, Plain)> {
        plain(dialect)
    }

    /// A decoder of one response; `None` if the host decodes them.
    pub(crate) fn decoder(self) -> Option<Decoder> {
        self.stream.decoder()
    }

    /// Whether a response's text may contain thoughts between tags, and calls.
    pub(crate) fn has_markup(self) -> bool {
        matches!(self.stream, Stream::Marked(_))
    }
}

/// What differs among the providers that take plain histories as they are: OpenAI's Chat Completions,
/// without rules that concern the neighbours of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain {
    pub(crate) ids: Ids,
    pub(crate) names: Names,
    /// Whether `developer` is a role.
    pub(crate) developer: bool,
    /// Whether content is null beside calls; else it is an empty text.
    pub(crate) null: bool,
    /// Whether content may be a list of texts.
    pub(crate) lists: bool,
    /// Whether the list may end with an assistant message.
    pub(crate) ends_with_assistant: bool,
    /// Which reasoning is sent back beside calls.
    pub(crate) reasoning: Replay,
}

/// The row of a provider for [`Wire::plain`], from its other rows.
pub(super) const fn row(
    rules: &'static Rules,
    stream: &'static Stream,
    requests: &'static Requests,
) -> Option<(Wire, Plain)> {
    let (Some(style), Stream::Marked(_)) = (rules.style, stream) else { return None };
    let as_chat = style.typed
        && style.result_name.is_none()
        && !style.plan
        && !matches!(style.silence, Silence::Omitted)
        && rules.own.has(Marks::CHAT.and(Marks::PLAIN))
        && matches!(rules.elements, Elements::Messages)
        && matches!(rules.arguments, Arguments::Text { .. })
        && matches!(rules.results, Results::Messages)
        && matches!(rules.sent_ids, SentIds::Always)
        && matches!(rules.thought_signatures, Signatures::None);
    let apart = matches!(rules.system, System::Anywhere)
        && matches!(rules.merge, Merge::Never)
        && matches!(rules.last, Last::Any | Last::Better)
        && matches!(rules.empty_result, EmptyResult::Taken)
        && matches!(rules.first, First::Any)
        && matches!(rules.bridge, Bridge::None)
        && !rules.calls_last;
    if !as_chat || !apart {
        return None;
    }
    let plain = Plain {
        ids: rules.ids,
        names: rules.names,
        developer: rules.developer,
        null: matches!(style.silence, Silence::Null),
        lists: style.lists && rules.own.has(Marks::TYPED),
        ends_with_assistant: matches!(rules.last, Last::Any),
        reasoning: rules.reasoning,
    };
    Some((Wire { requests, stream, rules }, plain))
}
