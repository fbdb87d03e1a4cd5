//! Objects by number. One thread, no calls back into JavaScript: a borrow never overlaps.

use std::cell::RefCell;

use super::bundle::Running;
use turnlock::chain::Chain;
use turnlock::message::History;
use turnlock::request::Pass;
use turnlock::stream::Decoder;
use turnlock::turn::{Effect, Input, Turn};

thread_local! {
    pub(super) static CHAINS: Handles<Chain> = Handles::new();
    pub(super) static STREAMS: Handles<Decoder> = Handles::new();
    pub(super) static HISTORIES: Handles<History<'static>> = Handles::new();
    pub(super) static BUNDLES: Handles<Running> = Handles::new();
    pub(super) static TURNS: Handles<Machine> = Handles::new();
}

/// Machines of one grammar, so that one driver drives them all.
#[derive(Debug)]
pub(super) enum Machine {
    Turn(Box<Turn>),
    Request(Box<Pass>),
}

impl Machine {
    pub(super) fn handle(&mut self, now_ms: u64, input: Input<'_>) {
        match self {
            Self::Turn(turn) => turn.handle(now_ms, input),
            Self::Request(pass) => pass.handle(now_ms, input),
        }
    }

    pub(super) fn poll(&mut self) -> Option<Effect> {
        match self {
            Self::Turn(turn) => turn.poll(),
            Self::Request(pass) => pass.poll(),
        }
    }

    pub(super) fn next_deadline(&self) -> Option<u64> {
        match self {
            Self::Turn(turn) => turn.next_deadline(),
            Self::Request(pass) => pass.next_deadline(),
        }
    }
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
