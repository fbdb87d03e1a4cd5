//! xAI: OpenAI's format; content is never null.
//! <https://docs.x.ai/docs/api-reference#chat-completions>

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
    base_url: Some("https://api.x.ai/v1"),
    key_variable: Some("XAI_API_KEY"),
    hosts: &["api.x.ai"],
    seed: &["seed"],
    ..ProviderInfo::chat("xAI")
};

pub(super) const RULES: Rules = Rules {
    null: false,
    media_bytes: MediaBytes {
        image: 20 * 1024 * 1024,
        file: 0,
        source: "https://docs.x.ai/docs/guides/image-understanding (read 2026-11-30)",
    },
    fields: Fields { message: &["name"], result: &["name"], ..Fields::NONE },
    style: Some(STYLE),
    ..chat::rules(OWN, |message, out| chat::write(message, STYLE, out))
};

const STYLE: Style =
    Style { silence: Silence::Empty, typed: true, result_name: None, lists: true, plan: false };

pub(super) const STREAM: Stream = chat::STREAM;

pub(super) const REQUESTS: Requests = chat::REQUESTS;

pub(super) const TOOLS: Tools = Tools::common(super::tools::COMPATIBLE);
