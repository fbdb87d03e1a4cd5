//! A message that breaks no rule and is ready to be written, and its parts.

use std::borrow::Cow;

use super::shapes::Marks;
use crate::json::{Joined, Json};
use crate::text::base64;

/// The members of an object that remain after the known ones were taken.
pub(crate) type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// The role of a message that is ready to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// A message that breaks no rule and is ready to be written.
#[derive(Debug, Clone)]
pub(crate) struct Message<'a> {
    pub(crate) role: Role,
    pub(crate) parts: Vec<Out<'a>>,
    pub(crate) extra: Members<'a>,
    /// Whether its content came as a list in the dialect's own shape.
    pub(crate) listed: bool,
    /// Whether it came in the same element as the results before it; of the assistant, whether it is
    /// a block of a message around it.
    pub(crate) beside: bool,
}

/// A part that is ready to be written.
#[derive(Debug, Clone)]
pub(crate) enum Out<'a> {
    Text {
        text: Json<'a>,
        extra: Members<'a>,
        /// Whether it is separate from the text before it, such as text of another message.
        apart: bool,
    },
    Reasoning(Reasoning<'a>),
    /// A block in the dialect's own format.
    Native(Json<'a>),
    Media(Attachment<'a>),
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
pub(crate) enum ResultOut<'a> {
    Text(Json<'a>),
    Parts(Vec<Out<'a>>),
    /// Content in the dialect's own format.
    Native(Json<'a>),
}

/// How a failed result begins, where its provider has no flag for that.
const FAILED: &str = "Error: ";

/// The content of a failed result for a provider that has no flag for it: it says so once.
pub(crate) fn failed_text<'a>(content: Json<'a>) -> Json<'a> {
    // Long texts stay with the host, but none of those that say so.
    if content.starts_with(FAILED) || !content.is_text() {
        return content;
    }
    let mut text = Joined::default();
    text.text(FAILED);
    if content.is_blank() {
        text.text("(empty)");
    } else {
        text.value(&content);
    }
    text.into_json()
}

/// Converts parts into blocks. It is not generic, so that it is compiled only once.
pub(crate) fn blocks<'a>(
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

/// A model's reasoning, in the form of its provider.
#[derive(Debug, Clone)]
pub(crate) enum Reasoning<'a> {
    /// Signed by Anthropic, directly or through Bedrock.
    Signed { text: Json<'a>, signature: Json<'a>, extra: Members<'a> },
    /// Encrypted by Anthropic.
    Redacted { data: Json<'a>, extra: Members<'a> },
    /// `reasoning_content` beside the content, as in DeepSeek.
    Content(Json<'a>),
    /// `thinking` beside the content, as in Ollama.
    Thinking(Json<'a>),
    /// `reasoning_details` beside the content, which OpenRouter sends and expects back.
    Details(Json<'a>),
    /// A block or an item that only its own wire format accepts back.
    Native { marks: Marks, block: Json<'a> },
    /// Reasoning in words, of no particular provider; blank if the words are not known.
    Text(Json<'a>),
    /// What a turn of this library recorded of a response: see [`Recorded`].
    Recorded(Box<Recorded<'a>>),
}

/// The members of a response that go back with its calls, as a turn recorded them.
#[derive(Debug, Clone)]
pub(crate) struct Recorded<'a> {
    /// The dialect and the model of the response; `None` if it is a response of the same turn.
    pub(crate) origin: Option<(Cow<'a, str>, Option<Cow<'a, str>>)>,
    /// Members of the message.
    pub(crate) members: Members<'a>,
    /// Members of calls, by the ids of the calls.
    pub(crate) calls: Members<'a>,
}

impl<'a> Recorded<'a> {
    /// The members of a message that carry reasoning.
    pub(crate) const MEMBERS: [&'static str; 3] =
        ["reasoning_content", "reasoning", "reasoning_details"];
    /// The members of a call that carry the signature of a thought.
    pub(crate) const OF_CALL: [&'static str; 2] = ["extra_content", "provider_specific_fields"];

    /// Returns the reasoning in words, if it has some.
    pub(crate) fn words(&self) -> Option<Json<'a>> {
        let member = |name: &&str| {
            let (_, value) = self.members.iter().find(|(key, _)| key == name)?;
            if value.is_text() { Some(value.clone()) } else { lines(value) }
        };
        Self::MEMBERS.iter().find_map(member).filter(|text| !text.is_blank())
    }

    /// Whether a response of this model has it, or one of the same turn.
    pub(crate) fn is_of(&self, dialect: &str, model: Option<&str>) -> bool {
        self.origin.as_ref().is_none_or(|(own_dialect, own)| {
            model.is_some() && own_dialect == dialect && own.as_deref() == model
        })
    }
}

impl<'a> Reasoning<'a> {
    /// Reasoning whose words are not known.
    pub(crate) fn unknown() -> Self {
        Self::Text(Json::string(""))
    }

    /// Returns the reasoning in words; `None` if it is encrypted or has none.
    pub(crate) fn words(&self) -> Option<Json<'a>> {
        let found = match self {
            Self::Signed { text, .. }
            | Self::Content(text)
            | Self::Thinking(text)
            | Self::Text(text) => text.clone(),
            Self::Redacted { .. } => return None,
            Self::Details(list) => lines(list)?,
            Self::Native { block, .. } => {
                ["content", "summary", "thinking", "text"].iter().find_map(|key| {
                    let value = block.get(key)?;
                    if value.is_text() { Some(value.clone()) } else { lines(value) }
                })?
            }
            Self::Recorded(recorded) => return recorded.words(),
        };
        Some(found).filter(|text| !text.is_blank())
    }
}

/// The texts of a list of blocks, with a blank line between them; `None` if it has none.
pub(crate) fn lines<'a>(list: &Json<'a>) -> Option<Json<'a>> {
    let mut all = Joined::default();
    for block in list.items() {
        let text = ["text", "summary", "thinking"]
            .iter()
            .find_map(|key| block.get(key).filter(|t| t.is_text()));
        let Some(text) = text.filter(|text| !text.is_blank()) else { continue };
        if !all.is_empty() {
            all.text("\n\n");
        }
        all.value(text);
    }
    (!all.is_empty()).then(|| all.into_json())
}

/// An image or a file, independent of any wire format.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attachment<'a> {
    /// Such as `image/png`; empty if unknown.
    pub(crate) mime: String,
    /// A URL, or base64.
    pub(crate) data: Cow<'a, str>,
    pub(crate) is_url: bool,
    pub(crate) name: Option<Cow<'a, str>>,
}

/// The types of which some providers take no others, and their extensions.
const FORMATS: [(&str, &str); 14] = [
    ("image/png", "png"),
    ("image/*", "png"),
    ("image/jpeg", "jpeg"),
    ("image/jpg", "jpeg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("application/pdf", "pdf"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("application/msword", "doc"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
];

/// How many of them, the first, are images.
const IMAGES: usize = 6;

/// Types of texts beside `text/*`.
const TEXTS: [&str; 4] =
    ["application/json", "application/xml", "application/yaml", "application/x-ndjson"];

impl Attachment<'_> {
    pub(crate) fn is_image(&self) -> bool {
        self.mime.starts_with("image/")
    }

    /// The extension of its type, as Bedrock names it; `None` if it is another type.
    pub(crate) fn format(&self) -> Option<&'static str> {
        let known = FORMATS.iter().find(|(mime, _)| *mime == self.mime);
        known.map(|(_, format)| *format).or_else(|| self.is_text().then_some("txt"))
    }

    /// Whether its type is that of a text, such as `text/csv` or JSON.
    pub(crate) fn is_text(&self) -> bool {
        self.mime.starts_with("text/") || TEXTS.contains(&self.mime.as_str())
    }

    /// What a text says that is given as base64.
    pub(crate) fn text(&self) -> Option<String> {
        let is = self.is_text() && !self.is_url;
        String::from_utf8(is.then(|| base64(&self.data))??).ok()
    }
}

/// Whether documents of Bedrock have this format.
pub(crate) fn is_format(format: &str) -> bool {
    format == "txt" || FORMATS.iter().skip(IMAGES).any(|(_, known)| *known == format)
}

/// The name of a document as Bedrock takes it: 200 of `[a-zA-Z0-9()[\]-]` and of spaces, which are
/// single. It takes `_` too, which its documentation does not name, and no other space (github:
/// vercel/ai#20366 of 2026-09-04, aws-samples/generative-ai-use-cases#1671 of 2026-08-21).
pub(crate) fn document_name(name: &str) -> String {
    let mut spaced = false;
    let fitting = name.chars().take(200).map(|c| {
        let space = c == ' ';
        let single = space && !spaced;
        spaced = space;
        let fits = single || c.is_ascii_alphanumeric() || matches!(c, '(' | ')' | '[' | ']' | '_');
        if fits { c } else { '-' }
    });
    let made: String = fitting.collect();
    if made.is_empty() { "file".to_owned() } else { made }
}

/// Joins the texts.
pub(crate) fn joined<'a>(parts: &[Out<'a>], between: &str) -> Json<'a> {
    if let [Out::Text { text, .. }] = parts {
        return text.clone();
    }
    let mut all = Joined::default();
    for part in parts {
        if let Out::Text { text, .. } = part {
            if !all.is_empty() {
                all.text(between);
            }
            all.value(text);
        }
    }
    all.into_json()
}
