//! What callbacks are told.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::lock::Lock;
use crate::platform::Signal;
use turnlock::chain::{
    AnswerCall, AssessCall, ClassifyCall, ConditionCall, EnhanceCall, PlanCall, ReplanCall,
    StepCall, StepResult, SynthesisCall,
};

/// What a callback is told. It derefs to the core's record of the call, and adds what the driver
/// knows: the cost of the call, and whether it is still wanted.
#[derive(Debug, Clone)]
pub struct CallContext<T> {
    told: T,
    pub(crate) call: Call,
}

/// What `answer` is told.
pub type AnswerContext = CallContext<AnswerCall>;
/// What `assess` is told.
pub type AssessContext = CallContext<AssessCall>;
/// What `classify` is told.
pub type ClassifyContext = CallContext<ClassifyCall>;
/// What `condition` is told.
pub type ConditionContext = CallContext<ConditionCall>;
/// What `enhance` is told.
pub type EnhanceContext = CallContext<EnhanceCall>;
/// What `plan` is told.
pub type PlanContext = CallContext<PlanCall>;
/// What `quality` and `summarize_result` are told: the step and its result.
pub type ResultContext = CallContext<StepResult>;
/// What `replan` is told.
pub type ReplanContext = CallContext<ReplanCall>;
/// What `search` and `refine` are told.
pub type StepContext = CallContext<StepCall>;
/// What `synthesize` is told.
pub type SynthesisContext = CallContext<SynthesisCall>;

impl<T> CallContext<T> {
    pub(super) fn new(told: T, call: Call) -> Self {
        Self { told, call }
    }

    /// Says what the call cost, in the unit of `max_cost`; adds up. Default: the number in the
    /// `cost` of what it gives, else what `costs` says.
    pub fn spend(&self, cost: f64) {
        let mut spent = self.call.cost.lock();
        *spent = Some(spent.unwrap_or(0.0) + cost);
    }

    /// Returns the core's record of the call.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.told
    }
}

impl<T> Deref for CallContext<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.told
    }
}

/// A call of a callback.
#[derive(Clone, Default)]
pub(crate) struct Call {
    cost: Arc<Lock<Option<f64>>>,
    pub(crate) signal: Signal,
}

impl Call {
    /// What it has said that it cost.
    pub(super) fn cost(&self) -> Option<f64> {
        *self.cost.lock()
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Call")
    }
}
