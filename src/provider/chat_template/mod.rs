//! The strict chat templates of models behind vLLM, llama.cpp and LM Studio: they accept one system
//! message, then alternating user and assistant messages, and parse the arguments of every call.
//! <https://huggingface.co/docs/transformers/chat_templating>

use super::chat::{self, Silence, Style};
use super::request::Requests;
use super::rules::{Arguments, COMMON, Ids, Last, Merge, Rules, System};
use super::shapes::Marks;
use super::stream::Stream;

pub(super) const RULES: Rules = Rules {
    own: Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED),
    system: System::First,
    first_user: true,
    last: Last::NotAssistant,
    merge: Merge::Needed,
    bridge: true,
    ids: Ids::Nine,
    null: false,
    arguments: Arguments::Text { read: true },
    write: |message, out| chat::write(message, STYLE, out),
    ..COMMON
};

const STYLE: Style =
    Style { silence: Silence::Empty, typed: true, result_name: None, lists: false, plan: false };

pub(super) const STREAM: Stream = chat::STREAM;

pub(super) const REQUESTS: Requests = chat::REQUESTS;
