//! Objects by number. One thread, no calls back into JavaScript: a borrow never overlaps.

use std::cell::RefCell;

use crate::bundle::Bundle;
use crate::message::History;
use crate::stream::Decoder;
use crate::turn::Turn;

thread_local! {
    pub(super) static STREAMS: Handles<Decoder> = Handles::new();
    pub(super) static HISTORIES: Handles<History<'static>> = Handles::new();
    pub(super) static TURNS: Handles<Turn> = Handles::new();
    pub(super) static BUNDLES: Handles<Bundle> = Handles::new();
}

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
