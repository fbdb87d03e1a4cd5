//! Calls in every known form.

use std::borrow::Cow;

use super::super::args;
use super::super::model::{Args, Call, Content, Part, Piece, ToolResult};
use super::ending::{Ending, flag, is_mcp_failure};
use super::{Fields, block, media};
use crate::json::{Joined, Json, object};
use crate::provider::{Marks, Members};

/// Parses a call: `{ id, function: { name, arguments } }`, `{ toolCallId, toolName, args }`,
/// `{ id, name, args }`, `{ id, name, input }` and mixed forms.
pub(super) fn call<'a>(value: Json<'a>, index: usize, marks: &mut Marks) -> Option<Call<'a>> {
    let mut fields = Fields::of(value)?;
    let (typed, own_type) = (fields.has("type"), fields.is("type", "function"));
    fields.forget(&["type", "index", "error", "state"]);
    let camel = fields.has("toolCallId") || fields.has("toolName");
    let own_id = fields.has_text("id");
    let id = fields.take_any_text(&["toolCallId", "tool_call_id", "toolUseId", "call_id", "id"]);
    let custom = fields.get("custom").cloned().and_then(Fields::of);
    if let Some(mut custom) = custom {
        // OpenAI's custom tools take a text; for other providers it becomes the argument `input`.
        marks.add(Marks::CHAT);
        let input = custom.take("input").unwrap_or_else(|| Json::string(""));
        let args = Args::Value(object! { "input": input });
        let (id, name) = (id.unwrap_or_default(), custom.take_text("name").unwrap_or_default());
        if name.is_empty() {
            // It gets a name as a function.
            fields.take("custom");
        }
        return Some(made(id, name, args, fields.rest(), index));
    }
    if fields.take("custom").is_some() {
        marks.add(Marks::EVENT);
    }
    let function = fields.take("function").and_then(Fields::of);
    let nested = function.is_some();
    let mut inner = function.unwrap_or_else(|| fields.clone());
    // Ollama's own responses have it.
    inner.forget(&["index"]);
    let (own_name, own_args) = (inner.has_text("name"), are_in(&inner, "arguments"));
    let name = inner.take_any_text(&["toolName", "toolCallName", "name", "tool"]);
    let mut args = arguments(&mut inner);
    if nested && ARGUMENTS.iter().any(|key| fields.has(key)) {
        // Beside the function in place of in it, or as well.
        let beside = arguments(&mut fields.clone());
        if args.is_empty() && !beside.is_empty() {
            args = arguments(&mut fields);
        } else {
            args.conflict |= args.differs(&beside);
        }
    }
    let Arguments { value: args, conflict } = args;
    marks.add(match (nested, camel) {
        (true, _) => Marks::CHAT,
        (_, true) => Marks::CAMEL,
        _ => Marks::LANGCHAIN,
    });
    if nested {
        // Names of members, or a type, of another shape.
        let own_members = (id.is_none() || own_id) && own_name && own_args;
        if !own_members || (typed && !own_type) {
            marks.add(Marks::EVENT);
        }
        fields = fields.with(inner);
    } else {
        fields = inner;
    }
    let thought_signature =
        fields.take_any(&["thoughtSignature", "thought_signature"]).or_else(|| google(&fields));
    let extra = if camel { Vec::new() } else { fields.rest() };
    // A call that lost its name is one still, if anything says so: its result names it by its id.
    let name = name.or_else(|| (nested || id.is_some()).then_some(Cow::Borrowed("")))?;
    let call = made(id.unwrap_or_default(), name, args_of(args), extra, index);
    Some(Call { thought_signature, conflict, untyped: !typed && nested, ..call })
}

/// The members that arguments may have, the most usual first. The last three are beside
/// them: the text of LangChain and of assistant-ui, and what the AI SDK could not read.
const ARGUMENTS: [&str; 7] =
    ["arguments", "args", "input", "parameters", "partial_json", "argsText", "rawInput"];

/// The arguments of a call.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    pub(super) value: Option<Json<'a>>,
    /// Whether another member has others.
    pub(super) conflict: bool,
}

impl Arguments<'_> {
    fn is_empty(&self) -> bool {
        self.value.as_ref().is_none_or(|value| args::is_empty(&args_of(Some(value.clone()))))
    }

    fn differs(&self, other: &Self) -> bool {
        let (one, two) = (args_of(self.value.clone()), args_of(other.value.clone()));
        !self.is_empty() && !other.is_empty() && !args::same(&one, &two)
    }
}

/// Whether arguments are nowhere but in this member.
pub(super) fn are_in(fields: &Fields<'_>, key: &str) -> bool {
    ARGUMENTS.iter().all(|other| *other == key || !fields.has(other))
}

/// Takes the arguments of a call: those of the first member that has some.
pub(super) fn arguments<'a>(fields: &mut Fields<'a>) -> Arguments<'a> {
    let mut found = Arguments::default();
    for key in ARGUMENTS {
        let Some(value) = fields.take(key) else { continue };
        let next = Arguments { value: Some(value), conflict: false };
        if found.value.is_none() || found.is_empty() && !next.is_empty() {
            found = next;
        } else {
            found.conflict |= found.differs(&next);
        }
    }
    found
}

/// Reads Gemini's signature from the member that OpenAI-compatible gateways use.
fn google<'a>(fields: &Fields<'a>) -> Option<Json<'a>> {
    let mut extra = Fields::of(fields.get("extra_content")?.clone())?;
    let mut google = Fields::of(extra.take("google")?)?;
    google.take("thought_signature")
}

/// Arguments: a value, or JSON text.
pub(super) fn args_of(args: Option<Json<'_>>) -> Args<'_> {
    match args {
        Some(text) if text.is_text() => Args::Text(text),
        Some(value) => Args::Value(value),
        None => Args::Value(Json::Null),
    }
}

#[inline(never)]
pub(in crate::history) fn made<'a>(
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    args: Args<'a>,
    extra: Members<'a>,
    index: usize,
) -> Call<'a> {
    Call {
        id,
        wire_id: Cow::Borrowed(""),
        name,
        wire_name: None,
        args,
        begun: None,
        streamed: false,
        index,
        extra,
        own: false,
        untyped: false,
        misnamed: None,
        stored: false,
        conflict: false,
        repeats: None,
        thought_signature: None,
        item: None,
        result: None,
    }
}

/// The content of a result block; an empty list counts as no content.
pub(super) fn block_content<'a>(value: Option<Json<'a>>, marks: &mut Marks) -> Content<'a> {
    content(value.filter(|value| value.as_array().is_none_or(|items| !items.is_empty())), marks)
}

/// The content of a result: a text, a list of blocks, or any other value.
pub(super) fn content<'a>(value: Option<Json<'a>>, marks: &mut Marks) -> Content<'a> {
    match value {
        None => Content::Text(Json::string("")),
        Some(text) if text.is_text() => Content::Text(text),
        Some(Json::Array(items)) => {
            if items.is_empty() || !items.iter().all(is_block) {
                return Content::Value(Json::Array(items));
            }
            let parts = items.into_iter().filter_map(|item| block::part(item, marks));
            Content::Parts(parts.collect())
        }
        Some(value) => match shown(&value, marks) {
            Some(parts) => Content::Parts(parts),
            None => Content::Value(value),
        },
    }
}

/// The parts of a value that is the content of one of our tools, or a result of MCP with an image or a
/// file: as JSON text, its data would be text for the model.
fn shown<'a>(value: &Json<'a>, marks: &mut Marks) -> Option<Vec<Part<'a>>> {
    let blocks = value.get("content")?.as_array().filter(|blocks| !blocks.is_empty())?;
    let mut parts = |blocks: Vec<Json<'a>>| -> Vec<Part<'a>> {
        blocks.into_iter().filter_map(|block| block::part(block, marks)).collect()
    };
    if let Some(content) = crate::tool::Content::read(value) {
        return Some(parts(content.history()));
    }
    let rest = ["content", "isError", "structuredContent", "_meta"];
    let is_result = value.as_object()?.iter().all(|(key, _)| rest.contains(&key.as_ref()));
    if !is_result || !blocks.iter().all(is_block) || !blocks.iter().any(|one| media(one).is_some())
    {
        return None;
    }
    let structured = value.get("structuredContent").filter(|value| !value.is_null());
    let structured = structured.map(|value| {
        object! { "type": "text", "text": value.clone().into_text() }
    });
    Some(parts(structured.into_iter().chain(blocks.iter().cloned()).collect()))
}

/// Whether an element of a list is a block of a result, and not a value.
fn is_block(item: &Json<'_>) -> bool {
    let known = |key| item.get(key).is_some_and(|value| !value.is_null());
    item.kind().is_some_and(|kind| {
        ["text", "image", "image_url", "document", "file", "input_text", "input_image"]
            .contains(&kind)
            || ["input_file", "input_audio", "search_result", "tool_reference", "media"]
                .contains(&kind)
            || kind == "resource" && item.get("resource").is_some()
            || kind == "audio"
    }) || (item.as_object().is_some_and(|all| all.len() == 1)
        && ["text", "json", "image", "document", "video", "searchResult", "cachePoint"]
            .iter()
            .any(|k| known(k)))
}

/// The content of a result with an `error` beside it, and whether it failed.
#[inline(never)]
pub(super) fn told<'a>(
    value: Option<Json<'a>>,
    error: Option<Json<'a>>,
) -> (Option<Json<'a>>, bool) {
    let is_none = |error: &Json<'a>| match error.as_array() {
        Some(errors) => errors.is_empty(),
        None => error.is_text() && error.is_blank() || flag(error) == Some(false),
    };
    let error = error.filter(|error| !is_none(error));
    let failed = error.is_some();
    // A flag has no words; a number other than 1 may be a code.
    let is_code = |error: &Json<'a>| matches!(error, Json::Number(code) if code != "1");
    let error = error.filter(|error| flag(error) != Some(true) || is_code(error));
    let is_empty = |value: &Json<'a>| {
        value.as_str() == Some("") || value.as_array().is_some_and(<[_]>::is_empty)
    };
    let value = match (value, error) {
        (Some(value), Some(error)) if is_empty(&value) => Some(error),
        (Some(value), Some(error)) if value.is_text() && error.is_text() && value != error => {
            Some(Joined::lines(&value, &error))
        }
        (value, error) => value.or(error),
    };
    (value, failed)
}

/// As [`told`], with the error among these members, and how the call ended by it and by the others.
#[inline(never)]
pub(super) fn ended<'a>(
    value: Option<Json<'a>>,
    fields: &mut Fields<'a>,
    ending: Ending,
) -> (Option<Json<'a>>, Ending) {
    let (value, failed) = told(value, fields.take_any(&["error", "errorText"]));
    (value, ending.or(Ending::failure_if(failed)))
}

#[inline(never)]
pub(super) fn result<'a>(content: Content<'a>, ending: Ending, index: usize) -> ToolResult<'a> {
    ToolResult {
        error: ending.is_failure() || is_mcp_failure(&content),
        uncertain: ending == Ending::Unknown,
        content,
        index,
        extra: Vec::new(),
        name: Cow::Borrowed(""),
        marks: Marks::NONE,
        inner: Marks::NONE,
        camel: false,
        id_member: None,
        null: false,
        hollow: false,
        behind: false,
        item: None,
        kept: None,
        revises: None,
        implied: false,
    }
}

/// A result that is an element or a block of its own.
#[inline(never)]
pub(super) fn answer<'a>(
    (id, name): (Cow<'a, str>, Cow<'a, str>),
    (content, ending): (Content<'a>, Ending),
    (marks, extra): (Marks, Members<'a>),
    index: usize,
) -> Piece<'a> {
    let result = ToolResult { name, marks, extra, ..result(content, ending, index) };
    Piece::Result { id, result }
}

/// AI SDK `output`: `{ type: "text" | "json" | "content" | "error-text" | "error-json" |
/// "execution-denied", value }`.
pub(super) fn output<'a>(value: Json<'a>, marks: &mut Marks) -> (Content<'a>, Ending) {
    let kind = match value.get("type") {
        Some(Json::String(kind)) => kind.clone(),
        _ => Cow::Borrowed(""),
    };
    let failed = kind.starts_with("error-") || kind == "execution-denied";
    let ending = Ending::failure_if(failed);
    let mut fields = match kind.as_ref() {
        "text" | "json" | "content" | "error-text" | "error-json" | "execution-denied" => {
            match Fields::of(value) {
                Some(fields) => fields,
                None => return (content(None, marks), ending),
            }
        }
        _ => return (self::content(Some(value), marks), Ending::Unstated),
    };
    if kind == "execution-denied" {
        return (Content::Text(denied(fields.get("reason"))), ending);
    }
    let value = fields.take("value");
    let read = match (kind.as_ref(), value) {
        // A block of the AI SDK has a type.
        ("content", Some(Json::Array(items)))
            if items.iter().all(|item| item.kind().is_some() || is_block(item)) =>
        {
            Content::Parts(items.into_iter().filter_map(|item| block::part(item, marks)).collect())
        }
        ("json" | "error-json", value) => match value.unwrap_or_default() {
            text if text.is_text() => Content::Text(text),
            value => Content::Value(value),
        },
        (_, value) => content(value, marks),
    };
    (read, ending)
}

/// The result of a call that the user did not allow.
pub(super) const DENIED: &str = "Tool execution denied.";

/// As [`DENIED`], with the reason that the user gave.
pub(super) fn denied<'a>(reason: Option<&Json<'a>>) -> Json<'a> {
    let mut text = Joined::default();
    text.text(DENIED);
    if let Some(reason) = reason.filter(|reason| reason.is_text() && !reason.is_blank()) {
        text.text(" ");
        text.value(reason);
    }
    text.into_json()
}

/// The result of a call whose `approval` the user denied, as the AI SDK, Mastra and TanStack AI store
/// it; `None` if it was not denied, or has a result all the same.
pub(super) fn denial<'a>(fields: &Fields<'a>, state: &str) -> Option<Json<'a>> {
    let approval = fields.get("approval");
    let approved = approval.and_then(|approval| approval.get("approved")).and_then(flag);
    let ended = Ending::of_word(state) == Ending::Success;
    (state == "output-denied" || approved == Some(false) && !ended)
        .then(|| denied(approval.and_then(|approval| approval.get("reason"))))
}
