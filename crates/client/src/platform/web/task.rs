//! Drivers on the event loop.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use wasm_bindgen_futures::spawn_local;

/// A driver on the event loop.
pub(crate) struct Task(Rc<Running>);

struct Running {
    driver: RefCell<Option<LocalBoxFuture<'static, ()>>>,
    /// The event loop's own.
    waker: RefCell<Option<Waker>>,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

/// Runs a driver on the event loop, to its end, whatever becomes of the [`Task`].
pub(super) fn spawn(driver: impl Future<Output = ()> + 'static) -> Task {
    let driver = RefCell::new(Some(driver.boxed_local()));
    let running = Rc::new(Running { driver, waker: RefCell::new(None) });
    let task = Task(running.clone());
    spawn_local(poll_fn(move |cx| {
        *running.waker.borrow_mut() = Some(cx.waker().clone());
        running.poll(cx)
    }));
    task
}

impl Running {
    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        // Where it is being polled further down already, it hears there what it was told.
        let Ok(mut driver) = self.driver.try_borrow_mut() else { return Poll::Pending };
        let Some(running) = driver.as_mut() else { return Poll::Ready(()) };
        let polled = running.as_mut().poll(cx);
        if polled.is_ready() {
            let ended = driver.take();
            // What it drops may ask for it again.
            drop(driver);
            drop(ended);
        }
        polled
    }
}

impl Task {
    /// Has the driver hear what it was told, now: a runtime that ends whatever a request has begun
    /// wakes nothing any more, and what the driver holds would never be given back.
    pub(super) fn poll_now(&self) {
        let waker = self.0.waker.borrow().clone();
        if let Some(waker) = waker {
            let _ = self.0.poll(&mut Context::from_waker(&waker));
        }
    }
}
