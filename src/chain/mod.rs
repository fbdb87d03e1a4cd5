//! Chains: a planner writes the steps; the core decides which step runs when, and when to stop.
//!
//! A query that [`classify`](classify::classify) finds simple is answered with one model call, the
//! simple path. For a complex query, a planner is called once for a [`Plan`], and [`Chain`] runs
//! its steps. Each step starts as soon as its own inputs are available, within limits on parallel
//! steps and budgets for steps, cost and time. The chain stops for a [typed reason](Stop), and one
//! answer is written from the results. Any failure before there is a plan leads to the simple path.
//!
//! ```text
//!   host ── Input ──▶ Chain ── Effect ──▶ host
//!    (returned, failed, time)   (call plan, search, …, emit event)
//! ```
//!
//! A chain is driven like a [`turn`](crate::turn): drain before you wait. Late, repeated and
//! unknown inputs are ignored.
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
