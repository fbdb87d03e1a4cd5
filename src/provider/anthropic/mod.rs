//! Anthropic Messages: <https://docs.anthropic.com/en/api/messages>.

mod message;
mod request;
mod stream;

pub(super) use request::REQUESTS;

use super::content::blocks;
use super::rules::{
    Arguments, COMMON, EmptyResult, Fields, Ids, Last, Media, Merge, Replay, Results, Rules, System,
};
use super::shapes::Marks;
use super::stream::Stream;
use crate::json::Json;
use crate::stream::AnyEvents;
use message::{block, write};

pub(super) const RULES: Rules = Rules {
    own: Marks::ANTHROPIC.and(Marks::PLAIN).and(Marks::TYPED),
    system: System::Apart,
    first_user: true,
    last: Last::NotAssistant,
    merge: Merge::Neater,
    ids: Ids::Word(64),
    results: Results::WithUser,
    arguments: Arguments::Object,
    reasoning: Replay::Signed,
    empty_result: EmptyResult::RefusedOnError,
    calls_last: true,
    empty_refused: true,
    strict: true,
    media: Media::Files,
    fields: Fields {
        text: &["cache_control", "citations"],
        call: &["cache_control", "caller"],
        result: &["cache_control", "is_error"],
        ..Fields::NONE
    },
    write,
    write_system: |texts| Json::Array(blocks(texts, block)),
    shows_results: true,
    ..COMMON
};

pub(super) const STREAM: Stream = Stream::Sse(|| AnyEvents::new(stream::Messages::default()));
