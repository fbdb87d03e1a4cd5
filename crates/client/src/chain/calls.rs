//! Does what a chain asks for: calls back, looks into the cache, shows. It decides nothing.

use std::collections::BTreeMap;
use std::rc::Rc;

use futures::future::{AbortHandle, LocalBoxFuture};
use futures::{FutureExt, StreamExt};
use js_sys::JsString;
use serde::Serialize;
use wasm_bindgen_futures::spawn_local;

use super::super::clock;
use super::super::drive::{Facts, Host, Machine, Tasks, Told};
use super::super::feed::Feed;
use super::super::guard::Guarded;
use super::cache::{CacheEntry, ChainCache};
use super::context::{Call, Context};
use super::events::{ChainEvent, read};
use super::text::{StepError, Text, Written};
use turnlock::Next;
use turnlock::chain::{CallKind, Chain, Effect, Input};
use turnlock::json::Json;

impl Machine for Chain {
    type Effect = Effect;
    type Fact = Told<Self>;

    fn take(&mut self, now_ms: u64, fact: Told<Self>) {
        fact(self, now_ms);
    }

    fn poll(&mut self) -> Next<Effect> {
        self.poll().map_or_else(|| Next::Wait { until: self.next_deadline() }, Next::Effect)
    }

    fn due(&mut self, now_ms: u64) {
        self.handle(now_ms, Input::Timer);
    }
}

/// A callback of the host's: what it is told, and where its pieces of text go.
pub(super) type Callback =
    Rc<dyn Fn(Json<'static>, Call, Pieces) -> LocalBoxFuture<'static, Result<String, StepError>>>;

/// Takes pieces of text.
pub(super) type Pieces = Rc<dyn Fn(String)>;

/// The callbacks of a chain.
#[derive(Clone)]
pub(super) struct Callbacks {
    pub(super) answer: Callback,
    pub(super) plan: Callback,
    pub(super) search: Callback,
    pub(super) synthesize: Callback,
    pub(super) refine: Option<Callback>,
    pub(super) classify: Option<Callback>,
    pub(super) assess: Option<Callback>,
    pub(super) condition: Option<Callback>,
    pub(super) replan: Option<Callback>,
}

impl Callbacks {
    fn of(&self, kind: CallKind) -> Option<&Callback> {
        match kind {
            CallKind::Answer => Some(&self.answer),
            CallKind::Assess => self.assess.as_ref(),
            CallKind::Classify => self.classify.as_ref(),
            CallKind::Condition => self.condition.as_ref(),
            CallKind::Plan => Some(&self.plan),
            CallKind::Recall => None,
            CallKind::Refine => self.refine.as_ref().or(Some(&self.search)),
            CallKind::Replan => self.replan.as_ref(),
            CallKind::Search => Some(&self.search),
            CallKind::Synthesize => Some(&self.synthesize),
        }
    }
}

/// A callback that gives a value.
pub(super) fn values<C, R, E>(run: impl AsyncFn(C) -> Result<R, E> + 'static) -> Callback
where
    C: Context + 'static,
    R: Serialize + 'static,
    E: Into<StepError> + 'static,
{
    let run = Rc::new(run);
    Rc::new(move |body, call, _| {
        let run = run.clone();
        Box::pin(async move {
            let context = read::<C>(&body)?.of(call);
            let value = run(context).await.map_err(Into::into)?;
            text(&value)
        })
    })
}

/// A callback that writes.
pub(super) fn texts<C, T, E>(run: impl AsyncFn(C) -> Result<T, E> + 'static) -> Callback
where
    C: Context + 'static,
    T: Into<Text> + 'static,
    E: Into<StepError> + 'static,
{
    let run = Rc::new(run);
    Rc::new(move |body, call, show| {
        let run = run.clone();
        Box::pin(async move {
            let context = read::<C>(&body)?.of(call);
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
    type End = Json<'static>;

    fn perform(&mut self, effect: Effect, tasks: &mut Tasks) -> Option<Json<'static>> {
        match effect {
            Effect::Emit(event) => {
                // The core writes what `ChainEvent` reads.
                if let Ok(event) = read(&event) {
                    self.events.push(event);
                }
            }
            Effect::Call { call, kind, body } => {
                let handle = match kind {
                    CallKind::Recall => tasks.start(self.recall(call, &body)),
                    _ => tasks.start(self.call(call, kind, body)),
                };
                self.under_way.insert(call, handle);
            }
            Effect::Abort { call, .. } => {
                if let Some(handle) = self.under_way.remove(&call) {
                    handle.abort();
                }
            }
            Effect::Remember { key, value } => self.remember(&key, &value),
            Effect::Done { result } => return Some(result),
        }
        None
    }
}

impl Calls {
    /// Calls back, and tells what comes of it.
    fn call(
        &self,
        call: u32,
        kind: CallKind,
        body: Json<'static>,
    ) -> impl Future<Output = ()> + use<> {
        let callback = self.callbacks.of(kind).cloned();
        let facts = self.facts.clone();
        async move {
            let Some(callback) = callback else { return };
            let mut waiting = Waiting { call: Call::default(), settled: false };
            let told = waiting.call.clone();
            let chunks = facts.clone();
            let show: Pieces = Rc::new(move |text| {
                chunks.tell(move |chain: &mut Chain, now| {
                    chain.handle(now, Input::Chunk { call, text: &text });
                });
            });
            let ended = match Guarded::new(move || callback(body, told, show)) {
                Ok(given) => given.await,
                Err(panicked) => Err(panicked),
            };
            waiting.settled = true;
            let cost = waiting.call.cost();
            facts.tell(move |chain, now| {
                match ended.unwrap_or_else(|why| Err(StepError::new(why))) {
                    Ok(value) => chain.handle(now, Input::Returned { call, value: &value, cost }),
                    Err(StepError { message, code, retryable }) => {
                        let code = code.unwrap_or_else(|| format!("{}.threw", kind.name()).into());
                        let (code, message) = (code.as_ref(), message.as_str());
                        chain.handle(now, Input::Failed { call, code, message, retryable, cost });
                    }
                }
            });
        }
    }

    /// Looks into the cache.
    fn recall(&self, call: u32, body: &Json<'static>) -> impl Future<Output = ()> + use<> {
        let cache = self.cache.clone();
        let facts = self.facts.clone();
        let key = composed(body.get("key").and_then(Json::as_str).unwrap_or_default());
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
                let value = value.as_deref().unwrap_or("null");
                chain.handle(now, Input::Returned { call, value, cost: None });
            });
        }
    }

    /// Keeps a result, by itself: a chain that ends must not tear a write.
    fn remember(&self, key: &str, value: &Json<'static>) {
        let Some((cache, value)) = self.cache.clone().zip(read(value).ok()) else { return };
        let key = composed(key);
        let entry = CacheEntry { value, stored_at: today_ms() };
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
