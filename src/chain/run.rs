//! The state of the steps of a chain.

use super::condition::Seen;
use super::plan::Step;
use crate::json::Json;

/// The status of a step.
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
    Skipped(Skip),
}

/// Why a step was not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// Its `when` does not hold.
    Condition,
    /// A dependency failed or was skipped.
    Dependency,
    /// The chain had stopped.
    Stopped,
}

impl Skip {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Condition => "condition",
            Self::Dependency => "dependency",
            Self::Stopped => "stopped",
        }
    }
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
    pub(super) result: Option<Json<'static>>,
    pub(super) error: Option<(String, String)>,
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
            result: None,
            error: None,
        }
    }
}

impl Run {
    pub(super) fn settled(&self) -> bool {
        matches!(self.status, Status::Done | Status::Failed | Status::Skipped(_))
    }

    pub(super) fn status_name(&self) -> &'static str {
        match self.status {
            Status::Waiting | Status::Busy | Status::Again(_) => "pending",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Skipped(_) => "skipped",
        }
    }

    /// `{ id, stepType, status, … }`, as shown in events and results.
    pub(super) fn members(
        &self,
        step: &Step,
    ) -> Vec<(std::borrow::Cow<'static, str>, Json<'static>)> {
        let mut members = vec![
            ("id".into(), step.id_json()),
            ("stepType".into(), step.kind().name().into()),
            ("status".into(), self.status_name().into()),
        ];
        if let Status::Skipped(skip) = self.status {
            members.push(("reason".into(), skip.name().into()));
        }
        if let Some(result) = &self.result {
            members.push(("result".into(), result.clone()));
        }
        if let Some((code, message)) = &self.error {
            let error = [("code", code.clone().into()), ("message", message.clone().into())];
            members.push(("error".into(), Json::object(error)));
        }
        let duration = self.started.zip(self.ended).map_or(0, |(from, to)| to.saturating_sub(from));
        members.extend([
            ("query".into(), self.query.clone().into()),
            ("cached".into(), self.cached.into()),
            ("attempts".into(), Json::integer(u64::from(self.attempts))),
            ("gain".into(), Json::integer(self.gain)),
            ("cost".into(), Json::double(self.cost)),
            ("durationMs".into(), Json::integer(duration)),
        ]);
        members
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
        self.is(step, Status::Failed) || self.is(step, Status::Skipped(Skip::Dependency))
    }
}
