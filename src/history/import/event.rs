//! Events of calls and texts that a chat page stores, including those of AG-UI and of a turn.
//!
//! <https://docs.ag-ui.com/concepts/events>

use std::borrow::Cow;

use super::super::args;
use super::super::model::{Call, Entry, Part, Piece, Speaker, Text};
use super::ending::Ending;
use super::{Fields, call, item, one};
use crate::json::Json;
use crate::provider::{Marks, Reasoning};

/// Returns the pieces of an event; `None` if the type is not a known event, and `Some(None)` if the
/// event lacks a required member.
pub(super) fn event<'a>(
    kind: &str,
    fields: &Fields<'a>,
    index: usize,
) -> Option<Option<Vec<Piece<'a>>>> {
    let upper = kind.bytes().any(|b| b.is_ascii_uppercase());
    let lower = if upper { Cow::Owned(kind.to_ascii_lowercase()) } else { Cow::Borrowed(kind) };
    let speaker = match lower.as_ref() {
        "user_message" => Some(Speaker::User),
        "assistant_message" | "ai_message" | "bot_message" => Some(Speaker::Assistant),
        "system_message" => Some(Speaker::System),
        "text" | "assistant_text" if !fields.has("role") => Some(Speaker::Assistant),
        _ => None,
    };
    let has = |keys: &[&str]| {
        keys.iter().any(|key| fields.get(key).is_some_and(|value| !matches!(value, Json::Null)))
    };
    // The text of a turn arrives in chunks.
    if kind == "text" && fields.has("chunk") {
        return Some(turn_text(fields));
    }
    if let Some(speaker) = speaker {
        return Some(said(fields, speaker, index));
    }
    Some(match lower.as_ref() {
        // Names with `-` are the AI SDK's, the last is CopilotKit's.
        "tool_call_start" | "tool-input-start" | "actionexecutionmessage" => {
            start(fields.clone(), index)
        }
        "tool-input-available" => whole(fields.clone(), index),
        // A call whose arguments were refused.
        "tool-input-error" => whole(fields.clone(), index).and_then(|mut pieces| {
            pieces.extend(result(fields.clone(), true, index)?);
            Some(pieces)
        }),
        // A call and, once it has one, its result.
        "tool_call" | "tool-call" if !fields.has("role") => {
            start(fields.clone(), index).and_then(|mut pieces| {
                if has(&VALUE) {
                    pieces.extend(result(fields.clone(), false, index)?);
                }
                Some(pieces)
            })
        }
        "tool_call_args" | "tool_call_delta" | "tool-input-delta" => delta(fields),
        "tool_call_chunk" => chunk(fields, index),
        "tool_result" | "tool-result" if !fields.has("role") => {
            result(fields.clone(), false, index)
        }
        "tool_call_end" if has(&VALUE) => result(fields.clone(), false, index),
        "tool_call_result"
        | "tool_call_error"
        | "tool-output-available"
        | "tool-output-error"
        | "resultmessage" => result(fields.clone(), lower.ends_with("error"), index),
        "tool-output-denied" => {
            let mut fields = fields.clone();
            fields.insert("error", Json::string(call::DENIED));
            result(fields, true, index)
        }
        "text_message_start" | "text-start" => text_start(fields, index),
        "text_message_content" | "text_message_chunk" | "text-delta" => text_delta(fields),
        // A reasoning item of the Responses API has a summary or encrypted content.
        "reasoning"
            if (fields.has("text") || fields.has("content"))
                && !fields.has("summary")
                && !fields.has("encrypted_content") =>
        {
            let mut entry = entry(Speaker::Assistant, index);
            let text = ["text", "content"].iter().find_map(|key| fields.get(key));
            let text = text.filter(|text| text.is_text()).cloned();
            let thought = text.map_or_else(Reasoning::unknown, Reasoning::Text);
            entry.parts.push(Part::Reasoning(thought));
            entry.open = true;
            one(Piece::Say(entry))
        }
        "tool_calls" => turn_calls(fields.clone(), index),
        "tool_results" => turn_results(fields.clone(), index),
        "reasoning" if fields.has("chunk") => {
            let shown = number(fields, "seq").map(|seq| (request(fields), seq));
            thought(fields, "chunk", shown)
        }
        "reasoning_message_content"
        | "reasoning_message_chunk"
        | "thinking_text_message_content"
        | "reasoning-delta" => {
            let key = if fields.has("delta") { "delta" } else { "text" };
            thought(fields, key, None)
        }
        "provider_tool" => match fields.get("block") {
            Some(block) => {
                let mut entry = entry(Speaker::Assistant, index);
                entry.parts.push(hosted(block.clone()));
                // Text and calls around it are of the same message.
                (entry.open, entry.beside) = (true, true);
                one(Piece::Say(entry))
            }
            None => Some(Vec::new()),
        },
        "phase_start" => phase(fields),
        // Events about the state of a turn, not about its content: calls that wait for an approval
        // or are refused have not run, and the text of `complete` was shown before.
        "refused" | "complete" | "paused" | "cancelled" | "error" | "tool_progress"
        | "tool_arguments" | "stagnation" | "approval_required"
            if !fields.has("content") =>
        {
            Some(Vec::new())
        }
        "tool_call_end" | "text_message_end" | "text-end" | "run_started" | "run_finished"
        | "run_error" | "start" | "start-step" | "finish-step" | "finish" | "step_started"
        | "step_finished" | "state_snapshot" | "state_delta" | "raw" | "custom"
        | "activity_snapshot" | "activity_delta" | "phase_end" => Some(Vec::new()),
        other
            if other.starts_with("thinking_")
                || other.starts_with("reasoning_")
                || other.starts_with("reasoning-") =>
        {
            Some(Vec::new())
        }
        // AG-UI adds event types: an unknown event without content can be skipped.
        _ if kind.as_bytes().contains(&b'_')
            && kind.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
            && !["content", "role", "text", "delta"].iter().any(|key| fields.has(key)) =>
        {
            Some(Vec::new())
        }
        _ => return None,
    })
}

fn entry<'a>(speaker: Speaker, index: usize) -> Entry<'a> {
    let mut entry = Entry::new(speaker, index);
    entry.marks.add(Marks::EVENT);
    entry
}

/// What a block without a type never has that is a file, or that a provider made for a tool of its own.
pub(super) const ANOTHER: [&str; 6] =
    ["type", "text", "functionCall", "function_call", "functionResponse", "function_response"];

/// The block of a tool that a provider ran itself.
pub(super) fn hosted(block: Json<'_>) -> Part<'_> {
    let kind = block.kind().unwrap_or_default();
    let no_tool = ANOTHER.iter().any(|key| block.get(key).is_some());
    let own = ["toolUse", "toolResult"].iter().find_map(|key| block.get(key));
    // That of OpenAI has no content.
    let compaction = kind == "compaction" && block.members().any(|(key, _)| key == "content");
    let marks = if compaction || kind.ends_with("_tool_use") || kind.ends_with("_tool_result") {
        Marks::ANTHROPIC
    } else if item::is_native(kind) {
        Marks::RESPONSES
    } else if no_tool || block.members().all(|(_, value)| matches!(value, Json::Null)) {
        // No provider has made it.
        Marks::EVENT
    } else if let Some(own) = own {
        if own.get("type").is_some() { Marks::BEDROCK } else { Marks::EVENT }
    } else {
        Marks::GEMINI
    };
    Part::Native { marks: marks.and(Marks::TURN), block }
}

fn said<'a>(fields: &Fields<'a>, speaker: Speaker, index: usize) -> Option<Vec<Piece<'a>>> {
    let text = ["text", "content", "message"].iter().find_map(|key| fields.get(key))?.clone();
    let mut entry = entry(speaker, index);
    entry.id = fields.text("messageId").or_else(|| fields.text("id"));
    let (parts, _, _) = super::content::content(Some(text), index, &mut entry.marks)?;
    entry.parts = parts;
    // A call that follows its text is part of the same message.
    entry.open = speaker == Speaker::Assistant;
    one(Piece::Say(entry))
}

/// The content of a result that is none: some providers refuse an empty one.
const EMPTY: &str = "(empty)";

const ID: [&str; 5] = ["toolCallId", "tool_call_id", "callId", "actionExecutionId", "id"];
const NAME: [&str; 5] = ["toolName", "toolCallName", "tool_name", "name", "tool"];
const VALUE: [&str; 5] = ["result", "output", "content", "error", "errorText"];

fn id<'a>(fields: &mut Fields<'a>) -> Cow<'a, str> {
    fields.take_any_text(&ID).unwrap_or_default()
}

fn start<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let id = id(&mut fields);
    let name = fields.take_any_text(&NAME);
    let args = call::arguments(&mut fields);
    if id.is_empty() && name.is_none() {
        return None;
    }
    let (value, conflict) = (call::args_of(args.value), args.conflict);
    let call = call::made(id, name.unwrap_or_default(), value, Vec::new(), index);
    let call = Call { conflict, ..call };
    one(Piece::Call { call: Box::new(call), marks: Marks::EVENT, batch: None })
}

/// A call with all of its arguments, which may have begun before.
fn whole<'a>(fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    match start(fields, index)?.pop()? {
        Piece::Call { call, .. } => one(Piece::Whole { call }),
        _ => None,
    }
}

fn delta<'a>(fields: &Fields<'a>) -> Option<Vec<Piece<'a>>> {
    // A chunk without an id continues the call before it.
    let id = ID.iter().find_map(|key| fields.text(key)).unwrap_or_default();
    let keys = ["delta", "argsTextDelta", "inputTextDelta", "args"];
    let delta = keys.iter().find_map(|key| fields.text(key))?;
    one(Piece::ArgsDelta { id, delta })
}

fn chunk<'a>(fields: &Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let mut pieces = Vec::new();
    if fields.has("toolCallName") {
        pieces = start(fields.clone(), index)?;
    }
    if fields.has("delta") {
        pieces.extend(delta(fields)?);
    }
    Some(pieces)
}

fn result<'a>(mut fields: Fields<'a>, failed: bool, index: usize) -> Option<Vec<Piece<'a>>> {
    let id = id(&mut fields);
    let names = ["toolName", "toolCallName", "tool_name", "name", "actionName"];
    let name = fields.take_any_text(&names);
    let ending = Ending::take(&mut fields);
    let error = fields.take_any(&["error", "errorText"]);
    let value = fields.take_any(&["result", "output", "content"]);
    if id.is_empty() && name.is_none() {
        return None;
    }
    let args = call::args_of(call::arguments(&mut fields).value);
    let mut pieces = Vec::new();
    if !id.is_empty() && !args::is_empty(&args) {
        pieces.push(Piece::Described { id: id.clone(), args });
    }
    // What has ended well, as it says, has no error.
    let well = value.is_some() && ending == Ending::Success;
    let (value, told) = call::told(value, error.filter(|_| !well));
    let content = call::content(value, &mut Marks::default());
    let called = (id, name.unwrap_or_default());
    let ending = ending.or(Ending::failure_if(failed || told));
    pieces.push(call::answer(called, (content, ending), (Marks::EVENT, Vec::new()), index));
    Some(pieces)
}

fn text_start<'a>(fields: &Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let speaker = speaker(fields);
    let mut entry = entry(speaker, index);
    entry.id = Some(fields.text("messageId").or_else(|| fields.text("id"))?);
    entry.parts.push(Part::Text(Text::new(Json::string(""))));
    entry.open = speaker == Speaker::Assistant;
    one(Piece::Say(entry))
}

fn text_delta<'a>(fields: &Fields<'a>) -> Option<Vec<Piece<'a>>> {
    let id = fields.text("messageId").or_else(|| fields.text("id")).unwrap_or_default();
    let delta = ["delta", "textDelta", "text"].iter().find_map(|key| fields.text(key))?;
    one(Piece::TextDelta { id, delta, speaker: speaker(fields), shown: None })
}

fn speaker(fields: &Fields<'_>) -> Speaker {
    match fields.text("role").as_deref() {
        Some("user") => Speaker::User,
        Some("system") => Speaker::System,
        Some("developer") => Speaker::Developer,
        _ => Speaker::Assistant,
    }
}

/// Parses a text chunk of a turn. The text of one phase and batch is one message.
fn turn_text<'a>(fields: &Fields<'a>) -> Option<Vec<Piece<'a>>> {
    let id = Cow::Owned(place(fields, &["requestId", "phase", "toolBatchId"]));
    let delta = fields.text("chunk")?;
    let shown = number(fields, "seq").map(|seq| (request(fields), seq));
    one(Piece::TextDelta { id, delta, speaker: Speaker::Assistant, shown })
}

/// A part of reasoning, which belongs to the calls behind it.
fn thought<'a>(
    fields: &Fields<'a>,
    key: &str,
    shown: Option<(Cow<'a, str>, u64)>,
) -> Option<Vec<Piece<'a>>> {
    let delta = fields.get(key).filter(|delta| delta.is_text()).cloned();
    Some(delta.map(|delta| Piece::Thought { delta, shown }).into_iter().collect())
}

/// `phase_start { resumed, voidFrom }` voids the text of an inference that is repeated.
fn phase<'a>(fields: &Fields<'a>) -> Option<Vec<Piece<'a>>> {
    match number(fields, "voidFrom") {
        Some(from) => one(Piece::Void { request: request(fields), from }),
        None => Some(Vec::new()),
    }
}

/// What these members name together.
fn place(fields: &Fields<'_>, keys: &[&str]) -> String {
    let mut id = String::new();
    for key in keys {
        if let Some(Json::String(part) | Json::Number(part)) = fields.get(key) {
            id.push_str(part);
        }
        id.push('/');
    }
    id
}

fn request<'a>(fields: &Fields<'a>) -> Cow<'a, str> {
    fields.text("requestId").unwrap_or_default()
}

fn number(fields: &Fields<'_>, key: &str) -> Option<u64> {
    match fields.get(key) {
        Some(Json::Number(number)) => number.parse().ok(),
        _ => None,
    }
}

fn turn_calls<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let mut pieces = Vec::new();
    for item in fields.take_list("toolCalls")? {
        let mut call = call::call(item, index, &mut Marks::default())?;
        call.extra.clear();
        let keys = ["requestId", "toolBatchId"];
        let batch = keys.iter().all(|key| fields.has(key)).then(|| place(&fields, &keys).into());
        pieces.push(Piece::Call { call: Box::new(call), marks: Marks::EVENT, batch });
    }
    Some(pieces)
}

/// Parses `{ toolCallId, name, status, result?, error? }`. A status other than `ok` becomes the
/// content if there is no result and no error message; a result of `null` is that text.
fn turn_results<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let mut pieces = Vec::new();
    for item in fields.take_list("toolResults")? {
        let mut given = Fields::of(item)?;
        let id = given.take_text("toolCallId")?;
        let status = given.take_text("status").unwrap_or(Cow::Borrowed("ok"));
        let message = match given.take("error") {
            Some(Json::Object(error)) => Fields::of(Json::Object(error))?.take("message"),
            message => message,
        };
        let ending = match status.as_ref() {
            "ok" => Ending::Success,
            // The message says so where it is.
            word if message.is_none() => Ending::of_word(word).or(Ending::Failure),
            _ => Ending::Failure,
        };
        let null = given.is_null("result").then(|| Json::string("null"));
        let told = match status.as_ref() {
            "ok" => Json::string(EMPTY),
            _ => Json::String(status.clone()),
        };
        let value = given.take("result").or(message).or(null).or(Some(told));
        // As the turn's own messages have it.
        let said = |value: &Json<'_>| !value.as_str().is_some_and(|text| text.trim().is_empty());
        let value = value.filter(said).or_else(|| Some(Json::string(EMPTY)));
        let content = call::content(value, &mut Marks::default());
        let called = (id, given.take_text("name").unwrap_or_default());
        let content = (content, ending);
        let marks = Marks::EVENT.and(Marks::TURN);
        let revised = given.get("revised").and_then(Json::as_bool) == Some(true);
        let mut piece = call::answer(called, content, (marks, Vec::new()), index);
        if let (true, Piece::Result { result, .. }) = (revised, &mut piece) {
            result.revises = Some(place(&fields, &["requestId", "toolBatchId"]).into());
        }
        pieces.push(piece);
    }
    Some(pieces)
}
