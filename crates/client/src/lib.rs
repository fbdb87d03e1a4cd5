//! The driver for Rust hosts: it performs what the machines of [`turnlock`] ask for, and decides
//! nothing. The npm package's driver is its twin; both play the same tables.
//!
//! It runs on two platforms, with the same code of the host:
//!
//! | platform | for | with |
//! |---|---|---|
//! | the web: `wasm32-unknown-unknown` | pages (Leptos, Yew, Dioxus, none), workers | `fetch`, the event loop, IndexedDB |
//! | tokio: natively, **feature `tokio`** | servers, programs, tests of either | `reqwest` over rustls, tokio's tasks and timers |
//!
//! Natively without the feature, only the core is here. A project for the web alone tells its editor
//! so: `build.target = "wasm32-unknown-unknown"` in `.cargo/config.toml`.
//!
//! ```no_run
//! use futures::StreamExt;
//! use serde::Deserialize;
//! use serde_json::json;
//! use turnlock_client::{Error, Model, Tool, TurnOptions, run_turn};
//!
//! #[derive(Deserialize)]
//! struct Folder { path: String }
//!
//! # async fn host() -> Result<(), Error> {
//! let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
//! let list = Tool::new("list_files", "Lists a folder", schema, |folder: Folder, _| async move {
//!     if folder.path == "." { Ok(["a.txt", "b.txt"]) } else { Err("no such folder") }
//! })
//! .read_only();
//!
//! let model = Model::openai_chat("/api/v1", "gpt-5-mini");
//! let messages = json!([{ "role": "user", "content": "Which files are there?" }]);
//! let mut turn = run_turn(TurnOptions::new(model, messages).tool(list))?;
//! while let Some(event) = turn.next().await {
//!     println!("{}", event.to_json().to_text());
//! }
//! println!("{}", turn.result().await.text);
//! # Ok(())
//! # }
//! ```
//!
//! | to | |
//! |---|---|
//! | run, resume, stop a turn | [`run_turn`], [`resume_turn`], [`cancel_turn`]; [`run_plain_turn`] where size counts |
//! | ask several times, and read computed evidence | [`run_bundle`], [`bundle_tool`] |
//! | let a planner ask for data first | [`run_planning`] |
//! | answer by a plan of searches | [`run_chain`] |
//! | keep turns | [`store`] |
//!
//! # On both platforms
//!
//! - What is run (a turn, a bundle, a pass, a chain) is a `Stream` of its events and has a
//!   `result()`. It goes on by itself; a reader of a turn that is more than 256 events behind holds
//!   the model's response back.
//! - **Dropping it cancels** everything under way: the request's connection is closed, futures of
//!   tools are dropped.
//! - A failing callback of the host is an event or a result, and so is one that **panics**.
//! - Misuse is an [`Error`] at once, with the npm package's stable codes.
//! - An event is written for a `text/event-stream` response by
//!   [`Event::to_sse`](turnlock::turn::Event::to_sse).
//!
//! # On the web
//!
//! A tool may be a JavaScript function (`Tool::js`), a model may have the host's own `fetch`
//! (`Model::fetch`), and what a callback has begun in JavaScript is told through its context's
//! `signal()`. Turns are kept in IndexedDB by `IndexedDbStore`.
//!
//! A panic is a trap on this target, which is caught in a JavaScript frame below the callback. What
//! the callback owned is leaked. A `RefCell` that it had borrowed stays borrowed.
//!
//! In a worker, a client that leaves is told by the request's signal alone (Cloudflare: the flag
//! `enable_request_signal`): end the stream by it, so that the turn is dropped, and keep the isolate
//! for the request until then (`wait_until`). The repository's `examples/rust-worker` does both.
//!
//! # On tokio
//!
//! What is run, and what a host holds of it, is [`Send`]; callbacks and their futures must be, which
//! is what [`MaybeSend`] and [`MaybeSync`] say. `run_turn` and the like spawn a task, so they panic
//! outside of a runtime; the runtime needs its timers and I/O (`enable_all`). All that a turn does
//! runs in its task: a tool that computes for long takes a thread
//! ([`spawn_blocking`](https://docs.rs/tokio/latest/tokio/task/fn.spawn_blocking.html)), and one that
//! spawns tasks ends them when its future is dropped.
//!
//! A model and its clones share a client of `reqwest`: make one [`Model`] and clone it, or bring a
//! client (`Model::client`). Panics are caught by unwinding, so not with `panic = "abort"`. Time
//! limits follow tokio's clock, which tests may pause.
//!
//! The repository's `examples/rust-server` streams turns from a route of axum.

#![forbid(unsafe_code)]
#![cfg_attr(
    target_arch = "wasm32",
    allow(clippy::arc_with_non_send_sync, reason = "natively these are sent and shared")
)]

pub use turnlock;

/// The sample of the README, as a test.
#[cfg(all(doctest, any(target_arch = "wasm32", feature = "tokio")))]
#[doc = include_str!("../README.md")]
pub struct Readme;

#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod beside;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub mod chain;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod clock;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod drive;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod effects;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod error;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub mod evidence;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod feed;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod guard;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod http;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod json;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod launch;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod lock;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod model;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub mod planning;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod platform;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod resume;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod running;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod schema;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub mod store;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod tool;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
mod turn;

#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use beside::{OpenTurn, list_turns, pause_turn};
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use chain::{Callbacks, ChainEvent, ChainOptions, ChainResult, RunningChain, run_chain};
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use error::Error;
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use evidence::{BundleOptions, Replicates, RunningBundle, bundle_tool, run_bundle};
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use model::{Model, Signable};
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use planning::{PassError, PassOptions, Planned, RunningPass, run_planning};
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use platform::{BoxFuture, MaybeSend, MaybeSync};
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use resume::{ResumeOptions, cancel_turn, resume_turn};
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use tool::{ApprovalDecision, Reconciled, Tool, ToolContext};
#[cfg(any(target_arch = "wasm32", feature = "tokio"))]
pub use turn::{Control, RunningTurn, TurnOptions, run_plain_turn, run_turn};
pub use turnlock::error::Failure;
pub use turnlock::planning::{PassEvent, PassResult};
pub use turnlock::stream::{TextToolCalls, ThinkTags, TokenUsage};
pub use turnlock::turn::{
    Approval, CallView, ResultView, Revision, TraceEvent, TurnResult, TurnStatus,
};
