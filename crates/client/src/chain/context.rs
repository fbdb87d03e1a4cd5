//! What callbacks are told.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use web_sys::AbortSignal;

use super::super::result::FailureView;
use super::super::tool::Abort;
use super::types::{Plan, StepId, StepResult, StepStatus};
use turnlock::chain::{Classification, Pattern, Stop};

/// A call of a callback.
#[derive(Clone, Default)]
pub(super) struct Call {
    cost: Rc<Cell<Option<f64>>>,
    abort: Abort,
}

impl Call {
    /// What it has said that it cost.
    pub(super) fn cost(&self) -> Option<f64> {
        self.cost.get()
    }

    pub(super) fn abort(&self) {
        self.abort.abort();
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Call")
    }
}

/// What a callback is told, of what the core says.
pub(super) trait Context: DeserializeOwned {
    fn of(self, call: Call) -> Self;
}

macro_rules! contexts {
    ($($context:ident),*) => {$(
        impl Context for $context {
            fn of(self, call: Call) -> Self {
                Self { call, ..self }
            }
        }

        impl $context {
            /// Says what the call cost, in the unit of `max_cost`; adds up. Default: the number
            /// in the `cost` of what it gives, else what `costs` says.
            pub fn spend(&self, cost: f64) {
                let spent = self.call.cost.get().unwrap_or(0.0);
                self.call.cost.set(Some(spent + cost));
            }

            /// Aborted when the call is no longer wanted: a time-out, a chain that has stopped or
            /// was cancelled. The callback's future is dropped then anyway; this is for what it
            /// has begun in JavaScript.
            ///
            /// `None` in a runtime without `AbortController`.
            #[must_use]
            pub fn signal(&self) -> Option<AbortSignal> {
                self.call.abort.signal()
            }
        }
    )*};
}

contexts!(
    AnswerContext,
    AssessContext,
    ClassifyContext,
    ConditionContext,
    PlanContext,
    ReplanContext,
    StepContext,
    SynthesisContext
);

/// What `answer` is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerContext {
    /// What the user asks.
    pub query: String,
    /// Why a complex query is answered the simple way.
    pub fell_back: Option<FailureView>,
    #[serde(skip)]
    call: Call,
}

/// What `plan` is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanContext {
    /// What the user asks.
    pub query: String,
    /// A prompt for the planner; a host may use its own.
    pub prompt: String,
    /// Patterns that a plan may have, or the one that did best.
    pub patterns: Vec<Pattern>,
    /// Steps that are run, the last synthesis not counted.
    pub max_steps: usize,
    #[serde(skip)]
    call: Call,
}

/// What `search` and `refine` are told.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepContext {
    /// The step.
    pub id: StepId,
    /// What to look for, placeholders filled in.
    pub query: String,
    /// What to look at in the results.
    pub focus: String,
    /// What the user asks.
    pub user_query: String,
    /// Results of the steps that this one depends on.
    pub inputs: Vec<StepResult>,
    /// The number of this call for the step, from 1.
    pub attempt: u32,
    #[serde(skip)]
    call: Call,
}

/// What `synthesize` is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SynthesisContext {
    /// The step.
    pub id: StepId,
    /// What the user asks.
    pub query: String,
    /// The query of the step itself, often empty.
    pub task: String,
    /// What to look at in the results.
    pub focus: String,
    /// What to write from.
    pub results: Vec<StepResult>,
    /// Steps without a result.
    pub missing: Vec<Missing>,
    /// Whether it is the one that the user reads.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Why the steps ended.
    pub stopped: Option<Stop>,
    #[serde(skip)]
    call: Call,
}

/// A step without a result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Missing {
    /// The step.
    pub id: StepId,
    /// What it was to look for.
    pub query: String,
    /// Where it stands.
    pub status: StepStatus,
}

/// What `classify` is told.
#[derive(Debug, Clone, Deserialize)]
pub struct ClassifyContext {
    /// What the user asks.
    pub query: String,
    /// What the core's classifier says.
    pub classification: Classification,
    #[serde(skip)]
    call: Call,
}

/// What `assess` is told.
#[derive(Debug, Clone, Deserialize)]
pub struct AssessContext {
    /// What the user asks.
    pub query: String,
    /// What was found.
    pub results: Vec<StepResult>,
    #[serde(skip)]
    call: Call,
}

/// What `condition` is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionContext {
    /// The step.
    pub id: StepId,
    /// The condition, as the planner wrote it.
    pub when: String,
    /// What the step would look for, placeholders filled in.
    pub query: String,
    /// What it would look at in the results.
    pub focus: String,
    /// What the user asks.
    pub user_query: String,
    /// Results of the steps that this one depends on.
    pub inputs: Vec<StepResult>,
    #[serde(skip)]
    call: Call,
}

/// What `replan` is told.
#[derive(Debug, Clone, Deserialize)]
pub struct ReplanContext {
    /// What the user asks.
    pub query: String,
    /// The plan as it is.
    pub plan: Plan,
    /// What was found.
    pub results: Vec<StepResult>,
    /// Steps that have not started.
    pub remaining: Vec<StepId>,
    #[serde(skip)]
    call: Call,
}
