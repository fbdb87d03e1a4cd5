//! The driver for Rust hosts: pages (Leptos, Yew, Dioxus, none) and workers on
//! `wasm32-unknown-unknown`.
//!
//! It does what the core's machines ask for, with `fetch`, timers and futures, and decides nothing;
//! the npm package's driver is its twin, and both play the same tables. It compiles natively too, so
//! that editors and documentation see it, and runs only where there is JavaScript.
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
//! # async fn page() -> Result<(), Error> {
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
//! | run, resume, stop a turn | [`run_turn`], [`resume_turn`], [`cancel_turn`] |
//! | ask several times, and read computed evidence | [`run_bundle`], [`bundle_tool`] |
//! | let a planner ask for data first | [`run_with_tool_requests`] |
//! | answer by a plan of searches | [`run_chain`] |
//! | keep turns | [`store`] |
//!
//! # What holds everywhere
//!
//! - What is run (a turn, a bundle, a pass, a chain) is a `Stream` of its events and has a
//!   `result()`. It goes on by itself on the runtime's event loop; a reader of a turn that is more
//!   than 256 events behind holds the model's response back.
//! - **Dropping it cancels** everything under way: the request's connection is closed, futures of
//!   tools are dropped, what they began in JavaScript is told through a signal.
//! - A failing callback of the host is an event or a result, and so is one that **panics**: on
//!   stable Rust a panic is a trap on this target, which is caught in a JavaScript frame below the
//!   callback. What it owned is leaked. A `RefCell` that it had borrowed stays borrowed.
//! - Misuse is an [`Error`] at once, with the npm package's stable codes.
//!
//! # In a worker
//!
//! An event is written for a `text/event-stream` response by
//! [`Event::to_sse`](turnlock::turn::Event::to_sse). A client that leaves is told by the request's
//! signal alone (Cloudflare: the flag `enable_request_signal`): end the stream by it, so that the turn
//! is dropped, and keep the isolate for the request until then (`wait_until`). The repository's
//! `examples/rust-worker` does both.

pub use turnlock;

pub mod bundle;
pub mod chain;
mod clock;
mod drive;
mod effects;
mod error;
mod feed;
mod fetch;
mod guard;
mod js_tool;
mod json;
mod launch;
mod model;
pub mod request;
mod result;
mod resume;
mod schema;
pub mod store;
mod tool;
mod turn;

pub use bundle::{BundleOptions, RunningBundle, bundle_tool, run_bundle};
pub use chain::{ChainEvent, ChainOptions, ChainResult, RunningChain, run_chain};
pub use error::Error;
pub use model::Model;
pub use request::{
    PassError, PassEvent, PassOptions, PassResult, RunningPass, run_with_tool_requests,
};
pub use result::{FailureView, TokenUsage, ToolResult, TurnResult, TurnStatus};
pub use resume::{Approval, ResumeOptions, cancel_turn, resume_turn};
pub use tool::{Tool, ToolContext};
pub use turn::{Control, RunningTurn, TurnOptions, run_turn};
