//! The provider-neutral history: what was said, who said it, and which call has which result.

use std::borrow::Cow;

use crate::json::Json;

/// Members of an object that are left when what is known has been taken.
pub(super) type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// Which wires and hosts write what was found in an element; a set.
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
    /// Blocks that say that they are text.
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

    /// The shapes in words, for a developer.
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

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    Developer,
    User,
    Assistant,
}

/// One thing that somebody said, with the calls it made and their results.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    pub(super) speaker: Speaker,
    /// The element of the given history, from 0.
    pub(super) index: usize,
    pub(super) parts: Vec<Part<'a>>,
    /// What its own wire has beside the content.
    pub(super) extra: Members<'a>,
    /// The shapes that it came in.
    pub(super) marks: Marks,
    /// Whether its content came as a list.
    pub(super) listed: bool,
    /// The host's name for it, by which it may be taken back.
    pub(super) id: Option<Cow<'a, str>>,
    /// Whether calls that follow, each its own element, belong to it.
    pub(super) open: bool,
    /// Whether it was taken back.
    pub(super) gone: bool,
    /// Whether its content was null.
    pub(super) null: bool,
    /// Whether results stood before it in the same element.
    pub(super) beside: bool,
    /// The last of its parts that is a call with a result.
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

    /// Whether something of it is written, reasoning aside.
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
    /// An image, a file, a sound: its block, as the wires in `marks` write it.
    Media {
        marks: Marks,
        block: Json<'a>,
    },
    /// A block that only its own wire knows.
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

/// What a model thought, in the form of its provider.
#[derive(Debug, Clone)]
pub(super) enum Reasoning<'a> {
    /// Signed by Anthropic, directly or through Bedrock.
    Signed { text: Json<'a>, signature: Json<'a>, extra: Members<'a> },
    /// Encrypted by Anthropic.
    Redacted(Json<'a>),
    /// `reasoning_content` beside the content, as DeepSeek has it.
    Content(Json<'a>),
    /// `thinking` beside the content, as Ollama has it.
    Thinking(Json<'a>),
    /// `reasoning_details` beside the content, as OpenRouter has it and wants it back.
    Details(Json<'a>),
    /// A block or an item that only its own wire takes back.
    Native { marks: Marks, block: Json<'a> },
    /// Text of no provider in particular.
    Plain,
}

/// A tool call.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    /// As given; empty if there was none.
    pub(super) id: Cow<'a, str>,
    /// Valid in the dialect and unlike all others.
    pub(super) wire_id: Cow<'a, str>,
    /// As given; empty if there was none.
    pub(super) name: Cow<'a, str>,
    /// As the dialect takes it, where it is another.
    pub(super) wire_name: Option<Cow<'a, str>>,
    pub(super) args: Args<'a>,
    pub(super) index: usize,
    pub(super) extra: Members<'a>,
    /// Gemini's signature of the thought behind the call.
    pub(super) thought_signature: Option<Json<'a>>,
    pub(super) result: Option<ToolResult<'a>>,
}

/// The arguments of a call.
#[derive(Debug, Clone)]
pub(super) enum Args<'a> {
    /// Given as a value.
    Value(Json<'a>),
    /// Given as JSON text, of an object once it has been checked.
    Text(Json<'a>),
}

/// The result of a call.
#[derive(Debug, Clone)]
pub(super) struct ToolResult<'a> {
    pub(super) content: Content<'a>,
    pub(super) error: bool,
    pub(super) index: usize,
    pub(super) extra: Members<'a>,
    /// The tool, where the result names it.
    pub(super) name: Cow<'a, str>,
    pub(super) marks: Marks,
    /// Whether something else stood before it in its message.
    pub(super) behind: bool,
    /// The item as it came, where its call may be known to the provider only.
    pub(super) item: Option<Box<Json<'a>>>,
    /// The entry in which it is sent as it came, until its call comes after all.
    pub(super) kept: Option<usize>,
}

/// What a result holds.
#[derive(Debug, Clone)]
pub(super) enum Content<'a> {
    Text(Json<'a>),
    Parts(Vec<Part<'a>>),
    /// Any JSON.
    Value(Json<'a>),
}

/// What one element of a history comes to.
#[derive(Debug, Clone)]
pub(super) enum Piece<'a> {
    Say(Entry<'a>),
    /// A call on its own: it joins the calls before it.
    Call {
        call: Call<'a>,
        marks: Marks,
    },
    /// A result, and the id that it answers; empty if it has none.
    Result {
        id: Cow<'a, str>,
        result: ToolResult<'a>,
    },
    /// More of the arguments of a call that was announced.
    ArgsDelta {
        id: Cow<'a, str>,
        delta: Cow<'a, str>,
    },
    /// More of a text, by the id of its message.
    TextDelta {
        id: Cow<'a, str>,
        delta: Cow<'a, str>,
        speaker: Speaker,
    },
    /// The history begins anew with these elements.
    Replace(Vec<Json<'a>>),
    /// The entry of that id is taken back; all of them for `None`.
    Remove(Option<Cow<'a, str>>),
    /// It has no place in any request.
    Drop {
        code: &'static str,
        id: Option<Cow<'a, str>>,
    },
}
