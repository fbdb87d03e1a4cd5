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
//! use std::collections::VecDeque;
//! use turnlock::Next;
//! use turnlock::chain::{CallBody, Chain, ChainOptions, Effect, Input, Stop};
//! use turnlock::json::Json;
//!
//! let query = "Compare the tax rules of Ohio and Texas for small software companies.";
//! let plan = r#"{"steps":[{"id":1,"type":"search","query":"tax rules Ohio"},
//!                         {"id":2,"type":"search","query":"tax rules Texas"}]}"#;
//! let mut chain = Chain::new(ChainOptions::new(query))?;
//! let (mut inputs, mut ended) = (VecDeque::from([Input::Start]), None);
//! while let Some(input) = inputs.pop_front() {
//!     chain.handle(0, input); // 0: the host's clock, in milliseconds
//!     while let Next::Effect(effect) = chain.poll() {
//!         match effect {
//!             // A real host calls models and a search, and reports when they return.
//!             Effect::Call { call, body } => {
//!                 let value = match body {
//!                     CallBody::Plan(_) => Json::string(plan),
//!                     CallBody::Search(step) => Json::string(step.query),
//!                     CallBody::Synthesize(step) => format!("{} found", step.results.len()).into(),
//!                     _ => Json::Null,
//!                 };
//!                 inputs.push_back(Input::Returned { call, value, cost: None });
//!             }
//!             Effect::Done(result) => ended = Some(result.outcome),
//!             Effect::Emit(_) | Effect::Abort { .. } | Effect::Remember { .. } => {}
//!         }
//!     }
//! }
//! let ended = ended.expect("the chain has ended");
//! assert_eq!((ended.text.as_str(), ended.stopped), ("2 found", Some(Stop::PlanFinished)));
//! # Ok::<(), turnlock::Error>(())
//! ```
//!
//! The parts work alone, too.
//!
//! ```
//! use turnlock::chain::classify::classify;
//! use turnlock::chain::{ClassifierOptions, Plan, PlanLimits, RepairCode, waves};
//!
//! let asked = |query| classify(query, &ClassifierOptions::default());
//! assert!(!asked("What is a causeway?").is_complex());
//! let query = "Compare the tax rules of Ohio and Texas for small software companies.";
//! assert!(asked(query).is_complex());
//!
//! let answer = r#"{"reasoning":"Two states, then both.","pattern":"parallel","steps":[
//!     {"id":1,"type":"search","query":"tax rules Ohio","depends_on":[]},
//!     {"id":2,"type":"search","query":"tax rules Texas","depends_on":[]}]}"#;
//! let plan = Plan::parse(answer, &PlanLimits::default())?;
//! assert_eq!(plan.repairs[0].code, RepairCode::SynthesisAdded);
//! // What can start together: both searches, then the answer.
//! assert_eq!(waves(&plan.steps)?, [vec![0, 1], vec![2]]);
//! # Ok::<(), turnlock::chain::PlanError>(())
//! ```

mod calls;
pub mod classify;
pub mod condition;
mod emit;
mod event;
mod learn;
mod machine;
mod options;
mod outcome;
mod phases;
mod plan;
mod protocol;
pub mod reference;
mod refine;
mod results;
mod run;
mod schedule;
mod stop;

pub use calls::{
    AnswerCall, AssessCall, CallBody, CallKind, ClassifyCall, ConditionCall, EnhanceCall,
    MissingStep, PlanCall, RecallCall, ReplanCall, StepCall, StepResult, SynthesisCall,
};
pub use classify::{Classification, ClassifierOptions, Complexity, Language};
pub use event::{ChainEvent, ChainEventKind, Classifier, Progress};
pub use learn::{
    Effectiveness, Learned, PatternEffectiveness, PatternState, PatternTable, StateVersion,
};
pub use machine::Chain;
pub use options::{ChainOptions, Costs, Hooks, Learning, Limits, NoResults};
pub use outcome::{
    ChainOutcome, ChainPath, ChainResult, ChainStatus, Failure, Refinement, SkipReason,
    StepOutcome, StepStatus,
};
pub use plan::{
    Pattern, Plan, PlanError, PlanLimits, PlanRepair, PlanStep, RepairCode, StepId, StepKind, waves,
};
pub use protocol::{AbortReason, Effect, Input};
pub use stop::{Stop, complete, diminishing};
