//! The strict chat templates of models behind vLLM, llama.cpp and LM Studio: they accept one system
//! message, then alternating user and assistant messages, and parse the arguments of every call.
//! <https://huggingface.co/docs/transformers/chat_templating>

use super::chat;
use super::info::ProviderInfo;
use super::prompt::Requests;
use super::rules::{Arguments, Bridge, Fields, First, Ids, Last, Merge, Replay, Rules, System};
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
    // Nine characters are a rule of Mistral's template alone, for which there is `mistral`. Kimi's
    // template wants `functions.{name}:{index}` back: getkimchi/kimchi#1063 (2026-08-19).
    ids: Ids::Length(usize::MAX),
    null: false,
    media_of_user: false,
    // Templates of models that think render the reasoning before a call, as servers have named it;
    // the servers ignore what a template does not read.
    reasoning: Replay::Details,
    fields: Fields { call: &["extra_content"], ..Fields::NONE },
    arguments: Arguments::Text { read: true },
    style: Some(chat::TEXTS),
    ..chat::rules(OWN, chat::write_texts)
};

pub(super) const STREAM: Stream = chat::STREAM;

pub(super) const REQUESTS: Requests = Requests { recorded: Some(chat::recorded), ..chat::REQUESTS };

pub(super) const TOOLS: Tools = Tools::common(super::tools::COMPATIBLE);
