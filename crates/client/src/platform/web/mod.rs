//! The web: pages and workers on wasm32, with `fetch`, the event loop's timers and IndexedDB.
//! All that names JavaScript is in this folder.

mod fetch;
mod guard;
pub(crate) mod indexed_db;
mod signal;
mod task;
mod tool;

use std::future::Future;

use gloo_timers::future::TimeoutFuture;
use js_sys::{Date, JsString, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::JsFuture;

use super::Platform;
use crate::http::BROKEN;

#[wasm_bindgen]
extern "C" {
    /// In pages and in every kind of worker.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
}

/// Longer timers would fire at once.
const LONGEST_TIMER: f64 = 2_147_483_647.0;

/// A JavaScript host.
pub(crate) enum Web {}

impl Platform for Web {
    type Client = fetch::Fetch;
    type Response = fetch::Answer;
    type Signal = signal::Signal;
    type Task = task::Task;
    type Timer = TimeoutFuture;

    fn now() -> f64 {
        performance_now()
    }

    fn unix_ms() -> f64 {
        Date::now()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is within limits"
    )]
    fn timer(ms: f64) -> TimeoutFuture {
        TimeoutFuture::new(ms.clamp(0.0, LONGEST_TIMER).ceil() as u32)
    }

    /// Through the queue of microtasks: the event loop's timers have to wait.
    async fn pass() {
        let _ = JsFuture::from(Promise::resolve(&JsValue::UNDEFINED)).await;
    }

    fn spawn(future: impl Future<Output = ()> + 'static) -> task::Task {
        task::spawn(future)
    }

    fn poll_now(task: &task::Task) {
        task.poll_now();
    }

    fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
        guard::guarded(work)
    }

    /// Leaks it: a trap runs no destructor, so nobody knows what state it is in.
    fn abandon<T>(broken: T) {
        std::mem::forget(broken);
    }

    async fn post(
        fetch: &fetch::Fetch,
        url: &str,
        headers: &[(String, String)],
        body: String,
    ) -> Result<fetch::Answer, String> {
        fetch.post(url, headers, body).await.map_err(|()| BROKEN.to_owned())
    }

    fn date(text: &str) -> f64 {
        Date::parse(text)
    }

    /// By the host's own tables, which weigh nothing.
    fn composed(text: &str) -> String {
        JsString::from(text).normalize("NFC").into()
    }
}
