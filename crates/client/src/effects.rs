//! Does what a turn or a tool-request pass asks for: fetch, check, run a tool, keep, show. It
//! decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::{AbortHandle, select};

use crate::clock;
use crate::drive::{Inputs, Machine, Perform, Tasks};
use crate::feed::Feed;
use crate::guard::{GuardedStream, Wanted, called, guarded};
use crate::http;
use crate::launch::AnswerSchema;
use crate::model::{Model, Opened};
use crate::platform::{Abort, Active, Dyn, MaybeSend, Platform, Respond, Signal};
use crate::store::Store;
use crate::tool::{Tool, ToolContext, failed};
use turnlock::Next;
use turnlock::dialect::Dialect;
use turnlock::history::{self, Repair};
use turnlock::json::Json;
use turnlock::limits;
use turnlock::planning::{Pass, PassEvent, PassResult};
use turnlock::provider::Request;
use turnlock::store::{Commit, CommitResult, StoredOutcome};
use turnlock::turn::shell::Unkept;
use turnlock::turn::{Effect, Event, Input, Settled, TraceEvent, Turn, TurnResult, Verdict};

/// Milliseconds after which the core hears again that a response is held back.
///
/// Not a limit.
const HELD_BACK_MS: f64 = 1000.0;

/// Bytes of a response that one call of the core reads; then timers and other turns have their time.
///
/// Limit | a response that the core reads at once | bytes | sliced
const SLICE: usize = 256 * 1024;
/// Bytes of what a tool says about its progress at once.
///
/// Limit | a progress report of a tool | bytes | it is dropped
const PROGRESS: usize = 65_536;

/// Why no answer is valid in a turn that was resumed without its schema.
const NO_SCHEMA: &str = "the turn was resumed without its `answer_schema`";

/// Room behind the limit of a result, so that the core can cut at a character of its choice.
///
/// Not a limit.
const SLACK: u64 = 16;

/// A machine with the grammar of a turn.
pub(crate) trait Asks:
    Machine<Effect = Effect<Self::Result, Self::Trace>, Input = Input>
{
    /// What it comes to.
    type Result;
    /// Its trace events.
    type Trace: 'static;

    /// Repairs the history in a body that the provider has refused. A machine that carries no
    /// histories repairs none.
    fn repair(_dialect: Dialect, _body: &mut Json<'static>, _refusal: &str) -> Vec<Repair> {
        Vec::new()
    }
}

macro_rules! asks {
    ($machine:ty, $result:ty, $trace:ty $(, $repair:path)?) => {
        impl Asks for $machine {
            type Result = $result;
            type Trace = $trace;

            $(fn repair(dialect: Dialect, body: &mut Json<'static>, refusal: &str) -> Vec<Repair> {
                $repair(dialect, body, refusal)
            })?
        }

        impl Machine for $machine {
            type Effect = Effect<$result, $trace>;
            type Input = Input;

            fn poll(&mut self) -> Next<Self::Effect> {
                self.poll()
            }

            fn handle(&mut self, now_ms: u64, input: Input) {
                self.handle(now_ms, input);
            }

            fn due() -> Input {
                Input::Timer
            }

            fn cancel(reason: String) -> Input {
                Input::Cancel { reason }
            }
        }
    };
}

asks!(Turn, TurnResult, TraceEvent, history::repair);
asks!(Unkept, TurnResult, TraceEvent);
asks!(Pass, PassResult, PassEvent);

/// Gets trace events.
pub(crate) type OnTrace<T = TraceEvent> = Arc<Dyn![Fn(&T)]>;

/// What a turn or a pass is made of, and where its events go.
pub(crate) struct Asked<M: Asks> {
    /// None where nothing will be asked.
    pub(crate) model: Option<Model>,
    /// The models that are asked when it has failed.
    pub(crate) fallbacks: Vec<Model>,
    pub(crate) tools: Arc<[Tool]>,
    /// With the turn's name in it.
    pub(crate) store: Option<(Arc<dyn Store>, Arc<str>)>,
    pub(crate) request_id: Arc<str>,
    /// The turn's own: whoever resumes it need not know it.
    pub(crate) project_id: Option<Arc<str>>,
    pub(crate) conversation_id: Option<Arc<str>>,
    pub(crate) events: Feed<Event>,
    pub(crate) on_trace: Option<OnTrace<M::Trace>>,
    pub(crate) answer: Option<AnswerSchema>,
    pub(crate) inputs: Inputs<Input>,
    pub(crate) under_way: UnderWay,
}

/// What can be called off, by its number.
#[derive(Default)]
pub(crate) struct UnderWay {
    requests: BTreeMap<u32, AbortHandle>,
    tools: BTreeMap<u32, (AbortHandle, Signal)>,
    /// Calls whose arguments this owner of the turn has checked.
    checked: BTreeSet<u32>,
}

impl<M: Asks> Perform<M> for Asked<M> {
    type End = M::Result;

    fn perform(&mut self, effect: M::Effect, tasks: &Tasks) -> Option<M::Result> {
        match effect {
            Effect::Emit(event) => self.show(event),
            Effect::Fetch { inference, attempt, model, request } => {
                let handle = tasks.start(self.ask((inference, attempt), model, request));
                self.under_way.requests.insert(inference, handle);
            }
            Effect::Repair { inference, attempt, model, mut body, refusal } => {
                let model = self.model(model);
                let repairs = model.map(|model| M::repair(model.dialect, &mut body, &refusal));
                let repairs = repairs.unwrap_or_default();
                self.inputs.tell(Input::Repaired { inference, attempt, body, repairs });
            }
            Effect::Abort { inference } => {
                if let Some(handle) = self.under_way.requests.remove(&inference) {
                    handle.abort();
                }
            }
            Effect::Check { call: 0, args: answer, .. } => {
                let missing = || Verdict::Invalid { errors: NO_SCHEMA.to_owned() };
                let verdict = self.answer.as_ref().map_or_else(missing, |one| one.verdict(&answer));
                self.inputs.tell(Input::Checked { call: 0, verdict });
            }
            Effect::Check { call, name, args } => {
                let verdict = self.verdict(&name, &args);
                self.under_way.checked.insert(call);
                self.inputs.tell(Input::Checked { call, verdict });
            }
            Effect::RunTool {
                call,
                name,
                tool_call_id,
                tool_batch_id,
                idempotency_key,
                max_result_bytes,
                max_media_bytes: _,
                args,
                signed,
            } => {
                let (report, spend) = (self.inputs.clone(), self.inputs.clone());
                let context = ToolContext {
                    request_id: self.request_id.clone(),
                    tool_batch_id,
                    tool_call_id,
                    idempotency_key,
                    project_id: self.project_id.clone(),
                    conversation_id: self.conversation_id.clone(),
                    signal: Signal::default(),
                    report: Arc::new(move |text| progress(&report, call, &text)),
                    spend: Arc::new(move |usage| spend.tell(Input::ToolUsage { call, usage })),
                };
                let signal = context.signal.clone();
                let settling = self.settling(call, &name, (args, signed), context);
                let handle = tasks.start(self.settle(call, max_result_bytes, settling));
                self.under_way.tools.insert(call, (handle, signal));
            }
            Effect::Reconcile { call, about, idempotency_key, max_result_bytes, .. } => {
                let tool = self.find(&about.name).cloned();
                let signal = Signal::default();
                let reconciliation = async move {
                    match tool {
                        Some(tool) => tool.reconciled(about, idempotency_key).await,
                        None => Settled::Unknown { why: String::new() },
                    }
                };
                let handle = tasks.start(self.settle(call, max_result_bytes, reconciliation));
                self.under_way.tools.insert(call, (handle, signal));
            }
            Effect::CancelTool { call, reason } => {
                if let Some((handle, signal)) = self.under_way.tools.remove(&call) {
                    signal.abort(Some(reason.name()));
                    handle.abort();
                }
            }
            Effect::Commit { attempt, commit } => drop(tasks.start(self.commit(attempt, commit))),
            Effect::Recall { call, key } => drop(tasks.start(self.recall(call, key))),
            Effect::Trace(event) => {
                if let Some(on_trace) = &self.on_trace {
                    // A sink that panics must not end a turn.
                    drop(guarded(|| on_trace(&event)));
                }
            }
            Effect::Done { result } => return Some(result),
        }
        None
    }
}

impl<M: Asks> Asked<M> {
    fn show(&mut self, event: Event) {
        if self.project_id.as_deref() != event.project_id.as_deref() {
            self.project_id = event.project_id.as_deref().map(Arc::from);
        }
        if self.conversation_id != event.conversation_id {
            self.conversation_id.clone_from(&event.conversation_id);
        }
        self.events.push(event);
    }

    /// The model that an effect names: 0, or the place of a fallback from 1.
    fn model(&self, number: u32) -> Option<&Model> {
        let fallback = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        match fallback {
            Some(place) => self.fallbacks.get(place),
            None => self.model.as_ref(),
        }
    }

    fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    fn verdict(&self, name: &str, args: &Json<'static>) -> Verdict {
        let missing = || Verdict::Invalid { errors: "no such tool".to_owned() };
        self.find(name).map_or_else(missing, |tool| tool.verdict(args))
    }

    /// Asks the model, and tells what comes of it.
    fn ask(
        &self,
        (inference, attempt): (u32, u32),
        model: u32,
        request: Request<'static>,
    ) -> impl Future<Output = ()> + MaybeSend + use<M> {
        let opened = self.model(model).map(|model| model.open(request));
        let asking = Asking { inputs: self.inputs.clone(), events: self.events.clone() };
        let thrown = matches!(&opened, Some(Ok(Opened::Deltas(_))));
        async move {
            let ended = match opened {
                Some(Ok(opened)) => asking.read(inference, attempt, opened).await,
                Some(Err(message)) => Err(message),
                None => Err("no model".to_owned()),
            };
            asking.inputs.tell(match ended {
                Ok(true) => Input::ResponseEnded { inference, attempt },
                // Its head has said it.
                Ok(false) => return,
                Err(message) => {
                    Input::ResponseFailed { inference, attempt, message, thrown, code: None }
                }
            });
        }
    }

    fn settle(
        &self,
        call: u32,
        limit: u64,
        settling: impl Future<Output = Settled> + MaybeSend + 'static,
    ) -> impl Future<Output = ()> + MaybeSend + 'static {
        let inputs = self.inputs.clone();
        async move {
            let settled = shortened(settling.await, limit);
            inputs.tell(Input::ToolSettled { call, settled });
        }
    }

    fn settling(
        &self,
        call: u32,
        name: &str,
        (args, signed): (Json<'static>, Option<Json<'static>>),
        context: ToolContext,
    ) -> impl Future<Output = Settled> + MaybeSend + 'static {
        let tool = self.find(name).cloned();
        // Checked by another owner of the turn: the tool of this one may take other arguments.
        // Whether it needs an approval was decided there, too.
        let accepted = if self.under_way.checked.contains(&call) {
            Ok(())
        } else {
            let missing = || Err("no such tool".to_owned());
            let accepted = tool.as_ref().map_or_else(missing, |tool| tool.accepts(&args));
            // Its validator changed them; the checks of this driver change nothing.
            let changed = || "its validator makes other arguments of them".to_owned();
            accepted.and_then(|()| if signed.is_some() { Err(changed()) } else { Ok(()) })
        };
        async move {
            if let Err(errors) = accepted {
                let words = "the tool that the turn was resumed with does not take them";
                return failed("tool.invalid_arguments", &format!("{words}: {errors}"));
            }
            let Some(tool) = tool else { return failed("tool.threw", "no such tool") };
            let wanted = Wanted::new(context.signal.clone());
            let settled = tool.run(args, context).await;
            wanted.settled();
            settled
        }
    }

    fn commit(
        &self,
        attempt: u32,
        commit: Arc<Commit>,
    ) -> impl Future<Output = ()> + MaybeSend + use<M> {
        let inputs = self.inputs.clone();
        let store = self.store.clone();
        let revision = commit.revision;
        async move {
            let answered = match store {
                Some((store, turn)) => {
                    called(move || async move { store.commit(&turn, commit).await }).await
                }
                None => Err("no store".to_owned()),
            };
            let answer = match answered {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => CommitResult::Failed { code: error.code, message: error.message },
                Err(message) => {
                    CommitResult::Failed { code: "store.unavailable".to_owned(), message }
                }
            };
            inputs.tell(Input::Stored { revision, attempt, answer });
        }
    }

    fn recall(&self, call: u32, key: String) -> impl Future<Output = ()> + MaybeSend + use<M> {
        let inputs = self.inputs.clone();
        let store = self.store.clone();
        async move {
            let recalled = match store {
                Some((store, _)) => {
                    called(move || async move { store.recall(&key).await }).await.ok()
                }
                None => None,
            };
            // What cannot be reused is executed.
            let found = recalled.and_then(Result::ok).flatten();
            let found = found.map(|found| StoredOutcome::new(found.text, found.age_ms));
            inputs.tell(Input::Recalled { call, found });
        }
    }
}

/// What has no JSON, or too much of it, is not shown; the tool goes on.
fn progress(inputs: &Inputs<Input>, call: u32, text: &str) {
    if text.len() > PROGRESS {
        return;
    }
    if let Ok(data) = Json::parse_lossy(text.as_bytes(), limits::JSON_BYTES).map(Json::into_owned) {
        inputs.tell(Input::ToolProgress { call, data });
    }
}

/// A text far over the limit stays on this side. Content is whole: the core decides what of it counts.
fn shortened(settled: Settled, limit: u64) -> Settled {
    match settled {
        Settled::Ok { text, bytes } if text.starts_with(CONTENT) => Settled::Ok { text, bytes },
        Settled::Ok { mut text, bytes } => {
            let most = usize::try_from(limit.saturating_add(SLACK)).unwrap_or(usize::MAX);
            if text.len() > most && text.contains("\"isError\"") {
                failure_first(&mut text);
            }
            text.truncate(text.floor_char_boundary(most));
            Settled::Ok { text, bytes }
        }
        other @ (Settled::Error { .. } | Settled::Unknown { .. }) => other,
    }
}

/// How the JSON of content begins.
const CONTENT: &str = "{\"content\":[";

/// Moves the members of MCP's failed result to the front, so that the core finds them in a text that
/// is cut.
fn failure_first(text: &mut String) {
    let Ok(Json::Object(mut members)) = Json::parse_host(text.as_bytes(), text.len()) else {
        return;
    };
    members.sort_by_key(|(key, _)| match key.as_ref() {
        "isError" => 0,
        "content" => 1,
        _ => 2,
    });
    *text = Json::Object(members).to_text();
}

/// One request to the model.
struct Asking {
    inputs: Inputs<Input>,
    events: Feed<Event>,
}

impl Asking {
    /// Whether the body ended; `false` for a failure that the head told. An error is a broken
    /// connection, in words.
    async fn read(&self, inference: u32, attempt: u32, opened: Opened) -> Result<bool, String> {
        match opened {
            Opened::Http(post) => {
                let (path, secrets) = (post.path(), post.secrets());
                let mut response = post.send().await?;
                let (is_ok, status) = (http::is_ok(&response), response.status());
                let retry_after_ms = http::retry_after_ms(&response);
                let body = match is_ok {
                    true => String::new(),
                    false => http::failure(&mut response).await,
                };
                let hint = http::hint(&response, &path);
                self.inputs.tell(Input::ResponseHead {
                    inference,
                    attempt,
                    status,
                    retry_after_ms,
                    body,
                    hint,
                    secrets,
                });
                if !is_ok {
                    return Ok(false);
                }
                let broken = |()| http::BROKEN.to_owned();
                while let Some(bytes) = response.next().await.map_err(broken)? {
                    for (at, bytes) in bytes.chunks(SLICE).enumerate() {
                        if at > 0 {
                            clock::sleep(0.0).await;
                        }
                        let bytes = bytes.to_vec();
                        self.inputs.tell(Input::ResponseBytes { inference, attempt, bytes });
                        self.room(inference, attempt).await;
                    }
                }
            }
            Opened::Deltas(deltas) => {
                let mut deltas = GuardedStream::new(deltas);
                for count in 1_u64.. {
                    let next = deltas.next().await?;
                    let ended = next.is_none();
                    // A stream that yields nothing has answered nothing; it was not cut off.
                    let deltas = next.transpose()?.into_iter().collect();
                    self.inputs.tell(Input::Deltas { inference, attempt, deltas });
                    if ended {
                        break;
                    }
                    // A stream that is always ready must neither keep the machine from hearing it,
                    // nor others from stopping it, nor the host from its timers.
                    if count % 256 == 0 {
                        clock::sleep(0.0).await
                    } else {
                        Active::pass().await
                    }
                    self.room(inference, attempt).await;
                }
            }
        }
        Ok(true)
    }

    /// Readers that are far behind hold the response back; that is no silence of the model.
    async fn room(&self, inference: u32, attempt: u32) {
        while self.events.is_full() {
            drop(select(Box::pin(self.events.room()), clock::sleep(HELD_BACK_MS)).await);
            self.inputs.tell(Input::HeldBack { inference, attempt });
        }
    }
}
