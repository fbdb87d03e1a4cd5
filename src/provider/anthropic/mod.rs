//! Anthropic Messages: <https://docs.anthropic.com/en/api/messages>.

mod message;
mod request;
mod stream;

pub(super) use request::REQUESTS;

use super::content::blocks;
use super::info::ProviderInfo;
use super::result_media::{MediaBytes, ResultMedia};
use super::rules::{
    Arguments, Blank, EmptyResult, Fields, First, Ids, Last, Media, Merge, Replay, ResultParts,
    Results, Rules, System,
};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;
use crate::json::Json;
use crate::stream::{AnyEvents, FRAMES};
use message::{block, write};

const OWN: Marks = Marks::ANTHROPIC.and(Marks::PLAIN).and(Marks::TYPED);

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("https://api.anthropic.com/v1"),
    key_variable: Some("ANTHROPIC_API_KEY"),
    key_header: "x-api-key",
    headers: &[("anthropic-version", "2023-06-01")],
    page_header: Some("anthropic-dangerous-direct-browser-access"),
    path_ends: &["/messages"],
    ..ProviderInfo::of("Anthropic", "anthropic", "/messages")
};

pub(super) const RULES: Rules = Rules {
    list: Some("content"),
    system: System::Apart { write: |texts| Json::Array(blocks(texts, block)) },
    // https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
    system_after_user: true,
    first: First::Better,
    last: Last::NotAssistant,
    merge: Merge::Neater,
    ids: Ids::Word(64),
    results: Results::WithUser,
    result_parts: ResultParts::Listed,
    // https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls: text, images,
    // documents (read 2026-11-30).
    result_media: |_| ResultMedia::Inside(Media::Documents),
    media_bytes: MediaBytes {
        // 10 MB of base64; 32 MB for a request.
        image: 10 * 1024 * 1024 / 4 * 3,
        file: 32 * 1024 * 1024 / 4 * 3,
        source: "github: can1357/oh-my-pi#10633 (2026-09-03)",
    },
    arguments: Arguments::Object { or_text: false },
    reasoning: Replay::Signed,
    empty_result: EmptyResult::RefusedOnError,
    calls_last: true,
    blank: Blank::Refused,
    strict: true,
    media: Media::Documents,
    fields: Fields {
        text: &["cache_control", "citations"],
        call: &["cache_control", "caller"],
        result: &["cache_control", "is_error"],
        ..Fields::NONE
    },
    error_flag: true,
    // "A maximum of 4 blocks with cache_control may be provided. Found 5.":
    // https://platform.claude.com/docs/en/build-with-claude/prompt-caching (read 2026-11-30).
    cache_marks: 4,
    ..Rules::common(OWN, write)
};

/// Bedrock's `InvokeModelWithResponseStream` sends these events in binary frames.
pub(super) const STREAM: Stream = Stream::Framed(events, FRAMES, None);

/// The decoder of one response.
pub(super) fn events() -> AnyEvents {
    AnyEvents::new(stream::Messages::default())
}

pub(super) const TOOLS: Tools = Tools {
    object: true,
    not_at_root: &["oneOf", "anyOf", "allOf"],
    property: Some(64),
    ..Tools::common(
        "github: anthropics/claude-code#44788, beautyfree/appstore-connect-mcp#2 (2026-11-23)",
    )
};
