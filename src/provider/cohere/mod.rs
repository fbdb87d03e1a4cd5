//! Cohere v2: OpenAI's format; a message that has only calls has no content.
//! <https://docs.cohere.com/v2/reference/chat>

use super::chat::{self, Silence, Style};
use super::request::Requests;
use super::rules::{COMMON, Fields, Replay, Rules};
use super::shapes::Marks;
use super::stream::Stream;

pub(super) const RULES: Rules = Rules {
    own: Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED).and(Marks::COHERE),
    reasoning: Replay::Native,
    fields: Fields { message: &["citations"], text: &["tool_plan"], ..Fields::NONE },
    write: |message, out| chat::write(message, STYLE, out),
    blocks: &["image_url", "document", "thinking"],
    ..COMMON
};

const STYLE: Style =
    Style { silence: Silence::Omitted, typed: true, result_name: None, lists: true, plan: true };

pub(super) const STREAM: Stream = Stream::None;

pub(super) const REQUESTS: Requests = chat::FOR_HOSTS;
