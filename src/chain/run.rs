//! The state of the steps of a chain.

use super::calls::StepResult;
use super::condition::Seen;
use super::outcome::{Failure, SkipReason, StepOutcome, StepStatus};
use super::plan::PlanStep;
use crate::json::Json;

/// The status of a step while the chain runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// Not started.
    Waiting,
    /// A call for it is in flight: its condition, its cache look-up, or the step itself.
    Busy,
    /// Failed; will be retried at this time.
    Again(u64),
    Done,
    Failed,
    Skipped(SkipReason),
}

/// The state of a step.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) status: Status,
    /// Its condition was checked and holds, or it has none.
    pub(super) allowed: bool,
    /// The cache was queried.
    pub(super) recalled: bool,
    /// When it was announced. From then on it counts as a step that was run.
    pub(super) started: Option<u64>,
    pub(super) ended: Option<u64>,
    pub(super) attempts: u32,
    pub(super) cost: f64,
    pub(super) cached: bool,
    pub(super) gain: u64,
    /// Query with its placeholders filled.
    pub(super) query: String,
    pub(super) key: String,
    /// The host was asked for a better query, and what it wrote.
    pub(super) enhanced: bool,
    pub(super) own_query: Option<String>,
    /// A short text of the result, made by the host.
    pub(super) short: Option<String>,
    pub(super) result: Option<Json<'static>>,
    pub(super) error: Option<Failure>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            status: Status::Waiting,
            allowed: false,
            recalled: false,
            started: None,
            ended: None,
            attempts: 0,
            cost: 0.0,
            cached: false,
            gain: 0,
            query: String::new(),
            key: String::new(),
            enhanced: false,
            own_query: None,
            short: None,
            result: None,
            error: None,
        }
    }
}

impl Run {
    pub(super) fn settled(&self) -> bool {
        matches!(self.status, Status::Done | Status::Failed | Status::Skipped(_))
    }

    /// Whether it has a result that says something.
    pub(super) fn has_evidence(&self) -> bool {
        let said = |result: &Json<'_>| !super::results::is_empty(result);
        self.status == Status::Done && self.result.as_ref().is_some_and(said)
    }

    /// The status that events and results show.
    pub(super) fn shown(&self) -> StepStatus {
        match self.status {
            Status::Waiting | Status::Busy | Status::Again(_) => StepStatus::Pending,
            Status::Done => StepStatus::Done,
            Status::Failed => StepStatus::Failed,
            Status::Skipped(_) => StepStatus::Skipped,
        }
    }

    pub(super) fn outcome(&self, step: &PlanStep) -> StepOutcome {
        let reason = if let Status::Skipped(reason) = self.status { Some(reason) } else { None };
        let duration = self.started.zip(self.ended).map_or(0, |(from, to)| to.saturating_sub(from));
        StepOutcome {
            id: step.id.clone(),
            kind: step.kind,
            status: self.shown(),
            reason,
            result: self.result.clone(),
            error: self.error.clone(),
            query: self.query.clone(),
            cached: self.cached,
            attempts: self.attempts,
            gain: self.gain,
            cost: self.cost,
            duration_ms: duration,
        }
    }

    /// What later steps get of it; `None` without a result.
    pub(super) fn result(&self, step: &PlanStep) -> Option<StepResult> {
        Some(StepResult {
            id: step.id.clone(),
            kind: step.kind,
            query: self.query.clone(),
            focus: step.focus.clone(),
            result: self.result.clone()?,
        })
    }
}

/// The states of all steps, in plan order.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs(pub(super) Vec<Run>);

impl Runs {
    pub(super) fn get(&self, at: usize) -> Option<&Run> {
        self.0.get(at)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Run> {
        self.0.get_mut(at)
    }

    pub(super) fn is(&self, at: usize, status: Status) -> bool {
        self.get(at).is_some_and(|run| run.status == status)
    }
}

impl Seen for Runs {
    fn result(&self, step: usize) -> Option<&Json<'static>> {
        self.get(step).and_then(|run| run.result.as_ref())
    }

    fn failed(&self, step: usize) -> bool {
        self.is(step, Status::Failed) || self.is(step, Status::Skipped(SkipReason::Dependency))
    }
}
