//! One turn: a bounded tool phase followed by an answer, or the plain unified loop.
//!
//! ```text
//!            ┌────────────── a second cycle, where the policy allows it ─────────────┐
//!            ▼                                                                       │
//!   start ─▶ tool phase ── calls ran or were refused ─▶ action phase ── text ─▶ complete
//!            │      └───── no call: the text is the answer ───────────────────────▶ ▲
//!            └───── paused                              any time: cancelled, error
//! ```
//! [`Turn`] is the machine: [`Turn::handle`] takes an input, and [`Turn::poll`] returns the next
//! effect, or how long the host may wait. Its decisions are described in `DESIGN.md` §7 and tested
//! by `tests/scenarios`.
//!
//! A complete turn with one tool call and an answer follows. A host with a network sends
//! [`Input::ResponseBytes`] as they arrive; the model of this example produces deltas.
//!
//! ```
//! use std::collections::VecDeque;
//! use turnlock::{Dialect, Next};
//! use turnlock::json::Json;
//! use turnlock::stream::{Delta, FinishReason};
//! use turnlock::tool::{Registry, ToolSpec};
//! use turnlock::turn::{Effect, Input, Settled, Turn, TurnOptions, TurnStatus};
//!
//! let secret = "0123456789abcdef0123456789abcdef"; // a host draws it
//! let asked = [("role", "user".into()), ("content", "What is in notes.txt?".into())];
//! let options = TurnOptions::new(Dialect::OpenAiChat, "r1", secret, vec![Json::object(asked)])
//!     .tools(Registry::new(vec![ToolSpec::new("read_file").read_only(true)])?);
//! let mut turn = Turn::new(options)?;
//! let call = || vec![
//!     Delta::ToolCallStart { index: 0, id: "c1".into(), name: "read_file".into() },
//!     Delta::ToolCallArguments { index: 0, text: r#"{"path":"notes.txt"}"#.into() },
//!     Delta::ToolCallEnd { index: 0 },
//! ];
//! let answer = || vec![
//!     Delta::Text("Milk is on the list.".into()),
//!     Delta::Finish { reason: FinishReason::Stop, raw: "stop".into() },
//! ];
//!
//! let mut facts = VecDeque::from([Input::Start]);
//! let (mut now_ms, mut shown, mut runs, mut status) = (0, String::new(), 0, None);
//! while let Some(fact) = facts.pop_front() {
//!     now_ms += 1; // a host reads its clock
//!     turn.handle(now_ms, fact);
//!     let until = loop {
//!         let effect = match turn.poll() {
//!             Next::Effect(effect) => effect,
//!             Next::Wait { until } => break until,
//!         };
//!         match effect {
//!             Effect::Fetch { inference, attempt, request, .. } => {
//!                 assert!(request.body.get("messages").is_some());
//!                 let deltas = if inference == 1 { call() } else { answer() };
//!                 facts.push_back(Input::Deltas { inference, attempt, deltas });
//!                 facts.push_back(Input::ResponseEnded { inference, attempt });
//!             }
//!             Effect::RunTool { call, .. } => {
//!                 runs += 1;
//!                 let settled = Settled::Ok { text: r#""Buy milk.""#.into(), bytes: 11 };
//!                 facts.push_back(Input::ToolSettled { call, settled });
//!             }
//!             // The result would come too late. A host with slow tools stops the tool here.
//!             Effect::CancelTool { call, .. } => facts.retain(
//!                 |fact| !matches!(fact, Input::ToolSettled { call: one, .. } if *one == call),
//!             ),
//!             Effect::Emit(event) => shown.push_str(event.chunk().unwrap_or_default()),
//!             Effect::Done { result } => status = Some(result.status),
//!             _ => {} // an aborted response, say
//!         }
//!     };
//!     // Without another input, a host waits until then, and sends `Input::Timer`.
//!     assert_eq!(until.is_none(), status.is_some());
//! }
//! assert_eq!((shown.as_str(), runs), ("Milk is on the list.", 1));
//! assert_eq!(status, Some(TurnStatus::Complete));
//! # Ok::<(), turnlock::Error>(())
//! ```

mod action_tools;
mod answer;
mod durable;
mod event;
mod ids;
mod machine;
mod options;
mod phase;
mod policy;
mod progress;
mod prompt;
mod protocol;
mod record;
mod restore;
mod result;
mod trace;

// Walks the table of `machine.rs`. It is not a part of the published crate.
#[cfg(test)]
#[path = "../../tests/transitions/walk.rs"]
mod walk;

pub use crate::error::Failure;
pub use crate::tool::{CallView, Settled, Verdict};
pub use action_tools::ActionTools;
pub use event::{Event, EventKind, PhaseName, ResultView, ResumePoint, Spent};
pub use options::{Fallback, Keep, Mode, TurnOptions};
pub use policy::{Policy, ReadMode, ResultsAs, Stagnation, ToolLimit};
pub use protocol::{CancelReason, Effect, Input};
pub use restore::{Approval, RestoreOptions, Resume, Revision};
pub use result::{MessageCall, TurnMessage, TurnReasoning, TurnResult, TurnStatus};
pub use trace::{TraceEvent, TraceEventKind, TracePlace, TracedCall};

use crate::error::Error;
use crate::next::Next;
use durable::Durable;
use machine::Machine;

/// One turn. See the [module](self) for its grammar, and
/// [the contract](crate#contract-drain-before-you-wait) for how to call it.
#[derive(Debug, Clone)]
pub struct Turn(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Plain(Box<Machine>),
    Durable(Box<Durable>),
}

impl Turn {
    /// Makes a turn.
    ///
    /// # Errors
    /// `options.invalid` for options that contradict each other, and `message.unknown_shape` for a
    /// history with an element that is not a message.
    pub fn new(options: TurnOptions) -> Result<Self, Error> {
        options.check(false)?;
        Ok(Self(match options.keep {
            Some(_) => Kind::Durable(Box::new(Durable::new(options)?)),
            None => Kind::Plain(Box::new(Machine::new(options)?)),
        }))
    }

    /// Makes a turn from its stored form. It continues when it is started. A turn that cannot be
    /// resumed then ends, with `turn.not_found`, `turn.conflict`, `turn.cancelled` or
    /// `store.version`.
    ///
    /// # Errors
    /// Those of [`TurnOptions::parse`], except `json.*`.
    pub fn restore(options: RestoreOptions) -> Result<Self, Error> {
        Ok(Self(Kind::Durable(Box::new(Durable::restore(options)?))))
    }

    /// Takes an input. `now_ms` is the host's monotonic clock, with any origin; a step back is
    /// ignored. Late, repeated and unknown inputs are ignored.
    pub fn handle(&mut self, now_ms: u64, input: Input) {
        match &mut self.0 {
            Kind::Plain(turn) => turn.handle(now_ms, input),
            Kind::Durable(turn) => turn.handle(now_ms, input),
        }
    }

    /// Returns the next effect, or until when to wait for the next input. After each input, poll
    /// until [`Next::Wait`], and perform the effects in order. If no other input arrives in time,
    /// send [`Input::Timer`].
    pub fn poll(&mut self) -> Next<Effect> {
        match &mut self.0 {
            Kind::Plain(turn) => turn.poll(),
            Kind::Durable(turn) => match turn.poll() {
                Some(effect) => Next::Effect(effect),
                None => Next::Wait { until: turn.deadline() },
            },
        }
    }
}

#[doc(hidden)]
pub mod shell {
    //! For the shell of the npm package; no part of the public interface.

    use super::machine::Machine;
    use super::options::TurnOptions;
    use super::protocol::{Effect, Input};
    use crate::dialect::Dialect;
    use crate::error::Error;
    use crate::next::Next;
    use crate::provider::Wire;

    /// A turn that is not kept and whose history needs no repair, so that a core for these carries
    /// nothing of stores, of other histories and of other wire formats.
    #[derive(Debug, Clone)]
    pub struct Unkept(Machine);

    impl Unkept {
        /// As [`Turn::new`](super::Turn::new), for a turn without a store whose provider takes its
        /// history as it is; `None` for any other turn, which [`Turn`](super::Turn) runs.
        ///
        /// # Errors
        /// `options.invalid`.
        pub fn new(options: TurnOptions) -> Result<Option<Self>, Error> {
            options.check(false)?;
            let plain = if options.keep.is_none() { Machine::plain(options) } else { None };
            Ok(plain.map(Self))
        }

        /// Whether [`Unkept::new`] makes turns with this provider.
        #[must_use]
        pub fn is_plain(dialect: Dialect) -> bool {
            Wire::plain(dialect).is_some()
        }

        /// As [`Turn::handle`](super::Turn::handle).
        pub fn handle(&mut self, now_ms: u64, input: Input) {
            self.0.handle(now_ms, input);
        }

        /// As [`Turn::poll`](super::Turn::poll).
        pub fn poll(&mut self) -> Next<Effect> {
            self.0.poll()
        }
    }
}
