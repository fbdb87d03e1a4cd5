//! Plain histories: messages with a role, of which a provider of Chat Completions takes each as it
//! is.
//!
//! ```text
//! { role: "system" | "user", content }
//! { role: "assistant", content?, tool_calls: [{ id, type, function: { name, arguments } }] }
//! { role: "assistant", content?, toolCalls: [{ id, name, args }] }
//! { role: "tool", tool_call_id, content }
//! { role: "tool", toolCallId, content, name?, isError? }
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
use super::import::{Fields, flag, is_mcp_text, recorded};
use super::model::Args;
use super::prepare::UNKNOWN_TOOL;
use crate::dialect::Dialect;
use crate::index::Index;
use crate::json::{Add, Json, members, object};
use crate::provider::{self, Arguments, Members, Recorded, Replay, failed_text};

/// A plain history, and what a turn has added to it.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    rules: provider::Plain,
    /// The model that the history is sent to.
    model: (Dialect, Option<String>),
    written: Vec<Json<'static>>,
    /// The ids of the calls that wait for a result, as given and as sent, the last call first.
    waiting: Vec<(Text, Text)>,
    index: Index,
    ids: IdMap,
    names: NameMap,
    seen: Seen,
    /// The given history is read: what follows is the turn's own, in the provider's form.
    started: bool,
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

impl Plain {
    /// Reads the given history; `None` if it is not a plain one.
    pub(crate) fn of(
        rules: provider::Plain,
        history: Vec<Json<'static>>,
        model: (Dialect, Option<String>),
    ) -> Option<Self> {
        let mut read = Self {
            rules,
            model,
            written: Vec::with_capacity(history.len()),
            waiting: Vec::new(),
            index: Index::default(),
            ids: IdMap::default(),
            names: NameMap::default(),
            seen: Seen::default(),
            started: false,
        };
        let known = read.append(history);
        let Seen { spoken, list, camel, repair } = read.seen;
        let ends = rules.ends_with_assistant || !read.ends_with_assistant();
        // Lists stay lists only in a history that is in the provider's own shape throughout.
        let one_shape = !(list && camel);
        let plain = known && spoken && ends && one_shape && !repair && read.waiting.is_empty();
        read.started = true;
        plain.then_some(read)
    }

    /// The ids of the calls, as sent.
    pub(crate) fn call_ids(&self) -> Vec<String> {
        let calls = |message: &Json<'static>| {
            let calls = message.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
            let ids = calls.iter().filter_map(|call| call.get("id").and_then(Json::as_str));
            ids.map(str::to_owned).collect::<Vec<_>>()
        };
        self.written.iter().flat_map(calls).collect()
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
        let mut given = Fields::of(element)?;
        let role = given.take_text("role")?;
        let content = given.take("content");
        if role == "tool" {
            let (id, camel) = self.either(&mut given, ["tool_call_id", "toolCallId"])?;
            let mut content = content?;
            let mut failed = is_mcp_text(&content);
            if camel {
                // The wire has neither.
                given.take("name");
                failed |= given.take("isError").is_some_and(|failed| flag(&failed) == Some(true));
            }
            if failed {
                content = failed_text(content);
            }
            return if given.is_empty() { self.result(&id, content) } else { None };
        }
        let role = match role.as_ref() {
            "system" => "system",
            "developer" if self.rules.developer => "developer",
            "user" => "user",
            "assistant" => "assistant",
            _ => return None,
        };
        let mut message: Members<'static> = members! { "role": role };
        let (mut calls, mut own) = (Vec::new(), false);
        let (mut reasoning, mut carried) = (None, None);
        let content = match content {
            Some(content) => self.content(content)?,
            None => None,
        };
        // A call without a result gets one.
        self.seen.repair |= !self.waiting.is_empty();
        if role == "assistant" {
            if let Some((list, camel)) = self.either(&mut given, ["tool_calls", "toolCalls"]) {
                (calls, own) = (self.calls(list, camel)?, camel);
            }
            reasoning = given.take("reasoning_content");
            if reasoning.as_ref().is_some_and(|text| !text.is_text()) {
                return None;
            }
            if let Some(value) = given.take("reasoning") {
                carried = Some(recorded(&value)?);
            }
        }
        if !given.is_empty() {
            return None;
        }
        self.seen.spoken |= matches!(role, "user" | "assistant");
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
        if calls.is_empty() {
            // Reasoning is sent back with calls only.
            self.seen.repair |= reasoning.is_some();
        } else {
            self.reasoning(reasoning, carried, own, (&mut message, &mut calls));
        }
        if !calls.is_empty() {
            message.add("tool_calls", Json::Array(calls));
        }
        self.written.push(Json::Object(message));
        Some(())
    }

    /// Adds the reasoning of a message with calls. `own`: it is in the core's own shape.
    fn reasoning(
        &mut self,
        given: Option<Json<'static>>,
        carried: Option<Recorded<'static>>,
        own: bool,
        (message, calls): (&mut Members<'static>, &mut [Json<'static>]),
    ) {
        match self.rules.reasoning {
            Replay::Content => {
                let is_there = given.is_some()
                    || carried.as_ref().is_some_and(|carried| !carried.members.is_empty());
                let text = given.filter(|text| !text.is_blank());
                let text = text.or_else(|| carried?.words());
                // What is missing is filled in.
                self.seen.repair |= text.is_none() && !is_there && !own;
                message.add("reasoning_content", text.unwrap_or_else(|| "".into()));
            }
            Replay::Details => {
                self.seen.repair |= given.is_some();
                let (dialect, model) = (self.model.0.name(), self.model.1.as_deref());
                let Some(carried) = carried.filter(|carried| carried.is_of(dialect, model)) else {
                    return;
                };
                message.extend(carried.members);
                for ((id, _), call) in self.waiting.iter().rev().zip(calls) {
                    let more = carried.calls.iter().find(|(key, _)| key == id);
                    let (Some((_, Json::Object(more))), Json::Object(call)) = (more, call) else {
                        continue;
                    };
                    call.extend(more.iter().cloned());
                }
            }
            _ => self.seen.repair |= given.is_some(),
        }
    }

    /// The member by its name on the wire or in camelCase, and whether by the latter.
    fn either(
        &mut self,
        given: &mut Fields<'static>,
        [wire, camel]: [&str; 2],
    ) -> Option<(Json<'static>, bool)> {
        if let Some(value) = given.take(wire) {
            return Some((value, false));
        }
        self.seen.camel |= given.has(camel);
        Some((given.take(camel)?, true))
    }

    /// A content; `None` in it if it is blank.
    fn content(&mut self, content: Json<'static>) -> Option<Option<Json<'static>>> {
        match content {
            Json::Array(blocks) if self.started => Some(Some(Json::Array(blocks))),
            Json::Array(texts) if self.rules.lists && !texts.is_empty() => {
                self.seen.list = true;
                let mut blocks = Vec::with_capacity(texts.len());
                for block in texts {
                    let mut block = Fields::of(block)?;
                    let (typed, text) = (block.is("type", "text"), block.take("text")?);
                    block.take("type");
                    if !typed || text.is_blank() || !block.is_empty() {
                        return None;
                    }
                    blocks.push(object! { "type": "text", "text": text });
                }
                Some(Some(Json::Array(blocks)))
            }
            text if text.is_text() => Some(Some(text).filter(|text| !text.is_blank())),
            _ => None,
        }
    }

    fn calls(&mut self, calls: Json<'static>, camel: bool) -> Option<Vec<Json<'static>>> {
        let Json::Array(calls) = calls else { return None };
        let mut written = Vec::with_capacity(calls.len());
        for call in calls {
            let mut call = Fields::of(call)?;
            let id = call.take_text("id").unwrap_or_default();
            if !camel {
                let function = Fields::of(call.take("function")?)?;
                if call.is("type", "function") {
                    call.take("type");
                }
                if !call.is_empty() {
                    return None;
                }
                call = function;
            }
            let name = call.take_text("name").unwrap_or_default();
            let arguments = call.take("arguments").or_else(|| call.take("args"))?;
            if !call.is_empty() {
                return None;
            }
            written.push(self.call(id, name, arguments));
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

    fn result(&mut self, answers: &Json<'static>, content: Json<'static>) -> Option<()> {
        let (id, sent) = self.waiting.pop()?;
        if answers.as_str()? != id || !content.is_text() && !self.started {
            return None;
        }
        let id = Json::String(sent);
        self.written.push(object! { "role": "tool", "tool_call_id": id, "content": content });
        Some(())
    }
}
