//! Events of JavaScript objects.

use std::cell::Cell;
use std::rc::Rc;

use futures::channel::oneshot;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Event, EventTarget};

/// Listens until it is dropped.
pub(super) struct Listener {
    target: EventTarget,
    kind: &'static str,
    heard: Closure<dyn FnMut(Event)>,
}

impl Listener {
    pub(super) fn new(
        target: &EventTarget,
        kind: &'static str,
        heard: impl FnMut(Event) + 'static,
    ) -> Self {
        let callback = Closure::new(heard);
        // It throws for no name and no function.
        let _ = target.add_event_listener_with_callback(kind, callback.as_ref().unchecked_ref());
        Self { target: target.clone(), kind, heard: callback }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let callback = self.heard.as_ref().unchecked_ref();
        let _ = self.target.remove_event_listener_with_callback(self.kind, callback);
    }
}

/// Listens from now on; resolves with the name of the event that comes first.
pub(super) fn first(
    target: &EventTarget,
    kinds: [&'static str; 2],
) -> impl Future<Output = Option<&'static str>> + 'static + use<> {
    let (tell, told) = oneshot::channel();
    let sender = Rc::new(Cell::new(Some(tell)));
    let listeners = kinds.map(|kind| {
        let sender = Rc::clone(&sender);
        Listener::new(target, kind, move |_| {
            if let Some(sender) = sender.take() {
                // Nobody waits any more.
                let _ = sender.send(kind);
            }
        })
    });
    async move {
        let _listeners = listeners;
        told.await.ok()
    }
}
