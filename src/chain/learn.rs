//! Effectiveness of each pattern, from user feedback on its chains.

use super::plan::Pattern;
use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Describe, Read, Shape, Write, record};
use crate::limits;

record! {
    /// What is known of one pattern.
    pub struct Effectiveness as "PatternCounts" {
        /// Number of chains.
        n "n": u64;
        /// Number of chains that the user was satisfied with.
        successes "successes": u64;
        /// Total cost of the chains.
        cost "cost": f64;
        /// Durations of the last 256 chains in milliseconds, oldest first.
        latencies "latencies": Vec<u64>;
    }
}

impl Default for Effectiveness {
    fn default() -> Self {
        Self { n: 0, successes: 0, cost: 0.0, latencies: Vec::new() }
    }
}

record! {
    /// Statistics of one pattern. What follows from the counts is not read back.
    pub struct PatternEffectiveness as "PatternEffectiveness" {
        /// The counts.
        counts "": Effectiveness;
        /// Mean of Beta(successes + 1, failures + 1).
        mean "mean": f64;
        /// The 5 % quantile of the same distribution: the rate is above it with 95 % probability.
        lower_bound "lowerBound": f64;
        /// `null` before the first chain.
        mean_cost "meanCost": Option<f64>;
        /// 95th percentile of the latencies; `null` before the first chain.
        p95_ms "p95Ms": Option<u64>;
    }
}

record! {
    /// Statistics by pattern.
    pub struct PatternTable as "PatternTable" {
        /// Of chains whose steps ran one after the other.
        sequential "sequential": PatternEffectiveness;
        /// Of chains whose steps ran side by side.
        parallel "parallel": PatternEffectiveness;
        /// Of chains whose later steps depended on what earlier ones found.
        conditional "conditional": PatternEffectiveness;
    }
}

record! {
    /// The state to persist, as plain JSON.
    pub struct PatternState as "PatternState" {
        /// The version of the form.
        version "version": StateVersion;
        /// Statistics by pattern.
        patterns "patterns": PatternTable;
    }
}

/// The version of [`PatternState`]: 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateVersion;

impl Write for StateVersion {
    fn write(&self) -> Json<'static> {
        Json::integer(1)
    }
}

impl Describe for StateVersion {
    fn shape() -> Shape {
        Shape::Literal("1")
    }
}

impl Effectiveness {
    /// Adds a chain.
    pub fn record(&mut self, success: bool, cost: f64, millis: u64) {
        self.n += 1;
        self.successes += u64::from(success);
        self.cost += if cost.is_finite() { cost.max(0.0) } else { 0.0 };
        if self.latencies.len() >= limits::PATTERN_LATENCIES {
            self.latencies.remove(0);
        }
        self.latencies.push(millis);
    }

    /// Mean of Beta(successes + 1, failures + 1): Laplace's rule of succession.
    #[must_use]
    pub fn mean(&self) -> f64 {
        (float(self.successes) + 1.0) / (float(self.n) + 2.0)
    }

    /// The 5 % quantile of the same distribution: the rate is above it with 95 % probability.
    #[must_use]
    pub fn lower_bound(&self) -> f64 {
        beta_quantile(self.successes + 1, self.n.saturating_sub(self.successes) + 1, 0.05)
    }

    /// The 95th percentile of the stored latencies (nearest rank).
    #[must_use]
    pub fn p95(&self) -> Option<u64> {
        let rank = (self.latencies.len() * 95).div_ceil(100);
        let reaches =
            |most: &&u64| self.latencies.iter().filter(|millis| millis <= most).count() >= rank;
        self.latencies.iter().filter(reaches).min().copied()
    }

    fn shown(&self) -> PatternEffectiveness {
        PatternEffectiveness {
            counts: self.clone(),
            mean: self.mean(),
            lower_bound: self.lower_bound(),
            mean_cost: (self.n > 0).then(|| self.cost / float(self.n)),
            p95_ms: self.p95(),
        }
    }
}

/// Statistics of all patterns. Its JSON form is [`PatternState`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Learned([Effectiveness; 3]);

impl Learned {
    /// The statistics of `pattern`.
    #[must_use]
    pub fn of(&self, pattern: Pattern) -> &Effectiveness {
        let [sequential, parallel, conditional] = &self.0;
        match pattern {
            Pattern::Conditional => conditional,
            Pattern::Parallel => parallel,
            Pattern::Sequential => sequential,
        }
    }

    /// As [`Learned::of`], but mutable.
    pub fn of_mut(&mut self, pattern: Pattern) -> &mut Effectiveness {
        let [sequential, parallel, conditional] = &mut self.0;
        match pattern {
            Pattern::Conditional => conditional,
            Pattern::Parallel => parallel,
            Pattern::Sequential => sequential,
        }
    }

    /// The pattern with the highest lower bound among `allowed`; `None` unless at least two of them
    /// have `enough` chains each. 0 counts as 1.
    #[must_use]
    pub fn choose(&self, allowed: &[Pattern], enough: u64) -> Option<Pattern> {
        let known = |pattern: &&Pattern| self.of(**pattern).n >= enough.max(1);
        let known: Vec<Pattern> = allowed.iter().filter(known).copied().collect();
        if known.len() < 2 {
            return None;
        }
        let bound = |pattern: &Pattern| self.of(*pattern).lower_bound();
        known.into_iter().reduce(|best, next| if bound(&next) > bound(&best) { next } else { best })
    }

    /// Reads the output of [`Learned::to_json`]. Missing and invalid members count as 0 or empty.
    #[must_use]
    pub fn from_json(value: &Json<'_>) -> Self {
        let mut learned = Self::default();
        for &pattern in Pattern::ALL {
            let Some(given) = value.get("patterns").and_then(|all| all.get(pattern.name())) else {
                continue;
            };
            let whole = |key| given.get(key).and_then(Json::as_u64).unwrap_or(0);
            let latencies = given.get("latencies").and_then(Json::as_array).unwrap_or_default();
            let skipped = latencies.len().saturating_sub(limits::PATTERN_LATENCIES);
            *learned.of_mut(pattern) = Effectiveness {
                n: whole("n").min(MOST),
                successes: whole("successes").min(whole("n")).min(MOST),
                cost: given.get("cost").and_then(Json::as_f64).map_or(0.0, |cost| cost.max(0.0)),
                latencies: latencies.iter().skip(skipped).filter_map(Json::as_u64).collect(),
            };
        }
        learned
    }

    /// The counts, and what follows from them.
    #[must_use]
    pub fn state(&self) -> PatternState {
        let [sequential, parallel, conditional] = &self.0;
        let patterns = PatternTable {
            sequential: sequential.shown(),
            parallel: parallel.shown(),
            conditional: conditional.shown(),
        };
        PatternState { version: StateVersion, patterns }
    }

    /// Returns the JSON form of [`Learned::state`].
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        self.state().to_json()
    }
}

impl Write for Learned {
    fn write(&self) -> Json<'static> {
        self.to_json()
    }
}

impl Read for Learned {
    fn read(&mut self, json: Json<'static>, _: &At<'_>) -> Result<(), Error> {
        *self = Self::from_json(&json);
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "an object"
    }
}

impl Describe for Learned {
    fn shape() -> Shape {
        PatternState::shape()
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Learned {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Learned {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_json(&Json::deserialize(deserializer)?))
    }
}

/// Maximum number of chains read for one pattern. It limits the length of the sums below.
///
/// Limit | chains that a pattern has seen | chains | they count as so many
const MOST: u64 = 1_000_000;

/// The `p` quantile of Beta(a, b) for integers a and b, by bisection. The distribution function
/// is a binomial tail: `I_x(a, b) = P(at least a of a + b - 1 trials succeed)`.
fn beta_quantile(a: u64, b: u64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle: f64 = (low + high) / 2.0;
        if binomial_tail(a + b - 1, a, middle) < p { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// P(at least `least` of `n` trials succeed). Terms are computed relative to the largest one and
/// divided by their sum, which avoids overflow and logarithms.
fn binomial_tail(n: u64, least: u64, chance: f64) -> f64 {
    let odds = chance / (1.0 - chance);
    let mode = mode(n, chance);
    let (mut all, mut tail) = (0.0, 0.0);
    let mut add = |k: u64, term: f64| {
        all += term;
        if k >= least {
            tail += term;
        }
    };
    add(mode, 1.0);
    let mut term = 1.0;
    for k in mode..n {
        term *= float(n - k) / float(k + 1) * odds;
        if term < 1e-18 {
            break;
        }
        add(k + 1, term);
    }
    term = 1.0;
    for k in (1..=mode).rev() {
        term *= float(k) / float(n - k + 1) / odds;
        if term < 1e-18 {
            break;
        }
        add(k - 1, term);
    }
    tail / all
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and n")]
fn mode(n: u64, chance: f64) -> u64 {
    ((float(n) * chance) as u64).min(n)
}

#[expect(clippy::cast_precision_loss, reason = "at most a million")]
fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.beta.ppf(0.05, a, b): closed forms where a or b is 1.
    #[test]
    fn quantiles_of_beta() {
        let close = |a, b, expected: f64| {
            let found = beta_quantile(a, b, 0.05);
            assert!((found - expected).abs() < 1e-9, "Beta({a}, {b}): {found}");
        };
        close(1, 1, 0.05);
        // x^a = 0.05, and 1 - (1 - x)^b = 0.05.
        for n in [2, 5, 21, 400] {
            close(n, 1, 0.05_f64.powf(1.0 / float(n)));
            close(1, n, 1.0 - 0.95_f64.powf(1.0 / float(n)));
        }
        // Beta(2, 2): 3x² - 2x³ = 0.05.
        let x = beta_quantile(2, 2, 0.05);
        assert!((3.0 * x * x - 2.0 * x * x * x - 0.05).abs() < 1e-9);
    }

    #[test]
    fn chooses_only_with_enough() {
        let mut learned = Learned::default();
        for n in 0..20 {
            learned.of_mut(Pattern::Parallel).record(n % 4 != 0, 2.0, 100 + n);
            assert_eq!(learned.choose(Pattern::ALL, 20), None);
        }
        for _ in 0..20 {
            learned.of_mut(Pattern::Sequential).record(false, 1.0, 50);
        }
        assert_eq!(learned.choose(Pattern::ALL, 20), Some(Pattern::Parallel));
        assert_eq!(learned.choose(&[Pattern::Sequential], 20), None);
        assert_eq!(learned.of(Pattern::Parallel).p95(), Some(118));
        assert!((learned.of(Pattern::Parallel).mean() - 16.0 / 22.0).abs() < 1e-12);
        assert_eq!(Learned::from_json(&learned.to_json()), learned);
    }
}
