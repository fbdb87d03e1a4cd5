//! The contents of a request, and how a provider writes them.

use std::borrow::Cow;

use super::content::{Attachment, Members, Message, Out, ResultOut, Role, failed_text, joined};
use super::request::{post, put};
use super::result_media::{Place, label, text};
use super::{Choice, Dialect, Request, ToolDeclaration, Wire, requests};
use crate::json::{Json, object};
use crate::stream;

/// Records what of a response goes back with its calls. Gets their ids, the provider's and the one that
/// is sent.
pub(super) type Recorder = fn(&[stream::Reasoning], &[(&str, &str)]) -> Option<Json<'static>>;

/// How the requests of a provider are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requests {
    pub(super) added_system: AddedSystem,
    /// Writes calls and their answers as elements of a history.
    pub(super) exchange: fn(&Exchange<'_>) -> Vec<Json<'static>>,
    /// What of a response goes back with its calls, as a turn records it with its messages; `None`
    /// if nothing does in later turns. The ids of the calls: the provider's, and the one that is sent.
    pub(super) recorded: Option<Recorder>,
    /// Writes a response that the provider paused, to be continued; `None` if it never does so.
    pub(super) paused: Option<fn(&stream::Response) -> Json<'static>>,
    /// Writes the members of the body that the core decides.
    pub(super) members: for<'a> fn(Prompt<'_, 'a>) -> Members<'a>,
    pub(super) structured: Structured,
    /// Whether the provider takes only schemas of answers whose root is an object. Any other schema
    /// is described in the instruction alone.
    pub(super) object_root: bool,
    /// How whole requests are sent; `None` for a history shape without an API of its own.
    pub(super) post: Option<Post>,
}

/// Where and how whole requests are sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Post {
    /// The path of a request of this model, streamed or not.
    pub(super) path: fn(&str, bool) -> Cow<'static, str>,
    /// The provider's own headers, beside those of every JSON request.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// The media type of a stream.
    pub(super) accept: &'static str,
    /// The first members of the body: the model, the stream, and what the provider requires. Members
    /// of the host replace them.
    pub(super) start: fn(String, bool) -> Members<'static>,
}

/// Where a system text is placed that a turn adds to the given history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddedSystem {
    /// In the history, as a system message, which the rules of histories may convert.
    InHistory,
    /// Behind the system prompt, outside the messages.
    InSystem,
}

/// How a model is told to answer with JSON of a schema.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Structured {
    /// By a member of the body, made from a name and the schema.
    Member(fn(&'static str, Json<'static>) -> Member),
    /// As `Member`, beside what the host has in that member.
    Within(fn(&'static str, Json<'static>) -> Member),
    /// By a tool with the schema; the member, made from the tool's name, forces the model to call
    /// it.
    Tool(fn(&'static str) -> Member),
    /// Not at all.
    Unsupported,
}

/// A member of a body.
pub(crate) type Member = (&'static str, Json<'static>);

/// The contents of a request.
#[derive(Debug)]
pub(crate) struct Prompt<'t, 'a> {
    /// The messages, in the provider's form.
    pub(crate) messages: Vec<Json<'a>>,
    /// The system prompt, in the provider's form, if the provider takes it outside the messages.
    pub(crate) system: Option<Json<'a>>,
    /// The system texts that a turn adds. They are ignored if they belong in the history.
    pub(crate) added_system: &'t [&'t str],
    pub(crate) tools: &'t [ToolDeclaration<'t>],
    pub(crate) choice: Choice,
}

impl Prompt<'_, '_> {
    /// Whether the model may call tools.
    pub(super) fn may_call(&self) -> bool {
        self.choice == Choice::Auto && !self.tools.is_empty()
    }
}

/// What a turn adds to the given history.
#[derive(Debug)]
pub(crate) enum Context<'t> {
    /// A system text.
    System(&'t str),
    /// Calls and their answers, as the provider's own messages.
    Exchange(Exchange<'t>),
    /// The images and files of results that are in system texts, by the names of their tools.
    Media(Vec<(&'t str, Vec<Attachment<'static>>)>),
}

/// A response with calls, and the answers to the calls.
#[derive(Debug)]
pub(crate) struct Exchange<'t> {
    /// The reasoning of the model. Some providers require it together with the calls.
    pub(crate) reasoning: &'t [stream::Reasoning],
    /// Whether another provider's model made the calls.
    pub(crate) foreign: bool,
    /// The text of the model beside the calls.
    pub(crate) text: &'t str,
    pub(crate) calls: Vec<AnsweredCall<'t>>,
}

impl<'t> Exchange<'t> {
    /// The pieces of the response in order. "Thinking blocks must be passed back unmodified and in their
    /// original order": `BetaThinkingBlockParam` of Anthropic's library (2026-09). A text stands before
    /// the calls that follow the same reasoning.
    pub(super) fn pieces(&self) -> Vec<Piece<'_, 't>> {
        let mut pieces = Vec::new();
        let mut thoughts = self.reasoning.iter().peekable();
        let mut said = 0;
        let mut text = |to: usize, pieces: &mut Vec<Piece<'_, 't>>| {
            let to = to.min(self.text.len());
            let text = self.text.get(said..to).unwrap_or_default();
            said = said.max(to);
            if !text.trim().is_empty() {
                pieces.push(Piece::Text(text));
            }
        };
        let calls = self.calls.iter().map(Some).chain([None]);
        for (at, call) in calls.enumerate() {
            let is_here = |block: &&stream::Reasoning| {
                call.is_none() || usize::try_from(block.calls).is_ok_and(|calls| calls <= at)
            };
            while let Some(block) = thoughts.next_if(is_here) {
                text(block.text_before, &mut pieces);
                pieces.push(Piece::Thought(block));
            }
            text(thoughts.peek().map_or(usize::MAX, |block| block.text_before), &mut pieces);
            pieces.extend(call.map(Piece::Call));
        }
        pieces
    }

    /// The reasoning before the call at this place.
    pub(super) fn thoughts(&self, at: usize) -> impl Iterator<Item = &stream::Reasoning> {
        let last = self.calls.len().saturating_sub(1);
        let place = move |block: &stream::Reasoning| {
            usize::try_from(block.calls).unwrap_or(usize::MAX).min(last)
        };
        self.reasoning.iter().filter(move |block| place(block) == at)
    }
}

/// A piece of a response.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece<'p, 't> {
    Thought(&'p stream::Reasoning),
    Text(&'p str),
    Call(&'p AnsweredCall<'t>),
}

/// A call and its answer.
#[derive(Debug, Clone)]
pub(crate) struct AnsweredCall<'t> {
    pub(crate) id: &'t str,
    pub(crate) name: &'t str,
    pub(crate) args: &'t Json<'static>,
    pub(crate) answer: &'t str,
    /// The answer, if it has images or files.
    pub(crate) parts: Vec<Out<'static>>,
    /// The call failed or did not run.
    pub(crate) failed: bool,
}

impl AnsweredCall<'_> {
    /// The answer for a provider that has no flag for a failed call.
    pub(super) fn text(&self) -> Json<'static> {
        let answer = Json::string(self.answer.to_owned());
        if self.failed { failed_text(answer) } else { answer }
    }

    /// As [`AnsweredCall::text`], or a list with images and files.
    pub(super) fn content(&self) -> ResultOut<'static> {
        if self.parts.is_empty() {
            ResultOut::Text(self.text())
        } else {
            ResultOut::Parts(self.parts.clone())
        }
    }

    /// Decides where the images and files are sent. Those that follow the results are added to
    /// `behind`.
    fn place(
        &mut self,
        wire: Wire,
        model: Option<&str>,
        behind: &mut Vec<Out<'static>>,
    ) -> Json<'static> {
        let from = behind.len();
        for part in &mut self.parts {
            let Out::Media(seen) = part else { continue };
            match wire.rules.place(model, seen) {
                Place::Inside => {}
                Place::Behind => {
                    let note = text(seen.placeholder());
                    behind.push(std::mem::replace(part, note));
                }
                Place::Note(why) => *part = text(seen.note(why)),
            }
        }
        if behind.len() > from {
            behind.insert(from, label(self.name));
        }
        joined(&self.parts, "\n")
    }

    /// Returns arguments that every provider accepts: an empty object replaces any other value.
    pub(super) fn arguments(&self) -> Json<'static> {
        let object = self.args.as_object().is_some();
        if object { self.args.clone() } else { Json::Object(Vec::new()) }
    }
}

/// What of a response goes back with its calls in later turns.
pub(crate) fn recorded(
    wire: Wire,
    reasoning: &[stream::Reasoning],
    ids: &[(&str, &str)],
) -> Option<Json<'static>> {
    wire.requests.recorded?(reasoning, ids)
}

/// The message with which a response goes on that the provider paused; `None` if it cannot.
pub(crate) fn paused(wire: Wire, response: &stream::Response) -> Option<Json<'static>> {
    Some(wire.requests.paused?(response))
}

/// Converts what a turn adds to elements of a history.
pub(crate) fn elements(
    wire: Wire,
    model: Option<&str>,
    context: Context<'_>,
) -> Vec<Json<'static>> {
    match (context, wire.requests.added_system) {
        (Context::System(_), AddedSystem::InSystem) => Vec::new(),
        (Context::System(text), AddedSystem::InHistory) => {
            let text = Json::string(text.to_owned());
            vec![object! { "role": "system", "content": text }]
        }
        (Context::Exchange(exchange), _) => exchange.elements(wire, model),
        (Context::Media(results), _) => {
            let mut parts = Vec::new();
            for (tool, media) in results {
                parts.push(label(tool));
                parts.extend(media.into_iter().map(|seen| {
                    match wire.rules.place_of_user(model, &seen) {
                        None => Out::Media(seen),
                        Some(why) => text(seen.note(why)),
                    }
                }));
            }
            said(wire, parts)
        }
    }
}

/// A message of the user in the provider's form.
fn said(wire: Wire, parts: Vec<Out<'static>>) -> Vec<Json<'static>> {
    let mut elements = Vec::new();
    let message =
        Message { role: Role::User, parts, extra: Vec::new(), listed: false, beside: false };
    (wire.rules.write)(message, &mut elements);
    elements
}

impl Exchange<'_> {
    fn elements(mut self, wire: Wire, model: Option<&str>) -> Vec<Json<'static>> {
        let mut behind = Vec::new();
        let texts: Vec<_> = self
            .calls
            .iter_mut()
            .map(|call| call.place(wire, model, &mut behind))
            .map(|text| text.as_str().unwrap_or_default().to_owned())
            .collect();
        // A list of texts is one text.
        let calls = self.calls.into_iter().zip(&texts).map(|(call, text)| {
            let has_media = call.parts.iter().any(|part| matches!(part, Out::Media(_)));
            match call.parts.is_empty() || has_media {
                true => call,
                false => AnsweredCall { answer: text, parts: Vec::new(), ..call },
            }
        });
        let exchange = Exchange {
            reasoning: self.reasoning,
            foreign: self.foreign,
            text: self.text,
            calls: calls.collect(),
        };
        let mut elements = (wire.requests.exchange)(&exchange);
        if !behind.is_empty() {
            elements.extend(said(wire, behind));
        }
        elements
    }
}

/// Returns a streamed request. `extra` are members of the host, and `more` are further
/// members that the core decides. Without a `model`, nothing is said of the model and the stream.
pub(crate) fn request(
    wire: Wire,
    (model, extra): (Option<&String>, &Json<'static>),
    prompt: Prompt<'_, 'static>,
    more: Vec<Member>,
) -> Request<'static> {
    let how = (true, prompt.may_call());
    let mut decided = (wire.requests.members)(prompt);
    for (name, value) in more {
        decided.push((name.into(), value));
    }
    let extra = extra.as_object().unwrap_or_default().to_vec();
    post(wire.requests, model.cloned(), extra, how, decided)
}

/// The member that asks for an answer of this schema, in a request without tools: several APIs
/// refuse one beside them. A forced call of a tool is no answer, and newer models refuse it. What the
/// host has in the same member stays: not every model of an API takes a schema.
pub(crate) fn answer(
    wire: Wire,
    schema: &Json<'static>,
    prompt: &Prompt<'_, 'static>,
    extra: &Json<'static>,
) -> Option<Member> {
    // Some providers refuse structured output beside tools, also where the model may not call them.
    if !prompt.tools.is_empty() || wire.requests.object_root && !is_object_schema(schema) {
        return None;
    }
    match wire.requests.structured {
        Structured::Member(member) => {
            let (name, value) = member(ANSWER, schema.clone());
            extra.get(name).is_none().then_some((name, value))
        }
        Structured::Within(member) => {
            Some(beside(wire, member(ANSWER, schema.clone()), prompt, extra))
        }
        Structured::Tool(_) | Structured::Unsupported => None,
    }
}

/// Whether the root of a schema is an object, and no union.
fn is_object_schema(schema: &Json<'_>) -> bool {
    let is_union = ["anyOf", "oneOf"].iter().any(|keyword| schema.get(keyword).is_some());
    schema.get("type").and_then(Json::as_str) == Some("object") && !is_union
}

/// The name of the schema of an answer.
const ANSWER: &str = "answer";

/// Completes a member by those that the prompt and the host have of this name: `generationConfig` of
/// the host stays beside the schema, and the tools of a `toolConfig` beside the choice.
pub(crate) fn beside(
    wire: Wire,
    (name, value): Member,
    prompt: &Prompt<'_, 'static>,
    extra: &Json<'static>,
) -> Member {
    let empty = Prompt { messages: Vec::new(), system: None, ..*prompt };
    let decided = Json::Object((wire.requests.members)(empty));
    let Some(known) = decided.get(name).or_else(|| extra.get(name)).and_then(Json::as_object)
    else {
        return (name, value);
    };
    let Json::Object(own) = value else { return (name, value) };
    let mut all = known.to_vec();
    own.into_iter().for_each(|(key, value)| put(&mut all, key, value));
    (name, Json::Object(all))
}

/// How the model is told to answer with JSON of a schema.
pub(crate) fn structured(dialect: Dialect) -> Structured {
    requests(dialect).structured
}
