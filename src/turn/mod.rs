//! One turn: a bounded tool phase, then an answer; or the plain unified loop.
//!
//! ```text
//!            ┌────────────── a second cycle, where the policy allows it ─────────────┐
//!            ▼                                                                       │
//!   start ─▶ tool phase ── calls ran or were refused ─▶ action phase ── text ─▶ complete
//!            │      └───── no call: the text is the answer ───────────────────────▶ ▲
//!            └───── paused                              any time: cancelled, error
//! ```
//! [`Turn`] is the machine: [`Turn::handle`] takes a fact, [`Turn::poll`] gives the next
//! effect, [`Turn::next_deadline`] says how long the host may wait. What it decides is
//! written down in `DESIGN.md` §7, and pinned by `tests/scenarios`.

mod action;
mod asking;
mod batch;
mod candidates;
mod effects;
mod io;
mod journal;
mod machine;
mod options;
mod policy;
mod prompt;
pub(crate) mod read;
mod records;
mod resume;
mod retry;
mod settle;
mod state;
mod unified;
mod wire;

// What the tool-request pass asks and reads in the same way.
pub(crate) use options::tools as read_tools;
pub(crate) use prompt::Choice;
pub(crate) use retry::{LONGEST_WAIT_MS, backoff_ms, is_retryable, status_message};
pub(crate) use wire::body as wire_body;

pub use io::{Effect, Input, Settled, Verdict};
pub use machine::Turn;
pub use options::{Keep, Mode, Options};
pub use policy::{Freeze, Policy, ResultsAs};
