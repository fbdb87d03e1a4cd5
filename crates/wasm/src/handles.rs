//! Objects by number. One thread, no calls back into JavaScript: a borrow never overlaps.

use std::cell::RefCell;

use super::bundle::Running;
use turnlock::Next;
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

/// A machine of one grammar, so that one driver drives them all.
#[derive(Debug)]
pub(super) struct Machine {
    kind: Kind,
    /// Until when the machine waits, since it was last polled to the end.
    until: Option<u64>,
}

#[derive(Debug)]
enum Kind {
    Turn(Box<Turn>),
    Request(Box<Pass>),
}

impl From<Turn> for Machine {
    fn from(turn: Turn) -> Self {
        Self { kind: Kind::Turn(Box::new(turn)), until: None }
    }
}

impl From<Pass> for Machine {
    fn from(pass: Pass) -> Self {
        Self { kind: Kind::Request(Box::new(pass)), until: None }
    }
}

impl Machine {
    pub(super) fn handle(&mut self, now_ms: u64, input: Input) {
        match &mut self.kind {
            Kind::Turn(turn) => turn.handle(now_ms, input),
            Kind::Request(pass) => pass.handle(now_ms, input),
        }
    }

    pub(super) fn poll(&mut self) -> Option<Effect> {
        let next = match &mut self.kind {
            Kind::Turn(turn) => turn.poll(),
            Kind::Request(pass) => pass.poll(),
        };
        match next {
            Next::Effect(effect) => Some(effect),
            Next::Wait { until } => {
                self.until = until;
                None
            }
        }
    }

    pub(super) fn until(&self) -> Option<u64> {
        self.until
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
