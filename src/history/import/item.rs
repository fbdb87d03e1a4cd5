//! Items of OpenAI's Responses API.
//!
//! <https://platform.openai.com/docs/api-reference/responses/create#responses-create-input>

use super::super::model::{Call, Content, Entry, Part, Piece, Speaker};
use super::super::typed;
use super::ending::Ending;
use super::{Fields, call, message, one};
use crate::json::object;
use crate::provider::{Marks, Reasoning};

pub(super) fn item<'a>(mut fields: Fields<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    // A reference may omit its type.
    let kind = fields.text("type").unwrap_or(std::borrow::Cow::Borrowed("item_reference"));
    let kind = kind.into_owned();
    let marks = Marks::RESPONSES;
    let is_ours = |of: &&typed::CallType| !(of.is_search() && typed::is_hosted(&fields));
    if let Some(of) = typed::of_call(&kind).filter(is_ours) {
        return client_call(of, fields, index);
    }
    if let Some(of) = typed::of_output(&kind).filter(is_ours) {
        return client_output(of, fields, index);
    }
    match kind.as_str() {
        "message" => {
            let kind = fields.take("type");
            let speaker = match fields.take_text("role")?.as_ref() {
                "user" => Speaker::User,
                "assistant" => Speaker::Assistant,
                "system" => Speaker::System,
                "developer" => Speaker::Developer,
                _ => return None,
            };
            let mut entry = Entry::new(speaker, index);
            entry.marks.add(marks);
            let own = fields.take("id");
            let mut pieces = message::said(&mut fields, entry, speaker)?;
            for piece in &mut pieces {
                if let Piece::Say(entry) = piece {
                    entry.extra.extend(kind.clone().map(|kind| ("type".into(), kind)));
                    entry.extra.extend(own.clone().map(|id| ("id".into(), id)));
                }
            }
            Some(pieces)
        }
        "function_call" => {
            let id = fields.take_text("call_id").unwrap_or_default();
            let name = fields.take_text("name").unwrap_or_default();
            let args = call::args_of(fields.take("arguments"));
            fields.take("type");
            one(Piece::Call {
                call: Box::new(call::made(id, name, args, fields.rest(), index)),
                marks,
                batch: None,
            })
        }
        "function_call_output" => {
            let item = Some(Box::new(fields.clone().into_json()));
            let id = fields.take_text("call_id")?;
            let mut inner = Marks::NONE;
            let output = fields.take("output");
            let null = output.is_none();
            let ending = Ending::read(&fields);
            let (output, ending) = call::ended(output, &mut fields, ending);
            let content = call::content(output, &mut inner);
            fields.take("type");
            // OpenAI's own word.
            if !fields.is("status", "incomplete") {
                ending.taken(&mut fields);
            }
            let extra = fields.rest();
            let mut piece = call::answer((id, "".into()), (content, ending), (marks, extra), index);
            if let Piece::Result { result, .. } = &mut piece {
                (result.item, result.null, result.inner) = (item, null, inner);
            }
            one(piece)
        }
        // A reasoning item, as opposed to a host's own event of that name.
        "reasoning"
            if fields.has("summary") || fields.has("encrypted_content") || fields.has("id") =>
        {
            let block = fields.into_json();
            own(Part::Reasoning(Reasoning::Native { marks, block }), index)
        }
        _ if is_native(&kind) => own(Part::Native { marks, block: fields.into_json() }, index),
        _ => None,
    }
}

/// A call of a type of its own, which the client runs.
fn client_call<'a>(
    of: &typed::CallType,
    mut fields: Fields<'a>,
    index: usize,
) -> Option<Vec<Piece<'a>>> {
    let item = Some(Box::new(fields.clone().into_json()));
    let id = fields.text("call_id").or_else(|| fields.text("id")).unwrap_or_default();
    let (name, args) = of.function(&mut fields);
    let call = Call { item, ..call::made(id, name, args, Vec::new(), index) };
    one(Piece::Call { call: Box::new(call), marks: Marks::RESPONSES, batch: None })
}

/// The output of such a call. That of a local shell has an `id` in place of the `call_id`, by the API's
/// description: then it is the output of the call before it.
fn client_output<'a>(
    of: &typed::CallType,
    mut fields: Fields<'a>,
    index: usize,
) -> Option<Vec<Piece<'a>>> {
    let item = Some(Box::new(fields.clone().into_json()));
    let id = fields.text("call_id").unwrap_or_default();
    let ending = Ending::read(&fields);
    let output = fields.take(of.result());
    let mut inner = Marks::NONE;
    let content = match output {
        Some(shot) if shot.kind() == Some("computer_screenshot") => match shot.get("image_url") {
            Some(url) if url.is_text() => {
                let block = object! { "type": "input_image", "image_url": url.clone() };
                Content::Parts(vec![Part::Media { marks: Marks::RESPONSES, block }])
            }
            _ => Content::Text("(a screenshot)".into()),
        },
        output => call::content(output, &mut inner),
    };
    let origin = (Marks::RESPONSES, Vec::new());
    let mut piece = call::answer((id, of.name().into()), (content, ending), origin, index);
    if let Piece::Result { result, .. } = &mut piece {
        (result.item, result.inner) = (item, inner);
    }
    one(piece)
}

/// Whether an item of this type is sent as it is: mostly a call that the provider runs itself, or its
/// result.
pub(super) fn is_native(kind: &str) -> bool {
    let known = [
        "item_reference",
        "program",
        "program_output",
        "compaction",
        "additional_tools",
        "tool_search_output",
    ];
    let start = ["web_search", "file_search", "code_interpreter", "image_generation", "mcp_"];
    known.contains(&kind)
        || start.iter().any(|prefix| kind.starts_with(prefix))
        // Also those of tools that are yet to come.
        || kind.ends_with("_call")
        || kind.ends_with("_call_output")
}

fn own<'a>(part: Part<'a>, index: usize) -> Option<Vec<Piece<'a>>> {
    let mut entry = Entry::new(Speaker::Assistant, index);
    entry.marks.add(Marks::RESPONSES);
    entry.open = true;
    entry.parts.push(part);
    one(Piece::Say(entry))
}
