//! Which bug is planted in this thread.

use std::cell::Cell;

thread_local!(static NAME: Cell<&'static str> = const { Cell::new("") });

/// Plants a bug in this thread. The empty name removes it.
pub fn plant(name: &'static str) {
    NAME.with(|cell| cell.set(name));
}

pub(crate) fn planted(name: &str) -> bool {
    NAME.with(|cell| cell.get() == name)
}
