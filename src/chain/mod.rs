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
//!
//! ```
//! use turnlock::chain::classify::classify;
//! use turnlock::chain::{ClassifierOptions, Plan, PlanLimits, waves};
//!
//! let asked = |query| classify(query, &ClassifierOptions::default());
//! assert!(!asked("What is a causeway?").complex);
//! assert!(asked("Compare the tax rules of Ohio and Texas for small software companies.").complex);
//!
//! let answer = r#"Here is my plan:
//! {"reasoning":"Two states, then both.","pattern":"parallel","steps":[
//!     {"id":1,"type":"search","query":"tax rules Ohio","depends_on":[]},
//!     {"id":2,"type":"search","query":"tax rules Texas","depends_on":[]}]}"#;
//! let plan = Plan::parse(answer, &PlanLimits::default())?;
//! assert!(plan.repairs.iter().any(|repair| repair.code == "synthesis_added"));
//! // What can start together: both searches, then the answer.
//! assert_eq!(waves(&plan.steps)?, [vec![0, 1], vec![2]]);
//! # Ok::<(), turnlock::chain::PlanError>(())
//! ```

pub mod classify;
pub mod condition;
mod events;
mod learn;
mod machine;
mod options;
mod phases;
mod plan;
mod protocol;
pub mod reference;
mod refine;
mod results;
mod run;
mod schedule;
mod stop;

pub use classify::{Classification, ClassifierOptions};
pub use learn::{Effectiveness, Learned};
pub use machine::Chain;
pub use options::{Costs, Hooks, Limits, Options};
pub use plan::{Pattern, Plan, PlanError, PlanLimits, PlanRepair, Step, StepKind, waves};
pub use protocol::{CallKind, Effect, Input};
pub use stop::{Stop, complete, diminishing};
