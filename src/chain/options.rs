//! The options of a chain.

use std::ops::RangeInclusive;

use super::classify::ClassifierOptions;
use super::learn::Learned;
use super::plan::{Pattern, PlanLimits};
use super::protocol::CallKind;
use crate::error::Error;
use crate::json::Json;
use crate::limits;

/// Limits of one chain. Times are in milliseconds, costs in the host's own unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Maximum number of steps that run, not counting the last synthesis. Default 8.
    pub max_steps: usize,
    /// Maximum cost of all calls together, including the answer. Default: no limit.
    pub max_cost: f64,
    /// The completeness at which the chain stops. Default 0.85.
    pub completeness: f64,
    /// The chain stops when a search finds less than this share of what the one before it found.
    /// Default 0.8; 0 switches the rule off.
    pub diminishing: f64,
    /// Maximum number of steps in flight. Default 4.
    pub max_parallel: usize,
    /// Maximum number of retries of a failed step or answer. Default 1.
    pub max_retries: u32,
    /// Delay before the first retry of a step; doubled for each further one. Default 250.
    pub retry_ms: u64,
    /// Time for one attempt at a step, and for every other call not named below. Default 30 000.
    pub step_ms: u64,
    /// Time for the planner. Default 30 000.
    pub plan_ms: u64,
    /// Time for everything before the answer. Default 120 000.
    pub total_ms: u64,
    /// Time for the complete answer or synthesis. Default 120 000.
    pub answer_ms: u64,
    /// Maximum age of a cached result. Default 3 600 000.
    pub cache_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: limits::CHAIN_STEPS,
            max_cost: f64::INFINITY,
            completeness: 0.85,
            diminishing: 0.8,
            max_parallel: 4,
            max_retries: 1,
            retry_ms: 250,
            step_ms: 30_000,
            plan_ms: 30_000,
            total_ms: 120_000,
            answer_ms: 120_000,
            cache_ms: 3_600_000,
        }
    }
}

/// Maximum cost of a call, by kind, in the host's unit. Reserved before it starts. Default 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Costs {
    /// Cost of an `answer` call.
    pub answer: f64,
    /// Cost of an `assess` call.
    pub assess: f64,
    /// Cost of a `plan` or `replan` call.
    pub plan: f64,
    /// Cost of a `refine` call.
    pub refine: f64,
    /// Cost of a `search` call.
    pub search: f64,
    /// Cost of a `synthesize` call.
    pub synthesize: f64,
}

impl Costs {
    pub(crate) fn of(&mut self, kind: CallKind) -> Option<&mut f64> {
        match kind {
            CallKind::Answer => Some(&mut self.answer),
            CallKind::Assess => Some(&mut self.assess),
            CallKind::Plan | CallKind::Replan => Some(&mut self.plan),
            CallKind::Refine => Some(&mut self.refine),
            CallKind::Search => Some(&mut self.search),
            CallKind::Synthesize => Some(&mut self.synthesize),
            CallKind::Classify | CallKind::Condition | CallKind::Recall => None,
        }
    }
}

/// The optional callbacks that the host has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one per callback")]
pub struct Hooks {
    /// Whether there is an `assess` callback.
    pub assess: bool,
    /// Whether there is a cache.
    pub cache: bool,
    /// Whether there is a `classify` callback.
    pub classify: bool,
    /// Whether there is a `condition` callback.
    pub condition: bool,
    /// Whether there is a `replan` callback.
    pub replan: bool,
}

/// The options of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The user's query.
    pub query: String,
    /// `false` always takes the simple path. Default `true`.
    pub enabled: bool,
    /// Limits.
    pub limits: Limits,
    /// Maximum costs of calls.
    pub costs: Costs,
    /// The optional callbacks that exist.
    pub hooks: Hooks,
    /// Limits of plans.
    pub plan: PlanLimits,
    /// Options of the classifier.
    pub classifier: ClassifierOptions,
    /// Part of every cache key, such as the name of the model or of the search index.
    pub model: String,
    /// Statistics of patterns, and the number of chains per pattern from which on they are used.
    /// Default `None`: they are not used.
    pub learned: Option<(Learned, u64)>,
}

impl Options {
    /// The defaults for a query. Call [`checked`](Options::checked) before passing the options to
    /// [`Chain::with`](super::Chain::with).
    #[must_use]
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            enabled: true,
            limits: Limits::default(),
            costs: Costs::default(),
            hooks: Hooks::default(),
            plan: PlanLimits {
                // A plan may have more steps than are run, because the first ones may be enough.
                max_steps: limits::PLAN_STEPS,
                ..PlanLimits::default()
            },
            classifier: ClassifierOptions::default(),
            model: String::new(),
            learned: None,
        }
    }

    /// Checks that every value is in range. Also trims the query, lower-cases the indicators, and
    /// leaves the conditions of plans unchecked if the host evaluates them.
    ///
    /// # Errors
    /// `options.invalid`
    pub fn checked(mut self) -> Result<Self, Error> {
        self.query = self.query.trim().to_owned();
        if self.query.is_empty() {
            return Err(invalid("query", "a text"));
        }
        self.limits.check()?;
        self.costs.check()?;
        if self.plan.patterns.is_empty() {
            return Err(invalid("patterns", PATTERNS));
        }
        self.plan.conditions = !self.hooks.condition;
        self.classifier = self.classifier.checked()?;
        if let Some((_, enough)) = &mut self.learned {
            *enough = (*enough).max(1);
        }
        let least = self.costs.answer.max(self.costs.synthesize);
        if self.limits.max_cost < least {
            return Err(invalid("limits.maxCost", "at least the cost of the answer"));
        }
        Ok(self)
    }

    /// Reads `{ query, enabled?, limits?, costs?, hooks?, patterns?, classifier?, model?,
    /// learned?: { state, enough } }`. Missing and null members keep their defaults.
    ///
    /// # Errors
    /// `options.invalid`, the `json.*` codes.
    pub fn parse(json: &[u8]) -> Result<Self, Error> {
        let json = Json::parse_lossy(json, limits::JSON_BYTES)?;
        let query = json.get("query").and_then(Json::as_str);
        let mut options = Self::new(query.unwrap_or_default());
        options.enabled = flag(&json, "enabled")?.unwrap_or(true);
        json.get("model").and_then(Json::as_str).unwrap_or("").clone_into(&mut options.model);
        each(&json, "limits", |key, value, path| options.limits.set(key, value, path))?;
        each(&json, "costs", |key, value, path| {
            let kinds = [
                ("answer", CallKind::Answer),
                ("assess", CallKind::Assess),
                ("plan", CallKind::Plan),
                ("refine", CallKind::Refine),
                ("search", CallKind::Search),
                ("synthesize", CallKind::Synthesize),
            ];
            let kind = kinds.into_iter().find(|(name, _)| *name == key).map(|(_, kind)| kind);
            let place = kind.and_then(|kind| options.costs.of(kind));
            *place.ok_or_else(|| invalid(path, "a call that exists"))? =
                number(path, value, AMOUNT)?;
            Ok(())
        })?;
        each(&json, "hooks", |key, value, path| {
            let given = value.as_bool().ok_or_else(|| invalid(path, "true or false"))?;
            match key {
                "assess" => options.hooks.assess = given,
                "cache" => options.hooks.cache = given,
                "classify" => options.hooks.classify = given,
                "condition" => options.hooks.condition = given,
                "replan" => options.hooks.replan = given,
                _ => return Err(invalid(path, "a callback that exists")),
            }
            Ok(())
        })?;
        options.plan.patterns = patterns(&json)?;
        options.classifier = classifier(json.get("classifier"))?;
        if let Some(learned) = json.get("learned").filter(|learned| !learned.is_null()) {
            let enough = learned.get("enough").and_then(Json::as_u64).unwrap_or(20);
            let state = learned.get("state").unwrap_or(&Json::Null);
            options.learned = Some((Learned::from_json(state), enough));
        }
        options.checked()
    }
}

impl Limits {
    fn set(&mut self, key: &str, value: &Json<'_>, path: &str) -> Result<(), Error> {
        let whole = || value.as_u64().ok_or_else(|| invalid(path, WHOLE));
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        match key {
            "maxSteps" => self.max_steps = size(whole()?),
            "maxCost" => self.max_cost = number(path, value, AMOUNT)?,
            "completeness" => self.completeness = number(path, value, SHARE)?,
            "diminishing" => self.diminishing = number(path, value, SHARE)?,
            "maxParallel" => self.max_parallel = size(whole()?),
            "maxRetries" => self.max_retries = u32::try_from(whole()?).unwrap_or(u32::MAX),
            "retryMs" => self.retry_ms = whole()?,
            "stepMs" => self.step_ms = whole()?,
            "planMs" => self.plan_ms = whole()?,
            "totalMs" => self.total_ms = whole()?,
            "answerMs" => self.answer_ms = whole()?,
            "cacheMs" => self.cache_ms = whole()?,
            _ => return Err(invalid(path, "a limit that exists")),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        const DAY: u64 = 24 * 60 * 60 * 1000;
        const STEPS: RangeInclusive<usize> = 1..=limits::PLAN_STEPS;
        const SHARES: RangeInclusive<f64> = 0.0..=1.0;
        let times = 1..=DAY;
        let fits = [
            ("limits.maxSteps", STEPS.contains(&self.max_steps), WHOLE),
            // False for NaN.
            ("limits.maxCost", self.max_cost >= 0.0, AMOUNT),
            ("limits.completeness", SHARES.contains(&self.completeness), SHARE),
            ("limits.diminishing", SHARES.contains(&self.diminishing), SHARE),
            ("limits.maxParallel", STEPS.contains(&self.max_parallel), WHOLE),
            ("limits.maxRetries", self.max_retries <= 10, WHOLE),
            ("limits.retryMs", self.retry_ms <= DAY, WHOLE),
            ("limits.stepMs", times.contains(&self.step_ms), WHOLE),
            ("limits.planMs", times.contains(&self.plan_ms), WHOLE),
            ("limits.totalMs", times.contains(&self.total_ms), WHOLE),
            ("limits.answerMs", times.contains(&self.answer_ms), WHOLE),
            ("limits.cacheMs", self.cache_ms <= 365 * DAY, WHOLE),
        ];
        in_range(&fits)
    }
}

impl Costs {
    fn check(&self) -> Result<(), Error> {
        let fits = |cost: f64| cost.is_finite() && cost >= 0.0;
        in_range(&[
            ("costs.answer", fits(self.answer), AMOUNT),
            ("costs.assess", fits(self.assess), AMOUNT),
            ("costs.plan", fits(self.plan), AMOUNT),
            ("costs.refine", fits(self.refine), AMOUNT),
            ("costs.search", fits(self.search), AMOUNT),
            ("costs.synthesize", fits(self.synthesize), AMOUNT),
        ])
    }
}

/// Returns the error of the first value that does not fit.
fn in_range(fits: &[(&str, bool, &'static str)]) -> Result<(), Error> {
    let wrong = fits.iter().find(|(_, fits, _)| !fits);
    wrong.map_or(Ok(()), |(path, _, expected)| Err(invalid(path, expected)))
}

impl PlanLimits {
    /// Reads `{ maxSteps?, patterns?, conditions? }`.
    ///
    /// # Errors
    /// `options.invalid`
    pub fn parse(json: &Json<'_>) -> Result<Self, Error> {
        let mut limits = Self { patterns: patterns(json)?, ..Self::default() };
        if let Some(given) = json.get("maxSteps").filter(|given| !given.is_null()) {
            let most = given.as_u64().and_then(|most| usize::try_from(most).ok());
            let most = most.filter(|most| (1..=limits::PLAN_STEPS).contains(most));
            limits.max_steps =
                most.ok_or_else(|| invalid("maxSteps", "a whole number, 1 to 64"))?;
        }
        limits.conditions = flag(json, "conditions")?.unwrap_or(true);
        Ok(limits)
    }
}

impl ClassifierOptions {
    /// Reads `{ threshold?, indicators? }`.
    ///
    /// # Errors
    /// `options.invalid`
    pub fn parse(json: &Json<'_>) -> Result<Self, Error> {
        classifier(Some(json))?.checked()
    }

    fn checked(mut self) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&self.threshold) {
            return Err(invalid("threshold", SHARE));
        }
        self.indicators.iter_mut().for_each(|word| word.make_ascii_lowercase());
        Ok(self)
    }
}

fn classifier(json: Option<&Json<'_>>) -> Result<ClassifierOptions, Error> {
    let mut options = ClassifierOptions::default();
    let Some(json) = json else { return Ok(options) };
    if let Some(threshold) = json.get("threshold").filter(|given| !given.is_null()) {
        options.threshold = number("threshold", threshold, SHARE)?;
    }
    if let Some(words) = json.get("indicators").filter(|given| !given.is_null()) {
        let words = words.as_array().ok_or_else(|| invalid("indicators", "an array of words"))?;
        let word = |word: &Json<'_>| word.as_str().map(str::to_owned);
        let words = words.iter().map(word).collect::<Option<_>>();
        options.indicators = words.ok_or_else(|| invalid("indicators", "an array of words"))?;
    }
    Ok(options)
}

fn patterns(json: &Json<'_>) -> Result<Vec<Pattern>, Error> {
    let Some(given) = json.get("patterns").filter(|given| !given.is_null()) else {
        return Ok(Pattern::ALL.to_vec());
    };
    let names = given.as_array().unwrap_or_default().iter();
    let known =
        names.map(|name| name.as_str().and_then(Pattern::parse)).collect::<Option<Vec<_>>>();
    known.filter(|known| !known.is_empty()).ok_or_else(|| invalid("patterns", PATTERNS))
}

fn each(
    json: &Json<'_>,
    name: &str,
    mut take: impl FnMut(&str, &Json<'_>, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(given) = json.get(name).filter(|given| !given.is_null()) else { return Ok(()) };
    let members = given.as_object().ok_or_else(|| invalid(name, "an object"))?;
    for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        take(key, value, &format!("{name}.{key}"))?;
    }
    Ok(())
}

fn flag(json: &Json<'_>, key: &str) -> Result<Option<bool>, Error> {
    match json.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(given) => given.as_bool().map(Some).ok_or_else(|| invalid(key, "true or false")),
    }
}

fn number(path: &str, value: &Json<'_>, expected: &'static str) -> Result<f64, Error> {
    value.as_f64().filter(|number| number.is_finite()).ok_or_else(|| invalid(path, expected))
}

const AMOUNT: &str = "a number, at least 0";
const PATTERNS: &str = "a list of sequential, parallel and conditional";
const SHARE: &str = "a number from 0 to 1";
const WHOLE: &str = "a whole number in range";

fn invalid(option: &str, expected: &'static str) -> Error {
    Error::Options { option: option.to_owned(), expected: expected.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(own: &str) -> Result<Options, Error> {
        Options::parse(format!(r#"{{ "query": " Why? "{own} }}"#).as_bytes())
    }

    #[test]
    fn typed_and_read_are_the_same() {
        assert_eq!(Options::new(" Why? ").checked(), parse(""));
        let given = Options {
            enabled: false,
            limits: Limits { max_steps: 3, max_cost: 4.5, diminishing: 0.0, ..Limits::default() },
            costs: Costs { answer: 1.0, plan: 0.5, ..Costs::default() },
            hooks: Hooks { condition: true, cache: true, ..Hooks::default() },
            classifier: ClassifierOptions { threshold: 0.25, indicators: vec!["Recall".into()] },
            model: "index-2".into(),
            learned: Some((Learned::default(), 0)),
            ..Options::new("Why?")
        };
        let given = Options {
            plan: PlanLimits { patterns: vec![Pattern::Parallel], ..given.plan },
            ..given
        };
        let read = parse(
            r#", "enabled": false, "limits": { "maxSteps": 3, "maxCost": 4.5, "diminishing": 0 },
            "costs": { "answer": 1, "plan": 0.5 }, "hooks": { "condition": true, "cache": true },
            "classifier": { "threshold": 0.25, "indicators": ["Recall"] }, "model": "index-2",
            "learned": { "state": null, "enough": 0 }, "patterns": ["parallel"]"#,
        );
        let given = given.checked();
        assert_eq!(given, read);
        let given = given.unwrap();
        assert_eq!(given.classifier.indicators, ["recall"]);
        assert!(!given.plan.conditions, "left to the host");
        assert_eq!(given.learned.unwrap().1, 1);
    }

    #[test]
    fn out_of_range_however_it_is_given() {
        let refused = |own: &str, change: fn(&mut Options)| {
            let mut typed = Options::new("Why?");
            change(&mut typed);
            let error = typed.checked().unwrap_err();
            assert_eq!(error.code(), "options.invalid");
            if !own.is_empty() {
                assert_eq!(parse(&format!(", {own}")).unwrap_err(), error, "{own}");
            }
        };
        refused(r#""limits": { "maxSteps": 0 }"#, |one| one.limits.max_steps = 0);
        refused(r#""limits": { "maxSteps": 65 }"#, |one| one.limits.max_steps = 65);
        refused(r#""limits": { "maxParallel": 0 }"#, |one| one.limits.max_parallel = 0);
        refused(r#""limits": { "maxRetries": 11 }"#, |one| one.limits.max_retries = 11);
        refused(r#""limits": { "retryMs": 86400001 }"#, |one| one.limits.retry_ms = 86_400_001);
        refused(r#""limits": { "stepMs": 0 }"#, |one| one.limits.step_ms = 0);
        refused(r#""limits": { "planMs": 0 }"#, |one| one.limits.plan_ms = 0);
        refused(r#""limits": { "totalMs": 0 }"#, |one| one.limits.total_ms = 0);
        refused(r#""limits": { "answerMs": 0 }"#, |one| one.limits.answer_ms = 0);
        refused(r#""limits": { "cacheMs": 31536000001 }"#, |one| {
            one.limits.cache_ms = 31_536_000_001;
        });
        refused(r#""limits": { "completeness": 1.5 }"#, |one| one.limits.completeness = 1.5);
        refused(r#""limits": { "diminishing": -1 }"#, |one| one.limits.diminishing = -1.0);
        refused(r#""limits": { "maxCost": -1 }"#, |one| one.limits.max_cost = -1.0);
        refused("", |one| one.limits.max_cost = f64::NAN);
        refused("", |one| one.costs.search = f64::INFINITY);
        refused(r#""costs": { "refine": -1 }"#, |one| one.costs.refine = -1.0);
        refused(r#""classifier": { "threshold": 2 }"#, |one| one.classifier.threshold = 2.0);
        refused(r#""patterns": []"#, |one| one.plan.patterns.clear());
        refused(r#""limits": { "maxCost": 1 }, "costs": { "synthesize": 2 }"#, |one| {
            one.limits.max_cost = 1.0;
            one.costs.synthesize = 2.0;
        });
        refused("", |one| one.query = "  ".into());
        assert_eq!(Options::parse(b"{}"), Options::new(" ").checked());
    }
}
