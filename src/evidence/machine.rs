//! The state machine of a bundle: it starts replicates, applies the stop rule and emits events.

use std::collections::VecDeque;

use super::emit::{clip, id, seconds};
use super::events::{BundleEvent, BundleScope, BundleWarning, ReplicateScope, ReplicateWarning};
use super::options::{BundleOptions, Stop};
use super::protocol::{CancelReason, Effect, Input, Outcome};
use super::replicates::Evidence;
use super::results::{BundleStopReason, ReplicateQuality, ReplicateStatus};
use super::usage::{Prices, Tokens, cost, micro_dollars};
use crate::error::Error;
use crate::json::{Json, number_text};
use crate::limits;
use crate::mcp;
use crate::next::Next;
use crate::reply::Dropped;

/// One bundle. See [the contract](crate#contract-drain-before-you-wait) for how to call it.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// Without the schema, which the evidence has read.
    pub(super) options: BundleOptions,
    pub(super) evidence: Evidence,
    pub(super) replicates: Vec<Replicate>,
    /// Number of replicates to start. Those not yet started wait for a free connection.
    due: usize,
    pub(super) now: u64,
    pub(super) started: Option<u64>,
    over: bool,
    pub(super) seq: u64,
    pub(super) effects: VecDeque<Effect>,
}

#[derive(Debug, Clone)]
pub(super) struct Replicate {
    pub(super) attempt: u32,
    pub(super) since: u64,
    /// Tokens of earlier attempts.
    before: Tokens,
    /// Tokens of the current attempt; `None` until they are reported.
    pub(super) tokens: Option<Tokens>,
    pub(super) model: Option<String>,
    pub(super) seed_unsent: bool,
    pub(super) repairs: Vec<Dropped>,
    /// How it ended, and when.
    pub(super) end: Option<(ReplicateStatus, u64)>,
}

impl Replicate {
    pub(super) fn all_tokens(&self) -> Tokens {
        self.before.plus(self.tokens.unwrap_or_default())
    }
}

/// Maximum errors of one replicate.
///
/// Limit | errors of a replicate | errors | the others are not told
const ERRORS: usize = 20;

impl Bundle {
    /// Makes a bundle.
    ///
    /// # Errors
    /// `options.invalid` with the path of an option that is out of range or does not fit the
    /// others; for schemas, see [`Comparer::new`](crate::stats::Comparer::new).
    pub fn new(options: BundleOptions) -> Result<Self, Error> {
        let mut options = options.resolved()?;
        let mut evidence = Evidence::of(options.summary())?;
        evidence.expect(options.k);
        Ok(Self {
            evidence,
            replicates: Vec::new(),
            due: options.parallel.unwrap_or(options.k),
            now: 0,
            started: None,
            over: false,
            seq: 0,
            effects: VecDeque::new(),
            options,
        })
    }

    /// Handles an input. `now_ms` is the host's monotonic clock, from any origin; a step back is
    /// ignored. Late, repeated and unknown inputs are ignored.
    pub fn handle(&mut self, now_ms: u64, input: Input) {
        self.now = self.now.max(now_ms);
        match input {
            Input::Start if self.started.is_none() && !self.over => {
                self.started = Some(self.now);
                if self.options.schema_uri.is_some() && !self.options.checked {
                    let code = BundleWarning::SchemaNotLoaded;
                    self.emit(BundleEvent::BundleWarning { code });
                }
                self.fill();
            }
            Input::Start | Input::Timer => {}
            Input::Usage { replicate, attempt, tokens } => {
                if let Some(one) = self.running(replicate, attempt) {
                    one.tokens = Some(tokens);
                    self.check_tokens(replicate);
                }
            }
            Input::Settled { replicate, attempt, outcome, tokens, model, seed_unsent, repairs } => {
                if let Some(one) = self.running(replicate, attempt) {
                    one.tokens = tokens.or(one.tokens);
                    one.model = model;
                    one.seed_unsent = seed_unsent;
                    one.repairs = repairs;
                    self.settled(replicate, outcome);
                }
            }
            Input::Cancel { reason } if !self.over => {
                let (scope, reason) = (BundleScope::Bundle, clip(reason));
                self.emit(BundleEvent::BundleCancelled { scope, reason });
                self.finish(BundleStopReason::Cancelled);
            }
            Input::Cancel { .. } => {}
        }
        self.expire();
    }

    /// Returns the next effect. After each input, poll until [`Next::Wait`] and perform the effects
    /// in order. Then wait for the next input, at most until `until`, and send [`Input::Timer`] if
    /// none has arrived by then.
    pub fn poll(&mut self) -> Next<Effect> {
        match self.effects.pop_front() {
            Some(effect) => Next::Effect(effect),
            None => Next::Wait { until: self.deadline() },
        }
    }

    fn deadline(&self) -> Option<u64> {
        if self.over {
            return None;
        }
        let running = self.replicates.iter().filter(|one| one.end.is_none());
        let own = self
            .options
            .replicate_ms()
            .and_then(|limit| running.map(|one| one.since.saturating_add(limit)).min());
        own.into_iter().chain(self.bundle_deadline()).min()
    }

    fn bundle_deadline(&self) -> Option<u64> {
        Some(self.started?.saturating_add(self.options.budget_ms()?))
    }

    fn running(&mut self, replicate: usize, attempt: u32) -> Option<&mut Replicate> {
        let one = self.replicates.get_mut(replicate)?;
        (!self.over && one.end.is_none() && one.attempt == attempt).then_some(one)
    }

    fn running_count(&self) -> usize {
        self.replicates.iter().filter(|one| one.end.is_none()).count()
    }

    /// Starts the due replicates, up to the limit of concurrent ones.
    fn fill(&mut self) {
        while !self.over
            && self.replicates.len() < self.due.min(self.options.k)
            && self.running_count() < self.options.concurrency
        {
            let replicate = self.evidence.open();
            self.replicates.push(Replicate {
                attempt: 1,
                since: self.now,
                before: Tokens::default(),
                tokens: None,
                model: None,
                seed_unsent: false,
                repairs: Vec::new(),
                end: None,
            });
            self.run(replicate, 1);
        }
    }

    fn run(&mut self, replicate: usize, attempt: u32) {
        let seed = self.seed(replicate);
        let strategy = self.strategy(replicate).cloned();
        let label = strategy.as_ref().map(|strategy| strategy.label.clone());
        let id = id(replicate);
        self.emit(BundleEvent::ReplicateStarted { id, seed, attempt, strategy: label });
        self.effects.push_back(Effect::Run { replicate, seed, attempt, strategy });
    }

    fn settled(&mut self, replicate: usize, outcome: Outcome) {
        let over = self.over_token_limit(replicate);
        let (data, status, mut errors) = match outcome {
            Outcome::Failed { message } => (None, ReplicateStatus::Error, vec![message]),
            Outcome::Data { json, errors } => match Json::parse(&json, limits::REPLICATE_BYTES) {
                Err(error) => {
                    (None, ReplicateStatus::Invalid, vec![format!("{}: {error}", error.code())])
                }
                Ok(data) if mcp::failure(&data).is_some() => {
                    (None, ReplicateStatus::Error, mcp::failure(&data).into_iter().collect())
                }
                Ok(data) if errors.is_empty() => {
                    (Some(data.into_owned()), ReplicateStatus::Valid, errors)
                }
                Ok(data) => (Some(data.into_owned()), ReplicateStatus::Invalid, errors),
            },
        };
        errors = self.evidence.options.shown_errors(errors);
        let status = match over {
            Some(message) => {
                errors.push(message);
                ReplicateStatus::TokenLimit
            }
            None => status,
        };
        self.end(replicate, status, data, errors);
    }

    /// The error message if a replicate exceeds its token limit.
    fn over_token_limit(&self, replicate: usize) -> Option<String> {
        let most = self.options.replicate_tokens()?;
        let used = self.replicates.get(replicate)?.all_tokens().total;
        (used > most).then(|| format!("token_limit: {used} tokens of at most {most}"))
    }

    fn check_tokens(&mut self, replicate: usize) {
        if let Some(message) = self.over_token_limit(replicate) {
            self.effects.push_back(Effect::Cancel { replicate, reason: CancelReason::TokenLimit });
            self.end(replicate, ReplicateStatus::TokenLimit, None, vec![message]);
        } else if self.spent() {
            self.finish(BundleStopReason::Budget);
        }
    }

    /// Ends an attempt: starts another one if retries are left, otherwise closes the replicate.
    fn end(
        &mut self,
        replicate: usize,
        status: ReplicateStatus,
        data: Option<Json<'static>>,
        errors: Vec<String>,
    ) {
        let (now, retries) = (self.now, self.options.retries);
        let failed = status != ReplicateStatus::Valid && status != ReplicateStatus::TokenLimit;
        let again = failed && !self.spent();
        let Some(one) = self.replicates.get_mut(replicate) else { return };
        if again && one.attempt <= retries {
            one.before = one.all_tokens();
            one.tokens = None;
            one.attempt += 1;
            one.since = now;
            let attempt = one.attempt;
            self.warn(replicate, ReplicateWarning::Retried, errors);
            return self.run(replicate, attempt);
        }
        self.close(replicate, status, data, errors);
        self.decide();
    }

    /// Records how a replicate ended and emits its events.
    fn close(
        &mut self,
        replicate: usize,
        status: ReplicateStatus,
        data: Option<Json<'static>>,
        mut errors: Vec<String>,
    ) {
        errors.truncate(ERRORS);
        let errors: Vec<String> = errors.into_iter().map(clip).collect();
        let now = self.now;
        let Some(one) = self.replicates.get_mut(replicate) else { return };
        one.end = Some((status, now));
        let (usage, since) = (one.tokens.map(|_| one.all_tokens()), one.since);
        let shown = data.as_ref().and_then(|data| self.evidence.options.project(data));
        self.evidence.set(replicate, data, status == ReplicateStatus::Valid, errors.clone());
        let (id, seed) = (id(replicate), self.seed(replicate));
        if status == ReplicateStatus::Timeout {
            let seconds = seconds(self.options.replicate_ms().unwrap_or(0));
            let (id, scope) = (id.clone(), ReplicateScope::Replicate);
            self.emit(BundleEvent::ReplicateTimeout { id, seed, scope, seconds });
        }
        if status != ReplicateStatus::Valid && status != ReplicateStatus::Cancelled {
            self.warn(replicate, ReplicateWarning::Invalid, errors.clone());
        }
        self.emit(BundleEvent::ReplicateDone {
            id,
            seed,
            status,
            quality: ReplicateQuality { valid: status == ReplicateStatus::Valid, errors },
            usage,
            duration_ms: now.saturating_sub(since),
            data: shown,
        });
    }

    fn warn(&mut self, replicate: usize, code: ReplicateWarning, errors: Vec<String>) {
        let (id, seed) = (id(replicate), self.seed(replicate));
        self.emit(BundleEvent::ReplicateWarning { id, seed, code, errors });
    }

    /// Called after each replicate. Applies the stop rule, checks the budget and starts the next
    /// replicates (§2.10).
    fn decide(&mut self) {
        let ended = self.replicates.iter().filter(|one| one.end.is_some()).count();
        let valid = self.evidence.valid_count();
        if valid >= 2 {
            let summary = self.evidence.summary();
            self.emit(BundleEvent::PartialSummary { summary });
        }
        let k = self.options.k;
        if ended == k {
            return self.finish(BundleStopReason::Full);
        }
        let enough = match self.options.stop {
            Stop::Agreement => valid >= 2 && self.evidence.agrees(),
            Stop::MajorityLock => valid >= 2 && self.evidence.locked(k - ended),
            Stop::Never => false,
        };
        if enough {
            return self.finish(BundleStopReason::Early);
        }
        if self.spent() {
            return self.finish(BundleStopReason::Budget);
        }
        // A comparison needs two valid replicates. Further ones are started one at a time.
        let coming = self.due - ended;
        let next = 2_usize.saturating_sub(valid + coming).max(usize::from(coming == 0));
        self.due = (self.due + next).min(k);
        self.fill();
    }

    /// Whether the token or cost budget of the bundle is used up.
    fn spent(&self) -> bool {
        let Some(budget) = &self.options.budget else { return false };
        let cost = || micro_dollars(self.exact_cost().0);
        budget.tokens.is_some_and(|most| self.tokens().total >= most)
            || budget.cost.is_some_and(|most| cost() >= most)
    }

    pub(super) fn prices(&self) -> &[(String, Prices)] {
        self.options.prices.as_deref().unwrap_or_default()
    }

    pub(super) fn tokens(&self) -> Tokens {
        self.replicates.iter().fold(Tokens::default(), |sum, one| sum.plus(one.all_tokens()))
    }

    /// The exact cost, and whether every replicate that used tokens has a price.
    fn exact_cost(&self) -> (u128, bool) {
        let (mut sum, mut whole) = (0_u128, true);
        for (at, one) in self.replicates.iter().enumerate() {
            match self.price(at) {
                Some(price) => sum = sum.saturating_add(cost(price, one.all_tokens())),
                None => whole &= one.all_tokens().total == 0,
            }
        }
        (sum, whole)
    }

    fn expire(&mut self) {
        if self.bundle_deadline().is_some_and(|deadline| self.now >= deadline) && !self.over {
            let seconds = seconds(self.options.budget_ms().unwrap_or(0));
            self.emit(BundleEvent::BundleTimeout { scope: BundleScope::Bundle, seconds });
            return self.finish(BundleStopReason::Budget);
        }
        let Some(limit) = self.options.replicate_ms() else { return };
        for replicate in 0..self.replicates.len() {
            let now = self.now;
            let late =
                |one: &Replicate| one.end.is_none() && now >= one.since.saturating_add(limit);
            if !self.over && self.replicates.get(replicate).is_some_and(late) {
                self.effects.push_back(Effect::Cancel { replicate, reason: CancelReason::Timeout });
                let message =
                    format!("timeout: no result within {} s", number_text(seconds(limit)));
                self.end(replicate, ReplicateStatus::Timeout, None, vec![message]);
            }
        }
    }

    /// Cancels the running replicates and emits the bundle.
    fn finish(&mut self, stopped: BundleStopReason) {
        if self.over {
            return;
        }
        let reason = match stopped {
            BundleStopReason::Early => CancelReason::Early,
            BundleStopReason::Budget => CancelReason::Budget,
            BundleStopReason::Full | BundleStopReason::Cancelled => CancelReason::Cancelled,
        };
        for replicate in 0..self.replicates.len() {
            if self.replicates.get(replicate).is_some_and(|one| one.end.is_none()) {
                self.effects.push_back(Effect::Cancel { replicate, reason });
                let (id, seed) = (id(replicate), self.seed(replicate));
                let scope = ReplicateScope::Replicate;
                self.emit(BundleEvent::ReplicateCancelled { id, seed, scope, reason });
                let errors = vec![format!("cancelled: {reason}")];
                self.close(replicate, ReplicateStatus::Cancelled, None, errors);
            }
        }
        self.over = true;
        if self.evidence.valid_count() == 0 && stopped != BundleStopReason::Cancelled {
            let code = BundleWarning::NoValidReplicate;
            self.emit(BundleEvent::BundleWarning { code });
        }
        let (cost, whole) = self.exact_cost();
        let priced = !self.prices().is_empty();
        if priced && !whole {
            self.emit(BundleEvent::BundleWarning { code: BundleWarning::ModelWithoutPrice });
        }
        let cost = (whole && priced).then(|| micro_dollars(cost));
        let meta = self.meta(stopped, cost).to_json().to_text();
        let heads: Vec<String> = (0..self.replicates.len()).map(|at| self.head(at)).collect();
        let (bundle, truncated) = self.evidence.bundle(&meta, &heads);
        if truncated {
            self.emit(BundleEvent::BundleWarning { code: BundleWarning::Truncated });
        }
        self.emit(BundleEvent::BundleReady { bundle });
        self.effects.push_back(Effect::Done);
    }
}
