//! LangChain messages in plain form: <https://python.langchain.com/docs/concepts/messages/>.

use super::chat::{self, Silence, Style};
use super::content::{Members, Message, Out, Role, blocks};
use super::info::ProviderInfo;
use super::prompt::{AnsweredCall, Exchange, Requests};
use super::result_media::ResultMedia;
use super::rules::{Arguments, Media, Rules};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Tools;
use crate::json::{Add, Json, members, object};

const OWN: Marks = Marks::LANGCHAIN.and(Marks::CHAT).and(Marks::PLAIN).and(Marks::TYPED);

pub(super) const INFO: ProviderInfo =
    ProviderInfo { client: None, ..ProviderInfo::of("LangChain", "", "") };

pub(super) const RULES: Rules = Rules {
    arguments: Arguments::Object { or_text: true },
    media_of_user: false,
    result_media: |_| ResultMedia::Inside(Media::Images),
    error_flag: true,
    ..chat::rules(OWN, write)
};

const STYLE: Style =
    Style { silence: Silence::Empty, typed: true, result_name: None, lists: true, plan: false };

pub(super) const STREAM: Stream = Stream::None;

pub(super) const REQUESTS: Requests = Requests { exchange, ..chat::FOR_HOSTS };

/// Converts calls and their answers. Unlike in Chat Completions, results say whether they failed.
fn exchange(exchange: &Exchange<'_>) -> Vec<Json<'static>> {
    let Exchange { reasoning, foreign, text, calls } = exchange;
    let unmarked =
        calls.iter().map(|call| AnsweredCall { failed: false, ..call.clone() }).collect();
    let exchange = Exchange { reasoning, foreign: *foreign, text, calls: unmarked };
    let mut elements = (chat::FOR_HOSTS.exchange)(&exchange);
    for (element, call) in elements.iter_mut().skip(1).zip(calls) {
        if let (Json::Object(result), true) = (element, call.failed) {
            result.add("status", "error");
        }
    }
    elements
}

fn write<'a>(message: Message<'a>, out: &mut Vec<Json<'a>>) {
    let kind = match message.role {
        Role::System | Role::Developer => "system",
        Role::User => "human",
        Role::Assistant => "ai",
        Role::Tool => {
            out.extend(blocks(message.parts, result));
            return;
        }
    };
    let mut calls = Vec::new();
    // LangChain streams a text as a list with one text block; it is written as a plain text.
    let mut said = Message { parts: Vec::new(), listed: false, ..message };
    for part in message.parts {
        match part {
            Out::Call { id, name, arguments, .. } => calls.push(object! {
                "id": id,
                "name": name,
                "args": arguments,
                "type": "tool_call",
            }),
            part => said.parts.push(part),
        }
    }
    // The other parts are written in OpenAI's format.
    let mut written = Vec::new();
    chat::write(said, STYLE, &mut written);
    let content = written.pop().and_then(|message| message.get("content").cloned());
    let mut members: Members<'a> = members! { "type": kind };
    members.add("content", content.unwrap_or_else(|| "".into()));
    if !calls.is_empty() {
        members.add("tool_calls", Json::Array(calls));
    }
    out.push(Json::Object(members));
}

fn result(part: Out<'_>) -> Option<Json<'_>> {
    let Out::Result { id, name, content, error, .. } = part else { return None };
    let mut members: Members<'_> = members! {
        "type": "tool",
        "tool_call_id": id,
        "name": name,
        "content": chat::payload(content),
    };
    if error {
        members.add("status", "error");
    }
    Some(Json::Object(members))
}

pub(super) const TOOLS: Tools = Tools::common(super::tools::COMPATIBLE);
