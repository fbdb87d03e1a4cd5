//! The data of evidence bundles; names and meanings as in the contract.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::summary::BundleSummary;
use crate::result::TokenUsage;
use turnlock::bundle::Stop;

/// All replicates and their statistics, at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceBundle {
    /// What it was made with, and what it took.
    pub meta: BundleMeta,
    /// One for each that was started.
    pub replicates: Vec<BundleReplicate>,
    /// Statistics of the replicates, computed by code.
    pub summary: BundleSummary,
}

/// What a bundle was made with, and what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundleMeta {
    /// What the replicates are about.
    pub task: String,
    /// Replicates at most.
    pub k: u32,
    /// The model, where the replicates do not name theirs.
    pub model: Option<String>,
    /// One for each of the `k` places, started or not.
    pub seeds: Vec<i64>,
    /// Address and version of the schema, where one of them was given.
    pub schema: Option<SchemaName>,
    /// `metadata.source` of every event.
    pub source: String,
    /// Mean distance up to which replicates agree.
    pub epsilon: f64,
    /// JSON Pointers of fields that must be of one class before it stops early.
    pub must_agree: Vec<String>,
    /// Whether a member that is `null` counts as absent.
    pub null_is_missing: bool,
    /// When it is enough.
    #[serde(serialize_with = "write_stop", deserialize_with = "read_stop")]
    pub stop: Stop,
    /// Replicates started at once.
    pub parallel: u32,
    /// Replicates running at the same time.
    pub concurrency: u32,
    /// Further attempts at a replicate that failed or is invalid.
    pub retries: u32,
    /// One for each of the `k` places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f64>>,
    /// Caps on what is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BundleLimits>,
    /// Ceilings of one replicate.
    #[serde(rename = "perReplicate", default, skip_serializing_if = "Option::is_none")]
    pub replicate_limits: Option<ReplicateLimits>,
    /// Ceilings of all replicates together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BundleBudget>,
    /// By name of the model; `*` stands for every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<BTreeMap<String, Price>>,
    /// JSON Pointers of members that are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<String>>,
    /// `full`, or `delta` where it is compact.
    pub encoding: String,
    /// Why it ended.
    pub stopped: Stopped,
    /// Replicates that were started.
    pub started: u32,
    /// Milliseconds from the first start to the end.
    pub duration_ms: u64,
    /// Of all replicates, earlier attempts included.
    pub usage: TokenUsage,
    /// Micro-dollars, rounded once; `None` without prices, or where one is missing.
    pub cost: Option<u64>,
    /// How each replicate went.
    pub per_replicate: Vec<ReplicateMeta>,
}

/// Address and version of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaName {
    /// Where it is.
    pub uri: Option<String>,
    /// Which one it is.
    pub version: Option<String>,
}

/// Why a bundle ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// The stop rule held.
    Early,
    /// All have run.
    Full,
    /// A ceiling of all replicates was reached.
    Budget,
    /// The host stopped it.
    Cancelled,
}

/// How a replicate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicateStatus {
    /// It counts.
    Valid,
    /// Its data does not fit.
    Invalid,
    /// It has no data.
    Error,
    /// It took too long.
    Timeout,
    /// It used too many tokens.
    TokenLimit,
    /// Nobody waited any longer.
    Cancelled,
}

/// How a replicate went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplicateMeta {
    /// `r1`, `r2`, …
    pub id: String,
    /// Its seed.
    pub seed: i64,
    /// The last attempt, from 1.
    pub attempt: u32,
    /// How it ended.
    pub status: ReplicateStatus,
    /// Its model, or the bundle's.
    pub model: Option<String>,
    /// Of all attempts; `None` where nothing is known.
    pub usage: Option<TokenUsage>,
    /// Micro-dollars; `None` without a price.
    pub cost: Option<u64>,
    /// Milliseconds of the last attempt.
    pub duration_ms: u64,
}

/// One replicate of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundleReplicate {
    /// `r1`, `r2`, …
    pub id: String,
    /// Its seed.
    pub seed: i64,
    /// Whether it counts.
    pub quality: Quality,
    /// In a compact bundle: the others' deltas start from this one's data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base: bool,
    /// What it returned; `Some(Value::Null)` where that is `null`.
    #[serde(
        default,
        deserialize_with = "crate::json::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Value>,
    /// In a compact bundle, where it is shorter than the data: a JSON Patch (RFC 6902).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<Vec<Value>>,
    /// Its data is left out for `max_bytes`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub omitted: bool,
}

/// Whether a replicate counts, and what speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Quality {
    /// Whether it counts.
    pub valid: bool,
    /// What speaks against it, in words.
    pub errors: Vec<String>,
}

/// Micro-dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Price {
    /// Tokens read.
    pub input: u64,
    /// Of those, what the provider's cache had. Default `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// Tokens written.
    pub output: u64,
}

/// Caps on what is shown; no cap changes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BundleLimits {
    /// Entries of `consensus` and of `distributions`, each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_fields: Option<u64>,
    /// Entries of `disagreements`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_diffs: Option<u64>,
    /// Bytes of the JSON. Metadata, matrix, confidence and counts always stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// Ceilings of one replicate.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ReplicateLimits {
    /// Of all its attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// Ceilings of all replicates together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct BundleBudget {
    /// Read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// From the first start on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Micro-dollars; needs `prices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

fn write_stop<S: Serializer>(stop: &Stop, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(stop.name())
}

fn read_stop<'de, D: Deserializer<'de>>(from: D) -> Result<Stop, D::Error> {
    let name = String::deserialize(from)?;
    Stop::parse(&name).ok_or_else(|| serde::de::Error::custom(format!("no stop rule: {name}")))
}
