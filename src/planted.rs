//! Deliberate bugs, which prove that the tests detect such bugs.
//!
//! With the feature `planted`, a test selects one bug by name, and the code of the rule that the
//! bug breaks checks for this name. Without the feature, `planted` is the constant `false` and
//! the compiler removes the checks.

/// Whether the current test has planted the bug with this name.
#[cfg(not(feature = "planted"))]
pub(crate) const fn planted(_: &str) -> bool {
    false
}

#[cfg(feature = "planted")]
mod on {
    use std::cell::Cell;

    thread_local!(static NAME: Cell<&'static str> = const { Cell::new("") });

    /// Plants a bug in this thread. The empty name removes it.
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
