//! The statistics of a bundle.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Definition, Describe, Item, Read, Shape, Write, names, record};
use crate::stats::Level;

record! {
    /// Statistics of replicates, computed by code.
    pub struct BundleSummary as "BundleSummary", read {
        /// By field: the value that more than half of the valid replicates (at least two) share, or
        /// the number in the middle of numbers that are near to each other. Always a value that a
        /// replicate gave.
        consensus "consensus": BTreeMap<String, Json<'static>>;
        /// By field: the basis of the consensus.
        support "support": BTreeMap<String, Support>;
        /// Fields on which replicates differ, worst first.
        disagreements "disagreements": Vec<Disagreement>;
        /// By field: statistics of numbers, or counted values.
        distributions "distributions": BTreeMap<String, Distribution>;
        /// K × K; `null` in every cell of an invalid replicate.
        pairwise_distance "pairwise_distance": Vec<Vec<Option<f64>>>;
        /// 1 − mean distance of the valid pairs; `null` with fewer than two valid replicates. It
        /// measures agreement, not the probability that the replicates are right.
        confidence "confidence": Option<f64>;
        /// Why there is no confidence.
        confidence_reason "confidence_reason?": Option<ConfidenceReason>;
        /// With `weights`: the confidence, each pair weighted by the product of its replicates'
        /// weights; `null` where it is undefined.
        confidence_weighted "confidence_weighted?": Option<Option<f64>>;
        /// Number of valid replicates.
        valid_count "valid_count": usize;
        /// The invalid replicates.
        invalid "invalid": Vec<InvalidReplicate>;
        /// Whether the stop rule holds: mean distance within `epsilon`, and `mustAgree`.
        early_stop "early_stop": bool;
        /// Fields whose lists were too long for their kind and were compared as multisets.
        approximated "approximated?": Vec<String>;
        /// Agreement over the items of keyed arrays.
        agreement "agreement?": Vec<ItemAgreement>;
        /// Whether anything was left out.
        truncated "truncated": bool;
        /// If `truncated`: how much of each is shown.
        counts "counts?": Option<BundleCounts>;
    }
}

names! {
    /// Why there is no confidence.
    pub enum ConfidenceReason as "ConfidenceReason", "no_valid_replicate or one_valid_replicate" {
        /// No replicate is valid.
        NoValidReplicate "no_valid_replicate",
        /// Only one replicate is valid.
        OneValidReplicate "one_valid_replicate",
    }
}

record! {
    /// The basis of a consensus.
    pub struct Support as "ConsensusSupport", read {
        /// Number of replicates that support it.
        count "count": usize;
        /// Number of valid replicates.
        of "of": usize;
        /// How it was found.
        method "method": SupportMethod;
    }
}

names! {
    /// How a consensus was found.
    pub enum SupportMethod as "SupportMethod", "majority or median" {
        /// More than half of the valid replicates (at least two) share the value.
        Majority "majority",
        /// Numbers within 5% of each other, or within `x-tolerance`, without a majority: the one in the
        /// middle, of an even count the lower one of the two.
        Median "median",
    }
}

record! {
    /// A field on which replicates differ.
    pub struct Disagreement as "Disagreement", read {
        /// JSON Pointer.
        field "field": String;
        /// The product of `x-weight` along the path.
        weight "weight": f64;
        /// Over the pairs of valid replicates; a value missing on one side counts 1.
        mean_distance "mean_distance": f64;
        /// The largest distance of these pairs.
        max_distance "max_distance": f64;
        /// `order`: the lists differ in their order only. Such entries stand behind all others, with
        /// distance 0.
        kind "kind?": Option<DisagreementKind>;
        /// The values, those of most replicates first.
        values "values": Vec<DisagreeingValue>;
        /// Of lists that differ: the members that more than half of the valid replicates (at least two)
        /// have.
        common "common?": Vec<Json<'static>>;
    }
}

names! {
    /// What kind of disagreement it is.
    pub enum DisagreementKind as "DisagreementKind", "order" {
        /// Lists differ in their order only.
        Order "order",
    }
}

record! {
    /// One value of a disagreement, and the replicates that have it, by index from 0 and by id.
    pub struct DisagreeingValue as "DisagreeingValue", read {
        /// The value; `null` if `missing`.
        value "value": Json<'static>;
        /// The replicates.
        replicates "replicates": Vec<usize>;
        /// Their ids.
        replicate_ids "replicateIds": Vec<String>;
        /// Whether the replicates have no value there.
        missing "missing?": bool;
        /// Whether the replicates are invalid: shown, but not counted in any number.
        invalid "invalid?": bool;
    }
}

/// Numbers, or counted values, of a field.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Of numbers.
    Numbers(NumberDistribution),
    /// Of other values.
    Values(ValueDistribution),
}

record! {
    /// Statistics of the numbers of a field.
    pub struct NumberDistribution as "NumberDistribution", read {
        /// How many numbers there are.
        n "n": usize;
        /// Their mean.
        mean "mean": f64;
        /// Sample standard deviation (n − 1); `null` for one number.
        stdev "stdev": Option<f64>;
        /// The minimum.
        min "min": f64;
        /// The maximum.
        max "max": f64;
        /// The middle number, or the mean of the middle two.
        median "median": f64;
    }
}

record! {
    /// The counted values of a field.
    pub struct ValueDistribution as "ValueDistribution", read {
        /// Number of replicates that have a value.
        n "n": usize;
        /// Number of valid replicates without one.
        missing "missing": usize;
        /// Each value with its count, the most frequent first.
        counts "counts": Vec<ValueCount>;
    }
}

record! {
    /// A value and how often it occurs.
    pub struct ValueCount as "ValueCount", read {
        /// The value.
        value "value": Json<'static>;
        /// How often it occurs.
        count "count": usize;
    }
}

impl Write for Distribution {
    fn write(&self) -> Json<'static> {
        match self {
            Self::Numbers(numbers) => numbers.write(),
            Self::Values(values) => values.write(),
        }
    }
}

impl Read for Distribution {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        if json.get("counts").is_some() {
            let mut values = ValueDistribution::item();
            values.read(json, at)?;
            *self = Self::Values(values);
        } else {
            let mut numbers = NumberDistribution::item();
            numbers.read(json, at)?;
            *self = Self::Numbers(numbers);
        }
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "an object"
    }
}

impl Item for Distribution {
    fn item() -> Self {
        Self::Values(ValueDistribution::item())
    }
}

impl Describe for Distribution {
    fn shape() -> Shape {
        Shape::Named(|| {
            let docs = &[" Numbers, or counted values, of a field."];
            let shapes = [NumberDistribution::shape(), ValueDistribution::shape()];
            Definition::either("Distribution", docs, shapes)
        })
    }
}

record! {
    /// An invalid replicate.
    pub struct InvalidReplicate as "InvalidReplicate", read {
        /// Its index, from 0.
        replicate "replicate": usize;
        /// Its errors.
        errors "errors": Vec<String>;
    }
}

record! {
    /// Agreement over the items of a keyed array, for a member with an enum.
    pub struct ItemAgreement as "ItemAgreement", read {
        /// The array.
        field "field": String;
        /// The member of its items.
        member "member": String;
        /// Whether the values of the enum have an order.
        level "level": Level;
        /// Number of items that were compared.
        units "units": usize;
        /// Krippendorff's α.
        alpha "alpha": Option<f64>;
        /// Fleiss' κ.
        fleiss_kappa "fleiss_kappa": Option<f64>;
        /// Gwet's AC1.
        gwet_ac1 "gwet_ac1": Option<f64>;
    }
}

record! {
    /// How much of each list is shown.
    pub struct BundleCounts as "BundleCounts", read {
        /// Replicates with data that is shown, in full or as a delta, of those that have any.
        replicates "replicates": Shown;
        /// Distributions.
        distributions "distributions": Shown;
        /// Disagreements.
        disagreements "disagreements": Shown;
        /// Entries of the consensus.
        consensus "consensus": Shown;
        /// Strings of more than 256 characters that are whole, of those in the parts that the caps on
        /// entries and bytes would otherwise show.
        long_strings "long_strings": Shown;
        /// Number of fields that are in none of the lists, because there are too many.
        fields_beyond_limit "fields_beyond_limit": usize;
    }
}

record! {
    /// How much of a list is shown.
    pub struct Shown as "ShownOfTotal", read {
        /// Number of entries that are shown.
        shown "shown": usize;
        /// Number of all entries.
        total "total": usize;
    }
}
