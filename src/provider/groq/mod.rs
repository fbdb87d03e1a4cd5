//! Groq: OpenAI's format; unknown fields are refused.
//! <https://console.groq.com/docs/openai>

use super::chat::{self, Silence, Style};
use super::request::Requests;
use super::rules::{COMMON, Fields, Rules};
use super::shapes::Marks;
use super::stream::Stream;

pub(super) const RULES: Rules = Rules {
    own: Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED),
    strict: true,
    fields: Fields { message: &["name"], result: &["name"], ..Fields::NONE },
    write: |message, out| chat::write(message, STYLE, out),
    ..COMMON
};

const STYLE: Style =
    Style { silence: Silence::Null, typed: true, result_name: None, lists: true, plan: false };

pub(super) const STREAM: Stream = chat::STREAM;

pub(super) const REQUESTS: Requests = chat::REQUESTS;
