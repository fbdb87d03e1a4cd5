//! Cohere v2: OpenAI's format; a message that has only calls has no content.
//! <https://docs.cohere.com/v2/reference/chat>

mod request;
mod stream;

pub(super) use request::REQUESTS;

use super::chat::{self, Silence, Style};
use super::info::ProviderInfo;
use super::result_media::ResultMedia;
use super::rules::{Fields, Replay, Rules};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;
use crate::stream::AnyEvents;

const OWN: Marks = Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED).and(Marks::COHERE);

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("https://api.cohere.com/v2"),
    key_variable: Some("CO_API_KEY"),
    hosts: &["api.cohere.com", "api.cohere.ai"],
    path_ends: &["/v2/chat"],
    seed: &["seed"],
    ..ProviderInfo::of("Cohere", "cohere", "/chat")
};

pub(super) const RULES: Rules = Rules {
    reasoning: Replay::Native,
    // Its models that see images take no tools: https://docs.cohere.com/docs/command-a-vision (not
    // confirmed on 2026-11-30).
    result_media: |_| ResultMedia::Note,
    fields: Fields { message: &["citations"], text: &["tool_plan"], ..Fields::NONE },
    blocks: &["image_url", "document", "thinking"],
    ..chat::rules(OWN, |message, out| chat::write(message, STYLE, out))
};

const STYLE: Style =
    Style { silence: Silence::Omitted, typed: true, result_name: None, lists: true, plan: true };

pub(super) const STREAM: Stream = Stream::Events(|| AnyEvents::new(stream::Steps::default()));

pub(super) const TOOLS: Tools = Tools::common(super::tools::COMPATIBLE);
