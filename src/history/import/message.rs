//! Messages with a role: core messages, OpenAI and compatible providers, Anthropic, Bedrock,
//! Cohere, Ollama, the AI SDK's model messages.

use std::borrow::Cow;

use super::super::code::Code;
use super::super::model::{Content, Entry, Part, Piece, Speaker, Text};
use super::ending::Ending;
use super::{Fields, block, call, calls, content, event, one, reasoning, views};
use crate::index::{Index, slot};
use crate::json::{Json, members, object};
use crate::limits;
use crate::provider::{Marks, Reasoning, lines};

pub(super) fn message<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let role = fields.take_text("role")?;
    let speaker = match role.as_ref() {
        "system" => Speaker::System,
        "developer" => Speaker::Developer,
        "user" | "human" => Speaker::User,
        "assistant" | "ai" | "model" | "bot" => Speaker::Assistant,
        "tool" | "function" => return tool(fields, index),
        // Roles of AG-UI and the AI SDK, whose content is for the page only.
        "activity" | "reasoning" | "data" => {
            return one(Piece::Drop { code: Code::RoleUnsupported, id: None });
        }
        _ => return None,
    };
    let mut entry = Entry::new(speaker, index);
    if let Some(calls) = fields.get("tool_calls") {
        entry.marks.add(Marks::CHAT);
        entry.hollow = calls.as_array().is_some_and(<[_]>::is_empty);
    }
    // Names of roles, and a type, that no provider has are a host's own.
    if fields.has("type") || ["human", "ai", "model", "bot"].contains(&role.as_ref()) {
        entry.marks.add(Marks::EVENT);
        fields.forget(&["type"]);
    }
    said(&mut fields, entry, speaker)
}

/// Reads the content of a message and the members beside it.
pub(super) fn said<'a>(
    fields: &mut Fields<'a>,
    mut entry: Entry<'a>,
    speaker: Speaker,
) -> Option<Vec<Piece<'a>>> {
    let index = entry.index;
    entry.null = fields.is_null("content");
    let content = fields.take("content").or_else(|| {
        let text = if fields.has_text("text") { fields.take("text") } else { None };
        entry.marks.add(if text.is_some() { Marks::EVENT } else { Marks::NONE });
        text
    });
    // LangChain's standard blocks are the content where there is no other.
    let is_blank = content.as_ref().is_none_or(|content| match content.as_array() {
        Some(items) => items.is_empty(),
        None => content.is_blank() && content.is_text(),
    });
    let content = if is_blank { views::blocks(fields).or(content) } else { content };
    let explicit = content.is_some() || entry.null;
    if content.as_ref().is_none_or(Json::is_text) {
        entry.marks.add(Marks::PLAIN);
    }
    // OpenAI Responses has a type of text for each side.
    let other = if speaker == Speaker::Assistant { "input_text" } else { "output_text" };
    let is_other = |block: &Json<'_>| block.kind() == Some(other);
    if content.as_ref().and_then(Json::as_array).is_some_and(|all| all.iter().any(is_other)) {
        entry.marks.add(Marks::EVENT);
    }
    let (mut parts, results, listed) = content::content(content, index, &mut entry.marks)?;
    unsign(fields, &mut parts);
    entry.listed = listed;
    entry.hollow |= listed && parts.is_empty() && results.is_empty();
    thoughts(fields, &mut entry);
    if speaker == Speaker::Assistant {
        let blocks = fields.take_list("providerTools").unwrap_or_default();
        entry.parts.extend(blocks.into_iter().map(event::hosted));
    }
    let mut pieces = Vec::new();
    for part in parts {
        // What is said behind a call with its result belongs to the next message.
        let answered = |last: &Part<'_>| matches!(last, Part::Call(call) if call.result.is_some());
        if !matches!(part, Part::Call(_)) && entry.parts.last().is_some_and(answered) {
            let mut next = Entry::new(speaker, index);
            (next.marks, next.listed) = (entry.marks, entry.listed);
            pieces.push(Piece::Say(std::mem::replace(&mut entry, next)));
        }
        entry.parts.push(part);
    }
    calls::beside(fields, &mut entry, &mut pieces)?;
    if speaker == Speaker::Assistant {
        hidden(fields, &mut entry);
    } else if !explicit && results.is_empty() && entry.parts.is_empty() {
        return None;
    }
    let images = match fields.take("images") {
        Some(Json::Array(images)) => images,
        Some(one) => {
            entry.marks.add(Marks::EVENT);
            vec![one]
        }
        None => Vec::new(),
    };
    let mut attached = fields.take_list("experimental_attachments").unwrap_or_default();
    // assistant-ui: `{ name, content: [blocks] }`.
    let has_blocks = |one: &Json<'_>| one.get("content").and_then(Json::as_array).is_some();
    let theirs = fields.get("attachments").and_then(Json::as_array);
    if theirs.is_some_and(|all| all.iter().all(has_blocks)) {
        attached.extend(fields.take_list("attachments").unwrap_or_default());
    }
    // Each becomes a block, which takes more than an empty one has.
    if images.len().max(attached.len()) > limits::HISTORY_TINY {
        return None;
    }
    for image in images {
        if image.is_text() {
            // Ollama: base64 beside the text.
            entry.marks.add(Marks::OLLAMA);
            let block = object! { "type": "image", "image": image };
            entry.parts.push(Part::Media { marks: Marks::OLLAMA, block });
        } else {
            entry.parts.push(block::part(image, &mut entry.marks)?);
        }
    }
    for item in attached {
        // AI SDK 4: `{ url, contentType?, name? }`.
        let mut given = Fields::of(item)?;
        entry.marks.add(Marks::AI_SDK);
        if let Some(blocks) = given.take_list("content") {
            entry
                .parts
                .extend(content::content(Some(Json::Array(blocks)), index, &mut entry.marks)?.0);
            continue;
        }
        let mut block = members! { "type": "file" };
        for (theirs, ours) in [("url", "url"), ("contentType", "mediaType"), ("name", "filename")] {
            block.extend(given.take(theirs).map(|value| (ours.into(), value)));
        }
        entry.parts.push(Part::Media { marks: Marks::AI_SDK, block: Json::Object(block) });
    }
    let only_results = entry.parts.is_empty() && !results.is_empty();
    let mut late = Vec::new();
    if !results.is_empty() && speaker != Speaker::Assistant {
        // Results come first; `behind` records whether other content preceded them.
        pieces.extend(results);
    } else {
        // An assistant message has no results, except those of Anthropic's server tools and of the
        // AI SDK's provider-executed tools, which follow their calls.
        attach(&mut entry, results, &mut late);
    }
    finish(fields.clone(), &mut entry);
    match pieces.last_mut() {
        // Of a message that has only results, they have its members.
        Some(Piece::Result { result, .. }) if only_results => {
            result.extra.append(&mut entry.extra);
        }
        _ => pieces.push(Piece::Say(entry)),
    }
    pieces.append(&mut late);
    Some(pieces)
}

/// Attaches results to the calls of the same message; unmatched results go to `pieces`.
fn attach<'a>(entry: &mut Entry<'a>, results: Vec<Piece<'a>>, pieces: &mut Vec<Piece<'a>>) {
    if results.is_empty() {
        return;
    }
    let mut ids = Index::default();
    // The parts that are calls of an id, in reverse order, by the number of the id.
    let mut open: Vec<Vec<usize>> = Vec::new();
    for (at, part) in entry.parts.iter().enumerate().rev() {
        if let Part::Call(call) = part {
            let id = ids.number(&call.id);
            slot(&mut open, id).push(at);
        }
    }
    for piece in results {
        let (id, mut result) = match piece {
            Piece::Result { id, result } => (id, result),
            piece => {
                pieces.push(piece);
                continue;
            }
        };
        // Only in a message of the user is what stands before a result out of place.
        result.behind = false;
        let waiting = ids.find(&id).and_then(|id| open.get_mut(id));
        let at = waiting.and_then(Vec::pop);
        match at.and_then(|at| entry.parts.get_mut(at)) {
            Some(Part::Call(call)) => call.result = Some(result),
            _ => pieces.push(Piece::Result { id, result }),
        }
    }
}

/// Stores the remaining members, unless the shape is a host's own: its members belong to no wire
/// format.
fn finish<'a>(fields: Fields<'a>, entry: &mut Entry<'a>) {
    let foreign = Marks::CAMEL.and(Marks::AI_SDK).and(Marks::LANGCHAIN).and(Marks::EVENT);
    if !entry.marks.meets(foreign) || entry.marks.meets(Marks::CHAT) {
        entry.extra = fields.rest();
    }
}

/// Takes the signatures from reasoning that no model of Anthropic made: what is stored as its response
/// came names the model.
fn unsign<'a>(fields: &Fields<'a>, parts: &mut [Part<'a>]) {
    let model = fields.text("model").or_else(|| fields.text("modelId"));
    if model.is_some_and(|model| !reasoning::signs(&model)) {
        for part in parts {
            let foreign = match part {
                Part::Reasoning(Reasoning::Signed { text, .. }) => Reasoning::Text(text.clone()),
                Part::Reasoning(Reasoning::Redacted { .. }) => Reasoning::unknown(),
                _ => continue,
            };
            *part = Part::Reasoning(foreign);
        }
    }
}

fn thoughts<'a>(fields: &mut Fields<'a>, entry: &mut Entry<'a>) {
    if let Some(recorded) = fields.get("reasoning").and_then(reasoning::recorded) {
        fields.take("reasoning");
        entry.parts.push(Part::Reasoning(Reasoning::Recorded(Box::new(recorded))));
    }
    // LangChain's clients of DeepSeek, Moonshot and others.
    let kept = fields.get("additional_kwargs").and_then(|kept| kept.get("reasoning_content"));
    if let Some(text) = kept.filter(|text| text.is_text() && !fields.has("reasoning_content")) {
        entry.parts.push(Part::Reasoning(Reasoning::Text(text.clone())));
    }
    if let Some(text) = fields.take("reasoning_content").filter(Json::is_text) {
        entry.marks.add(Marks::CHAT);
        entry.parts.push(Part::Reasoning(Reasoning::Content(text)));
    }
    if let Some(text) = fields.take("thinking").filter(Json::is_text) {
        entry.marks.add(Marks::CHAT);
        entry.parts.push(Part::Reasoning(Reasoning::Thinking(text)));
    }
    let details = fields.take("reasoning_details");
    // Each gateway has its own form, which no other gateway accepts.
    let plain = fields.take_any(&["reasoning", "thinking_blocks"]);
    if let Some(details) = details {
        entry.marks.add(Marks::CHAT);
        entry.parts.push(Part::Reasoning(Reasoning::Details(details)));
    } else if let Some(plain) = plain {
        let text = if plain.is_text() { Some(plain) } else { lines(&plain) };
        entry.parts.push(Part::Reasoning(text.map_or_else(Reasoning::unknown, Reasoning::Text)));
    }
}

/// Reads a refusal and a plan, which the assistant has beside the content.
fn hidden<'a>(fields: &mut Fields<'a>, entry: &mut Entry<'a>) {
    if fields.has_text("refusal")
        && let Some(text) = fields.take("refusal")
    {
        let block = object! { "type": "refusal", "refusal": text };
        entry.parts.push(Part::Native { marks: Marks::CHAT, block });
    }
    if let Some(text) = fields.take("tool_plan") {
        let extra = members! { "tool_plan": Json::Bool(true) };
        entry.parts.insert(0, Part::Text(Text { text, extra }));
    }
}

/// Other members than `tool_call_id` that name the call of a result.
const OTHER_IDS: [&str; 4] = ["toolCallId", "toolUseId", "tool_use_id", "call_id"];

/// Parses a message that is a result.
fn tool<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let mut marks = Marks::NONE;
    // LangChain takes Anthropic's blocks in a tool message, too.
    let ids = ["tool_use_id", "toolUseId", "tool_call_id"];
    let sdk = |item: &Json<'_>| match item.kind().unwrap_or_default() {
        "tool-result" | "tool-approval-response" => true,
        "tool_result" => ids.iter().any(|key| item.get(key).is_some_and(Json::is_text)),
        _ => false,
    };
    let content = fields.take("content");
    if let Some(Json::Array(items)) = &content
        && !items.is_empty()
        && items.iter().any(sdk)
    {
        let (_, mut results, _) = content::content(content, index, &mut marks)?;
        let ending = Ending::read(&fields);
        for piece in &mut results {
            if let Piece::Result { result, .. } = piece {
                result.error |= ending.is_failure();
                result.uncertain |= ending == Ending::Unknown;
            }
        }
        return Some(results);
    }
    let spelled = fields.has("toolCallId");
    let camel = spelled || fields.has("result");
    if camel {
        marks.add(Marks::CAMEL);
    }
    let own_id = fields.has_text("tool_call_id");
    let named = OTHER_IDS.into_iter().find(|key| !own_id && fields.has_text(key));
    let listed = fields.take_list("tool_call_ids").and_then(|ids| ids.into_iter().next());
    let id = fields
        .take_any_text(&["tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "call_id"])
        .or_else(|| listed.and_then(|id| id.as_str().map(|id| Cow::Owned(id.to_owned()))));
    if id.is_some() && !own_id && !spelled {
        marks.add(Marks::EVENT);
    }
    if fields.has("tool_name") {
        marks.add(Marks::OLLAMA);
    } else if fields.has("toolName") {
        marks.add(Marks::CAMEL);
    }
    let tool_name = fields.take_any_text(&["tool_name", "toolName"]);
    let name = tool_name.or_else(|| fields.text("name"));
    let ending = Ending::take(&mut fields);
    let value = content.or_else(|| fields.take("result")).or_else(|| {
        let output = fields.take("output")?;
        marks.add(Marks::EVENT);
        Some(output)
    });
    let null = value.is_none();
    let hollow = value.as_ref().and_then(Json::as_array).is_some_and(<[_]>::is_empty);
    let (value, ending) = call::ended(value, &mut fields, ending);
    let content = call::content(value, &mut marks);
    let content = match content {
        Content::Value(Json::Array(items)) if items.is_empty() => Content::Text(Json::string("")),
        content => content,
    };
    // Ollama: base64 beside the text.
    let is_base64 = |image: &Json<'_>| image.is_text() && !image.is_blank();
    let images = fields.get("images").and_then(Json::as_array);
    if images.is_some_and(|images| images.len() > limits::HISTORY_TINY) {
        return None;
    }
    let content = if images.is_some_and(|all| !all.is_empty() && all.iter().all(is_base64)) {
        marks.add(Marks::OLLAMA);
        let text = match content {
            Content::Text(text) => vec![Part::Text(Text::new(text))],
            Content::Parts(parts) => parts,
            Content::Value(value) => vec![Part::Text(Text::new(value.into_text()))],
        };
        let images = fields.take_list("images").unwrap_or_default().into_iter().map(|image| {
            let block = object! { "type": "image", "image": image };
            Part::Media { marks: Marks::OLLAMA, block }
        });
        Content::Parts(text.into_iter().chain(images).collect())
    } else {
        content
    };
    // A turn of ours has a text beside the parts.
    let parts = fields.take_list("parts").filter(|_| spelled);
    let content = match parts {
        Some(parts) if !parts.is_empty() => {
            marks.add(Marks::TURN);
            call::content(Some(object! { "content": Json::Array(parts) }), &mut marks)
        }
        _ => content,
    };
    fields.forget(&["artifact", "type", "result"]);
    let called = (id.unwrap_or_default(), name.unwrap_or_default());
    let marks = if camel { marks } else { marks.and(Marks::CHAT) };
    let content = (content, ending);
    let mut piece = call::answer(called, content, (marks, fields.rest()), index);
    if let Piece::Result { result, .. } = &mut piece {
        (result.camel, result.null, result.hollow) = (spelled, null, hollow);
        result.id_member = named;
    }
    one(piece)
}
