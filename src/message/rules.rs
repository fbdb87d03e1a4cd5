//! The rules of a provider as data. Each dialect has one table; this module is independent of them.

use super::model::{Marks, Members, Reasoning};
use crate::json::Json;

/// The rules of one dialect, and how its messages are written.
#[derive(Debug)]
pub(super) struct Rules {
    /// The shapes that it accepts.
    pub(super) own: Marks,
    pub(super) system: System,
    /// Whether `developer` is a role.
    pub(super) developer: bool,
    /// Whether the first message must be a user message.
    pub(super) first_user: bool,
    pub(super) last: Last,
    /// Whether adjacent messages of one role are merged, and whether they are refused otherwise.
    pub(super) merge: Merge,
    /// Whether an assistant message is required between a result and a user message.
    pub(super) bridge: bool,
    pub(super) ids: Ids,
    /// Whether a call may omit its id.
    pub(super) ids_optional: bool,
    /// Whether content may be null beside calls.
    pub(super) null: bool,
    pub(super) names: Names,
    pub(super) results: Results,
    pub(super) arguments: Arguments,
    pub(super) reasoning: Replay,
    pub(super) empty_result: EmptyResult,
    /// Whether it refuses a request with an empty message.
    pub(super) empty_refused: bool,
    /// Whether calls must follow the other content.
    pub(super) calls_last: bool,
    /// Whether it refuses a request with an unknown field.
    pub(super) strict: bool,
    pub(super) media: Media,
    /// The OpenAI-style block types that it accepts; it accepts all blocks of its other shapes.
    pub(super) blocks: &'static [&'static str],
    /// Whether a result may contain images.
    pub(super) shows_results: bool,
    pub(super) fields: Fields,
    pub(super) write: for<'a> fn(Message<'a>, &mut Vec<Json<'a>>),
    /// Writes the system prompt outside the messages, from its texts.
    pub(super) write_system: for<'a> fn(Vec<Out<'a>>) -> Json<'a>,
}

impl Rules {
    /// Whether calls carry thought signatures, and results are objects.
    pub(super) fn is_gemini(&self) -> bool {
        self.ids == Ids::None
    }
}

/// Where system messages are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Anywhere,
    /// Outside the messages.
    Apart,
    /// One message, at the beginning.
    First,
}

/// Whether the list may end with an assistant message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Any,
    /// Some of its models refuse it.
    Better,
    NotAssistant,
}

/// How adjacent messages of one role are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    Never,
    /// Merged, although the provider would do so itself.
    Neater,
    /// Merged, because the provider refuses them.
    Needed,
}

/// Which call ids are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
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
pub(super) enum Names {
    /// `[a-zA-Z0-9_-]`, up to this many characters.
    Word(usize),
    /// Also dots and colons, with a letter or underscore first; up to 64 characters.
    Gemini,
}

/// Where results are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Results {
    /// One message per result.
    Messages,
    /// Together at the beginning of the user's next message.
    WithUser,
    /// Together in a user message of their own.
    Alone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// JSON text; `read` tells whether the provider parses it.
    Text {
        read: bool,
    },
    Object,
}

/// Which reasoning is sent back to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replay {
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
pub(super) enum EmptyResult {
    Taken,
    /// Refused for a failed call.
    RefusedOnError,
    Refused,
}

/// Which media it accepts beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    /// None: content is one text.
    None,
    /// Images by URL or base64.
    Images,
    /// Images and files.
    Files,
    /// Images and files, as bytes only.
    Bytes,
}

/// The accepted fields beside those that every message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) message: &'static [&'static str],
    pub(super) text: &'static [&'static str],
    pub(super) call: &'static [&'static str],
    pub(super) result: &'static [&'static str],
}

impl Fields {
    pub(super) const NONE: Self = Self { message: &[], text: &[], call: &[], result: &[] };
}

/// The rules that most dialects share.
pub(super) const COMMON: Rules = Rules {
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
    write: |_, _| {},
    write_system: |_| Json::Null,
};

/// The role of a message that is ready to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// A message that breaks no rule and is ready to be written.
#[derive(Debug, Clone)]
pub(super) struct Message<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<Out<'a>>,
    pub(super) extra: Members<'a>,
    /// Whether its content came as a list in the dialect's own shape.
    pub(super) listed: bool,
    /// Whether it came in the same element as the results before it.
    pub(super) beside: bool,
}

/// A part that is ready to be written.
#[derive(Debug, Clone)]
pub(super) enum Out<'a> {
    Text {
        text: Json<'a>,
        extra: Members<'a>,
        /// Whether it is separate from the text before it, such as text of another message.
        apart: bool,
    },
    Reasoning(Reasoning<'a>),
    /// A block in the dialect's own format.
    Native(Json<'a>),
    Media(super::import::Media<'a>),
    Call {
        id: Json<'a>,
        name: Json<'a>,
        /// A text or an object, as the dialect requires.
        arguments: Json<'a>,
        thought_signature: Option<Json<'a>>,
        extra: Members<'a>,
    },
    Result {
        id: Json<'a>,
        name: Json<'a>,
        content: ResultOut<'a>,
        error: bool,
        extra: Members<'a>,
    },
}

/// The content of a result that is ready to be written.
#[derive(Debug, Clone)]
pub(super) enum ResultOut<'a> {
    Text(Json<'a>),
    Parts(Vec<Out<'a>>),
    /// Content in the dialect's own format.
    Native(Json<'a>),
}

/// Converts parts into blocks. It is not generic, so that it is compiled only once.
pub(super) fn blocks<'a>(
    parts: Vec<Out<'a>>,
    block: fn(Out<'a>) -> Option<Json<'a>>,
) -> Vec<Json<'a>> {
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        if let Some(block) = block(part) {
            all.push(block);
        }
    }
    all
}
