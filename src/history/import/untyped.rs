//! Blocks without a type: those of Gemini and Bedrock are identified by their only key.

use super::super::model::Part;
use super::block::{Block, answered, native, text};
use super::ending::Ending;
use super::event::ANOTHER;
use super::reasoning::{redacted, signed};
use super::{Fields, call};
use crate::provider::{Marks, Reasoning};

/// Parses a block without a type.
pub(super) fn block<'a>(mut fields: Fields<'a>, index: usize, marks: &mut Marks) -> Block<'a> {
    marks.add(Marks::BEDROCK);
    if fields.has_text("text") {
        return Block::Part(Part::Text(text(fields)));
    }
    let has_type = |key: &&str| fields.get(key).is_some_and(|value| value.get("type").is_some());
    if ["toolUse", "toolResult"].iter().any(has_type) {
        // Bedrock ran these tools itself, and their results are beside them.
        return Block::Part(Part::Native { marks: Marks::BEDROCK, block: fields.into_json() });
    }
    if let Some(call) = inner(&fields, "toolUse") {
        return tool_use(call, fields, index);
    }
    if let Some(given) = inner(&fields, "toolResult") {
        return tool_result(given, fields, index);
    }
    if let Some(given) = inner(&fields, "reasoningContent") {
        return Block::Part(Part::Reasoning(reasoning(given)));
    }
    let own = wires(&mut fields);
    marks.add(own);
    native(fields.into_json(), own)
}

/// The members of an object in a block.
fn inner<'a>(fields: &Fields<'a>, key: &str) -> Option<Fields<'a>> {
    fields.get(key).cloned().and_then(Fields::of)
}

fn tool_use<'a>(mut call: Fields<'a>, mut fields: Fields<'a>, index: usize) -> Block<'a> {
    let id = call.take_text("toolUseId").unwrap_or_default();
    let name = call.take_text("name").unwrap_or_default();
    let args = call::args_of(call.take("input"));
    fields.take("toolUse");
    let extra = call.with(fields).rest();
    Block::Part(Part::call(call::made(id, name, args, extra, index)))
}

fn tool_result<'a>(mut given: Fields<'a>, mut fields: Fields<'a>, index: usize) -> Block<'a> {
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
    answered(call::answer((id, "".into()), (content, ending), origin, index), inner)
}

fn reasoning<'a>(mut given: Fields<'a>) -> Reasoning<'a> {
    let text = given
        .take("reasoningText")
        .and_then(Fields::of)
        .map(|mut inner| signed(inner.take("text"), inner.take("signature"), Vec::new()));
    let redacted = || given.take("redactedContent").map(|data| redacted(data, Vec::new()));
    text.or_else(redacted).unwrap_or_else(Reasoning::unknown)
}

/// The wire formats that have the block.
fn wires(fields: &mut Fields<'_>) -> Marks {
    if ANOTHER.iter().any(|key| fields.has(key)) {
        // Its type is no text, or it is two parts in one.
        return Marks::EVENT;
    }
    fields.forget(&["type"]);
    let gemini = ["inlineData", "inline_data", "fileData", "file_data"];
    if gemini.iter().any(|key| fields.has(key)) {
        return Marks::GEMINI;
    }
    // Bedrock's blocks are a union, of which the API takes one member.
    if fields.len() == 1 { Marks::BEDROCK } else { Marks::EVENT }
}
