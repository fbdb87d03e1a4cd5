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

pub mod bundle;
pub mod canon;
pub mod chain;
pub mod dialect;
pub mod error;
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
pub use crate::canon::canonicalize;
#[doc(inline)]
pub use crate::dialect::Dialect;
#[doc(inline)]
pub use crate::error::Error;
#[cfg(feature = "planted")]
pub use crate::planted::plant;
#[doc(inline)]
pub use crate::signature::Signature;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "wasm")]
pub mod wasm;
