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

impl Attachment<'_> {
    pub(crate) fn is_image(&self) -> bool {
        self.mime.starts_with("image/")
    }

    /// The extension of its type, as Bedrock names it; `None` if it is another type.
    pub(crate) fn format(&self) -> Option<&'static str> {
        let known = FORMATS.iter().find(|(mime, _)| *mime == self.mime);
        known.map(|(_, format)| *format).or_else(|| self.mime.starts_with("text/").then_some("txt"))
    }

    /// What a text says that is given as base64.
    pub(crate) fn text(&self) -> Option<String> {
        let is = self.mime.starts_with("text/") && !self.is_url;
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
