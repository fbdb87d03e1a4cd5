//! Ollama's own API: arguments are objects, results name their tool, ids are not needed.
//! <https://docs.ollama.com/api/chat>

mod request;
mod stream;

pub(super) use request::REQUESTS;

use super::chat::{self, Silence, Style};
use super::content::{Message, Out, ResultOut, joined};
use super::info::ProviderInfo;
use super::result_media::ResultMedia;
use super::rules::{Arguments, Media, Replay, ResultParts, Rules, SentIds};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;
use crate::json::{Add, Json};
use crate::stream::AnyEvents;

const OWN: Marks = Marks::CHAT.and(Marks::PLAIN).and(Marks::OLLAMA);

pub(super) const INFO: ProviderInfo = ProviderInfo {
    base_url: Some("http://localhost:11434"),
    key_variable: Some("OLLAMA_API_KEY"),
    path_ends: &["/api/chat"],
    seed: &["options", "seed"],
    ..ProviderInfo::of("Ollama", "ollama", "/api/chat")
};

pub(super) const RULES: Rules = Rules {
    null: false,
    sent_ids: SentIds::IfGiven,
    arguments: Arguments::Object { or_text: false },
    reasoning: Replay::Thinking,
    media: Media::ImagesAsBytes,
    media_of_user: false,
    // `images` is a member of every message: https://docs.ollama.com/api/chat;
    // github: stdapi-ai/stdapi.ai#255 (2026-09-17).
    result_media: |_| ResultMedia::Inside(Media::ImagesAsBytes),
    result_parts: ResultParts::Joined,
    blocks: &[],
    ..chat::rules(OWN, write)
};

const STYLE: Style = Style {
    silence: Silence::Empty,
    typed: false,
    result_name: Some("tool_name"),
    lists: false,
    plan: false,
};

pub(super) const STREAM: Stream = Stream::Marked(|| AnyEvents::new(stream::Lines::default()));

/// The text of a result, and the images beside it.
fn split(content: ResultOut<'_>) -> (Json<'_>, Vec<Json<'_>>) {
    let ResultOut::Parts(parts) = content else { return (chat::payload(content), Vec::new()) };
    let images = parts.iter().filter_map(|part| match part {
        Out::Media(seen) => Some(Json::String(seen.data.clone())),
        Out::Native(block) => block.get("image").cloned(),
        _ => None,
    });
    let images = images.collect();
    (joined(&parts, "\n"), images)
}

/// Writes images beside the text, as bare base64.
fn write<'a>(mut message: Message<'a>, out: &mut Vec<Json<'a>>) {
    for part in &mut message.parts {
        let Out::Result { content, extra, .. } = part else { continue };
        let (text, images) = split(std::mem::replace(content, ResultOut::Text(Json::Null)));
        *content = ResultOut::Text(text);
        if !images.is_empty() {
            extra.add("images", Json::Array(images));
        }
    }
    let mut images = Vec::new();
    message.parts.retain(|part| match part {
        Out::Media(seen) => {
            images.push(Json::String(seen.data.clone()));
            false
        }
        Out::Native(block) => {
            images.extend(block.get("image").cloned());
            block.get("image").is_none()
        }
        _ => true,
    });
    if !images.is_empty() {
        message.extra.add("images", Json::Array(images));
    }
    chat::write(message, STYLE, out);
}

pub(super) const TOOLS: Tools = Tools::common(super::tools::COMPATIBLE);
