//! What comes one by one, for one reader.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Items that a reader may be behind before whoever makes them is held back.
const MOST_BEHIND: usize = 256;

#[derive(Debug)]
pub(super) struct Feed<T>(Rc<RefCell<Inner<T>>>);

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
    pub(super) fn new() -> Self {
        Self(Rc::new(RefCell::new(Inner {
            items: VecDeque::new(),
            over: false,
            reading: false,
            left: false,
            reader: None,
            held_back: Vec::new(),
        })))
    }

    pub(super) fn push(&self, item: T) {
        let mut inner = self.0.borrow_mut();
        if inner.left {
            return;
        }
        inner.items.push_back(item);
        let reader = inner.reader.take();
        drop(inner);
        wake(reader);
    }

    /// Nothing follows.
    pub(super) fn end(&self) {
        let mut inner = self.0.borrow_mut();
        inner.over = true;
        let wakers = (inner.reader.take(), std::mem::take(&mut inner.held_back));
        drop(inner);
        wake(wakers.0);
        wakers.1.into_iter().for_each(Waker::wake);
    }

    /// The reader wants no more.
    pub(super) fn leave(&self) {
        let mut inner = self.0.borrow_mut();
        inner.left = true;
        let rest = (std::mem::take(&mut inner.items), std::mem::take(&mut inner.held_back));
        drop(inner);
        rest.1.into_iter().for_each(Waker::wake);
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.borrow().over
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().items.is_empty()
    }

    pub(super) fn poll_next(&self, cx: &Context<'_>) -> Poll<Option<T>> {
        let mut inner = self.0.borrow_mut();
        inner.reading = true;
        let held_back = std::mem::take(&mut inner.held_back);
        if !held_back.is_empty() {
            drop(inner);
            held_back.into_iter().for_each(Waker::wake);
            inner = self.0.borrow_mut();
        }
        if let Some(item) = inner.items.pop_front() {
            return Poll::Ready(Some(item));
        }
        if inner.over {
            return Poll::Ready(None);
        }
        inner.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Whether the reader is far behind.
    pub(super) fn is_full(&self) -> bool {
        let inner = self.0.borrow();
        inner.reading && !inner.left && inner.items.len() > MOST_BEHIND
    }

    /// Resolves when the reader is not, or no longer, far behind.
    pub(super) async fn room(&self) {
        poll_fn(|cx| {
            if !self.is_full() {
                return Poll::Ready(());
            }
            self.0.borrow_mut().held_back.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
