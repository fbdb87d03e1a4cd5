//! The call guard: one machine that judges calls, counts them, records their outcomes and writes the
//! notices for the model. It has no I/O, and its state is JSON.
//!
//! Turns, planning passes, the proxy, the middleware and `createCallGuard` use it. They differ in the
//! [`Rules`] and the [`Repeat`]s that they judge by:
//!
//! ```
//! use turnlock::Signature;
//! use turnlock::guard::{Approval, CallVerdict, Dedupe, Guard, GuardedCall, KnownTool, Refusal, Rules};
//! use turnlock::json::Json;
//!
//! let rules = Rules { tools_on: true, allow: None, reads_only: false, budget: 1, asks_user: false };
//! let repeats: Vec<_> = Dedupe::Replay.repeat().into_iter().collect();
//! let read = KnownTool { read_only: true, max_calls: None, repeats: &repeats };
//! let signature = Signature::of_text("read_file", None, br#"{"path":"notes.txt"}"#, None)?;
//! let signatures = [signature.as_str()];
//! let call = GuardedCall::new("read_file", Some(read), &signatures);
//!
//! let mut guard = Guard::default();
//! assert_eq!(guard.judge(1, &call, &rules), CallVerdict::Run);
//! guard.settle(&signatures, 1, &"Buy milk.", None);
//!
//! // The budget is spent, but the outcome of the same call is known and is replayed.
//! let spent = Rules { budget: 0, ..rules };
//! assert_eq!(guard.judge(2, &call, &spent), CallVerdict::Replay(1));
//! let unknown = GuardedCall { tool: None, ..call };
//! assert_eq!(guard.judge(3, &unknown, &spent), CallVerdict::Block(Refusal::UnknownTool));
//! # Ok::<(), turnlock::Error>(())
//! ```

mod judge;
mod ledger;
mod notice;
mod policy;
mod repeat;
mod run;
mod state;

pub use judge::{Approval, CallVerdict, GuardedCall, KnownTool, Rules};
pub use ledger::Guard;
pub(crate) use notice::plain_name;
pub use notice::{Refusal, Unread};
pub use policy::{AfterUntrusted, GuardOptions, GuardTool, RepeatBy, Window};
pub use repeat::{Dedupe, Repeat, SameResult};
pub use run::{GuardAction, GuardCall, GuardVerdict, PastCall, PolicyGuard, notice};
pub use state::{GuardEntry, GuardState};
