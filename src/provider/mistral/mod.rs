//! Mistral: OpenAI's format with a required order of roles.
//! <https://docs.mistral.ai/api/#tag/chat>, and the validator of `mistral-common`.

use super::chat::{self, Silence, Style};
use super::info::ProviderInfo;
use super::prompt::Requests;
use super::result_media::MediaBytes;
use super::rules::{
    Arguments, Blank, Bridge, Fields, First, Ids, Last, Merge, Replay, Rules, System,
};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;

const OWN: Marks = Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED);

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("https://api.mistral.ai/v1"),
    key_variable: Some("MISTRAL_API_KEY"),
    hosts: &["api.mistral.ai"],
    seed: &["random_seed"],
    ..ProviderInfo::chat("Mistral")
};

pub(super) const RULES: Rules = Rules {
    system: System::First,
    first: First::User,
    last: Last::NotAssistant,
    merge: Merge::Neater,
    // Code 3230: "Unexpected role 'user' after role 'tool'". Recorded requests were taken without.
    bridge: Bridge::Better,
    ids: Ids::Nine,
    null: false,
    // Not confirmed: on 2026-11-30 no page of Mistral was found that states it. Its list of limitations
    // (https://docs.mistral.ai/resources/known-limitations) does not.
    media_bytes: MediaBytes {
        image: 10_000_000,
        file: 0,
        source: "https://docs.mistral.ai/capabilities/vision (not confirmed 2026-11-30)",
    },
    arguments: Arguments::Text { read: true },
    reasoning: Replay::Native,
    blank: Blank::Refused,
    strict: true,
    fields: Fields { message: &["prefix"], result: &["name"], ..Fields::NONE },
    blocks: &[
        "image_url",
        "image_url:text",
        "document_url",
        "reference",
        "input_audio",
        "thinking",
    ],
    style: Some(STYLE),
    ..chat::rules(OWN, |message, out| chat::write(message, STYLE, out))
};

const STYLE: Style = Style {
    silence: Silence::Empty,
    typed: true,
    result_name: Some("name"),
    lists: false,
    plan: false,
};

pub(super) const STREAM: Stream = chat::STREAM;

// It refuses unknown members, of which `stream_options` is one.
pub(super) const REQUESTS: Requests =
    Requests { post: Some(chat::post(chat::started)), ..chat::REQUESTS };

pub(super) const TOOLS: Tools = Tools::common(super::tools::COMPATIBLE);
