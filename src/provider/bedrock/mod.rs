//! Bedrock Converse: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html>.

mod message;
mod request;
mod stream;

pub(super) use request::REQUESTS;

use super::content::blocks;
use super::info::ProviderInfo;
use super::result_media::{MediaBytes, ResultMedia};
use super::rules::{
    Arguments, Blank, EmptyResult, Fields, First, Ids, Last, Media, Merge, Replay, ResultParts,
    Results, Rules, System, UndeclaredTools,
};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;
use crate::json::{Json, object};
use crate::stream::{AnyEvents, FRAMES};
use message::{block, write};

const OWN: Marks = Marks::BEDROCK;

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("https://bedrock-runtime.{region}.amazonaws.com"),
    key_variable: Some("AWS_BEARER_TOKEN_BEDROCK"),
    path_ends: &["/converse-stream", "/converse"],
    ..ProviderInfo::of("Bedrock Converse", "bedrock", "/model/{model}/converse-stream")
};

pub(super) const RULES: Rules = Rules {
    list: Some("content"),
    system: System::Apart { write: |texts| Json::Array(blocks(texts, block)) },
    first: First::Better,
    last: Last::NotAssistant,
    merge: Merge::Needed,
    ids: Ids::Word(64),
    results: Results::WithUser,
    result_parts: ResultParts::Listed,
    result_media,
    media_bytes: MediaBytes {
        image: 3_932_160,
        file: 4_718_592,
        source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html \
                 (read 2026-11-30)",
    },
    arguments: Arguments::Object { or_text: false },
    reasoning: Replay::Signed,
    empty_result: EmptyResult::Refused,
    calls_last: true,
    blank: Blank::RefusedAlone,
    strict: true,
    media: Media::Formats,
    fields: Fields { result: &["status", "type"], ..Fields::NONE },
    undeclared_tools: UndeclaredTools::Refused { stubs },
    error_flag: true,
    ..Rules::common(OWN, write)
};

/// Only some models take images in results: "This model doesn't support the image field for user
/// messages." Behind the results, all do. github: anomalyco/opencode#50272 (2026-09-21),
/// can1357/oh-my-pi#11685 (2026-09-11).
fn result_media(model: Option<&str>) -> ResultMedia {
    let takes = ["anthropic", "claude", "nova", "llama4"];
    match model {
        Some(model) if !takes.iter().any(|part| model.contains(part)) => ResultMedia::Behind,
        _ => ResultMedia::Inside(Media::Formats),
    }
}

/// The frames of `InvokeModelWithResponseStream` hold events of the model's own provider.
pub(super) const STREAM: Stream = Stream::Framed(
    || AnyEvents::new(stream::Blocks::default()),
    FRAMES,
    Some(super::anthropic::events),
);

/// Declares tools that cannot be called.
fn stubs(names: Vec<String>) -> Json<'static> {
    let tools = names.into_iter().map(|name| {
        let schema = object! { "json": object! { "type": "object" } };
        let spec = [
            ("name", name.into()),
            ("description", "Not available.".into()),
            ("inputSchema", schema),
        ];
        object! { "toolSpec": Json::object(spec) }
    });
    object! { "tools": Json::Array(tools.collect()) }
}

pub(super) const TOOLS: Tools = Tools {
    described: true,
    object: true,
    ..Tools::common(
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html (read 2026-11-23)",
    )
};
