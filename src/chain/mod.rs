//! Chains: a planner says what to find out, the core says what runs when, and when to stop.
//!
//! [`classify`](classify::classify) sends a simple query to one call of the model. For a complex
//! one a planner is asked once for a [`Plan`]; [`Chain`] then runs its steps: each as soon as its
//! own inputs are there, some at a time, within budgets of steps, cost and time, and stops by
//! [typed reasons](Stop). What was found is made one answer. Whatever goes wrong before there is a
//! plan ends in the simple path.
//!
//! ```text
//!   host ── Input ──▶ Chain ── Effect ──▶ host
//!    (returned, failed, time)   (call plan, search, …, emit event)
//! ```
//!
//! The grammar is that of [`turn`](crate::turn): drain before you wait; late, repeated and unknown
//! facts change nothing.

pub mod classify;
pub mod condition;
mod events;
mod io;
mod learn;
mod machine;
mod options;
mod phases;
mod plan;
pub mod reference;
mod refine;
mod results;
mod run;
mod schedule;
mod stop;

pub use classify::{Classification, ClassifierOptions};
pub use io::{CallKind, Effect, Input};
pub use learn::{Effectiveness, Learned};
pub use machine::Chain;
pub use options::{Costs, Hooks, Limits, Options};
pub use plan::{Pattern, Plan, PlanError, PlanLimits, PlanRepair, Step, StepKind, waves};
pub use stop::{Stop, complete, diminishing};
