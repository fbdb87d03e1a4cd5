//! How the machine emits events, and the metadata of its result.

use super::events::{BundleEvent, Event};
use super::machine::Bundle;
use super::options::Strategy;
use super::protocol::Effect;
use super::results::{
    BundleMeta, BundleStopReason, Encoding, MetaLimits, MetaPrices, ReplicateMeta, ReplicateStatus,
    SchemaName,
};
use super::usage::{Prices, cost, micro_dollars};
use crate::json::write_string;

impl Bundle {
    pub(super) fn emit(&mut self, kind: BundleEvent) {
        self.seq += 1;
        let task = self.options.task.clone();
        let source = self.options.source.clone().unwrap_or_else(|| task.clone());
        self.effects.push_back(Effect::Emit(Event::new(self.seq, task, source, kind)));
    }

    /// The first members of a replicate's object in the bundle.
    pub(super) fn head(&self, at: usize) -> String {
        let mut head = format!("\"id\":\"{}\",\"seed\":{},", id(at), self.seed(at));
        if let Some(strategy) = self.strategy(at) {
            head.push_str("\"strategy\":");
            write_string(&strategy.label, &mut head);
            head.push(',');
        }
        head
    }

    /// The strategy of a replicate: they take turns.
    pub(super) fn strategy(&self, at: usize) -> Option<&Strategy> {
        let all = self.options.strategies.as_deref().unwrap_or_default();
        all.get(at.checked_rem(all.len())?)
    }

    /// The model of a replicate, as far as it is known.
    fn model_of(&self, at: usize) -> Option<&String> {
        let own = self.replicates.get(at).and_then(|one| one.model.as_ref());
        let strategy = || self.strategy(at).and_then(|strategy| strategy.model.as_ref());
        own.or_else(strategy).or(self.options.model.as_ref())
    }

    /// The model of all replicates, if it is one; else that of the options.
    fn model(&self) -> Option<String> {
        let mut models = (0..self.replicates.len()).map(|at| self.model_of(at));
        let first = models.next().flatten();
        let first = first.filter(|_| models.all(|other| other == first));
        first.or(self.options.model.as_ref()).cloned()
    }

    /// The price of a replicate's tokens.
    pub(super) fn price(&self, at: usize) -> Option<Prices> {
        let prices = self.prices();
        let of = |name: &str| prices.iter().find(|(one, _)| one == name).map(|(_, price)| *price);
        let named = |strategy: &Strategy| strategy.model.is_some();
        let several = self.options.strategies.iter().flatten().any(named);
        // The host may know the model by another name than the one that is sent.
        let alias = self.options.model.as_ref().filter(|_| !several);
        let by_name = |name: Option<&String>| name.and_then(|name| of(name));
        by_name(self.model_of(at)).or_else(|| by_name(alias)).or_else(|| of("*"))
    }

    pub(super) fn seed(&self, at: usize) -> i64 {
        self.options.seeds.get(at).copied().unwrap_or(0)
    }

    pub(super) fn meta(&self, stopped: BundleStopReason, cost: Option<u64>) -> BundleMeta {
        let options = self.options.clone();
        let started = self.started.unwrap_or(self.now);
        let schema = (options.schema_uri.is_some() || options.schema_version.is_some()).then_some(
            SchemaName {
                uri: options.schema_uri,
                version: options.schema_version,
                checked: options.checked,
            },
        );
        BundleMeta {
            k: options.k,
            model: self.model(),
            seeds: options.seeds,
            strategies: options.strategies,
            schema,
            source: options.source.unwrap_or_else(|| options.task.clone()),
            task: options.task,
            epsilon: options.epsilon,
            must_agree: options.must_agree,
            null_is_missing: options.null_is_missing,
            stop: options.stop,
            parallel: options.parallel.unwrap_or(options.k),
            concurrency: options.concurrency,
            retries: options.retries,
            weights: options.weights,
            limits: options.limits.map(MetaLimits::from),
            per_replicate_limits: options.per_replicate,
            budget: options.budget,
            prices: options.prices.map(named),
            fields: options.fields,
            encoding: if options.compact { Encoding::Delta } else { Encoding::Full },
            stopped,
            started: self.replicates.len(),
            duration_ms: self.now.saturating_sub(started),
            usage: self.tokens(),
            cost,
            per_replicate: (0..self.replicates.len()).filter_map(|at| self.meta_of(at)).collect(),
        }
    }

    fn meta_of(&self, at: usize) -> Option<ReplicateMeta> {
        let one = self.replicates.get(at)?;
        let (status, end) = one.end.unwrap_or((ReplicateStatus::Cancelled, self.now));
        let price = self.price(at).filter(|_| one.tokens.is_some());
        Some(ReplicateMeta {
            id: id(at),
            seed: self.seed(at),
            seed_unsent: one.seed_unsent,
            repairs: one.repairs.clone(),
            strategy: self.strategy(at).map(|strategy| strategy.label.clone()),
            attempt: one.attempt,
            status,
            model: self.model_of(at).cloned(),
            usage: one.tokens.map(|_| one.all_tokens()),
            cost: price.map(|price| micro_dollars(cost(price, one.all_tokens()))),
            duration_ms: end.saturating_sub(one.since),
        })
    }
}

/// Prices by model name, as the bundle's JSON has them.
fn named(prices: Vec<(String, Prices)>) -> Vec<(String, MetaPrices)> {
    prices.into_iter().map(|(model, prices)| (model, prices.into())).collect()
}

pub(super) fn id(replicate: usize) -> String {
    format!("r{}", replicate + 1)
}

#[expect(clippy::cast_precision_loss, reason = "durations fit")]
pub(super) fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

/// Maximum characters of the reason of a cancelled bundle.
///
/// Limit | the reason for which a bundle was cancelled | characters | cut
const REASON_CHARS: usize = 1000;

pub(super) fn clip(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(REASON_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}
