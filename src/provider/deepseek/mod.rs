//! DeepSeek: OpenAI's format with reasoning beside calls.
//! <https://api-docs.deepseek.com/guides/thinking_mode>

use super::chat::{self, Silence, Style};
use super::info::ProviderInfo;
use super::prompt::{Requests, Structured};
use super::result_media::ResultMedia;
use super::rules::{Fields, Last, Media, Replay, ResultParts, Rules};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;
use crate::json::{Json, object};

// Lists of texts and null beside calls were taken, as requests to it that were recorded show.
const OWN: Marks = Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED);

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("https://api.deepseek.com"),
    key_variable: Some("DEEPSEEK_API_KEY"),
    hosts: &["api.deepseek.com"],
    ..ProviderInfo::chat("DeepSeek")
};

pub(super) const RULES: Rules = Rules {
    // The reasoner refuses a final assistant message; the other models continue it only on request.
    last: Last::Better,
    // "missing field `type`"
    typed_calls: true,
    reasoning: Replay::Content,
    // Since V4.1 Flash (2026-09-10), by URL or base64, in messages of the user and in results:
    // https://api-docs.deepseek.com/guides/vision; github: vercel/ai#21174 (2026-09-19). Servers of
    // older weights refuse images in results (MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#189 of
    // 2026-09-02). The models that read text only: rikkahub/rikkahub#1433 (2026-07-03),
    // cloudflare/cloudflare-docs#32853 (2026-08-19).
    media: Media::Images,
    text_models: &["deepseek-chat", "deepseek-reasoner", "deepseek-coder", "deepseek-v4-pro"],
    result_media: |_| ResultMedia::Inside(Media::Images),
    fields: Fields { message: &["name", "prefix"], result: &["name"], ..Fields::NONE },
    result_parts: ResultParts::Joined,
    blocks: &["image_url"],
    style: Some(STYLE),
    ..chat::rules(OWN, |message, out| chat::write(message, STYLE, out))
};

const STYLE: Style =
    Style { silence: Silence::Empty, typed: true, result_name: None, lists: false, plan: false };

pub(super) const STREAM: Stream = chat::STREAM;

pub(super) const REQUESTS: Requests = Requests {
    structured: Structured::Member(json_object),
    recorded: Some(chat::recorded),
    ..chat::REQUESTS
};

/// <https://api-docs.deepseek.com/guides/json_mode>: objects, but no schema.
fn json_object(_: &'static str, _: Json<'static>) -> (&'static str, Json<'static>) {
    ("response_format", object! { "type": "json_object" })
}

pub(super) const TOOLS: Tools = Tools::common(super::tools::COMPATIBLE);
