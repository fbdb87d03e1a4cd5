//! What is held, and how it is released.

use super::{After, Doubt, Failure, Gate, Held, Phase};
use crate::proxy::call::Keyed;
use crate::proxy::step::{Fact, Reason, Refusing};

impl Gate {
    /// Holds a frame until its calls are judged; returns it, if it is the end.
    pub(super) fn hold(&mut self, held: Option<Held>, is_end: bool) -> Option<Held> {
        let frame = held?;
        self.held_bytes += frame.frame.bytes.len();
        if self.doubt != Doubt::TooLong && self.held_bytes > self.options.held_bytes {
            self.refuse_rest();
        }
        if is_end {
            return Some(frame);
        }
        if self.doubt == Doubt::TooLong {
            self.emit(&frame);
        } else {
            self.held.push(frame);
        }
        None
    }

    /// Calls are longer than what may be held: those that have not passed are refused.
    fn refuse_rest(&mut self) {
        self.progress.facts.push(Fact::Error("proxy.held_too_long"));
        self.reason = Reason::Unjudged;
        self.doubt = Doubt::TooLong;
        self.changed = true;
        self.verdicts.refuse(Refusing::AllBut);
        self.stream.drop_arguments();
        self.release();
    }

    /// A frame is too long to be judged: nothing of it passes, and nothing behind it.
    pub fn give_up(&mut self) -> crate::proxy::Progress {
        self.progress.facts.push(Fact::Error("proxy.held_too_long"));
        for Keyed { call, .. } in self.stream.rest() {
            self.unjudged(call.name);
        }
        self.held.clear();
        self.reason = Reason::Unjudged;
        self.changed = true;
        let is_second = matches!(self.phase, Phase::Second | Phase::Waits(_));
        if self.is_over {
            self.phase = Phase::Closed;
        } else if self.verdicts.any_passed() {
            self.progress.failure = Some(Failure::TooLong);
        } else if self.options.forced || is_second {
            self.close_without_answer();
            self.phase = Phase::Closed;
        } else {
            self.phase = match std::mem::take(&mut self.phase) {
                Phase::Ending(end) | Phase::Asks(end) => Phase::Asks(end),
                _ => Phase::Asks(Vec::new()),
            };
        }
        self.flush()
    }

    /// Passes what is held, without the calls that are refused.
    pub(super) fn release(&mut self) {
        self.held_bytes = 0;
        self.open = false;
        for held in std::mem::take(&mut self.held) {
            self.pass_on(&held);
        }
    }

    /// Asks for a verdict on calls, where it is not known.
    pub(super) fn settle(&mut self, calls: Vec<Keyed>, after: After) {
        let is_second = matches!(self.phase, Phase::Second);
        if !is_second && self.doubt == Doubt::None && !calls.is_empty() {
            let mut keys = Vec::with_capacity(calls.len());
            for Keyed { key, call } in calls {
                keys.push((key, call.name.clone()));
                self.progress.facts.push(Fact::Judge(call));
            }
            self.progress.waits = true;
            self.waiting = Some((keys, after));
            return;
        }
        for Keyed { key, call } in calls {
            self.changed = true;
            self.verdicts.set(key, false);
            if is_second {
                continue;
            }
            if self.doubt == Doubt::TooLong {
                self.unjudged(call.name);
                continue;
            }
            self.progress.facts.push(Fact::Error("proxy.call_form"));
            self.misplaced(call);
            self.reason = Reason::Form;
        }
        self.settled(after);
    }

    /// Goes on behind a verdict.
    pub(super) fn settled(&mut self, after: After) {
        let open = self.open;
        self.release();
        self.open = open;
        self.after(after);
    }
}
