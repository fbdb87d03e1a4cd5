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
//! use turnlock::Next;
//! use turnlock::stream::{Delta, FinishReason};
//! use turnlock::turn::{Effect, Input, Settled, Turn};
//!
//! let mut turn = Turn::new(
//!     br#"{ "dialect": "openai-chat", "requestId": "r1",
//!         "secret": "0123456789abcdef0123456789abcdef",
//!         "messages": [{ "role": "user", "content": "What is in notes.txt?" }],
//!         "tools": [{ "name": "read_file", "readOnly": true }] }"#,
//! )?;
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
//!             Effect::Fetch { inference, attempt, body } => {
//!                 assert!(body.get("messages").is_some());
//!                 let deltas = if inference == 1 { call() } else { answer() };
//!                 facts.push_back(Input::Deltas { inference, attempt, deltas });
//!                 facts.push_back(Input::ResponseEnded { inference, attempt });
//!             }
//!             Effect::RunTool { call, .. } => {
//!                 runs += 1;
//!                 let settled = Settled::Ok { text: r#""Buy milk.""#.into(), bytes: 11 };
//!                 facts.push_back(Input::ToolSettled { call, settled });
//!             }
//!             Effect::CancelTool { call, .. } => panic!("tool {call} has settled already"),
//!             Effect::Emit(event) => shown.push_str(event.chunk().unwrap_or_default()),
//!             Effect::Done { result } => {
//!                 let said = result.get("status").and_then(|status| status.as_str());
//!                 status = said.map(str::to_owned);
//!             }
//!             _ => {} // an aborted response, say
//!         }
//!     };
//!     // Without another input, a host waits until then, and sends `Input::Timer`.
//!     assert_eq!(until.is_none(), status.is_some());
//! }
//! assert_eq!((shown.as_str(), runs), ("Milk is on the list.", 1));
//! assert_eq!(status.as_deref(), Some("complete"));
//! # Ok::<(), turnlock::Error>(())
//! ```

mod action;
mod batch;
mod candidates;
mod emit;
mod inference;
mod journal;
mod machine;
mod options;
mod policy;
mod prompt;
mod protocol;
pub(crate) mod read;
mod records;
mod resume;
mod settle;
mod snapshot;
mod unified;
mod wire;

// Shared with the tool-request pass.
pub(crate) use options::tools as read_tools;
pub(crate) use prompt::Choice;
pub(crate) use wire::body as wire_body;

pub use machine::Turn;
pub use options::{Keep, Mode, Options};
pub use policy::{Freeze, Policy, ResultsAs};
pub use protocol::{Effect, Input, Settled, Verdict};
