//! Plans: steps that depend on each other. They are checked, and repaired where that is safe.
//!
//! Only `depends_on` determines the order; `pattern` is a hint of the planner. One exception: the
//! steps of a sequential plan without any dependencies run in list order.

mod error;
mod graph;
mod id;
mod read;
mod repair;

pub use error::PlanError;
pub use graph::waves;
pub(super) use graph::{ancestors, position};
pub use id::StepId;
pub(super) use read::{Draft, draft, from_json};
pub(super) use repair::bare;

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, names, options, read, record};
use crate::limits;

names! {
    /// The shape of a plan.
    pub enum Pattern as "ChainPattern", "sequential, parallel or conditional" {
        /// One step after the other, such as for a timeline.
        Sequential "sequential",
        /// Steps side by side, such as for a comparison.
        Parallel "parallel",
        /// Later steps depend on what earlier ones find.
        Conditional "conditional",
    }
}

names! {
    /// What a step does.
    pub enum StepKind as "StepType", "search, refine or synthesize" {
        /// Finds something out.
        Search "search",
        /// Condenses earlier results.
        Refine "refine",
        /// Writes an answer, or a part of one, from results.
        Synthesize "synthesize",
    }
}

record! {
    /// One step of a plan.
    pub struct PlanStep as "PlanStep" {
        /// Its name; unique in a plan.
        id "id": StepId;
        /// What it does.
        kind "type": StepKind;
        /// What to look for; `${1}` is replaced by a short text of the result of step 1.
        query "query": String;
        /// What to look at in the results.
        focus "focus": String;
        /// Steps whose results it needs.
        depends_on "depends_on": Vec<StepId>;
        /// How many results a search should have, from 1.
        num_results "num_results?": Option<u64>;
        /// The condition for running it, such as `count(${1}) > 0 and ${1} contains "recall"`.
        when "when?": Option<String>;
    }
}

impl PlanStep {
    /// Makes a step without focus, dependencies and condition.
    #[must_use]
    pub fn new(id: impl Into<StepId>, kind: StepKind, query: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            kind,
            query: query.into(),
            focus: String::new(),
            depends_on: Vec::new(),
            num_results: None,
            when: None,
        }
    }
}

names! {
    /// What was changed in a planner's answer.
    pub enum RepairCode as "PlanRepairCode", "a code of a repair", non_exhaustive {
        /// A last synthesis was added.
        SynthesisAdded "synthesis_added",
        /// A step depends on another one whose result it mentions, or that it has to wait for.
        DependencyAdded "dependency_added",
        /// The steps run in the order of the list.
        SequenceAdded "sequence_added",
        /// The pattern follows from the steps.
        PatternInferred "pattern_inferred",
        /// A step with a query and without a type is a search.
        TypeInferred "type_inferred",
        /// A search without a query looks for its focus.
        QueryInferred "query_inferred",
        /// A step without an id has its number.
        IdAdded "id_added",
        /// Dependencies are read from another form: `"1"`, `1`, `["step 1"]`, `["$1"]`, `["none"]`,
        /// `[{"id": 1}]`, or under another name: `dependsOn`, `depends-on`, `depends`, `dependencies`.
        DependencyRead "dependency_read",
        /// A type is read from another case, such as `Search`.
        TypeRead "type_read",
        /// The pattern is read from another case, such as `Sequential`.
        PatternRead "pattern_read",
        /// A list of steps without an object around it is read as the plan.
        ListRead "list_read",
        /// An object around the plan was dropped: `{"plan": {"steps": […]}}`.
        WrapperDropped "wrapper_dropped",
        /// A byte order mark before the plan was dropped.
        ByteOrderMarkDropped "byte_order_mark_dropped",
        /// A `<think>` block before the plan was dropped.
        ThinkingDropped "thinking_dropped",
        /// A code fence around the plan was dropped.
        FenceDropped "fence_dropped",
        /// Words around the plan were dropped.
        WordsDropped "words_dropped",
    }
}

record! {
    /// One change to the planner's answer.
    pub struct PlanRepair as "PlanRepair" {
        /// What was changed.
        code "code": RepairCode;
        /// The step that was changed or added; `null` for the plan as a whole.
        step "step": Option<StepId>;
    }
}

record! {
    /// A plan that can be run: one synthesis comes last and every other step leads to it.
    pub struct Plan as "Plan" {
        /// The planner's words about its approach.
        reasoning "reasoning": String;
        /// The pattern that the planner named, or an inferred one.
        pattern "pattern": Pattern;
        /// The steps, in the planner's order.
        steps "steps": Vec<PlanStep>;
        /// The planner's words about when to stop.
        stopping_criteria "stopping_criteria": String;
        /// Ids of steps that could start together, wave by wave. There are as many waves as the
        /// longest chain of dependencies has steps.
        waves "waves": Vec<Vec<StepId>>;
        /// The changes that were made, such as `synthesis_added`.
        repairs "repairs": Vec<PlanRepair>;
    }
}

options! {
    /// Limits of plans.
    pub struct PlanLimits as "PlanLimits" {
        /// Maximum number of steps, not counting an added synthesis.
        max_steps "maxSteps": usize = limits::CHAIN_STEPS, whole 1..=limits::PLAN_STEPS as u64;
        /// The allowed patterns, at least one.
        patterns "patterns": Vec<Pattern> = Pattern::ALL.to_vec();
        /// Whether each `when` must be an expression that the core can evaluate; `false` if the
        /// host evaluates conditions.
        conditions "conditions": bool = true;
    }
}

impl Default for PlanLimits {
    fn default() -> Self {
        Self::blank()
    }
}

impl PlanLimits {
    /// Reads `{ maxSteps?, patterns?, conditions? }`.
    ///
    /// # Errors
    /// `options.invalid` with the path of the option.
    pub fn from_json(json: Json<'static>) -> Result<Self, Error> {
        let mut limits = Self::blank();
        read(&mut limits, json, &At::ROOT)?;
        check_patterns(&limits.patterns)?;
        Ok(limits)
    }
}

/// Refuses an empty list, which no plan would satisfy.
pub(super) fn check_patterns(patterns: &[Pattern]) -> Result<(), Error> {
    let expected = "a list of sequential, parallel and conditional";
    if patterns.is_empty() { Err(Error::option("patterns", expected)) } else { Ok(()) }
}

/// A plan, and the index of the step that writes the answer.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) last: usize,
}

impl Planned {
    pub(super) fn new(draft: Draft, limits: &PlanLimits) -> Result<Self, PlanError> {
        repair::plan(draft, limits)
    }
}

impl Plan {
    /// Reads a planner's answer: the only JSON value that has `steps` or is a list of objects, with a
    /// fence, words or thoughts around it ([`crate::reply`]).
    ///
    /// # Errors
    /// The `plan.*` codes of [`PlanError`].
    pub fn parse(text: &str, limits: &PlanLimits) -> Result<Self, PlanError> {
        Ok(Planned::new(draft(text)?, limits)?.plan)
    }

    /// As [`Plan::parse`], for a plan that is already JSON, such as one made by the host.
    ///
    /// # Errors
    /// Those of [`Plan::parse`].
    pub fn from_json(value: &Json<'_>, limits: &PlanLimits) -> Result<Self, PlanError> {
        Ok(Planned::new(from_json(value)?, limits)?.plan)
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}
