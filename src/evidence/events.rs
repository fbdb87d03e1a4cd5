//! The events of a bundle.

use std::sync::Arc;

use super::protocol::CancelReason;
use super::rendered::Rendered;
use super::results::{BundleSummary, EvidenceBundle, ReplicateQuality, ReplicateStatus};
use super::usage::Tokens;
use crate::json::table::{Append, Member, Write, cases, names, record};
use crate::json::{Json, members};

/// An event of a bundle.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// What every event has.
    pub envelope: Envelope,
    /// What happened.
    pub kind: BundleEvent,
}

record! {
    /// What every event of a bundle has.
    pub struct Envelope as "BundleEnvelope" {
        /// The number of the event: 1, 2, …
        seq "seq": u64;
        /// The task of the replicates.
        task "task": Arc<str>;
        /// Where the event comes from.
        metadata "metadata": BundleSource;
    }
}

record! {
    /// Where an event comes from.
    pub struct BundleSource as "BundleSource" {
        /// The tool's name, or the task.
        source "source": Arc<str>;
    }
}

impl Event {
    pub(super) fn new(seq: u64, task: Arc<str>, source: Arc<str>, kind: BundleEvent) -> Self {
        let metadata = BundleSource { source };
        Self { envelope: Envelope { seq, task, metadata }, kind }
    }

    /// Appends the JSON text: `{ "type", "seq", "task", "metadata", … }`.
    pub fn write(&self, out: &mut String) {
        out.push_str(&format!("{{\"type\":\"{}\"", self.kind.name()));
        for (name, value) in self.envelope() {
            out.push_str(&format!(",\"{name}\":"));
            value.write(out);
        }
        self.kind.append(out);
        out.push('}');
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Returns the JSON form.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let mut members = members! { "type": Json::from(self.kind.name()) };
        members.extend(self.envelope());
        members.extend(self.kind.members());
        Json::Object(members)
    }

    fn envelope(&self) -> Vec<Member> {
        match self.envelope.write() {
            Json::Object(members) => members,
            _ => Vec::new(),
        }
    }
}

impl Append for Event {
    fn append(&self, out: &mut String) {
        self.write(out);
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Event {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

cases! {
    /// What happened in a bundle. The last event is always `bundle_ready`.
    pub enum BundleEvent as "BundleEvent" {
        /// An attempt at a replicate has started.
        ReplicateStarted "replicate_started" {
            /// `r1`, `r2`, …
            id "id": String,
            /// Its seed.
            seed "seed": i64,
            /// The attempt, from 1.
            attempt "attempt": u32,
            /// The label of its strategy.
            strategy "strategy?": Option<String>,
        }
        /// A replicate has ended.
        ReplicateDone "replicate_done" {
            /// `r1`, `r2`, …
            id "id": String,
            /// Its seed.
            seed "seed": i64,
            /// How it ended.
            status "status": ReplicateStatus,
            /// Whether it is valid, and its errors.
            quality "quality": ReplicateQuality,
            /// The tokens of all attempts, if they are known.
            usage "usage": Option<Tokens>,
            /// Milliseconds of the last attempt.
            duration_ms "duration_ms": u64,
            /// The data that `fields` shows.
            data "data?": Option<Json<'static>>,
        }
        /// The statistics so far, after each replicate from the second valid one on.
        PartialSummary "partial_summary" {
            /// As that of the bundle.
            summary "summary": Rendered<BundleSummary>,
        }
        /// A replicate is invalid, or its attempt is repeated.
        ReplicateWarning "warning" {
            /// `r1`, `r2`, …
            id "id": String,
            /// Its seed.
            seed "seed": i64,
            /// What happened.
            code "code": ReplicateWarning,
            /// The errors of the attempt.
            errors "errors": Vec<String>,
        }
        /// Something about the whole bundle.
        BundleWarning "warning" {
            /// What happened.
            code "code": BundleWarning,
        }
        /// A replicate was cancelled, because the bundle has ended.
        ReplicateCancelled "cancelled" {
            /// `r1`, `r2`, …
            id "id": String,
            /// Its seed.
            seed "seed": i64,
            /// `replicate`.
            scope "scope": ReplicateScope,
            /// Why the bundle has ended.
            reason "reason": CancelReason,
        }
        /// The host cancelled the bundle.
        BundleCancelled "cancelled" {
            /// `bundle`.
            scope "scope": BundleScope,
            /// The host's reason, at most 1000 characters.
            reason "reason": String,
        }
        /// A replicate exceeded its time limit.
        ReplicateTimeout "timeout" {
            /// `r1`, `r2`, …
            id "id": String,
            /// Its seed.
            seed "seed": i64,
            /// `replicate`.
            scope "scope": ReplicateScope,
            /// The limit.
            seconds "seconds": f64,
        }
        /// The bundle exceeded its time limit.
        BundleTimeout "timeout" {
            /// `bundle`.
            scope "scope": BundleScope,
            /// The limit.
            seconds "seconds": f64,
        }
        /// The bundle has ended.
        BundleReady "bundle_ready" {
            /// All of the evidence.
            bundle "bundle": Rendered<EvidenceBundle>,
        }
    }
}

names! {
    /// A warning about a replicate.
    pub enum ReplicateWarning as "ReplicateWarning",
        "replicate_invalid or replicate_retried", non_exhaustive
    {
        /// It has no valid data.
        Invalid "replicate_invalid",
        /// Its attempt failed or was invalid, and another one starts.
        Retried "replicate_retried",
    }
}

names! {
    /// A warning about a bundle.
    pub enum BundleWarning as "BundleWarning",
        "truncated, model_without_price, schema_not_loaded or no_valid_replicate", non_exhaustive
    {
        /// Something was left out because of the caps.
        Truncated "truncated",
        /// A model that used tokens has no price, so the bundle has no cost.
        ModelWithoutPrice "model_without_price",
        /// `schemaUri` was given, nothing is fetched from it, and data is not checked.
        SchemaNotLoaded "schema_not_loaded",
        /// No replicate is valid.
        NoValidReplicate "no_valid_replicate",
    }
}

names! {
    /// The scope of an event about one replicate.
    pub enum ReplicateScope as "ReplicateScope", "replicate" {
        /// One replicate.
        Replicate "replicate",
    }
}

names! {
    /// The scope of an event about the whole bundle.
    pub enum BundleScope as "BundleScope", "bundle" {
        /// All replicates.
        Bundle "bundle",
    }
}
