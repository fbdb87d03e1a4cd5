//! Which bug is planted: in this thread, or in this process.

use std::cell::Cell;
use std::sync::OnceLock;

thread_local!(static NAME: Cell<&'static str> = const { Cell::new("") });

/// The bug of the process, for tests that plant none themselves.
static PLANTED: OnceLock<String> = OnceLock::new();

/// Plants a bug in this thread. The empty name removes it.
pub fn plant(name: &'static str) {
    NAME.with(|cell| cell.set(name));
}

pub(crate) fn planted(name: &str) -> bool {
    let everywhere = PLANTED.get_or_init(|| std::env::var("PLANTED").unwrap_or_default());
    everywhere == name || NAME.with(|cell| cell.get() == name)
}
