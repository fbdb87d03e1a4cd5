//! The driver for Rust hosts: pages (Leptos, Yew, Dioxus, none) and workers on
//! `wasm32-unknown-unknown`. Feature `client`.
//!
//! It does what the core's machines ask for, with `fetch`, timers and futures, and decides nothing;
//! the npm package's driver is its twin, and both play the same tables. It compiles natively too, so
//! that editors and documentation see it, and runs only where there is JavaScript.
//!
//! ```no_run
//! use futures::StreamExt;
//! use serde::Deserialize;
//! use serde_json::json;
//! use turnlock::client::{Error, Model, Tool, TurnOptions, run_turn};
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
//! # What holds everywhere
//!
//! - What is run (a turn, a bundle, a pass, a chain) is a `Stream` of its events and has a
//!   `result()`. It goes on by itself on the runtime's event loop; a reader that is more than 256
//!   events behind holds the model's response back.
//! - **Dropping it cancels** everything under way: the request's connection is closed, futures of
//!   tools are dropped, what they began in JavaScript is told through a signal.
//! - A failing callback of the host is an event or a result, and so is one that **panics**: on
//!   stable Rust a panic is a trap on this target, which is caught in a JavaScript frame below the
//!   callback. What it owned is leaked. A `RefCell` that it had borrowed stays borrowed.
//! - Misuse is an [`Error`] at once, with the npm package's stable codes.

mod asks;
mod clock;
mod drive;
mod error;
mod feed;
mod fetch;
mod guard;
mod json;
mod model;
mod result;
mod resume;
pub mod store;
mod tool;
mod turn;

pub use error::Error;
pub use model::Model;
pub use result::{FailureView, TokenUsage, ToolResult, TurnResult, TurnStatus};
pub use resume::{Approval, ResumeOptions, cancel_turn, resume_turn};
pub use tool::{Tool, ToolContext};
pub use turn::{Control, RunningTurn, TurnOptions, run_turn};
