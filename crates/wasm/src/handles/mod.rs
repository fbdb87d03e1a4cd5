//! Objects by number. One thread, no calls back into JavaScript: a borrow never overlaps.

use std::cell::RefCell;

#[cfg(feature = "evidence")]
use super::evidence::Running;
#[cfg(feature = "proxy")]
use super::proxy::Watching;
#[cfg(any(feature = "turn", feature = "planning"))]
pub(super) use machine::Machine;
#[cfg(feature = "chain")]
use turnlock::chain::Chain;
#[cfg(feature = "guard")]
use turnlock::guard::PolicyGuard;
#[cfg(feature = "history")]
use turnlock::history::History;
#[cfg(feature = "stream")]
use turnlock::stream::Decoder;

/// Declares the collections, and how many objects are in all of them.
macro_rules! collections {
    ($($(#[$when:meta])* $name:ident: $object:ty;)*) => {
        thread_local! {
            $($(#[$when])* pub(super) static $name: Handles<$object> = Handles::new();)*
        }

        /// Objects that were made and not forgotten.
        pub(super) fn live() -> u32 {
            let mut all = 0;
            $($(#[$when])* {
                all += $name.with(Handles::len);
            })*
            all
        }
    };
}

collections! {
    #[cfg(feature = "chain")]
    CHAINS: Chain;
    #[cfg(feature = "guard")]
    GUARDS: PolicyGuard;
    #[cfg(feature = "stream")]
    STREAMS: Decoder;
    #[cfg(feature = "history")]
    HISTORIES: History<'static>;
    #[cfg(feature = "evidence")]
    BUNDLES: Running;
    #[cfg(feature = "proxy")]
    GATES: Watching;
    #[cfg(any(feature = "turn", feature = "planning"))]
    TURNS: Machine;
}

#[cfg(any(feature = "turn", feature = "planning"))]
mod machine;

/// Live objects; numbers are never used again.
#[derive(Debug)]
pub(super) struct Handles<T> {
    /// The last number, and the objects in the order of theirs.
    live: RefCell<(u32, Vec<(u32, T)>)>,
}

impl<T> Handles<T> {
    fn new() -> Self {
        Self { live: RefCell::new((0, Vec::new())) }
    }

    /// Keeps `object`; its number as text.
    pub(super) fn insert(&self, object: T) -> String {
        let (last, objects) = &mut *self.live.borrow_mut();
        *last = last.wrapping_add(1);
        objects.push((*last, object));
        last.to_string()
    }

    pub(super) fn with<R>(&self, handle: u32, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let objects = &mut self.live.borrow_mut().1;
        let place = objects.binary_search_by_key(&handle, |(number, _)| *number).ok()?;
        objects.get_mut(place).map(|(_, object)| work(object))
    }

    pub(super) fn remove(&self, handle: u32) {
        self.live.borrow_mut().1.retain(|(number, _)| *number != handle);
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.live.borrow().1.len()).unwrap_or(u32::MAX)
    }
}
