//! The driver for Rust hosts: pages and workers on `wasm32-unknown-unknown`.

mod asks;
pub mod chain;
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

pub use chain::{ChainEvent, ChainOptions, ChainResult, RunningChain, run_chain};
pub use error::Error;
pub use model::Model;
pub use result::{FailureView, TokenUsage, ToolResult, TurnResult, TurnStatus};
pub use resume::{Approval, ResumeOptions, cancel_turn, resume_turn};
pub use tool::{Tool, ToolContext};
pub use turn::{Control, RunningTurn, TurnOptions, run_turn};
