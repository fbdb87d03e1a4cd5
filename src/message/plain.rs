//! Plain histories: messages with a role, of which a provider of Chat Completions takes each as it
//! is.
//!
//! ```text
//! { role: "system" | "user", content }
//! { role: "assistant", content?, tool_calls: [{ id, type, function: { name, arguments } }] }
//! { role: "assistant", content?, toolCalls: [{ id, name, args }] }
//! { role: "tool", tool_call_id | toolCallId, content }
//! ```
//!
//! Most turns have such a history, and its messages are written one by one. What [`History`] would
//! repair, and every other shape, is refused here and left to it. A test compares both over generated
//! histories.
//!
//! [`History`]: super::History

use std::borrow::Cow;

use super::args::settle;
use super::arrange::LAST;
use super::ids::{IdMap, NameMap, Reasons};
use super::model::Args;
use super::prepare::UNKNOWN_TOOL;
use crate::index::Index;
use crate::json::{Add, Json, members, object};
use crate::provider::{self, Arguments, Members};

/// A plain history, and what a turn has added to it.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    rules: provider::Plain,
    written: Vec<Json<'static>>,
    /// The ids of the calls that wait for a result, as given and as sent, the last call first.
    waiting: Vec<(Text, Text)>,
    index: Index,
    ids: IdMap,
    names: NameMap,
    seen: Seen,
}

type Text = Cow<'static, str>;

/// What the elements so far contained.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// A message of the user or of the assistant.
    spoken: bool,
    /// A content that is a list.
    list: bool,
    /// A member in camelCase.
    camel: bool,
    /// What a [`History`](super::History) would repair.
    repair: bool,
}

/// The members of an element.
#[derive(Default)]
struct Given {
    role: Option<Json<'static>>,
    content: Option<Json<'static>>,
    calls: Option<Json<'static>>,
    answers: Option<Text>,
    reasoning: Option<Json<'static>>,
    camel: bool,
}

/// A call of an element.
#[derive(Default)]
struct GivenCall {
    id: Option<Text>,
    name: Option<Text>,
    arguments: Option<Json<'static>>,
    function: Option<Json<'static>>,
}

impl Plain {
    /// Reads the given history; `None` if it is not a plain one.
    pub(crate) fn of(rules: provider::Plain, history: Vec<Json<'static>>) -> Option<Self> {
        let mut read = Self {
            rules,
            written: Vec::with_capacity(history.len()),
            waiting: Vec::new(),
            index: Index::default(),
            ids: IdMap::default(),
            names: NameMap::default(),
            seen: Seen::default(),
        };
        let known = read.append(history);
        let Seen { spoken, list, camel, repair } = read.seen;
        let ends = rules.ends_with_assistant || !read.ends_with_assistant();
        // Lists stay lists only in a history that is in the provider's own shape throughout.
        let one_shape = !(list && camel);
        (known && spoken && ends && one_shape && !repair && read.waiting.is_empty()).then_some(read)
    }

    /// Appends elements; `false` if one is not plain.
    pub(super) fn append(&mut self, elements: Vec<Json<'static>>) -> bool {
        elements.into_iter().all(|element| self.element(element).is_some())
    }

    /// Removes the last element, which must be one message without calls.
    pub(super) fn retract(&mut self) {
        self.written.pop();
    }

    /// The messages so far.
    pub(super) fn messages(&self) -> Vec<Json<'static>> {
        let mut messages = self.written.clone();
        if !self.rules.ends_with_assistant && self.ends_with_assistant() {
            messages.push(object! { "role": "user", "content": LAST });
        }
        messages
    }

    fn ends_with_assistant(&self) -> bool {
        self.written.last().is_some_and(|last| {
            let role = last.get("role").and_then(Json::as_str);
            role == Some("assistant") && last.get("tool_calls").is_none()
        })
    }

    fn element(&mut self, element: Json<'static>) -> Option<()> {
        let given = Given::of(element)?;
        self.seen.camel |= given.camel;
        let role = match given.role.as_ref()?.as_str()? {
            "tool" => return self.result(given),
            "system" => "system",
            "developer" if self.rules.developer => "developer",
            "user" => "user",
            "assistant" => "assistant",
            _ => return None,
        };
        // A call without a result gets one.
        self.seen.repair |= !self.waiting.is_empty();
        self.seen.spoken |= matches!(role, "user" | "assistant");
        let content = match given.content {
            Some(content) => self.content(content)?,
            None => None,
        };
        let mut message: Members<'static> = members! { "role": role };
        let calls = if role == "assistant" {
            self.calls(given.calls, given.camel)?
        } else if given.calls.is_some() {
            return None;
        } else {
            Vec::new()
        };
        if given.answers.is_some() {
            return None;
        }
        match content {
            Some(content) => message.add("content", content),
            // A message that says nothing is not sent.
            None if calls.is_empty() => {
                self.seen.repair = true;
                return Some(());
            }
            None if self.rules.null => message.add("content", Json::Null),
            None => message.add("content", ""),
        }
        if let Some(reasoning) = given.reasoning {
            self.seen.repair = true;
            if self.rules.reasoning && !calls.is_empty() {
                message.add("reasoning_content", reasoning);
            }
        }
        if !calls.is_empty() {
            message.add("tool_calls", Json::Array(calls));
        }
        self.written.push(Json::Object(message));
        Some(())
    }

    /// A content; `None` in it if it is blank.
    fn content(&mut self, content: Json<'static>) -> Option<Option<Json<'static>>> {
        match content {
            Json::Array(texts) if self.rules.lists && !texts.is_empty() => {
                self.seen.list = true;
                let blocks = texts.into_iter().map(|block| {
                    let Json::Object(members) = block else { return None };
                    let (mut typed, mut said) = (false, None);
                    for (key, value) in members {
                        match key.as_ref() {
                            "type" => typed = value.as_str() == Some("text"),
                            "text" if value.is_text() && !value.is_blank() => said = Some(value),
                            _ => return None,
                        }
                    }
                    typed.then_some(object! { "type": "text", "text": said? })
                });
                blocks.collect::<Option<_>>().map(|blocks| Some(Json::Array(blocks)))
            }
            text if text.is_text() => Some(Some(text).filter(|text| !text.is_blank())),
            _ => None,
        }
    }

    fn calls(&mut self, calls: Option<Json<'static>>, camel: bool) -> Option<Vec<Json<'static>>> {
        let calls = match calls {
            None => return Some(Vec::new()),
            Some(Json::Array(calls)) => calls,
            Some(_) => return None,
        };
        let mut written = Vec::with_capacity(calls.len());
        for call in calls {
            let call = GivenCall::of(call)?;
            let GivenCall { id, name, arguments, .. } = match call.function {
                None if camel => call,
                Some(function) if !camel && call.name.is_none() && call.arguments.is_none() => {
                    let function = GivenCall::of(function)?;
                    if function.id.is_some() || function.function.is_some() {
                        return None;
                    }
                    GivenCall { id: call.id, ..function }
                }
                _ => return None,
            };
            written.push(self.call(id.unwrap_or_default(), name.unwrap_or_default(), arguments?));
        }
        self.waiting.reverse();
        Some(written)
    }

    fn call(&mut self, id: Text, name: Text, arguments: Json<'static>) -> Json<'static> {
        let number = self.index.number(&id);
        let (sent, reasons) = self.ids.assign(&id, number, self.rules.ids, &mut self.index);
        let renamed = self.names.assign(&name, self.rules.names);
        let arguments =
            if arguments.is_text() { Args::Text(arguments) } else { Args::Value(arguments) };
        let (arguments, wrong) = settle(&arguments, Arguments::Text { read: false });
        self.seen.repair |= reasons != Reasons::default()
            || name.is_empty()
            || renamed.is_some()
            || wrong.is_some();
        let name = if name.is_empty() { UNKNOWN_TOOL.into() } else { renamed.unwrap_or(name) };
        let function = object! { "name": Json::String(name), "arguments": arguments };
        self.waiting.push((id, sent.clone()));
        object! { "id": Json::String(sent), "type": "function", "function": function }
    }

    fn result(&mut self, given: Given) -> Option<()> {
        let Given { content, answers, calls: None, reasoning: None, .. } = given else {
            return None;
        };
        let (id, sent) = self.waiting.pop()?;
        if answers? != id {
            return None;
        }
        let (id, content) = (Json::String(sent), content.filter(Json::is_text)?);
        self.written.push(object! { "role": "tool", "tool_call_id": id, "content": content });
        Some(())
    }
}

impl Given {
    /// Reads an element; `None` if it has other members. A member that is null counts as absent.
    fn of(element: Json<'static>) -> Option<Self> {
        let Json::Object(members) = element else { return None };
        let mut given = Self::default();
        for (key, value) in members {
            if value.is_null() {
                continue;
            }
            match key.as_ref() {
                "role" => given.role = Some(value),
                "content" => given.content = Some(value),
                "tool_calls" if !given.camel => given.calls = Some(value),
                "toolCalls" if given.calls.is_none() => {
                    given.camel = true;
                    given.calls = Some(value);
                }
                "tool_call_id" if !given.camel => given.answers = Some(text(value)?),
                "toolCallId" if given.answers.is_none() => {
                    given.camel = true;
                    given.answers = Some(text(value)?);
                }
                "reasoning_content" => given.reasoning = Some(value),
                _ => return None,
            }
        }
        Some(given)
    }
}

impl GivenCall {
    /// Reads a call or its function; `None` if it has other members.
    fn of(call: Json<'static>) -> Option<Self> {
        let Json::Object(members) = call else { return None };
        let mut given = Self::default();
        for (key, value) in members {
            match key.as_ref() {
                "type" if value.as_str() == Some("function") => {}
                "id" => given.id = Some(text(value)?),
                "name" => given.name = Some(text(value)?),
                "function" => given.function = Some(value),
                "arguments" | "args" if given.arguments.is_none() => given.arguments = Some(value),
                _ => return None,
            }
        }
        Some(given)
    }
}

fn text(value: Json<'static>) -> Option<Text> {
    match value {
        Json::String(text) => Some(text),
        _ => None,
    }
}
