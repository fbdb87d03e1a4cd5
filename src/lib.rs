//! Decides what an LLM turn does next. Performs no I/O.
//!
//! The host owns the network, the clock, the model and the tools. This crate owns
//! the rules: tell it what happened, ask it what to do, do that, and repeat.
//!
//! ```text
//!   host ── Input ──▶ machine ── Effect ──▶ host
//!        (bytes, results, time)   (fetch, run tool, emit event)
//! ```
//!
//! ```
//! use std::collections::VecDeque;
//! use turnlock::turn::{Effect, Input, Turn};
//!
//! let mut turn = Turn::new(
//!     br#"{ "dialect": "openai-chat", "requestId": "r1",
//!         "secret": "0123456789abcdef0123456789abcdef",
//!         "messages": [{ "role": "user", "content": "hi" }] }"#,
//! )?;
//! let body = br#"data: {"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}
//!
//! "#;
//! let (mut facts, mut shown) = (VecDeque::from([Input::Start]), String::new());
//! while let Some(fact) = facts.pop_front() {
//!     turn.handle(0, fact); // 0: the host's clock, in milliseconds
//!     while let Some(effect) = turn.poll() {
//!         match effect {
//!             // A host sends `body` of the effect to the model. This one has the response.
//!             Effect::Fetch { inference, attempt, .. } => facts.extend([
//!                 Input::ResponseHead {
//!                     inference, attempt, status: 200, retry_after_ms: None, body: "",
//!                 },
//!                 Input::ResponseBytes { inference, attempt, bytes: body },
//!                 Input::ResponseEnded { inference, attempt },
//!             ]),
//!             Effect::Emit(event) => shown.push_str(event.chunk().unwrap_or_default()),
//!             _ => {}
//!         }
//!     }
//! }
//! assert_eq!(shown, "Hello.");
//! # Ok::<(), turnlock::Error>(())
//! ```
//!
//! A whole host, with HTTP, a tool and a clock, is `examples/blocking.rs` of this crate, under a
//! hundred lines of code. No async runtime is needed, and none is in the way.
//!
//! # Contract: drain before you wait
//!
//! After each input, poll until nothing is left; only then wait for the next fact,
//! no longer than the deadline. Facts may come late or twice: a late, duplicate or
//! unknown completion changes nothing and is not an error.
//!
//! # What this crate does not do
//!
//! - Open sockets, read clocks or draw random numbers: all three arrive as inputs,
//!   so that a recorded turn replays byte for byte.
//! - Validate arguments against a schema: the host does, and the core takes its verdict.
//! - Run tools, or write anything down: what is to be kept is an effect ([`store`]).
//!
//! # Which module for what
//!
//! | to | |
//! |---|---|
//! | run a turn with tools, or the plain loop | [`turn`] |
//! | let a planner ask for data first | [`request`] |
//! | ask several times, and measure agreement | [`bundle`] |
//! | answer by a plan of searches | [`chain`] |
//! | make any history valid for a provider, or say why it is not | [`message`] |
//! | read a provider's stream | [`stream`] |
//! | know whether two calls are the same one | [`signature`], [`json`] |
//! | declare tools, judge a call | [`tool`] |
//! | compare JSON values, count votes | [`stats`] |
//! | show or record what happens | [`trace`] |
//! | keep a turn, resume it elsewhere | [`store`], [`Turn::restore`](turn::Turn::restore) |
//! | name a provider, look up a limit or an error's code | [`dialect`], [`limits`], [`error`] |
//!
//! # Features
//!
//! None is on by default: the core above is what a native host needs.
//!
//! | | |
//! |---|---|
//! | `client` | the driver for Rust hosts in pages and workers, on wasm32 |
//! | `jsonschema` | JSON Schema validation of tool arguments, for Rust hosts |
//! | `wasm` | the shell that the npm package is built from; no Rust host needs it |
//! | `planted`, `trap-test` | bugs and a trap on purpose, for this crate's own tests |
//!
//! Rust 1.91 or later.
//!
//! # Rust in pages and workers
//!
//! With the feature `client` the module `client` drives the same machines on
//! `wasm32-unknown-unknown`, over `fetch`: turns, bundles, tool-request passes and chains as streams
//! of typed events, tools as async closures or JavaScript functions, turns kept in memory or in
//! IndexedDB. `examples/rust-page` and `examples/rust-worker` of the repository are a page and a
//! worker made with it.

pub mod bundle;
pub mod chain;
pub mod dialect;
pub mod error;
pub mod json;
pub mod limits;
pub mod message;
mod planted;
pub mod request;
pub mod signature;
pub mod stats;
pub mod store;
pub mod stream;
pub mod tool;
pub mod trace;
pub mod turn;

#[doc(inline)]
pub use crate::dialect::Dialect;
#[doc(inline)]
pub use crate::error::Error;
#[doc(inline)]
pub use crate::json::canonicalize;
#[cfg(feature = "planted")]
pub use crate::planted::plant;
#[doc(inline)]
pub use crate::signature::Signature;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "wasm")]
pub mod wasm;
