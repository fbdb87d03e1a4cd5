//! The contents of a request: the given history, the context that the turn has added, the tools.

mod instruction;
mod kept;

use std::sync::Arc;

use self::instruction::instruction;
pub(super) use self::instruction::template;
use self::kept::Kept;
use super::event::PhaseName;
use super::ids::unique;
use super::options::TurnOptions;
use super::phase::Phase;
use super::policy::ResultsAs;
use crate::error::Error;
use crate::history;
use crate::json::Json;
use crate::provider::{self, AnsweredCall, Choice, Prompt, Request, ToolDeclaration, Wire};
use crate::stream::{Reasoning, Response};
use crate::tool::CallView;
use crate::tool::{BoxMaker, Call, Content, Outcome, ToolSpec};

/// How often one inference goes on that the provider has paused.
const PAUSES: u32 = 4;

/// An element that the turn adds to the history.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Context {
    /// A box or a notice.
    System(String),
    /// Calls and their answers, as the provider's own messages.
    Exchange(Exchange),
    /// The images and files of results that are in boxes, by the names of their tools.
    Media(Vec<(String, Arc<Content>)>),
}

/// A response with calls, and the answers to the calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Exchange {
    /// The reasoning of the model. Some providers require it together with the calls.
    pub(super) reasoning: Vec<Reasoning>,
    /// Whether another provider's model made the calls.
    pub(super) foreign: bool,
    /// The text of the model beside the calls.
    pub(super) text: String,
    /// The calls, each with its answer.
    pub(super) calls: Vec<Answered>,
    /// The provider's id of the response, if it was read to its end.
    pub(super) response: Option<String>,
}

/// A call and its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answered {
    pub(super) view: CallView,
    pub(super) answer: String,
    /// The answer, if it has images or files.
    pub(super) content: Option<Arc<Content>>,
    /// The call failed or did not run.
    pub(super) failed: bool,
}

impl Context {
    fn elements(&self, wire: Wire, model: Option<&str>) -> Vec<Json<'static>> {
        let context = match self {
            Self::System(text) => provider::Context::System(text),
            Self::Media(results) => provider::Context::Media(
                results
                    .iter()
                    .map(|(tool, content)| (tool.as_str(), content.attachments()))
                    .collect(),
            ),
            Self::Exchange(Exchange { reasoning, foreign, text, calls, .. }) => {
                let calls =
                    calls.iter().map(|Answered { view, answer, content, failed }| AnsweredCall {
                        parts: content.as_ref().map(|content| content.parts()).unwrap_or_default(),
                        id: &view.id,
                        name: &view.name,
                        args: &view.args,
                        answer,
                        failed: *failed,
                    });
                let calls = calls.collect();
                let foreign = *foreign;
                provider::Context::Exchange(provider::Exchange { reasoning, foreign, text, calls })
            }
        };
        provider::elements(wire, model, context)
    }
}

/// The given history as it was given. A plain history has no other wire, so what reads it for one is
/// behind a pointer, which programs with plain histories only do not carry.
#[derive(Debug, Clone)]
struct Original {
    messages: Vec<Json<'static>>,
    read: fn(&mut TurnOptions) -> Result<Conversation, Error>,
}

/// The given history, repaired once per turn, and what the turn adds to it.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    wire: Wire,
    /// The name of the model.
    model: Option<String>,
    history: history::AnyHistory,
    /// With fallbacks: what a history of another wire is made of.
    original: Option<Original>,
    /// The thread of a model that keeps the conversation.
    thread: Option<String>,
    /// What a provider that keeps the conversation by itself has of it.
    kept: Option<Kept>,
    repairs: Vec<history::Repair>,
    /// The ids of the calls in the given history.
    given_ids: Vec<String>,
    context: Vec<Context>,
    /// The response that the provider has paused, and how often it did so.
    paused: Option<(Response, u32)>,
    /// The ids of the calls of the given history and of the exchanges.
    ids: Vec<String>,
    /// How many elements of the context were appended to the history.
    learned: usize,
    boxes: BoxMaker,
}

impl Conversation {
    pub(super) fn new(options: &mut TurnOptions) -> Result<Self, Error> {
        let rules = history::HistoryOptions::new(options.dialect);
        let conversation = options.conversation_id.as_deref();
        let keeps = options.is_kept();
        let strategy = if keeps { history::Strategy::Reconstruct } else { options.strategy };
        let thread = conversation.filter(|_| strategy == history::Strategy::Thread);
        let thread = thread.map(|id| history::thread_id(id, None)).transpose()?;
        let rules = rules.model(options.model.clone()).of_model(options.history);
        // A request of a turn says `store: false`, unless the host's body says otherwise.
        let stored = keeps || options.body.get("store").and_then(Json::as_bool) == Some(true);
        let mut history = history::History::new(rules.strategy(strategy).stored(stored));
        let messages = options.messages.len();
        let element_count = messages + usize::from(options.system.is_some());
        let original = (!options.fallbacks.is_empty())
            .then(|| Original { messages: options.messages.clone(), read: Self::new });
        // Moved, not copied: without fallbacks, the history is held only here.
        history.append(options.take_history())?;
        history.counted();
        let (wire, mut repairs) = (Wire::of(options.dialect), history.repairs());
        for repair in &mut repairs {
            // Its place in the host's own history.
            repair.index = repair.index.saturating_sub(element_count - messages);
        }
        let given_ids = history.call_ids();
        let conversation =
            Self::of(wire, repairs, given_ids, history::AnyHistory::new(history), options);
        let provider_state = Kept::of(options);
        Ok(Self { thread, kept: provider_state, original, ..conversation })
    }

    /// As [`Conversation::new`], for a provider and a history that need no repairs; `None` for any
    /// other, and for a thread.
    pub(super) fn plain(options: &mut TurnOptions) -> Option<Self> {
        let (wire, rules) = Wire::plain(options.dialect)?;
        let falls = !options.fallbacks.is_empty();
        let is_usual = options.history == history::ModelHistory::blank();
        if falls || !is_usual || options.strategy != history::Strategy::Reconstruct {
            return None;
        }
        let model = (options.dialect, options.model.clone());
        let history = history::Plain::of(rules, options.take_history(), model)?;
        let given_ids = history.call_ids();
        Some(Self::of(wire, Vec::new(), given_ids, history::AnyHistory::new(history), options))
    }

    fn of(
        wire: Wire,
        repairs: Vec<history::Repair>,
        given_ids: Vec<String>,
        history: history::AnyHistory,
        options: &TurnOptions,
    ) -> Self {
        Self {
            wire,
            model: options.model.clone(),
            history,
            original: None,
            thread: None,
            kept: None,
            repairs,
            ids: given_ids.clone(),
            given_ids,
            context: Vec::new(),
            paused: None,
            learned: 0,
            boxes: match &options.box_secret {
                Some(secret) => BoxMaker::derived(secret, &options.request_id),
                None => BoxMaker::new(&options.secret),
            },
        }
    }

    /// How the provider is spoken to.
    pub(super) fn wire(&self) -> Wire {
        self.wire
    }

    /// Writes everything anew for the model of `options`, which has another wire; `false` if that
    /// cannot be done. Reasoning is left out: what is signed by one provider, another refuses.
    pub(super) fn translate(&mut self, options: &mut TurnOptions) -> bool {
        let Some(Original { messages, read }) = self.original.take() else { return false };
        options.messages = messages;
        let Ok(made) = read(options) else { return false };
        for one in &mut self.context {
            if let Context::Exchange(exchange) = one {
                exchange.reasoning.clear();
                exchange.foreign = true;
            }
        }
        (self.wire, self.history, self.repairs) = (made.wire, made.history, made.repairs);
        self.model = made.model;
        (self.original, self.learned, self.paused) = (made.original, 0, None);
        true
    }

    /// The changes to the given history.
    pub(super) fn repairs(&self) -> &[history::Repair] {
        &self.repairs
    }

    /// The ids of the calls in the given history.
    pub(super) fn given_ids(&self) -> Vec<String> {
        self.given_ids.clone()
    }

    /// Takes a response that the provider has paused. Returns whether it is sent back to be
    /// continued: at most [`PAUSES`] times.
    pub(super) fn pause(&mut self, response: Response) -> bool {
        if provider::paused(self.wire, &response).is_none() {
            return false;
        }
        let (before, times) = self.paused.get_or_insert_default();
        if *times >= PAUSES {
            return false;
        }
        *times += 1;
        before.join(response);
        true
    }

    /// The inference is over that the provider had paused.
    pub(super) fn end_pause(&mut self) {
        self.paused = None;
    }

    pub(super) fn add_notice(&mut self, notice: String) {
        self.context.push(Context::System(notice));
    }

    pub(super) fn add_result(&mut self, call: &Call, outcome: &Outcome) {
        let text =
            self.boxes.wrap(&call.view().name, call.raw_args(), outcome, call.is_read_only());
        self.context.push(Context::System(text));
    }

    /// Adds the images and files of results that are in boxes, by the names of their tools.
    pub(super) fn add_media(&mut self, results: Vec<(String, Arc<Content>)>) {
        if !results.is_empty() {
            self.context.push(Context::Media(results));
        }
    }

    /// Adds calls and their answers. In a history, each call of a response needs an answer.
    pub(super) fn add_exchange(&mut self, mut exchange: Exchange) {
        if let Some((paused, _)) = self.paused.take() {
            // What came before the pause is of the same response.
            exchange.text.insert_str(0, &paused.text);
            exchange.reasoning.splice(0..0, paused.reasoning);
        }
        for call in &mut exchange.calls {
            let id = std::mem::take(&mut call.view.id);
            call.view.id = unique(id.clone(), &mut self.ids);
            if call.view.id != id {
                // The provider knows the call by the id that it gave.
                exchange.response = None;
            }
        }
        if let Some(kept) = &mut self.kept {
            kept.answered(exchange.response.take());
        }
        self.context.push(Context::Exchange(exchange));
    }

    /// Returns the next request. Of its body, `messages` come from here, and `system`, `tools` and
    /// `tool_choice` if the dialect has them and they are not empty.
    pub(super) fn request(
        &mut self,
        options: &TurnOptions,
        phase: &Phase,
        rejected: Option<&str>,
    ) -> Request<'static> {
        let schema = &options.answer_schema;
        let request_kind = (self.has_results(), schema);
        let instruction = instruction(phase, &options.policy, request_kind, rejected);
        let instruction = instruction.as_ref().map(|(text, _)| text.as_str());
        let once = instruction.filter(|_| self.kept.is_none());
        let (mut messages, given) = self.history_with(once);
        let system = self.context.iter().filter_map(|one| match one {
            Context::System(text) => Some(text.as_str()),
            Context::Exchange(_) | Context::Media(_) => None,
        });
        let system: Vec<_> = system.chain(instruction).collect();
        let (tools, choice) = offer(options, phase);
        let tools: Vec<_> = tools.into_iter().map(ToolDeclaration::from).collect();
        let paused = self.paused.as_ref();
        messages.extend(paused.and_then(|(response, _)| provider::paused(self.wire, response)));
        let provider_state = self.kept.as_mut();
        let provider_state = provider_state.map(|provider_state| {
            provider_state.members(&mut messages, instruction, &options.body)
        });
        let prompt =
            Prompt { messages, system: given, added_system: &system, tools: &tools, choice };
        let mut more: Vec<_> =
            self.thread.clone().map(|id| ("threadId", id.into())).into_iter().collect();
        more.extend(provider_state.into_iter().flatten());
        if options.has_schema() {
            more.extend(provider::answer(self.wire, schema, &prompt, &options.body));
        }
        provider::request(self.wire, (options.model.as_ref(), &options.body), prompt, more)
    }

    /// The number of elements that the last request had without its instruction.
    pub(super) fn elements(&self) -> usize {
        self.history.elements()
    }

    /// The thread of the model has the first elements.
    pub(super) fn mark_sent(&mut self, elements: usize) {
        self.history.has(elements);
    }

    /// Whether the provider keeps the conversation by itself.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether the last request named a response that the provider may no longer have.
    pub(super) fn is_continued(&self) -> bool {
        self.kept.as_ref().is_some_and(Kept::is_continued)
    }

    /// Sends everything from now on, as the provider does not know the response that the last
    /// request named; `false` if that is no more than it had.
    pub(super) fn forget(&mut self) -> bool {
        self.kept.as_mut().is_some_and(Kept::forget)
    }

    pub(super) fn is_thread(&self) -> bool {
        self.thread.is_some()
    }

    /// Returns the history with the context, and with an instruction for this request only.
    fn history_with(
        &mut self,
        instruction: Option<&str>,
    ) -> (Vec<Json<'static>>, Option<Json<'static>>) {
        let new: Vec<_> = self.context.iter().skip(self.learned).collect();
        let model = self.model.as_deref();
        let new: Vec<_> = new.into_iter().map(|one| one.elements(self.wire, model)).collect();
        let instruction = instruction.map(|text| Context::System(text.to_owned()));
        let once = instruction.map(|one| one.elements(self.wire, model)).unwrap_or_default();
        self.learned = self.context.len();
        for elements in new {
            self.append(elements);
        }
        let retract = !once.is_empty();
        self.append(once);
        let messages = self.history.messages();
        if retract {
            self.history.retract();
        }
        messages
    }

    fn append(&mut self, elements: Vec<Json<'static>>) {
        // Elements of a turn have known shapes, so appending them cannot fail.
        let is_read = self.history.append(elements);
        debug_assert!(is_read, "an element of a turn was not read");
    }

    /// Whether the turn has added results, or calls with their answers.
    pub(super) fn has_results(&self) -> bool {
        self.context.iter().any(|one| match one {
            Context::System(text) => text.starts_with("TOOL RESULT "),
            Context::Exchange(_) | Context::Media(_) => true,
        })
    }

    /// Returns which context the current request contains in addition to the given history.
    pub(super) fn flags(&self, offers_tools: bool) -> Vec<&'static str> {
        let notice = |one: &Context| match one {
            Context::System(text) => !text.starts_with("TOOL RESULT "),
            Context::Exchange(_) | Context::Media(_) => false,
        };
        let flags = [
            ("tool_results", self.has_results()),
            ("refusal_notice", self.context.iter().any(notice)),
            ("tools_offered", offers_tools),
        ];
        flags.into_iter().filter_map(|(flag, set)| set.then_some(flag)).collect()
    }
}

fn offer<'a>(options: &'a TurnOptions, phase: &Phase) -> (Vec<&'a ToolSpec>, Choice) {
    let (policy, all) = (&options.policy, options.tools.all().iter());
    if phase.offers_tools(policy) {
        let offered =
            |tool: &&ToolSpec| phase.name() != PhaseName::Action || policy.action_tools.has(tool);
        return (all.filter(offered).collect(), Choice::Auto);
    }
    // With native results, the tools stay in the request and are forbidden. This preserves the
    // provider's prompt cache and the definitions of the calls in the history.
    let keep = policy.results_as == ResultsAs::Native || phase.name() == PhaseName::Unified;
    (if keep { all.collect() } else { Vec::new() }, Choice::None)
}
