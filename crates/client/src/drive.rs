//! What every driver does: it tells the machine a fact, does what the machine asks for, in order,
//! and waits no longer than the machine's deadline. It decides nothing.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use futures::future::{AbortHandle, Abortable, LocalBoxFuture};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use gloo_timers::future::TimeoutFuture;
use wasm_bindgen_futures::spawn_local;

use super::clock;
use turnlock::Next;

/// A machine of the core.
pub(super) trait Machine: 'static {
    type Effect;
    /// What it is told.
    type Fact;

    fn take(&mut self, now_ms: u64, fact: Self::Fact);

    fn poll(&mut self) -> Next<Self::Effect>;
    /// The deadline has come.
    fn due(&mut self, now_ms: u64);
}

/// Does what a machine asks for.
pub(super) trait Host<M: Machine> {
    /// What the machine comes to.
    type End;

    fn perform(&mut self, effect: M::Effect, tasks: &mut Tasks) -> Option<Self::End>;
}

/// A fact of a machine whose inputs borrow: it is told by a call, with the time.
pub(super) type Told<M> = Box<dyn FnOnce(&mut M, u64)>;

/// Facts on their way to the machine.
pub(super) struct Facts<M: Machine>(Rc<RefCell<Queue<M>>>);

struct Queue<M: Machine> {
    facts: VecDeque<M::Fact>,
    driver: Option<Waker>,
    over: bool,
}

impl<M: Machine> Clone for Facts<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Machine> std::fmt::Debug for Facts<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Facts")
    }
}

impl<M: Machine<Fact = Told<M>>> Facts<M> {
    /// As [`Facts::send`].
    pub(super) fn tell(&self, fact: impl FnOnce(&mut M, u64) + 'static) {
        self.send(Box::new(fact));
    }
}

impl<M: Machine> Facts<M> {
    pub(super) fn new() -> Self {
        Self(Rc::new(RefCell::new(Queue { facts: VecDeque::new(), driver: None, over: false })))
    }

    /// Tells the machine, as soon as it listens. Nobody listens behind the end.
    pub(super) fn send(&self, fact: M::Fact) {
        let mut queue = self.0.borrow_mut();
        if queue.over {
            return;
        }
        queue.facts.push_back(fact);
        let driver = queue.driver.take();
        drop(queue);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// What comes from now on is not kept.
    fn close(&self) {
        let mut queue = self.0.borrow_mut();
        queue.over = true;
        let rest = std::mem::take(&mut queue.facts);
        drop(queue);
        drop(rest);
    }

    fn next(&self) -> Option<M::Fact> {
        self.0.borrow_mut().facts.pop_front()
    }

    fn poll_any(&self, cx: &Context<'_>) -> Poll<()> {
        let mut queue = self.0.borrow_mut();
        if queue.facts.is_empty() {
            queue.driver = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// What is under way: requests, tools, replicates, writes to a store. All of it ends with the
/// driver.
pub(super) struct Tasks(FuturesUnordered<Abortable<LocalBoxFuture<'static, ()>>>);

impl Tasks {
    /// Runs `task` beside the others; dropping it is how it is cancelled.
    pub(super) fn start(&self, task: impl Future<Output = ()> + 'static) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        self.0.push(Abortable::new(Box::pin(task), registration));
        handle
    }
}

/// Until a driver ends, or is given up.
struct Listening<M: Machine>(Facts<M>);

impl<M: Machine> Drop for Listening<M> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A driver on the event loop.
pub(super) struct Task(Rc<Running>);

struct Running {
    driver: RefCell<Option<LocalBoxFuture<'static, ()>>>,
    /// The event loop's own.
    waker: RefCell<Option<Waker>>,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    pub(super) fn hear(&self) {
        let waker = self.0.waker.borrow().clone();
        if let Some(waker) = waker {
            let _ = self.0.poll(&mut Context::from_waker(&waker));
        }
    }
}

/// Drives a machine to its end.
pub(super) async fn drive<M: Machine, H: Host<M>>(
    mut machine: M,
    mut host: H,
    facts: Facts<M>,
) -> H::End {
    let listening = Listening(facts.clone());
    let mut tasks = Tasks(FuturesUnordered::new());
    let mut timer = Timer::default();
    loop {
        let until = loop {
            match machine.poll() {
                Next::Effect(effect) => {
                    if let Some(end) = host.perform(effect, &mut tasks) {
                        drop(listening);
                        return end;
                    }
                }
                Next::Wait { until } => break until,
            }
        };
        if let Some(fact) = facts.next() {
            machine.take(clock::whole_now(), fact);
            continue;
        }
        timer.set(until);
        let is_due = poll_fn(|cx| {
            // Facts first, then the time: what has come in time counts.
            while let Poll::Ready(Some(_)) = tasks.0.poll_next_unpin(cx) {}
            if facts.poll_any(cx).is_ready() {
                return Poll::Ready(false);
            }
            timer.poll(cx).map(|()| true)
        });
        if is_due.await {
            machine.due(clock::whole_now());
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a clock fits")]
fn exact(ms: u64) -> f64 {
    ms as f64
}

/// One timer for all deadlines; one that fires early costs less than resetting it per chunk.
#[derive(Default)]
struct Timer(Option<(u64, TimeoutFuture)>);

impl Timer {
    fn set(&mut self, deadline: Option<u64>) {
        let Some(deadline) = deadline else { return };
        if self.0.as_ref().is_none_or(|(due, _)| deadline < *due) {
            self.0 = Some((deadline, clock::sleep(exact(deadline) - clock::now())));
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some((_, timeout)) = &mut self.0 else { return Poll::Pending };
        let fired = Pin::new(timeout).poll(cx);
        if fired.is_ready() {
            self.0 = None;
        }
        fired
    }
}
