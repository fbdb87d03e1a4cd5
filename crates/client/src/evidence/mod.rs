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
pub use turnlock::evidence::{
    BundleBudget, BundleCounts, BundleEvent, BundleLimits, BundleMeta, BundleOptions,
    BundleReplicate, BundleScope, BundleSource, BundleStopReason, BundleSummary, BundleWarning,
    CancelReason, Citations, ConfidenceReason, DisagreeingValue, Disagreement, Distribution,
    Encoding, Envelope, Event, EvidenceBundle, InvalidReplicate, ItemAgreement, MetaLimits,
    MetaPrices, NumberDistribution, PatchKind, PatchOperation, Prices, Rendered, ReplicateLimits,
    ReplicateMeta, ReplicateQuality, ReplicateScope, ReplicateStatus, ReplicateWarning, SchemaName,
    Shown, Stop, Strategy, Support, SupportMethod, Tokens, ValueCount, ValueDistribution,
};
