//! Requests: <https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent>.

use std::borrow::Cow;

use super::message::split;
use crate::json::{Add, Json, members, object};
use crate::provider::content::{Members, ResultOut};
use crate::provider::prompt::{AddedSystem, Exchange, Member, Post, Prompt, Requests, Structured};
use crate::provider::request::{Choice, escape};
use crate::provider::tools::sent;
use crate::stream::{BLOCK, PART, Reasoning};

pub(in crate::provider) const REQUESTS: Requests = Requests {
    // A history has no system messages.
    added_system: AddedSystem::InSystem,
    exchange,
    recorded: None,
    paused: None,
    members,
    structured: Structured::Within(json_schema),
    object_root: false,
    post: Some(Post {
        path,
        headers: &[],
        accept: "text/event-stream",
        // The path names the model and asks for the stream.
        start: |_, _| Members::new(),
    }),
};

/// A model is `gemini-…`, or a resource such as `tunedModels/…`.
fn path(model: &str, stream: bool) -> Cow<'static, str> {
    let mut path =
        if model.as_bytes().contains(&b'/') { "/".to_owned() } else { "/models/".to_owned() };
    escape(model, b"/", &mut path);
    // Without `alt`, a stream is a JSON array.
    path.push_str(if stream { ":streamGenerateContent?alt=sse" } else { ":generateContent" });
    path.into()
}

/// Converts calls and their answers. The signature of a step is on its first call, or on each, and the provider
/// refuses a current turn without it: <https://ai.google.dev/gemini-api/docs/thought-signatures>.
/// Summaries of thoughts are not sent back. Calls have no ids: not every model knows them, and
/// results are matched by place.
fn exchange(exchange: &Exchange<'_>) -> Vec<Json<'static>> {
    let Exchange { text, calls, foreign, .. } = exchange;
    let owned = |text: &str| Json::string(text.to_owned());
    let mut parts = Vec::new();
    let sign = |mut part: Members<'static>, signature: Option<&str>| {
        if let Some(signature) = signature {
            part.add("thoughtSignature", owned(signature));
        }
        Json::Object(part)
    };
    for (at, call) in calls.iter().enumerate() {
        // The last signature before a call is its own. One without a thought before that is the
        // text's.
        let signed = |block: &&Reasoning| {
            let signs = |own: &str| own != PART && !own.starts_with(BLOCK);
            block.signature.as_deref().is_some_and(signs)
        };
        parts.extend(exchange.thoughts(at).filter_map(Reasoning::block));
        let (mut own, mut texts) = (None, None);
        for block in exchange.thoughts(at).filter(signed) {
            texts = own.replace(block).filter(|before: &&Reasoning| before.text.is_empty());
        }
        if at == 0 && !text.trim().is_empty() {
            let signature = texts.and_then(|block| block.signature.as_deref());
            parts.push(sign(members! { "text": owned(text) }, signature));
        }
        let made = object! { "name": owned(call.name), "args": call.arguments() };
        let signature = own.and_then(|block| block.signature.as_deref());
        let signature = signature.or_else(|| (*foreign && at == 0).then_some(super::UNSIGNED));
        parts.push(sign(members! { "functionCall": made }, signature));
    }
    let results = calls.iter().map(|call| {
        let key = if call.failed { "error" } else { "result" };
        let (text, parts) = match call.content() {
            ResultOut::Parts(parts) => split(parts),
            _ => (owned(call.answer), Vec::new()),
        };
        let mut result: Members<'static> =
            members! { "name": owned(call.name), "response": Json::object([(key, text)]) };
        if !parts.is_empty() {
            result.add("parts", Json::Array(parts));
        }
        object! { "functionResponse": Json::Object(result) }
    });
    let results = Json::Array(results.collect());
    [("model", Json::Array(parts)), ("user", results)]
        .map(|(role, parts)| object! { "role": role, "parts": parts })
        .into()
}

fn members<'a>(prompt: Prompt<'_, 'a>) -> Members<'a> {
    let mut system: Vec<Json<'a>> = match prompt.system.as_ref().and_then(|one| one.get("parts")) {
        Some(Json::Array(parts)) => parts.clone(),
        _ => Vec::new(),
    };
    let added = prompt.added_system.iter();
    system.extend(added.map(|text| object! { "text": Json::from((*text).to_owned()) }));
    let mut members: Members<'a> = Vec::new();
    if !system.is_empty() {
        members.add("systemInstruction", object! { "parts": Json::Array(system) });
    }
    members.add("contents", Json::Array(prompt.messages));
    if !prompt.tools.is_empty() {
        // `parametersJsonSchema` takes JSON Schema; `parameters`, which excludes it, takes a subset
        // of OpenAPI's schemas, so that a schema would have to be rewritten and lose keywords.
        let wire = prompt.tools.iter().map(|tool| {
            object! {
                "name": Json::from(tool.name.to_owned()),
                "description": Json::from(tool.description.to_owned()),
                "parametersJsonSchema": sent(tool.input_schema, &super::TOOLS),
            }
        });
        let declared = object! { "functionDeclarations": Json::Array(wire.collect()) };
        members.add("tools", Json::Array(vec![declared]));
        if prompt.choice == Choice::None {
            let calling = object! { "functionCallingConfig": object! { "mode": "NONE" } };
            members.add("toolConfig", calling);
        }
    }
    members
}

/// <https://ai.google.dev/gemini-api/docs/structured-output>.
fn json_schema(_: &'static str, schema: Json<'static>) -> Member {
    let schema = sent(&schema, &super::TOOLS);
    let config = object! { "responseMimeType": "application/json", "responseJsonSchema": schema };
    ("generationConfig", config)
}
