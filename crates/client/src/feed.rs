//! What comes one by one, for one reader.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::lock::Lock;

/// Items that a reader may be behind before whoever makes them is held back.
///
/// Limit | events that a slow reader is behind | events | the model waits
const MOST_BEHIND: usize = 256;

#[derive(Debug)]
pub(crate) struct Feed<T>(Arc<Lock<Inner<T>>>);

#[derive(Debug)]
struct Inner<T> {
    items: VecDeque<T>,
    over: bool,
    /// A stream that nobody has looked at holds nothing back.
    reading: bool,
    left: bool,
    reader: Option<Waker>,
    held_back: Vec<Waker>,
}

impl<T> Clone for Feed<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Feed<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Lock::new(Inner {
            items: VecDeque::new(),
            over: false,
            reading: false,
            left: false,
            reader: None,
            held_back: Vec::new(),
        })))
    }

    pub(crate) fn push(&self, item: T) {
        let mut inner = self.0.lock();
        if inner.left {
            return;
        }
        inner.items.push_back(item);
        let reader = inner.reader.take();
        drop(inner);
        wake(reader);
    }

    /// Nothing follows.
    pub(crate) fn end(&self) {
        let mut inner = self.0.lock();
        inner.over = true;
        let wakers = (inner.reader.take(), std::mem::take(&mut inner.held_back));
        drop(inner);
        wake(wakers.0);
        wakers.1.into_iter().for_each(Waker::wake);
    }

    /// The reader wants no more.
    pub(crate) fn leave(&self) {
        let mut inner = self.0.lock();
        inner.left = true;
        let rest = (std::mem::take(&mut inner.items), std::mem::take(&mut inner.held_back));
        drop(inner);
        rest.1.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.lock().over
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().items.is_empty()
    }

    pub(crate) fn poll_next(&self, cx: &Context<'_>) -> Poll<Option<T>> {
        let mut inner = self.0.lock();
        inner.reading = true;
        let held_back = std::mem::take(&mut inner.held_back);
        let polled = match inner.items.pop_front() {
            Some(item) => Poll::Ready(Some(item)),
            None if inner.over => Poll::Ready(None),
            None => {
                inner.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        };
        drop(inner);
        held_back.into_iter().for_each(Waker::wake);
        polled
    }

    /// Whether the reader is far behind.
    pub(crate) fn is_full(&self) -> bool {
        self.0.lock().is_full()
    }

    /// Resolves when the reader is not, or no longer, far behind.
    pub(crate) async fn room(&self) {
        poll_fn(|cx| {
            let mut inner = self.0.lock();
            if !inner.is_full() {
                return Poll::Ready(());
            }
            inner.held_back.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl<T> Inner<T> {
    fn is_full(&self) -> bool {
        self.reading && !self.left && self.items.len() > MOST_BEHIND
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
