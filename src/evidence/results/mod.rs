//! What a bundle contains: its metadata, its replicates and their statistics.
//!
//! The machine writes these as text, see [`Rendered`](super::Rendered). Replicates are referred to
//! by index, from 0, and fields by JSON Pointer.

mod summary;

use std::sync::Arc;

pub use summary::{
    BundleCounts, BundleSummary, ConfidenceReason, DisagreeingValue, Disagreement,
    DisagreementKind, Distribution, InvalidReplicate, ItemAgreement, NumberDistribution, Shown,
    Support, SupportMethod, ValueCount, ValueDistribution,
};

use super::options::{BundleBudget, BundleLimits, MustAgree, ReplicateLimits, Stop, Strategy};
use super::usage::{Prices, Tokens};
use crate::json::Json;
use crate::json::table::{names, record};
use crate::reply::Dropped;

record! {
    /// All replicates and their statistics, at once.
    pub struct EvidenceBundle as "EvidenceBundle", read {
        /// The options of the bundle, and what it used.
        meta "meta": BundleMeta;
        /// The replicates that were started.
        replicates "replicates": Vec<BundleReplicate>;
        /// Statistics of the replicates, computed by code.
        summary "summary": BundleSummary;
    }
}

record! {
    /// The options of a bundle, and what it used.
    pub struct BundleMeta as "BundleMeta", read {
        /// The task of the replicates.
        task "task": Arc<str>;
        /// Maximum number of replicates.
        k "k": usize;
        /// The model that the replicates used, if it is one; else the one of the options.
        model "model": Option<String>;
        /// One for each of the `k` replicates, started or not.
        seeds "seeds": Vec<i64>;
        /// How replicates were made, in turn.
        strategies "strategies?": Option<Vec<Strategy>>;
        /// Address and version of the schema, if one of them was given.
        schema "schema": Option<SchemaName>;
        /// `metadata.source` of every event.
        source "source": Arc<str>;
        /// Mean distance up to which replicates agree.
        epsilon "epsilon": f64;
        /// What replicates must agree on: `settled`, or JSON Pointers of fields.
        must_agree "must_agree": MustAgree;
        /// Whether a member that is `null` counts as absent.
        null_is_missing "null_is_missing": bool;
        /// The stop rule.
        stop "stop": Stop;
        /// Number of replicates to start with.
        parallel "parallel": usize;
        /// Maximum number of replicates running at the same time.
        concurrency "concurrency": usize;
        /// Maximum further attempts after a replicate failed or was invalid.
        retries "retries": u32;
        /// A weight for each of the `k` replicates.
        weights "weights?": Option<Vec<f64>>;
        /// Caps on the output.
        limits "limits?": Option<MetaLimits>;
        /// Limits of one replicate.
        per_replicate_limits "perReplicate?": Option<ReplicateLimits>;
        /// Limits of all replicates together.
        budget "budget?": Option<BundleBudget>;
        /// Prices by model name.
        prices "prices?": Option<Vec<(String, MetaPrices)>>;
        /// JSON Pointers of the members that are shown.
        fields "fields?": Option<Vec<String>>;
        /// How the data of replicates is written.
        encoding "encoding": Encoding;
        /// Why the bundle ended.
        stopped "stopped": BundleStopReason;
        /// Number of replicates that were started.
        started "started": usize;
        /// Milliseconds from the start of the bundle to its end.
        duration_ms "duration_ms": u64;
        /// The tokens of all replicates, all attempts together.
        usage "usage": Tokens;
        /// Micro-dollars, rounded once; `null` without prices, or if one is missing.
        cost "cost": Option<u64>;
        /// How each replicate ended, and what it used.
        per_replicate "per_replicate": Vec<ReplicateMeta>;
    }
}

record! {
    /// Caps on the output, under the names of the bundle's JSON.
    pub struct MetaLimits as "BundleMetaLimits", read {
        /// Maximum entries of `consensus`, and of `distributions`.
        max_fields "max_fields?": Option<usize>;
        /// Maximum entries of `disagreements`.
        max_diffs "max_diffs?": Option<usize>;
        /// Maximum bytes of the JSON.
        max_bytes "max_bytes?": Option<usize>;
    }
}

impl From<BundleLimits> for MetaLimits {
    fn from(limits: BundleLimits) -> Self {
        let BundleLimits { max_fields, max_diffs, max_bytes } = limits;
        Self { max_fields, max_diffs, max_bytes }
    }
}

record! {
    /// Prices in micro-dollars per million tokens, under the names of the bundle's JSON.
    pub struct MetaPrices as "BundleMetaPrices", read {
        /// Price of the prompt.
        input "input": u64;
        /// Price of prompt tokens read from the provider's cache.
        cached_input "cached_input?": Option<u64>;
        /// Price of prompt tokens written to the provider's cache.
        cache_write_input "cache_write_input?": Option<u64>;
        /// Price of the answer.
        output "output": u64;
    }
}

impl From<Prices> for MetaPrices {
    fn from(prices: Prices) -> Self {
        let Prices { input, cached_input, cache_write_input, output } = prices;
        Self { input, cached_input, cache_write_input, output }
    }
}

record! {
    /// Address and version of a schema.
    pub struct SchemaName as "SchemaName", read {
        /// The address.
        uri "uri": Option<String>;
        /// The version.
        version "version": Option<String>;
        /// Whether data was checked by a schema. Nothing is fetched from `uri`.
        checked "checked": bool;
    }
}

record! {
    /// How a replicate ended, and what it used.
    pub struct ReplicateMeta as "ReplicateMeta", read {
        /// `r1`, `r2`, …
        id "id": String;
        /// Its seed.
        seed "seed": i64;
        /// Whether the seed could not be sent, because the wire of its model has no field for it.
        seed_unsent "seed_unsent?": bool;
        /// What was dropped around the JSON of its model's answer.
        repairs "repairs?": Vec<Dropped>;
        /// The label of its strategy.
        strategy "strategy?": Option<String>;
        /// The last attempt, from 1.
        attempt "attempt": u32;
        /// How it ended.
        status "status": ReplicateStatus;
        /// The model that it used; that of its strategy or of the bundle, if it did not report one.
        model "model": Option<String>;
        /// The tokens of all attempts, if they are known.
        usage "usage": Option<Tokens>;
        /// Micro-dollars, if the tokens are known and the model has a price.
        cost "cost": Option<u64>;
        /// Milliseconds of the last attempt.
        duration_ms "duration_ms": u64;
    }
}

names! {
    /// How the data of replicates is written.
    pub enum Encoding as "BundleEncoding", "full or delta" {
        /// Each in full.
        Full "full",
        /// As differences from the one marked `base`, where that is shorter.
        Delta "delta",
    }
}

names! {
    /// Why a bundle ended.
    pub enum BundleStopReason as "BundleStopReason", "early, full, budget or cancelled", non_exhaustive {
        /// The stop rule held.
        Early "early",
        /// All replicates have run.
        Full "full",
        /// A limit of all replicates together was reached.
        Budget "budget",
        /// The host cancelled the bundle.
        Cancelled "cancelled",
    }
}

names! {
    /// How a replicate ended. Only `valid` ones count in statistics.
    pub enum ReplicateStatus as "ReplicateStatus",
        "valid, invalid, error, timeout, token_limit or cancelled", non_exhaustive
    {
        /// With data that has no errors.
        Valid "valid",
        /// With data that is not I-JSON, or that the host's validator refused.
        Invalid "invalid",
        /// Without data.
        Error "error",
        /// It exceeded its time limit.
        Timeout "timeout",
        /// It exceeded its token limit.
        TokenLimit "token_limit",
        /// It was cancelled when the bundle ended.
        Cancelled "cancelled",
    }
}

record! {
    /// Whether a replicate is valid, and its errors.
    pub struct ReplicateQuality as "ReplicateQuality", read {
        /// Whether it counts in statistics.
        valid "valid": bool;
        /// At most 20 errors of at most 1000 characters. With `fields`, of an error at another member
        /// and of a failure only the code is shown.
        errors "errors": Vec<String>;
    }
}

record! {
    /// One replicate of a bundle. In a compact bundle, `delta` is a patch (RFC 6902) to the one
    /// marked `base`.
    pub struct BundleReplicate as "BundleReplicate", read {
        /// `r1`, `r2`, …
        id "id": String;
        /// Its seed.
        seed "seed": i64;
        /// The label of its strategy.
        strategy "strategy?": Option<String>;
        /// Whether it is valid, and its errors.
        quality "quality": ReplicateQuality;
        /// Whether the deltas of the other replicates start from its data.
        base "base?": bool;
        /// Its data.
        data "data?": Option<Json<'static>>;
        /// The differences from the data of the one marked `base`, if they are shorter than the data.
        delta "delta?": Option<Vec<PatchOperation>>;
        /// Whether the data was left out because of `maxBytes`.
        omitted "omitted?": bool;
    }
}

record! {
    /// An operation of a patch (RFC 6902).
    pub struct PatchOperation as "PatchOperation", read {
        /// What is done.
        op "op": PatchKind;
        /// JSON Pointer to the place.
        path "path": String;
        /// The new value.
        value "value?": Option<Json<'static>>;
    }
}

names! {
    /// What an operation of a patch does.
    pub enum PatchKind as "PatchKind", "add, remove or replace" {
        /// Adds a value.
        Add "add",
        /// Removes a value.
        Remove "remove",
        /// Replaces a value.
        Replace "replace",
    }
}
