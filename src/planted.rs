//! Bugs on purpose: proof that the tests would find them.
//!
//! With the feature `planted` a test names one bug, and the place of the rule that it breaks asks
//! for it: one line each. Without the feature the answer is `false`, and nothing is left of it.

/// Whether the current test plants the bug of this name.
#[cfg(not(feature = "planted"))]
pub(crate) const fn planted(_: &str) -> bool {
    false
}

#[cfg(feature = "planted")]
mod on {
    use std::cell::Cell;

    thread_local!(static NAME: Cell<&'static str> = const { Cell::new("") });

    /// Plants a bug in this thread; the empty name takes it away.
    pub fn plant(name: &'static str) {
        NAME.with(|cell| cell.set(name));
    }

    pub(crate) fn planted(name: &str) -> bool {
        NAME.with(|cell| cell.get() == name)
    }
}

#[cfg(feature = "planted")]
pub use on::plant;
#[cfg(feature = "planted")]
pub(crate) use on::planted;
