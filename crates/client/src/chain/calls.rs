//! Does what a chain asks for: calls back, looks into the cache, shows. It decides nothing.

use std::collections::BTreeMap;
use std::rc::Rc;

use futures::future::{AbortHandle, LocalBoxFuture};
use futures::{FutureExt, StreamExt};
use js_sys::JsString;
use serde::Serialize;
use wasm_bindgen_futures::spawn_local;

use super::super::clock;
use super::super::drive::{Facts, Host, Machine, Tasks};
use super::super::feed::Feed;
use super::super::guard::Guarded;
use super::cache::{CacheEntry, ChainCache};
use super::context::{Call, CallContext};
use super::text::{StepError, Text, Written};
use turnlock::Next;
use turnlock::chain::{
    AnswerCall, AssessCall, CallBody, Chain, ChainEvent, ChainResult, ClassifyCall, ConditionCall,
    Effect, Input, PlanCall, ReplanCall, StepCall, SynthesisCall,
};
use turnlock::json::Json;

impl Machine for Chain {
    type Effect = Effect;

    fn poll(&mut self) -> Next<Effect> {
        self.poll()
    }

    fn due(&mut self, now_ms: u64) {
        self.handle(now_ms, Input::Timer);
    }
}

/// A callback of the host's: what it is told, and where its pieces of text go. It gives JSON text.
pub(super) type Callback<T> = Rc<dyn Fn(CallContext<T>, Pieces) -> Given>;

/// What a callback gives.
type Given = LocalBoxFuture<'static, Result<String, StepError>>;

/// Takes pieces of text.
pub(super) type Pieces = Rc<dyn Fn(String)>;

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
type Bound = Box<dyn FnOnce(Call, Pieces) -> Given>;

impl Callbacks {
    /// The callback for a call; `None` for one that is not there, which the core does not call.
    fn of(&self, body: CallBody) -> Option<Bound> {
        fn bound<T: 'static>(callback: &Callback<T>, told: T) -> Option<Bound> {
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
pub(super) fn values<T, R, E>(
    run: impl AsyncFn(CallContext<T>) -> Result<R, E> + 'static,
) -> Callback<T>
where
    T: 'static,
    R: Serialize + 'static,
    E: Into<StepError> + 'static,
{
    let run = Rc::new(run);
    Rc::new(move |context, _| {
        let run = run.clone();
        Box::pin(async move { text(&run(context).await.map_err(Into::into)?) })
    })
}

/// A callback that writes.
pub(super) fn texts<C, T, E>(
    run: impl AsyncFn(CallContext<C>) -> Result<T, E> + 'static,
) -> Callback<C>
where
    C: 'static,
    T: Into<Text> + 'static,
    E: Into<StepError> + 'static,
{
    let run = Rc::new(run);
    Rc::new(move |context, show| {
        let run = run.clone();
        Box::pin(async move {
            let Text(written) = run(context).await.map_err(Into::into)?.into();
            let mut pieces = match written {
                Written::Whole(whole) => return text(&whole),
                Written::Pieces(pieces) => pieces,
            };
            while let Some(piece) = pieces.next().await {
                show(piece?);
                // Pieces may all be there at once: the core and the reader come first.
                clock::microtask().await;
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
    pub(super) cache: Option<Rc<dyn ChainCache>>,
    pub(super) events: Feed<ChainEvent>,
    pub(super) facts: Facts<Chain>,
    pub(super) under_way: BTreeMap<u32, AbortHandle>,
}

impl Host<Chain> for Calls {
    type End = ChainResult;

    fn perform(&mut self, effect: Effect, tasks: &mut Tasks) -> Option<ChainResult> {
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
    fn call(&self, call: u32, body: CallBody) -> impl Future<Output = ()> + use<> {
        let kind = body.kind();
        let callback = self.callbacks.of(body);
        let facts = self.facts.clone();
        async move {
            let Some(callback) = callback else { return };
            let mut waiting = Waiting { call: Call::default(), settled: false };
            let told = waiting.call.clone();
            let chunks = facts.clone();
            let show: Pieces = Rc::new(move |text| {
                chunks.tell(move |chain: &mut Chain, now| {
                    chain.handle(now, Input::Chunk { call, text });
                });
            });
            let ended = match Guarded::new(move || callback(told, show)) {
                Ok(given) => given.await,
                Err(panicked) => Err(panicked),
            };
            waiting.settled = true;
            let cost = waiting.call.cost();
            facts.tell(move |chain, now| {
                let input = match ended.unwrap_or_else(|why| Err(StepError::new(why))) {
                    Ok(value) => Input::returned(call, &value, cost),
                    Err(StepError { message, code, retryable }) => {
                        let code = code.unwrap_or_else(|| format!("{kind}.threw").into());
                        let code = code.into_owned();
                        Input::Failed { call, code, message, retryable, cost }
                    }
                };
                chain.handle(now, input);
            });
        }
    }

    /// Looks into the cache.
    fn recall(&self, call: u32, key: &str) -> impl Future<Output = ()> + use<> {
        let cache = self.cache.clone();
        let facts = self.facts.clone();
        let key = composed(key);
        async move {
            let asked = Guarded::new(move || async move {
                match cache {
                    Some(cache) => cache.get(&key).await,
                    None => None,
                }
            });
            let found = match asked {
                Ok(found) => found.await.ok().flatten(),
                Err(_) => None,
            };
            let value = found.and_then(|CacheEntry { value, stored_at }| {
                let age_ms = today_ms().saturating_sub(stored_at);
                text(&serde_json::json!({ "value": value, "ageMs": age_ms })).ok()
            });
            facts.tell(move |chain: &mut Chain, now| {
                chain.handle(now, Input::returned(call, value.as_deref().unwrap_or("null"), None));
            });
        }
    }

    /// Keeps a result, by itself: a chain that ends must not tear a write.
    fn remember(&self, key: &str, value: Json<'static>) {
        let Some(cache) = self.cache.clone() else { return };
        let key = composed(key);
        let entry = CacheEntry { value: value.into(), stored_at: today_ms() };
        let kept = Guarded::new(move || async move { cache.set(&key, entry).await });
        let Ok(mut kept) = kept else { return };
        // What takes no time is there at once, for the next chain.
        if (&mut kept).now_or_never().is_none() {
            spawn_local(async move { drop(kept.await) });
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

/// In Unicode's normal form C, as the npm package's keys are: by the host's own tables.
fn composed(key: &str) -> String {
    JsString::from(key).normalize("NFC").into()
}

/// Milliseconds since 1970.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a date fits")]
fn today_ms() -> u64 {
    js_sys::Date::now() as u64
}
