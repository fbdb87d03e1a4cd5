//! What a provider's rules are, as data. Each dialect has one table; nothing here knows which.

use super::model::{Marks, Members, Reasoning};
use crate::json::Json;

/// The rules of one dialect, and how its messages are written.
#[derive(Debug)]
pub(super) struct Rules {
    /// The shapes that it takes.
    pub(super) own: Marks,
    pub(super) system: System,
    /// Whether `developer` is a role.
    pub(super) developer: bool,
    /// Whether the user must speak first.
    pub(super) first_user: bool,
    pub(super) last: Last,
    /// Whether neighbours of one role become one message, and whether they are refused otherwise.
    pub(super) merge: Merge,
    /// Whether the assistant must speak between a result and the user.
    pub(super) bridge: bool,
    pub(super) ids: Ids,
    /// Whether a call may do without one.
    pub(super) ids_optional: bool,
    /// Whether content may be null beside calls.
    pub(super) null: bool,
    pub(super) names: Names,
    pub(super) results: Results,
    pub(super) arguments: Arguments,
    pub(super) reasoning: Replay,
    pub(super) empty_result: EmptyResult,
    /// Whether a message that says nothing makes it refuse the request.
    pub(super) empty_refused: bool,
    /// Whether calls stand behind what was said.
    pub(super) calls_last: bool,
    /// Whether a field that it does not know makes it refuse the request.
    pub(super) strict: bool,
    pub(super) media: Media,
    /// The types of blocks that it takes of those around OpenAI's; of other shapes, all.
    pub(super) blocks: &'static [&'static str],
    /// Whether a result may show images.
    pub(super) shows_results: bool,
    pub(super) fields: Fields,
    pub(super) write: for<'a> fn(Message<'a>, &mut Vec<Json<'a>>),
    /// The system prompt beside the messages, from its texts.
    pub(super) write_system: for<'a> fn(Vec<Out<'a>>) -> Json<'a>,
}

impl Rules {
    /// Whether calls carry thought signatures, and results are objects.
    pub(super) fn is_gemini(&self) -> bool {
        self.ids == Ids::None
    }
}

/// Where system messages stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Anywhere,
    /// Beside the messages.
    Apart,
    /// One, at the beginning.
    First,
}

/// Whether the list may end with the assistant's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Any,
    /// Some of its models refuse it.
    Better,
    NotAssistant,
}

/// What becomes of neighbours of one role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    Never,
    /// The provider would do it itself.
    Neater,
    /// The provider refuses them.
    Needed,
}

/// Which ids of calls are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    /// Any text up to so many characters.
    Length(usize),
    /// `[a-zA-Z0-9_-]`, up to so many.
    Word(usize),
    /// Exactly nine of `[a-zA-Z0-9]`.
    Nine,
    /// There are none: results are told by place.
    None,
}

/// Which names of tools are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// `[a-zA-Z0-9_-]`, up to so many characters.
    Word(usize),
    /// Dots and colons too, and a letter or underscore first; 64 characters.
    Gemini,
}

/// Where results stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Results {
    /// A message each.
    Messages,
    /// Together at the beginning of the user's next message.
    WithUser,
    /// Together in a user message of their own.
    Alone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// JSON text; whether the provider reads it itself.
    Text {
        read: bool,
    },
    Object,
}

/// What a model may be given back of its reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replay {
    Nothing,
    /// What its own wire writes, and nothing else.
    Native,
    /// Blocks that Anthropic signed.
    Signed,
    /// `reasoning_content`, as the options say.
    Content,
    /// `thinking` beside the content.
    Thinking,
    /// `reasoning_details` beside the content.
    Details,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmptyResult {
    Taken,
    /// Refused of a failed call.
    RefusedOnError,
    Refused,
}

/// What it takes beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    /// Nothing: content is one text.
    None,
    /// Images by address or base64.
    Images,
    /// Images and files.
    Files,
    /// Images and files, as bytes only.
    Bytes,
}

/// The fields beside those that every message has.
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

/// The rules that most have.
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

/// A message that breaks no rule and only has to be written.
#[derive(Debug, Clone)]
pub(super) struct Message<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<Out<'a>>,
    pub(super) extra: Members<'a>,
    /// Whether its content came as a list of the dialect's own.
    pub(super) listed: bool,
    /// Whether it came in one element with the results before it.
    pub(super) beside: bool,
}

/// A part that is ready to be written.
#[derive(Debug, Clone)]
pub(super) enum Out<'a> {
    Text {
        text: Json<'a>,
        extra: Members<'a>,
        /// It was another message's.
        apart: bool,
    },
    Reasoning(Reasoning<'a>),
    /// A block in the dialect's own words.
    Native(Json<'a>),
    Media(super::import::Media<'a>),
    Call {
        id: Json<'a>,
        name: Json<'a>,
        /// A text or an object, as the dialect wants it.
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
    /// The dialect's own form of it.
    Native(Json<'a>),
}

/// The blocks of parts; not generic, so that it is there once.
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
