//! Futures and streams of the host's, whose panics are results: see [`Platform::guarded`].

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::platform::{Abort, Active, BoxFuture, BoxStream, MaybeSend, Platform, Signal};

/// What `work`, code of the host's, returns; words where it panicked.
pub(crate) fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    Active::guarded(work)
}

/// What a future of the host's comes to; words where it, or making it, panicked.
pub(crate) async fn called<F>(make: impl FnOnce() -> F) -> Result<F::Output, String>
where
    F: Future + MaybeSend + 'static,
{
    Guarded::new(make)?.await
}

/// Aborts a signal where it is dropped before its call has settled.
pub(crate) struct Wanted(Option<Signal>);

impl Wanted {
    pub(crate) fn new(signal: Signal) -> Self {
        Self(Some(signal))
    }

    pub(crate) fn settled(mut self) {
        self.0 = None;
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        if let Some(signal) = &self.0 {
            signal.abort(None);
        }
    }
}

/// Something of the host's, until it is dropped or has panicked.
struct Own<T>(Option<T>);

impl<T> Own<T> {
    /// Words where it panicked: then it is gone. `ended` where it is gone already.
    fn call<R>(&mut self, work: impl FnOnce(&mut T) -> R, ended: R) -> Result<R, String> {
        let Some(own) = &mut self.0 else { return Ok(ended) };
        let returned = guarded(|| work(own));
        if returned.is_err() {
            Active::abandon(self.0.take());
        }
        returned
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        let callback = self.0.take();
        if callback.is_some() {
            // Destructors are the host's as well. There is nobody to be told.
            drop(guarded(|| drop(callback)));
        }
    }
}

/// A future of the host's, whose panic is its end.
pub(crate) struct Guarded<R>(Own<BoxFuture<'static, R>>);

impl<R> Guarded<R> {
    /// `make` is the host's, too.
    pub(crate) fn new<F>(make: impl FnOnce() -> F) -> Result<Self, String>
    where
        F: Future<Output = R> + MaybeSend + 'static,
    {
        let future: BoxFuture<'static, R> = Box::pin(guarded(make)?);
        Ok(Self(Own(Some(future))))
    }
}

impl<R> Future for Guarded<R> {
    type Output = Result<R, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.0.call(|future| future.as_mut().poll(cx), Poll::Pending) {
            Ok(polled) => polled.map(Ok),
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}

/// A stream of the host's, whose panic is its end.
pub(crate) struct GuardedStream<T>(Own<BoxStream<'static, T>>);

impl<T> GuardedStream<T> {
    pub(crate) fn new(stream: BoxStream<'static, T>) -> Self {
        Self(Own(Some(stream)))
    }

    /// The next item; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<T>, String> {
        poll_fn(|cx| match self.0.call(|stream| stream.as_mut().poll_next(cx), Poll::Ready(None)) {
            Ok(polled) => polled.map(Ok),
            Err(panicked) => Poll::Ready(Err(panicked)),
        })
        .await
    }
}
