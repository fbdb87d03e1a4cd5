//! The provider-neutral history: what was said, who said it, and which call has which result.

use std::borrow::Cow;

use super::args;
use super::code::Code;
use super::prepare::{is_input, words};
use crate::json::Json;
use crate::provider::{Marks, Members, Reasoning};

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
    /// Whether its list of calls or of content is empty.
    pub(super) hollow: bool,
    /// Whether results preceded it in the same element; of the assistant, whether it is a block of a
    /// message around it.
    pub(super) beside: bool,
    /// The last part that is a call with a result.
    pub(super) answered: Option<usize>,
    /// The parts that are calls of tools that the provider runs, and whether each has its result.
    pub(super) awaits: Vec<(usize, bool)>,
}

impl<'a> Entry<'a> {
    #[inline(never)]
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
            hollow: false,
            beside: false,
            answered: None,
            awaits: Vec::new(),
        }
    }

    /// Whether anything except reasoning is written for it.
    pub(super) fn says(&self, only_text: bool, own: Marks) -> bool {
        !self.gone
            && self.parts.iter().any(|part| match part {
                Part::Call(_) => !only_text,
                Part::Native { .. } if self.speaker == Speaker::User => true,
                part => part.is_said(own),
            })
    }

    /// Whether what is written for it depends on the entries after it: whether a call is unanswered or
    /// pending, reasoning that nothing follows, a system message (`anywhere`: that may stand there).
    pub(super) fn depends(&self, anywhere: bool) -> bool {
        anywhere && matches!(self.speaker, Speaker::System | Speaker::Developer)
            || self.parts.iter().any(|part| matches!(part, Part::Call(_) | Part::Reasoning(_)))
            || !self.awaits.is_empty()
    }

    /// Whether the model wrote it. The result of a call that only the provider has is not.
    pub(super) fn is_output(&self) -> bool {
        self.speaker == Speaker::Assistant && !self.calls().any(|call| call.stored)
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
    #[inline(never)]
    pub(super) fn call(call: Call<'a>) -> Self {
        Self::Call(Box::new(call))
    }

    /// Whether something is written for it in a message of the assistant: of another provider's block its
    /// words are.
    pub(super) fn is_said(&self, own: Marks) -> bool {
        match self {
            Self::Reasoning(_) => false,
            Self::Text(text) => !text.text.is_blank(),
            Self::Native { marks, block } => {
                marks.meets(own) && !is_input(block)
                    || !marks.meets(Marks::TURN) && words(block).is_some()
            }
            _ => true,
        }
    }

    /// Whether two parts of the user are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.text == other.text,
            (Self::Media { block, .. }, Self::Media { block: other, .. })
            | (Self::Native { block, .. }, Self::Native { block: other, .. }) => block == other,
            _ => false,
        }
    }

    /// Whether it is a refusal, which is a part of a message, unlike other blocks of OpenAI Responses.
    pub(super) fn refuses(&self) -> bool {
        matches!(self, Self::Native { block, .. } if block.get("refusal").is_some())
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
    /// Arguments that it began with before those in pieces came.
    pub(super) begun: Option<Box<Args<'a>>>,
    /// Whether its arguments came in pieces.
    pub(super) streamed: bool,
    pub(super) index: usize,
    pub(super) extra: Members<'a>,
    /// Whether it is in the core's own shape, of which no provider's form of ids is expected: a
    /// form that the provider wants is another spelling.
    pub(super) own: bool,
    /// Whether it is in the shape of OpenAI Chat without its `type: "function"`.
    pub(super) untyped: bool,
    /// Whether only the provider has the call: its result is sent, and it is not.
    pub(super) stored: bool,
    /// The member of its arguments that LangChain does not read, and what it reads.
    pub(super) misnamed: Option<(&'static str, &'static str)>,
    /// Whether its message describes it with other arguments too.
    pub(super) conflict: bool,
    /// The part of the same message that is a call with the same id before it.
    pub(super) repeats: Option<usize>,
    /// Gemini's thought signature for the call.
    pub(super) thought_signature: Option<Json<'a>>,
    /// The item of OpenAI Responses that it is, if it is of a type of its own (`typed`).
    pub(super) item: Option<Box<Json<'a>>>,
    pub(super) result: Option<ToolResult<'a>>,
}

impl Call<'_> {
    /// Whether it has no arguments.
    pub(super) fn is_bare(&self) -> bool {
        self.begun.is_none() && args::is_empty(&self.args)
    }

    /// Adds a piece of its arguments. Whole ones that it began with are kept beside them.
    pub(super) fn stream(&mut self, piece: &str) {
        if !self.streamed {
            let whole = args::as_object(&self.args).is_some();
            if whole && !args::is_empty(&self.args) {
                let empty = Args::Text(Json::string(""));
                self.begun = Some(Box::new(std::mem::replace(&mut self.args, empty)));
            } else if args::is_empty(&self.args) {
                self.args = Args::Text(Json::string(""));
            }
            self.streamed = true;
        }
        match &mut self.args {
            Args::Text(Json::String(text)) => text.to_mut().push_str(piece),
            args => *args = Args::Text(Json::string(piece.to_owned())),
        }
    }
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
    /// Whether the call was cut off, and may have had its effect.
    pub(super) uncertain: bool,
    pub(super) index: usize,
    pub(super) extra: Members<'a>,
    /// The tool's name, if the result has it.
    pub(super) name: Cow<'a, str>,
    pub(super) marks: Marks,
    /// The shapes of the blocks in it, where they are not among `marks`.
    pub(super) inner: Marks,
    /// Whether it names its call as `toolCallId`.
    pub(super) camel: bool,
    /// The member that names its call, if that is another one than `tool_call_id`.
    pub(super) id_member: Option<&'static str>,
    /// Whether it is a message without content.
    pub(super) null: bool,
    /// Whether its content was an empty list.
    pub(super) hollow: bool,
    /// Whether other content preceded it in its message.
    pub(super) behind: bool,
    /// The original item, in case only the provider knows its call.
    pub(super) item: Option<Box<Json<'a>>>,
    /// The entry in which it is sent unchanged until its call arrives.
    pub(super) kept: Option<usize>,
    /// The batch whose result it replaces, because a resume says so.
    pub(super) revises: Option<Box<str>>,
    /// Whether it is made of a denied approval, beside which the host may have stored a result.
    pub(super) implied: bool,
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
        call: Box<Call<'a>>,
        marks: Marks,
        /// The response that has it, if a turn of ours says so. Its other calls may have results.
        batch: Option<Box<str>>,
    },
    /// A call whose arguments are whole, which may have begun before.
    Whole {
        call: Box<Call<'a>>,
    },
    /// The arguments of a call, as its result has them. They count if the call has none.
    Described {
        id: Cow<'a, str>,
        args: Args<'a>,
    },
    /// A result, and the id of its call; empty if it has none.
    Result {
        id: Cow<'a, str>,
        result: ToolResult<'a>,
    },
    /// The user is asked whether this call may run.
    Asked {
        approval: Cow<'a, str>,
        call: Cow<'a, str>,
    },
    /// The user said no: the result of the call, which counts if it has no other.
    Denied {
        approval: Cow<'a, str>,
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
        /// The turn of ours that showed it, and the number of the event.
        shown: Option<(Cow<'a, str>, u64)>,
    },
    /// A part of reasoning, for the calls behind it.
    Thought {
        delta: Json<'a>,
        /// The turn of ours that showed it, and the number of the event.
        shown: Option<(Cow<'a, str>, u64)>,
    },
    /// Voids the text that this turn showed from this event on.
    Void {
        request: Cow<'a, str>,
        from: u64,
    },
    /// Replaces the history with these elements.
    Replace(Vec<Json<'a>>),
    /// Removes the entry with this id; `None` removes all entries.
    Remove(Option<Cow<'a, str>>),
    /// Content that has no place in any request.
    Drop {
        code: Code,
        id: Option<Cow<'a, str>>,
    },
}
