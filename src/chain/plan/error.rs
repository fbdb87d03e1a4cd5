//! The errors of plans.

use std::fmt;

use crate::reply::Fault;

/// The reason why a text is not a plan that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// No JSON object with `steps` in it.
    Syntax {
        /// Where the text cannot be read, and why; `None` for JSON without `steps`.
        fault: Option<Fault>,
    },
    /// Longer than [`limits::PLAN_BYTES`](crate::limits::PLAN_BYTES).
    TooLarge,
    /// No steps.
    Empty,
    /// More steps than allowed.
    TooManySteps {
        /// The limit.
        limit: usize,
    },
    /// A step lacks something or has it in the wrong form.
    InvalidStep {
        /// Its index, from 0.
        index: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// Two steps have the same id.
    DuplicateStep {
        /// The id.
        id: String,
    },
    /// A step depends on one that does not exist, or its query refers to one: `${9}`.
    UnknownDependency {
        /// The step.
        id: String,
        /// The missing step.
        dependency: String,
    },
    /// Steps depend on each other in a cycle, or one depends on itself.
    Cycle {
        /// A step of the cycle.
        id: String,
    },
    /// A `when` is not an expression.
    InvalidCondition {
        /// The step.
        id: String,
    },
    /// The pattern is not among those that the host allows.
    PatternNotAllowed {
        /// The pattern.
        pattern: &'static str,
    },
}

impl PlanError {
    /// Stable, machine-readable name.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "plan.syntax",
            Self::TooLarge => "plan.too_large",
            Self::Empty => "plan.empty",
            Self::TooManySteps { .. } => "plan.too_many_steps",
            Self::InvalidStep { .. } => "plan.invalid_step",
            Self::DuplicateStep { .. } => "plan.duplicate_step",
            Self::UnknownDependency { .. } => "plan.unknown_dependency",
            Self::Cycle { .. } => "plan.cycle",
            Self::InvalidCondition { .. } => "plan.invalid_condition",
            Self::PatternNotAllowed { .. } => "plan.pattern_not_allowed",
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { fault: None } => f.write_str("no JSON object with `steps` was found"),
            Self::Syntax { fault: Some(fault) } => {
                write!(f, "no JSON object with `steps` was found: {fault}")
            }
            Self::TooLarge => {
                write!(f, "the plan is longer than {} bytes", crate::limits::PLAN_BYTES)
            }
            Self::Empty => f.write_str("the plan has no steps"),
            Self::TooManySteps { limit } => write!(f, "the plan has more than {limit} steps"),
            Self::InvalidStep { index, expected } => {
                write!(f, "`steps[{index}]`: expected {expected}")
            }
            Self::DuplicateStep { id } => write!(f, "two steps have the id `{id}`"),
            Self::UnknownDependency { id, dependency } => {
                write!(f, "step `{id}` depends on `{dependency}`, which is not there")
            }
            Self::Cycle { id } => write!(f, "step `{id}` depends on itself, if only by others"),
            Self::InvalidCondition { id } => {
                write!(f, "step `{id}`: `when` is no expression that can be evaluated")
            }
            Self::PatternNotAllowed { pattern } => {
                write!(f, "the pattern `{pattern}` is not allowed here")
            }
        }
    }
}

impl std::error::Error for PlanError {}
