//! K replicates of one task, computed evidence, one atomic result.
//!
//! [`Evidence`] holds replicates and computes what they agree on; [`Bundle`] is the machine that
//! decides which replicates run, when it is enough, and what the bundle says. Grammar as for
//! [`Turn`](crate::turn::Turn); see [the contract](crate#contract-drain-before-you-wait).
//! Definitions: `bundle-statistics.md` §2.

mod evidence;
mod io;
mod machine;
mod options;
mod patch;
mod render;
mod summary;
mod tell;
mod usage;
mod write;

pub use evidence::Evidence;
pub use io::{Effect, Input, Outcome};
pub use machine::Bundle;
pub use options::{Options, Stop, SummaryOptions};
pub use patch::{apply, diff};
pub use render::{Limits, View};
pub use summary::{Rules, Summary};
pub use usage::{Price, Tokens};
