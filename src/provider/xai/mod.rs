//! xAI: OpenAI's format; content is never null.
//! <https://docs.x.ai/docs/api-reference#chat-completions>

use super::chat::{self, Silence, Style};
use super::request::Requests;
use super::rules::{COMMON, Fields, Rules};
use super::shapes::Marks;
use super::stream::Stream;

pub(super) const RULES: Rules = Rules {
    own: Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED),
    null: false,
    fields: Fields { message: &["name"], result: &["name"], ..Fields::NONE },
    write: |message, out| chat::write(message, STYLE, out),
    ..COMMON
};

const STYLE: Style =
    Style { silence: Silence::Empty, typed: true, result_name: None, lists: true, plan: false };

pub(super) const STREAM: Stream = chat::STREAM;

pub(super) const REQUESTS: Requests = chat::REQUESTS;
