//! Groq: OpenAI's format; unknown fields are refused.
//! <https://console.groq.com/docs/openai>

use super::chat::{self, Silence, Style};
use super::info::ProviderInfo;
use super::prompt::Requests;
use super::result_media::MediaBytes;
use super::rules::{Fields, Rules};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;

const OWN: Marks = Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED);

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("https://api.groq.com/openai/v1"),
    key_variable: Some("GROQ_API_KEY"),
    hosts: &["api.groq.com"],
    seed: &["seed"],
    ..ProviderInfo::chat("Groq")
};

pub(super) const RULES: Rules = Rules {
    strict: true,
    typed_calls: true,
    media_bytes: MediaBytes {
        // 4 MB of base64.
        image: 4_000_000 / 4 * 3,
        file: 0,
        source: "https://console.groq.com/docs/vision (read 2026-11-30)",
    },
    fields: Fields { message: &["name"], result: &["name"], ..Fields::NONE },
    style: Some(STYLE),
    ..chat::rules(OWN, |message, out| chat::write(message, STYLE, out))
};

const STYLE: Style =
    Style { silence: Silence::Null, typed: true, result_name: None, lists: true, plan: false };

pub(super) const STREAM: Stream = chat::STREAM;

pub(super) const REQUESTS: Requests = chat::REQUESTS;

pub(super) const TOOLS: Tools = Tools {
    most: Some(128),
    ..Tools::common("groq-typescript, src/resources/chat/completions.ts (2026-11)")
};
