//! What every driver does: it tells the machine what happened, performs what the machine asks for,
//! in order, and waits no longer than the machine's deadline. It decides nothing.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::StreamExt;
use futures::future::{AbortHandle, Abortable};
use futures::stream::FuturesUnordered;

use crate::clock;
use crate::lock::Lock;
use crate::platform::{BoxFuture, MaybeSend, Timer};
use turnlock::Next;

/// A machine of the core.
pub(crate) trait Machine: MaybeSend + 'static {
    type Effect;
    type Input: MaybeSend + 'static;

    fn poll(&mut self) -> Next<Self::Effect>;
    fn handle(&mut self, now_ms: u64, input: Self::Input);

    /// The input for a deadline that has come.
    fn due() -> Self::Input;
    /// The input that ends the machine.
    fn cancel(reason: String) -> Self::Input;
}

/// Performs what a machine asks for.
pub(crate) trait Perform<M: Machine> {
    /// What the machine comes to.
    type End;

    fn perform(&mut self, effect: M::Effect, tasks: &Tasks) -> Option<Self::End>;
}

/// Inputs on their way to the machine.
pub(crate) struct Inputs<M: Machine>(Arc<Lock<Queue<M::Input>>>);

struct Queue<I> {
    inputs: VecDeque<I>,
    driver: Option<Waker>,
    over: bool,
}

impl<M: Machine> Clone for Inputs<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Machine> fmt::Debug for Inputs<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inputs")
    }
}

impl<M: Machine> Inputs<M> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Lock::new(Queue { inputs: VecDeque::new(), driver: None, over: false })))
    }

    /// Tells the machine, as soon as it listens. Nobody listens behind the end.
    pub(crate) fn tell(&self, input: M::Input) {
        let mut queue = self.0.lock();
        if queue.over {
            return;
        }
        queue.inputs.push_back(input);
        let driver = queue.driver.take();
        drop(queue);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// What comes from now on is not kept.
    fn close(&self) {
        let mut queue = self.0.lock();
        queue.over = true;
        let rest = std::mem::take(&mut queue.inputs);
        drop(queue);
        drop(rest);
    }

    fn next(&self) -> Option<M::Input> {
        self.0.lock().inputs.pop_front()
    }

    fn poll_any(&self, cx: &Context<'_>) -> Poll<()> {
        let mut queue = self.0.lock();
        if queue.inputs.is_empty() {
            queue.driver = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// What is under way: requests, tools, replicates, writes to a store. All of it ends with the
/// driver.
pub(crate) struct Tasks(FuturesUnordered<Abortable<BoxFuture<'static, ()>>>);

impl Tasks {
    /// Runs `task` beside the others; dropping it is how it is cancelled.
    pub(crate) fn start(
        &self,
        task: impl Future<Output = ()> + MaybeSend + 'static,
    ) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        self.0.push(Abortable::new(Box::pin(task), registration));
        handle
    }
}

/// Until a driver ends, or is given up.
struct Listening<M: Machine>(Inputs<M>);

impl<M: Machine> Drop for Listening<M> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Drives a machine to its end.
pub(crate) async fn drive<M: Machine, P: Perform<M>>(
    mut machine: M,
    mut host: P,
    inputs: Inputs<M>,
) -> P::End {
    let listening = Listening(inputs.clone());
    let mut tasks = Tasks(FuturesUnordered::new());
    let mut timer = Deadline::default();
    loop {
        let until = loop {
            match machine.poll() {
                Next::Effect(effect) => {
                    if let Some(end) = host.perform(effect, &tasks) {
                        drop(listening);
                        return end;
                    }
                }
                Next::Wait { until } => break until,
            }
        };
        if let Some(input) = inputs.next() {
            machine.handle(clock::whole_now(), input);
            continue;
        }
        timer.set(until);
        let is_due = poll_fn(|cx| {
            // Inputs first, then the time: what has come in time counts.
            while let Poll::Ready(Some(_)) = tasks.0.poll_next_unpin(cx) {}
            if inputs.poll_any(cx).is_ready() {
                return Poll::Ready(false);
            }
            timer.poll(cx).map(|()| true)
        });
        if is_due.await {
            machine.handle(clock::whole_now(), M::due());
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a clock fits")]
fn exact(ms: u64) -> f64 {
    ms as f64
}

/// One timer for all deadlines; one that fires early costs less than resetting it per chunk.
#[derive(Default)]
struct Deadline(Option<(u64, Timer)>);

impl Deadline {
    fn set(&mut self, deadline: Option<u64>) {
        let Some(deadline) = deadline else { return };
        if self.0.as_ref().is_none_or(|(due, _)| deadline < *due) {
            self.0 = Some((deadline, clock::sleep(exact(deadline) - clock::now())));
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some((_, timer)) = &mut self.0 else { return Poll::Pending };
        let fired = Pin::new(timer).poll(cx);
        if fired.is_ready() {
            self.0 = None;
        }
        fired
    }
}
