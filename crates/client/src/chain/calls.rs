//! Does what a chain asks for: calls back, looks into the cache, shows. It decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::AbortHandle;
use futures::{FutureExt, StreamExt};
use serde::Serialize;

use super::cache::{CacheEntry, ChainCache};
use super::context::{Call, CallContext};
use super::text::{StepError, Text, Written};
use crate::clock;
use crate::drive::{Inputs, Machine, Perform, Tasks};
use crate::feed::Feed;
use crate::guard::called;
use crate::platform::{Active, BoxFuture, Dyn, MaybeSend, MaybeSync, Platform};
use turnlock::Next;
use turnlock::chain::{
    AnswerCall, AssessCall, CallBody, Chain, ChainEvent, ChainResult, ClassifyCall, ConditionCall,
    Effect, Input, PlanCall, ReplanCall, StepCall, SynthesisCall,
};
use turnlock::json::Json;

impl Machine for Chain {
    type Effect = Effect;
    type Input = Input;

    fn poll(&mut self) -> Next<Effect> {
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

/// A callback of the host's: what it is told, and where its pieces of text go. It gives JSON text.
pub(super) type Callback<T> = Arc<Dyn![Fn(CallContext<T>, Pieces) -> Given]>;

/// What a callback gives.
type Given = BoxFuture<'static, Result<String, StepError>>;

/// Takes pieces of text.
pub(super) type Pieces = Arc<Dyn![Fn(String)]>;

/// The callbacks of a chain.
#[derive(Clone)]
pub(super) struct Callbacks {
    pub(super) answer: Callback<AnswerCall>,
    pub(super) plan: Callback<PlanCall>,
    pub(super) search: Callback<StepCall>,
    pub(super) synthesize: Callback<SynthesisCall>,
    pub(super) refine: Option<Callback<StepCall>>,
    pub(super) classify: Option<Callback<ClassifyCall>>,
    pub(super) assess: Option<Callback<AssessCall>>,
    pub(super) condition: Option<Callback<ConditionCall>>,
    pub(super) replan: Option<Callback<ReplanCall>>,
}

/// A callback with what it is told.
type Bound = Box<Dyn![FnOnce(Call, Pieces) -> Given]>;

impl Callbacks {
    /// The callback for a call; `None` for one that is not there, which the core does not call.
    fn of(&self, body: CallBody) -> Option<Bound> {
        fn bound<T: MaybeSend + MaybeSync + 'static>(
            callback: &Callback<T>,
            told: T,
        ) -> Option<Bound> {
            let callback = callback.clone();
            Some(Box::new(move |call, show| callback(CallContext::new(told, call), show)))
        }
        match body {
            CallBody::Answer(told) => bound(&self.answer, told),
            CallBody::Assess(told) => bound(self.assess.as_ref()?, told),
            CallBody::Classify(told) => bound(self.classify.as_ref()?, told),
            CallBody::Condition(told) => bound(self.condition.as_ref()?, told),
            CallBody::Plan(told) => bound(&self.plan, told),
            CallBody::Recall(_) => None,
            CallBody::Refine(told) => bound(self.refine.as_ref().unwrap_or(&self.search), told),
            CallBody::Replan(told) => bound(self.replan.as_ref()?, told),
            CallBody::Search(told) => bound(&self.search, told),
            CallBody::Synthesize(told) => bound(&self.synthesize, told),
        }
    }
}

/// A callback that gives a value.
pub(super) fn values<T, R, E, F>(
    run: impl Fn(CallContext<T>) -> F + MaybeSend + MaybeSync + 'static,
) -> Callback<T>
where
    R: Serialize,
    E: Into<StepError>,
    F: Future<Output = Result<R, E>> + MaybeSend + 'static,
{
    Arc::new(move |context, _| {
        let given = run(context);
        Box::pin(async move { text(&given.await.map_err(Into::into)?) })
    })
}

/// A callback that writes.
pub(super) fn texts<C, T, E, F>(
    run: impl Fn(CallContext<C>) -> F + MaybeSend + MaybeSync + 'static,
) -> Callback<C>
where
    T: Into<Text>,
    E: Into<StepError>,
    F: Future<Output = Result<T, E>> + MaybeSend + 'static,
{
    Arc::new(move |context, show| {
        let given = run(context);
        Box::pin(async move {
            let Text(written) = given.await.map_err(Into::into)?.into();
            let mut pieces = match written {
                Written::Whole(whole) => return text(&whole),
                Written::Pieces(pieces) => pieces,
            };
            while let Some(piece) = pieces.next().await {
                show(piece?);
                // Pieces may all be there at once: the core and the reader come first.
                Active::pass().await;
            }
            Ok("null".to_owned())
        })
    })
}

fn text(value: &impl Serialize) -> Result<String, StepError> {
    serde_json::to_string(value)
        .map_err(|error| StepError::from(error).code("json.not_serializable").fatal())
}

/// What a chain is made of, and where its events go.
pub(super) struct Calls {
    pub(super) callbacks: Callbacks,
    pub(super) cache: Option<Arc<dyn ChainCache>>,
    pub(super) events: Feed<ChainEvent>,
    pub(super) inputs: Inputs<Chain>,
    pub(super) under_way: BTreeMap<u32, AbortHandle>,
}

impl Perform<Chain> for Calls {
    type End = ChainResult;

    fn perform(&mut self, effect: Effect, tasks: &Tasks) -> Option<ChainResult> {
        match effect {
            Effect::Emit(event) => self.events.push(event),
            Effect::Call { call, body } => {
                let handle = match body {
                    CallBody::Recall(told) => tasks.start(self.recall(call, &told.key)),
                    body => tasks.start(self.call(call, body)),
                };
                self.under_way.insert(call, handle);
            }
            Effect::Abort { call, .. } => {
                if let Some(handle) = self.under_way.remove(&call) {
                    handle.abort();
                }
            }
            Effect::Remember { key, value } => self.remember(&key, value),
            Effect::Done(result) => return Some(result),
        }
        None
    }
}

impl Calls {
    /// Calls back, and tells what comes of it.
    fn call(&self, call: u32, body: CallBody) -> impl Future<Output = ()> + MaybeSend + use<> {
        let kind = body.kind();
        let callback = self.callbacks.of(body);
        let inputs = self.inputs.clone();
        async move {
            let Some(callback) = callback else { return };
            let mut waiting = Waiting { call: Call::default(), settled: false };
            let told = waiting.call.clone();
            let chunks = inputs.clone();
            let show: Pieces = Arc::new(move |text| chunks.tell(Input::Chunk { call, text }));
            let ended = called(move || callback(told, show)).await;
            waiting.settled = true;
            let cost = waiting.call.cost();
            inputs.tell(match ended.unwrap_or_else(|why| Err(StepError::new(why))) {
                Ok(value) => Input::returned(call, &value, cost),
                Err(StepError { message, code, retryable }) => {
                    let code = code.unwrap_or_else(|| format!("{kind}.threw").into());
                    let code = code.into_owned();
                    Input::Failed { call, code, message, retryable, cost }
                }
            });
        }
    }

    /// Looks into the cache.
    fn recall(&self, call: u32, key: &str) -> impl Future<Output = ()> + MaybeSend + use<> {
        let cache = self.cache.clone();
        let inputs = self.inputs.clone();
        let key = Active::composed(key);
        async move {
            let asked = called(move || async move {
                match cache {
                    Some(cache) => cache.get(&key).await,
                    None => None,
                }
            });
            let found = asked.await.ok().flatten();
            let value = found.and_then(|CacheEntry { value, stored_at }| {
                let age_ms = clock::whole(clock::unix_ms()).saturating_sub(stored_at);
                text(&serde_json::json!({ "value": value, "ageMs": age_ms })).ok()
            });
            inputs.tell(Input::returned(call, value.as_deref().unwrap_or("null"), None));
        }
    }

    /// Keeps a result, by itself: a chain that ends must not tear a write.
    fn remember(&self, key: &str, value: Json<'static>) {
        let Some(cache) = self.cache.clone() else { return };
        let key = Active::composed(key);
        let entry = CacheEntry { value: value.into(), stored_at: clock::whole(clock::unix_ms()) };
        let keep = move || async move { cache.set(&key, entry).await };
        let mut kept = Box::pin(called(keep));
        // What takes no time is there at once, for the next chain.
        if (&mut kept).now_or_never().is_none() {
            Active::spawn(kept.map(drop));
        }
    }
}

/// Tells a callback's `signal` when nobody waits any longer.
struct Waiting {
    call: Call,
    settled: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.settled {
            self.call.abort();
        }
    }
}
