//! Groq: OpenAI's format; unknown fields are refused.
//! <https://console.groq.com/docs/openai>

use super::super::model::Marks;
use super::super::rules::{COMMON, Fields, Rules};
use super::chat::{self, Silence, Style};

pub(super) const RULES: Rules = Rules {
    own: Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED),
    strict: true,
    fields: Fields { message: &["name"], result: &["name"], ..Fields::NONE },
    write: |message, out| chat::write(message, STYLE, out),
    ..COMMON
};

const STYLE: Style =
    Style { silence: Silence::Null, typed: true, result_name: None, lists: true, plan: false };
