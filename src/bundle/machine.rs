//! The state machine of a bundle: it starts replicates, applies the stop rule and emits events.

use std::collections::VecDeque;

use super::events::{seconds, texts};
use super::evidence::Evidence;
use super::options::{Options, Stop};
use super::protocol::{Effect, Input, Outcome};
use super::usage::{Price, Tokens, micro_dollars};
use crate::error::Error;
use crate::json::Json;
use crate::limits;

/// One bundle. See [the contract](crate#contract-drain-before-you-wait) for how to call it.
#[derive(Debug, Clone)]
pub struct Bundle {
    pub(super) options: Options,
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
    /// How it ended, and when.
    pub(super) end: Option<(Status, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Valid,
    Invalid,
    Error,
    Timeout,
    TokenLimit,
    Cancelled,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::TokenLimit => "token_limit",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Replicate {
    pub(super) fn all_tokens(&self) -> Tokens {
        self.before.plus(self.tokens.unwrap_or_default())
    }
}

/// Limits on errors: characters of one text, and texts of one replicate.
const ERROR_CHARS: usize = 1000;
const ERRORS: usize = 20;

impl Bundle {
    /// Makes a bundle from a host's options; see [`Options::parse`] for their form.
    ///
    /// # Errors
    /// Those of [`Options::parse`].
    pub fn new(options: &[u8]) -> Result<Self, Error> {
        let (options, comparer) = Options::parse(options)?;
        Ok(Self {
            evidence: Evidence::new(comparer),
            replicates: Vec::new(),
            due: options.parallel,
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
    pub fn handle(&mut self, now_ms: u64, input: Input<'_>) {
        self.now = self.now.max(now_ms);
        match input {
            Input::Start if self.started.is_none() && !self.over => {
                self.started = Some(self.now);
                self.fill();
            }
            Input::Start | Input::Timer => {}
            Input::Usage { replicate, attempt, tokens } => {
                if let Some(one) = self.running(replicate, attempt) {
                    one.tokens = Some(tokens);
                    self.check_tokens(replicate);
                }
            }
            Input::Settled { replicate, attempt, outcome, tokens, model } => {
                if let Some(one) = self.running(replicate, attempt) {
                    one.tokens = tokens.or(one.tokens);
                    one.model = model.map(str::to_owned);
                    self.settled(replicate, outcome);
                }
            }
            Input::Cancel { reason } if !self.over => {
                let reason = ("reason", Json::string(clip(reason.to_owned())));
                self.emit("cancelled", vec![("scope", "bundle".into()), reason]);
                self.finish("cancelled");
            }
            Input::Cancel { .. } => {}
        }
        self.expire();
    }

    /// Returns the next effect. After each input, poll until `None` and perform the effects in
    /// order.
    #[must_use]
    pub fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The time at which to send [`Input::Timer`] if no other input arrives, on the clock of
    /// [`Bundle::handle`].
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        if self.over {
            return None;
        }
        let running = self.replicates.iter().filter(|one| one.end.is_none());
        let own = self
            .options
            .replicate_ms
            .and_then(|limit| running.map(|one| one.since.saturating_add(limit)).min());
        own.into_iter().chain(self.bundle_deadline()).min()
    }

    fn bundle_deadline(&self) -> Option<u64> {
        Some(self.started?.saturating_add(self.options.budget_ms?))
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
                end: None,
            });
            self.run(replicate, 1);
        }
    }

    fn run(&mut self, replicate: usize, attempt: u32) {
        let seed = self.options.seeds.get(replicate).copied().unwrap_or(0);
        let own = vec![("attempt", Json::integer(u64::from(attempt)))];
        self.emit_of("replicate_started", replicate, own);
        self.effects.push_back(Effect::Run { replicate, seed, attempt });
    }

    fn settled(&mut self, replicate: usize, outcome: Outcome<'_>) {
        let over = self.over_token_limit(replicate);
        let (data, status, mut errors) = match outcome {
            Outcome::Failed { message } => (None, Status::Error, vec![message]),
            Outcome::Data { json, errors } => match Json::parse(json, limits::REPLICATE_BYTES) {
                Err(error) => (None, Status::Invalid, vec![format!("{}: {error}", error.code())]),
                Ok(data) if errors.is_empty() => (Some(data.into_owned()), Status::Valid, errors),
                Ok(data) => (Some(data.into_owned()), Status::Invalid, errors),
            },
        };
        let status = match over {
            Some(message) => {
                errors.push(message);
                Status::TokenLimit
            }
            None => status,
        };
        self.end(replicate, status, data, errors);
    }

    /// The error message if a replicate exceeds its token limit.
    fn over_token_limit(&self, replicate: usize) -> Option<String> {
        let most = self.options.replicate_tokens?;
        let used = self.replicates.get(replicate)?.all_tokens().total;
        (used > most).then(|| format!("token_limit: {used} tokens of at most {most}"))
    }

    fn check_tokens(&mut self, replicate: usize) {
        if let Some(message) = self.over_token_limit(replicate) {
            self.effects.push_back(Effect::Cancel { replicate, reason: "token_limit" });
            self.end(replicate, Status::TokenLimit, None, vec![message]);
        } else if self.spent() {
            self.finish("budget");
        }
    }

    /// Ends an attempt: starts another one if retries are left, otherwise closes the replicate.
    fn end(
        &mut self,
        replicate: usize,
        status: Status,
        data: Option<Json<'static>>,
        errors: Vec<String>,
    ) {
        let (now, retries) = (self.now, self.options.retries);
        let failed = status != Status::Valid && status != Status::TokenLimit;
        let again = failed && !self.spent();
        let Some(one) = self.replicates.get_mut(replicate) else { return };
        if again && one.attempt <= retries {
            one.before = one.all_tokens();
            one.tokens = None;
            one.attempt += 1;
            one.since = now;
            let attempt = one.attempt;
            let own = vec![("code", "replicate_retried".into()), ("errors", texts(&errors))];
            self.emit_of("warning", replicate, own);
            return self.run(replicate, attempt);
        }
        self.close(replicate, status, data, errors);
        self.decide();
    }

    /// Records how a replicate ended and emits its events.
    fn close(
        &mut self,
        replicate: usize,
        status: Status,
        data: Option<Json<'static>>,
        mut errors: Vec<String>,
    ) {
        errors.truncate(ERRORS);
        let errors: Vec<String> = errors.into_iter().map(clip).collect();
        let now = self.now;
        let Some(one) = self.replicates.get_mut(replicate) else { return };
        one.end = Some((status, now));
        let (tokens, since) = (one.tokens.map(|_| one.all_tokens()), one.since);
        let shown = data.as_ref().and_then(|data| self.options.view.project(data));
        self.evidence.set(replicate, data, status == Status::Valid, errors.clone());
        if status == Status::Timeout {
            let limit = self.options.replicate_ms.unwrap_or(0);
            let own = vec![("scope", "replicate".into()), ("seconds", seconds(limit))];
            self.emit_of("timeout", replicate, own);
        }
        if status != Status::Valid && status != Status::Cancelled {
            let own = vec![("code", "replicate_invalid".into()), ("errors", texts(&errors))];
            self.emit_of("warning", replicate, own);
        }
        let quality =
            Json::object([("valid", (status == Status::Valid).into()), ("errors", texts(&errors))]);
        let mut own = vec![("status", status.name().into()), ("quality", quality)];
        own.push(("usage", tokens.map_or(Json::Null, Tokens::to_json)));
        own.push(("duration_ms", Json::integer(now.saturating_sub(since))));
        own.extend(shown.map(|data| ("data", data)));
        self.emit_of("replicate_done", replicate, own);
    }

    /// Called after each replicate. Applies the stop rule, checks the budget and starts the next
    /// replicates (§2.10).
    fn decide(&mut self) {
        let ended = self.replicates.iter().filter(|one| one.end.is_some()).count();
        let valid = self.evidence.valid_count();
        if valid >= 2 {
            let summary = self.evidence.summary_text(&self.options.rules, &self.options.view);
            self.emit_text("partial_summary", &format!(",\"summary\":{summary}"));
        }
        let k = self.options.k;
        if ended == k {
            return self.finish("full");
        }
        let must_agree = &self.options.rules.must_agree;
        let enough = match self.options.stop {
            Stop::Agreement => valid >= 2 && self.evidence.agrees(&self.options.rules),
            Stop::MajorityLock => valid >= 2 && self.evidence.locked(must_agree, k - ended),
            Stop::Never => false,
        };
        if enough {
            return self.finish("early");
        }
        if self.spent() {
            return self.finish("budget");
        }
        // A comparison needs two valid replicates. Further ones are started one at a time.
        let coming = self.due - ended;
        let next = 2_usize.saturating_sub(valid + coming).max(usize::from(coming == 0));
        self.due = (self.due + next).min(k);
        self.fill();
    }

    /// Whether the token or cost budget of the bundle is used up.
    fn spent(&self) -> bool {
        let tokens = self.tokens().total;
        let cost = || micro_dollars(self.exact_cost().0);
        self.options.budget_tokens.is_some_and(|most| tokens >= most)
            || self.options.budget_cost.is_some_and(|most| cost() >= most)
    }

    pub(super) fn tokens(&self) -> Tokens {
        self.replicates.iter().fold(Tokens::default(), |sum, one| sum.plus(one.all_tokens()))
    }

    pub(super) fn price(&self, one: &Replicate) -> Option<Price> {
        let prices = &self.options.prices;
        let of =
            |name: &str| prices.iter().find(|(known, _)| known == name).map(|(_, price)| *price);
        let model = one.model.as_deref().or(self.options.model.as_deref());
        model.and_then(of).or_else(|| of("*"))
    }

    /// The exact cost, and whether every replicate that used tokens has a price.
    fn exact_cost(&self) -> (u128, bool) {
        let (mut sum, mut whole) = (0_u128, true);
        for one in &self.replicates {
            match self.price(one) {
                Some(price) => sum = sum.saturating_add(price.of(one.all_tokens())),
                None => whole &= one.all_tokens().total == 0,
            }
        }
        (sum, whole)
    }

    fn expire(&mut self) {
        if self.bundle_deadline().is_some_and(|deadline| self.now >= deadline) && !self.over {
            let limit = self.options.budget_ms.unwrap_or(0);
            self.emit("timeout", vec![("scope", "bundle".into()), ("seconds", seconds(limit))]);
            return self.finish("budget");
        }
        let Some(limit) = self.options.replicate_ms else { return };
        for replicate in 0..self.replicates.len() {
            let now = self.now;
            let late =
                |one: &Replicate| one.end.is_none() && now >= one.since.saturating_add(limit);
            if !self.over && self.replicates.get(replicate).is_some_and(late) {
                self.effects.push_back(Effect::Cancel { replicate, reason: "timeout" });
                let message = format!("timeout: no result within {} s", seconds(limit).to_text());
                self.end(replicate, Status::Timeout, None, vec![message]);
            }
        }
    }

    /// Cancels the running replicates and emits the bundle.
    fn finish(&mut self, stopped: &'static str) {
        if self.over {
            return;
        }
        let reason = if stopped == "full" { "cancelled" } else { stopped };
        for replicate in 0..self.replicates.len() {
            if self.replicates.get(replicate).is_some_and(|one| one.end.is_none()) {
                self.effects.push_back(Effect::Cancel { replicate, reason });
                let own = vec![("scope", "replicate".into()), ("reason", reason.into())];
                self.emit_of("cancelled", replicate, own);
                self.close(
                    replicate,
                    Status::Cancelled,
                    None,
                    vec![format!("cancelled: {reason}")],
                );
            }
        }
        self.over = true;
        let (cost, whole) = self.exact_cost();
        if !self.options.prices.is_empty() && !whole {
            self.emit("warning", vec![("code", "model_without_price".into())]);
        }
        let cost = (whole && !self.options.prices.is_empty()).then(|| micro_dollars(cost));
        let meta = self.meta(stopped, cost).to_text();
        let heads: Vec<String> = (0..self.replicates.len()).map(|at| self.head(at)).collect();
        let (rules, view) = (&self.options.rules, &self.options.view);
        let (text, truncated) = self.evidence.bundle_text(rules, view, &meta, &heads);
        if truncated {
            self.emit("warning", vec![("code", "truncated".into())]);
        }
        self.emit_text("bundle_ready", &format!(",\"bundle\":{text}"));
        self.effects.push_back(Effect::Done);
    }
}

fn clip(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(ERROR_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}
