//! The options of a bundle, and of a summary without one.

use std::sync::Arc;

pub use super::must_agree::MustAgree;
use super::summary::is_pointer;
use super::usage::Prices;
use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, names, options, read};
use crate::limits;
use crate::order::sort_by;
use crate::stats::compared;

names! {
    /// When a bundle has enough replicates.
    pub enum Stop as "BundleStop", "agreement, majority_lock or never", non_exhaustive {
        /// When they agree: their mean distance is within `epsilon`, and they agree on what `mustAgree`
        /// says.
        Agreement "agreement",
        /// When further replicates can no longer change the leading answer at any field of
        /// `mustAgree`, or at any field if it names none.
        MajorityLock "majority_lock",
        /// When all replicates have run.
        Never "never",
    }
}

options! {
    /// Caps on the output. They never change a number.
    pub struct BundleLimits as "BundleLimits" {
        /// Maximum entries of `consensus`, and of `distributions`.
        max_fields "maxFields?": Option<usize>, whole 0..=u32::MAX as u64;
        /// Maximum entries of `disagreements`.
        max_diffs "maxDiffs?": Option<usize>, whole 0..=u32::MAX as u64;
        /// Maximum bytes of the JSON. Metadata, matrix, confidence and counts are never cut, so the
        /// text exceeds a very small cap.
        max_bytes "maxBytes?": Option<usize>, whole 0..=u32::MAX as u64;
    }
}

options! {
    /// Limits of one replicate.
    pub struct ReplicateLimits as "ReplicateLimits" {
        /// Maximum tokens, all attempts together.
        tokens "tokens?": Option<u64>, whole 1..=u64::MAX => COUNT;
        /// Maximum seconds of one attempt, above 0.
        seconds "seconds?": Option<f64> => SECONDS;
    }
}

options! {
    /// Limits of all replicates together.
    pub struct BundleBudget as "BundleBudget" {
        /// Maximum tokens.
        tokens "tokens?": Option<u64>, whole 1..=u64::MAX => COUNT;
        /// Maximum seconds of the bundle, above 0.
        seconds "seconds?": Option<f64> => SECONDS;
        /// Maximum micro-dollars; requires `prices`.
        cost "cost?": Option<u64>, whole 1..=u64::MAX => COUNT;
    }
}

options! {
    /// A way to make replicates, by name.
    pub struct Strategy as "BundleStrategy" {
        /// Its name; not empty.
        label "label": String | required => NAME;
        /// The prompt of its replicates, for `replicateByModel`; or whatever the host's `replicate`
        /// makes of it.
        prompt "prompt?": Option<String>;
        /// The model of its replicates.
        model "model?": Option<String>;
    }
}

/// Declares options with the rows of every summary behind their own ones.
macro_rules! summarized {
    ($(#[$($doc:tt)*])* pub struct $name:ident as $ts:literal { $($rows:tt)* }) => {
        compared! {
            $(#[$($doc)*])*
            pub struct $name as $ts {
                $($rows)*
                /// Mean distance up to which replicates agree, 0 to 1.
                epsilon "epsilon": f64 = 0.2, real 0.0..=1.0;
                /// What replicates must agree on, beside `epsilon`. `settled`: every field that has a
                /// weight and is no prose (texts of more than twelve words) has a consensus. Or JSON
                /// Pointers of fields whose values must be equal (of one class); an empty list asks
                /// for `epsilon` alone.
                must_agree "mustAgree": MustAgree = MustAgree::Settled;
                /// A weight for each replicate, at least 0; adds `confidence_weighted` to the
                /// summary.
                weights "weights?": Option<Vec<f64>>, real 0.0..=f64::MAX => "numbers from 0 on";
                /// Caps on the output. Default: none.
                limits "limits?": Option<BundleLimits>;
                /// JSON Pointers of the members to show, with everything below them; computations
                /// use all members. Default: everything.
                fields "fields?": Option<Vec<String>> => POINTERS;
                /// Whether replicates are written as differences from the one that is nearest to all
                /// others, and numbers with six decimals.
                compact "compact": bool = false;
            }
        }
    };
}

summarized! {
    /// The options of a summary without a bundle.
    pub struct SummaryOptions as "CoreSummaryOptions" {}
}

summarized! {
    /// The options of a bundle.
    pub struct BundleOptions as "CoreBundleOptions" {
        /// The task of the replicates; not empty.
        task "task": Arc<str> | required => NAME;
        /// Maximum number of replicates.
        k "k": usize = 3, whole 1..=limits::REPLICATES as u64;
        /// When there are enough replicates.
        stop "stop": Stop = Stop::Agreement;
        /// One seed for each replicate, all different; missing seeds count up from the largest.
        seeds "seeds": Vec<i64> = vec![11, 23, 47] => SEEDS;
        /// Ways to make replicates: the first one's, the second one's, and so on, then again from the
        /// first. Their labels are all different. Default: replicates differ by seed only.
        strategies "strategies?": Option<Vec<Strategy>>;
        /// Number of replicates to start with. Default: 2, or all if `stop` is `never`.
        parallel "parallel?": Option<usize>, whole 1..=limits::REPLICATES as u64;
        /// Maximum number of replicates running at the same time. The default is the number of
        /// connections that edge runtimes allow.
        concurrency "concurrency": usize = 6, whole 1..=limits::REPLICATES as u64;
        /// Maximum further attempts after a replicate failed or was invalid.
        retries "retries": u32 = 0, whole 0..=10;
        /// The address of the schema, for `meta`. Nothing is fetched from it: if data is not checked
        /// because `schema` is missing, the first event is a `warning` that says so.
        schema_uri "schemaUri?": Option<String>;
        /// The version of the schema, for `meta`.
        schema_version "schemaVersion?": Option<String>;
        /// Limits of one replicate. Default: none.
        per_replicate "perReplicate?": Option<ReplicateLimits>;
        /// Limits of all replicates together. Default: none.
        budget "budget?": Option<BundleBudget>;
        /// Prices by model name; `*` applies to every other model.
        prices "prices?": Option<Vec<(String, Prices)>> =>
            "{ [model]: { input, cachedInput?, cacheWriteInput?, output } } in micro-dollars for a million tokens";
        /// The model of replicates that do not report one, as `provider:model@version`, for `meta`
        /// and prices. Its price also applies to reported models that have none, unless a strategy
        /// names another model.
        model "model?": Option<String>;
        /// `metadata.source` of every event: the tool's name. Default: the task.
        source "source?": Option<Arc<str>>;
        /// Whether the host checks the data of replicates by a schema.
        checked "checked": bool = false;
    }
}

const NAME: &str = "a string that is not empty";
const STRATEGIES: &str = "labels that are not empty, all different";
const COUNT: &str = "a whole number above 0";
const SECONDS: &str = "seconds above 0";
const SEEDS: &str = "whole numbers, all different";
const POINTERS: &str = "JSON Pointers, such as \"/label\"";

macro_rules! defaults {
    ($($name:ident),*) => {$(
        impl Default for $name {
            fn default() -> Self {
                Self::blank()
            }
        }
    )*};
}

impl Strategy {
    /// Returns a strategy with a label.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self::blank().label(label.into())
    }
}

defaults!(BundleLimits, ReplicateLimits, BundleBudget, SummaryOptions);

impl SummaryOptions {
    /// Reads the options from JSON; members that are missing or null have their default.
    ///
    /// # Errors
    /// `options.invalid` with the path of the option.
    pub fn from_json(json: Json<'static>) -> Result<Self, Error> {
        let mut options = Self::blank();
        read(&mut options, json, &At::ROOT)?;
        Ok(options)
    }

    /// Holds options that were made without the reader to their ranges.
    pub(super) fn resolved(mut self) -> Result<Self, Error> {
        finite("epsilon", self.epsilon)?;
        let schema = self.schema.take();
        Ok(Self { schema, ..Self::from_json(self.to_json())? })
    }

    /// Checks what the types alone do not say.
    pub(super) fn check(&self) -> Result<(), Error> {
        let fields = self.fields.as_deref().unwrap_or_default();
        for (name, pointers, expected) in [
            ("mustAgree", self.must_agree.fields(), MustAgree::EXPECTED),
            ("fields", fields, POINTERS),
        ] {
            if !pointers.iter().all(|one| is_pointer(one)) {
                return Err(Error::option(name, expected));
            }
        }
        Ok(())
    }
}

impl BundleOptions {
    /// Returns the defaults for a task.
    #[must_use]
    pub fn new(task: impl Into<Arc<str>>) -> Self {
        Self::blank().task(task.into())
    }

    /// Reads the options from JSON text; members that are missing or null have their default.
    ///
    /// # Errors
    /// `json.*` if the text is not JSON; `options.invalid` with the path of an option that is
    /// missing, unknown, of the wrong type or out of range.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        Self::from_json(Json::parse_host(text, limits::BUNDLE_BYTES)?.into_owned())
    }

    /// As [`BundleOptions::parse`], for JSON that is already parsed.
    ///
    /// # Errors
    /// Those of [`BundleOptions::parse`], except `json.*`.
    pub fn from_json(json: Json<'static>) -> Result<Self, Error> {
        let mut options = Self::blank();
        read(&mut options, json, &At::ROOT)?;
        Ok(options)
    }

    /// Holds options that were made without the reader to their ranges, checks what one option alone
    /// does not show, and fills in what depends on other options.
    pub(super) fn resolved(mut self) -> Result<Self, Error> {
        let (per, budget) = (self.per_replicate.as_ref(), self.budget.as_ref());
        for (name, seconds) in [
            ("perReplicate.seconds", per.and_then(|limits| limits.seconds)),
            ("budget.seconds", budget.and_then(|budget| budget.seconds)),
        ] {
            if seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds < 1e9)) {
                return Err(Error::option(name, SECONDS));
            }
        }
        finite("epsilon", self.epsilon)?;
        let schema = self.schema.take();
        self = Self { schema, ..Self::from_json(self.to_json())? };
        if self.task.is_empty() {
            return Err(Error::option("task", NAME));
        }
        let useless = |all: &[f64]| all.len() != self.k || all.iter().all(|weight| *weight == 0.0);
        if self.weights.as_deref().is_some_and(useless) {
            let expected = "a weight for each replicate, not all of them 0";
            return Err(Error::option("weights", expected));
        }
        let strategies = self.strategies.as_deref().unwrap_or_default();
        for (at, one) in strategies.iter().enumerate() {
            if one.label.is_empty() || strategies.iter().take(at).any(|two| two.label == one.label)
            {
                return Err(Error::option("strategies", STRATEGIES));
            }
        }
        if weighs_nothing(self.schema.as_ref()) {
            return Err(Error::option("schema", "a field that has a weight"));
        }
        let priced = self.prices.as_ref().is_some_and(|prices| !prices.is_empty());
        if !priced && self.budget.as_ref().is_some_and(|budget| budget.cost.is_some()) {
            return Err(Error::option("budget.cost", "`prices` beside it"));
        }
        self.seeds = seeds(self.seeds, self.k)?;
        let parallel = self.parallel.unwrap_or(if self.stop == Stop::Never { self.k } else { 2 });
        self.parallel = Some(parallel.min(self.k));
        self.source.get_or_insert_with(|| self.task.clone());
        Ok(self)
    }

    /// Takes what summaries need. The schema is moved: it may be long, and `meta` does not repeat it.
    pub(super) fn summary(&mut self) -> SummaryOptions {
        SummaryOptions {
            schema: self.schema.take(),
            null_is_missing: self.null_is_missing,
            epsilon: self.epsilon,
            must_agree: self.must_agree.clone(),
            weights: self.weights.clone(),
            limits: self.limits.clone(),
            fields: self.fields.clone(),
            compact: self.compact,
        }
    }

    pub(super) fn replicate_ms(&self) -> Option<u64> {
        self.per_replicate.as_ref()?.seconds.map(millis)
    }

    pub(super) fn replicate_tokens(&self) -> Option<u64> {
        self.per_replicate.as_ref()?.tokens
    }

    pub(super) fn budget_ms(&self) -> Option<u64> {
        self.budget.as_ref()?.seconds.map(millis)
    }
}

/// Refuses NaN and infinities, which JSON does not have: the reader would take the default instead.
fn finite(option: &str, number: f64) -> Result<(), Error> {
    let wrong = || Error::option(option, "a number from 0 to 1");
    number.is_finite().then_some(()).ok_or_else(wrong)
}

/// Whether the schema, or each of its properties, has weight 0. All values would then agree.
fn weighs_nothing(schema: Option<&Json<'_>>) -> bool {
    let weightless = |property: &Json<'_>| {
        property.get("x-weight").and_then(Json::as_f64) == Some(0.0)
            || property.get("x-compare").and_then(Json::as_str) == Some("ignore")
            || property.get("ignore").and_then(Json::as_bool) == Some(true)
    };
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Json::as_object);
    properties.is_some_and(|all| !all.is_empty() && all.iter().all(|(_, one)| weightless(one)))
        || schema.is_some_and(weightless)
}

/// `k` seeds: those that are given, then numbers that count up from the largest.
fn seeds(mut seeds: Vec<i64>, k: usize) -> Result<Vec<i64>, Error> {
    let wrong = || Error::option("seeds", SEEDS);
    let mut sorted = seeds.clone();
    sort_by(&mut sorted, Ord::cmp);
    if sorted.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        return Err(wrong());
    }
    let mut last = sorted.last().copied().unwrap_or(0);
    while seeds.len() < k {
        last = last.checked_add(1).ok_or_else(wrong)?;
        seeds.push(last);
    }
    seeds.truncate(k);
    Ok(seeds)
}

/// Milliseconds, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0).ceil() as u64
}

#[cfg(test)]
mod tests;
