//! How a turn begins, whether it is new or goes on: its options for the core, its driver, and its end
//! where there is no beginning.

use std::sync::Arc;

use futures::channel::oneshot;
use serde::Serialize;

use crate::clock;
use crate::drive::{Inputs, drive};
use crate::effects::{Asked, Asks, OnTrace, UnderWay};
use crate::error::Error;
use crate::feed::Feed;
use crate::guard::guarded;
use crate::json::to_json;
use crate::model::Model;
use crate::running::Running;
use crate::schema::Validator;
use crate::store::{Changed, Store};
use crate::tool::Tool;
use crate::turn::RunningTurn;
use turnlock::json::Json;
use turnlock::store::turn_key;
use turnlock::tool::Registry;
use turnlock::turn::{
    Event, EventKind, Failure, Fallback, Input, Keep, PhaseName, TraceEvent, TurnResult, Verdict,
};

/// What every way of running a turn needs.
#[derive(Clone, Default)]
pub(crate) struct TurnHost {
    pub(crate) tools: Vec<Tool>,
    /// The models that are asked when the turn's model has failed.
    pub(crate) fallbacks: Vec<Model>,
    pub(crate) request_id: String,
    pub(crate) project_id: Option<String>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) tenant: String,
    pub(crate) on_trace: Option<OnTrace>,
    /// What answers must be like.
    pub(crate) answer: Option<AnswerSchema>,
}

/// The schema of the answer. A check without one, as without the feature `jsonschema`, takes all.
#[derive(Clone)]
pub(crate) struct AnswerSchema {
    schema: Result<Json<'static>, Error>,
    validator: Option<Arc<Validator>>,
}

impl AnswerSchema {
    pub(crate) fn new(schema: &impl Serialize) -> Self {
        let wrong =
            |why: String| Error::new("tool.invalid_schema", format!("answer_schema: {why}"));
        let (schema, validator) = match to_json(schema) {
            Err(error) => (Err(error), None),
            Ok(schema) => match Validator::of(&schema) {
                Err(why) => (Err(wrong(why)), None),
                Ok(_) if schema.as_object().is_none() => {
                    (Err(wrong("expected a JSON Schema object".to_owned())), None)
                }
                Ok(validator) => (Ok(schema), validator.map(Arc::new)),
            },
        };
        Self { schema, validator }
    }

    pub(crate) fn schema(&self) -> Result<Json<'static>, Error> {
        self.schema.clone()
    }

    pub(crate) fn verdict(&self, answer: &Json<'static>) -> Verdict {
        let errors = self.validator.as_ref().map(|one| one.errors(answer, 5)).unwrap_or_default();
        if errors.is_empty() {
            return Verdict::Valid { action: None, args: None, approval: false };
        }
        Verdict::Invalid { errors: errors.join("; ") }
    }
}

/// The tools as the core takes them.
pub(crate) fn registry(tools: &[Tool]) -> Result<Registry, Error> {
    Ok(Registry::new(tools.iter().map(Tool::declared).collect::<Result<_, _>>()?)?)
}

/// The fallbacks as the core takes them.
pub(crate) fn fallbacks(models: &[Model]) -> Result<Vec<Fallback>, Error> {
    let core = |model: &Model| {
        model.checked()?;
        let (name, body) = model.parameters();
        let fallback = Fallback::new(model.dialect).max_retries(model.max_retries);
        let fallback = fallback.think_tags(model.think_tags);
        let fallback = fallback.history(model.history);
        Ok(fallback.text_tool_calls(model.text_tool_calls).model(name).body(body))
    };
    models.iter().map(core).collect()
}

/// What is kept, by a new owner of a turn.
pub(crate) fn owned(tenant: &str, keep: Keep) -> Keep {
    keep.owner(clock::random_hex(16)).tenant(tenant.to_owned())
}

/// A turn that is about to run.
pub(crate) struct Launch {
    request_id: Arc<str>,
    events: Feed<Event>,
    inputs: Inputs<Input>,
    settle: oneshot::Sender<TurnResult>,
}

impl Launch {
    /// Beside it what the host gets.
    pub(crate) fn new(host: &TurnHost) -> (Self, RunningTurn) {
        let (settle, result) = oneshot::channel();
        let running = Running::new();
        let request_id: Arc<str> = host.request_id.as_str().into();
        let launch = Self {
            request_id: request_id.clone(),
            events: running.events.clone(),
            inputs: running.inputs.clone(),
            settle,
        };
        (launch, RunningTurn { request_id, running, result })
    }

    /// Runs it to its end.
    pub(crate) async fn run<M: Asks<Result = TurnResult, Trace = TraceEvent>>(
        self,
        mut machine: M,
        model: Option<Model>,
        host: TurnHost,
        owner: Option<String>,
    ) {
        let key: Arc<str> = turn_key(&host.tenant, &host.request_id).into();
        // Whoever takes the turn over, to stop it perhaps, writes under another name.
        let verify = self.inputs.clone();
        let changed: Changed = Arc::new(move |wrote| {
            if wrote.is_some_and(|wrote| owner.as_deref() != Some(wrote)) {
                verify.tell(Input::Verify);
            }
        });
        // A store that cannot watch is asked with the next write.
        let watch = host.store.as_ref().map(|store| guarded(|| store.watch(&key, changed)));
        let _watch = watch.and_then(Result::ok).flatten();
        let request_host = Asked {
            model,
            fallbacks: host.fallbacks,
            tools: host.tools.into(),
            store: host.store.map(|store| (store, key)),
            request_id: self.request_id,
            project_id: host.project_id.map(Arc::from),
            // The first event, which comes before any tool, names it.
            conversation_id: None,
            events: self.events.clone(),
            on_trace: host.on_trace,
            answer: host.answer,
            inputs: self.inputs.clone(),
            under_way: UnderWay::default(),
        };
        machine.handle(clock::whole_now(), Input::Start);
        let _ = self.settle.send(drive(machine, request_host, self.inputs).await);
    }

    /// Ends a turn that could not be resumed. Its event is not stored, and has no `seq` of its own.
    pub(crate) fn fail(self, error: Error) {
        let failure = Failure::new(error.code, error.message);
        let kind = EventKind::error(failure.clone());
        self.events.push(Event::new(PhaseName::Tool, &self.request_id, 0, kind));
        let _ = self.settle.send(TurnResult::failed(self.request_id, failure));
    }
}
