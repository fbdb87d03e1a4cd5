//! Blocks of reasoning.

use super::Fields;
use crate::json::{Json, members};
use crate::provider::{Marks, Members, Reasoning};

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
pub(super) fn signed<'a>(
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

pub(super) fn redacted(data: Json<'_>) -> Reasoning<'_> {
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
