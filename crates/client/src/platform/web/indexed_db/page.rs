//! The back/forward cache, which a page enters and leaves whole.

use std::rc::Rc;

use js_sys::Function;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{EventTarget, PageTransitionEvent};

pub(super) enum PageEvent {
    /// The page is being unloaded, or goes to sleep.
    Hidden,
    /// The page is back.
    Back,
}

type Listener = Closure<dyn FnMut(PageTransitionEvent)>;

/// Listens until it is dropped.
pub(super) struct Page {
    target: EventTarget,
    listeners: [(&'static str, Listener); 2],
}

impl Page {
    /// `None` where there are no such events at all.
    pub(super) fn listen(told: impl Fn(PageEvent) + 'static) -> Option<Self> {
        let target: EventTarget = js_sys::global().dyn_into().ok()?;
        let told = Rc::new(told);
        let again = Rc::clone(&told);
        let hide = Closure::new(move |_: PageTransitionEvent| told(PageEvent::Hidden));
        let show = Closure::new(move |event: PageTransitionEvent| {
            if event.persisted() {
                again(PageEvent::Back);
            }
        });
        let listeners = [("pagehide", hide), ("pageshow", show)];
        for (kind, listener) in &listeners {
            // It throws for no name and no function.
            let _ = target.add_event_listener_with_callback(kind, function(listener));
        }
        Some(Self { target, listeners })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        for (kind, listener) in &self.listeners {
            let _ = self.target.remove_event_listener_with_callback(kind, function(listener));
        }
    }
}

fn function(listener: &Listener) -> &Function {
    listener.as_ref().unchecked_ref()
}
