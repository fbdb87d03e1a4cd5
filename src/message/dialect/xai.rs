//! xAI: OpenAI's format; content is never null.
//! <https://docs.x.ai/docs/api-reference#chat-completions>

use super::super::model::Marks;
use super::super::rules::{COMMON, Fields, Rules};
use super::chat::{self, Silence, Style};

pub(super) const RULES: Rules = Rules {
    own: Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED),
    null: false,
    fields: Fields { message: &["name"], result: &["name"], ..Fields::NONE },
    write: |message, out| chat::write(message, STYLE, out),
    ..COMMON
};

const STYLE: Style =
    Style { silence: Silence::Empty, typed: true, result_name: None, lists: true, plan: false };
