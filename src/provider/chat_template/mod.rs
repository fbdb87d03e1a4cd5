//! The strict chat templates of models behind vLLM, llama.cpp and LM Studio: they accept one system
//! message, then alternating user and assistant messages, and parse the arguments of every call.
//! <https://huggingface.co/docs/transformers/chat_templating>

use super::chat::{self, Silence, Style};
use super::info::ProviderInfo;
use super::prompt::Requests;
use super::rules::{Arguments, Bridge, First, Ids, Last, Merge, Rules, System};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;

const OWN: Marks = Marks::CHAT.and(Marks::PLAIN).and(Marks::TYPED);

pub(super) const INFO: ProviderInfo = ProviderInfo::chat("Chat template");

pub(super) const RULES: Rules = Rules {
    system: System::First,
    first: First::User,
    last: Last::NotAssistant,
    merge: Merge::Needed,
    bridge: Bridge::Needed,
    ids: Ids::Nine,
    null: false,
    media_of_user: false,
    arguments: Arguments::Text { read: true },
    style: Some(STYLE),
    ..chat::rules(OWN, |message, out| chat::write(message, STYLE, out))
};

const STYLE: Style =
    Style { silence: Silence::Empty, typed: true, result_name: None, lists: false, plan: false };

pub(super) const STREAM: Stream = chat::STREAM;

pub(super) const REQUESTS: Requests = chat::REQUESTS;

pub(super) const TOOLS: Tools = Tools::common(super::tools::COMPATIBLE);
