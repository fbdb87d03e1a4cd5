//! Decides what an LLM turn does next. Performs no I/O.
//!
//! The host is the program that embeds this crate. It owns the network, the clock, the model and
//! the tools. This crate owns the rules: the host passes each input to a machine, performs the
//! effects that the machine returns, and repeats.
//!
//! ```text
//!   host ── Input ──▶ machine ── Effect ──▶ host
//!        (bytes, results, time)   (fetch, run tool, emit event)
//! ```
//!
//! ```
//! use std::collections::VecDeque;
//! use turnlock::{Dialect, Next};
//! use turnlock::json::Json;
//! use turnlock::turn::{Effect, Input, Turn, TurnOptions};
//!
//! let secret = "0123456789abcdef0123456789abcdef"; // a host draws it
//! let asked = Json::object([("role", "user".into()), ("content", "hi".into())]);
//! let mut turn = Turn::new(TurnOptions::new(Dialect::OpenAiChat, "r1", secret, vec![asked]))?;
//! let body = br#"data: {"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}
//!
//! "#;
//! let (mut facts, mut shown) = (VecDeque::from([Input::Start]), String::new());
//! while let Some(fact) = facts.pop_front() {
//!     turn.handle(0, fact); // 0: the host's clock, in milliseconds
//!     while let Next::Effect(effect) = turn.poll() {
//!         match effect {
//!             // A real host sends `body` to the model. This one has the response already.
//!             Effect::Fetch { inference, attempt, .. } => facts.extend([
//!                 Input::ResponseHead {
//!                     inference, attempt, status: 200, retry_after_ms: None, body: String::new(),
//!                     hint: None, secrets: Vec::new(),
//!                 },
//!                 Input::ResponseBytes { inference, attempt, bytes: body.to_vec() },
//!                 Input::ResponseEnded { inference, attempt },
//!             ]),
//!             Effect::Emit(event) => shown.push_str(event.chunk().unwrap_or_default()),
//!             // This turn has no tools. A host that runs them also stops them: their results
//!             // would come too late.
//!             Effect::RunTool { .. } | Effect::CancelTool { .. } => {}
//!             _ => {} // the end, or a connection to close
//!         }
//!     }
//! }
//! assert_eq!(shown, "Hello.");
//! # Ok::<(), turnlock::Error>(())
//! ```
//!
//! `examples/blocking.rs` of this crate is a complete host with HTTP, a tool and a clock, in under
//! a hundred lines of code. No async runtime is required.
//!
//! # Contract: drain before you wait
//!
//! After each input, poll until [`Next::Wait`]. Only then wait for the next input, and no longer than
//! `until`; then send the machine's timer input. Late, duplicate and unknown inputs are ignored; they
//! are not errors.
//!
//! # What this crate does not do
//!
//! - Open sockets, read clocks or draw random numbers: all three arrive as inputs,
//!   so that a recorded turn replays byte for byte.
//! - Validate arguments against a schema: the host does this and reports a verdict.
//! - Run tools, or write to storage: each tool start and each write is an effect ([`store`]).
//!
//! # Modules by task
//!
//! | to | |
//! |---|---|
//! | run a turn with tools, or the plain loop | [`turn`] |
//! | let a planner request data first | [`planning`] |
//! | send a request several times and measure agreement | [`evidence`] |
//! | answer with a plan of searches | [`chain`] |
//! | make any history valid for a provider, or report why it is not | [`history`] |
//! | write a whole request for a provider | [`provider`] |
//! | read a provider's stream | [`stream`] |
//! | withhold calls of a stream that is passed on | [`proxy`] |
//! | detect that two calls are the same | [`signature`], [`json`] |
//! | find the JSON in a model's reply | [`reply`] |
//! | declare tools | [`tool`] |
//! | judge and count calls, block repeats | [`guard`] |
//! | compare JSON values, count votes | [`stats`] |
//! | show or record what happens | [`turn::Event`], [`trace`] |
//! | store a turn and resume it elsewhere | [`store`], [`Turn::restore`](turn::Turn::restore) |
//! | name a provider, look up a limit or an error's code | [`dialect`], [`limits`], [`error`] |
//!
//! # Features
//!
//! None is on by default. `serde`: the core's JSON and names as values of serde, and conversions to
//! `serde_json`.
//!
//! The crate `turnlock-client` drives these machines: on `wasm32-unknown-unknown` over `fetch`, natively
//! on tokio. Rust 1.91 or later.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("README.md")]
struct Readme;

#[cfg(test)]
mod auto_traits;
pub mod chain;
mod declared;
pub mod dialect;
pub mod error;
pub mod evidence;
pub mod guard;
pub mod history;
mod index;
mod inference;
pub mod json;
pub mod limits;
mod mcp;
mod next;
mod order;
pub mod planning;
pub mod provider;
pub mod proxy;
pub mod reply;
mod secret;
pub mod signature;
pub mod stats;
pub mod store;
pub mod stream;
mod text;
pub mod tool;
pub mod trace;
pub mod turn;

#[doc(hidden)]
pub use crate::declared::declared;
#[doc(inline)]
pub use crate::dialect::Dialect;
#[doc(inline)]
pub use crate::error::Error;
#[doc(inline)]
pub use crate::json::canonicalize;
pub use crate::next::Next;
#[doc(inline)]
pub use crate::secret::Secret;
#[doc(inline)]
pub use crate::signature::Signature;
