//! The blocks of a content list, by their type.

use std::borrow::Cow;

use super::super::model::{Content, Part, Piece, Text};
use super::{Fields, call};
use crate::json::{Json, members};
use crate::provider::{Attachment, Marks, Members, Reasoning};
use crate::text::{find, holds};

/// What stands between the type and the data of a data URL.
const BASE64: &str = ";base64,";

/// The type of a document whose type is not told.
const PDF: &str = "application/pdf";

/// A parsed block of a content list.
pub(super) enum Block<'a> {
    Part(Part<'a>),
    Result(Box<Piece<'a>>),
    /// The block has no meaning for a provider.
    Nothing,
}

/// Parses a block; `None` if it is a result or has no meaning for a provider.
pub(super) fn part<'a>(value: Json<'a>, marks: &mut Marks) -> Option<Part<'a>> {
    match block(value, 0, marks)? {
        Block::Part(part) => Some(part),
        Block::Result(_) | Block::Nothing => None,
    }
}

/// Parses a block; `None` if it is neither an object nor a text.
pub(super) fn block<'a>(value: Json<'a>, index: usize, marks: &mut Marks) -> Option<Block<'a>> {
    let value = match value {
        text if text.is_text() => return Some(Block::Part(Part::Text(Text::new(text)))),
        value => value,
    };
    let mut fields = Fields::of(value)?;
    let Some(kind) = fields.text("type") else { return Some(untyped(fields, index, marks)) };
    Some(match kind.as_ref() {
        "text" | "input_text" | "output_text" if fields.has_text("text") => {
            marks.add(if kind == "text" { Marks::TYPED } else { Marks::RESPONSES });
            Block::Part(Part::Text(text(fields)))
        }
        "tool_use" => {
            marks.add(Marks::ANTHROPIC);
            Block::Part(tool_use(fields, index))
        }
        "tool_result" => {
            marks.add(Marks::ANTHROPIC);
            let id = fields.take_any_text(&["tool_use_id", "tool_call_id"]).unwrap_or_default();
            let error = fields.get("is_error").and_then(Json::as_bool) == Some(true);
            if error {
                fields.take("is_error");
            }
            let mut inner = Marks::NONE;
            let content = call::block_content(fields.take("content"), &mut inner);
            fields.forget(&["type"]);
            let origin = (Marks::ANTHROPIC, fields.rest());
            answered(call::answer((id, "".into()), (content, error), origin, index))
        }
        "tool-call" | "tool_call" | "toolCall" => {
            let one = call::call(fields.into_json(), index, &mut Marks::default());
            marks.add(if kind == "tool_call" { Marks::LANGCHAIN } else { Marks::AI_SDK });
            one.map_or(Block::Nothing, |one| Block::Part(Part::call(one)))
        }
        "tool-result" => {
            marks.add(Marks::AI_SDK);
            tool_result(fields, index)
        }
        "thinking" | "redacted_thinking" => {
            let chunks = matches!(fields.get("thinking"), Some(Json::Array(_)));
            if kind == "thinking" && fields.len() == 2 && fields.has_text("thinking") {
                // Only an unsigned text: Cohere's form.
                marks.add(Marks::COHERE);
                let (marks, block) = (Marks::COHERE, fields.into_json());
                return Some(Block::Part(Part::Reasoning(Reasoning::Native { marks, block })));
            }
            marks.add(if chunks { Marks::CHAT } else { Marks::ANTHROPIC });
            Block::Part(Part::Reasoning(thinking(fields, &kind)))
        }
        "reasoning" => {
            marks.add(Marks::AI_SDK);
            Block::Part(Part::Reasoning(provider_reasoning(&mut fields)))
        }
        "step-start"
        | "source"
        | "source-url"
        | "source-document"
        | "tool-approval-request"
        | "tool-approval-response" => {
            marks.add(Marks::AI_SDK);
            Block::Nothing
        }
        _ => {
            let mine = wires(&kind, &fields, *marks);
            marks.add(mine);
            let block = fields.into_json();
            Block::Part(match media(&block) {
                Some(_) => Part::Media { marks: mine, block },
                None => Part::Native { marks: mine, block },
            })
        }
    })
}

/// The wire formats that have a block of this type.
fn wires(kind: &str, fields: &Fields<'_>, beside: Marks) -> Marks {
    match kind {
        "refusal" | "input_audio" if beside.meets(Marks::RESPONSES) => Marks::RESPONSES,
        // LangChain's own blocks, before and since its version 1.
        "image" | "file" | "audio" | "video"
            if fields.has("base64") || fields.has("source_type") =>
        {
            Marks::LANGCHAIN
        }
        "image_url" | "input_audio" | "refusal" | "video_url" => Marks::CHAT,
        "file" if fields.has("file") => Marks::CHAT,
        "image" | "file" | "custom" if fields.has("mediaType") || fields.has("mimeType") => {
            Marks::AI_SDK
        }
        "image" | "document" if fields.has("source") => Marks::ANTHROPIC,
        "image" | "image-data" | "image-url" | "file-data" | "file-url" | "media" => Marks::AI_SDK,
        "input_image" | "input_file" => Marks::RESPONSES,
        // Cohere's documents, and the chunks of Mistral and of LangChain's providers.
        "document" | "reference" | "document_url" => Marks::CHAT,
        _ => Marks::ANTHROPIC,
    }
}

/// Parses a block without a type: Gemini's and Bedrock's blocks are identified by their only key.
fn untyped<'a>(fields: Fields<'a>, index: usize, marks: &mut Marks) -> Block<'a> {
    if fields.has_text("text") {
        marks.add(Marks::BEDROCK);
        return Block::Part(Part::Text(text(fields)));
    }
    marks.add(Marks::BEDROCK);
    let own = ["toolUse", "toolResult"].iter().filter_map(|key| fields.get(key)?.get("type"));
    if own.into_iter().next().is_some() {
        // Bedrock ran these tools itself, and their results are beside them.
        return Block::Part(Part::Native { marks: Marks::BEDROCK, block: fields.into_json() });
    }
    if let Some(mut call) = fields.get("toolUse").cloned().and_then(Fields::of) {
        let id = call.take_text("toolUseId").unwrap_or_default();
        let name = call.take_text("name").unwrap_or_default();
        let args = call::args_of(call.take("input"));
        return Block::Part(Part::call(call::made(id, name, args, call.rest(), index)));
    }
    if let Some(mut given) = fields.get("toolResult").cloned().and_then(Fields::of) {
        let id = given.take_text("toolUseId").unwrap_or_default();
        let error = given.text("status").as_deref() == Some("error");
        if error {
            given.take("status");
        }
        let content = call::block_content(given.take("content"), &mut Marks::default());
        let origin = (Marks::BEDROCK, given.rest());
        return answered(call::answer((id, "".into()), (content, error), origin, index));
    }
    if let Some(mut given) = fields.get("reasoningContent").cloned().and_then(Fields::of) {
        let text = given
            .take("reasoningText")
            .and_then(Fields::of)
            .map(|mut inner| signed(inner.take("text"), inner.take("signature"), Vec::new()));
        let redacted = || given.take("redactedContent").map(redacted);
        return Block::Part(Part::Reasoning(text.or_else(redacted).unwrap_or(Reasoning::Plain)));
    }
    let block = fields.into_json();
    Block::Part(match media(&block) {
        Some(_) => Part::Media { marks: Marks::BEDROCK, block },
        None => Part::Native { marks: Marks::BEDROCK, block },
    })
}

fn text(mut fields: Fields<'_>) -> Text<'_> {
    let text = fields.take("text").unwrap_or_default();
    // Members of the AI SDK and of LangChain that no provider needs.
    fields.forget(&["type", "index", "id", "state", "providerOptions", "providerMetadata"]);
    Text { text, extra: fields.rest() }
}

fn tool_use<'a>(mut fields: Fields<'a>, index: usize) -> Part<'a> {
    fields.forget(&["type", "index"]);
    let id = fields.take_text("id").unwrap_or_default();
    let name = fields.take_text("name").unwrap_or_default();
    // LangChain streams put the text of the arguments here.
    let args = call::args_of(fields.take("input"));
    Part::call(call::made(id, name, args, fields.rest(), index))
}

fn tool_result<'a>(mut fields: Fields<'a>, index: usize) -> Block<'a> {
    let id = fields.take_text("toolCallId").unwrap_or_default();
    let name = fields.take_text("toolName").unwrap_or_default();
    let flagged = fields.take("isError").as_ref().and_then(Json::as_bool).unwrap_or(false);
    let mut inner = Marks::NONE;
    let (content, error) = match fields.take("output") {
        Some(output) => call::output(output, &mut inner),
        None => (call::content(fields.take("result"), &mut inner), false),
    };
    let origin = (Marks::NONE, Vec::new());
    answered(call::answer((id, name), (content, error || flagged), origin, index))
}

fn answered(piece: Piece<'_>) -> Block<'_> {
    Block::Result(Box::new(piece))
}

fn thinking<'a>(mut fields: Fields<'a>, kind: &str) -> Reasoning<'a> {
    if kind == "redacted_thinking" {
        return fields.take("data").map_or(Reasoning::Plain, redacted);
    }
    match fields.take("thinking") {
        // Mistral's chunk holds a list of texts.
        Some(chunks @ Json::Array(_)) => {
            let mut block = members! { "type": "thinking", "thinking": chunks };
            block.extend(fields.take("closed").map(|closed| ("closed".into(), closed)));
            Reasoning::Native { marks: Marks::CHAT, block: Json::Object(block) }
        }
        text => {
            let signature = fields.take("signature");
            fields.forget(&["type", "index"]);
            signed(text, signature, fields.rest())
        }
    }
}

/// Thinking with a signature. Without one it becomes `Plain`: no provider accepts it back.
fn signed<'a>(
    text: Option<Json<'a>>,
    signature: Option<Json<'a>>,
    extra: Members<'a>,
) -> Reasoning<'a> {
    let text = text.unwrap_or_else(|| Json::string(""));
    match signature {
        Some(signature) if !signature.is_blank() && text.is_text() => {
            Reasoning::Signed { text, signature, extra }
        }
        _ => Reasoning::Plain,
    }
}

fn redacted(data: Json<'_>) -> Reasoning<'_> {
    if data.is_blank() { Reasoning::Plain } else { Reasoning::Redacted(data) }
}

/// Reads the provider's data that the AI SDK stores beside the text:
/// `providerMetadata.anthropic.signature`.
pub(super) fn provider_reasoning<'a>(fields: &mut Fields<'a>) -> Reasoning<'a> {
    let text = fields.take_any(&["text", "reasoning"]).unwrap_or_else(|| Json::string(""));
    let own = fields.take_any(&["providerMetadata", "providerOptions"]).and_then(Fields::of);
    let anthropic = own.and_then(|mut own| {
        let found = own.take("anthropic").or_else(|| own.take("bedrock"));
        Fields::of(found?)
    });
    let Some(mut anthropic) = anthropic else { return Reasoning::Plain };
    if anthropic.has("signature") {
        return signed(Some(text), anthropic.take("signature"), Vec::new());
    }
    anthropic.take("redactedData").map_or(Reasoning::Plain, redacted)
}

/// The image or file in a block, if other wire formats can represent it.
pub(in crate::message) fn media<'a>(block: &Json<'a>) -> Option<Attachment<'a>> {
    let text = |value: &Json<'a>, key: &str| match value.get(key) {
        Some(Json::String(text)) => Some(text.clone()),
        _ => None,
    };
    let mime = |value: &Json<'a>| {
        ["mediaType", "mimeType", "media_type", "mime_type"].iter().find_map(|key| text(value, key))
    };
    let made = |data: Cow<'a, str>, mime: Option<Cow<'a, str>>, fallback: &str| {
        let name = text(block, "filename").or_else(|| text(block, "name"));
        let mime = mime.map_or_else(|| fallback.to_owned(), Cow::into_owned);
        Some(located(data, mime, name))
    };
    match block.get("type").and_then(Json::as_str) {
        Some("image_url") => match block.get("image_url")? {
            Json::String(url) => made(url.clone(), None, "image/*"),
            nested => made(text(nested, "url")?, None, "image/*"),
        },
        Some("input_image") => made(text(block, "image_url")?, None, "image/*"),
        Some("image" | "document")
            if block.get("source").is_some_and(|s| s.as_object().is_some()) =>
        {
            let source = block.get("source")?;
            let fallback =
                if block.get("type")?.as_str() == Some("image") { "image/*" } else { PDF };
            match text(source, "type").as_deref() {
                Some("base64" | "url") => made(
                    text(source, "data").or_else(|| text(source, "url"))?,
                    mime(source),
                    fallback,
                ),
                _ => None,
            }
        }
        Some("image") => made(
            ["image", "url", "data", "base64"].iter().find_map(|key| text(block, key))?,
            mime(block),
            "image/*",
        ),
        Some("file" | "file-data" | "file-url" | "image-data" | "image-url" | "media") => {
            match block.get("file") {
                Some(file) => made(text(file, "file_data")?, None, PDF)
                    .map(|found| Attachment { name: text(file, "filename"), ..found }),
                None => made(
                    ["url", "data", "base64"].iter().find_map(|key| text(block, key))?,
                    mime(block),
                    "",
                ),
            }
        }
        Some("input_file") => {
            made(text(block, "file_data").or_else(|| text(block, "file_url"))?, None, PDF)
        }
        Some("input_audio") => {
            let sound = block.get("input_audio")?;
            let format = text(sound, "format").unwrap_or(Cow::Borrowed("wav"));
            made(text(sound, "data")?, Some(["audio/", &format].concat().into()), "")
        }
        Some(_) => None,
        None => {
            if let Some(inline) = block.get("inlineData").or_else(|| block.get("inline_data")) {
                return made(text(inline, "data")?, mime(inline), "");
            }
            if let Some(file) = block.get("fileData").or_else(|| block.get("file_data")) {
                let url = text(file, "fileUri").or_else(|| text(file, "file_uri"))?;
                return made(url, mime(file), "").map(|found| Attachment { is_url: true, ..found });
            }
            let image = block.get("image")?;
            let format = text(image, "format")?;
            made(text(image.get("source")?, "bytes")?, None, &format!("image/{format}"))
        }
    }
}

fn located<'a>(data: Cow<'a, str>, mime: String, name: Option<Cow<'a, str>>) -> Attachment<'a> {
    let split = data.strip_prefix("data:").and_then(|rest| {
        let at = find(rest, BASE64)?;
        Some((rest.get(..at)?, rest.get(at + BASE64.len()..)?))
    });
    if let Some((inner, payload)) = split {
        let mime = if inner.is_empty() { mime } else { inner.to_owned() };
        return Attachment { mime, data: Cow::Owned(payload.to_owned()), is_url: false, name };
    }
    let is_url = holds(&data, "://");
    Attachment { mime, data, is_url, name }
}

/// The parts and results of a content, in order, and whether the content is a list.
pub(super) fn content<'a>(
    value: Option<Json<'a>>,
    index: usize,
    marks: &mut Marks,
) -> Option<(Vec<Part<'a>>, Vec<Piece<'a>>, bool)> {
    match value {
        None => Some((Vec::new(), Vec::new(), false)),
        Some(text) if text.is_text() => {
            Some((vec![Part::Text(Text::new(text))], Vec::new(), false))
        }
        Some(Json::Array(items)) => {
            let mut parts = Vec::with_capacity(items.len());
            let mut results = Vec::new();
            for item in items {
                match block(item, index, marks)? {
                    Block::Part(part) => parts.push(part),
                    Block::Result(mut piece) => {
                        if let Piece::Result { result, .. } = piece.as_mut() {
                            result.behind = !parts.is_empty();
                        }
                        results.push(*piece);
                    }
                    Block::Nothing => {}
                }
            }
            Some((parts, results, true))
        }
        Some(_) => None,
    }
}

/// Whether a content is an empty text.
pub(super) fn nothing(content: &Content<'_>) -> bool {
    matches!(content, Content::Text(Json::String(text)) if text.is_empty())
}
