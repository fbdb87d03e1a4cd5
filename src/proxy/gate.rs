//! Watches a stream, and holds back its calls until they are judged.

mod second;
mod settle;
mod take;
mod usage;

use super::call::{Call, Keyed};
use super::frame::{Frame, frames};
use super::scan::{Found, Scanner};
use super::step::{Event, Fact, Reason, Stream, Usage, Verdicts};
use super::stray::{Source, clean};
use super::terminal::Terminal;
use super::tree::parse;
use super::whole::Read;
use super::wire::Wire;
use crate::json::Json;

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
    /// A whole response, which the host writes.
    Whole,
}

/// Watches the responses to one request.
pub struct Gate {
    options: GateOptions,
    stream: Box<dyn Stream>,
    scanner: Scanner,
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
    /// The calls that wait for a verdict, by key and name, and what follows.
    waiting: Option<(Vec<(usize, String)>, After)>,
    /// No byte of the response has come.
    is_first: bool,
    /// Some event was in the form of the API; before it, others wait.
    is_known: bool,
    unknown: Vec<Held>,
    unknown_bytes: usize,
    has_usage: bool,
    /// The usage of this response, and that of the one before it, which it answers.
    usage: Usage,
    spent: Json<'static>,
    /// The client was shown a text.
    said: bool,
    /// The client was shown the end of the response.
    is_over: bool,
    reason: Reason,
    /// The names of refused calls, by the reason.
    refused: Vec<(Reason, String)>,
    /// The history of the request has results.
    has_results: bool,
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
            scanner: Scanner::new(options.wire),
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
            usage: Usage::default(),
            spent: Json::Null,
            said: false,
            is_over: false,
            reason: Reason::Duplicate,
            refused: Vec::new(),
            has_results: false,
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
        if bytes.is_empty() {
            return self.flush();
        }
        let found = self.read(bytes);
        self.run();
        if self.progress.passes && found.ends {
            self.terminal.read(bytes);
        }
        self.flush()
    }

    /// Takes bytes that pass unread: frames, or what is cut anywhere, since it is too long to be read.
    pub fn pass(&mut self, bytes: &[u8], are_frames: bool) {
        if are_frames {
            if self.scanner.scan(bytes).ends {
                self.terminal.read(bytes);
            }
        } else {
            self.terminal.read_piece(bytes);
        }
    }

    /// Takes the verdicts on the calls that were to be judged, in their order: why each may not run,
    /// or `None`. `has_results`: the history that they were judged by has results.
    pub fn verdicts(&mut self, verdicts: &[Option<Reason>], has_results: bool) -> Progress {
        self.has_results = has_results;
        if let Some((calls, after)) = self.waiting.take() {
            for (at, (key, name)) in calls.into_iter().enumerate() {
                // A call without a verdict does not run.
                let refusal = verdicts.get(at).copied().unwrap_or(Some(Reason::Unjudged));
                if let Some(reason) = refusal {
                    self.reason = reason;
                    self.changed = true;
                    self.refused.push((reason, name));
                }
                self.verdicts.set(key, refusal.is_none());
            }
            self.settled(after);
        }
        self.run();
        self.flush()
    }

    /// What is held when the provider's stream is over. Calls that have not ended are judged then.
    pub fn end(&mut self) -> Progress {
        self.finish_stream();
        self.flush()
    }

    /// Reports a call that is refused for its form.
    fn misplaced(&mut self, call: Call) {
        self.refuse_form(&call);
        self.progress.facts.push(Fact::Misplaced(call));
    }

    pub(super) fn refuse_form(&mut self, call: &Call) {
        self.refused.push((Reason::Form, call.name.clone()));
    }

    /// Reports a call that is too long to be judged.
    fn unjudged(&mut self, name: String) {
        self.refused.push((Reason::Unjudged, name.clone()));
        self.progress.facts.push(Fact::Unjudged(name));
    }

    /// The notice of the calls that are refused for a reason; of all refused ones, if it has none.
    pub(super) fn notice(&self, reason: Reason) -> String {
        let names = |all: bool| -> Vec<&str> {
            let refused = self.refused.iter().filter(|(other, _)| all || *other == reason);
            refused.map(|(_, name)| name.as_str()).collect()
        };
        let same = names(false);
        // Of an answer that cannot be read, no call is known.
        reason.notice(&if same.is_empty() { names(true) } else { same }, self.has_results)
    }

    /// The calls of a whole response wait for their verdicts.
    pub(super) fn await_verdicts(&mut self, calls: &[Call]) {
        let names = calls.iter().map(|call| call.name.clone()).enumerate().collect();
        self.waiting = Some((names, After::Whole));
    }

    fn flush(&mut self) -> Progress {
        let progress = std::mem::take(&mut self.progress);
        if !progress.out.is_empty() && self.scanner.scan(&progress.out).ends {
            self.terminal.read(&progress.out);
        }
        progress
    }

    /// Reads frames, as far as they matter.
    fn read(&mut self, bytes: &[u8]) -> Found {
        let GateOptions { holds, forced, .. } = self.options;
        // Some clients skip a mark at the beginning of a response.
        let is_first = std::mem::replace(&mut self.is_first, false);
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| is_first).unwrap_or(bytes);
        let found = self.scanner.scan(text);
        let is_utf8 = !found.is_wide || std::str::from_utf8(bytes).is_ok();
        if holds && (found.is_odd || !is_utf8) {
            let is_first = matches!(self.phase, Phase::First);
            if is_utf8 && is_first && self.options.wire.is_bare_error(text) {
                self.progress.passes = true;
                self.terminal.has_passed = true;
            } else {
                self.fail(Failure::Foreign);
            }
            return found;
        }
        let is_busy = self.open || self.changed || holds && forced;
        let is_answer = matches!(self.phase, Phase::First);
        if !is_busy && is_answer && (self.is_known || !holds) && !found.matters {
            self.progress.passes = true;
            return found;
        }
        let mut all = frames(bytes);
        if holds {
            all.reverse();
            self.frames = all;
            return found;
        }
        for frame in &all {
            self.watch(&frame.data);
        }
        self.progress.passes = true;
        found
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
        let mut step = self.stream.read(&mut event);
        self.open = step.open;
        self.describe(&mut step);
        let calls = step.complete.into_iter().map(|Keyed { call, .. }| Fact::Judge(call));
        self.progress.facts.extend(calls);
    }
}
