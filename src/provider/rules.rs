//! The rules of a provider's histories as data. Each provider has one table; this module is
//! independent of them.

use super::content::{Message, Out};
use super::shapes::Marks;
use crate::json::Json;

/// The rules of one dialect, and how its messages are written.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The shapes that it accepts.
    pub(crate) own: Marks,
    pub(crate) system: System,
    /// Whether `developer` is a role.
    pub(crate) developer: bool,
    /// Whether the first message must be a user message.
    pub(crate) first_user: bool,
    pub(crate) last: Last,
    /// Whether adjacent messages of one role are merged, and whether they are refused otherwise.
    pub(crate) merge: Merge,
    /// Whether an assistant message is required between a result and a user message.
    pub(crate) bridge: bool,
    pub(crate) ids: Ids,
    /// Whether a call may omit its id.
    pub(crate) ids_optional: bool,
    /// Whether content may be null beside calls.
    pub(crate) null: bool,
    pub(crate) names: Names,
    pub(crate) results: Results,
    pub(crate) arguments: Arguments,
    pub(crate) reasoning: Replay,
    pub(crate) empty_result: EmptyResult,
    /// Whether it refuses a request with an empty message.
    pub(crate) empty_refused: bool,
    /// Whether calls must follow the other content.
    pub(crate) calls_last: bool,
    /// Whether it refuses a request with an unknown field.
    pub(crate) strict: bool,
    pub(crate) media: Media,
    /// The OpenAI-style block types that it accepts; it accepts all blocks of its other shapes.
    pub(crate) blocks: &'static [&'static str],
    /// Whether a result may contain images.
    pub(crate) shows_results: bool,
    pub(crate) fields: Fields,
    pub(crate) undeclared_tools: UndeclaredTools,
    pub(crate) write: for<'a> fn(Message<'a>, &mut Vec<Json<'a>>),
    /// Writes the system prompt outside the messages, from its texts.
    pub(crate) write_system: for<'a> fn(Vec<Out<'a>>) -> Json<'a>,
}

impl Rules {
    /// Whether calls carry thought signatures, and results are objects.
    pub(crate) fn is_gemini(&self) -> bool {
        self.ids == Ids::None
    }
}

/// Where system messages are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Anywhere,
    /// Outside the messages.
    Apart,
    /// One message, at the beginning.
    First,
}

/// Whether the list may end with an assistant message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    Any,
    /// Some of its models refuse it.
    Better,
    NotAssistant,
}

/// How adjacent messages of one role are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merge {
    Never,
    /// Merged, although the provider would do so itself.
    Neater,
    /// Merged, because the provider refuses them.
    Needed,
}

/// Which call ids are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// Any text up to this many characters.
    Length(usize),
    /// `[a-zA-Z0-9_-]`, up to this many characters.
    Word(usize),
    /// Exactly nine of `[a-zA-Z0-9]`.
    Nine,
    /// No ids: results are matched by place.
    None,
}

/// Which tool names are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// `[a-zA-Z0-9_-]`, up to this many characters.
    Word(usize),
    /// Also dots and colons, with a letter or underscore first; up to 64 characters.
    Gemini,
}

/// Where results are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    /// One message per result.
    Messages,
    /// Together at the beginning of the user's next message.
    WithUser,
    /// Together in a user message of their own.
    Alone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// JSON text; `read` tells whether the provider parses it.
    Text {
        read: bool,
    },
    Object,
}

/// Which reasoning is sent back to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replay {
    Nothing,
    /// Only reasoning in its own wire format.
    Native,
    /// Blocks that Anthropic signed.
    Signed,
    /// `reasoning_content`, depending on the options.
    Content,
    /// `thinking` beside the content.
    Thinking,
    /// `reasoning_details` beside the content.
    Details,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmptyResult {
    Taken,
    /// Refused for a failed call.
    RefusedOnError,
    Refused,
}

/// Which media it accepts beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// None: content is one text.
    None,
    /// Images by URL or base64.
    Images,
    /// Images and files.
    Files,
    /// Images and files, as bytes only.
    Bytes,
}

/// What becomes of a request whose history has calls and that declares no tools.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UndeclaredTools {
    Accepted,
    /// Refused; `stubs` writes declarations for tools with these names.
    Refused {
        stubs: fn(Vec<String>) -> Json<'static>,
    },
}

/// The accepted fields beside those that every message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) message: &'static [&'static str],
    pub(crate) text: &'static [&'static str],
    pub(crate) call: &'static [&'static str],
    pub(crate) result: &'static [&'static str],
}

impl Fields {
    pub(crate) const NONE: Self = Self { message: &[], text: &[], call: &[], result: &[] };
}

/// The rules that most dialects share.
pub(crate) const COMMON: Rules = Rules {
    own: Marks::NONE,
    system: System::Anywhere,
    developer: false,
    first_user: false,
    last: Last::Any,
    merge: Merge::Never,
    bridge: false,
    ids: Ids::Length(40),
    ids_optional: false,
    null: true,
    names: Names::Word(64),
    results: Results::Messages,
    arguments: Arguments::Text { read: false },
    reasoning: Replay::Nothing,
    empty_result: EmptyResult::Taken,
    empty_refused: false,
    calls_last: false,
    strict: false,
    media: Media::Images,
    blocks: &["image_url"],
    shows_results: false,
    fields: Fields::NONE,
    undeclared_tools: UndeclaredTools::Accepted,
    write: |_, _| {},
    write_system: |_| Json::Null,
};
