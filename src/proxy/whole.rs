//! Whole responses.

use super::call::{Call, Keyed};
use super::chat;
use super::foreign::is_foreign;
use super::gate::{Failure, Gate};
use super::step::Reason;
use super::stray::{Source, clean, is_ambiguous};
use super::tree::{is_full, member, parse, remove, set};
use super::wire::Wire;
use super::{gemini, messages, responses};
use crate::json::{Json, object};
use crate::stream::{list, part, text};

/// A whole response, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Whole {
    /// Its calls, in their order.
    pub calls: Vec<Call>,
    /// Calls that stood where the API has none. They are left out.
    pub strays: Vec<Call>,
    /// It is written anew even if every call may run.
    pub is_changed: bool,
    /// It could not be read: no part of it passes.
    pub is_unread: bool,
    /// The id by which a later request continues it.
    pub id: String,
    /// Its usage, as JSON text.
    pub usage: Option<String>,
    /// The usage of the response before it was added to its own, so it is written anew.
    pub has_sum: bool,
}

/// A response that was read, with the number of its calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Read {
    json: Json<'static>,
}

impl Gate {
    /// Reads a whole response; `None` for one that passes unread. `is_second`: it is the answer that
    /// was asked for.
    ///
    /// # Errors
    /// [`Failure::Foreign`] if calls are held and it cannot be read.
    pub fn whole(&mut self, bytes: &[u8], is_second: bool) -> Result<Option<Whole>, Failure> {
        let (wire, holds) = (self.options().wire, self.options().holds);
        let text = if holds {
            std::str::from_utf8(bytes).ok().map(Into::into)
        } else {
            Some(String::from_utf8_lossy(bytes))
        };
        let text = text.as_deref().map(|text| text.strip_prefix('\u{feff}').unwrap_or(text));
        let tree = text.and_then(|text| parse(text, wire)).filter(|tree| {
            let json = &tree.json;
            let is_own = wire.is_response(json) && !is_foreign(json, wire);
            !holds || is_own && !(tree.names_call && is_ambiguous(json, wire))
        });
        let Some(mut tree) = tree else {
            return match (holds, is_second) {
                (false, _) => Ok(None),
                (true, false) => Err(Failure::Foreign),
                (true, true) => {
                    self.wholes.push(Read::default());
                    Ok(Some(Whole { is_changed: true, is_unread: true, ..Whole::default() }))
                }
            };
        };
        let (strays, stays) = clean(&mut tree.json, wire, Source::Whole);
        let mut json = if stays { tree.json } else { Json::Object(Vec::new()) };
        let usage =
            Some(part(&json, wire.usage_member())).filter(|usage| !usage.is_null()).cloned();
        let mut whole = Whole {
            calls: calls(&json, wire).into_iter().map(|keyed| keyed.call).collect(),
            is_changed: !strays.is_empty() || (holds && tree.names_call && tree.repeats),
            strays,
            is_unread: false,
            id: part(&json, "id").as_str().unwrap_or_default().to_owned(),
            usage: usage.as_ref().map(Json::to_text),
            has_sum: false,
        };
        if is_second {
            whole.has_sum = self.add_spent(&mut json);
        } else {
            self.spend(usage.unwrap_or_default());
        }
        self.wholes.push(Read { json });
        if holds && !is_second {
            for call in &whole.strays {
                self.refuse_form(call);
            }
            self.await_verdicts(&whole.calls);
        }
        Ok(Some(whole))
    }

    /// The JSON of a whole response that was read, without the calls at the places in `refused`; with
    /// a notice, if it has neither text nor calls then. `number`: how many were read before it.
    #[must_use]
    pub fn without(&self, number: usize, refused: &[usize], reason: Reason) -> String {
        let read = self.wholes.get(number).cloned().unwrap_or_default();
        let is_left = |key: &usize| !refused.contains(key);
        without(read.json, self.options().wire, &is_left, &self.notice(reason)).to_text()
    }
}

/// The calls of a whole response. The key of each is its number.
fn calls(json: &Json<'_>, wire: Wire) -> Vec<Keyed> {
    let mut calls = Vec::new();
    match wire {
        Wire::Chat => {
            for choice in list(json, "choices") {
                let message = part(choice, "message");
                calls.extend(list(message, "tool_calls").iter().map(|call| chat::call_of(call).0));
                let called = part(message, "function_call");
                if is_full(called) {
                    calls.push(chat::function_call(called).0);
                }
            }
        }
        Wire::Messages => {
            let blocks = list(json, "content").iter().filter(|block| messages::is_call(block));
            calls.extend(blocks.map(messages::call_of));
        }
        Wire::Gemini => calls.extend(gemini::calls(json)),
        Wire::Responses => {
            let items = list(json, "output").iter().filter(|item| responses::is_call(item));
            calls.extend(items.map(responses::call_of));
        }
    }
    calls.into_iter().enumerate().map(|(key, call)| Keyed { key, call }).collect()
}

fn without(
    mut json: Json<'static>,
    wire: Wire,
    is_left: &dyn Fn(&usize) -> bool,
    notice: &str,
) -> Json<'static> {
    let mut keys = 0..;
    let mut stays = || keys.next().is_some_and(|key| is_left(&key));
    match wire {
        Wire::Chat => {
            if let Some(Json::Array(choices)) = member(&mut json, "choices") {
                for choice in choices {
                    without_in_choice(choice, &mut stays, notice);
                }
            }
        }
        Wire::Messages => {
            let Some(Json::Array(content)) = member(&mut json, "content") else { return json };
            content.retain(|block| !messages::is_call(block) || stays());
            if content.iter().any(messages::is_call) {
                return json;
            }
            if !content.iter().any(|block| block.kind() == Some("text")) {
                content.push(object! { "type": "text", "text": Json::from(notice.to_owned()) });
            }
            messages::end_of(&mut json);
        }
        Wire::Gemini => gemini::without(&mut json, &mut stays, notice),
        Wire::Responses => {
            let Some(Json::Array(output)) = member(&mut json, "output") else { return json };
            output.retain(|item| !responses::is_call(item) || stays());
            let says = |item: &Json<'_>| responses::is_call(item) || item.kind() == Some("message");
            if !output.iter().any(says) {
                let part = object! {
                    "type": "output_text",
                    "text": Json::from(notice.to_owned()),
                    "annotations": Json::Array(Vec::new()),
                };
                output.push(object! {
                    "id": "msg_turnlock_0",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": Json::Array(vec![part]),
                });
            }
        }
    }
    json
}

fn without_in_choice(choice: &mut Json<'static>, stays: &mut dyn FnMut() -> bool, notice: &str) {
    let Some(message) = member(choice, "message") else { return };
    let mut is_called = false;
    if let Some(Json::Array(calls)) = member(message, "tool_calls") {
        calls.retain(|_| stays());
        is_called = !calls.is_empty();
    }
    if !is_called {
        remove(message, "tool_calls");
    }
    let has_function = is_full(part(message, "function_call"));
    if has_function && stays() {
        is_called = true;
    } else {
        remove(message, "function_call");
    }
    if is_called {
        return;
    }
    if text(message, "content").is_empty() {
        set(message, "content", notice.to_owned().into());
    }
    chat::end_of(choice);
}
