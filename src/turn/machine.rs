//! The turn machine: its state, its inputs and its clock.

use std::collections::VecDeque;

use super::batch::{Awaiting, Batch};
use super::candidates::Checking;
use super::journal::Journal;
use super::options::{Mode, Options};
use super::prompt::{Context, History};
use super::protocol::{Effect, Input};
use super::resume::Resuming;
use super::snapshot::{End, Point};
use crate::error::Error;
use crate::inference::Inference;
use crate::json::Json;
use crate::next::Next;
use crate::secret::Secret;
use crate::stream::Usage;
use crate::tool::{BoxMaker, Ledger};
use crate::trace::{Failure, PhaseName, ResultView};

/// One turn. See the [module](super) for its grammar, and
/// [the contract](crate#contract-drain-before-you-wait) for how to call it.
#[derive(Debug, Clone)]
pub struct Turn {
    pub(super) options: Options,
    pub(super) secret: Secret,
    pub(super) history: History,
    /// Milliseconds on the host's clock; never decreases.
    pub(super) now: u64,
    pub(super) started: u64,
    pub(super) state: State,
    pub(super) phase: Phase,
    pub(super) cycle: u32,
    pub(super) record: Record,
    pub(super) effects: VecDeque<Effect>,
    /// Present with a store, until the end of the turn is stored.
    pub(super) journal: Option<Journal>,
    /// The first action of a resumed turn, and the state in which it performs this action.
    pub(super) resuming: Option<(Resuming, State)>,
}

/// The state of a turn. Each state holds only the values that it needs.
#[derive(Debug, Clone)]
pub(super) enum State {
    /// Not started.
    Idle,
    /// A request is in flight, or waits for its next attempt.
    Asking(Box<Inference>),
    /// The host checks arguments.
    Checking(Box<Checking>),
    /// Tools are in flight.
    Running(Box<Batch>),
    /// Terminal. No input leaves this state.
    Over,
}

/// The counters and text of one phase of one cycle.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phase {
    pub(super) name: PhaseName,
    /// Inferences made.
    pub(super) inferences: u32,
    /// Tool calls executed.
    pub(super) executed: u32,
    /// Tool phase: a call was received, so no more text is shown.
    pub(super) frozen: bool,
    /// Action phase: the one extra inference after a refusal was used. It offers no tools.
    pub(super) last_chance: bool,
    /// Text shown in this phase.
    pub(super) text: String,
    /// Length of `text` in bytes when the current inference began.
    pub(super) asked_at: usize,
    /// Text of the current inference was shown.
    pub(super) spoke: bool,
}

impl Phase {
    pub(super) fn new(name: PhaseName) -> Self {
        Self {
            name,
            inferences: 0,
            executed: 0,
            frozen: false,
            last_chance: false,
            text: String::new(),
            asked_at: 0,
            spoke: false,
        }
    }
}

/// Values that accumulate over the turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) seq: u64,
    pub(super) batch: u32,
    pub(super) inferences: u32,
    pub(super) calls: u32,
    /// Call ids that native exchanges already use.
    pub(super) wire_ids: Vec<String>,
    pub(super) ledger: Ledger,
    pub(super) boxes: BoxMaker,
    pub(super) context: Vec<Context>,
    pub(super) results: Vec<ResultView>,
    pub(super) blocked: Vec<String>,
    pub(super) usage: Usage,
    /// Milliseconds that all batches of tools took together.
    pub(super) tools_ms: u64,
    /// All text shown, in order.
    pub(super) shown: String,
    pub(super) pause: bool,
    /// Number of judged batches, including those without an accepted call.
    pub(super) decided: u32,
    /// The number of the current owner of a stored turn, from 1.
    pub(super) epoch: u64,
    pub(super) awaiting: Option<Awaiting>,
    pub(super) point: Option<Point>,
    pub(super) end: Option<End>,
}

impl Turn {
    /// Makes a turn from a host's options; see [`Options::parse`] for their form.
    ///
    /// # Errors
    /// Those of [`Options::parse`], and `message.unknown_shape` for a history with an
    /// element that is not a message.
    pub fn new(options: &[u8]) -> Result<Self, Error> {
        Self::with(Options::parse(options)?)
    }

    /// As [`Turn::new`], for JSON that is already parsed.
    ///
    /// # Errors
    /// Those of [`Turn::new`], except `json.*`.
    pub fn from_json(options: Json<'static>) -> Result<Self, Error> {
        Self::with(Options::from_json(options)?)
    }

    pub(super) fn with(mut options: Options) -> Result<Self, Error> {
        let history = History::new(&mut options)?;
        let boxes = BoxMaker::new(&options.secret);
        let secret = Secret::new(&options.secret);
        let journal = options.keep.clone().map(|keep| Journal::new(keep, None));
        let name = match options.mode {
            Mode::TwoStage => PhaseName::Tool,
            Mode::Unified => PhaseName::Unified,
        };
        Ok(Self {
            options,
            secret,
            history,
            now: 0,
            started: 0,
            state: State::Idle,
            phase: Phase::new(name),
            cycle: 1,
            record: Record {
                seq: 0,
                batch: 0,
                inferences: 0,
                calls: 0,
                wire_ids: Vec::new(),
                ledger: Ledger::default(),
                boxes,
                context: Vec::new(),
                results: Vec::new(),
                blocked: Vec::new(),
                usage: Usage::default(),
                tools_ms: 0,
                shown: String::new(),
                pause: false,
                decided: 0,
                epoch: 1,
                awaiting: None,
                point: None,
                end: None,
            },
            effects: VecDeque::new(),
            journal,
            resuming: None,
        })
    }

    /// Takes an input. `now_ms` is the host's monotonic clock, with any origin; a step back is
    /// ignored. Late, repeated and unknown inputs are ignored.
    pub fn handle(&mut self, now_ms: u64, input: Input<'_>) {
        self.now = self.now.max(now_ms);
        match input.part() {
            Ok((request, part)) => {
                if let State::Asking(inference) = &mut self.state
                    && let Some(heard) = inference.take(self.now, request, part)
                {
                    self.heard(request.0, heard);
                }
            }
            Err(input) => self.take(input),
        }
        self.expire();
        self.expire_journal();
    }

    fn take(&mut self, input: Input<'_>) {
        match input {
            Input::Start => self.start(),
            Input::Checked { call, verdict } => self.checked(call, verdict),
            Input::Recalled { call, found } => self.recalled(call, found),
            Input::Stored { revision, attempt, answer } => self.stored(revision, attempt, answer),
            Input::ToolSettled { call, settled } => self.tool_settled(call, settled),
            Input::ToolProgress { call, data } => self.tool_progress(call, data),
            Input::Verify => self.verify(),
            Input::Pause => self.record.pause = true,
            Input::Cancel { reason } => self.cancel(reason),
            // Only the time, or a part of a response.
            _ => {}
        }
    }

    /// Returns the next effect, or until when to wait for the next input. After each input, poll
    /// until [`Next::Wait`], and perform the effects in order. If no other input arrives in time,
    /// send [`Input::Timer`].
    pub fn poll(&mut self) -> Next<Effect> {
        let effect =
            if self.journal.is_some() { self.poll_journal() } else { self.effects.pop_front() };
        effect.map_or_else(|| Next::Wait { until: self.deadline() }, Next::Effect)
    }

    fn deadline(&self) -> Option<u64> {
        let all = [self.machine_deadline(), self.journal_deadline()];
        all.into_iter().flatten().min()
    }

    fn machine_deadline(&self) -> Option<u64> {
        let own = match &self.state {
            State::Idle | State::Over => return None,
            State::Asking(inference) => Some(inference.deadline()),
            State::Checking(checking) => Some(checking.deadline),
            State::Running(batch) => batch.deadline(),
        };
        let turn = self.turn_deadline();
        Some(own.map_or(turn, |own| own.min(turn)))
    }

    pub(super) fn turn_deadline(&self) -> u64 {
        self.started.saturating_add(self.options.policy.turn_ms)
    }

    fn start(&mut self) {
        if matches!(self.state, State::Idle) {
            self.started = self.now;
            self.state_changed();
            self.trace_tools();
            if let Some((resuming, state)) = self.resuming.take() {
                self.state = state;
                return self.resume(resuming);
            }
            if let Some(given) = self.options.given.take() {
                self.keep(|| ("turn".to_owned(), given));
            }
            self.enter(self.phase.name);
            self.ask();
        }
    }

    /// Begins a phase.
    pub(super) fn enter(&mut self, name: PhaseName) {
        self.phase = Phase::new(name);
        self.phase_started(false);
    }

    /// Handles the deadlines that have passed.
    fn expire(&mut self) {
        if self.machine_deadline().is_none_or(|deadline| self.now < deadline) {
            return;
        }
        if self.now >= self.turn_deadline() {
            let message = format!("the turn took more than {} ms", self.options.policy.turn_ms);
            let code = match self.state {
                State::Asking(_) => "model.timeout",
                State::Idle | State::Checking(_) | State::Running(_) | State::Over => {
                    "turn.timeout"
                }
            };
            self.abort_request();
            return self.fail(Failure { code: code.into(), message, status: None });
        }
        match &mut self.state {
            State::Idle | State::Over => {}
            State::Asking(inference) if inference.is_waiting() => {
                inference.retry(self.now);
                let request = (inference.number(), inference.attempt());
                self.send(request);
            }
            State::Asking(inference) => {
                let (number, heard) = (inference.number(), inference.time_out(self.now));
                self.heard(number, heard);
            }
            State::Checking(_) => self.checks_timed_out(),
            State::Running(_) => self.tools_timed_out(),
        }
    }
}
