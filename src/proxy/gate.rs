//! Watches a stream, and holds back its calls until they are judged.

mod second;
mod settle;

use super::call::Keyed;
use super::foreign::{is_foreign, is_keep_alive};
use super::frame::{Frame, frames, is_plain, write};
use super::scan::scan;
use super::step::{Event, Fact, Reason, Said, Stream, Verdicts};
use super::stray::{Source, clean, is_ambiguous, mentions};
use super::terminal::Terminal;
use super::tree::parse;
use super::whole::Read;
use super::wire::Wire;
use crate::stream::text;

/// How the responses to a request are watched.
#[derive(Debug, Clone, Copy)]
pub struct GateOptions {
    /// The API of the request.
    pub wire: Wire,
    /// Whether calls are held and refused, not only reported.
    pub holds: bool,
    /// Whether the request forbade calls already.
    pub forced: bool,
    /// Bytes that are held at most.
    pub held_bytes: usize,
    /// Choices that the request asks for.
    pub choices: usize,
}

/// Why a response cannot be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It is not in the format of its API in UTF-8: clients differ in what they read.
    Foreign,
    /// A frame is too long to be judged, behind a call that has passed.
    TooLong,
}

/// What came of an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// What was found.
    pub facts: Vec<Fact>,
    /// The bytes that were given pass as they are, and `out` is empty.
    pub passes: bool,
    /// The bytes for the client.
    pub out: Vec<u8>,
    /// A verdict is needed on each [`Fact::Judge`]: [`Gate::verdicts`].
    pub waits: bool,
    /// The response ends here.
    pub failure: Option<Failure>,
}

/// An event of the stream, or a frame without one.
#[derive(Debug)]
struct Held {
    frame: Frame,
    event: Option<Event>,
}

/// Where the answer to the client stands.
#[derive(Debug, Default)]
enum Phase {
    /// The response of the request.
    #[default]
    First,
    /// The end of a response whose calls are refused: it is not shown.
    Ending(Vec<Event>),
    /// The answer is to be asked for, with the end that is held.
    Asks(Vec<Event>),
    /// It was asked for, and has said nothing yet.
    Waits(Vec<Event>),
    /// A second response, which is the answer.
    Second,
    /// Nothing follows.
    Closed,
}

/// What the calls of a response are refused for, all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Doubt {
    #[default]
    None,
    /// Some frame is read differently by clients, so calls that have not passed are refused.
    Unclear,
    /// Too much was held.
    TooLong,
}

/// What follows a verdict.
#[derive(Debug)]
enum After {
    /// The rest of an event, which is there unless it is held; it may end the response.
    Event(Option<Held>, bool),
    End,
}

/// Watches the responses to one request.
pub struct Gate {
    options: GateOptions,
    stream: Box<dyn Stream>,
    terminal: Terminal,
    phase: Phase,
    progress: Progress,
    /// Frames that came and were not taken, the first one last.
    frames: Vec<Frame>,
    held: Vec<Held>,
    held_bytes: usize,
    /// A call is being written.
    open: bool,
    /// Events from here on are written anew.
    changed: bool,
    doubt: Doubt,
    verdicts: Verdicts,
    /// The keys of the calls that wait for a verdict, and what follows.
    waiting: Option<(Vec<usize>, After)>,
    /// No byte of the response has come.
    is_first: bool,
    /// Some event was in the form of the API; before it, others wait.
    is_known: bool,
    unknown: Vec<Held>,
    unknown_bytes: usize,
    has_usage: bool,
    /// The client was shown a text.
    said: bool,
    /// The client was shown the end of the response.
    is_over: bool,
    reason: Reason,
    pub(super) wholes: Vec<Read>,
}

impl std::fmt::Debug for Gate {
    // Without the state: its text would be part of every program that watches.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gate")
    }
}

impl Gate {
    /// Watches the responses to a request.
    #[must_use]
    pub fn new(options: GateOptions) -> Self {
        Self {
            options,
            stream: options.wire.stream(),
            terminal: Terminal::new(options.wire, options.choices),
            phase: Phase::First,
            progress: Progress::default(),
            frames: Vec::new(),
            held: Vec::new(),
            held_bytes: 0,
            open: false,
            changed: false,
            doubt: Doubt::None,
            verdicts: Verdicts::default(),
            waiting: None,
            is_first: true,
            is_known: false,
            unknown: Vec::new(),
            unknown_bytes: 0,
            has_usage: false,
            said: false,
            is_over: false,
            reason: Reason::Duplicate,
            wholes: Vec::new(),
        }
    }

    /// What is watched, and how.
    #[must_use]
    pub fn options(&self) -> GateOptions {
        self.options
    }

    /// Whether the client waits for something that is there.
    #[must_use]
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
            || self.doubt == Doubt::TooLong
            || matches!(self.phase, Phase::Ending(_) | Phase::Asks(_) | Phase::Waits(_))
    }

    /// Whether the answer is now to be asked for without calls.
    #[must_use]
    pub fn asks(&self) -> bool {
        matches!(self.phase, Phase::Asks(_))
    }

    /// Whether nothing follows.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Whether the answer was asked for and has said nothing.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        matches!(self.phase, Phase::Waits(_))
    }

    /// Whether the client has received the event with which its response ends.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.terminal.has_passed
    }

    /// Why calls were refused.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Takes whole frames.
    pub fn push(&mut self, bytes: &[u8]) -> Progress {
        if !bytes.is_empty() {
            self.read(bytes);
            self.run();
        }
        self.flush(bytes)
    }

    /// Takes bytes that pass unread: frames, or what is cut anywhere, since it is too long to be read.
    pub fn pass(&mut self, bytes: &[u8], are_frames: bool) {
        if are_frames {
            self.terminal.read(bytes);
        } else {
            self.terminal.read_piece(bytes);
        }
    }

    /// Takes the verdicts on the calls that were to be judged, in their order: why each may not run,
    /// or `None`.
    pub fn verdicts(&mut self, verdicts: &[Option<Reason>]) -> Progress {
        if let Some((keys, after)) = self.waiting.take() {
            for (at, key) in keys.into_iter().enumerate() {
                // A call without a verdict does not run.
                let refusal = verdicts.get(at).copied().unwrap_or(Some(Reason::Unjudged));
                if let Some(reason) = refusal {
                    self.reason = reason;
                    self.changed = true;
                }
                self.verdicts.set(key, refusal.is_none());
            }
            self.settled(after);
        }
        self.run();
        self.flush(&[])
    }

    /// What is held when the provider's stream is over. Calls that have not ended are judged then.
    pub fn end(&mut self) -> Progress {
        self.finish_stream();
        self.flush(&[])
    }

    fn flush(&mut self, input: &[u8]) -> Progress {
        let progress = std::mem::take(&mut self.progress);
        self.terminal.read(if progress.passes { input } else { &progress.out });
        progress
    }

    /// Reads frames, as far as they matter.
    fn read(&mut self, bytes: &[u8]) {
        let GateOptions { wire, holds, forced, .. } = self.options;
        if holds && !self.is_read_alike(bytes) {
            return self.fail(Failure::Foreign);
        }
        let is_calm = !self.open && !self.changed && !(holds && forced);
        let is_first = matches!(self.phase, Phase::First);
        if is_calm && is_first && (self.is_known || !holds) && !scan(bytes, wire).matters {
            self.progress.passes = true;
            return;
        }
        let mut all = frames(bytes);
        if holds {
            all.reverse();
            self.frames = all;
            return;
        }
        for frame in &all {
            self.watch(&frame.data);
        }
        self.progress.passes = true;
    }

    /// Whether every client reads the same lines in the bytes.
    fn is_read_alike(&mut self, bytes: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let is_first = std::mem::replace(&mut self.is_first, false);
        let text = if is_first { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        is_plain(text)
    }

    /// Reads an event that passes whatever it is.
    fn watch(&mut self, data: &str) {
        let Some(tree) = parse(data, self.options.wire) else { return };
        let mut event = Event::from(tree);
        let (strays, stays) = clean(&mut event.json, self.options.wire, Source::Event);
        self.progress.facts.extend(strays.into_iter().map(Fact::Misplaced));
        if !stays {
            return;
        }
        let step = self.stream.read(&mut event);
        self.open = step.open;
        self.usage(step.usage);
        let calls = step.complete.into_iter().map(|Keyed { call, .. }| Fact::Judge(call));
        self.progress.facts.extend(calls);
    }

    /// The usage of this response; what was said of it before is replaced, or added to.
    fn usage(&mut self, usage: Option<Said>) {
        if let Some(Said { raw, adds }) = usage {
            let is_first = !std::mem::replace(&mut self.has_usage, true);
            self.progress.facts.push(Fact::Usage { raw, is_first, adds });
        }
    }

    /// Takes the frames that came, until a verdict is needed.
    fn run(&mut self) {
        while self.waiting.is_none() {
            let Some(frame) = self.frames.pop() else { return };
            match self.known(frame) {
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
    fn fail(&mut self, failure: Failure) {
        self.frames.clear();
        if matches!(self.phase, Phase::Second | Phase::Waits(_)) {
            self.close_without_answer();
            self.phase = Phase::Closed;
        } else {
            self.progress.failure = Some(failure);
        }
    }

    /// The frames that can be taken now.
    fn known(&mut self, frame: Frame) -> Result<Vec<Held>, Failure> {
        let wire = self.options.wire;
        let event = parse(&frame.data, wire).map(Event::from);
        if event.as_ref().is_some_and(|event| is_foreign(&event.json, wire)) {
            return Err(Failure::Foreign);
        }
        let held = Held { frame, event };
        if self.is_known {
            return Ok(vec![held]);
        }
        let Held { frame, event } = &held;
        let json = event.as_ref().map(|event| &event.json);
        let is_own = frame.events.iter().any(|name| name == "error")
            || json.is_some_and(|json| wire.is_event(json));
        // Lines that a client is not to read as JSON are judged by their words.
        let is_silent = matches!(&*frame.data, "" | "[DONE]")
            || json.is_some_and(|json| is_keep_alive(text(json, "type")));
        if !is_own && !(self.unknown.is_empty() && is_silent) {
            self.unknown_bytes += held.frame.bytes.len();
            self.unknown.push(held);
            let is_too_much = self.unknown_bytes > self.options.held_bytes;
            return if is_too_much { Err(Failure::Foreign) } else { Ok(Vec::new()) };
        }
        self.is_known = is_own;
        let mut all = std::mem::take(&mut self.unknown);
        all.push(held);
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
        let step = step.unwrap_or_default();
        if step.stray {
            return self.stray(Vec::new());
        }
        self.usage(step.usage);
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
    fn after(&mut self, after: After) {
        match after {
            After::Event(Some(held), true) => {
                self.release();
                self.finish(held);
            }
            After::Event(Some(held), false) => self.emit(&held),
            After::Event(None, _) => {}
            After::End => self.ended(),
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
        let kind = event.json.get("type").unwrap_or(&crate::json::Json::Null);
        let is_known = kind.as_str().is_some_and(|kind| wire.is_event_name(kind));
        let is_untyped = wire.has_types() && event.names_call && !is_known;
        is_untyped || frame.is_misnamed(kind, wire) || is_ambiguous(&event.json, wire)
    }

    /// Calls were left out: what follows is written anew.
    fn stray(&mut self, strays: Vec<super::Call>) {
        self.progress.facts.push(Fact::Error("proxy.call_form"));
        if !matches!(self.phase, Phase::Second | Phase::Waits(_)) {
            self.progress.facts.extend(strays.into_iter().map(Fact::Misplaced));
        }
        self.reason = Reason::Form;
        self.changed = true;
    }

    fn pass_on(&mut self, held: &Held) {
        if let Some(event) = held.event.as_ref().filter(|_| !self.changed) {
            self.stream.passed(event);
        }
        self.emit(held);
    }

    fn emit(&mut self, held: &Held) {
        match held.event.as_ref().filter(|_| self.changed) {
            None => self.progress.out.extend_from_slice(&held.frame.bytes),
            Some(event) => {
                let all = self.stream.rewrite(event, &self.verdicts);
                self.write(&all);
            }
        }
    }

    fn write(&mut self, events: &[crate::json::Json<'static>]) {
        for json in events {
            write(json, self.options.wire, &mut self.progress.out);
        }
    }
}
