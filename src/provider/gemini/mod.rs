//! Gemini `generateContent`: <https://ai.google.dev/api/generate-content>.

mod message;
mod request;
mod stream;

pub(super) use request::REQUESTS;

use super::content::blocks;
use super::info::ProviderInfo;
use super::result_media::{MediaBytes, ResultMedia};
use super::rules::{
    Arguments, Blank, Fields, First, Ids, Last, Media, Merge, Names, Replay, ResultValues, Results,
    Rules, SentIds, Signatures, System,
};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;
use crate::json::{Json, object};
use crate::stream::AnyEvents;
use message::{part, write};

const OWN: Marks = Marks::GEMINI;

/// Stands for the signature of a call that has none.
pub(crate) const UNSIGNED: &str = "skip_thought_signature_validator";

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
    key_variable: Some("GEMINI_API_KEY"),
    key_header: "x-goog-api-key",
    path_ends: &[":streamGenerateContent", ":generateContent"],
    seed: &["generationConfig", "seed"],
    ..ProviderInfo::of("Gemini", "gemini", "/models/{model}:streamGenerateContent?alt=sse")
};

pub(super) const RULES: Rules = Rules {
    list: Some("parts"),
    system: System::Apart {
        write: |texts| {
            let parts = blocks(texts, part);
            object! { "parts": Json::Array(parts) }
        },
    },
    first: First::User,
    last: Last::NotAssistant,
    merge: Merge::Neater,
    ids: Ids::None,
    sent_ids: SentIds::IfOwn,
    names: Names::Dotted,
    results: Results::Alone,
    arguments: Arguments::Object { or_text: false },
    result_values: ResultValues::Native,
    reasoning: Replay::Native,
    // https://ai.google.dev/gemini-api/docs/thought-signatures
    thought_signatures: Signatures::OnParts { placeholder: UNSIGNED },
    blank: Blank::Kept,
    strict: true,
    media: Media::Any,
    media_of_user: false,
    result_media,
    media_bytes: MediaBytes {
        // 20 MB for a request.
        image: 20_000_000 / 4 * 3,
        file: 20_000_000 / 4 * 3,
        source: "https://ai.google.dev/gemini-api/docs/image-understanding (read 2026-11-30)",
    },
    fields: Fields {
        text: &["thoughtSignature"],
        result: &["parts", "scheduling", "willContinue"],
        ..Fields::NONE
    },
    error_flag: true,
    ..Rules::common(OWN, write)
};

/// Gemini 3 takes images and files in `functionResponse.parts`, older models refuse them there. Beside
/// the responses, all take them. github: NousResearch/hermes-agent#96466 (2026-08-27),
/// google-gemini/gemini-cli#19436.
fn result_media(model: Option<&str>) -> ResultMedia {
    match model {
        Some(model) if model.contains("gemini-3") => ResultMedia::Inside(Media::FunctionParts),
        _ => ResultMedia::Behind,
    }
}

pub(super) const STREAM: Stream = Stream::Events(|| AnyEvents::new(stream::Parts::default()));

/// How many tools are taken is said in several ways (64, 128, 512), so no number is checked.
pub(super) const TOOLS: Tools = Tools {
    // "Unknown name \"$schema\": cannot find field"; github: router-for-me/CLIProxyAPI#97 (2025-10-07),
    // openswarm-ai/openswarm#24. zod writes it at the root of every schema.
    not_sent: &["$schema"],
    keywords: &[
        "$id",
        "$defs",
        "$ref",
        "$anchor",
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "oneOf",
        "properties",
        "additionalProperties",
        "required",
        "propertyOrdering",
    ],
    ..Tools::common(
        "https://pub.dev/documentation/googleapis/latest/aiplatform_v1/GoogleCloudAiplatformV1GenerationConfig/responseJsonSchema.html (2026-11-23)",
    )
};
