//! The blocks of a content list, by their type.

use super::super::model::{Call, Part, Piece, Text};
use super::ending::Ending;
use super::event::ANOTHER;
use super::media::media;
use super::{Fields, call};
use crate::json::{Json, members};
use crate::provider::{Marks, Members, Reasoning};

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
    let Some(kind) = fields.text("type") else { return Some(untyped(fields, index, marks)) };
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
        "tool_use" => {
            let own = call::are_in(&fields, "input");
            marks.add(if own { Marks::ANTHROPIC } else { Marks::ANTHROPIC.and(Marks::LANGCHAIN) });
            Block::Part(tool_use(fields, index))
        }
        "tool_result" => {
            // MCP names the call in another way.
            let mcp = fields.has("toolUseId");
            let other = mcp || fields.has("tool_call_id");
            let own = if other { Marks::ANTHROPIC.and(Marks::EVENT) } else { Marks::ANTHROPIC };
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
        "tool-call" | "tool_call" | "toolCall" => {
            // assistant-ui keeps the result in the call.
            let ending = Ending::take(&mut fields);
            let result = fields.take_any(&["result", "output"]);
            // Without a result, an error is of the arguments.
            let (result, ending) = match result {
                Some(result) => call::ended(Some(result), &mut fields, ending),
                None => (None, ending),
            };
            let one = call::call(fields.into_json(), index, &mut Marks::default());
            marks.add(if kind == "tool_call" { Marks::LANGCHAIN } else { Marks::AI_SDK });
            one.map_or(Block::Nothing, |mut one| {
                one.result = result.map(|value| {
                    let content = call::content(Some(value), &mut Marks::default());
                    call::result(content, ending, index)
                });
                Block::Part(Part::call(one))
            })
        }
        // LangChain: pieces of a stream, a call that cannot be read, an item of Responses.
        "tool_call_chunk" | "invalid_tool_call" | "function_call" => {
            marks.add(Marks::LANGCHAIN);
            let mut fields = fields;
            if kind == "function_call" {
                fields.forget(&["id", "status"]);
            }
            let call = call::call(fields.into_json(), index, &mut Marks::default());
            call.map_or(Block::Nothing, |mut call| {
                call.extra.clear();
                Block::Part(Part::call(call))
            })
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
        "reasoning-file" => {
            marks.add(Marks::AI_SDK);
            Block::Part(Part::Reasoning(Reasoning::Plain))
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
        "refusal" if !fields.has_text("refusal") => Block::Nothing,
        // LangChain: a block of the provider's own that has no standard form.
        "non_standard" if fields.get("value").is_some_and(|value| value.kind().is_some()) => {
            marks.add(Marks::LANGCHAIN);
            return block(fields.take("value")?, index, marks);
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
        "image_url" | "input_audio" | "refusal" | "video_url" => Marks::CHAT,
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

/// Parses a block without a type: Gemini's and Bedrock's blocks are identified by their only key.
fn untyped<'a>(mut fields: Fields<'a>, index: usize, marks: &mut Marks) -> Block<'a> {
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
        fields.take("toolUse");
        let extra = call.with(fields).rest();
        return Block::Part(Part::call(call::made(id, name, args, extra, index)));
    }
    if let Some(mut given) = fields.get("toolResult").cloned().and_then(Fields::of) {
        let id = given.take_text("toolUseId").unwrap_or_default();
        let ending = Ending::read(&given).taken(&mut given);
        let mut own = Marks::BEDROCK;
        if given.has_text("content") {
            // It takes a list.
            own.add(Marks::EVENT);
        }
        let mut inner = Marks::NONE;
        let (value, ending) = call::ended(given.take("content"), &mut given, ending);
        let content = call::block_content(value, &mut inner);
        // A type is one of the result itself, of a tool that Bedrock ran.
        fields.forget(&["toolResult", "type"]);
        let origin = (own, given.with(fields).rest());
        return answered(call::answer((id, "".into()), (content, ending), origin, index), inner);
    }
    if let Some(mut given) = fields.get("reasoningContent").cloned().and_then(Fields::of) {
        let text = given
            .take("reasoningText")
            .and_then(Fields::of)
            .map(|mut inner| signed(inner.take("text"), inner.take("signature"), Vec::new()));
        let redacted = || given.take("redactedContent").map(redacted);
        return Block::Part(Part::Reasoning(text.or_else(redacted).unwrap_or(Reasoning::Plain)));
    }
    let gemini = ["inlineData", "inline_data", "fileData", "file_data"];
    let theirs = gemini.iter().any(|key| fields.has(key));
    let another = ANOTHER.iter().any(|key| fields.has(key));
    if !another {
        fields.forget(&["type"]);
    }
    let block = fields.into_json();
    let own = match block.members().count() {
        // Its type is no text, or it is two parts in one.
        _ if another => Marks::EVENT,
        _ if theirs => Marks::GEMINI,
        // Its blocks are a union, of which the API takes one member.
        1 => Marks::BEDROCK,
        _ => Marks::EVENT,
    };
    marks.add(own);
    Block::Part(match media(&block) {
        Some(_) => Part::Media { marks: own, block },
        None => Part::Native { marks: own, block },
    })
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

fn text(mut fields: Fields<'_>) -> Text<'_> {
    let text = fields.take("text").unwrap_or_default();
    // Members of the AI SDK and of LangChain that no provider needs.
    fields.forget(&["type", "id", "state", "providerOptions", "providerMetadata", "tool_plan"]);
    Text { text, extra: fields.rest() }
}

fn tool_use<'a>(mut fields: Fields<'a>, index: usize) -> Part<'a> {
    fields.forget(&["type"]);
    let id = fields.take_text("id").unwrap_or_default();
    let name = fields.take_text("name").unwrap_or_default();
    // LangChain streams put the text of the arguments here, or beside it.
    let args = call::arguments(&mut fields);
    let call = call::made(id, name, call::args_of(args.value), fields.rest(), index);
    Part::call(Call { conflict: args.conflict, ..call })
}

fn tool_result<'a>(mut fields: Fields<'a>, index: usize) -> Block<'a> {
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

fn answered(mut piece: Piece<'_>, inner: Marks) -> Block<'_> {
    if let Piece::Result { result, .. } = &mut piece {
        result.inner = inner;
    }
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
