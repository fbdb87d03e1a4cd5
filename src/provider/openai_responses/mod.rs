//! OpenAI Responses: a list of items.
//! <https://platform.openai.com/docs/api-reference/responses/create#responses-create-input>

mod message;
mod request;
mod stream;

pub(super) use request::REQUESTS;

use super::chat;
use super::info::ProviderInfo;
use super::result_media::ResultMedia;
use super::rules::{Blank, Elements, Fields, Ids, Media, Names, Replay, ResultParts, Rules};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;
use crate::stream::AnyEvents;
use message::write;

const OWN: Marks = Marks::RESPONSES.and(Marks::PLAIN);

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("https://api.openai.com/v1"),
    key_variable: Some("OPENAI_API_KEY"),
    path_ends: &["/responses"],
    threads: true,
    ..ProviderInfo::of("OpenAI Responses", "openaiResponses", "/responses")
};

pub(super) const RULES: Rules = Rules {
    elements: Elements::Items,
    developer: true,
    instructions_alone: true,
    blank: Blank::Kept,
    ids: Ids::Length(64),
    names: Names::Word(128),
    reasoning: Replay::Native,
    strict: true,
    media: Media::Files,
    fields: Fields {
        message: &["type", "id", "status", "phase"],
        text: &["annotations", "logprobs", "prompt_cache_breakpoint"],
        call: &["id", "status", "namespace", "caller"],
        result: &["id", "status", "caller"],
    },
    result_parts: ResultParts::Listed,
    // https://platform.openai.com/docs/api-reference/responses/create: `input_text`, `input_image` and
    // `input_file` (read 2026-11-30).
    result_media: |_| ResultMedia::Inside(Media::Files),
    media_bytes: chat::OPENAI_MEDIA,
    ..Rules::common(OWN, write)
};

pub(super) const STREAM: Stream = Stream::Events(|| AnyEvents::new(stream::Items::default()));

pub(super) const TOOLS: Tools = Tools {
    object: true,
    // github: ruvnet/ruflo#1294 (2026-03-05), garrytan/gbrain#1028 (2026-05-15).
    whole: true,
    not_at_root: &["oneOf", "anyOf", "allOf", "enum", "not"],
    strict: Some(&chat::STRICT),
    ..Tools::common("github: langchain-ai/langchainjs#9804 (2026-11-23)")
};
