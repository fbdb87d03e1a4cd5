//! One turn.

use std::sync::Arc;

use futures::channel::oneshot;
use futures::{Stream, StreamExt};
use serde::Serialize;

use crate::clock;
use crate::drive::Inputs;
use crate::effects::Asks;
use crate::error::Error;
use crate::json::to_json;
use crate::launch::{AnswerSchema, Launch, TurnHost, fallbacks, owned, registry};
use crate::model::Model;
use crate::platform::{MaybeSend, MaybeSync};
use crate::running::{Running, stream_of_events};
use crate::store::Store;
use crate::tool::Tool;
use turnlock::history::Strategy;
use turnlock::json::Json;
use turnlock::turn::shell::Unkept;
use turnlock::turn::{
    self, Event, Failure, Input, Keep, Mode, Policy, TraceEvent, Turn, TurnResult,
};

/// What [`run_turn`] takes.
#[derive(Clone)]
pub struct TurnOptions {
    model: Model,
    messages: Result<Json<'static>, Error>,
    /// What only the core reads.
    turn: turn::TurnOptions,
    pub(crate) host: TurnHost,
}

impl std::fmt::Debug for TurnOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnOptions").field("model", &self.model).finish_non_exhaustive()
    }
}

impl TurnOptions {
    /// A turn of a model over a history, the user's message last: a list of `{ role, content, … }`
    /// in any shape that [`history`](turnlock::history) reads.
    pub fn new(model: Model, messages: impl Serialize) -> Self {
        Self {
            turn: turn::TurnOptions::new(model.dialect, "", "", Vec::new()),
            model,
            messages: to_json(&messages),
            host: TurnHost { request_id: clock::random_id(), ..TurnHost::default() },
        }
    }

    /// Under another name of its model's provider.
    pub(crate) fn named(self, name: &str) -> Self {
        Self { model: self.model.named(name), ..self }
    }

    /// The name of its model, and whether a seed reaches it.
    pub(crate) fn model_and_seed(&self) -> (Option<String>, bool) {
        (self.model.parameters().0, !self.model.seed_field().is_empty())
    }

    /// With a seed for its model; see `Model::seeded`.
    pub(crate) fn seeded(self, seed: i64) -> Self {
        Self { model: self.model.seeded(seed), ..self }
    }

    /// A tool that the model may call.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.host.tools.push(tool);
        self
    }

    /// Tools that the model may call.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.host.tools.extend(tools);
        self
    }

    /// Models that are asked in this order, each when the one before it has failed for good (after its
    /// retries) and before anything of its response arrived. The turn goes on with the one that
    /// answers: [`TurnResult::model`] names it. Not with [`Strategy::Thread`].
    #[must_use]
    pub fn fallbacks(mut self, models: impl IntoIterator<Item = Model>) -> Self {
        self.host.fallbacks.extend(models);
        self
    }

    /// Whether a request that the provider refuses for its history is repaired and sent once more,
    /// before any fallback (the default): the field `repair_on_error` of the core's options. A turn of
    /// [`run_plain_turn`] repairs nothing.
    #[must_use]
    pub fn repair_on_error(mut self, repairs: bool) -> Self {
        self.turn.repair_on_error = repairs;
        self
    }

    /// Two phases (the default), or the plain loop.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.turn.mode = mode;
        self
    }

    /// Limits and switches.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.turn.policy = policy;
        self
    }

    /// A system prompt before the history; it stands where the model's API wants it, before the
    /// history's own instructions.
    #[must_use]
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.turn.system = Some(system.into());
        self
    }

    /// The answer is JSON of this JSON Schema: [`TurnResult::object`]. Its text is shown as a whole,
    /// when it is valid; with the feature `jsonschema` it is validated, else any JSON is. The model may
    /// answer once more, then the turn fails with `answer.invalid`.
    #[must_use]
    pub fn answer_schema(mut self, schema: impl Serialize) -> Self {
        self.host.answer = Some(AnswerSchema::new(&schema));
        self
    }

    /// The turn's id. Default a random UUID.
    #[must_use]
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.host.request_id = id.into();
        self
    }

    /// A secret of at least 32 characters from which the nonces of boxes derive, so that a turn that is
    /// made again with the same id sends the same bytes. Default: randomness of each turn.
    #[must_use]
    pub fn box_secret(mut self, secret: impl Into<turnlock::Secret>) -> Self {
        self.turn.box_secret = Some(secret.into());
        self
    }

    /// Part of every signature.
    #[must_use]
    pub fn project_id(mut self, id: impl Into<String>) -> Self {
        self.host.project_id = Some(id.into());
        self
    }

    /// The conversation, kept with the turn.
    #[must_use]
    pub fn conversation_id(mut self, id: impl Into<String>) -> Self {
        self.turn.conversation_id = Some(id.into().into());
        self
    }

    /// [`Strategy::Thread`]: the model keeps the conversation, see [`Model::threads`], and is sent
    /// only what its thread lacks. Needs a conversation.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.turn.strategy = strategy;
        self
    }

    /// With [`Strategy::Thread`] and [`Model::openai_responses`]: `response_id` of the conversation's
    /// last turn. A request has what follows the last answer in the history, which is given whole;
    /// where the provider no longer has the response, the whole history is sent once.
    #[must_use]
    pub fn previous_response_id(mut self, id: impl Into<String>) -> Self {
        self.turn.previous_response_id = Some(id.into());
        self
    }

    /// Keeps the turn, so that it can be resumed and stopped from elsewhere. An event is shown when
    /// it is kept. An id that the store knows ends with `turn.conflict`.
    #[must_use]
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.host.store = Some(Arc::new(store));
        self
    }

    /// Whom the turn belongs to; part of every name in the store. Default the empty string.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.host.tenant = tenant.into();
        self
    }

    /// How much is kept, and for how long. `owner` and `tenant` are the driver's own.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.turn.keep = Some(keep);
        self
    }

    /// Gets trace events; its panic is ignored.
    #[must_use]
    pub fn on_trace(
        mut self,
        on_trace: impl Fn(&TraceEvent) + MaybeSend + MaybeSync + 'static,
    ) -> Self {
        self.host.on_trace = Some(Arc::new(on_trace));
        self
    }
}

/// Runs one turn.
///
/// It runs by itself: reading its events is optional, and reading them slowly holds the model's
/// response back. Dropping it cancels it.
///
/// ```no_run
/// use futures::StreamExt;
/// use serde_json::json;
/// use turnlock_client::{Error, Model, TurnOptions, run_turn};
///
/// # async fn page() -> Result<(), Error> {
/// let model = Model::openai_chat("/api/v1", "gpt-5-mini");
/// let messages = json!([{ "role": "user", "content": "What is a causeway?" }]);
/// let mut turn = run_turn(TurnOptions::new(model, messages))?;
/// while let Some(event) = turn.next().await {
///     if let Some(chunk) = event.chunk() {
///         print!("{chunk}");
///     }
/// }
/// println!("{:?}", turn.result().await.status);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Misuse: `options.invalid`, `tool.invalid_name`, `tool.invalid_schema`, `message.unknown_shape`,
/// `dialect.no_stream`, `json.*`. Everything else is the turn's terminal event.
///
/// # Panics
/// Natively, outside of a tokio runtime.
pub fn run_turn(options: TurnOptions) -> Result<RunningTurn, Error> {
    let (turn, model, host) = checked(options)?;
    let owner = turn.keep.as_ref().map(|keep| keep.owner.clone());
    Ok(launched(Turn::new(turn)?, model, host, owner))
}

/// As [`run_turn`], for pages that must be small: what it needs weighs a third less of wasm. Runs
/// turns without a store, with a model of Chat Completions whose history it takes as it is: messages
/// `{ role, content }` of one system, the user and the assistant, and calls with their results. The
/// history of a conversation that this crate has run is one.
///
/// # Errors
/// Those of [`run_turn`], and `options.invalid` for a turn that only [`run_turn`] runs: with a
/// `store` or `fallbacks`, another `model` or other `messages`.
///
/// # Panics
/// Natively, outside of a tokio runtime.
pub fn run_plain_turn(options: TurnOptions) -> Result<RunningTurn, Error> {
    let (turn, model, host) = checked(options)?;
    let turn = turn.repair_on_error(false);
    if host.store.is_some() {
        return Err(Error::option("store", "none: `run_turn` keeps turns"));
    }
    if !host.fallbacks.is_empty() {
        return Err(Error::option("fallbacks", "none: `run_turn` asks them"));
    }
    if !Unkept::is_plain(model.dialect) {
        return Err(Error::option("model", "one of Chat Completions: `run_turn` asks the others"));
    }
    match Unkept::new(turn)? {
        Some(machine) => Ok(launched(machine, model, host, None)),
        None => {
            Err(Error::option("messages", "plain ones: `run_turn` reads and repairs the others"))
        }
    }
}

/// The turn as the core takes it, and what is the host's.
fn checked(options: TurnOptions) -> Result<(turn::TurnOptions, Model, TurnHost), Error> {
    let TurnOptions { model, messages, mut turn, host } = options;
    model.checked()?;
    if turn.strategy == Strategy::Thread && !model.threads {
        return Err(Error::option("strategy", "thread with a model that keeps threads"));
    }
    if host.store.is_none() {
        if turn.keep.is_some() {
            return Err(Error::option("keep", "a store with it"));
        }
        if turn.policy.pause_after_tools {
            let why = "false without a store: the turn is resumed from it";
            return Err(Error::option("policy.pauseAfterTools", why));
        }
        if host.tools.iter().any(Tool::may_need_approval) {
            let why = "one with a tool that needs approval: the turn is resumed from it";
            return Err(Error::option("store", why));
        }
    }
    let Json::Array(messages) = messages? else {
        return Err(Error::option("messages", "an array"));
    };
    if let Some(answer) = &host.answer {
        turn.answer_schema = answer.schema()?;
    }
    turn.keep = host.store.is_some().then(|| owned(&host.tenant, turn.keep.unwrap_or_default()));
    let (name, body) = model.parameters();
    let turn = turn
        .model(name)
        .body(body)
        .messages(messages)
        .max_retries(model.max_retries)
        .think_tags(model.think_tags)
        .text_tool_calls(model.text_tool_calls)
        .history(model.history)
        .fallbacks(fallbacks(&host.fallbacks)?)
        .tools(registry(&host.tools)?)
        .request_id(host.request_id.as_str().into())
        .project_id(host.project_id.as_deref().map(Arc::from))
        .secret(clock::random_hex(32).into())
        .started_at(clock::whole_ms(clock::unix_ms()))
        .trace(host.on_trace.is_some());
    Ok((turn, model, host))
}

/// Runs the machine of a turn.
fn launched<M: Asks<Result = TurnResult, Trace = TraceEvent>>(
    machine: M,
    model: Model,
    host: TurnHost,
    owner: Option<String>,
) -> RunningTurn {
    let (launch, mut turn) = Launch::new(&host);
    turn.running.spawn(launch.run(machine, Some(model), host, owner));
    turn
}

/// A turn under way: a stream of its events, exactly one of them terminal, the last. Dropping it
/// before its end cancels the turn: the request is aborted, tools are dropped.
#[derive(Debug)]
pub struct RunningTurn {
    pub(crate) request_id: Arc<str>,
    pub(crate) running: Running<Turn, Event>,
    pub(crate) result: oneshot::Receiver<TurnResult>,
}

/// Stops or pauses a turn from elsewhere. It does not keep the turn alive.
#[derive(Debug, Clone)]
pub struct Control(Inputs<Input>);

impl Control {
    /// Ends the turn.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.0.tell(Input::Cancel { reason: reason.into() });
    }

    /// Ends the turn as `paused` behind the tool results; a turn that is answering finishes.
    pub fn pause(&self) {
        self.0.tell(Input::Pause);
    }
}

impl RunningTurn {
    /// The turn's id.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Ends the turn: the request is aborted, tools are dropped.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.running.cancel(reason);
    }

    /// Ends the turn as `paused` behind the tool results; a turn that is answering finishes.
    pub fn pause(&self) {
        self.control().pause();
    }

    /// For whoever stops the turn while another reads it.
    #[must_use]
    pub fn control(&self) -> Control {
        Control(self.running.inputs.clone())
    }

    /// The text of the turn alone, as it comes; it ends with the turn. What went wrong is in the
    /// result.
    pub fn text_stream(&mut self) -> impl Stream<Item = String> + '_ {
        self.filter_map(|event| std::future::ready(event.chunk().map(str::to_owned)))
    }

    /// What the turn comes to. Events that were not read are dropped.
    pub async fn result(mut self) -> TurnResult {
        self.running.events.leave();
        let result = (&mut self.result).await;
        // Only a runtime that is being torn down drops a driver.
        let no_answer = Failure::new("core.fault", "no answer");
        result.unwrap_or_else(|_| TurnResult::failed(self.request_id.clone(), no_answer))
    }
}

stream_of_events!(RunningTurn, Event);
