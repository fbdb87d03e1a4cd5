//! What each frame of a held stream means for its calls.

use super::{After, Doubt, Failure, Gate, Held, Phase};
use crate::json::Json;
use crate::proxy::Call;
use crate::proxy::foreign::{is_foreign, is_keep_alive};
use crate::proxy::frame::{Frame, write};
use crate::proxy::step::{Event, Fact, Reason};
use crate::proxy::stray::{Source, clean, is_ambiguous, mentions};
use crate::proxy::tree::parse;
use crate::stream::text;

impl Gate {
    /// Takes the frames that came, until a verdict is needed.
    pub(super) fn run(&mut self) {
        while self.waiting.is_none() {
            let Some(frame) = self.frames.pop() else { return };
            match self.take_frame(frame) {
                Ok(all) => {
                    for held in all {
                        self.take(held);
                    }
                }
                Err(failure) => self.fail(failure),
            }
        }
    }

    /// An answer that was requested is one, or is left out.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.frames.clear();
        if matches!(self.phase, Phase::Second | Phase::Waits(_)) {
            self.close_without_answer();
            self.phase = Phase::Closed;
        } else {
            self.progress.failure = Some(failure);
        }
    }

    /// The frames that can be taken now.
    fn take_frame(&mut self, frame: Frame) -> Result<Vec<Held>, Failure> {
        let wire = self.options.wire;
        let event = parse(&frame.data, wire).map(Event::from);
        if event.as_ref().is_some_and(|event| is_foreign(&event.json, wire)) {
            return Err(Failure::Foreign);
        }
        let taken_frame = Held { frame, event };
        if self.is_known {
            return Ok(vec![taken_frame]);
        }
        let Held { frame, event } = &taken_frame;
        let json = event.as_ref().map(|event| &event.json);
        let is_own = frame.events.iter().any(|name| name == "error")
            || json.is_some_and(|json| wire.is_event(json));
        // Lines that a client is not to read as JSON are judged by their words.
        let is_silent = matches!(&*frame.data, "" | "[DONE]")
            || json.is_some_and(|json| is_keep_alive(text(json, "type")));
        let passes = is_own || self.unknown.is_empty() && is_silent;
        if !passes {
            self.unknown_bytes += taken_frame.frame.bytes.len();
            self.unknown.push(taken_frame);
            let is_too_much = self.unknown_bytes > self.options.held_bytes;
            return if is_too_much { Err(Failure::Foreign) } else { Ok(Vec::new()) };
        }
        self.is_known = is_own;
        let mut all = std::mem::take(&mut self.unknown);
        all.push(taken_frame);
        Ok(all)
    }

    fn take(&mut self, held: Held) {
        if self.asks() {
            return;
        }
        let Some(mut held) = self.readable(held) else { return };
        if self.is_unanswered() {
            if held.event.is_none() {
                // Comments keep the connection; other bytes are no answer.
                if held.frame.bytes.first() == Some(&b':') {
                    self.progress.out.extend_from_slice(&held.frame.bytes);
                }
                return;
            }
            self.begin_second();
        }
        if matches!(self.phase, Phase::Ending(_)) {
            return self.take_ending(held);
        }
        let step = held.event.as_mut().map(|event| self.stream.read(event));
        let has_event = step.is_some();
        let mut step = step.unwrap_or_default();
        if step.stray {
            return self.stray(Vec::new());
        }
        self.describe(&mut step);
        self.said |= step.text;
        if has_event {
            self.open = step.open;
        }
        let is_held = self.open || !self.held.is_empty() || !step.complete.is_empty();
        let mut last = Some(held);
        if is_held {
            last = self.hold(last, step.finish);
        }
        let after = After::Event(last, step.finish);
        if step.complete.is_empty() {
            self.after(after);
        } else {
            self.settle(step.complete, after);
        }
    }

    /// What follows an event whose calls have a verdict.
    pub(super) fn after(&mut self, after: After) {
        match after {
            After::Event(Some(held), true) => {
                self.release();
                self.finish(held);
            }
            After::Event(Some(held), false) => self.emit(&held),
            After::Event(None, _) => {}
            After::End => self.ended(),
            After::Whole => {}
        }
    }

    /// The frame without calls that stand where the API has none; nothing, if it is withheld.
    fn readable(&mut self, held: Held) -> Option<Held> {
        let wire = self.options.wire;
        let Held { mut frame, event } = held;
        // Comments and fields that nobody knows, until a client ends lines at other characters.
        let is_hidden = !frame.others.is_empty() && mentions(&frame.others, wire);
        let Some(mut event) = event else {
            if !is_hidden && !mentions(&frame.data, wire) {
                return Some(Held { frame, event: None });
            }
            // A client that is less strict may read a call in it.
            self.stray(Vec::new());
            return None;
        };
        if self.differs(&frame, &event) {
            if self.doubt == Doubt::None {
                self.doubt = Doubt::Unclear;
            }
            if event.names_call || frame.events.iter().any(|name| wire.names_call(name)) {
                self.stray(Vec::new());
                return None;
            }
        }
        let (strays, stays) = clean(&mut event.json, wire, Source::Event);
        // Of two members of one name, or of lines, the client may read another one than was judged.
        let is_odd = event.names_call && (frame.lines > 1 || event.repeats);
        if strays.is_empty() && !is_odd && !is_hidden {
            return Some(Held { frame, event: Some(event) });
        }
        self.stray(strays);
        frame.bytes.clear();
        write(&event.json, wire, &mut frame.bytes);
        stays.then_some(Held { frame, event: Some(event) })
    }

    /// Whether clients differ in what they read: by the name of the event, or by names in any case.
    fn differs(&self, frame: &Frame, event: &Event) -> bool {
        let wire = self.options.wire;
        let kind = event.json.get("type").unwrap_or(&Json::Null);
        let is_known = kind.as_str().is_some_and(|kind| wire.is_event_name(kind));
        let is_untyped = wire.has_types() && event.names_call && !is_known;
        is_untyped || frame.is_misnamed(kind, wire) || is_ambiguous(&event.json, wire)
    }

    /// Calls were left out: what follows is written anew.
    pub(super) fn stray(&mut self, strays: Vec<Call>) {
        self.progress.facts.push(Fact::Error("proxy.call_form"));
        if !matches!(self.phase, Phase::Second | Phase::Waits(_)) {
            for call in strays {
                self.misplaced(call);
            }
        }
        self.reason = Reason::Form;
        self.changed = true;
    }

    pub(super) fn pass_on(&mut self, held: &Held) {
        if let Some(event) = held.event.as_ref().filter(|_| !self.changed) {
            self.stream.passed(event);
        }
        self.emit(held);
    }

    pub(super) fn emit(&mut self, held: &Held) {
        match held.event.as_ref().filter(|_| self.changed) {
            None => self.progress.out.extend_from_slice(&held.frame.bytes),
            Some(event) => {
                let all = self.stream.rewrite(event, &self.verdicts);
                self.write(&all);
            }
        }
    }

    pub(super) fn write(&mut self, events: &[Json<'static>]) {
        for json in events {
            match self.with_spent(json) {
                Some(json) => write(&json, self.options.wire, &mut self.progress.out),
                None => write(json, self.options.wire, &mut self.progress.out),
            }
        }
    }
}
