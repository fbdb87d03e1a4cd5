//! Blocks of reasoning.

use super::Fields;
use crate::json::{Json, members};
use crate::provider::{Marks, Members, Reasoning, Recorded};
use crate::text::{base64, holds};

/// Thinking of Anthropic, Mistral or Cohere.
pub(super) fn thinking<'a>(mut fields: Fields<'a>, kind: &str, marks: &mut Marks) -> Reasoning<'a> {
    if kind == "thinking" && fields.len() == 2 && fields.has_text("thinking") {
        // Only an unsigned text: Cohere's form.
        marks.add(Marks::COHERE);
        return Reasoning::Native { marks: Marks::COHERE, block: fields.into_json() };
    }
    let chunks = matches!(fields.get("thinking"), Some(Json::Array(_)));
    marks.add(if chunks { Marks::CHAT } else { Marks::ANTHROPIC });
    if kind == "redacted_thinking" {
        let data = fields.take("data").unwrap_or_default();
        fields.forget(&["type", "index"]);
        return redacted(data, fields.rest());
    }
    match fields.take("thinking") {
        // Mistral's chunk holds a list of texts.
        Some(chunks @ Json::Array(_)) => {
            let mut block = members! { "type": "thinking", "thinking": chunks };
            block.extend(fields.take("closed").map(|closed| ("closed".into(), closed)));
            Reasoning::Native { marks: Marks::CHAT, block: Json::Object(block) }
        }
        text => {
            // TanStack AI has the text as `content`.
            let text = text.or_else(|| fields.take("content"));
            let signature = fields.take("signature");
            fields.forget(&["type", "index"]);
            signed(text, signature, fields.rest())
        }
    }
}

/// Thinking with a signature. Without one it is only text, which Anthropic does not accept back.
pub(super) fn signed<'a>(
    text: Option<Json<'a>>,
    signature: Option<Json<'a>>,
    extra: Members<'a>,
) -> Reasoning<'a> {
    let text = text.unwrap_or_else(|| Json::string(""));
    match signature {
        Some(signature) if !signature.is_blank() && text.is_text() && !is_foreign(&signature) => {
            Reasoning::Signed { text, signature, extra }
        }
        _ if text.is_text() => Reasoning::Text(text),
        _ => Reasoning::unknown(),
    }
}

/// The reasoning that a turn recorded with its calls: `{ dialect, model?, members?, calls? }`, and
/// without `dialect` that of a response of the same turn. `None` if it is none.
pub(in crate::history) fn recorded<'a>(value: &Json<'a>) -> Option<Recorded<'a>> {
    let mut fields = Fields::of(value.clone())?;
    let model = fields.take_text("model");
    let origin = fields.take_text("dialect").map(|dialect| (dialect, model));
    let members = fields.take("members").and_then(Fields::of).map(Fields::rest);
    let calls = fields.take("calls").and_then(Fields::of).map(Fields::rest);
    if members.is_none() && calls.is_none() {
        return None;
    }
    // Only members that carry reasoning: a client may have written them.
    let mut members = members.unwrap_or_default();
    members.retain(|(key, _)| Recorded::MEMBERS.contains(&key.as_ref()));
    let mut calls = calls.unwrap_or_default();
    for (_, call) in &mut calls {
        if let Json::Object(members) = call {
            members.retain(|(key, _)| Recorded::OF_CALL.contains(&key.as_ref()));
        }
    }
    Some(Recorded { origin, members, calls })
}

/// Whether a signature, or the data of redacted thinking, is known to be that of another provider than
/// Anthropic: the name of the member that had the reasoning (openclaw/openclaw#91205, 2026-06), an item of OpenAI's Responses
/// or its encrypted content (mcheemaa/mistri#33, 2026-07-10), an id or a digest of servers with
/// Anthropic's API (NousResearch/hermes-agent#24401, 2026-05-12), a signature of Gemini, whose bytes
/// begin with 0x0a where Anthropic's begin with 0x12. A signature of unknown form is kept: it may be
/// refused.
fn is_foreign(signature: &Json<'_>) -> bool {
    let Some(text) = signature.as_str() else { return false };
    let is_digest = [32, 40, 64].contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
    let dashes = || text.bytes().enumerate().filter(|(_, byte)| *byte == b'-').map(|(at, _)| at);
    let is_uuid = text.len() == 36 && dashes().eq([8, 13, 18, 23]);
    let names = ["reasoning_content", "reasoning", "reasoning_details", "reasoning_text"];
    let beginnings = ["{", "[", "gAAAAA", "skip_thought_signature", "context_engineering_is"];
    let is_gemini = text.len() >= 40 && text.starts_with(['C', 'D']) && base64(text).is_some();
    is_digest
        || is_uuid
        || is_gemini
        || names.contains(&text)
        || beginnings.iter().any(|beginning| text.starts_with(beginning))
}

/// Whether a model with this name is one of Anthropic's: only those accept its signatures.
pub(super) fn signs(model: &str) -> bool {
    let name = model.to_ascii_lowercase();
    // An address of AWS names no model.
    holds(&name, "claude") || holds(&name, "anthropic") || name.starts_with("arn:")
}

pub(super) fn redacted<'a>(data: Json<'a>, extra: Members<'a>) -> Reasoning<'a> {
    if data.is_blank() || is_foreign(&data) {
        return Reasoning::unknown();
    }
    Reasoning::Redacted { data, extra }
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
    let Some(mut anthropic) = anthropic else { return signed(Some(text), None, Vec::new()) };
    if anthropic.has("signature") {
        return signed(Some(text), anthropic.take("signature"), Vec::new());
    }
    match anthropic.take("redactedData") {
        Some(data) => redacted(data, Vec::new()),
        None => signed(Some(text), None, Vec::new()),
    }
}
