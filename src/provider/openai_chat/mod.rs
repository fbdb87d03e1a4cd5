//! OpenAI Chat Completions: <https://platform.openai.com/docs/api-reference/chat/create>.

use super::chat::{self, Silence, Style};
use super::info::ProviderInfo;
use super::prompt::Requests;
use super::rules::{Fields, Media, Replay, Rules};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;

const OWN: Marks = Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED);

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("https://api.openai.com/v1"),
    key_variable: Some("OPENAI_API_KEY"),
    path_ends: &["/chat/completions"],
    seed: &["seed"],
    ..ProviderInfo::chat("OpenAI Chat")
};

pub(super) const RULES: Rules = Rules {
    developer: true,
    instructions_alone: true,
    typed_calls: true,
    empty_lists: false,
    media: Media::FilesAsBytes,
    media_bytes: chat::OPENAI_MEDIA,
    fields: Fields {
        message: &["name", "audio", "annotations"],
        text: &["prompt_cache_breakpoint"],
        call: &["custom", "extra_content"],
        result: &["name"],
    },
    reasoning: Replay::Details,
    // Perplexity takes `file_url`, <https://docs.perplexity.ai/guides/file-attachments> (2026-11-30).
    blocks: &["image_url", "input_audio", "file", "refusal", "video_url", "file_url"],
    style: Some(STYLE),
    ..chat::rules(OWN, |message, out| chat::write(message, STYLE, out))
};

const STYLE: Style =
    Style { silence: Silence::Null, typed: true, result_name: None, lists: true, plan: false };

pub(super) const STREAM: Stream = chat::STREAM;

pub(super) const REQUESTS: Requests = Requests { recorded: Some(chat::recorded), ..chat::REQUESTS };

pub(super) const TOOLS: Tools = Tools {
    most: Some(128),
    description: Some(1024),
    object: true,
    // github: ruvnet/ruflo#1294 (2026-03-05), garrytan/gbrain#1028 (2026-05-15).
    whole: true,
    not_at_root: &["oneOf", "anyOf", "allOf", "enum", "not"],
    strict: Some(&chat::STRICT),
    ..Tools::common(
        "github: getsentry/sentry-mcp#106, langchain-ai/langchainjs#9804, mcp-use#90 (2026-11-23)",
    )
};
