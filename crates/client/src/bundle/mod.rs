//! K replicates of one task, computed evidence, one atomic result.

mod events;
mod host;
mod options;
mod record;
mod redact;
mod replicate;
mod replicates;
mod run;
mod strict;
mod summary;
mod tool;
mod types;

pub use events::{BundleEvent, BundleEventKind, BundleScope, BundleSource};
pub use options::BundleOptions;
pub use record::{
    BundleRecording, ReplayedBundle, expand_bundle, replay_bundle, replay_bundle_redacted,
};
pub use replicate::{Replicate, ReplicateContext, ReplicateError};
pub use replicates::{
    ModelReplicateOptions, ReadAnswer, TurnReplicateOptions, replicate_by_model, replicate_by_turn,
};
pub use run::{BundleControl, RunningBundle, run_bundle};
pub use summary::{
    BundleCounts, BundleSummary, ConfidenceReason, DisagreeingValue, Disagreement, Distribution,
    InvalidReplicate, ItemAgreement, Shown, Support, SupportMethod, ValueCount,
};
pub use tool::{BUNDLE_HINT, bundle_tool};
pub use turnlock::bundle::Stop;
pub use types::{
    BundleBudget, BundleLimits, BundleMeta, BundleReplicate, EvidenceBundle, Price, Quality,
    ReplicateLimits, ReplicateMeta, ReplicateStatus, SchemaName, Stopped,
};
