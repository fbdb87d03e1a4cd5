//! K replicates of one task, computed evidence, one atomic result.

mod host;
mod options;
mod record;
mod redact;
mod replicate;
mod replicates;
mod run;
mod strict;
mod tool;

pub use options::Replicates;
pub use record::{
    BundleRecording, ReplayedBundle, cited_disagreements, expand_bundle, replay_bundle,
    replay_bundle_redacted,
};
pub use replicate::{Replicate, ReplicateContext, ReplicateError};
pub use replicates::{ModelReplicateOptions, ReadAnswer, replicate_by_model, replicate_by_turn};
pub use run::{BundleControl, RunningBundle, run_bundle};
pub use tool::{BUNDLE_HINT, bundle_tool};
pub use turnlock::bundle::{
    BundleBudget, BundleCounts, BundleEvent, BundleLimits, BundleMeta, BundleOptions,
    BundleReplicate, BundleScope, BundleSource, BundleSummary, BundleWarning, CancelReason,
    Citations, ConfidenceReason, DisagreeingValue, Disagreement, Distribution, Encoding, Envelope,
    Event, EvidenceBundle, InvalidReplicate, ItemAgreement, NumberDistribution, PatchKind,
    PatchOperation, Price, Quality, Rendered, ReplicateLimits, ReplicateMeta, ReplicateScope,
    ReplicateStatus, ReplicateWarning, SchemaName, Shown, Stop, Stopped, Strategy, Support,
    SupportMethod, Tokens, ValueCount, ValueDistribution,
};
