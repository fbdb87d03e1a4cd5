//! DeepSeek: OpenAI's format with text content only, and reasoning beside calls.
//! <https://api-docs.deepseek.com/guides/thinking_mode>

use super::super::model::Marks;
use super::super::rules::{COMMON, Fields, Last, Media, Replay, Rules};
use super::chat::{self, Silence, Style};

pub(super) const RULES: Rules = Rules {
    own: Marks::CHAT.and(Marks::PLAIN),
    null: false,
    // The reasoner refuses a final assistant message; the other models continue it only on request.
    last: Last::Better,
    reasoning: Replay::Content,
    media: Media::None,
    fields: Fields { message: &["name", "prefix"], result: &["name"], ..Fields::NONE },
    write: |message, out| chat::write(message, STYLE, out),
    blocks: &[],
    ..COMMON
};

const STYLE: Style =
    Style { silence: Silence::Empty, typed: true, result_name: None, lists: false, plan: false };
