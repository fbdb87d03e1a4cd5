//! Tools and the rules for calling them, which all machines share.
//!
//! A call is judged by the rules of its phase and by the calls that were executed before:
//!
//! ```
//! use turnlock::Signature;
//! use turnlock::json::Json;
//! use turnlock::tool::{Ledger, Outcome, Registry, ToolSpec};
//! use turnlock::tool::{Refusal, Rules, CallVerdict, judge};
//!
//! let tools = Registry::new(vec![ToolSpec::new("read_file").read_only(true)])?;
//! let rules = Rules { tools_on: true, allow: None, reads_only: false, budget: 1 };
//! let args = Json::parse_str(r#"{"path":"notes.txt"}"#)?;
//! let call = Signature::new("read_file", None, &args, None);
//! let mut ledger = Ledger::default();
//! let verdict = judge(tools.find("read_file"), true, false, &call, &rules, &ledger);
//! assert_eq!(verdict, CallVerdict::Execute);
//! ledger.accept(call.clone(), 1);
//! ledger.settle(&call, 1, &Outcome::returned("\"Buy milk.\"", 11, 65_536));
//!
//! // The budget is spent, but the outcome of the same call is known and is replayed.
//! let spent = Rules { budget: 0, ..rules };
//! let verdict = judge(tools.find("read_file"), true, false, &call, &spent, &ledger);
//! assert_eq!(verdict, CallVerdict::Replay(1));
//! let unknown = judge(tools.find("rm"), true, false, &call, &spent, &ledger);
//! assert_eq!(unknown, CallVerdict::Refuse(Refusal::UnknownTool));
//! # Ok::<(), turnlock::Error>(())
//! ```

mod batch;
mod boxes;
mod judge;
mod ledger;
mod outcome;
mod registry;

pub(crate) use batch::{CUT_BY_LIMIT, Call, CallBatch, Fate, INCOMPLETE, Need, Replays, Terms};
pub use batch::{CallView, Settled, Verdict};
pub use boxes::{BoxMaker, unwrap_box};
pub(crate) use judge::plain_name;
pub use judge::{CallVerdict, Facts, Refusal, Rules, judge};
pub use ledger::Ledger;
pub use outcome::{Outcome, Status, ToolError};
pub(crate) use outcome::{UNKNOWN_EFFECT, UNKNOWN_END};
pub use registry::{Dedupe, Registry, ToolSpec};
