//! What a bundle shows, as values of the host's.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::summary::BundleSummary;
use super::types::{EvidenceBundle, Quality, ReplicateStatus};
use crate::result::TokenUsage;

/// One event. `seq` counts from 1 without gaps; `bundle_ready` comes last, whatever happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundleEvent {
    /// Its place.
    pub seq: u64,
    /// What the replicates are about.
    pub task: String,
    /// Where it comes from.
    pub metadata: BundleSource,
    /// What happened, by `type`.
    #[serde(flatten)]
    pub kind: BundleEventKind,
}

/// Where an event comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleSource {
    /// The tool's name, or what the host said.
    pub source: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BundleEventKind {
    /// An attempt at a replicate begins.
    ReplicateStarted {
        /// `r1`, `r2`, …
        id: String,
        /// Its seed.
        seed: i64,
        /// From 1.
        attempt: u32,
    },
    /// A replicate is over.
    ReplicateDone {
        /// `r1`, `r2`, …
        id: String,
        /// Its seed.
        seed: i64,
        /// How it ended.
        status: ReplicateStatus,
        /// Whether it counts.
        quality: Quality,
        /// Of all attempts; `None` where nothing is known.
        usage: Option<TokenUsage>,
        /// Milliseconds of the last attempt.
        duration_ms: u64,
        /// What it returned.
        #[serde(
            default,
            deserialize_with = "crate::json::present",
            skip_serializing_if = "Option::is_none"
        )]
        data: Option<Value>,
    },
    /// With two valid replicates and more: what they agree on so far.
    PartialSummary {
        /// As that of the bundle.
        summary: Box<BundleSummary>,
    },
    /// Something that a host may want to know.
    Warning {
        /// `replicate_invalid`, `replicate_retried`, `truncated` or `model_without_price`.
        code: String,
        /// Of the replicate, where it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Of that replicate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<i64>,
        /// What speaks against it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        errors: Vec<String>,
    },
    /// Nobody waits any longer.
    Cancelled {
        /// For whom.
        scope: BundleScope,
        /// Of the replicate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Of that replicate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<i64>,
        /// Why.
        reason: String,
    },
    /// Time is up.
    Timeout {
        /// For whom.
        scope: BundleScope,
        /// Of the replicate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Of that replicate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<i64>,
        /// The ceiling.
        seconds: f64,
    },
    /// The last one.
    BundleReady {
        /// All of the evidence.
        bundle: Box<EvidenceBundle>,
    },
}

/// Whom an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleScope {
    /// One replicate.
    Replicate,
    /// All of them.
    Bundle,
}
