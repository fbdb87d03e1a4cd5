//! Bedrock Converse: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html>.

mod message;

use super::chat;
use super::content::blocks;
use super::request::Requests;
use super::rules::{
    Arguments, COMMON, EmptyResult, Fields, Ids, Last, Media, Merge, Replay, Results, Rules,
    System, UndeclaredTools,
};
use super::shapes::Marks;
use super::stream::Stream;
use crate::json::Json;
use message::{block, write};

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
    undeclared_tools: UndeclaredTools::Refused { stubs },
    ..COMMON
};

pub(super) const STREAM: Stream = Stream::None;

pub(super) const REQUESTS: Requests = chat::FOR_HOSTS;

/// Declares tools that cannot be called.
fn stubs(names: Vec<String>) -> Json<'static> {
    let tools = names.into_iter().map(|name| {
        let schema = Json::object([("json", Json::object([("type", "object".into())]))]);
        let spec = [
            ("name", name.into()),
            ("description", "Not available.".into()),
            ("inputSchema", schema),
        ];
        Json::object([("toolSpec", Json::object(spec))])
    });
    Json::object([("tools", Json::Array(tools.collect()))])
}
