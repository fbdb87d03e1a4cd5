//! The blocks of a content list, by their type.

use super::super::model::{Call, Content, Part, Piece, Text};
use super::ending::{Ending, flag};
use super::media::media;
use super::{Fields, call, reasoning, untyped};
use crate::json::Json;
use crate::provider::{Marks, Reasoning};

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
        // Only LangChain has texts among blocks.
        text if text.is_text() => {
            marks.add(Marks::LANGCHAIN);
            return Some(Block::Part(Part::Text(Text::new(text))));
        }
        value => value,
    };
    let mut fields = Fields::of(value)?;
    let Some(kind) = fields.text("type") else { return Some(untyped::block(fields, index, marks)) };
    if kind == "text"
        && let Some(text) = elsewhere(&fields)
    {
        marks.add(Marks::EVENT);
        return Some(Block::Part(Part::Text(Text::new(text))));
    }
    Some(match kind.as_ref() {
        "text" | "input_text" | "output_text" if fields.has_text("text") => {
            marks.add(if kind == "text" { Marks::TYPED } else { Marks::RESPONSES });
            Block::Part(Part::Text(text(fields)))
        }
        "tool_use" => tool_use(fields, index, marks),
        "tool_result" => tool_result(fields, index, marks),
        "tool-call" | "toolCall" => {
            marks.add(Marks::AI_SDK);
            call_with_result(fields, index)
        }
        "tool_call" => {
            marks.add(Marks::LANGCHAIN);
            call_with_result(fields, index)
        }
        "tool_call_chunk" | "invalid_tool_call" | "function_call" => {
            marks.add(Marks::LANGCHAIN);
            langchain_call(fields, &kind, index)
        }
        "tool-result" => {
            marks.add(Marks::AI_SDK);
            ui_result(fields, index)
        }
        "thinking" | "redacted_thinking" => {
            Block::Part(Part::Reasoning(reasoning::thinking(fields, &kind, marks)))
        }
        "reasoning" => {
            marks.add(Marks::AI_SDK);
            Block::Part(Part::Reasoning(reasoning::provider_reasoning(&mut fields)))
        }
        "reasoning-file" => {
            marks.add(Marks::AI_SDK);
            Block::Part(Part::Reasoning(Reasoning::unknown()))
        }
        "step-start" | "source" | "source-url" | "source-document" => {
            marks.add(Marks::AI_SDK);
            Block::Nothing
        }
        "tool-approval-request" | "tool-approval-response" => {
            marks.add(Marks::AI_SDK);
            approval(&fields, index).map_or(Block::Nothing, |piece| Block::Result(Box::new(piece)))
        }
        "refusal" if !fields.has_text("refusal") => Block::Nothing,
        // LangChain: a block of the provider's own that has no standard form.
        "non_standard" if fields.get("value").is_some_and(|value| value.kind().is_some()) => {
            marks.add(Marks::LANGCHAIN);
            return block(fields.take("value")?, index, marks);
        }
        _ => {
            let own = wires(&kind, &fields, *marks);
            marks.add(own);
            native(fields.into_json(), own)
        }
    })
}

/// A block that is kept as it is: media, or another block of these wire formats.
pub(super) fn native(block: Json<'_>, marks: Marks) -> Block<'_> {
    Block::Part(match media(&block) {
        Some(_) => Part::Media { marks, block },
        None => Part::Native { marks, block },
    })
}

/// A result of Anthropic's form, or of MCP's, which names the call in another way.
fn tool_result<'a>(mut fields: Fields<'a>, index: usize, marks: &mut Marks) -> Block<'a> {
    let is_other = fields.has("toolUseId") || fields.has("tool_call_id");
    let own = if is_other { Marks::ANTHROPIC.and(Marks::EVENT) } else { Marks::ANTHROPIC };
    marks.add(own);
    let ids = ["tool_use_id", "tool_call_id", "toolUseId"];
    let id = fields.take_any_text(&ids).unwrap_or_default();
    let ending = Ending::read(&fields).taken(&mut fields);
    let mut inner = Marks::NONE;
    let (value, ending) = call::ended(fields.take("content"), &mut fields, ending);
    let content = (call::block_content(value, &mut inner), ending);
    fields.forget(&["type"]);
    let origin = (own, fields.rest());
    answered(call::answer((id, "".into()), content, origin, index), inner)
}

/// A call of the AI SDK or of LangChain. assistant-ui keeps the result in the call.
fn call_with_result<'a>(mut fields: Fields<'a>, index: usize) -> Block<'a> {
    let state = fields.text("state").unwrap_or_default();
    let denied = call::denial(&fields, &state);
    let ending = Ending::take(&mut fields).or(Ending::failure_if(denied.is_some()));
    // Without a result, an error is of the arguments.
    let given = fields.take_any(&["result", "output"]);
    let (result, ending) = match given.or(denied) {
        Some(result) => call::ended(Some(result), &mut fields, ending),
        None => (None, ending),
    };
    let Some(mut call) = call::call(fields.into_json(), index, &mut Marks::default()) else {
        return Block::Nothing;
    };
    call.result = result.map(|value| {
        let content = call::content(Some(value), &mut Marks::default());
        call::result(content, ending, index)
    });
    Block::Part(Part::call(call))
}

/// LangChain: pieces of a stream, a call that cannot be read, an item of Responses.
fn langchain_call<'a>(mut fields: Fields<'a>, kind: &str, index: usize) -> Block<'a> {
    if kind == "function_call" {
        fields.forget(&["id", "status"]);
    }
    match call::call(fields.into_json(), index, &mut Marks::default()) {
        None => Block::Nothing,
        Some(mut call) => {
            call.extra.clear();
            Block::Part(Part::call(call))
        }
    }
}

/// The wire formats that have a block of this type.
fn wires(kind: &str, fields: &Fields<'_>, beside: Marks) -> Marks {
    match kind {
        "refusal" | "input_audio" if beside.meets(Marks::RESPONSES) => Marks::RESPONSES,
        // AG-UI, since its version 1 and before.
        _ if fields.get("source").is_some_and(|source| source.get("value").is_some()) => {
            Marks::EVENT
        }
        // LangChain's own blocks, before and since its version 1.
        "image" | "file" | "audio" | "video"
            if fields.has("base64") || fields.has("source_type") =>
        {
            Marks::LANGCHAIN
        }
        "server_tool_call" | "server_tool_call_chunk" | "server_tool_result" => Marks::LANGCHAIN,
        "image_url" | "input_audio" | "refusal" | "video_url" | "file_url" => Marks::CHAT,
        "file" if fields.has("file") => Marks::CHAT,
        "image" | "file" | "custom" if fields.has("mediaType") || fields.has("mimeType") => {
            Marks::AI_SDK
        }
        "image" | "document" if fields.has("source") => Marks::ANTHROPIC,
        "input_image" if fields.has("image_url") && !fields.has_text("image_url") => Marks::CHAT,
        "image" | "image-data" | "image-url" | "file-data" | "file-url" | "media" => Marks::AI_SDK,
        "input_image" | "input_file" => Marks::RESPONSES,
        // Cohere's documents, and the chunks of Mistral and of LangChain's providers.
        "document" | "reference" | "document_url" => Marks::CHAT,
        // https://docs.anthropic.com/en/api/messages
        "search_result" | "container_upload" | "compaction" | "fallback" | "tool_addition"
        | "tool_removal" | "tool_reference" => Marks::ANTHROPIC,
        _ if kind.ends_with("_tool_use") || kind.ends_with("_tool_result") => Marks::ANTHROPIC,
        // A host's own: no wire has it.
        _ => Marks::EVENT,
    }
}

/// The text of a text block that does not have it as `text`: TanStack AI's `content`, and the
/// `{ value }` of OpenAI's threads.
fn elsewhere<'a>(fields: &Fields<'a>) -> Option<Json<'a>> {
    let given = match fields.get("text") {
        Some(text) => text.get("value"),
        None => fields.get("content"),
    };
    given.filter(|text| text.is_text()).cloned()
}

pub(super) fn text(mut fields: Fields<'_>) -> Text<'_> {
    let text = fields.take("text").unwrap_or_default();
    // Members of the AI SDK and of LangChain that no provider needs.
    fields.forget(&["type", "id", "state", "providerOptions", "providerMetadata", "tool_plan"]);
    Text { text, extra: fields.rest() }
}

fn tool_use<'a>(mut fields: Fields<'a>, index: usize, marks: &mut Marks) -> Block<'a> {
    let own = call::are_in(&fields, "input");
    marks.add(if own { Marks::ANTHROPIC } else { Marks::ANTHROPIC.and(Marks::LANGCHAIN) });
    fields.forget(&["type"]);
    let id = fields.take_text("id").unwrap_or_default();
    let name = fields.take_text("name").unwrap_or_default();
    // LangChain streams put the text of the arguments here, or beside it.
    let args = call::arguments(&mut fields);
    let call = call::made(id, name, call::args_of(args.value), fields.rest(), index);
    Block::Part(Part::call(Call { conflict: args.conflict, ..call }))
}

/// A result of the AI SDK's or of TanStack AI's form.
fn ui_result<'a>(mut fields: Fields<'a>, index: usize) -> Block<'a> {
    // TanStack AI: `{ content, state: "streaming" | "complete" | "error", error? }`.
    if fields.is("state", "streaming") {
        return Block::Nothing;
    }
    let ending = Ending::take(&mut fields);
    let id = fields.take_text("toolCallId").unwrap_or_default();
    let name = fields.take_text("toolName").unwrap_or_default();
    let mut inner = Marks::NONE;
    let (content, ending) = match fields.take("output") {
        Some(output) => {
            let (content, ended) = call::output(output, &mut inner);
            (content, call::ended(None, &mut fields, ending.or(ended)).1)
        }
        None => {
            let value = fields.take_any(&["result", "content"]);
            let (value, ending) = call::ended(value, &mut fields, ending);
            (call::content(value, &mut inner), ending)
        }
    };
    let origin = (Marks::NONE, Vec::new());
    answered(call::answer((id, name), (content, ending), origin, index), Marks::NONE)
}

/// A question whether a call may run, or the answer that it may not.
pub(super) fn approval<'a>(fields: &Fields<'a>, index: usize) -> Option<Piece<'a>> {
    let approval = fields.text("approvalId")?;
    if let Some(call) = fields.text("toolCallId") {
        return Some(Piece::Asked { approval, call });
    }
    let denied = fields.get("approved").and_then(flag) == Some(false);
    denied.then(|| {
        let content = Content::Text(call::denied(fields.get("reason")));
        let result = call::result(content, Ending::Failure, index);
        Piece::Denied { approval, result }
    })
}

pub(super) fn answered(mut piece: Piece<'_>, inner: Marks) -> Block<'_> {
    if let Piece::Result { result, .. } = &mut piece {
        result.inner = inner;
    }
    Block::Result(Box::new(piece))
}
