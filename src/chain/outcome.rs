//! What comes of steps and of chains.

use super::classify::Classification;
use super::plan::{Plan, PlanError, StepId, StepKind};
use super::stop::Stop;
use crate::json::Json;
use crate::json::table::{Definition, Describe, Range, Row, Shape, Write, members, names, record};

record! {
    /// A failure with a stable code.
    pub struct Failure as "ChainFailure" {
        /// Stable code, such as `chain.timeout`, or the host's own.
        code "code": String;
        /// The error message.
        message "message": String;
    }
}

impl Failure {
    /// Makes a failure.
    #[must_use]
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

impl From<&PlanError> for Failure {
    fn from(error: &PlanError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

names! {
    /// The status of a step.
    pub enum StepStatus as "StepStatus", "done, failed, skipped or pending" {
        /// It has a result.
        Done "done",
        /// It has an error.
        Failed "failed",
        /// It was not run.
        Skipped "skipped",
        /// Not settled: only in the result of a chain that failed earlier, and among the steps
        /// that a synthesis lacks.
        Pending "pending",
    }
}

names! {
    /// Why a step was not run.
    pub enum SkipReason as "SkipReason", "condition, dependency, stopped or empty_reference", non_exhaustive {
        /// Its `when` does not hold.
        Condition "condition",
        /// A dependency failed or was skipped.
        Dependency "dependency",
        /// The chain had stopped.
        Stopped "stopped",
        /// Its query refers to a result that is empty.
        EmptyReference "empty_reference",
    }
}

record! {
    /// The outcome of a step.
    pub struct StepOutcome as "StepOutcome" {
        /// The step.
        id "id": StepId;
        /// What it does.
        kind "stepType": StepKind;
        /// Its status.
        status "status": StepStatus;
        /// Why it was skipped.
        reason "reason?": Option<SkipReason>;
        /// What it found; `null` is a result, too.
        result "result?": Option<Json<'static>>;
        /// Why it failed.
        error "error?": Option<Failure>;
        /// The query with its placeholders filled in.
        query "query": String;
        /// Whether the result came from the cache, or from an equal step of this chain.
        cached "cached": bool;
        /// Number of calls for it.
        attempts "attempts": u32;
        /// Number of distinct items that no earlier step had found.
        gain "gain": u64;
        /// Cost of its calls, in the host's unit.
        cost "cost": f64;
        /// Milliseconds from its start to its end.
        duration_ms "durationMs": u64;
    }
}

names! {
    /// How a chain ended.
    pub enum ChainStatus as "ChainStatus", "complete, cancelled or failed" {
        /// It answered.
        Complete "complete",
        /// The host cancelled it.
        Cancelled "cancelled",
        /// It could not go on.
        Failed "failed",
    }
}

names! {
    /// How a query was answered.
    pub enum ChainPath as "ChainPath", "simple or chain" {
        /// By one model call.
        Simple "simple",
        /// By the steps of a plan.
        Chain "chain",
    }
}

record! {
    /// How a chain ended.
    pub struct ChainOutcome as "ChainOutcome" {
        /// How it ended.
        status "status": ChainStatus;
        /// `simple`: the answer came from one model call.
        path "path": ChainPath;
        /// All text that was shown: the answer.
        text "text": String;
        /// Why the steps ended; `null` if there were none.
        stopped "stopped": Option<Stop>;
        /// The share of the plan's steps that have a result which is not empty, 0 to 1; steps that
        /// their condition skipped and the last synthesis do not count. 1: each step has found
        /// something. `null` without a
        /// plan.
        coverage "coverage": Option<f64>;
        /// Why a complex query took the simple path.
        fell_back "fellBack": Option<Failure>;
        /// Cost of all calls, in the host's unit.
        cost "cost": f64;
        /// Milliseconds from the start to the end.
        duration_ms "durationMs": u64;
        /// Why it failed, or the reason for which it was cancelled.
        error "error?": Option<Failure>;
    }
}

record! {
    /// The result of a chain.
    pub struct ChainResult as "ChainResult" {
        /// How it ended.
        outcome "": ChainOutcome;
        /// The classification of the query; `null` for a chain that was not enabled.
        classification "classification": Option<Classification>;
        /// The plan as it was in the end.
        plan "plan": Option<Plan>;
        /// The outcome of each step of the plan.
        steps "steps": Vec<StepOutcome>;
        /// What came of the steps that `replan` returned.
        refinements "refinements": Vec<Refinement>;
        /// The last rating of `assess`.
        completeness "completeness": Option<f64>;
    }
}

impl ChainResult {
    /// Makes the result of a chain that failed without an answer, such as one whose driver is gone.
    #[must_use]
    pub fn failed(error: Failure) -> Self {
        let outcome = ChainOutcome {
            status: ChainStatus::Failed,
            path: ChainPath::Simple,
            text: String::new(),
            stopped: None,
            coverage: None,
            fell_back: None,
            cost: 0.0,
            duration_ms: 0,
            error: Some(error),
        };
        Self {
            outcome,
            classification: None,
            plan: None,
            steps: Vec::new(),
            refinements: Vec::new(),
            completeness: None,
        }
    }
}

/// What came of the steps that `replan` returned.
#[derive(Debug, Clone, PartialEq)]
pub enum Refinement {
    /// They replaced the remaining steps.
    Accepted {
        /// Steps that are new.
        added: Vec<StepId>,
        /// Steps that are gone.
        removed: Vec<StepId>,
    },
    /// They were no plan, so the old one went on.
    Refused {
        /// Why.
        error: Failure,
    },
}

const ACCEPTED: [Row; 3] = [plain("accepted"), plain("added"), plain("removed")];
const REFUSED: [Row; 2] = [plain("accepted"), plain("error")];

const fn plain(name: &'static str) -> Row {
    Row::new(name, false, Range::Any)
}

impl Write for Refinement {
    fn write(&self) -> Json<'static> {
        Json::Object(match self {
            Self::Accepted { added, removed } => members(&ACCEPTED, &[&true, added, removed]),
            Self::Refused { error } => members(&REFUSED, &[&false, error]),
        })
    }
}

impl Describe for Refinement {
    fn shape() -> Shape {
        Shape::Named(|| {
            let docs = [" What came of the steps that `replan` returned."];
            let either = Shape::Either(vec![Shape::Named(accepted), Shape::Named(refused)]);
            Definition::alias("ChainRefinement", &docs, either)
        })
    }
}

fn accepted() -> Definition {
    let docs = [" The steps replaced the remaining ones."];
    let fields: [(&[&'static str], Shape); 3] = [
        (&[], Shape::Literal("true")),
        (&[" Steps that are new."], Vec::<StepId>::shape()),
        (&[" Steps that are gone."], Vec::<StepId>::shape()),
    ];
    let fields = fields.into_iter().map(|field| (field, None));
    Definition::record("AcceptedRefinement", &docs, &ACCEPTED, fields)
}

fn refused() -> Definition {
    let docs = [" The steps were no plan, so the old one went on."];
    let fields: [(&[&'static str], Shape); 2] =
        [(&[], Shape::Literal("false")), (&[" Why."], Failure::shape())];
    let fields = fields.into_iter().map(|field| (field, None));
    Definition::record("RefusedRefinement", &docs, &REFUSED, fields)
}
