//! The calls that a stream is writing.

use super::call::{Call, Keyed};
use super::tree::{Place, Places};

/// Calls that a stream writes at once are judged together, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    /// By their keys.
    all: Vec<Writing>,
    /// Those that have not been taken, from this key on.
    first: usize,
    /// Those that are being written.
    open: Places<usize>,
    drops: bool,
}

#[derive(Debug, Default)]
struct Writing {
    call: Call,
    /// The arguments that came in pieces.
    pieces: String,
}

impl OpenCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.first == self.all.len()
    }

    /// Whatever stood at the place is over.
    pub(super) fn begin(&mut self, at: Place, mut call: Call) -> usize {
        if self.drops {
            call.arguments.clear();
        }
        let key = self.all.len();
        self.all.push(Writing { call, ..Writing::default() });
        self.open.set(at, key);
        key
    }

    /// The key of the call at a place, while it is written.
    pub(super) fn at(&self, at: Place) -> Option<usize> {
        self.open.get(at)
    }

    pub(super) fn call(&mut self, key: usize) -> Option<&mut Call> {
        self.all.get_mut(key).map(|writing| &mut writing.call)
    }

    /// Notes that clients read a call differently.
    pub(super) fn blur(&mut self, key: usize, is_unclear: bool) {
        if let Some(call) = self.call(key) {
            call.is_unclear |= is_unclear;
        }
    }

    /// Adds a piece of arguments to the call at a place.
    pub(super) fn add(&mut self, at: Place, piece: &str) {
        let writing = self.at(at).filter(|_| !self.drops).and_then(|key| self.all.get_mut(key));
        if let Some(writing) = writing {
            writing.pieces.push_str(piece);
        }
    }

    pub(super) fn drops(&self) -> bool {
        self.drops
    }

    /// Whether arguments are dropped from here on, as every call is refused.
    pub(super) fn drop_arguments(&mut self, drops: bool) {
        self.drops = drops;
        if drops {
            for writing in self.all.iter_mut().skip(self.first) {
                writing.pieces = String::new();
            }
        }
    }

    pub(super) fn close(&mut self, at: Place) {
        self.open.remove(at);
    }

    /// Ends the call at a place: all calls, if no other one is being written.
    pub(super) fn end(&mut self, at: Place) -> Vec<Keyed> {
        self.close(at);
        if self.open.is_empty() { self.take() } else { Vec::new() }
    }

    /// All of them; of one that has not ended, what has come.
    pub(super) fn take(&mut self) -> Vec<Keyed> {
        let mut taken = Vec::new();
        for (key, writing) in self.all.iter_mut().enumerate().skip(self.first) {
            // The name stays, for events that come too late.
            let name = writing.call.name.clone();
            let mut call = std::mem::replace(&mut writing.call, Call { name, ..Call::default() });
            // What a call begins with are its arguments, if nothing follows.
            if !writing.pieces.is_empty() {
                let pieces = std::mem::take(&mut writing.pieces);
                let begun = std::mem::replace(&mut call.arguments, pieces);
                if !begun.is_empty() {
                    call.copies.push(begun);
                }
            }
            taken.push(Keyed { key, call });
        }
        self.first = self.all.len();
        self.open.clear();
        taken
    }

    /// Makes a key of a call that is not written in pieces, once all others are taken.
    pub(super) fn add_whole(&mut self) -> usize {
        self.all.push(Writing::default());
        self.first = self.all.len();
        self.first - 1
    }
}
