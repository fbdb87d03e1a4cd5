//! The end of a response whose calls are refused, and the answer in its place.

use super::{After, Doubt, Failure, Gate, Held, Phase};
use crate::proxy::step::{Event, Fact, Refusing};
use crate::proxy::wire::Wire;

impl Gate {
    /// Takes the event that says why the response ends.
    pub(super) fn finish(&mut self, last: Held) {
        let is_refused = self.changed && !self.verdicts.any_passed() && !self.is_over;
        if !is_refused || last.event.is_none() {
            self.is_over = true;
            return self.pass_on(&last);
        }
        let Some(event) = last.event else { return };
        if self.options.forced || matches!(self.phase, Phase::Second) {
            return self.close(vec![event]);
        }
        let before = self.stream.before_end(&event, &self.verdicts);
        self.write(&before);
        self.ask_behind(vec![event]);
    }

    /// Asks for the answer once the end is whole.
    fn ask_behind(&mut self, ending: Vec<Event>) {
        let last = ending.last().filter(|event| self.stream.is_last(&event.json));
        self.phase = match last {
            Some(event) => {
                self.stream.keep(event, &self.verdicts);
                Phase::Asks(ending)
            }
            None => Phase::Ending(ending),
        };
    }

    /// Takes what follows the end of a response whose calls are refused.
    pub(super) fn take_ending(&mut self, held: Held) {
        let Held { frame, event } = held;
        let mut is_last = frame.data == "[DONE]";
        let mut ended = None;
        if let Some(mut event) = event {
            let mut step = self.stream.read(&mut event);
            if step.stray {
                return;
            }
            self.describe(&mut step);
            is_last = self.stream.is_last(&event.json);
            ended = Some(event);
        }
        let Phase::Ending(mut ending) = std::mem::take(&mut self.phase) else { return };
        ending.extend(ended);
        self.phase = if is_last { Phase::Asks(ending) } else { Phase::Ending(ending) };
    }

    /// Ends a response without calls, and with a text.
    fn close(&mut self, ending: Vec<Event>) {
        if !self.said {
            let answer = self.stream.answer_events(&self.notice(self.reason));
            self.write(&answer);
        }
        self.said = true;
        self.is_over = true;
        let ending = if ending.is_empty() {
            self.stream.ended().into_iter().map(Event::of).collect()
        } else {
            ending
        };
        // Whatever stands behind the end of the calls.
        let all = self.verdicts.all();
        for event in ending {
            for json in self.stream.rewrite(&event, &all) {
                let json = self.stream.finish(json);
                self.write(&[json]);
            }
        }
    }

    /// From here on, frames are those of the second response.
    pub fn again(&mut self) {
        let ending = match std::mem::take(&mut self.phase) {
            Phase::Asks(ending) | Phase::Ending(ending) | Phase::Waits(ending) => ending,
            _ => Vec::new(),
        };
        self.phase = Phase::Waits(ending);
        self.is_first = true;
    }

    pub(super) fn begin_second(&mut self) {
        self.phase = Phase::Second;
        self.is_over = false;
        // Of the text before, what passed unread is not known: this response is to say something.
        self.said = false;
        self.has_usage = false;
        let spent = std::mem::take(&mut self.usage).into_json();
        self.spend(spent);
        self.open = false;
        self.verdicts.refuse(Refusing::All);
        self.doubt = Doubt::None;
        self.stream.again();
    }

    /// The end of the stream, as there is no second response.
    pub fn without_answer(&mut self) -> crate::proxy::Progress {
        self.close_without_answer();
        self.flush()
    }

    pub(super) fn close_without_answer(&mut self) {
        let ending = match std::mem::take(&mut self.phase) {
            Phase::Asks(ending) | Phase::Ending(ending) | Phase::Waits(ending) => ending,
            phase => {
                self.phase = phase;
                Vec::new()
            }
        };
        self.said = false;
        self.close(ending);
        if self.options.wire == Wire::Chat {
            self.progress.out.extend_from_slice(b"data: [DONE]\n\n");
        }
    }

    /// The provider's stream is over.
    pub(super) fn finish_stream(&mut self) {
        let holds = self.options.holds;
        if holds && !self.unknown.is_empty() {
            self.progress.failure = Some(Failure::Foreign);
            return;
        }
        let calls = self.stream.rest();
        if !holds {
            self.progress.facts.extend(calls.into_iter().map(|keyed| Fact::Judge(keyed.call)));
            return;
        }
        match std::mem::take(&mut self.phase) {
            phase @ (Phase::Waits(_) | Phase::Asks(_)) => self.phase = phase,
            // A response whose end is held and that ended without its last frame.
            Phase::Ending(ending) => self.phase = Phase::Asks(ending),
            phase => {
                self.phase = phase;
                self.settle(calls, After::End);
            }
        }
    }

    /// What follows the verdict on calls that have not ended.
    pub(super) fn ended(&mut self) {
        if !self.changed || self.verdicts.any_passed() || self.is_over {
            return;
        }
        if self.options.forced || matches!(self.phase, Phase::Second) {
            if !self.said {
                self.close(Vec::new());
            }
        } else {
            self.phase = Phase::Asks(Vec::new());
        }
    }
}
