//! Gemini `generateContent`: <https://ai.google.dev/api/generate-content>.

mod message;

use super::chat;
use super::content::blocks;
use super::request::Requests;
use super::rules::{
    Arguments, COMMON, Fields, Ids, Last, Media, Merge, Names, Replay, Results, Rules, System,
};
use super::shapes::Marks;
use super::stream::Stream;
use crate::json::Json;
use message::{part, write};

pub(super) const RULES: Rules = Rules {
    own: Marks::GEMINI,
    system: System::Apart,
    first_user: true,
    last: Last::NotAssistant,
    merge: Merge::Neater,
    ids: Ids::None,
    ids_optional: true,
    names: Names::Gemini,
    results: Results::Alone,
    arguments: Arguments::Object,
    reasoning: Replay::Native,
    empty_refused: true,
    strict: true,
    media: Media::Files,
    fields: Fields {
        text: &["thoughtSignature"],
        result: &["parts", "scheduling", "willContinue"],
        ..Fields::NONE
    },
    write,
    write_system: |texts| {
        let parts = blocks(texts, part);
        Json::object([("parts", Json::Array(parts))])
    },
    ..COMMON
};

pub(super) const STREAM: Stream = Stream::None;

pub(super) const REQUESTS: Requests = chat::FOR_HOSTS;
