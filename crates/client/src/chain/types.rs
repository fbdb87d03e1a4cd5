//! The data of a chain: the shapes of the npm package's `types.ts`.

use std::fmt;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::result::FailureView;
use turnlock::chain::{Classification, Pattern, StepKind, Stop};

/// The id of a step, as the planner wrote it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum StepId {
    /// A whole number.
    Number(u64),
    /// A text.
    Text(String),
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<u64> for StepId {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for StepId {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for StepId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Id;
        impl Visitor<'_> for Id {
            type Value = StepId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a whole number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<StepId, E> {
                Ok(StepId::Number(number))
            }

            fn visit_str<E>(self, text: &str) -> Result<StepId, E> {
                Ok(text.into())
            }
        }
        deserializer.deserialize_any(Id)
    }
}

/// Whether a query needs several steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// It gets a plan.
    Complex,
    /// One call of the model answers it.
    Simple,
}

/// A plan that can be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The planner's words about its approach.
    pub reasoning: String,
    /// The planner's hint.
    pub pattern: Pattern,
    /// The steps, in the planner's order.
    pub steps: Vec<PlanStep>,
    /// The planner's words about when to stop.
    pub stopping_criteria: String,
    /// Ids that could start together; as many waves as the longest chain has steps.
    pub waves: Vec<Vec<StepId>>,
    /// What was changed.
    pub repairs: Vec<PlanRepair>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Its name; unique in a plan.
    pub id: StepId,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// What to look for; `$1` stands for the result of step 1.
    pub query: String,
    /// What to look at in the results.
    pub focus: String,
    /// Steps whose results it needs.
    pub depends_on: Vec<StepId>,
    /// Whether it runs, such as `count($1) > 0 and $1 contains "recall"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// One change that made a plan of what the planner wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRepair {
    /// Such as `synthesis_added`.
    pub code: String,
    /// The step that was changed or added; none for the plan as a whole.
    pub step: Option<StepId>,
}

/// A finished step, as later ones and the synthesis get it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// The step.
    pub id: StepId,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// Its query, placeholders filled in.
    pub query: String,
    /// What to look at in the results.
    pub focus: String,
    /// What it found.
    pub result: Value,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It has a result.
    Done,
    /// It has an error.
    Failed,
    /// Not settled: only in the result of a chain that failed before, and in what a synthesis is
    /// told.
    Pending,
    /// It was not run; [`StepOutcome::reason`] says why.
    Skipped,
}

/// Why a step was not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Its `when` does not hold.
    Condition,
    /// Something that it needs has failed or was skipped.
    Dependency,
    /// The chain had stopped.
    Stopped,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepOutcome {
    /// The step.
    pub id: StepId,
    /// What it does.
    #[serde(rename = "stepType")]
    pub kind: StepKind,
    /// Where it stands.
    pub status: StepStatus,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SkipReason>,
    /// What it found: null is a result, too.
    #[serde(
        default,
        deserialize_with = "crate::json::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureView>,
    /// Its query, placeholders filled in.
    pub query: String,
    /// The result came from the cache, or from an equal step of this chain.
    pub cached: bool,
    /// Calls for it.
    pub attempts: u32,
    /// Distinct items that no earlier step had found.
    pub gain: u64,
    /// What its calls cost, in the host's unit.
    pub cost: f64,
    /// Milliseconds from start to settlement.
    pub duration_ms: u64,
}

/// How a chain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainStatus {
    /// The host ended it.
    Cancelled,
    /// It answered.
    Complete,
    /// It could not go on; [`ChainResult::error`] says why.
    Failed,
}

/// How a query was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainPath {
    /// By the steps of a plan.
    Chain,
    /// By one call of the model.
    Simple,
}

/// What became of the remaining steps that `replan` named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Refined", into = "Refined")]
pub enum Refinement {
    /// They were taken.
    Accepted {
        /// Steps that are new.
        added: Vec<StepId>,
        /// Steps that are gone.
        removed: Vec<StepId>,
    },
    /// They were no plan; the old one went on.
    Refused(FailureView),
}

/// [`Refinement`] as JSON.
#[derive(Serialize, Deserialize)]
struct Refined {
    accepted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    added: Option<Vec<StepId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    removed: Option<Vec<StepId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<FailureView>,
}

impl From<Refined> for Refinement {
    fn from(read: Refined) -> Self {
        match read.error {
            Some(error) => Self::Refused(error),
            None => Self::Accepted {
                added: read.added.unwrap_or_default(),
                removed: read.removed.unwrap_or_default(),
            },
        }
    }
}

impl From<Refinement> for Refined {
    fn from(refinement: Refinement) -> Self {
        match refinement {
            Refinement::Accepted { added, removed } => {
                Self { accepted: true, added: Some(added), removed: Some(removed), error: None }
            }
            Refinement::Refused(error) => {
                Self { accepted: false, added: None, removed: None, error: Some(error) }
            }
        }
    }
}

/// What a chain came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainResult {
    /// How it ended.
    pub status: ChainStatus,
    /// How the query was answered.
    pub path: ChainPath,
    /// All text that was shown: the answer.
    pub text: String,
    /// Why the steps ended; none where there were none.
    pub stopped: Option<Stop>,
    /// Why a complex query was answered the simple way.
    pub fell_back: Option<FailureView>,
    /// What all calls cost, in the host's unit.
    pub cost: f64,
    /// Milliseconds.
    pub duration_ms: u64,
    /// Why it failed, or the reason that it was cancelled for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureView>,
    /// None for a chain that was switched off.
    pub classification: Option<Classification>,
    /// The plan as it was in the end.
    pub plan: Option<Plan>,
    /// What became of each step of the plan.
    pub steps: Vec<StepOutcome>,
    /// What became of what `replan` said.
    pub refinements: Vec<Refinement>,
    /// How complete the results were, as far as `assess` said so.
    pub completeness: Option<f64>,
}
