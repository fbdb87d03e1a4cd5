//! Bundles: k replicates of one task, evidence computed from them, and one atomic result.
//!
//! [`Evidence`] stores replicates and computes what they agree on. [`Bundle`] is the state machine
//! that decides which replicates run and when to stop, and that emits the result. It is driven
//! like a [`Turn`](crate::turn::Turn); see [the contract](crate#contract-drain-before-you-wait).
//! Definitions: `docs/statistics.md`.
//!
//! Evidence alone, computed from existing answers:
//!
//! ```
//! use turnlock::bundle::{Evidence, SummaryOptions};
//! use turnlock::json::Json;
//!
//! let options = Json::parse_str(r#"{ "must_agree": ["/label"] }"#)?;
//! let SummaryOptions { comparer, rules, view } = SummaryOptions::read(&options)?;
//! let mut evidence = Evidence::new(comparer);
//! for answer in [r#"{"label":"reject","risk":0.8}"#, r#"{"label":"reject","risk":0.9}"#] {
//!     let place = evidence.open();
//!     evidence.set(place, Some(Json::parse_str(answer)?), true, Vec::new());
//! }
//! assert!(evidence.agrees(&rules), "no third one is needed");
//! let summary = evidence.summary_text(&rules, &view);
//! let summary = Json::parse_str(&summary)?;
//! let consensus = summary.get("consensus").unwrap();
//! assert_eq!(consensus.get("/label").and_then(Json::as_str), Some("reject"));
//! # Ok::<(), turnlock::Error>(())
//! ```
//!
//! The machine starts two replicates, and a third one only if the first two differ:
//!
//! ```
//! use turnlock::bundle::{Bundle, Effect, Input, Outcome};
//!
//! let mut bundle = Bundle::new(br#"{ "task": "triage" }"#)?;
//! bundle.handle(0, Input::Start);
//! let (mut ran, mut over) = (0, false);
//! while let Some(effect) = bundle.poll() {
//!     match effect {
//!         Effect::Run { replicate, attempt, .. } => {
//!             ran += 1;
//!             let outcome = Outcome::Data { json: br#"{"label":"reject"}"#, errors: Vec::new() };
//!             let (tokens, model) = (None, None);
//!             bundle.handle(5, Input::Settled { replicate, attempt, outcome, tokens, model });
//!         }
//!         Effect::Done => over = true,
//!         Effect::Emit(_) | Effect::Cancel { .. } => {}
//!     }
//! }
//! assert_eq!((ran, over), (2, true));
//! # Ok::<(), turnlock::Error>(())
//! ```

mod events;
mod evidence;
mod machine;
mod options;
mod patch;
mod protocol;
mod render;
mod summary;
mod usage;
mod write;

pub use evidence::Evidence;
pub use machine::Bundle;
pub use options::{Options, Stop, SummaryOptions};
pub use patch::{apply, diff};
pub use protocol::{Effect, Input, Outcome};
pub use render::{Limits, View};
pub use summary::{Rules, Summary};
pub use usage::{Price, Tokens};
