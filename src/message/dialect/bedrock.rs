//! Bedrock Converse: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html>.

use super::super::ids;
use super::super::import::Media as Seen;
use super::super::model::{Marks, Members, Reasoning};
use super::super::rules::{
    Arguments, COMMON, EmptyResult, Fields, Ids, Last, Media, Merge, Message, Out, Replay,
    ResultOut, Results, Role, Rules, System, blocks,
};
use crate::json::Json;

pub(super) const RULES: Rules = Rules {
    own: Marks::BEDROCK,
    system: System::Apart,
    first_user: true,
    last: Last::NotAssistant,
    merge: Merge::Needed,
    ids: Ids::Word(64),
    results: Results::WithUser,
    arguments: Arguments::Object,
    reasoning: Replay::Signed,
    empty_result: EmptyResult::Refused,
    calls_last: true,
    empty_refused: true,
    strict: true,
    media: Media::Bytes,
    fields: Fields { result: &["status", "type"], ..Fields::NONE },
    write,
    write_system: |texts| Json::Array(blocks(texts, block)),
    shows_results: true,
    ..COMMON
};

fn write<'a>(message: Message<'a>, out: &mut Vec<Json<'a>>) {
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    let content = blocks(message.parts, block);
    out.push(Json::object([("role", role.into()), ("content", Json::Array(content))]));
}

fn block(part: Out<'_>) -> Option<Json<'_>> {
    Some(match part {
        Out::Text { text, .. } => Json::object([("text", text)]),
        Out::Native(block) => block,
        Out::Media(seen) => media(seen),
        Out::Reasoning(Reasoning::Signed { text, signature, .. }) => {
            let text = Json::object([("text", text), ("signature", signature)]);
            let content = Json::object([("reasoningText", text)]);
            Json::object([("reasoningContent", content)])
        }
        Out::Reasoning(Reasoning::Redacted(data)) => {
            Json::object([("reasoningContent", Json::object([("redactedContent", data)]))])
        }
        Out::Reasoning(_) => return None,
        Out::Call { id, name, arguments, .. } => {
            let call = Json::object([("toolUseId", id), ("name", name), ("input", arguments)]);
            Json::object([("toolUse", call)])
        }
        Out::Result { id, content, error, extra, .. } => {
            let content = match content {
                ResultOut::Text(text) | ResultOut::Native(text) => {
                    vec![Json::object([("text", text)])]
                }
                ResultOut::Parts(parts) => blocks(parts, block),
            };
            let mut members: Members<'_> =
                vec![("toolUseId".into(), id), ("content".into(), Json::Array(content))];
            if error {
                members.push(("status".into(), "error".into()));
            }
            members.extend(extra);
            Json::object([("toolResult", Json::Object(members))])
        }
    })
}

fn media(seen: Seen<'_>) -> Json<'_> {
    let (kind, format) = seen.mime.split_once('/').unwrap_or(("", "png"));
    let format = Json::string(if format == "*" { "png".to_owned() } else { format.to_owned() });
    let source = Json::object([("bytes", Json::String(seen.data))]);
    if kind == "image" {
        return Json::object([("image", Json::object([("format", format), ("source", source)]))]);
    }
    let name = seen.name.unwrap_or_else(|| "file".into());
    let document = [("format", format), ("name", Json::String(name)), ("source", source)];
    Json::object([("document", Json::object(document))])
}

/// Declares stubs for the tools that the history names; `None` if it names none.
pub(in crate::message) fn stub_tools<'n, 'a>(
    names: impl Iterator<Item = &'n str>,
    rules: &Rules,
) -> Option<Json<'a>> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        let given = std::borrow::Cow::Borrowed(name);
        let name = ids::name(&given, rules.names).unwrap_or(given);
        if let Err(at) = seen.binary_search_by(|one| one.as_str().cmp(name.as_ref())) {
            seen.insert(at, name.into_owned());
        }
    }
    if seen.is_empty() {
        return None;
    }
    let tools = seen.into_iter().map(|name| {
        let schema = Json::object([("json", Json::object([("type", "object".into())]))]);
        let spec = [
            ("name", name.into()),
            ("description", "Not available.".into()),
            ("inputSchema", schema),
        ];
        Json::object([("toolSpec", Json::object(spec))])
    });
    Some(Json::object([("tools", Json::Array(tools.collect()))]))
}
