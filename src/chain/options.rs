//! What a host says about a chain before it starts.

use super::classify::ClassifierOptions;
use super::io::CallKind;
use super::learn::Learned;
use super::plan::{Pattern, PlanLimits};
use crate::canon::Json;
use crate::error::Error;
use crate::limits;

/// Limits of one chain. Times are milliseconds, costs the host's own unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Steps that are run, the last synthesis not counted. Default 8.
    pub max_steps: usize,
    /// What all calls may cost together, the answer included. Default: no limit.
    pub max_cost: f64,
    /// The completeness from which on the chain stops. Default 0.85.
    pub completeness: f64,
    /// The chain stops when a search finds less than this share of what the one before it found.
    /// Default 0.8; 0 switches the rule off.
    pub diminishing: f64,
    /// Steps in flight at a time. Default 4.
    pub max_parallel: usize,
    /// Repetitions of a step that failed. Default 1.
    pub max_retries: u32,
    /// Wait before the first repetition; doubled for each further one. Default 250.
    pub retry_ms: u64,
    /// One attempt at a step, and every other call that is not named below. Default 30 000.
    pub step_ms: u64,
    /// The planner. Default 30 000.
    pub plan_ms: u64,
    /// Everything before the answer. Default 120 000.
    pub total_ms: u64,
    /// The answer, or the synthesis, to its end. Default 120 000.
    pub answer_ms: u64,
    /// The age up to which a cached result is used. Default 3 600 000.
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

/// What a call costs at most, by kind, in the host's unit. Set aside before it starts. Default 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Costs {
    /// `answer`
    pub answer: f64,
    /// `assess`
    pub assess: f64,
    /// `plan` and `replan`
    pub plan: f64,
    /// `refine`
    pub refine: f64,
    /// `search`
    pub search: f64,
    /// `synthesize`
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

/// Callbacks that the host has beside the ones it must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one per callback")]
pub struct Hooks {
    /// `assess`
    pub assess: bool,
    /// A cache.
    pub cache: bool,
    /// `classify`
    pub classify: bool,
    /// `condition`
    pub condition: bool,
    /// `replan`
    pub replan: bool,
}

/// Everything a host says about a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The user's query.
    pub query: String,
    /// `false`: always the simple path. Default `true`.
    pub enabled: bool,
    /// Limits.
    pub limits: Limits,
    /// What calls cost at most.
    pub costs: Costs,
    /// Which callbacks there are.
    pub hooks: Hooks,
    /// What a plan may be.
    pub plan: PlanLimits,
    /// The classifier's own.
    pub classifier: ClassifierOptions,
    /// Part of every cache key, such as the name of the model or of the search index.
    pub model: String,
    /// What is known of patterns, and the chains of a pattern from which on it is used. Default
    /// none: nothing is learned from.
    pub learned: Option<(Learned, u64)>,
}

impl Options {
    /// Reads `{ query, enabled?, limits?, costs?, hooks?, patterns?, classifier?, model?,
    /// learned?: { state, enough } }`. What is left out, or null, keeps its default.
    ///
    /// # Errors
    /// `options.invalid`, the `json.*` codes.
    pub fn parse(json: &[u8]) -> Result<Self, Error> {
        let json = Json::parse_lossy(json, limits::JSON_BYTES)?;
        let query = json.get("query").and_then(Json::as_str).map(str::trim);
        let query = query.filter(|query| !query.is_empty());
        let mut options = Self {
            query: query.ok_or_else(|| invalid("query", "a text"))?.to_owned(),
            enabled: flag(&json, "enabled")?.unwrap_or(true),
            limits: Limits::default(),
            costs: Costs::default(),
            hooks: Hooks::default(),
            plan: PlanLimits::default(),
            classifier: ClassifierOptions::default(),
            model: json.get("model").and_then(Json::as_str).unwrap_or("").to_owned(),
            learned: None,
        };
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
            *place.ok_or_else(|| invalid(path, "a call that exists"))? = amount(path, value)?;
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
        options.plan = PlanLimits {
            // More than are run: those that are run first may be enough.
            max_steps: limits::PLAN_STEPS,
            patterns: patterns(&json)?,
            conditions: !options.hooks.condition,
        };
        options.classifier = classifier(json.get("classifier"))?;
        if let Some(learned) = json.get("learned").filter(|learned| !learned.is_null()) {
            let enough = learned.get("enough").and_then(Json::as_u64).unwrap_or(20).max(1);
            let state = learned.get("state").unwrap_or(&Json::Null);
            options.learned = Some((Learned::from_json(state), enough));
        }
        let least = options.costs.answer.max(options.costs.synthesize);
        if options.limits.max_cost < least {
            return Err(invalid("limits.maxCost", "at least the cost of the answer"));
        }
        Ok(options)
    }
}

impl Limits {
    fn set(&mut self, key: &str, value: &Json<'_>, path: &str) -> Result<(), Error> {
        const MS: u64 = 24 * 60 * 60 * 1000;
        let whole = |least: u64, most: u64| {
            let found = value.as_u64().filter(|number| (least..=most).contains(number));
            found.ok_or_else(|| invalid(path, "a whole number in range"))
        };
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let share = || {
            let found = value.as_f64().filter(|number| (0.0..=1.0).contains(number));
            found.ok_or_else(|| invalid(path, "a number from 0 to 1"))
        };
        let most_steps = u64::try_from(limits::PLAN_STEPS).unwrap_or(u64::MAX);
        match key {
            "maxSteps" => self.max_steps = size(whole(1, most_steps)?),
            "maxCost" => self.max_cost = amount(path, value)?,
            "completeness" => self.completeness = share()?,
            "diminishing" => self.diminishing = share()?,
            "maxParallel" => self.max_parallel = size(whole(1, most_steps)?),
            "maxRetries" => self.max_retries = u32::try_from(whole(0, 10)?).unwrap_or(10),
            "retryMs" => self.retry_ms = whole(0, MS)?,
            "stepMs" => self.step_ms = whole(1, MS)?,
            "planMs" => self.plan_ms = whole(1, MS)?,
            "totalMs" => self.total_ms = whole(1, MS)?,
            "answerMs" => self.answer_ms = whole(1, MS)?,
            "cacheMs" => self.cache_ms = whole(0, 365 * MS)?,
            _ => return Err(invalid(path, "a limit that exists")),
        }
        Ok(())
    }
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
        classifier(Some(json))
    }
}

fn classifier(json: Option<&Json<'_>>) -> Result<ClassifierOptions, Error> {
    let mut options = ClassifierOptions::default();
    let Some(json) = json else { return Ok(options) };
    if let Some(threshold) = json.get("threshold").filter(|given| !given.is_null()) {
        let given = threshold.as_f64().filter(|given| (0.0..=1.0).contains(given));
        options.threshold = given.ok_or_else(|| invalid("threshold", "a number from 0 to 1"))?;
    }
    if let Some(words) = json.get("indicators").filter(|given| !given.is_null()) {
        let words = words.as_array().ok_or_else(|| invalid("indicators", "an array of words"))?;
        let word = |word: &Json<'_>| word.as_str().map(str::to_ascii_lowercase);
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
    known
        .filter(|known| !known.is_empty())
        .ok_or_else(|| invalid("patterns", "a list of sequential, parallel and conditional"))
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

fn amount(path: &str, value: &Json<'_>) -> Result<f64, Error> {
    let found = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
    found.ok_or_else(|| invalid(path, "a number, at least 0"))
}

fn invalid(option: &str, expected: &'static str) -> Error {
    Error::Options { option: option.to_owned(), expected }
}
