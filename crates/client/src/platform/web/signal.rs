//! `AbortSignal`s, which tell JavaScript that a call is no longer wanted.

use std::cell::OnceCell;
use std::rc::Rc;

use js_sys::Error;
use web_sys::{AbortController, AbortSignal};

use crate::chain::CallContext;
use crate::evidence::ReplicateContext;
use crate::platform::Abort;
use crate::tool::ToolContext;

/// Made when somebody asks for it: most calls do not.
#[derive(Clone, Default)]
pub(crate) struct Signal(Rc<OnceCell<Option<AbortController>>>);

impl Signal {
    pub(crate) fn get(&self) -> Option<AbortSignal> {
        self.0.get_or_init(|| AbortController::new().ok()).as_ref().map(AbortController::signal)
    }
}

impl Abort for Signal {
    /// With a reason: an `AbortError` that says it.
    fn abort(&self, why: Option<&str>) {
        let Some(Some(controller)) = self.0.get() else { return };
        let Some(why) = why else { return controller.abort() };
        let error = Error::new(why);
        error.set_name("AbortError");
        controller.abort_with_reason(&error);
    }
}

impl ToolContext {
    /// On the web. Aborted when the result is no longer wanted: a time-out, a cancelled turn. A
    /// Rust tool's future is dropped then anyway; this is for what it has begun in JavaScript.
    ///
    /// `None` in a runtime without `AbortController`.
    #[must_use]
    pub fn signal(&self) -> Option<AbortSignal> {
        self.signal.get()
    }
}

impl ReplicateContext {
    /// On the web. Aborted when nobody waits any longer, with an `AbortError` whose message is the
    /// reason: `timeout`, `token_limit`, `early`, `budget` or `cancelled`. The replicate's future is
    /// dropped then anyway; this is for what it has begun in JavaScript.
    ///
    /// `None` in a runtime without `AbortController`.
    #[must_use]
    pub fn signal(&self) -> Option<AbortSignal> {
        self.signal.get()
    }
}

impl<T> CallContext<T> {
    /// On the web. Aborted when the call is no longer wanted: a time-out, a chain that has stopped
    /// or was cancelled. The callback's future is dropped then anyway; this is for what it has
    /// begun in JavaScript.
    ///
    /// `None` in a runtime without `AbortController`.
    #[must_use]
    pub fn signal(&self) -> Option<AbortSignal> {
        self.call.signal.get()
    }
}
