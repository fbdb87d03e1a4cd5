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
//! use turnlock::evidence::{Evidence, SummaryOptions};
//! use turnlock::json::Json;
//!
//! let options = SummaryOptions::default().must_agree(vec!["/label".to_owned()].into());
//! let mut evidence = Evidence::new(options)?;
//! for answer in [r#"{"label":"reject","risk":0.8}"#, r#"{"label":"reject","risk":0.9}"#] {
//!     let place = evidence.open();
//!     evidence.set(place, Some(Json::parse_str(answer)?), true, Vec::new());
//! }
//! assert!(evidence.agrees(), "no third one is needed");
//! let summary = evidence.summary().read()?;
//! assert_eq!(summary.consensus["/label"].as_str(), Some("reject"));
//! # Ok::<(), turnlock::Error>(())
//! ```
//!
//! The machine starts two replicates, and a third one only if the first two differ:
//!
//! ```
//! use turnlock::Next;
//! use turnlock::evidence::{Bundle, BundleEvent, BundleOptions, Effect, Input, Outcome, BundleStopReason};
//!
//! let mut bundle = Bundle::new(BundleOptions::new("triage"))?;
//! bundle.handle(0, Input::Start);
//! let mut ready = None;
//! while let Next::Effect(effect) = bundle.poll() {
//!     match effect {
//!         Effect::Run { replicate, attempt, .. } => {
//!             let json = br#"{"label":"reject"}"#.to_vec();
//!             let outcome = Outcome::Data { json, errors: Vec::new() };
//!             let (tokens, model, seed_unsent, repairs) = (None, None, false, Vec::new());
//!             let settled = Input::Settled {
//!                 replicate, attempt, outcome, tokens, model, seed_unsent, repairs,
//!             };
//!             bundle.handle(5, settled);
//!         }
//!         Effect::Emit(event) => {
//!             if let BundleEvent::BundleReady { bundle, .. } = event.kind {
//!                 ready = Some(bundle.read()?);
//!             }
//!         }
//!         Effect::Cancel { .. } | Effect::Done => {}
//!     }
//! }
//! let ready = ready.expect("the last event is the bundle");
//! assert_eq!((ready.replicates.len(), ready.meta.stopped), (2, BundleStopReason::Early));
//! # Ok::<(), turnlock::Error>(())
//! ```

mod cite;
mod consensus;
mod emit;
mod events;
mod machine;
mod must_agree;
mod options;
mod patch;
mod protocol;
mod render;
mod rendered;
mod replicates;
mod results;
mod stop;
mod summary;
mod usage;
mod write;

pub use cite::{Citations, cite};
pub use events::{
    BundleEvent, BundleScope, BundleSource, BundleWarning, Envelope, Event, ReplicateScope,
    ReplicateWarning,
};
pub use machine::Bundle;
pub use options::{
    BundleBudget, BundleLimits, BundleOptions, MustAgree, ReplicateLimits, Stop, Strategy,
    SummaryOptions,
};
pub use patch::{apply, diff};
pub use protocol::{CancelReason, Effect, Input, Outcome};
pub use rendered::Rendered;
pub use replicates::Evidence;
pub use results::{
    BundleCounts, BundleMeta, BundleReplicate, BundleStopReason, BundleSummary, ConfidenceReason,
    DisagreeingValue, Disagreement, DisagreementKind, Distribution, Encoding, EvidenceBundle,
    InvalidReplicate, ItemAgreement, MetaLimits, MetaPrices, NumberDistribution, PatchKind,
    PatchOperation, ReplicateMeta, ReplicateQuality, ReplicateStatus, SchemaName, Shown, Support,
    SupportMethod, ValueCount, ValueDistribution,
};
pub use usage::{Prices, Tokens};
