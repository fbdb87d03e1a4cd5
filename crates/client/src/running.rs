//! What is under way, for whoever reads and stops it.

use std::fmt;
use std::task::{Context, Poll};

use futures::channel::oneshot;

use crate::drive::{Inputs, Machine, Perform, drive};
use crate::feed::Feed;
use crate::platform::{Active, MaybeSend, Platform, Task};

/// A machine's events and inputs. Dropping it before the end cancels the machine.
pub(crate) struct Running<M: Machine, E> {
    pub(crate) events: Feed<E>,
    pub(crate) inputs: Inputs<M::Input>,
    /// `None` where somebody waits for the driver itself.
    task: Option<Task>,
}

impl<M: Machine, E> fmt::Debug for Running<M, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Running")
    }
}

impl<M: Machine, E> Running<M, E> {
    pub(crate) fn new() -> Self {
        Self { events: Feed::new(), inputs: Inputs::new(), task: None }
    }

    /// Drives a machine that has started to its end. Returns what is under way, and what it comes
    /// to; `host` makes what performs the effects.
    pub(crate) fn launch<P>(
        machine: M,
        host: impl FnOnce(Feed<E>, Inputs<M::Input>) -> P,
    ) -> (Self, oneshot::Receiver<P::End>)
    where
        P: Perform<M> + MaybeSend + 'static,
        P::End: MaybeSend + 'static,
        E: MaybeSend + 'static,
    {
        let mut running = Self::new();
        let (settle, result) = oneshot::channel();
        let host = host(running.events.clone(), running.inputs.clone());
        let driver = drive(machine, host, running.inputs.clone());
        running.spawn(async move {
            let _ = settle.send(driver.await);
        });
        (running, result)
    }

    /// Runs the driver, to its end, and with it the end of the events.
    pub(crate) fn spawn(&mut self, driver: impl Future<Output = ()> + MaybeSend + 'static)
    where
        E: MaybeSend + 'static,
    {
        let ending = Ending(self.events.clone());
        self.task = Some(Active::spawn(async move {
            let _ending = ending;
            driver.await;
        }));
    }

    pub(crate) fn cancel(&self, reason: impl Into<String>) {
        self.inputs.tell(M::cancel(reason.into()));
    }

    pub(crate) fn poll_next(&self, cx: &Context<'_>) -> Poll<Option<E>> {
        self.events.poll_next(cx)
    }

    pub(crate) fn is_terminated(&self) -> bool {
        self.events.is_over() && self.events.is_empty()
    }
}

/// Ends the events, also where a runtime that is torn down drops the driver.
struct Ending<E>(Feed<E>);

impl<E> Drop for Ending<E> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<M: Machine, E> Drop for Running<M, E> {
    fn drop(&mut self) {
        if self.events.is_over() {
            return;
        }
        self.events.leave();
        self.cancel("the reader left");
        if let Some(task) = &self.task {
            Active::poll_now(task);
        }
    }
}

/// The events of a type whose `running` is a [`Running`].
macro_rules! stream_of_events {
    ($running:ty, $event:ty) => {
        impl futures::Stream for $running {
            type Item = $event;

            fn poll_next(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<$event>> {
                self.running.poll_next(cx)
            }
        }

        impl futures::stream::FusedStream for $running {
            fn is_terminated(&self) -> bool {
                self.running.is_terminated()
            }
        }
    };
}
pub(crate) use stream_of_events;
