//! Conversations that the provider keeps by the id of its last response:
//! <https://platform.openai.com/docs/guides/conversation-state>.

use super::super::options::TurnOptions;
use super::super::policy::ResultsAs;
use crate::json::Json;

/// What the provider has of the conversation of a turn.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// The last response that the provider has whole, and whose answers stand behind it.
    previous: Option<String>,
    /// The last request named it and left out a part of the history.
    rest: bool,
    /// [`trim`], which programs whose provider keeps nothing do not carry.
    trim: Trim,
}

/// Members of a body.
type Members = Vec<(&'static str, Json<'static>)>;
type Trim = fn(&mut Kept, &mut Vec<Json<'static>>, Option<&str>, &Json<'static>) -> Members;

impl Kept {
    /// `None` if the provider does not keep the conversation. A kept call needs its output, so
    /// results are native.
    pub(super) fn of(options: &mut TurnOptions) -> Option<Self> {
        if !options.is_kept() {
            return None;
        }
        options.policy.results_as = ResultsAs::Native;
        Some(Self { previous: options.previous_response_id.clone(), rest: false, trim })
    }

    /// The turn has answered the calls of a response: requests go on behind it. `None`: the provider
    /// has another response than the turn, or none.
    pub(super) fn answered(&mut self, response: Option<String>) {
        self.previous = response;
    }

    /// Whether the last request named a response and left out a part of the history.
    pub(super) fn is_continued(&self) -> bool {
        self.rest
    }

    /// Sends everything from now on. Returns whether that is more than the last request had, whose
    /// response the provider may no longer have.
    pub(super) fn forget(&mut self) -> bool {
        self.previous = None;
        std::mem::take(&mut self.rest)
    }

    /// Leaves only what the provider lacks, and returns further members of the body.
    pub(super) fn members(
        &mut self,
        messages: &mut Vec<Json<'static>>,
        instruction: Option<&str>,
        body: &Json<'static>,
    ) -> Members {
        (self.trim)(self, messages, instruction, body)
    }
}

/// [`Kept::members`]. Instructions are not items, because those stay in the conversation.
fn trim(
    kept: &mut Kept,
    messages: &mut Vec<Json<'static>>,
    instruction: Option<&str>,
    body: &Json<'static>,
) -> Members {
    let base_instructions = body.get("instructions").and_then(Json::as_str).map(str::to_owned);
    let leading = messages.iter().map_while(system).count();
    let system = messages.drain(..leading).filter_map(|item| system(&item));
    let instructions: Vec<String> =
        base_instructions.into_iter().chain(system).chain(instruction.map(str::to_owned)).collect();
    let mut members = vec![("store", Json::Bool(true))];
    if !instructions.is_empty() {
        members.push(("instructions", instructions.join("\n\n").into()));
    }
    let from = messages.iter().rposition(is_said).map_or(0, |last| last + 1);
    let previous = kept.previous.as_ref().filter(|_| from < messages.len());
    // A history without any answer is what is new: there is no more to send.
    kept.rest = previous.is_some() && from > 0;
    if let Some(previous) = previous {
        messages.drain(..from);
        members.push(("previous_response_id", Json::from(previous.clone())));
    }
    members
}

/// The text of an item that instructs the model, if it is nothing but text.
fn system(item: &Json<'static>) -> Option<String> {
    let role = item.get("role")?.as_str()?;
    if !matches!(role, "system" | "developer") {
        return None;
    }
    let content = item.get("content")?;
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let texts = content.as_array()?.iter().map(|part| part.get("text")?.as_str());
    Some(texts.collect::<Option<Vec<_>>>()?.join("\n\n"))
}

/// Whether an item is a part of a response.
fn is_said(item: &Json<'static>) -> bool {
    let member = |key| item.get(key).and_then(Json::as_str);
    match member("type") {
        None | Some("message") => member("role") == Some("assistant"),
        Some(kind) => !kind.ends_with("_output") && !kind.ends_with("_response"),
    }
}

#[cfg(test)]
mod tests;
