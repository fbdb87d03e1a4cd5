//! The options of a chain.

use super::calls::CallKind;
use super::classify::ClassifierOptions;
use super::learn::Learned;
use super::plan::{Pattern, PlanLimits, check_patterns};
use super::results::hash;
use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Read, names, options, read};
use crate::limits;

const DAY: u64 = 24 * 60 * 60 * 1000;

options! {
    /// The limits of a chain. Times are in milliseconds, costs in a unit of the host's choice.
    pub struct Limits as "ChainLimits" {
        /// Maximum number of steps that run, not counting the last synthesis.
        max_steps "maxSteps": usize = limits::CHAIN_STEPS, whole 1..=limits::PLAN_STEPS as u64;
        /// Maximum cost of all calls together, including the answer. Default: no limit.
        max_cost "maxCost": Option<f64>, real 0.0..=f64::MAX;
        /// The completeness at which the chain stops.
        completeness "completeness": f64 = 0.85, real 0.0..=1.0;
        /// With `quality`: the chain stops when the newest result of a search has less than this
        /// share of the quality of the one before it; 0 switches the rule off.
        diminishing "diminishing": f64 = 0.8, real 0.0..=1.0;
        /// Maximum number of steps in flight.
        max_parallel "maxParallel": usize = 4, whole 1..=limits::PLAN_STEPS as u64;
        /// Maximum number of retries of a failed step, plan or answer.
        max_retries "maxRetries": u32 = 1, whole 0..=10;
        /// Delay before the first retry of a step or a plan, doubled for each further one.
        retry_ms "retryMs": u64 = 250, whole 0..=DAY;
        /// Time for one attempt at a step, and for every other call without a limit of its own.
        step_ms "stepMs": u64 = 30_000, whole 1..=DAY;
        /// Time for the planner.
        plan_ms "planMs": u64 = 30_000, whole 1..=DAY;
        /// Time for everything before the answer.
        total_ms "totalMs": u64 = 120_000, whole 1..=DAY;
        /// Time for the complete answer or synthesis.
        answer_ms "answerMs": u64 = 120_000, whole 1..=DAY;
        /// Maximum age of a cached result.
        cache_ms "cacheMs": u64 = 3_600_000, whole 0..=365 * DAY;
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::blank()
    }
}

impl Limits {
    /// The cost that all calls together may have.
    pub(super) fn budget(&self) -> f64 {
        self.max_cost.unwrap_or(f64::INFINITY)
    }
}

options! {
    /// Maximum cost of a call, by kind, in the host's unit. It is reserved before the call starts,
    /// so `maxCost` is never exceeded.
    pub struct Costs as "ChainCosts" {
        /// Cost of an `answer` call.
        answer "answer": f64 = 0.0, real 0.0..=f64::MAX;
        /// Cost of an `assess` call.
        assess "assess": f64 = 0.0, real 0.0..=f64::MAX;
        /// Cost of a `plan` or `replan` call.
        plan "plan": f64 = 0.0, real 0.0..=f64::MAX;
        /// Cost of a `refine` call.
        refine "refine": f64 = 0.0, real 0.0..=f64::MAX;
        /// Cost of a `search` call.
        search "search": f64 = 0.0, real 0.0..=f64::MAX;
        /// Cost of a `synthesize` call.
        synthesize "synthesize": f64 = 0.0, real 0.0..=f64::MAX;
    }
}

impl Default for Costs {
    fn default() -> Self {
        Self::blank()
    }
}

impl Costs {
    /// The cost of a call of `kind`; 0 for calls that cost nothing.
    pub(super) fn of(&self, kind: CallKind) -> f64 {
        self.clone().of_mut(kind).map_or(0.0, |cost| *cost)
    }

    pub(super) fn of_mut(&mut self, kind: CallKind) -> Option<&mut f64> {
        match kind {
            CallKind::Answer => Some(&mut self.answer),
            CallKind::Assess => Some(&mut self.assess),
            CallKind::Plan | CallKind::Replan => Some(&mut self.plan),
            CallKind::Refine => Some(&mut self.refine),
            CallKind::Search => Some(&mut self.search),
            CallKind::Synthesize => Some(&mut self.synthesize),
            CallKind::Classify
            | CallKind::Condition
            | CallKind::Enhance
            | CallKind::Quality
            | CallKind::Recall
            | CallKind::SummarizeResult => None,
        }
    }

    /// What is reserved for the answer, which either call may write.
    pub(super) fn reserve(&self) -> f64 {
        self.answer.max(self.synthesize)
    }
}

options! {
    /// The optional callbacks that the host has. A callback that it lacks is never called.
    pub struct Hooks as "ChainHooks" {
        /// Whether there is an `assess` callback.
        assess "assess": bool = false;
        /// Whether there is a cache.
        cache "cache": bool = false;
        /// Whether there is a `classify` callback.
        classify "classify": bool = false;
        /// Whether there is a `condition` callback.
        condition "condition": bool = false;
        /// Whether there is an `enhance` callback.
        enhance "enhance": bool = false;
        /// Whether there is a `quality` callback.
        quality "quality": bool = false;
        /// Whether there is a `refine` callback.
        refine "refine": bool = false;
        /// Whether there is a `replan` callback.
        replan "replan": bool = false;
        /// Whether there is a `summarizeResult` callback.
        summarize_result "summarizeResult": bool = false;
    }
}

impl Default for Hooks {
    fn default() -> Self {
        Self::blank()
    }
}

options! {
    /// What a chain uses of the feedback on earlier ones.
    pub struct Learning as "ChainLearning" {
        /// The statistics of patterns.
        state "state": Learned;
        /// Number of chains that each of at least two patterns needs before they are compared; 0
        /// counts as 1.
        enough "enough": u64 = 20;
        /// Share of the queries whose planner is asked for any pattern nevertheless.
        explore "explore": f64 = 0.1, real 0.0..=1.0;
    }
}

impl Learning {
    /// Returns the default number of chains, with these statistics.
    #[must_use]
    pub fn new(state: Learned) -> Self {
        Self::blank().state(state)
    }

    /// The pattern to ask a planner for; see [`Learned::choose`]. `None` for some queries, the same
    /// ones each time, so that what is known of the other patterns grows too.
    #[must_use]
    pub fn choose(&self, allowed: &[Pattern], query: &str) -> Option<Pattern> {
        if share("explore", query) < self.explore {
            None
        } else {
            self.state.choose(allowed, self.enough)
        }
    }
}

/// A number from 0 up to 1 for a text: the same for the same text, and as good as drawn for others.
/// `of` keeps decisions about one text apart.
fn share(of: &str, text: &str) -> f64 {
    let hash = hash(&Json::Array(vec![of.to_owned().into(), text.to_owned().into()]));
    let place = hash.get(..8).and_then(|head| u32::from_str_radix(head, 16).ok());
    f64::from(place.unwrap_or(0)) / 4_294_967_296.0
}

names! {
    /// What happens if the searches of a plan found nothing.
    pub enum NoResults as "NoResults", "simple or fail" {
        /// One call answers; `fellBack` is `chain.no_results`.
        Simple "simple",
        /// The chain fails with `chain.no_results`.
        Fail "fail",
    }
}

options! {
    /// The options of a chain.
    pub struct ChainOptions as "ChainOptions" {
        /// The user's query. White space around it is ignored.
        query "query": String | required;
        /// `false` always takes the simple path.
        enabled "enabled": bool = true;
        /// The share of conversations that get chains, 0 to 1; the others take the simple path. One
        /// conversation is always on the same side.
        rollout "rollout": f64 = 1.0, real 0.0..=1.0;
        /// The conversation, all chains of which are enabled or none where a share of them is.
        /// Default: each query by itself.
        conversation_id "conversationId?": Option<String>;
        /// Whether too many chains have failed lately: complex queries take the simple path, and
        /// `fellBack` is `chain.breaker_open`.
        broken "broken": bool = false;
        /// Limits of steps, cost and time.
        limits "limits": Limits = Limits::blank();
        /// Maximum costs of calls.
        costs "costs": Costs = Costs::blank();
        /// The optional callbacks that the host has.
        hooks "hooks": Hooks = Hooks::blank();
        /// Patterns that a plan may have, at least one.
        patterns "patterns": Vec<Pattern> = Pattern::ALL.to_vec();
        /// Options of the classifier.
        classifier "classifier": ClassifierOptions = ClassifierOptions::blank();
        /// Part of every key in the cache, such as the name of the model or of the search index.
        model "model": String;
        /// What happens if the searches of a plan found nothing: no report is written from it.
        no_results "noResults": NoResults = NoResults::Simple;
        /// Statistics of patterns: planners are asked for the most effective pattern only.
        /// Default: none are used.
        learned "learned": Option<Learning>;
    }
}

impl ChainOptions {
    /// Returns the defaults for a query.
    #[must_use]
    pub fn new(query: impl Into<String>) -> Self {
        Self::blank().query(query.into())
    }

    /// Reads the options from JSON text; members that are missing or null have their default.
    ///
    /// # Errors
    /// `json.*` for invalid JSON; `options.invalid`, with the path of the option, for an option
    /// that is missing, unknown, of the wrong type or out of range.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        Self::from_json(Json::parse_host(text, limits::JSON_BYTES)?.into_owned())
    }

    /// As [`ChainOptions::parse`], for JSON that is already parsed.
    ///
    /// # Errors
    /// Those of [`ChainOptions::parse`], except `json.*`.
    pub fn from_json(json: Json<'static>) -> Result<Self, Error> {
        let mut options = Self::blank();
        read(&mut options, json, &At::ROOT)?;
        Ok(options)
    }

    /// Checks that every value is in range, and that values fit each other. Also trims the query.
    pub(super) fn checked(mut self) -> Result<Self, Error> {
        self.query = self.query.trim().to_owned();
        if self.query.is_empty() {
            return Err(Error::option("query", "a text"));
        }
        self.check(&At::ROOT)?;
        check_patterns(&self.patterns)?;
        if self.limits.budget() < self.costs.reserve() {
            return Err(Error::option("limits.maxCost", "at least the cost of the answer"));
        }
        Ok(self)
    }

    /// Whether this query may get a chain.
    pub(super) fn is_enabled(&self) -> bool {
        let conversation = self.conversation_id.as_ref().unwrap_or(&self.query);
        self.enabled && share("rollout", conversation) < self.rollout
    }

    /// The limits of the chain's plans. A plan may have more steps than are run, because the first
    /// ones may be enough. Conditions are left to the host if it evaluates them.
    pub(super) fn plan_limits(&self) -> PlanLimits {
        PlanLimits::default()
            .max_steps(limits::PLAN_STEPS)
            .patterns(self.patterns.clone())
            .conditions(!self.hooks.condition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(own: &str) -> Result<ChainOptions, Error> {
        let options = ChainOptions::parse(format!(r#"{{ "query": " Why? "{own} }}"#).as_bytes());
        options.and_then(ChainOptions::checked)
    }

    #[test]
    fn typed_and_read_are_the_same() {
        assert_eq!(ChainOptions::new(" Why? ").checked(), parse(""));
        let given = ChainOptions::new("Why?")
            .enabled(false)
            .limits(Limits::default().max_steps(3).max_cost(Some(4.5)).diminishing(0.0))
            .costs(Costs::default().answer(1.0).plan(0.5))
            .hooks(Hooks::default().condition(true).cache(true))
            .classifier(ClassifierOptions::default().threshold(0.25).indicators(vec!["R".into()]))
            .model("index-2".into())
            .learned(Some(Learning::new(Learned::default()).enough(0)))
            .patterns(vec![Pattern::Parallel]);
        let read = parse(
            r#", "enabled": false, "limits": { "maxSteps": 3, "maxCost": 4.5, "diminishing": 0 },
            "costs": { "answer": 1, "plan": 0.5 }, "hooks": { "condition": true, "cache": true },
            "classifier": { "threshold": 0.25, "indicators": ["R"] }, "model": "index-2",
            "learned": { "state": null, "enough": 0 }, "patterns": ["parallel"]"#,
        );
        let given = given.checked();
        assert_eq!(given, read);
        let given = given.unwrap();
        assert!(!given.plan_limits().conditions, "left to the host");
        let written = ChainOptions::parse(given.to_json().to_text().as_bytes());
        assert_eq!(written.unwrap(), given);
    }

    #[test]
    fn out_of_range_however_it_is_given() {
        let refused = |own: &str, change: fn(&mut ChainOptions)| {
            let mut typed = ChainOptions::new("Why?");
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
        refused(r#""limits": { "maxCost": -1 }"#, |one| one.limits.max_cost = Some(-1.0));
        refused("", |one| one.limits.max_cost = Some(f64::NAN));
        refused("", |one| one.costs.search = f64::INFINITY);
        refused(r#""costs": { "refine": -1 }"#, |one| one.costs.refine = -1.0);
        refused(r#""classifier": { "threshold": 2 }"#, |one| one.classifier.threshold = 2.0);
        refused(r#""patterns": []"#, |one| one.patterns.clear());
        refused(r#""limits": { "maxCost": 1 }, "costs": { "synthesize": 2 }"#, |one| {
            one.limits.max_cost = Some(1.0);
            one.costs.synthesize = 2.0;
        });
        refused(r#""query": "  ""#, |one| one.query = "  ".into());
    }

    #[test]
    fn unknown_members_are_refused_with_their_path() {
        for (own, path) in [
            (r#""limit": {}"#, "limit"),
            (r#""limits": { "steps": 3 }"#, "limits.steps"),
            (r#""costs": { "recall": 1 }"#, "costs.recall"),
            (r#""hooks": { "search": true }"#, "hooks.search"),
            (r#""classifier": { "words": [] }"#, "classifier.words"),
            (r#""learned": { "use": true }"#, "learned.use"),
        ] {
            let wanted = Error::option(path, "a known option");
            assert_eq!(parse(&format!(", {own}")).unwrap_err(), wanted, "{own}");
        }
        let missing = ChainOptions::parse(b"{}").unwrap_err();
        assert!(matches!(missing, Error::Options { option, .. } if option == "query"));
    }
}
