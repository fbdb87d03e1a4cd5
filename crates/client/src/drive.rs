//! What every driver does: it tells the machine what happened, performs what the machine asks for,
//! in order, and waits no longer than the machine's deadline. It decides nothing.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
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

/// Where the inputs of a machine go. What comes behind its end is not kept.
pub(crate) struct Inputs<I> {
    tell: UnboundedSender<I>,
    /// Until the driver takes it.
    told: Arc<Lock<Option<UnboundedReceiver<I>>>>,
}

impl<I> Clone for Inputs<I> {
    fn clone(&self) -> Self {
        Self { tell: self.tell.clone(), told: self.told.clone() }
    }
}

impl<I> fmt::Debug for Inputs<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inputs")
    }
}

impl<I> Inputs<I> {
    pub(crate) fn new() -> Self {
        let (tell, told) = unbounded();
        Self { tell, told: Arc::new(Lock::new(Some(told))) }
    }

    /// Tells the machine, as soon as it listens.
    pub(crate) fn tell(&self, input: I) {
        // Nobody listens behind the end.
        let _ = self.tell.unbounded_send(input);
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

/// Drives a machine to its end; the machine hears what `inputs` are told from then on.
pub(crate) async fn drive<M: Machine, P: Perform<M>>(
    mut machine: M,
    mut host: P,
    inputs: Inputs<M::Input>,
) -> P::End {
    let told = inputs.told.lock().take();
    let mut told = told.unwrap_or_else(|| unbounded().1);
    let mut tasks = Tasks(FuturesUnordered::new());
    let mut timer = Deadline::default();
    loop {
        let until = loop {
            match machine.poll() {
                Next::Effect(effect) => {
                    if let Some(end) = host.perform(effect, &tasks) {
                        return end;
                    }
                }
                Next::Wait { until } => break until,
            }
        };
        // Without a waker: a task that tells something would wake the driver, which is awake.
        if let Ok(input) = told.try_recv() {
            machine.handle(clock::whole_now(), input);
            continue;
        }
        timer.set(until);
        let input = poll_fn(|cx| {
            // Inputs first, then the time: what has come in time counts.
            while let Poll::Ready(Some(_)) = tasks.0.poll_next_unpin(cx) {}
            if let Poll::Ready(Some(input)) = told.poll_next_unpin(cx) {
                return Poll::Ready(input);
            }
            timer.poll(cx).map(|()| M::due())
        });
        let input = input.await;
        machine.handle(clock::whole_now(), input);
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
