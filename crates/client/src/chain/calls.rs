//! Performs the effects of a chain: calls back, looks into the cache, shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::AbortHandle;

use super::cache::CacheEntry;
use super::callbacks::{Callbacks, Pieces, text};
use super::context::Call;
use super::text::StepError;
use crate::clock;
use crate::drive::{Inputs, Machine, Perform, Tasks};
use crate::feed::Feed;
use crate::guard::{Wanted, called};
use crate::platform::{Active, MaybeSend, Platform};
use turnlock::Next;
use turnlock::chain::{CallBody, Chain, ChainEvent, ChainResult, Effect, Input};
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

pub(super) struct Calls {
    pub(super) callbacks: Arc<Callbacks>,
    pub(super) events: Feed<ChainEvent>,
    pub(super) inputs: Inputs<<Chain as Machine>::Input>,
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
            Effect::Done(result) => {
                if let Some(breaker) = &self.callbacks.breaker {
                    breaker.record(&result);
                }
                return Some(result);
            }
        }
        None
    }
}

impl Calls {
    /// Calls back, and tells what comes of it.
    fn call(&self, call: u32, body: CallBody) -> impl Future<Output = ()> + MaybeSend + use<> {
        let kind = body.kind();
        let (callbacks, inputs) = (self.callbacks.clone(), self.inputs.clone());
        async move {
            let shared_call = Call::default();
            let wanted = Wanted::new(shared_call.signal.clone());
            let (own, chunks) = (shared_call.clone(), inputs.clone());
            let show: Pieces = Arc::new(move |text| chunks.tell(Input::Chunk { call, text }));
            let ended = called(move || callbacks.call(body, own, show)).await;
            wanted.settled();
            let cost = shared_call.cost();
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
        let cache = self.callbacks.cache.clone();
        let inputs = self.inputs.clone();
        let key = Active::composed(key);
        async move {
            let lookup = called(move || async move {
                match cache {
                    Some(cache) => cache.get(&key).await,
                    None => None,
                }
            });
            let found = lookup.await.ok().flatten();
            let value = found.and_then(|CacheEntry { value, stored_at }| {
                let age_ms = clock::whole_ms(clock::unix_ms()).saturating_sub(stored_at);
                text(&serde_json::json!({ "value": value, "ageMs": age_ms })).ok()
            });
            inputs.tell(Input::returned(call, value.as_deref().unwrap_or("null"), None));
        }
    }

    /// Keeps a result, by itself: a chain that ends must not tear a write.
    fn remember(&self, key: &str, value: Json<'static>) {
        let Some(cache) = self.callbacks.cache.clone() else { return };
        let key = Active::composed(key);
        let entry =
            CacheEntry { value: value.into(), stored_at: clock::whole_ms(clock::unix_ms()) };
        let keep = move || async move { cache.set(&key, entry).await };
        let mut kept = Box::pin(called(keep));
        // What takes no time is there at once, for the next chain.
        if (&mut kept).now_or_never().is_none() {
            Active::spawn(kept.map(drop));
        }
    }
}
