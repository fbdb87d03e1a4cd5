//! What a chain shows.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::super::result::FailureView;
use super::types::{ChainPath, ChainStatus, Plan, StepId, StepOutcome};
use turnlock::chain::{Classification, StepKind, Stop};
use turnlock::json::Json;

/// An event of a chain. As JSON it is what the npm package shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainEvent {
    /// Its number within the chain, from 1.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: ChainEventKind,
}

impl ChainEvent {
    /// The piece of the answer that it brings.
    #[must_use]
    pub fn chunk(&self) -> Option<&str> {
        match &self.kind {
            ChainEventKind::Text { chunk } => Some(chunk),
            _ => None,
        }
    }
}

/// What happened. Exactly one [`Complete`](ChainEventKind::Complete) comes last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ChainEventKind {
    /// It is known whether the query needs several steps.
    Classified {
        /// Who said so.
        by: Classifier,
        /// What was said.
        #[serde(flatten)]
        classification: Classification,
    },
    /// The planner's answer is a plan.
    PlanReady {
        /// The plan.
        plan: Plan,
    },
    /// A step starts.
    StepStarted {
        /// The step.
        id: StepId,
        /// What it does.
        step_type: StepKind,
        /// Its query, placeholders filled in.
        query: String,
        /// What to look at in the results.
        focus: String,
        /// How far the plan has come.
        #[serde(flatten)]
        progress: Progress,
    },
    /// A step has settled.
    StepDone {
        /// What became of it.
        #[serde(flatten)]
        outcome: StepOutcome,
        /// How far the plan has come.
        #[serde(flatten)]
        progress: Progress,
    },
    /// The remaining steps are others now.
    PlanRefined {
        /// The plan from here on.
        plan: Plan,
        /// Steps that are new.
        added: Vec<StepId>,
        /// Steps that are gone.
        removed: Vec<StepId>,
    },
    /// No further step starts; the answer follows.
    ChainStopped {
        /// Why.
        reason: Stop,
        /// Steps with a result.
        finished: Vec<StepId>,
        /// Steps with an error.
        failed: Vec<StepId>,
        /// Steps that were not run.
        skipped: Vec<StepId>,
        /// Cost so far.
        spent: f64,
        /// With [`Stop::MaxCost`]: what ran out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
        /// What `assess` said last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completeness: Option<f64>,
    },
    /// A piece of the answer.
    Text {
        /// The piece.
        chunk: String,
    },
    /// The chain is over.
    Complete(ChainOutcome),
}

/// Who classified a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Classifier {
    /// The core's own.
    Core,
    /// `classify`.
    Host,
}

/// What ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// `maxCost`
    Cost,
    /// `totalMs`
    Time,
}

/// How far a plan has come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps that have settled.
    pub settled: u32,
    /// Steps.
    pub total: u32,
    /// Cost so far.
    pub spent: f64,
}

/// How a chain ended; more is in its [result](super::ChainResult).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainOutcome {
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
}

/// What the core wrote. By way of a tree: a result may be as deep as serde reads a text, and here
/// it stands deeper.
pub(super) fn read<T: DeserializeOwned>(json: &Json<'_>) -> Result<T, serde_json::Error> {
    serde_json::from_value(serde_json::to_value(json)?)
}
