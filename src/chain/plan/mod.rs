//! Plans: steps that depend on each other. They are checked, and repaired where that is safe.
//!
//! Only `depends_on` determines the order; `pattern` is a hint of the planner. One exception: the
//! steps of a sequential plan without any dependencies run in list order.

mod error;
mod graph;
mod read;
mod repair;

pub use error::PlanError;
pub use graph::waves;
pub(crate) use graph::{ancestors, position};
pub(crate) use read::{Draft, draft, from_json};

use crate::error::Error;
use crate::json::Json;
use crate::limits;

/// The shape of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Later steps depend on what earlier ones find.
    Conditional,
    /// Steps side by side, such as for a comparison.
    Parallel,
    /// One step after the other, such as for a timeline.
    Sequential,
}

impl Pattern {
    /// All patterns, as they are offered to a planner.
    pub const ALL: [Self; 3] = [Self::Sequential, Self::Parallel, Self::Conditional];

    /// The name in a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Conditional => "conditional",
            Self::Parallel => "parallel",
            Self::Sequential => "sequential",
        }
    }

    /// The pattern with that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Condenses earlier results.
    Refine,
    /// Finds something out.
    Search,
    /// Writes an answer, or a part of one, from results.
    Synthesize,
}

impl StepKind {
    /// The name in a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refine => "refine",
            Self::Search => "search",
            Self::Synthesize => "synthesize",
        }
    }

    /// The kind with that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Refine, Self::Search, Self::Synthesize].into_iter().find(|kind| kind.name() == name)
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name; unique in a plan.
    pub id: String,
    /// Whether the planner wrote the id as a number. It is then written as a number again.
    pub numeric: bool,
    /// What it does; always `Some` in a checked plan.
    pub(crate) kind: Option<StepKind>,
    /// What to look for; may hold placeholders such as `$1`.
    pub query: String,
    /// What to look at in the results.
    pub focus: String,
    /// Steps whose results it needs.
    pub depends_on: Vec<String>,
    /// The condition for running it: an [expression](super::condition) over earlier results.
    pub when: Option<String>,
}

impl Step {
    /// What it does.
    #[must_use]
    pub fn kind(&self) -> StepKind {
        self.kind.unwrap_or(StepKind::Search)
    }

    pub(crate) fn id_json(&self) -> Json<'static> {
        if self.numeric { Json::Number(self.id.clone().into()) } else { self.id.clone().into() }
    }
}

/// One change to the planner's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRepair {
    /// `synthesis_added`, `dependency_added`, `sequence_added`, `pattern_inferred`, `type_inferred`
    /// or `query_inferred`.
    pub code: &'static str,
    /// The step that was changed or added; `None` for the plan as a whole.
    pub step: Option<String>,
}

/// A plan that can be run: one synthesis comes last and every other step leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The planner's words about its approach.
    pub reasoning: String,
    /// The pattern that the planner named, or an inferred one.
    pub pattern: Pattern,
    /// The steps, in the planner's order.
    pub steps: Vec<Step>,
    /// The planner's words about when to stop.
    pub stopping_criteria: String,
    /// The changes to the planner's answer.
    pub repairs: Vec<PlanRepair>,
    /// The index of the step that writes the answer.
    pub(crate) last: usize,
}

/// Limits of plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLimits {
    /// Maximum number of steps, not counting an added synthesis. Default 8.
    pub max_steps: usize,
    /// The allowed patterns. Default all three.
    pub patterns: Vec<Pattern>,
    /// Whether each `when` must be an expression that the core can evaluate. Default `true`;
    /// `false` if the host evaluates conditions.
    pub conditions: bool,
}

impl Default for PlanLimits {
    fn default() -> Self {
        Self { max_steps: limits::CHAIN_STEPS, patterns: Pattern::ALL.to_vec(), conditions: true }
    }
}

impl Plan {
    /// Reads a planner's answer: plain JSON, a fenced block, or JSON with text around it.
    ///
    /// # Errors
    /// The `plan.*` codes of [`PlanError`].
    pub fn parse(text: &str, limits: &PlanLimits) -> Result<Self, PlanError> {
        repair::plan(draft(text)?, limits)
    }

    pub(crate) fn new(draft: Draft, limits: &PlanLimits) -> Result<Self, PlanError> {
        repair::plan(draft, limits)
    }

    /// `{ reasoning, pattern, steps, stopping_criteria, waves, repairs }`. Ids are written as the
    /// planner wrote them; `waves` contains the ids that could start together.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let id = |id: &String| {
            position(&self.steps, id)
                .and_then(|at| self.steps.get(at))
                .map_or(Json::Null, Step::id_json)
        };
        let step = |step: &Step| {
            let mut members = vec![
                ("id".into(), step.id_json()),
                ("type".into(), step.kind().name().into()),
                ("query".into(), step.query.clone().into()),
                ("focus".into(), step.focus.clone().into()),
                ("depends_on".into(), Json::Array(step.depends_on.iter().map(id).collect())),
            ];
            if let Some(when) = &step.when {
                members.push(("when".into(), when.clone().into()));
            }
            Json::Object(members)
        };
        let wave = |wave: &Vec<usize>| {
            let ids = wave.iter().filter_map(|at| self.steps.get(*at)).map(Step::id_json);
            Json::Array(ids.collect())
        };
        let repair = |repair: &PlanRepair| {
            let step = repair.step.as_ref().map_or(Json::Null, id);
            Json::object([("code", repair.code.into()), ("step", step)])
        };
        let waves = waves(&self.steps).unwrap_or_default();
        Json::object([
            ("reasoning", self.reasoning.clone().into()),
            ("pattern", self.pattern.name().into()),
            ("steps", Json::Array(self.steps.iter().map(step).collect())),
            ("stopping_criteria", self.stopping_criteria.clone().into()),
            ("waves", Json::Array(waves.iter().map(wave).collect())),
            ("repairs", Json::Array(self.repairs.iter().map(repair).collect())),
        ])
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}
