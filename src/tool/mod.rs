//! Tools and the rules for calling them. Every machine judges calls here.

mod boxes;
mod judge;
mod ledger;
mod outcome;
mod registry;

pub use boxes::{BoxMaker, unwrap_box};
pub use judge::{Refusal, Rules, Ruling, judge};
pub use ledger::Ledger;
pub use outcome::{Outcome, Status, ToolError};
pub use registry::{Dedupe, Registry, ToolSpec};
