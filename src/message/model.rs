//! The provider-neutral history: what was said, who said it, and which call has which result.

use std::borrow::Cow;

use crate::json::Json;

/// The members of an object that remain after the known ones were taken.
pub(super) type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// The set of wire formats and hosts whose shapes occur in an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks(u16);

impl Marks {
    pub(super) const NONE: Self = Self(0);
    pub(super) const CHAT: Self = Self(1);
    pub(super) const RESPONSES: Self = Self(1 << 1);
    pub(super) const ANTHROPIC: Self = Self(1 << 2);
    pub(super) const GEMINI: Self = Self(1 << 3);
    pub(super) const BEDROCK: Self = Self(1 << 4);
    pub(super) const LANGCHAIN: Self = Self(1 << 5);
    pub(super) const AI_SDK: Self = Self(1 << 6);
    pub(super) const EVENT: Self = Self(1 << 7);
    pub(super) const CAMEL: Self = Self(1 << 8);
    /// A role and one text.
    pub(super) const PLAIN: Self = Self(1 << 9);
    /// Text blocks that have a type.
    pub(super) const TYPED: Self = Self(1 << 10);
    pub(super) const COHERE: Self = Self(1 << 11);
    pub(super) const OLLAMA: Self = Self(1 << 12);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of these are among `others`.
    pub(super) fn within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    pub(super) fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The names of the shapes, for a developer.
    pub(super) fn names(self) -> String {
        const NAMES: [&str; 13] = [
            "OpenAI Chat",
            "OpenAI Responses",
            "Anthropic",
            "Gemini",
            "Bedrock",
            "LangChain",
            "AI SDK",
            "UI event",
            "camelCase",
            "plain text content",
            "typed text blocks",
            "Cohere",
            "Ollama",
        ];
        let named = NAMES.iter().enumerate().filter(|(at, _)| self.0 & (1 << at) != 0);
        named.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    }
}

/// The role of the speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    Developer,
    User,
    Assistant,
}

/// One message of one speaker, with its calls and their results.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    pub(super) speaker: Speaker,
    /// The index of the element in the given history, from 0.
    pub(super) index: usize,
    pub(super) parts: Vec<Part<'a>>,
    /// Members of its own wire format beside the content.
    pub(super) extra: Members<'a>,
    /// The shapes in which it was given.
    pub(super) marks: Marks,
    /// Whether its content came as a list.
    pub(super) listed: bool,
    /// The host's id for it, by which it can be removed.
    pub(super) id: Option<Cow<'a, str>>,
    /// Whether later calls that are their own elements belong to it.
    pub(super) open: bool,
    /// Whether it was removed.
    pub(super) gone: bool,
    /// Whether its content was null.
    pub(super) null: bool,
    /// Whether results preceded it in the same element.
    pub(super) beside: bool,
    /// The last part that is a call with a result.
    pub(super) answered: Option<usize>,
}

impl<'a> Entry<'a> {
    pub(super) fn new(speaker: Speaker, index: usize) -> Self {
        Self {
            speaker,
            index,
            parts: Vec::new(),
            extra: Vec::new(),
            marks: Marks::NONE,
            listed: false,
            id: None,
            open: false,
            gone: false,
            null: false,
            beside: false,
            answered: None,
        }
    }

    /// Whether anything except reasoning is written for it.
    pub(super) fn says(&self, only_text: bool, own: Marks) -> bool {
        !self.gone
            && self.parts.iter().any(|part| match part {
                Part::Text(text) => !text.text.is_blank(),
                Part::Reasoning(_) => false,
                Part::Call(_) => !only_text,
                Part::Native { marks, .. } => self.speaker == Speaker::User || marks.meets(own),
                Part::Media { .. } => true,
            })
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call<'a>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call.as_ref()),
            _ => None,
        })
    }
}

/// A piece of an entry.
#[derive(Debug, Clone)]
pub(super) enum Part<'a> {
    Text(Text<'a>),
    Reasoning(Reasoning<'a>),
    /// An image, a file or a sound, as a block of the wire formats in `marks`.
    Media {
        marks: Marks,
        block: Json<'a>,
    },
    /// A block that only its own wire format has.
    Native {
        marks: Marks,
        block: Json<'a>,
    },
    Call(Box<Call<'a>>),
}

impl<'a> Part<'a> {
    pub(super) fn call(call: Call<'a>) -> Self {
        Self::Call(Box::new(call))
    }
}

/// A text.
#[derive(Debug, Clone)]
pub(super) struct Text<'a> {
    pub(super) text: Json<'a>,
    pub(super) extra: Members<'a>,
}

impl<'a> Text<'a> {
    pub(super) fn new(text: Json<'a>) -> Self {
        Self { text, extra: Vec::new() }
    }
}

/// A model's reasoning, in the form of its provider.
#[derive(Debug, Clone)]
pub(super) enum Reasoning<'a> {
    /// Signed by Anthropic, directly or through Bedrock.
    Signed { text: Json<'a>, signature: Json<'a>, extra: Members<'a> },
    /// Encrypted by Anthropic.
    Redacted(Json<'a>),
    /// `reasoning_content` beside the content, as in DeepSeek.
    Content(Json<'a>),
    /// `thinking` beside the content, as in Ollama.
    Thinking(Json<'a>),
    /// `reasoning_details` beside the content, which OpenRouter sends and expects back.
    Details(Json<'a>),
    /// A block or an item that only its own wire format accepts back.
    Native { marks: Marks, block: Json<'a> },
    /// Reasoning of no particular provider.
    Plain,
}

/// A tool call.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    /// The given id; empty if there was none.
    pub(super) id: Cow<'a, str>,
    /// The id that is sent: valid in the dialect and unique.
    pub(super) wire_id: Cow<'a, str>,
    /// The given name; empty if there was none.
    pub(super) name: Cow<'a, str>,
    /// The name that is sent, if it differs.
    pub(super) wire_name: Option<Cow<'a, str>>,
    pub(super) args: Args<'a>,
    pub(super) index: usize,
    pub(super) extra: Members<'a>,
    /// Gemini's thought signature for the call.
    pub(super) thought_signature: Option<Json<'a>>,
    pub(super) result: Option<ToolResult<'a>>,
}

/// The arguments of a call.
#[derive(Debug, Clone)]
pub(super) enum Args<'a> {
    /// Given as a value.
    Value(Json<'a>),
    /// Given as JSON text, which is not checked yet.
    Text(Json<'a>),
}

/// The result of a call.
#[derive(Debug, Clone)]
pub(super) struct ToolResult<'a> {
    pub(super) content: Content<'a>,
    pub(super) error: bool,
    pub(super) index: usize,
    pub(super) extra: Members<'a>,
    /// The tool's name, if the result has it.
    pub(super) name: Cow<'a, str>,
    pub(super) marks: Marks,
    /// Whether other content preceded it in its message.
    pub(super) behind: bool,
    /// The original item, in case only the provider knows its call.
    pub(super) item: Option<Box<Json<'a>>>,
    /// The entry in which it is sent unchanged until its call arrives.
    pub(super) kept: Option<usize>,
}

/// The content of a result.
#[derive(Debug, Clone)]
pub(super) enum Content<'a> {
    Text(Json<'a>),
    Parts(Vec<Part<'a>>),
    /// Any JSON.
    Value(Json<'a>),
}

/// A piece of one element of a history.
#[derive(Debug, Clone)]
pub(super) enum Piece<'a> {
    Say(Entry<'a>),
    /// A call that is its own element; it joins the calls before it.
    Call {
        call: Call<'a>,
        marks: Marks,
    },
    /// A result, and the id of its call; empty if it has none.
    Result {
        id: Cow<'a, str>,
        result: ToolResult<'a>,
    },
    /// More of the arguments of a call.
    ArgsDelta {
        id: Cow<'a, str>,
        delta: Cow<'a, str>,
    },
    /// More text for the message with this id.
    TextDelta {
        id: Cow<'a, str>,
        delta: Cow<'a, str>,
        speaker: Speaker,
    },
    /// Replaces the history with these elements.
    Replace(Vec<Json<'a>>),
    /// Removes the entry with this id; `None` removes all entries.
    Remove(Option<Cow<'a, str>>),
    /// Content that has no place in any request.
    Drop {
        code: &'static str,
        id: Option<Cow<'a, str>>,
    },
}
