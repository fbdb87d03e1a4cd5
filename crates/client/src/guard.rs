//! Panics of the host's callbacks.
//!
//! On stable Rust a panic on wasm32 is a trap: it unwinds to the JavaScript frame below and
//! runs no destructor. So a callback is called through one such frame, `Reflect.apply`, which hands
//! the trap on as an error. What the callback owned is leaked; everything below it goes on. For the
//! standard library the thread is panicking from then on: `std::thread::panicking()` is true, and
//! no panic hook can be set any more.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;
use js_sys::Array;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = Reflect, js_name = apply, catch)]
    fn apply(work: &mut dyn FnMut(), this: &JsValue, args: &Array) -> Result<(), JsValue>;
}

/// What `work` returns; or, where it panicked, that it did.
pub(super) fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    let mut work = Some(work);
    let mut returned = None;
    let ended = apply(
        &mut || returned = work.take().map(|work| work()),
        &JsValue::UNDEFINED,
        &Array::new(),
    );
    match (returned, ended) {
        (Some(returned), _) => Ok(returned),
        (None, Err(thrown)) => Err(describe_trap(&thrown)),
        (None, Ok(())) => Err("it did not return".to_owned()),
    }
}

/// The words of a trap, such as `unreachable`, say nothing; those of the panic are on the console,
/// where a hook puts them.
fn describe_trap(thrown: &JsValue) -> String {
    if thrown.is_instance_of::<js_sys::WebAssembly::RuntimeError>() {
        return "it panicked".to_owned();
    }
    describe(thrown)
}

/// What JavaScript threw, in words.
pub(super) fn describe(thrown: &JsValue) -> String {
    if let Some(text) = thrown.as_string() {
        return text;
    }
    // Neither a message nor a JSON text need be strings, whatever their types say.
    let message = || js_sys::Reflect::get(thrown, &"message".into()).ok()?.as_string();
    let shown = || js_sys::JSON::stringify(thrown).ok()?.as_string();
    let is_error = thrown.is_instance_of::<js_sys::Error>();
    let said = is_error.then(message).flatten().filter(|message| !message.is_empty());
    said.or_else(shown).unwrap_or_else(|| "an error that cannot be shown".to_owned())
}

/// A future of the host's, whose panic is its end.
pub(super) struct Guarded<R>(Option<LocalBoxFuture<'static, R>>);

impl<R> Guarded<R> {
    /// `make` is the host's, too.
    pub(super) fn new<F: Future<Output = R> + 'static>(
        make: impl FnOnce() -> F,
    ) -> Result<Self, String> {
        let future = guarded(make)?;
        Ok(Self(Some(Box::pin(future))))
    }
}

impl<R> Future for Guarded<R> {
    type Output = Result<R, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.0 else { return Poll::Pending };
        match guarded(|| future.as_mut().poll(cx)) {
            Ok(polled) => polled.map(Ok),
            Err(message) => {
                // Nobody knows what state it is in.
                std::mem::forget(self.0.take());
                Poll::Ready(Err(message))
            }
        }
    }
}

impl<R> Drop for Guarded<R> {
    fn drop(&mut self) {
        let future = self.0.take();
        if future.is_some() {
            // Destructors are the host's as well. There is nobody to be told.
            drop(guarded(|| drop(future)));
        }
    }
}

/// A stream of the host's, whose panic is its end.
pub(super) struct GuardedStream<T>(Option<LocalBoxStream<'static, T>>);

impl<T> GuardedStream<T> {
    pub(super) fn new(stream: LocalBoxStream<'static, T>) -> Self {
        Self(Some(stream))
    }

    /// The next item; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<T>, String> {
        poll_fn(|cx| {
            let Some(stream) = &mut self.0 else { return Poll::Ready(Ok(None)) };
            match guarded(|| stream.as_mut().poll_next(cx)) {
                Ok(polled) => polled.map(Ok),
                Err(message) => {
                    std::mem::forget(self.0.take());
                    Poll::Ready(Err(message))
                }
            }
        })
        .await
    }
}

impl<T> Drop for GuardedStream<T> {
    fn drop(&mut self) {
        let stream = self.0.take();
        if stream.is_some() {
            drop(guarded(|| drop(stream)));
        }
    }
}
