//! Tools and the rules for calling them, which all machines share.
//!
//! The [`guard`](crate::guard) judges each call of a batch.

mod arguments;
mod batch;
mod boxes;
mod content;
mod outcome;
mod registry;

pub(crate) use arguments::{fit as fit_arguments, unwrap_object};
pub(crate) use batch::{
    CUT_BY_LIMIT, Call, CallBatch, Decision, Fate, INCOMPLETE, Need, Replays, Terms,
};
pub use batch::{CallView, Settled, Verdict};
pub use boxes::{BoxMaker, unwrap_box};
pub(crate) use content::{Content, ContentLimits};
pub use outcome::{Outcome, Status, ToolError};
pub(crate) use outcome::{UNKNOWN_EFFECT, UNKNOWN_END};
pub use registry::{Registry, ToolSpec};
