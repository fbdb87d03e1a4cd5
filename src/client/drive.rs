//! What every driver does: it tells the machine a fact, does what the machine asks for, in order,
//! and waits no longer than the machine's deadline. It decides nothing.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use futures::StreamExt;
use futures::future::{AbortHandle, Abortable, LocalBoxFuture};
use futures::stream::FuturesUnordered;
use gloo_timers::future::TimeoutFuture;

use super::clock;

/// A machine of the core.
pub(super) trait Machine: 'static {
    type Effect;

    fn poll(&mut self) -> Option<Self::Effect>;
    fn next_deadline(&self) -> Option<u64>;
    /// The deadline has come.
    fn due(&mut self, now_ms: u64);
}

/// Does what a machine asks for.
pub(super) trait Host<M: Machine> {
    /// What the machine comes to.
    type End;

    fn perform(&mut self, effect: M::Effect, tasks: &mut Tasks) -> Option<Self::End>;
}

/// Something that happened, for the machine to be told with the time.
pub(super) type Fact<M> = Box<dyn FnOnce(&mut M, u64)>;

/// Facts on their way to the machine.
pub(super) struct Facts<M>(Rc<RefCell<Queue<M>>>);

struct Queue<M> {
    facts: VecDeque<Fact<M>>,
    driver: Option<Waker>,
}

impl<M> Clone for Facts<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> std::fmt::Debug for Facts<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Facts")
    }
}

impl<M> Facts<M> {
    pub(super) fn new() -> Self {
        Self(Rc::new(RefCell::new(Queue { facts: VecDeque::new(), driver: None })))
    }

    /// Tells the machine, as soon as it listens. Nobody listens behind the end.
    pub(super) fn tell(&self, fact: impl FnOnce(&mut M, u64) + 'static) {
        let mut queue = self.0.borrow_mut();
        queue.facts.push_back(Box::new(fact));
        if let Some(driver) = queue.driver.take() {
            driver.wake();
        }
    }

    fn next(&self) -> Option<Fact<M>> {
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

/// Lets everything else have its turn.
pub(super) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Drives a machine to its end.
pub(super) async fn drive<M: Machine, H: Host<M>>(
    mut machine: M,
    mut host: H,
    facts: Facts<M>,
) -> H::End {
    let mut tasks = Tasks(FuturesUnordered::new());
    let mut timer = Timer::default();
    loop {
        while let Some(effect) = machine.poll() {
            if let Some(end) = host.perform(effect, &mut tasks) {
                return end;
            }
        }
        if let Some(fact) = facts.next() {
            fact(&mut machine, clock::whole_now());
            continue;
        }
        timer.set(machine.next_deadline());
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
