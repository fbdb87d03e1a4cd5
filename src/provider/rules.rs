//! The rules of a provider's histories as data. Each provider has one table; this module is
//! independent of them.

use super::chat::{self, Style};
use super::content::{Attachment, Message, Out};
use super::result_media::{MediaBytes, ResultMedia};
use super::shapes::Marks;
use crate::json::Json;

/// Writes a message that breaks no rule.
pub(crate) type Write = for<'a> fn(Message<'a>, &mut Vec<Json<'a>>);

/// The rules of one provider's histories, and how its messages are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// The shapes that it accepts.
    pub(crate) own: Marks,
    pub(crate) write: Write,
    /// The member of a message that lists its parts, a block each and in order, if nothing else of
    /// the message depends on them.
    pub(crate) list: Option<&'static str>,
    /// The style of Chat Completions, if messages are written in it and in no other way.
    pub(super) style: Option<Style>,
    pub(crate) elements: Elements,
    pub(crate) system: System,
    /// Whether it accepts a system message after the user and before the assistant, from hosts that
    /// say that their model does.
    pub(crate) system_after_user: bool,
    /// Whether `developer` is a role.
    pub(crate) developer: bool,
    pub(crate) first: First,
    pub(crate) last: Last,
    /// Whether adjacent messages of one role are merged, and whether they are refused otherwise.
    pub(crate) merge: Merge,
    pub(crate) bridge: Bridge,
    pub(crate) ids: Ids,
    pub(crate) sent_ids: SentIds,
    /// Whether content may be null beside calls.
    pub(crate) null: bool,
    pub(crate) names: Names,
    /// The most calls of one message; `usize::MAX` if there is no limit.
    pub(crate) most_calls: usize,
    /// Whether each call must have its type.
    pub(crate) typed_calls: bool,
    /// Whether lists of calls and of content may be empty.
    pub(crate) empty_lists: bool,
    /// Whether calls must follow the other content.
    pub(crate) calls_last: bool,
    pub(crate) arguments: Arguments,
    pub(crate) results: Results,
    pub(crate) result_values: ResultValues,
    pub(crate) result_parts: ResultParts,
    pub(crate) empty_result: EmptyResult,
    /// Whether a result has a flag for a failed call. Otherwise its content says so.
    pub(crate) error_flag: bool,
    pub(crate) reasoning: Replay,
    pub(crate) thought_signatures: Signatures,
    pub(crate) blank: Blank,
    /// Whether it answers a request that consists of instructions.
    pub(crate) instructions_alone: bool,
    /// Whether it refuses a request with an unknown field.
    pub(crate) strict: bool,
    pub(crate) media: Media,
    /// How the names of models begin that read text only.
    pub(crate) text_models: &'static [&'static str],
    /// Where the images and files of results are sent, by the model, if it is known.
    pub(crate) result_media: fn(Option<&str>) -> ResultMedia,
    /// The largest image and the largest file of a result.
    pub(crate) media_bytes: MediaBytes,
    /// Whether only the user's messages, and results, have media.
    pub(crate) media_of_user: bool,
    /// The OpenAI-style block types that it accepts; it accepts all blocks of its other shapes.
    /// `image_url:text`: with a text in place of an object.
    pub(crate) blocks: &'static [&'static str],
    pub(crate) fields: Fields,
    pub(crate) undeclared_tools: UndeclaredTools,
    /// The most blocks that are marked for the provider's cache.
    pub(crate) cache_marks: usize,
}

impl Rules {
    /// Whether the content of a message that has only texts is one text, however many they are.
    pub(crate) fn one_text(&self) -> bool {
        self.style.is_some_and(|style| !style.lists)
    }

    /// Requires content to be text: never null, and a list only with media in it.
    pub(crate) fn require_texts(&mut self) {
        if self.style.is_some() {
            (self.style, self.write) = (Some(chat::TEXTS), chat::write_texts);
            (self.null, self.empty_lists) = (false, false);
            self.result_parts = ResultParts::Joined;
        }
    }

    /// The rules that most providers share. A provider states those in which it differs.
    pub(super) const fn common(own: Marks, write: Write) -> Self {
        Self {
            own,
            write,
            list: None,
            style: None,
            elements: Elements::Messages,
            system: System::Anywhere,
            system_after_user: false,
            developer: false,
            first: First::Any,
            last: Last::Any,
            merge: Merge::Never,
            bridge: Bridge::None,
            ids: Ids::Length(40),
            sent_ids: SentIds::Always,
            null: true,
            names: Names::Word(64),
            most_calls: usize::MAX,
            typed_calls: false,
            empty_lists: true,
            calls_last: false,
            arguments: Arguments::Text { read: false },
            results: Results::Messages,
            result_values: ResultValues::Text,
            result_parts: ResultParts::Joined,
            empty_result: EmptyResult::Taken,
            error_flag: false,
            reasoning: Replay::Nothing,
            thought_signatures: Signatures::None,
            blank: Blank::Dropped,
            instructions_alone: false,
            strict: false,
            media: Media::Images,
            text_models: &[],
            result_media: |_| ResultMedia::Behind,
            media_bytes: MediaBytes::ANY,
            media_of_user: true,
            blocks: &["image_url"],
            fields: Fields::NONE,
            undeclared_tools: UndeclaredTools::Accepted,
            cache_marks: usize::MAX,
        }
    }
}

/// What a history is a list of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elements {
    /// Messages, which hold calls and results.
    Messages,
    /// Items: messages, and beside them calls, results and reasoning. The provider stores items and
    /// can be referred to them, so their ids are unique, and a result may belong to a call that only
    /// the provider knows. Results need not be next to their calls. Reasoning must be followed by
    /// the item that it led to.
    Items,
}

/// Where system messages are placed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum System {
    Anywhere,
    /// Outside the messages. `write` makes the system prompt of its texts.
    Apart {
        write: for<'a> fn(Vec<Out<'a>>) -> Json<'a>,
    },
    /// One message, at the beginning.
    First,
}

/// Whether the list may begin with an assistant message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Any,
    /// Some of its models refuse it.
    Better,
    User,
}

/// Whether an assistant message is put between a result and a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bridge {
    None,
    /// It is put there, although it was not always needed.
    Better,
    Needed,
}

/// What becomes of blank texts, and whether they are refused. Beside a call they are always left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blank {
    /// They are left out, although they are taken.
    Dropped,
    /// As `Dropped`, but an empty one that is all of a message stays, in a history in the
    /// provider's own shape.
    Kept,
    /// They are refused in a message that says nothing else.
    RefusedAlone,
    Refused,
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

/// Which calls and results are sent with an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentIds {
    /// All: a call without an id gets one.
    Always,
    /// Those that were given with one.
    IfGiven,
    /// Those that were given with one, in a history that is in the provider's own shape.
    IfOwn,
}

/// Which tool names are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// `[a-zA-Z0-9_-]`, up to this many characters.
    Word(usize),
    /// Also dots and colons, with a letter or underscore first; up to 64 characters.
    Dotted,
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
    Text { read: bool },
    /// An object; `or_text` tells whether a text is the provider's own shape too.
    Object { or_text: bool },
}

/// How a result is sent that is a JSON value other than a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultValues {
    /// As JSON text.
    Text,
    /// As it is, if it came in the provider's own shape; else as JSON text, though the provider
    /// accepts values.
    Native,
}

/// How a result is sent that is a list of texts. One with an image or a file is always a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultParts {
    /// As one text.
    Joined,
    /// As a list, in a history that is in the provider's own shape; else as one text.
    Listed,
}

/// Whether texts and calls carry thought signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signatures {
    None,
    /// They do. An empty text that carries one is sent, and the first call of a message of the
    /// current turn needs one: `placeholder` is accepted in its place.
    OnParts {
        placeholder: &'static str,
    },
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
    /// Images as bytes.
    ImagesAsBytes,
    /// Images and files.
    Files,
    /// Images, and files as bytes.
    FilesAsBytes,
    /// Images of four types, PDFs, and texts as bytes.
    /// <https://docs.anthropic.com/en/api/messages>
    Documents,
    /// As bytes, what has a format; a file only beside a text.
    /// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html>
    Formats,
    /// As bytes, what Gemini 3 takes in a `functionResponse`.
    /// <https://ai.google.dev/gemini-api/docs/function-calling#multimodal>
    FunctionParts,
    /// Images, files, sounds and films.
    Any,
}

impl Media {
    /// Whether it accepts media of this type, by address or as bytes.
    pub(crate) fn takes(self, seen: &Attachment<'_>) -> bool {
        let (mime, is_url, image) = (&seen.mime, seen.is_url, seen.is_image());
        let file = !mime.starts_with("audio/") && !mime.starts_with("video/");
        match self {
            Self::None => false,
            Self::Images => image,
            Self::ImagesAsBytes => image && !is_url,
            Self::Files => file,
            Self::FilesAsBytes => image || file && !is_url,
            Self::Documents => match seen.format() {
                Some(format) => image || format == "pdf" || seen.text().is_some(),
                // The address of a file without a type is that of a PDF.
                None => is_url && mime.is_empty(),
            },
            Self::Formats => !is_url && seen.format().is_some(),
            Self::FunctionParts => !is_url && FUNCTION_PARTS.contains(&mime.as_str()),
            Self::Any => true,
        }
    }

    /// Whether a block of its own form that holds this stays as it is.
    pub(crate) fn keeps(self, seen: &Attachment<'_>) -> bool {
        match self {
            Self::Documents | Self::Formats => {
                let text = seen.is_text();
                self.takes(seen) && !text && (seen.is_url || seen.mime != "image/jpg")
            }
            Self::None => false,
            _ => true,
        }
    }
}

/// The types of images and files in a `functionResponse` of Gemini 3 (2026-11-30).
const FUNCTION_PARTS: [&str; 6] =
    ["image/png", "image/*", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

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
