//! Statistics of replicates, as values of the host's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Statistics of replicates, computed by code. Fields are JSON Pointers; replicates are named by
/// their place, from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundleSummary {
    /// By field: the value that more than half of the valid replicates (at least two) share.
    pub consensus: BTreeMap<String, Value>,
    /// By field: what a consensus rests on.
    pub support: BTreeMap<String, Support>,
    /// Fields on which replicates differ, worst first.
    pub disagreements: Vec<Disagreement>,
    /// By field: numbers, or counted values.
    pub distributions: BTreeMap<String, Distribution>,
    /// K × K; `None` in every cell of an invalid replicate.
    pub pairwise_distance: Vec<Vec<Option<f64>>>,
    /// 1 − mean distance of the valid pairs; `None` with fewer than two. How much the replicates
    /// agree, which is not the probability that they are right.
    pub confidence: Option<f64>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_reason: Option<ConfidenceReason>,
    /// `None` without weights, and where those of the valid replicates define none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_weighted: Option<f64>,
    /// Replicates that count.
    pub valid_count: u32,
    /// Replicates that do not.
    pub invalid: Vec<InvalidReplicate>,
    /// Whether the stop rule holds: mean distance within `epsilon`, and `must_agree`.
    pub early_stop: bool,
    /// Fields with lists too long for their kind, compared as multisets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approximated: Vec<String>,
    /// Agreement over the items of keyed arrays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreement: Vec<ItemAgreement>,
    /// Whether anything was left out.
    pub truncated: bool,
    /// Where truncated: how much of each is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<BundleCounts>,
}

/// Why there is no confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfidenceReason {
    /// None counts.
    NoValidReplicate,
    /// One agrees with nobody.
    OneValidReplicate,
}

/// What a consensus rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// Replicates behind it.
    pub count: u32,
    /// Valid replicates.
    pub of: u32,
    /// How it was found.
    pub method: SupportMethod,
}

/// How a consensus was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupportMethod {
    /// More than half say so.
    Majority,
    /// Numbers within 5% of each other, without a majority.
    Median,
}

/// A field on which replicates differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disagreement {
    /// Where.
    pub field: String,
    /// The product of `x-weight` along the path.
    pub weight: f64,
    /// Over the pairs of valid replicates; missing on one side counts 1.
    pub mean_distance: f64,
    /// Of those pairs, the widest.
    pub max_distance: f64,
    /// What was said.
    pub values: Vec<DisagreeingValue>,
}

/// One value of a disagreement, and the replicates that gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DisagreeingValue {
    /// `null` where `missing`.
    pub value: Value,
    /// By place.
    pub replicates: Vec<u32>,
    /// They have no such member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Of invalid replicates: shown, but in no number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub invalid: bool,
}

/// Numbers, or counted values, of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Distribution {
    /// Of numbers.
    Numbers {
        /// How many.
        n: u32,
        /// Their mean.
        mean: f64,
        /// Sample standard deviation (n − 1); `None` for one number.
        stdev: Option<f64>,
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
        /// The middle one, or the mean of the two in the middle.
        median: f64,
    },
    /// Of anything else.
    Values {
        /// How many there are.
        n: u32,
        /// How many replicates have none.
        missing: u32,
        /// Each with how often it was said.
        counts: Vec<ValueCount>,
    },
}

/// How often a value was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueCount {
    /// The value.
    pub value: Value,
    /// How often.
    pub count: u32,
}

/// An invalid replicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidReplicate {
    /// Its place.
    pub replicate: u32,
    /// What speaks against it.
    pub errors: Vec<String>,
}

/// Agreement over the items of a keyed array, for a member with an enum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemAgreement {
    /// The array.
    pub field: String,
    /// The member of its items.
    pub member: String,
    /// `nominal` or `ordinal`.
    pub level: String,
    /// Items that were compared.
    pub units: u32,
    /// Krippendorff's α.
    pub alpha: Option<f64>,
    /// Fleiss' κ.
    pub fleiss_kappa: Option<f64>,
    /// Gwet's AC1.
    pub gwet_ac1: Option<f64>,
}

/// How much of each list is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleCounts {
    /// Data of replicates.
    pub replicates: Shown,
    /// Distributions.
    pub distributions: Shown,
    /// Disagreements.
    pub disagreements: Shown,
    /// Entries of the consensus.
    pub consensus: Shown,
    /// Strings that are whole.
    pub long_strings: Shown,
    /// Fields in none of the lists.
    pub fields_beyond_limit: u64,
}

/// How much of a list is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Entries here.
    pub shown: u64,
    /// Entries in all.
    pub total: u64,
}
